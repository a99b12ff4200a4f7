//! CFS, the fair scheduler up to Linux 6.5.
//!
//! **What it believes about the world.** An ideal CPU would run all tasks at once, each at a speed
//! proportional to its weight. A real one should keep every task's virtual run time (run time
//! divided by weight) close to the others', and tasks that sleep much are interactive and deserve
//! to run soon when they wake.
//!
//! **What it measures.** Virtual run time per task, and `min_vruntime`, a floor of the queue's
//! virtual time that never moves back.
//!
//! **How it decides.**
//! 1. *Pick*: the smallest virtual run time, bent by three hints. A task that yielded (skip) gives
//!    way to the second unless that is a wake-up granularity behind; the task just woken (next) and
//!    the task a wake-up preempted (last) are preferred while they are not too far behind.
//! 2. *Tick*: the running task may use its share of the latency period (longer when many run, never
//!    below the minimum granularity, in 6.5 never above the latency); then it is rescheduled, also
//!    when it is more than that share ahead of the smallest.
//! 3. *Wake-up*: the sleeper is placed at most half the latency behind `min_vruntime`, and preempts
//!    when it is behind the running task by more than the wake-up granularity, converted with its
//!    own weight.
//! 4. *Fork*: the child starts one ideal slice later than the queue (a debit, so that forking does
//!    not pay).
//! 5. *Yield*: the task asks to be skipped once.
//!
//! When the pick falls on the running task nothing at all happens: its slice is not restarted, and
//! the next tick asks again.
//!
//! **What it ignores.** Latency wishes of tasks; whether a task got less than its share while it
//! slept; idle states.
//!
//! **Source.** Linux tip 88c56cfeaec4 (about 6.5) and, with the uncapped tick test, Linux 6.1,
//! `kernel/sched/fair.c`.
//!
//! **How this model differs.** One queue without task groups, bandwidth control or load tracking.
//! A nice change follows the kernel's general path (out, re-weighted, in again), which has not been
//! compared with golden rows.

use super::cfs_rules::{CfsRules, QueueLoad, TickVerdict, later};
use super::entity::{Class, Entities, TaskId};
use super::features::Feature;
use super::order::{ByVruntime, before, earlier};
use super::record::LATER_COLUMNS;
use super::runqueue::{Common, Enqueue, Observed, Policy, Resched, Runqueue, Settings, Sleep};
use super::sorted::Sorted;
use super::timeline::On;
use super::tunables::{
    IDLE_MIN_GRANULARITY, LATENCY, MIN_GRANULARITY, Tunable, WAKEUP_GRANULARITY,
};
use super::weights;

/// A sleeper's old virtual run time is ignored after about 104 days, when comparing it with the
/// queue's could overflow for the lightest weight (Linux `entity_is_long_sleeper`).
const LONG_SLEEP: u64 = (1 << 63) / weights::NICE_0 as u64;

const FEATURES: &[(Feature, bool)] = &[
    (Feature::GentleFairSleepers, true),
    (Feature::StartDebit, true),
    (Feature::NextBuddy, false),
    (Feature::LastBuddy, true),
    (Feature::WakeupPreemption, true),
    (Feature::BaseSlice, true),
];

const TUNABLES: &[Tunable] = &[LATENCY, MIN_GRANULARITY, WAKEUP_GRANULARITY, IDLE_MIN_GRANULARITY];

/// CFS with the tick test of 6.5.
pub(super) const CFS: Policy = Policy {
    name: "cfs",
    aliases: &[],
    summary: "CFS of Linux 6.5: smallest virtual run time, slices capped by the latency",
    source: "Linux tip 88c56cfeaec4, kernel/sched/fair.c",
    features: FEATURES,
    fixed_off: &[],
    tunables: TUNABLES,
    classes: Class::ALL,
    custom_slices: false,
    blank_columns: LATER_COLUMNS,
    build: |settings| Box::new(Cfs::new(settings, true)),
    drive: &On(|settings| Cfs::new(settings, true)),
};

