//! Leaving the queue: sleep, delayed dequeue, the requeue of a delayed task, migration.

use super::{DelayedEevdf, Kernel, Version};
use crate::sched::entity::{Entities, TaskId};
use crate::sched::features::Feature;
use crate::sched::runqueue::Sleep;

impl<K: Kernel> DelayedEevdf<K> {
    /// The running task blocks: it leaves, or stays as delayed if it is not eligible.
    pub(super) fn block_running(&mut self, tasks: &mut Entities, how: Sleep, now: i64) {
        let Some(curr) = self.queue.common.curr else { return };
        self.charge(tasks, now);
        self.drop_hint(curr);
        let may_delay = how == Sleep::Normal && self.has(Feature::DelayDequeue);
        if may_delay && !self.queue.is_eligible(tasks, curr) {
            tasks[curr].delayed = true;
            if self.is_7_2() {
                tasks.ledger_mut(curr).vlag = self.queue.lag(tasks, curr).1;
            }
            return;
        }
        self.store_lag(tasks, curr);
        self.count_out(tasks, curr);
    }

    /// A delayed task met by the pick leaves for good.
    pub(super) fn drop_delayed(&mut self, tasks: &mut Entities, id: TaskId, now: i64) {
        self.charge(tasks, now);
        self.drop_hint(id);
        self.store_lag(tasks, id);
        if self.has(Feature::DelayZero) {
            let ledger = tasks.ledger_mut(id);
            ledger.vlag = ledger.vlag.min(0);
        }
        self.count_out(tasks, id);
        tasks[id].delayed = false;
    }

    /// A queued task leaves the queue without sleeping; it keeps its distance to the deadline.
    pub(super) fn take_out(&mut self, tasks: &mut Entities, id: TaskId, now: i64) {
        self.charge(tasks, now);
        self.drop_hint(id);
        self.store_lag(tasks, id);
        if self.has(Feature::PlaceRelDeadline) {
            let e = &mut tasks[id];
            e.deadline = e.deadline.wrapping_sub(e.vruntime);
            e.rel_deadline = true;
        }
        self.count_out(tasks, id);
    }

    fn store_lag(&mut self, tasks: &mut Entities, id: TaskId) {
        let mut lag = self.queue.lag(tasks, id).1;
        if self.is_7_2() && tasks[id].delayed {
            lag = self.bounded_by_delay(tasks, id, lag);
        }
        tasks.ledger_mut(id).vlag = lag;
    }

    /// 7.2: the lag of a delayed task does not fall below the one recorded at the block.
    fn bounded_by_delay(&self, tasks: &Entities, id: TaskId, lag: i64) -> i64 {
        let lag = lag.max(tasks.ledger(id).vlag);
        if self.has(Feature::DelayZero) { lag.min(0) } else { lag }
    }

    fn count_out(&mut self, tasks: &mut Entities, id: TaskId) {
        if self.queue.common.curr != Some(id) {
            self.queue.remove(tasks, id);
        }
        self.queue.count_out(tasks, id);
    }

    /// A delayed task is woken while still queued.
    pub(super) fn requeue(&mut self, tasks: &mut Entities, id: TaskId, now: i64) {
        let again = match K::VERSION {
            Version::V6_12 => self.requeue_lag_6_12(tasks, id),
            Version::V7_2 => self.requeue_lag_7_2(tasks, id, now),
        };
        if again {
            self.count_out(tasks, id);
            self.queue.place(tasks, id, false);
            self.queue.count_in(tasks, id);
            self.queue.insert(tasks, id);
        }
        tasks[id].delayed = false;
    }

    /// Stores the lag; returns true if the task is to be placed anew. Nobody is charged.
    fn requeue_lag_6_12(&mut self, tasks: &mut Entities, id: TaskId) -> bool {
        if !self.has(Feature::DelayZero) {
            return false;
        }
        let lag = self.queue.lag(tasks, id).1;
        tasks.ledger_mut(id).vlag = lag.min(0);
        lag > 0
    }

    /// Charges and stores the lag; returns true if the task is to be placed anew.
    fn requeue_lag_7_2(&mut self, tasks: &mut Entities, id: TaskId, now: i64) -> bool {
        self.charge(tasks, now);
        let (distance, lag) = self.queue.lag(tasks, id);
        let lag = self.bounded_by_delay(tasks, id, lag);
        tasks.ledger_mut(id).vlag = lag;
        lag != distance
    }
}
