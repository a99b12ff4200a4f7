//! The competitors: sums, virtual time, eligibility, lag, placement, and the exact pick.

use std::marker::PhantomData;

use super::slices::Slices;
use super::{Kernel, Version};
use crate::sched::entity::{Entities, Entity, TaskId};
use crate::sched::features::{Feature, Features};
use crate::sched::order::{ByDeadline, before};
use crate::sched::runqueue::{Common, Settings};
use crate::sched::sorted::Sorted;
use crate::sched::tunables::BASE_SLICE;
use crate::sched::weights;

/// The tasks of one run queue and the sums that give V.
#[derive(Debug)]
pub(in crate::sched) struct Queue<K> {
    kernel: PhantomData<K>,
    features: Features,
    base_slice: i64,
    tick: i64,
    pub common: Common,
    /// Competitors with a slice of their own; without any, all slices are the base slice.
    custom: u32,
    waiting: Sorted<ByDeadline>,
    /// Slices of the waiting tasks.
    slices: Slices,
    /// Reference Z of virtual time, virtual ns; moves to V whenever the kernel evaluates V.
    pub zero_vruntime: i64,
    /// Sum over the tree of (vruntime - Z) * weight.
    pub sum_key_weight: i64,
    /// Sum of the weights in the tree.
    pub sum_weight: i64,
}

/// K and W of all competitors, the running task included.
#[derive(Debug, Clone, Copy)]
pub(in crate::sched) struct Competitors {
    sum_key_weight: i64,
    sum_weight: i64,
}

impl<K: Kernel> Queue<K> {
    pub fn new(settings: &Settings) -> Self {
        Self {
            kernel: PhantomData,
            features: settings.features,
            base_slice: settings.tunables.get(&BASE_SLICE),
            tick: settings.tick,
            common: Common::default(),
            custom: 0,
            waiting: Sorted::default(),
            slices: Slices::default(),
            zero_vruntime: settings.first_vruntime,
            sum_key_weight: 0,
            sum_weight: 0,
        }
    }

    /// Returns the virtual length of `d` ns: by inverse table in 6.12, by division in 7.2.
    #[inline]
    pub fn vlen(&self, e: &Entity, d: i64) -> i64 {
        match K::VERSION {
            Version::V6_12 => e.vlen(d),
            Version::V7_2 => weights::vlen_exact(d, e.weight),
        }
    }

    /// Returns the weight as it counts in the sums; 7.2 keeps the kernel's factor 1024.
    #[inline]
    pub fn weight(&self, e: &Entity) -> i64 {
        let shift = if K::VERSION >= Version::V7_2 { 10 } else { 0 };
        i64::from(e.weight) << shift
    }

    #[inline]
    fn key(&self, e: &Entity) -> i64 {
        e.vruntime.wrapping_sub(self.zero_vruntime)
    }

    #[inline]
    pub fn competitors(&self, tasks: &Entities) -> Competitors {
        let mut all =
            Competitors { sum_key_weight: self.sum_key_weight, sum_weight: self.sum_weight };
        if let Some(c) = self.common.competing(tasks) {
            let e = &tasks[c];
            let weight = self.weight(e);
            let weighted = self.key(e).wrapping_mul(weight);
            all.sum_key_weight = all.sum_key_weight.wrapping_add(weighted);
            all.sum_weight += weight;
        }
        all
    }

    /// Returns V, rounded down.
    pub fn avg_vruntime(&self, tasks: &Entities) -> i64 {
        if self.sum_weight == 0 {
            return self.common.competing(tasks).map_or(self.zero_vruntime, |c| tasks[c].vruntime);
        }
        let all = self.competitors(tasks);
        self.zero_vruntime.wrapping_add(all.sum_key_weight.div_euclid(all.sum_weight))
    }

