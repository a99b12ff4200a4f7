//! The slice timer of 7.2 (`HRTICK`): a precise end of slices between ticks.

use super::{DelayedEevdf, Kernel};
use crate::sched::entity::Entities;
use crate::sched::features::Feature;
use crate::sched::runqueue::Resched;

/// Shortest delay the timer is armed with, ns (Linux `hrtick_start`).
const SHORTEST_DELAY: i64 = 10_000;

/// A pending timer that expires within so many ns of the new time is left alone, ns.
const SLACK: i64 = 5_000;

impl<K: Kernel> DelayedEevdf<K> {
    /// Arms the timer for the running task's deadline if somebody waits.
    #[inline]
    pub(super) fn arm_timer(&mut self, tasks: &Entities, now: i64) {
        let Some(curr) = self.queue.common.curr else { return };
        if !self.has(Feature::Hrtick) || self.queue.common.nr < 2 {
            return;
        }
        let e = &tasks[curr];
        let left = e.deadline.wrapping_sub(e.vruntime);
        if left < 0 {
            self.common_mut().ask(Resched::Now);
            return;
        }
        let delay = i64::from(e.weight).wrapping_mul(left) / 1024;
        let expiry = now.saturating_add(delay.max(SHORTEST_DELAY));
        if self
            .queue
            .common
            .slice_timer
            .is_none_or(|pending| pending.abs_diff(expiry) > SLACK as u64)
        {
            self.common_mut().slice_timer = Some(expiry);
        }
    }
}
