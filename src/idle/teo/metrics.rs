//! Hits and intercepts per bin, and what else the revisions with bins share.
//!
//! Which bin a period falls into is as good as random, so nothing here branches on it: a mispredicted
//! branch costs more than all the sums.

use std::hint::select_unpredictable;

use crate::idle::era::{Era, Ns, States, highest};
use crate::idle::governor::{Device, IdleContext, IdleOutcome};

/// What one wakeup adds to a metric.
pub const PULSE: u32 = 1024;
/// Metrics lose one eighth per wakeup.
pub const DECAY_SHIFT: u32 = 3;
/// Metrics of four neighbouring bins in one word, 16 bits each, bin 0 lowest.
///
/// A wakeup adds one pulse and takes an eighth of everything, so all metrics together stay near eight
/// pulses: 15 bits hold each of them and all their sums, and no operation here carries over.
#[derive(Clone, Copy, Default)]
pub struct Lanes(u64);

/// One in every lane.
const ONES: u64 = 0x0001_0001_0001_0001;

impl Lanes {
    /// Every metric less its eighth.
    #[inline(always)]
    pub fn faded(self) -> Self {
        Self(self.0 - self.eighths())
    }

    /// As [`Lanes::faded`], and zero where an eighth is nothing.
    #[inline(always)]
    pub fn faded_to_zero(self) -> Self {
        let eighths = self.eighths();
        // The top bit of a lane is set if the eighth is not zero; spread over the lane it is a mask.
        let nonzero = (eighths + 0x7fff * ONES) & (0x8000 * ONES);
        Self((self.0 - eighths) & ((nonzero << 1).wrapping_sub(nonzero >> 15)))
    }

    #[inline(always)]
    fn eighths(self) -> u64 {
        (self.0 >> DECAY_SHIFT) & ((0xffff >> DECAY_SHIFT) * ONES)
    }

    /// The metric of one lane.
    #[inline(always)]
    fn get(self, lane: usize) -> u32 {
        (self.0 >> (16 * lane)) as u32 & 0xffff
    }

    /// Sum of the lanes.
    #[inline(always)]
    fn sum(self) -> u32 {
        (self.0.wrapping_mul(ONES) >> 48) as u32
    }
}

/// Words for the bins of the largest table.
const WORDS: usize = 3;

/// Hits and intercepts; zero beyond the last state.
#[derive(Default)]
pub struct Bins {
    hits: [Lanes; WORDS],
    intercepts: [Lanes; WORDS],
}

#[inline(always)]
fn add(words: &[Lanes; WORDS]) -> Lanes {
    Lanes(words[0].0 + words[1].0 + words[2].0)
}

impl Bins {
    /// Hits of bin `i`.
    #[inline(always)]
    pub fn hits(&self, i: usize) -> u32 {
        self.hits[i / 4].get(i % 4)
    }

    /// Intercepts of bin `i`.
    #[inline(always)]
    pub fn intercepts(&self, i: usize) -> u32 {
        self.intercepts[i / 4].get(i % 4)
    }

    /// Sum of all intercepts.
    #[inline(always)]
    pub fn all_intercepts(&self) -> u32 {
        add(&self.intercepts).sum()
    }

    /// Lets all metrics fade, then counts a hit or an intercept of `bin`, or nothing; returns the sum
    /// between the two.
    #[inline(always)]
    pub fn learn(
        &mut self,
        fade: impl Fn(Lanes) -> Lanes,
        bin: usize,
        hit: bool,
        count: bool,
    ) -> u32 {
        for w in 0..WORDS {
            self.hits[w] = fade(self.hits[w]);
            self.intercepts[w] = fade(self.intercepts[w]);
        }
        let sum = Lanes(add(&self.hits).0 + add(&self.intercepts).0).sum();
        let pulse = (u64::from(PULSE) * u64::from(count)) << (16 * (bin % 4));
        self.hits[bin / 4].0 += select_unpredictable(hit, pulse, 0);
        self.intercepts[bin / 4].0 += select_unpredictable(hit, 0, pulse);
        sum
    }

    /// The last bin below some state from which on up to that state there are more than half of the
    /// intercepts below it, which are `below`; 0 if there are none.
    ///
    /// That is as many bins as have less than half of them up to their own end.
    #[inline(always)]
    pub fn above_half(&self, below: u32) -> usize {
        let half = u64::from(below.saturating_sub(1) / 2) * ONES + 0x8000 * ONES;
        let (mut before, mut bins) = (0, 0);
        for w in self.intercepts {
            let up_to = w.0.wrapping_mul(ONES) + before * ONES;
            bins += (((half - up_to) & (0x8000 * ONES)) >> 15).wrapping_mul(ONES) >> 48;
            before = up_to >> 48;
        }
        bins as usize
    }
}

