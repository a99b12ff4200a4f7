//! Protection of the running task, the pick, and what wake-ups may do to them.

use super::{DelayedEevdf, Kernel, Version};
use crate::sched::entity::{Class, Entities, TaskId};
use crate::sched::features::Feature;
use crate::sched::order::{before, earlier};
use crate::sched::runqueue::{Enqueue, Resched};

impl<K: Kernel> DelayedEevdf<K> {
    /// Returns true while the task may not be preempted: marked (6.12), inside its interval (7.2).
    #[inline]
    fn is_protected(&self, tasks: &Entities, id: TaskId) -> bool {
        let (e, ledger) = (&tasks[id], tasks.ledger(id));
        match K::VERSION {
            Version::V6_12 => ledger.vlag == e.deadline,
            Version::V7_2 => before(e.vruntime, ledger.vprot),
        }
    }

    /// Returns the protection as it is shown: 1 or 0 (6.12), the end of the interval (7.2).
    pub(super) fn protection(&self, tasks: &Entities, id: TaskId) -> i64 {
        match K::VERSION {
            Version::V6_12 => i64::from(self.is_protected(tasks, id)),
            Version::V7_2 => tasks.ledger(id).vprot,
        }
    }

    /// Protects the task just switched in.
    pub(super) fn protect(&mut self, tasks: &mut Entities, id: TaskId) {
        let deadline = tasks[id].deadline;
        match K::VERSION {
            Version::V6_12 => tasks.ledger_mut(id).vlag = deadline,
            Version::V7_2 => {
                let own = i64::from(tasks[id].slice);
                let shortest = if self.has(Feature::RunToParity) {
                    self.queue.slices(tasks, id).0
                } else {
                    self.normalized_slice.min(own)
                };
                tasks.ledger_mut(id).vprot = if shortest == own {
                    deadline
                } else {
                    earlier(deadline, self.after(tasks, id, shortest))
                };
            }
        }
    }

    /// Returns the virtual time at which the task will have run `slice` ns more.
    fn after(&self, tasks: &Entities, id: TaskId, slice: i64) -> i64 {
        let e = &tasks[id];
        e.vruntime.wrapping_add(self.queue.vlen(e, slice))
    }

    fn cancel_protection(&self, tasks: &mut Entities, id: TaskId) {
        if !self.is_protected(tasks, id) {
            return;
        }
        let (e, ledger) = tasks.both_mut(id);
        match K::VERSION {
            Version::V6_12 => ledger.vlag = e.deadline.wrapping_add(1),
            Version::V7_2 => ledger.vprot = e.vruntime,
        }
    }

    /// 7.2: a waiting task limits the protection to the shortest slice in the queue.
    fn shorten_protection(&self, tasks: &mut Entities, runner: TaskId) {
        let shortest = self.queue.slices(tasks, runner).0;
        let end = self.after(tasks, runner, shortest);
        let ledger = tasks.ledger_mut(runner);
        ledger.vprot = earlier(ledger.vprot, end);
    }

    /// Returns true if a charge finds that the running task has lost its claim on the CPU.
    #[inline]
    pub(super) fn gives_way(&self, tasks: &Entities, curr: TaskId) -> bool {
        match K::VERSION {
            Version::V6_12 => {
                self.has(Feature::PreemptShort)
                    && !self.is_protected(tasks, curr)
                    && !self.queue.is_eligible(tasks, curr)
            }
            Version::V7_2 => !self.is_protected(tasks, curr),
        }
    }

    /// Returns the choice of the pick; `hints` says whether the next-hint counts.
    pub(in crate::sched) fn choose(
        &mut self,
        tasks: &Entities,
        protect: bool,
        hints: bool,
    ) -> Option<TaskId> {
        let all = self.queue.competitors(tasks);
        let hinted = || {
            let hint = self.next.filter(|_| hints && self.has(Feature::PickBuddy));
            hint.filter(|&n| self.queue.is_eligible(tasks, n))
        };
        if K::VERSION == Version::V6_12
            && let Some(hint) = hinted()
        {
            return Some(hint);
        }
        if self.queue.common.nr == 1 {
            return self.queue.lone(tasks);
        }
        if K::VERSION >= Version::V7_2
            && protect
            && let Some(hint) = hinted()
        {
            return Some(hint);
        }
        let runner = self.queue.eligible_runner(tasks, all);
        if let Some(r) = runner
            && protect
            && self.holds(tasks, r)
        {
            return runner;
        }
        self.queue.earliest(tasks, all, runner)
    }

