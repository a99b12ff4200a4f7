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

use super::entity::{Class, Entities, Entity, TaskId};
use super::features::{Feature, Features};
use super::record::LATER_COLUMNS;
use super::runqueue::{
    Common, Enqueue, Observed, Pick, Policy, Resched, Runqueue, Settings, Sleep,
};
use super::tree::{ByVruntimeWithDeadline, Tree, before, earlier};
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

type Timeline = Tree<ByVruntimeWithDeadline>;

/// One CPU's queue under EEVDF of August 2023.
#[derive(Debug)]
pub struct Eevdf {
    features: Features,
    pick: Pick,
    base_slice: i64,
    tick: i64,
    common: Common,
    tree: Timeline,
    /// Reference of virtual time, virtual ns; never moves back.
    min_vruntime: i64,
    /// Sum over the tree of (vruntime - min_vruntime) * weight.
    sum_key_weight: i64,
    /// Sum of the weights in the tree.
    sum_weight: i64,
    next: Option<TaskId>,
}

/// K and W of all competitors, the running task included.
#[derive(Debug, Clone, Copy)]
struct Competitors {
    sum_key_weight: i64,
    sum_weight: i64,
}

impl Eevdf {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            features: settings.features,
            pick: settings.pick,
            base_slice: settings.tunables.get(&BASE_SLICE_2023),
            tick: settings.tick,
            common: Common::default(),
            tree: Timeline::default(),
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

    #[inline]
    fn key(&self, e: &Entity) -> i64 {
        e.vruntime.wrapping_sub(self.min_vruntime)
    }

    #[inline]
    fn competitors(&self, tasks: &Entities) -> Competitors {
        let mut all =
            Competitors { sum_key_weight: self.sum_key_weight, sum_weight: self.sum_weight };
        if let Some(c) = self.common.competing(tasks) {
            let weight = i64::from(tasks[c].weight);
            let weighted = self.key(&tasks[c]).wrapping_mul(weight);
            all.sum_key_weight = all.sum_key_weight.wrapping_add(weighted);
            all.sum_weight += weight;
        }
        all
    }

    /// Returns V; the division truncates toward zero.
    pub(super) fn avg_vruntime(&self, tasks: &Entities) -> i64 {
        let all = self.competitors(tasks);
        let distance = if all.sum_weight == 0 {
            all.sum_key_weight
        } else {
            all.sum_key_weight.wrapping_div(all.sum_weight)
        };
        self.min_vruntime.wrapping_add(distance)
    }

    #[inline]
    fn is_eligible(&self, all: Competitors, e: &Entity) -> bool {
        all.sum_key_weight >= self.key(e).wrapping_mul(all.sum_weight)
    }

    fn insert(&mut self, tasks: &mut Entities, id: TaskId) {
        let (key, weight) = (self.key(&tasks[id]), i64::from(tasks[id].weight));
        self.sum_key_weight = self.sum_key_weight.wrapping_add(key.wrapping_mul(weight));
        self.sum_weight += weight;
        self.tree.insert(tasks, id);
    }

    fn remove(&mut self, tasks: &mut Entities, id: TaskId) {
        self.tree.remove(tasks, id);
        let (key, weight) = (self.key(&tasks[id]), i64::from(tasks[id].weight));
        self.sum_key_weight = self.sum_key_weight.wrapping_sub(key.wrapping_mul(weight));
        self.sum_weight -= weight;
    }

