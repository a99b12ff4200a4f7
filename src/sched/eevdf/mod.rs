//! EEVDF as first merged, August 2023, plain and with the run-to-parity curb.
//!
//! **What it believes about the world.** Fairness and latency are two wishes. A task may be owed
//! service (lag); only a task that is not owed less than nothing may run; among those, the one
//! whose request falls due first should, so that short slices buy low latency without more CPU.
//!
//! **What it measures.** Per task a virtual run time and a virtual deadline (virtual run time at
//! the last renewal plus the virtual length of a slice). Per queue the weighted average V of all
//! virtual run times: a task at V has received exactly its share, lag = V - vruntime.
//!
//! **How it decides.**
//! 1. *Eligible* is who has not run past V. V is never divided out for that: with K the sum of
//!    weighted distances to `min_vruntime` and W the sum of weights, the test is
//!    K >= (vruntime - min_vruntime) * W.
//! 2. *Pick*: walk the tree of virtual run times from the root, going left at a node that is not
//!    eligible, else remembering it if its deadline is the earliest so far, stopping if it is the
//!    earliest of its subtree, and going left only if the left subtree holds that earliest
//!    deadline. The walk never looks back at the left half after turning right, so it can miss the
//!    true earliest deadline, and ties depend on the shape of the tree. The running task takes part
//!    if eligible.
//! 3. *Curb* (`RUN_TO_PARITY`): a task switched in keeps the CPU until it has run past V or its
//!    deadline is renewed. The mark is its stored lag, overwritten with the deadline.
//! 4. *Charge*: when the virtual run time reaches the deadline, the deadline is renewed, and a
//!    reschedule requested unless the task is alone. The tick does nothing else.
//! 5. *Sleep*: the lag is stored, bounded by two slices or a tick. *Wake-up*: the task is placed at
//!    V minus that lag, inflated so that its lag is the stored one once it counts in V itself.
//!    An empty queue forgives every lag.
//! 6. *Wake-up preemption*: if the pick would now return the woken task.
//! 7. *Fork*: lag 0 and a full slice. The half slice of `PLACE_DEADLINE_INITIAL` is set by the fork
//!    hook and overwritten when the new task is activated.
//! 8. *Yield*: the deadline moves one slice.
//!
//! **What it ignores.** Slices wished by tasks; where a sleeper slept.
//!
//! **Source.** Linux tip c1fc6484e1fb (`eevdf`) and 63304558ba5d (`eevdf-curb`),
//! `kernel/sched/fair.c`.
//!
//! **How this model differs.** One queue without task groups, bandwidth control or load tracking.
//! `pick = ideal` replaces the walk of step 2 by the true earliest deadline. A nice change follows
//! the kernel's path (out, lag rescaled, in again), which has not been compared with golden rows;
//! nor has `NEXT_BUDDY` on. Should rounding leave nobody eligible, the smallest virtual run time is
//! picked.

mod pick;
mod virtual_time;

use super::entity::{Class, Entities, TaskId};
use super::features::{Feature, Features};
use super::record::LATER_COLUMNS;
use super::runqueue::{
    Common, Enqueue, Observed, Pick, Policy, Resched, Runqueue, Settings, Sleep,
};
use super::timeline::On;
use super::tree::Tree;
use super::tunables::BASE_SLICE_2023;

/// EEVDF without the curb.
pub(super) const EEVDF: Policy = Policy {
    name: "eevdf",
    aliases: &[],
    summary: "EEVDF of August 2023: earliest virtual deadline among those owed service",
    source: "Linux tip c1fc6484e1fb, kernel/sched/fair.c",
    features: &[
        (Feature::PlaceLag, true),
        (Feature::PlaceDeadlineInitial, true),
        (Feature::NextBuddy, false),
        (Feature::WakeupPreemption, true),
    ],
    fixed_off: &[],
    tunables: &[BASE_SLICE_2023],
    classes: Class::ALL,
    custom_slices: false,
    blank_columns: LATER_COLUMNS,
    build: |settings| Box::new(Eevdf::new(settings)),
    drive: &On(Eevdf::new),
};

/// EEVDF with the curb.
pub(super) const EEVDF_CURB: Policy = Policy {
    name: "eevdf-curb",
    summary: "EEVDF of August 2023 that lets the running task reach parity before preemption",
    source: "Linux tip 63304558ba5d, kernel/sched/fair.c",
    features: &[
        (Feature::PlaceLag, true),
        (Feature::PlaceDeadlineInitial, true),
        (Feature::NextBuddy, false),
        (Feature::RunToParity, true),
        (Feature::WakeupPreemption, true),
    ],
    ..EEVDF
};

/// One CPU's queue under EEVDF of August 2023.
#[derive(Debug)]
pub struct Eevdf {
    features: Features,
    pick: Pick,
    base_slice: i64,
    tick: i64,
    common: Common,
    tree: Tree,
    /// Reference of virtual time, virtual ns; never moves back.
    min_vruntime: i64,
    /// Sum over the tree of (vruntime - min_vruntime) * weight.
    sum_key_weight: i64,
    /// Sum of the weights in the tree.
    sum_weight: i64,
    next: Option<TaskId>,
}

