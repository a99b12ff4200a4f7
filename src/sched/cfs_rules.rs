//! The rules of CFS that need no queue, on plain numbers: slices, placement, verdicts.

use super::entity::Entity;
use super::features::{Feature, Features};
use super::order::before;
use super::tunables::{
    IDLE_MIN_GRANULARITY, LATENCY, MIN_GRANULARITY, Tunables, WAKEUP_GRANULARITY,
};
use super::weights;

/// Switches and lengths of time, with the rules that use them.
#[derive(Debug, Clone)]
pub struct CfsRules {
    pub(super) features: Features,
    latency: i64,
    min_granularity: i64,
    wakeup_granularity: i64,
    idle_min_granularity: i64,
    /// More tasks than this stretch the period (Linux `sched_nr_latency`).
    pub(super) nr_latency: i64,
    capped: bool,
}

/// Number of tasks and sum of weights a rule works with.
#[derive(Debug, Clone, Copy)]
pub struct QueueLoad {
    /// Tasks queued.
    pub nr: i64,
    /// Sum of their weights.
    pub load: u64,
    /// All of them are SCHED_IDLE.
    pub only_idle: bool,
}

impl CfsRules {
    /// Takes the values out of `settings`; `capped` bounds the tick's slice by the latency.
    pub fn new(features: Features, tunables: &Tunables, capped: bool) -> Self {
        let (latency, min) = (tunables.get(&LATENCY), tunables.get(&MIN_GRANULARITY));
        Self {
            features,
            latency,
            min_granularity: min,
            wakeup_granularity: tunables.get(&WAKEUP_GRANULARITY),
            idle_min_granularity: tunables.get(&IDLE_MIN_GRANULARITY),
            nr_latency: (latency as u64).div_ceil(min as u64) as i64,
            capped,
        }
    }

    /// Returns the ideal slice in ns of a task in a queue that includes it.
    pub fn ideal_slice(&self, e: &Entity, queue: QueueLoad) -> i64 {
        let period =
            if queue.nr > self.nr_latency { queue.nr * self.min_granularity } else { self.latency };
        let slice = weights::share(period as u64, u64::from(e.weight), queue.load) as i64;
        if !self.features.has(Feature::BaseSlice) {
            return slice;
        }
        let idle_beside_others = e.is_idle() && !queue.only_idle;
        slice.max(if idle_beside_others { self.idle_min_granularity } else { self.min_granularity })
    }

    /// Returns where a new task starts: one slice late, unless its own start is later still.
    pub fn place_new(&self, e: &Entity, min_vruntime: i64, queue_without: QueueLoad) -> i64 {
        let mut base = min_vruntime;
        if self.features.has(Feature::StartDebit) {
            let queue = QueueLoad {
                nr: queue_without.nr + 1,
                load: queue_without.load + u64::from(e.weight),
                ..queue_without
            };
            base = base.wrapping_add(e.vlen(self.ideal_slice(e, queue)));
        }
        later(e.vruntime, base)
    }

    /// Returns where a woken task continues: not too far behind, unless its own place is later.
    pub fn place_woken(&self, e: &Entity, min_vruntime: i64) -> i64 {
        later(e.vruntime, self.woken_base(e, min_vruntime))
    }

    /// Returns the earliest place of a woken task.
    pub(super) fn woken_base(&self, e: &Entity, min_vruntime: i64) -> i64 {
        let credit = if e.is_idle() { self.min_granularity } else { self.latency };
        let gentle = self.features.has(Feature::GentleFairSleepers);
        min_vruntime.wrapping_sub(if gentle { credit >> 1 } else { credit })
    }

    /// Compares the running task with a waiting one: -1 not behind it, 0 ahead by less than the
    /// granularity in the waiting task's virtual time, 1 ahead by more.
    pub fn verdict(&self, running: &Entity, waiting: &Entity) -> i32 {
        let ahead = running.vruntime.wrapping_sub(waiting.vruntime);
        if ahead <= 0 { -1 } else { i32::from(ahead > waiting.vlen(self.wakeup_granularity)) }
    }

    /// Returns what a tick finds: `ran` is the time since switch-in, `queue` includes the task.
    pub fn tick(&self, e: &Entity, ran: i64, leftmost: i64, queue: QueueLoad) -> TickVerdict {
        let mut ideal = self.ideal_slice(e, queue);
        if self.capped {
            ideal = ideal.min(self.latency);
        }
        if ran > ideal {
            TickVerdict::SliceOver
        } else if ran >= self.min_granularity && e.vruntime.wrapping_sub(leftmost) > ideal {
            TickVerdict::Ahead
        } else {
            TickVerdict::GoOn
        }
    }
}

/// What a tick finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TickVerdict {
    /// The slice is used up: reschedule and drop the task's hints.
    SliceOver,
    /// The task is more than its slice ahead of the smallest: reschedule.
    Ahead,
    /// Neither.
    GoOn,
}

/// Returns the later of two virtual times.
#[inline]
pub(super) fn later(a: i64, b: i64) -> i64 {
    if before(a, b) { b } else { a }
}