/// What the enabled states and the latency limit allow; worked out again only when they change.
pub struct Allowed {
    key: Option<(u16, i64)>,
    /// Bit i set: state i is enabled.
    pub enabled: u32,
    /// Deepest enabled state.
    pub deepest: usize,
    /// Shallowest enabled state.
    pub floor: usize,
    /// Deepest enabled state beyond 0 that is fast enough; 0 if there is none.
    pub fast_enough: usize,
}

impl Allowed {
    pub fn new() -> Self {
        Self { key: None, enabled: 0, deepest: 0, floor: 0, fast_enough: 0 }
    }

    #[inline(always)]
    pub fn look(&mut self, s: &States, cx: &IdleContext) {
        if self.key != Some((cx.disabled, cx.latency_limit)) {
            self.work_out(s, cx);
        }
    }

    #[inline(never)]
    fn work_out(&mut self, s: &States, cx: &IdleContext) {
        self.key = Some((cx.disabled, cx.latency_limit));
        self.enabled = s.enabled(cx);
        self.deepest = highest(self.enabled) as usize;
        self.floor = self.enabled.trailing_zeros() as usize;
        let fast = |i: &usize| self.enabled >> i & 1 != 0 && s.exit[*i] <= cx.latency_limit;
        self.fast_enough = (1..s.n).rev().find(fast).unwrap_or(0);
    }
}

/// Hits and intercepts of the bins below a state.
pub struct Below {
    pub hits: u32,
    pub intercepts: u32,
}

impl Below {
    #[inline(always)]
    pub fn sum(bins: &Bins, state: usize, n_states: usize) -> Self {
        // From the other end: mostly that is one bin.
        let (mut hits, mut intercepts) = (add(&bins.hits).sum(), bins.all_intercepts());
        for i in state..n_states {
            hits -= bins.hits(i);
            intercepts -= bins.intercepts(i);
        }
        Self { hits, intercepts }
    }

    /// The intercepts are more than everything else.
    #[inline(always)]
    pub fn intercepted(&self, total: u32) -> bool {
        self.intercepts * 2 > total.wrapping_sub(self.hits)
    }
}

/// What is known about the last period, up to 6.12.
pub struct LastPeriod {
    /// State of the last entry, if its outcome was not learned yet.
    pub state: Option<usize>,
    /// Length of the period by the governor's clock, ns; the sleep length if timer-like.
    pub span: i64,
    /// Time to the timer at the last select, ns; endless if it was not looked up.
    pub sleep_length: i64,
    /// Bin of `sleep_length`.
    pub timer_bin: usize,
    /// Length of a tick, ns.
    pub tick: i64,
}

impl LastPeriod {
    /// An empty period in state 0, up to a timer that was due at once.
    pub fn new(s: &States, hz: u32) -> Self {
        Self {
            state: Some(0),
            span: 0,
            sleep_length: 0,
            timer_bin: s.last_fitting(0),
            tick: Ns::tick(hz),
        }
    }

    /// The timer is not looked up: it counts as endless.
    #[inline(always)]
    pub fn look_away(&mut self, s: &States) {
        self.sleep_length = i64::MAX;
        self.timer_bin = s.n - 1;
    }

    /// Takes the time to the timer.
    #[inline(always)]
    pub fn look_at_timer(&mut self, s: &States, sleep_length: i64) {
        self.sleep_length = sleep_length;
        self.timer_bin = s.last_fitting(sleep_length);
    }

    /// Bin of the time slept, which is no longer than the time to the timer.
    #[inline(always)]
    pub fn slept_bin(&self, s: &States, measured: u64) -> usize {
        let slept = i64::try_from(measured).unwrap_or(i64::MAX);
        s.last_fitting(slept.min(self.sleep_length))
    }

    /// Notes an outcome; a poll that ran into its limit and a tick before the timer count as sleeps
    /// up to the timer.
    #[inline(always)]
    pub fn note(&mut self, device: &mut Device, outcome: &IdleOutcome) {
        self.state = Some(outcome.state);
        let timer_like =
            device.poll_timed_out | (outcome.got_tick & (self.sleep_length > self.tick));
        device.poll_timed_out &= !timer_like;
        self.span = select_unpredictable(timer_like, self.sleep_length, outcome.span);
    }

    /// The length of the period in state `last`: endless if timer-like, else without half of the exit
    /// latency.
    #[inline(always)]
    pub fn measured(&self, last: usize, states: &States, device: &Device) -> u64 {
        let length = device.last_residency as u64;
        let exit = states.exit[last] as u64;
        let slept = select_unpredictable(length >= exit, length.wrapping_sub(exit / 2), length / 2);
        select_unpredictable(self.span >= self.sleep_length, u64::MAX, slept)
    }
}