    /// Moves the reference to V and returns it.
    pub fn follow_average(&mut self, tasks: &Entities) -> i64 {
        let average = self.avg_vruntime(tasks);
        self.move_zero(average.wrapping_sub(self.zero_vruntime));
        average
    }

    fn move_zero(&mut self, by: i64) {
        let shift = self.sum_weight.wrapping_mul(by);
        self.sum_key_weight = self.sum_key_weight.wrapping_sub(shift);
        self.zero_vruntime = self.zero_vruntime.wrapping_add(by);
    }

    /// Returns whether a virtual run time has not passed V; 7.2 multiplies in 128 bits.
    #[inline]
    fn eligible_at(zero_vruntime: i64, all: Competitors, vruntime: i64) -> bool {
        let key = vruntime.wrapping_sub(zero_vruntime);
        match K::VERSION {
            Version::V6_12 => all.sum_key_weight >= key.wrapping_mul(all.sum_weight),
            Version::V7_2 => {
                i128::from(all.sum_key_weight) >= i128::from(key) * i128::from(all.sum_weight)
            }
        }
    }

    #[inline]
    pub fn is_eligible(&self, tasks: &Entities, id: TaskId) -> bool {
        Self::eligible_at(self.zero_vruntime, self.competitors(tasks), tasks[id].vruntime)
    }

    /// Returns the slice if it was asked for.
    #[inline]
    fn own_slice(e: &Entity) -> Option<u32> {
        e.custom_slice.then_some(e.slice)
    }

    #[inline]
    pub fn insert(&mut self, tasks: &mut Entities, id: TaskId) {
        let (key, weight) = (self.key(&tasks[id]), self.weight(&tasks[id]));
        self.sum_key_weight = self.sum_key_weight.wrapping_add(key.wrapping_mul(weight));
        self.sum_weight += weight;
        self.waiting.insert(tasks, id);
        self.slices.add(Self::own_slice(&tasks[id]));
    }

    #[inline]
    pub fn remove(&mut self, tasks: &mut Entities, id: TaskId) {
        self.waiting.remove(tasks, id);
        self.slices.take(Self::own_slice(&tasks[id]));
        let (key, weight) = (self.key(&tasks[id]), self.weight(&tasks[id]));
        self.sum_key_weight = self.sum_key_weight.wrapping_sub(key.wrapping_mul(weight));
        self.sum_weight -= weight;
    }

    /// Counts a task in; it is about to be put into the tree or the running slot.
    #[inline]
    pub fn count_in(&mut self, tasks: &mut Entities, id: TaskId) {
        if tasks[id].custom_slice {
            self.custom += 1;
        }
        self.common.count_in(tasks, id);
    }

    /// Counts a task out.
    #[inline]
    pub fn count_out(&mut self, tasks: &mut Entities, id: TaskId) {
        self.custom -= u32::from(tasks[id].custom_slice);
        self.common.count_out(tasks, id);
    }

    /// Returns the shortest and the longest slice among the competitors, of which `also` is one.
    #[inline]
    pub fn slices(&self, tasks: &Entities, also: TaskId) -> (i64, i64) {
        if self.custom == 0 {
            return (self.base_slice, self.base_slice);
        }
        self.extreme_slices(tasks, also)
    }

    fn extreme_slices(&self, tasks: &Entities, also: TaskId) -> (i64, i64) {
        let own = tasks[also].slice;
        let mut extremes = (own, own);
        let running = self.common.competing(tasks).map(|c| (tasks[c].slice, tasks[c].slice));
        for (shortest, longest) in
            self.slices.extremes(self.base_slice as u32).into_iter().chain(running)
        {
            extremes = (extremes.0.min(shortest), extremes.1.max(longest));
        }
        (i64::from(extremes.0), i64::from(extremes.1))
    }

    fn refresh_slice(&self, e: &mut Entity) {
        if !e.custom_slice {
            e.slice = self.base_slice as u32;
        }
    }

