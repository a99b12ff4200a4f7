//! Virtual time: the sums that give V, eligibility, renewal, lag and placement.

use super::Eevdf;
use crate::sched::entity::{Entities, Entity, TaskId};
use crate::sched::features::Feature;
use crate::sched::order::{before, earlier};

/// K and W of all competitors, the running task included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Competitors {
    sum_key_weight: i64,
    sum_weight: i64,
}

impl Eevdf {
    #[inline]
    pub(super) fn key(&self, e: &Entity) -> i64 {
        e.vruntime.wrapping_sub(self.min_vruntime)
    }

    #[inline]
    pub(super) fn competitors(&self, tasks: &Entities) -> Competitors {
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
    pub(super) fn is_eligible(&self, all: Competitors, e: &Entity) -> bool {
        all.sum_key_weight >= self.key(e).wrapping_mul(all.sum_weight)
    }

    pub(super) fn insert(&mut self, tasks: &mut Entities, id: TaskId) {
        let (key, weight) = (self.key(&tasks[id]), i64::from(tasks[id].weight));
        self.sum_key_weight = self.sum_key_weight.wrapping_add(key.wrapping_mul(weight));
        self.sum_weight += weight;
        self.tree.insert(tasks, id);
    }

    pub(super) fn remove(&mut self, tasks: &mut Entities, id: TaskId) {
        self.tree.remove(tasks, id);
        let (key, weight) = (self.key(&tasks[id]), i64::from(tasks[id].weight));
        self.sum_key_weight = self.sum_key_weight.wrapping_sub(key.wrapping_mul(weight));
        self.sum_weight -= weight;
    }

    pub(super) fn refresh_min_vruntime(&mut self, tasks: &Entities) {
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

    /// Renews a deadline that has been reached; returns whether it had.
    pub(in crate::sched) fn renew(&self, e: &mut Entity) -> bool {
        if before(e.vruntime, e.deadline) {
            return false;
        }
        e.slice = self.base_slice as u32;
        e.deadline = e.vruntime.wrapping_add(e.vlen(self.base_slice));
        true
    }

    /// Returns the bounded lag of a competitor.
    pub(in crate::sched) fn lag(&self, tasks: &Entities, id: TaskId) -> i64 {
        let e = &tasks[id];
        let limit = e.vlen((2 * i64::from(e.slice)).max(self.tick));
        self.avg_vruntime(tasks).wrapping_sub(e.vruntime).clamp(-limit, limit)
    }

    /// Places a task that is about to be queued at V minus its lag.
    pub(in crate::sched) fn place(&self, tasks: &mut Entities, id: TaskId, initial: bool) {
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
}
