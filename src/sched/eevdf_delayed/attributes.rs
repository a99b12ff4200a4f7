//! Changes of nice value and slice: out of the queue, changed, in again.

use super::{DelayedEevdf, Kernel, Version};
use crate::sched::entity::{Entities, TaskId};
use crate::sched::runqueue::{Enqueue, Resched};

/// Bounds of a custom slice, ns (Linux `__setparam_fair`).
const SLICE_LIMITS: (i64, i64) = (100_000, 100_000_000);

impl<K: Kernel> DelayedEevdf<K> {
    /// Takes a queued task out, lets `change` act on it, and puts it back as it was.
    fn change_off_queue(
        &mut self,
        tasks: &mut Entities,
        id: TaskId,
        now: i64,
        change: impl FnOnce(&Self, &mut Entities),
    ) {
        if !tasks[id].on_rq {
            return change(self, tasks);
        }
        let running = self.queue.common.curr == Some(id);
        self.take_out(tasks, id, now);
        if running {
            self.common_mut().curr = None;
        }
        change(self, tasks);
        self.queue.place(tasks, id, false);
        self.queue.count_in(tasks, id);
        if running {
            self.switch_in(tasks, id, now);
            if K::VERSION == Version::V6_12 {
                self.protect(tasks, id);
            }
        } else {
            self.queue.insert(tasks, id);
            if self.queue.common.slice_timer.is_none() {
                self.arm_timer(tasks, now);
            }
        }
    }

    pub(super) fn change_nice(&mut self, tasks: &mut Entities, id: TaskId, nice: i8, now: i64) {
        let old = tasks[id].nice;
        self.change_off_queue(tasks, id, now, |this, tasks| this.reweight(tasks, id, nice));
        if !tasks[id].on_rq || self.queue.common.nr == 1 {
            return;
        }
        if self.queue.common.curr != Some(id) {
            self.test_preemption(tasks, id, Enqueue::Wake { sync: false }, now);
        } else if nice > old {
            self.common_mut().ask(Resched::Now);
        }
    }

    /// Takes the new weight and rescales what is stored relative to it.
    fn reweight(&self, tasks: &mut Entities, id: TaskId, nice: i8) {
        let old = i64::from(tasks[id].weight);
        tasks[id].set_nice(nice);
        let (e, ledger) = tasks.both_mut(id);
        let new = i64::from(e.weight);
        ledger.vlag = ledger.vlag.wrapping_mul(old).wrapping_div(new);
        if self.is_7_2() && e.rel_deadline {
            e.deadline = e.deadline.wrapping_mul(old).wrapping_div(new);
        }
    }

    pub(super) fn change_slice(&mut self, tasks: &mut Entities, id: TaskId, slice: i64, now: i64) {
        let slice = if slice > 0 { slice.clamp(SLICE_LIMITS.0, SLICE_LIMITS.1) } else { 0 };
        self.change_off_queue(tasks, id, now, |this, tasks| {
            this.queue.set_slice(&mut tasks[id], slice);
        });
    }
}