    /// Returns true if the pick respects the runner's protection.
    #[inline]
    fn holds(&self, tasks: &Entities, runner: TaskId) -> bool {
        (self.is_7_2() || self.has(Feature::RunToParity)) && self.is_protected(tasks, runner)
    }

    /// The real pick: delayed tasks it meets leave for good.
    pub(super) fn pick_dropping_delayed(
        &mut self,
        tasks: &mut Entities,
        protect: bool,
        now: i64,
    ) -> Option<TaskId> {
        while self.queue.common.nr > 0 {
            if self.queue.common.competing(tasks).is_some() {
                self.charge(tasks, now);
            }
            let choice = self.choose(tasks, protect, true)?;
            if !tasks[choice].delayed {
                return Some(choice);
            }
            self.drop_delayed(tasks, choice, now);
        }
        None
    }

    /// Decides whether the task just made runnable preempts the running one.
    pub(super) fn test_preemption(
        &mut self,
        tasks: &mut Entities,
        id: TaskId,
        how: Enqueue,
        now: i64,
    ) {
        let Some(curr) = self.queue.common.curr else {
            self.common_mut().ask(Resched::Now);
            return;
        };
        if curr == id {
            return;
        }
        let wakee = tasks[id];
        let hintable = how != Enqueue::Fork && !wakee.delayed && !wakee.is_idle();
        if K::VERSION == Version::V6_12 && self.has(Feature::NextBuddy) && hintable {
            self.next = Some(id);
        }
        if self.reschedule_is_certain() || !self.has(Feature::WakeupPreemption) {
            return;
        }
        let runner_idle = tasks[curr].is_idle();
        if runner_idle && !wakee.is_idle() {
            self.cancel_protection(tasks, curr);
            self.common_mut().ask(Resched::Lazy);
            return;
        }
        if runner_idle != wakee.is_idle() || wakee.class != Class::Normal {
            return;
        }
        self.charge(tasks, now);
        match K::VERSION {
            Version::V6_12 => self.compare_6_12(tasks, id, curr),
            Version::V7_2 => self.compare_7_2(tasks, id, curr, how, now),
        }
    }

    /// A pending wish stops the test; in 7.2 only one that is not lazy.
    fn reschedule_is_certain(&self) -> bool {
        let pending = self.queue.common.resched;
        if self.is_7_2() { pending == Resched::Now } else { pending != Resched::No }
    }

    fn is_shorter(&self, tasks: &Entities, id: TaskId, curr: TaskId) -> bool {
        self.has(Feature::PreemptShort) && tasks[id].slice < tasks[curr].slice
    }

    fn compare_6_12(&mut self, tasks: &mut Entities, id: TaskId, curr: TaskId) {
        if self.is_shorter(tasks, id, curr)
            && self.queue.is_eligible(tasks, id)
            && (before(tasks[id].deadline, tasks[curr].deadline)
                || !self.queue.is_eligible(tasks, curr))
        {
            self.cancel_protection(tasks, curr);
        }
        if self.choose(tasks, true, false) == Some(id) {
            self.common_mut().ask(Resched::Lazy);
        }
    }

    fn compare_7_2(
        &mut self,
        tasks: &mut Entities,
        id: TaskId,
        curr: TaskId,
        how: Enqueue,
        now: i64,
    ) {
        let short = self.is_shorter(tasks, id, curr);
        if !short {
            if how == Enqueue::Fork || tasks[id].delayed {
                return;
            }
            if self.has(Feature::NextBuddy)
                && self.take_hint_7_2(tasks, id)
                && how == (Enqueue::Wake { sync: true })
            {
                return;
            }
        }
        if self.pick_dropping_delayed(tasks, !short, now) == Some(id) {
            self.common_mut().ask(Resched::Lazy);
            if short {
                self.cancel_protection(tasks, curr);
                self.drop_hint(curr);
            }
        } else if self.has(Feature::RunToParity) {
            self.shorten_protection(tasks, curr);
        }
    }

    /// The wakee becomes the hint unless one with an earlier deadline exists.
    fn take_hint_7_2(&mut self, tasks: &Entities, id: TaskId) -> bool {
        let taken = self.next.is_none_or(|n| !before(tasks[n].deadline, tasks[id].deadline));
        if taken {
            self.next = Some(id);
        }
        taken
    }
}
