//! What menu learns from idle periods, and the two predictions it draws from that.

use std::marker::PhantomData;

use crate::idle::era::{Era, Ns, States, Us};
use crate::idle::governor::{Device, IdleOutcome};

/// Intervals in the ring.
const INTERVALS: usize = 8;
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
/// "No typical interval", and what is stored when there is no interval to store.
pub const NO_INTERVAL: u32 = u32::MAX;

/// How the outliers of the ring are found.
pub enum Outliers {
    /// Values above a threshold are dropped. The start value is what tells 5.3 from 5.0; `needs_gain`
    /// gives up once the smallest value is no smaller than the prediction so far.
    Above {
        /// First threshold.
        start: u32,
        /// Give up when the ring cannot lower the prediction.
        needs_gain: bool,
    },
    /// As above, giving up when the largest value is zero.
    AboveUnlessZero {
        /// First threshold.
        start: u32,
    },
    /// Values at the end that is further from the mean are dropped.
    EitherEnd,
}

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
    /// The last intervals, us.
    intervals: [u32; INTERVALS],
    place: usize,
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
    pub fn new(hz: u32) -> Self {
        Self {
            tick: E::tick(hz),
            next: 0,
            bucket: 0,
            last: 0,
            needs_update: false,
            tick_wakeup: false,
            factors: [(RESOLUTION * DECAY) as u32; BUCKETS],
            intervals: [0; INTERVALS],
            place: 0,
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
        let mut factor = factor.wrapping_sub(factor / DECAY as u32);
        factor = if self.next > 0 && measured < MAX_INTERESTING_US * E::PER_US {
            factor.wrapping_add((RESOLUTION * measured / self.next) as u32)
        } else {
            factor.wrapping_add(RESOLUTION as u32)
        };
        self.factors[self.bucket] = factor;
        self.push(E::to_us(measured));
        false
    }

    /// How long the last period really lasted, exit latency taken off.
    #[inline]
    fn measured(&self, learning: &Learning, states: &States, device: &Device) -> u64 {
        if self.tick_wakeup && self.next > self.tick as u64 {
            return TICK_SLEEP_US * E::PER_US;
        }
        if learning.poll_timeout_is_full_sleep && states.polls(self.last) && device.poll_timed_out {
            return self.next;
        }
        let residency = E::residency(device.last_residency);
        let exit = states.exit[self.last] as u64;
        if residency > exit.wrapping_mul(2) & E::MAX { residency - exit } else { residency / 2 }
    }

    /// Stores an interval in us.
    #[inline]
    pub fn push(&mut self, interval: u32) {
        self.intervals[self.place] = interval;
        self.place = (self.place + 1) % INTERVALS;
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

    /// The interval that the last eight agree on, us; [`NO_INTERVAL`] if they do not, or if they
    /// cannot lower `prediction`.
    #[inline]
    pub fn typical(&self, outliers: &Outliers, prediction: u32) -> u32 {
        match *outliers {
            Outliers::Above { start, needs_gain } => {
                self.below(start, |_, min| needs_gain && min >= prediction)
            }
            Outliers::AboveUnlessZero { start } => self.below(start, |max, _| max == 0),
            Outliers::EitherEnd => self.between(),
        }
    }

    #[inline]
    fn below(&self, mut threshold: u32, hopeless: impl Fn(u32, u32) -> bool) -> u32 {
        loop {
            let (mut count, mut sum, mut max, mut min) = (0u64, 0u64, 0u32, u32::MAX);
            for &v in &self.intervals {
                if v <= threshold {
                    count += 1;
                    sum += u64::from(v);
                    max = max.max(v);
                    min = min.min(v);
                }
            }
            if hopeless(max, min) || count == 0 {
                return NO_INTERVAL;
            }
            let mean = (sum / count) as u32;
            let mut squares = 0u64;
            for &v in &self.intervals {
                if v <= threshold {
                    let d = i64::from(v) - i64::from(mean);
                    squares = squares.wrapping_add((d as u64).wrapping_mul(d as u64));
                }
            }
            if agree(u64::from(mean), squares / count, count) {
                return mean;
            }
            if count * 4 <= INTERVALS as u64 * 3 {
                return NO_INTERVAL;
            }
            threshold = max - 1; // some value is below max: otherwise all agree
        }
    }

    #[inline]
    fn between(&self) -> u32 {
        let (mut low, mut high) = (-1i64, i64::from(u32::MAX));
        loop {
            let (mut count, mut sum, mut squares) = (0u64, 0u64, 0u64);
            let (mut max, mut min) = (0i64, i64::from(u32::MAX));
            for &v in &self.intervals {
                let v = i64::from(v);
                if low < v && v < high {
                    count += 1;
                    sum += v as u64;
                    squares = squares.wrapping_add((v as u64).wrapping_mul(v as u64));
                    max = max.max(v);
                    min = min.min(v);
                }
            }
            if max == 0 {
                return NO_INTERVAL;
            }
            let mean = sum / count; // max > 0: at least one value
            let variance = (squares / count).wrapping_sub(mean.wrapping_mul(mean));
            if agree(mean, variance, count) {
                return mean as u32;
            }
            if count * 4 <= INTERVALS as u64 * 3 {
                return NO_INTERVAL;
            }
            let mean = mean as i64;
            if mean - min > max - mean { low = min } else { high = max }
        }
    }
}

/// True if `count` values of this mean and variance are near enough to each other: a standard
/// deviation of at most 20 us, or of at most a sixth of the mean of at least six values.
#[inline(always)]
fn agree(mean: u64, variance: u64, count: u64) -> bool {
    variance <= u64::MAX / 36
        && ((mean * mean > variance * 36 && count * 4 >= INTERVALS as u64 * 3) || variance <= 400)
}