/// CFS with the tick test of 6.1 and before.
pub(super) const CFS_UNCAPPED: Policy = Policy {
    name: "cfs-uncapped",
    aliases: &[],
    summary: "CFS up to Linux 6.1: slices of heavy tasks may exceed the latency",
    source: "Linux 6.1, kernel/sched/fair.c",
    build: |settings| Box::new(Cfs::new(settings, false)),
    drive: &On(|settings| Cfs::new(settings, false)),
    ..CFS
};

/// One CPU's queue under CFS.
#[derive(Debug)]
pub struct Cfs {
    rules: CfsRules,
    common: Common,
    waiting: Sorted<ByVruntime>,
    /// Floor of the queue's virtual time, virtual ns; never moves back.
    min_vruntime: i64,
    /// Sum of the weights of all queued tasks, the running one included.
    load: u64,
    /// Hints: the task to pick next, to return to, to pass over once.
    next: Option<TaskId>,
    last: Option<TaskId>,
    skip: Option<TaskId>,
}

impl Cfs {
    fn new(settings: &Settings, capped: bool) -> Self {
        Self {
            rules: CfsRules::new(settings.features, &settings.tunables, capped),
            common: Common::default(),
            waiting: Sorted::default(),
            min_vruntime: settings.first_vruntime,
            load: 0,
            next: None,
            last: None,
            skip: None,
        }
    }

    fn queue_load(&self) -> QueueLoad {
        QueueLoad {
            nr: i64::from(self.common.nr),
            load: self.load,
            only_idle: self.common.nr == self.common.nr_idle,
        }
    }

    /// Charges the running task up to `now`.
    fn charge(&mut self, tasks: &mut Entities, now: i64) {
        let Some(curr) = self.common.curr else { return };
        let (e, ledger) = tasks.both_mut(curr);
        let delta = now.wrapping_sub(ledger.exec_start);
        if delta <= 0 {
            return;
        }
        ledger.exec_start = now;
        ledger.sum_exec += delta;
        e.vruntime = e.vruntime.wrapping_add(e.vlen(delta));
        self.refresh_min_vruntime(tasks);
    }

    fn refresh_min_vruntime(&mut self, tasks: &Entities) {
        let running = self.common.competing(tasks).map(|c| tasks[c].vruntime);
        let waiting = self.waiting.first().map(|l| tasks[l].vruntime);
        let candidate = match (running, waiting) {
            (Some(r), Some(w)) => earlier(r, w),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return,
        };
        self.min_vruntime = later(self.min_vruntime, candidate);
    }

    fn count_in(&mut self, tasks: &mut Entities, id: TaskId) {
        self.common.count_in(tasks, id);
        self.load += u64::from(tasks[id].weight);
    }

    fn count_out(&mut self, tasks: &mut Entities, id: TaskId) {
        self.common.count_out(tasks, id);
        self.load -= u64::from(tasks[id].weight);
    }

    fn drop_hints(&mut self, id: TaskId) {
        for hint in [&mut self.next, &mut self.last, &mut self.skip] {
            if *hint == Some(id) {
                *hint = None;
            }
        }
    }

    fn place_fork(&mut self, tasks: &mut Entities, id: TaskId) {
        let start = self.common.curr.map_or(0, |c| tasks[c].vruntime);
        let mut new = tasks[id];
        new.vruntime = start;
        tasks[id].vruntime = self.rules.place_new(&new, self.min_vruntime, self.queue_load());
    }

    fn place_wakeup(&mut self, tasks: &mut Entities, id: TaskId, now: i64) {
        let (e, ledger) = tasks.both_mut(id);
        let slept = now.wrapping_sub(ledger.exec_start);
        e.vruntime = if ledger.exec_start != 0 && slept > 0 && slept as u64 > LONG_SLEEP {
            self.rules.woken_base(e, self.min_vruntime)
        } else {
            self.rules.place_woken(e, self.min_vruntime)
        };
    }

