//! What menu learns from idle periods, and the two predictions it draws from that.

use std::hint::select_unpredictable;
use std::marker::PhantomData;

use super::intervals::{Outliers, Ring};
use crate::idle::era::{Era, Ns, States, Us};
use crate::idle::governor::{Device, IdleOutcome};

/// A correction factor of one, per [`DECAY`].
const RESOLUTION: u64 = 1024;
/// Weight of the past: a new ratio counts one eighth.
const DECAY: u64 = 8;
/// Groups of six decades: without and with tasks in I/O wait.
const BUCKETS: usize = 12;
/// Buckets per group.
pub const DECADES: usize = 6;
/// Longest sleep whose ratio is of interest, us.
const MAX_INTERESTING_US: u64 = 50_000;
/// What a tick wakeup counts as when the timer was further away: nine tenths of the above, us.
const TICK_SLEEP_US: u64 = MAX_INTERESTING_US * 9 / 10;
/// What the revisions of menu learn differently.
pub struct Learning {
    /// A poll that ran into its limit counts as a sleep up to the timer.
    pub poll_timeout_is_full_sleep: bool,
    /// Outliers of the ring.
    pub outliers: Outliers,
}

/// Running averages of one CPU.
pub struct History<E> {
    /// Length of a tick in the era's unit.
    pub tick: i64,
    /// Time to the next timer at the last look, in the era's unit.
    pub next: u64,
    /// Correction factor to use and to update.
    pub bucket: usize,
    /// State of the last entry.
    last: usize,
    /// An outcome waits to be learned.
    needs_update: bool,
    /// The tick ended the last period.
    tick_wakeup: bool,
    /// Correction factors times `RESOLUTION * DECAY`.
    factors: [u32; BUCKETS],
    /// The last intervals.
    pub ring: Ring,
    era: PhantomData<E>,
}

/// Parts of a prediction that differ by era.
pub trait Scale: Era {
    /// Microseconds from an unsigned time of this era.
    fn to_us(time: u64) -> u32;
    /// `next * factor`, rounded, in microseconds.
    fn corrected(next: u64, factor: u64) -> u32;
    /// Unit of this era from microseconds.
    const PER_US: u64;
}

impl Scale for Us {
    const PER_US: u64 = 1;
    #[inline(always)]
    fn to_us(time: u64) -> u32 {
        time as u32
    }
    #[inline(always)]
    fn corrected(next: u64, factor: u64) -> u32 {
        ((next * factor + RESOLUTION * DECAY / 2) / (RESOLUTION * DECAY)) as u32
    }
}

impl Scale for Ns {
    const PER_US: u64 = 1000;
    #[inline(always)]
    fn to_us(time: u64) -> u32 {
        (time as i64 / 1000) as u32
    }
    #[inline(always)]
    fn corrected(next: u64, factor: u64) -> u32 {
        let half = RESOLUTION * DECAY * 1000 / 2;
        (next.wrapping_mul(factor).wrapping_add(half) / (RESOLUTION * DECAY * 1000)) as u32
    }
}

impl<E: Scale> History<E> {
    /// Nothing learned yet; intervals above `start` never count.
    pub fn new(hz: u32, start: u32) -> Self {
        Self {
            tick: E::tick(hz),
            next: 0,
            bucket: 0,
            last: 0,
            needs_update: false,
            tick_wakeup: false,
            factors: [(RESOLUTION * DECAY) as u32; BUCKETS],
            ring: Ring::new(start),
            era: PhantomData,
        }
    }

    /// Notes an outcome; it is learned at the next select.
    #[inline]
    pub fn note(&mut self, outcome: &IdleOutcome) {
        self.last = outcome.state;
        self.needs_update = true;
        self.tick_wakeup = outcome.got_tick;
    }

    /// Learns the noted outcome. True if there was none.
    #[inline]
    pub fn update(&mut self, learning: &Learning, states: &States, device: &Device) -> bool {
        if !self.needs_update {
            return true;
        }
        self.needs_update = false;
        let measured = self.measured(learning, states, device).min(self.next);
        let factor = self.factors[self.bucket];
        let counts = (self.next > 0) & (measured < MAX_INTERESTING_US * E::PER_US);
        // The ratio is one where it does not count; which it is, is hard to foresee.
        let dividend = select_unpredictable(counts, RESOLUTION.wrapping_mul(measured), RESOLUTION);
        let divisor = select_unpredictable(counts, self.next, 1);
        let ratio = (dividend / divisor) as u32;
        self.factors[self.bucket] = factor.wrapping_sub(factor / DECAY as u32).wrapping_add(ratio);
        self.ring.push(E::to_us(measured));
        false
    }

    /// How long the last period really lasted, exit latency taken off.
    #[inline(always)]
    fn measured(&self, learning: &Learning, states: &States, device: &Device) -> u64 {
        let residency = E::residency(device.last_residency);
        let exit = states.exit[self.last] as u64;
        let long = residency > exit.wrapping_mul(2) & E::MAX;
        let slept = select_unpredictable(long, residency.wrapping_sub(exit), residency / 2);
        let timed_out =
            learning.poll_timeout_is_full_sleep & states.polls(self.last) & device.poll_timed_out;
        let slept = select_unpredictable(timed_out, self.next, slept);
        let tick = self.tick_wakeup & (self.next > self.tick as u64);
        select_unpredictable(tick, TICK_SLEEP_US * E::PER_US, slept)
    }

    /// Takes the time to the next timer and finds its bucket among those `from` on.
    #[inline]
    pub fn look_at_timer(&mut self, next: u64, from: usize) {
        self.next = next;
        let mut decade = 10 * E::PER_US;
        let mut bucket = from;
        for _ in 1..DECADES {
            bucket += usize::from(next >= decade);
            decade *= 10;
        }
        self.bucket = bucket;
    }

    /// The corrected time to the timer, us.
    #[inline]
    pub fn corrected(&self) -> u32 {
        E::corrected(self.next, u64::from(self.factors[self.bucket]))
    }
}
