//! A queue in a given state, and single rules applied to it: for golden function vectors.

use super::{DelayedEevdf, Kernel, Version};
use crate::sched::entity::{Entities, TaskId};

impl<K: Kernel> DelayedEevdf<K> {
    /// Fills an empty queue: `curr` runs, the others wait, in this order of arrival.
    pub(in crate::sched) fn restore(
        &mut self,
        tasks: &mut Entities,
        reference: i64,
        curr: Option<TaskId>,
        queued: impl Iterator<Item = TaskId>,
    ) {
        self.queue.zero_vruntime = reference;
        self.common_mut().curr = curr;
        for id in queued {
            self.queue.count_in(tasks, id);
            if curr != Some(id) {
                self.queue.insert(tasks, id);
            }
        }
    }

    /// Returns the lag a task would store if it slept now.
    pub(in crate::sched) fn lag_now(&mut self, tasks: &Entities, id: TaskId) -> i64 {
        self.queue.lag(tasks, id).1
    }

    /// Returns the end of the interval the running task would get if switched in now (7.2).
    pub(in crate::sched) fn fresh_protection(&mut self, tasks: &mut Entities) -> i64 {
        let Some(curr) = self.queue.common.curr.filter(|_| K::VERSION >= Version::V7_2) else {
            return 0;
        };
        let before = *tasks.ledger(curr);
        self.protect(tasks, curr);
        std::mem::replace(tasks.ledger_mut(curr), before).vprot
    }
}