    /// Takes the task out of the queue; the caller says where its virtual time goes.
    fn dequeue(&mut self, tasks: &mut Entities, id: TaskId, now: i64) {
        self.charge(tasks, now);
        self.drop_hints(id);
        if self.common.curr != Some(id) {
            self.waiting.remove(tasks, id);
        }
        self.count_out(tasks, id);
    }

    /// Makes the choice the running task.
    fn switch_in(&mut self, tasks: &mut Entities, id: TaskId, now: i64) {
        self.drop_hints(id);
        let ledger = tasks.ledger_mut(id);
        ledger.exec_start = now;
        ledger.prev_sum_exec = ledger.sum_exec;
        self.common.curr = Some(id);
    }

    fn choose(&self, tasks: &Entities) -> Option<TaskId> {
        let curr = self.common.competing(tasks);
        let first = self.waiting.first();
        let first_of = |a: TaskId, b: TaskId| before(tasks[a].vruntime, tasks[b].vruntime);
        let left = match (curr, first) {
            (Some(c), Some(f)) if first_of(c, f) => c,
            (Some(c), None) => c,
            (_, f) => f?,
        };
        let close = |id: TaskId| self.rules.verdict(&tasks[id], &tasks[left]) < 1;
        let mut choice = left;
        if self.skip == Some(left) {
            let second = if curr == Some(left) {
                first
            } else {
                let after = self.waiting.second();
                match (curr, after) {
                    (Some(c), Some(s)) if first_of(c, s) => Some(c),
                    (Some(c), None) => Some(c),
                    (_, s) => s,
                }
            };
            choice = second.filter(|&s| close(s)).unwrap_or(left);
        }
        if let Some(next) = self.next.filter(|&n| close(n)) {
            choice = next;
        } else if let Some(last) = self.last.filter(|&l| close(l)) {
            choice = last;
        }
        Some(choice)
    }
}

impl Runqueue for Cfs {
    fn common(&self) -> &Common {
        &self.common
    }

    fn enqueue(&mut self, tasks: &mut Entities, id: TaskId, how: Enqueue, now: i64) {
        self.charge(tasks, now);
        match how {
            Enqueue::Fork => self.place_fork(tasks, id),
            Enqueue::Wake { .. } => self.place_wakeup(tasks, id, now),
            Enqueue::Migrate => {
                let e = &mut tasks[id];
                e.vruntime = e.vruntime.wrapping_add(self.min_vruntime);
            }
        }
        self.count_in(tasks, id);
        self.waiting.insert(tasks, id);
    }

    fn wakeup_preempt(&mut self, tasks: &mut Entities, id: TaskId, how: Enqueue, now: i64) {
        let Some(curr) = self.common.curr else {
            self.common.ask(Resched::Now);
            return;
        };
        let crowded = i64::from(self.common.nr) >= self.rules.nr_latency;
        let wakee = tasks[id];
        let hinted = self.rules.features.has(Feature::NextBuddy)
            && crowded
            && how != Enqueue::Fork
            && !wakee.is_idle();
        if hinted {
            self.next = Some(id);
        }
        if self.common.resched != Resched::No {
            return;
        }
        let runner_idle = tasks[curr].is_idle();
        if !runner_idle || wakee.is_idle() {
            if wakee.class != Class::Normal
                || runner_idle != wakee.is_idle()
                || !self.rules.features.has(Feature::WakeupPreemption)
            {
                return;
            }
            self.charge(tasks, now);
            if self.rules.verdict(&tasks[curr], &wakee) < 1 {
                return;
            }
            self.next = Some(id);
        }
        self.common.ask(Resched::Now);
        let runner = &tasks[curr];
        if self.rules.features.has(Feature::LastBuddy)
            && crowded
            && runner.on_rq
            && !runner.is_idle()
        {
            self.last = Some(curr);
        }
    }