    fn refresh_min_vruntime(&mut self, tasks: &Entities) {
        let running = self.common.competing(tasks).map(|c| tasks[c].vruntime);
        let waiting = self.tree.leftmost().map(|l| tasks[l].vruntime);
        let candidate = match (running, waiting) {
            (Some(r), Some(w)) => earlier(r, w),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return,
        };
        let advance = candidate.wrapping_sub(self.min_vruntime);
        if advance > 0 {
            let shift = self.sum_weight.wrapping_mul(advance);
            self.sum_key_weight = self.sum_key_weight.wrapping_sub(shift);
            self.min_vruntime = candidate;
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
        if self.renew(e) && self.common.nr > 1 {
            self.common.ask(Resched::Now);
            self.drop_hint(curr);
        }
        self.refresh_min_vruntime(tasks);
    }

    /// Renews a deadline that has been reached; returns whether it had.
    pub(super) fn renew(&self, e: &mut Entity) -> bool {
        if before(e.vruntime, e.deadline) {
            return false;
        }
        e.slice = self.base_slice as u32;
        e.deadline = e.vruntime.wrapping_add(e.vlen(self.base_slice));
        true
    }

    fn drop_hint(&mut self, id: TaskId) {
        if self.next == Some(id) {
            self.next = None;
        }
    }

    /// Returns the bounded lag of a competitor.
    pub(super) fn lag(&self, tasks: &Entities, id: TaskId) -> i64 {
        let e = &tasks[id];
        let limit = e.vlen((2 * i64::from(e.slice)).max(self.tick));
        self.avg_vruntime(tasks).wrapping_sub(e.vruntime).clamp(-limit, limit)
    }

    /// Places a task that is about to be queued at V minus its lag.
    pub(super) fn place(&self, tasks: &mut Entities, id: TaskId, initial: bool) {
        let average = self.avg_vruntime(tasks);
        let mut lag = 0;
        if self.features.has(Feature::PlaceLag) && self.common.nr > 0 {
            let load = self.competitors(tasks).sum_weight;
            let own = i64::from(tasks[id].weight);
            lag = tasks.ledger(id).vlag.wrapping_mul(load + own).wrapping_div(load.max(1));
        }
        let e = &mut tasks[id];
        e.slice = self.base_slice as u32;
        let mut vslice = e.vlen(self.base_slice);
        if initial && self.features.has(Feature::PlaceDeadlineInitial) {
            vslice /= 2;
        }
        e.vruntime = average.wrapping_sub(lag);
        e.deadline = e.vruntime.wrapping_add(vslice);
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

    fn is_protected(&self, tasks: &Entities, id: TaskId) -> bool {
        self.features.has(Feature::RunToParity) && tasks.ledger(id).vlag == tasks[id].deadline
    }

    /// Returns the choice of the pick, without hints.
    pub(super) fn choose(&self, tasks: &Entities) -> Option<TaskId> {
        let all = self.competitors(tasks);
        let curr = self.common.competing(tasks).filter(|&c| self.is_eligible(all, &tasks[c]));
        if let Some(c) = curr
            && self.is_protected(tasks, c)
        {
            return curr;
        }
        let best = match self.pick {
            Pick::Walk => self.walk(tasks, all),
            Pick::Ideal => self.earliest_eligible(tasks, all),
        };
        match (curr, best) {
            (Some(c), Some(b)) if before(tasks[c].deadline, tasks[b].deadline) => curr,
            (_, Some(_)) => best,
            (Some(_), None) => curr,
            (None, None) => self.tree.leftmost().or(self.common.competing(tasks)),
        }
    }

    /// The walk of the August 2023 kernel.
    fn walk(&self, tasks: &Entities, all: Competitors) -> Option<TaskId> {
        let mut best: Option<TaskId> = None;
        let mut at = self.tree.root();
        while let Some(id) = at {
            let e = &tasks[id];
            if !self.is_eligible(all, e) {
                at = Timeline::left(tasks, id);
                continue;
            }
            if best.is_none_or(|b| before(e.deadline, tasks[b].deadline)) {
                best = Some(id);
                if e.deadline == e.least {
                    break;
                }
            }
            at = match Timeline::left(tasks, id) {
                Some(left) if tasks[left].least == e.least => Some(left),
                _ => Timeline::right(tasks, id),
            };
        }
        best
    }

    /// The earliest deadline among the eligible, who are a prefix of the tree's order.
    fn earliest_eligible(&self, tasks: &Entities, all: Competitors) -> Option<TaskId> {
        // What is found: a node itself, or the whole subtree left of an eligible node.
        let mut best: Option<(i64, TaskId, bool)> = None;
        let mut at = self.tree.root();
        while let Some(id) = at {
            if !self.is_eligible(all, &tasks[id]) {
                at = Timeline::left(tasks, id);
                continue;
            }
            let subtree = Timeline::left(tasks, id).map(|l| (tasks[l].least, l, true));
            let itself = (tasks[id].deadline, id, false);
            for found in subtree.into_iter().chain([itself]) {
                if best.is_none_or(|b| before(found.0, b.0)) {
                    best = Some(found);
                }
            }
            at = Timeline::right(tasks, id);
        }
        let (deadline, id, is_subtree) = best?;
        if is_subtree { Self::holder(tasks, id, deadline) } else { Some(id) }
    }

    /// Returns the first entity in order below `id` that has the subtree's earliest deadline.
    fn holder(tasks: &Entities, mut id: TaskId, deadline: i64) -> Option<TaskId> {
        loop {
            match Timeline::left(tasks, id) {
                Some(left) if tasks[left].least == deadline => id = left,
                _ if tasks[id].deadline == deadline => return Some(id),
                _ => id = Timeline::right(tasks, id)?,
            }
        }
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