    /// Sets the slice; 0 means the base slice.
    pub fn set_slice(&self, e: &mut Entity, slice: i64) {
        e.custom_slice = slice > 0;
        if e.custom_slice {
            e.slice = slice as u32;
        }
        self.refresh_slice(e);
    }

    /// Renews a deadline that has been reached; returns whether it had.
    #[inline]
    pub fn renew(&mut self, tasks: &mut Entities, id: TaskId) -> bool {
        let e = &mut tasks[id];
        if before(e.vruntime, e.deadline) {
            return false;
        }
        self.refresh_slice(e);
        e.deadline = e.vruntime.wrapping_add(self.vlen(e, i64::from(e.slice)));
        self.follow_average(tasks);
        true
    }

    /// Returns the distance from V and the lag bounded by it: the slice rule of the version.
    pub fn lag(&mut self, tasks: &Entities, id: TaskId) -> (i64, i64) {
        let average = self.follow_average(tasks);
        let e = &tasks[id];
        let limit = match K::VERSION {
            Version::V6_12 => (2 * i64::from(e.slice)).max(self.tick),
            Version::V7_2 => self.slices(tasks, id).1 + self.tick,
        };
        let limit = self.vlen(e, limit);
        let distance = average.wrapping_sub(e.vruntime);
        (distance, distance.clamp(-limit, limit))
    }

    /// Places a task that is about to be queued at V minus its inflated lag.
    pub fn place(&mut self, tasks: &mut Entities, id: TaskId, initial: bool) {
        let average = self.follow_average(tasks);
        let stored = tasks.ledger(id).vlag;
        let matters = K::VERSION == Version::V6_12 || stored != 0;
        let mut lag = 0;
        if self.features.has(Feature::PlaceLag) && self.common.nr > 0 && matters {
            let load = self.competitors(tasks).sum_weight;
            let own = self.weight(&tasks[id]);
            lag = stored.wrapping_mul(load.wrapping_add(own)).wrapping_div(load.max(1));
            if K::VERSION >= Version::V7_2 && load < own {
                self.move_zero(lag.wrapping_neg());
            }
        }
        let e = &mut tasks[id];
        self.refresh_slice(e);
        e.vruntime = average.wrapping_sub(lag);
        if e.rel_deadline {
            e.rel_deadline = false;
            e.deadline = e.deadline.wrapping_add(e.vruntime);
            return;
        }
        let mut vslice = self.vlen(e, i64::from(e.slice));
        if initial && self.features.has(Feature::PlaceDeadlineInitial) {
            vslice /= 2;
        }
        e.deadline = e.vruntime.wrapping_add(vslice);
    }

    /// Returns the only competitor.
    pub fn lone(&self, tasks: &Entities) -> Option<TaskId> {
        self.common.competing(tasks).or(self.waiting.first())
    }

    /// Returns the running task if it competes and is eligible, and the best by deadline of it and
    /// the eligible tasks of the tree.
    #[inline]
    pub fn eligible_runner(&self, tasks: &Entities, all: Competitors) -> Option<TaskId> {
        let eligible = |c: &TaskId| Self::eligible_at(self.zero_vruntime, all, tasks[*c].vruntime);
        self.common.competing(tasks).filter(eligible)
    }

    /// Returns the first eligible task in deadline order; the runner wins only if strictly first.
    #[inline]
    pub fn earliest(
        &mut self,
        tasks: &Entities,
        all: Competitors,
        runner: Option<TaskId>,
    ) -> Option<TaskId> {
        let zero = self.zero_vruntime;
        let eligible = |vruntime| Self::eligible_at(zero, all, vruntime);
        let best = self.waiting.first_passing(tasks, eligible);
        match (runner, best) {
            (Some(r), Some(b)) if before(tasks[r].deadline, tasks[b].deadline) => runner,
            (_, Some(_)) => best,
            (Some(_), None) => runner,
            (None, None) => self.waiting.first().or(self.common.competing(tasks)),
        }
    }
}