    fn block(&mut self, tasks: &mut Entities, _: Sleep, now: i64) {
        if let Some(curr) = self.common.curr {
            self.dequeue(tasks, curr, now);
            self.refresh_min_vruntime(tasks);
        }
    }

    fn yield_now(&mut self, tasks: &mut Entities, now: i64) {
        let Some(curr) = self.common.curr else { return };
        if self.common.nr == 1 {
            return;
        }
        self.drop_hints(curr);
        if tasks[curr].class != Class::Batch {
            self.charge(tasks, now);
        }
        self.skip = Some(curr);
    }

    fn tick(&mut self, tasks: &mut Entities, now: i64) {
        let Some(curr) = self.common.curr else { return };
        self.charge(tasks, now);
        let Some(leftmost) = self.waiting.first() else { return };
        let ledger = tasks.ledger(curr);
        let ran = ledger.sum_exec - ledger.prev_sum_exec;
        match self.rules.tick(&tasks[curr], ran, tasks[leftmost].vruntime, self.queue_load()) {
            TickVerdict::SliceOver => {
                self.common.ask(Resched::Now);
                self.drop_hints(curr);
            }
            TickVerdict::Ahead => self.common.ask(Resched::Now),
            TickVerdict::GoOn => {}
        }
    }

    fn slice_timer_expired(&mut self, tasks: &mut Entities, now: i64) {
        self.charge(tasks, now);
        self.common.ask(Resched::Now);
    }

    fn pick_next(&mut self, tasks: &mut Entities, now: i64) -> Option<TaskId> {
        self.common.resched = Resched::No;
        if self.common.competing(tasks).is_some() {
            self.charge(tasks, now);
        }
        let choice = self.choose(tasks);
        if choice == self.common.curr {
            return choice;
        }
        if let Some(curr) = self.common.competing(tasks) {
            self.waiting.insert(tasks, curr);
        }
        self.common.curr = None;
        if let Some(id) = choice {
            self.waiting.remove(tasks, id);
            self.switch_in(tasks, id, now);
        }
        choice
    }

    fn leave(&mut self, tasks: &mut Entities, id: TaskId, now: i64) {
        self.dequeue(tasks, id, now);
        let e = &mut tasks[id];
        e.vruntime = e.vruntime.wrapping_sub(self.min_vruntime);
        self.refresh_min_vruntime(tasks);
    }

    fn sleeper_leaves(&mut self, tasks: &mut Entities, id: TaskId, _now: i64) {
        let e = &mut tasks[id];
        e.vruntime = e.vruntime.wrapping_sub(self.min_vruntime);
    }

    fn sleeper_arrives(&mut self, tasks: &mut Entities, id: TaskId, _now: i64) {
        let e = &mut tasks[id];
        e.vruntime = e.vruntime.wrapping_add(self.min_vruntime);
    }

    fn set_nice(&mut self, tasks: &mut Entities, id: TaskId, nice: i8, now: i64) {
        let old = tasks[id].nice;
        if !tasks[id].on_rq {
            tasks[id].set_nice(nice);
            return;
        }
        let running = self.common.curr == Some(id);
        self.dequeue(tasks, id, now);
        tasks[id].set_nice(nice);
        self.count_in(tasks, id);
        if running {
            self.switch_in(tasks, id, now);
            if nice > old && self.common.nr > 1 {
                self.common.ask(Resched::Now);
            }
        } else {
            self.waiting.insert(tasks, id);
            self.wakeup_preempt(tasks, id, Enqueue::Wake { sync: false }, now);
        }
    }

    fn set_slice(&mut self, _: &mut Entities, _: TaskId, _: i64, _: i64) {}

    fn observe(&self, tasks: &Entities, _: Option<TaskId>) -> Observed {
        let _ = tasks;
        Observed {
            reference: self.min_vruntime,
            sum_weight: self.load as i64,
            buddies: [self.next, self.last, self.skip],
            ..Observed::default()
        }
    }
}