impl Eevdf {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            features: settings.features,
            pick: settings.pick,
            base_slice: settings.tunables.get(&BASE_SLICE_2023),
            tick: settings.tick,
            common: Common::default(),
            tree: Tree::default(),
            min_vruntime: settings.first_vruntime,
            sum_key_weight: 0,
            sum_weight: 0,
            next: None,
        }
    }

    /// A queue in a given state: `curr` runs, the others wait, in this order of arrival.
    pub(super) fn restored(
        settings: &Settings,
        tasks: &mut Entities,
        min_vruntime: i64,
        curr: Option<TaskId>,
        queued: impl Iterator<Item = TaskId>,
    ) -> Self {
        let mut queue = Self { min_vruntime, ..Self::new(settings) };
        queue.common.curr = curr;
        for id in queued {
            tasks[id].slice = queue.base_slice as u32;
            queue.common.count_in(tasks, id);
            if curr != Some(id) {
                queue.insert(tasks, id);
            }
        }
        queue
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
        if self.renew(e) && self.common.nr > 1 {
            self.common.ask(Resched::Now);
            self.drop_hint(curr);
        }
        self.refresh_min_vruntime(tasks);
    }

    fn drop_hint(&mut self, id: TaskId) {
        if self.next == Some(id) {
            self.next = None;
        }
    }

    fn dequeue(&mut self, tasks: &mut Entities, id: TaskId, now: i64) {
        self.charge(tasks, now);
        self.drop_hint(id);
        tasks.ledger_mut(id).vlag = self.lag(tasks, id);
        if self.common.curr != Some(id) {
            self.remove(tasks, id);
        }
        self.common.count_out(tasks, id);
    }

    fn switch_in(&mut self, tasks: &mut Entities, id: TaskId, now: i64) {
        self.drop_hint(id);
        let deadline = tasks[id].deadline;
        let ledger = tasks.ledger_mut(id);
        if self.features.has(Feature::RunToParity) {
            ledger.vlag = deadline;
        }
        ledger.exec_start = now;
        ledger.prev_sum_exec = ledger.sum_exec;
        self.common.curr = Some(id);
    }
}

impl Runqueue for Eevdf {
    fn common(&self) -> &Common {
        &self.common
    }

    fn enqueue(&mut self, tasks: &mut Entities, id: TaskId, _: Enqueue, now: i64) {
        self.charge(tasks, now);
        self.place(tasks, id, false);
        self.common.count_in(tasks, id);
        self.insert(tasks, id);
    }

    fn wakeup_preempt(&mut self, tasks: &mut Entities, id: TaskId, how: Enqueue, now: i64) {
        let Some(curr) = self.common.curr else {
            self.common.ask(Resched::Now);
            return;
        };
        let (wakee_class, wakee_idle) = (tasks[id].class, tasks[id].is_idle());
        if self.features.has(Feature::NextBuddy) && how != Enqueue::Fork && !wakee_idle {
            self.next = Some(id);
        }
        if self.common.resched != Resched::No {
            return;
        }
        let runner_idle = tasks[curr].is_idle();
        if runner_idle && !wakee_idle {
            self.common.ask(Resched::Now);
            return;
        }
        if wakee_class != Class::Normal
            || runner_idle != wakee_idle
            || !self.features.has(Feature::WakeupPreemption)
        {
            return;
        }
        self.charge(tasks, now);
        if self.choose(tasks) == Some(id) {
            self.common.ask(Resched::Now);
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
        self.drop_hint(curr);
        self.charge(tasks, now);
        let e = &mut tasks[curr];
        e.deadline = e.deadline.wrapping_add(e.vlen(i64::from(e.slice)));
    }

    fn tick(&mut self, tasks: &mut Entities, now: i64) {
        self.charge(tasks, now);
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
        let all = self.competitors(tasks);
        let hinted = self.next.filter(|&n| self.is_eligible(all, &tasks[n]));
        let choice = hinted.or_else(|| self.choose(tasks));
        self.common.resched = Resched::No;
        if choice == self.common.curr {
            return choice;
        }
        if let Some(curr) = self.common.competing(tasks) {
            self.insert(tasks, curr);
        }
        self.common.curr = None;
        if let Some(id) = choice {
            self.remove(tasks, id);
            self.switch_in(tasks, id, now);
        }
        choice
    }

    fn leave(&mut self, tasks: &mut Entities, id: TaskId, now: i64) {
        self.dequeue(tasks, id, now);
        self.refresh_min_vruntime(tasks);
    }

    fn set_nice(&mut self, tasks: &mut Entities, id: TaskId, nice: i8, now: i64) {
        let queued = tasks[id].on_rq;
        let running = self.common.curr == Some(id);
        if queued {
            self.dequeue(tasks, id, now);
            self.refresh_min_vruntime(tasks);
        }
        let old = (tasks[id].nice, i64::from(tasks[id].weight));
        tasks[id].set_nice(nice);
        let new_weight = i64::from(tasks[id].weight);
        let ledger = tasks.ledger_mut(id);
        ledger.vlag = ledger.vlag.wrapping_mul(old.1) / new_weight;
        if !queued {
            return;
        }
        self.place(tasks, id, false);
        self.common.count_in(tasks, id);
        if running {
            self.switch_in(tasks, id, now);
            if nice > old.0 && self.common.nr > 1 {
                self.common.ask(Resched::Now);
            }
        } else {
            self.insert(tasks, id);
            self.wakeup_preempt(tasks, id, Enqueue::Wake { sync: false }, now);
        }
    }

    fn set_slice(&mut self, tasks: &mut Entities, id: TaskId, _: i64, _: i64) {
        tasks[id].slice = self.base_slice as u32;
    }

    fn observe(&self, tasks: &Entities, id: Option<TaskId>) -> Observed {
        let all = self.competitors(tasks);
        let queued = id.filter(|&id| tasks[id].on_rq);
        Observed {
            reference: self.min_vruntime,
            avg_vruntime: self.avg_vruntime(tasks),
            sum_key_weight: self.sum_key_weight,
            sum_weight: self.sum_weight,
            eligible: queued.map(|id| self.is_eligible(all, &tasks[id])),
            buddies: [self.next, None, None],
            protect: self.common.curr.map_or(0, |c| i64::from(self.is_protected(tasks, c))),
        }
    }
}
