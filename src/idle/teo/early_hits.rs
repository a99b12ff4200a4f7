//! teo with early hits: the revisions of 2018, and Linux 5.1 to 5.10.
//!
//! **What it believes.** Timers are the most frequent cause of wakeups. The state that fits the time
//! to the next timer is right unless wakeups have lately come well before the timer.
//!
//! **What it measures.** After each period two states are compared: the deepest that fits the time to
//! the timer, and the deepest that fits the time really slept.
//! * *hits* of the timer's state grow when both are the same (or the sleep was longer);
//! * *misses* of the timer's state grow when the sleep was shorter, and *early hits* of the state that
//!   would have been right grow with them.
//!
//! The early hits of all states fade by an eighth each time, hits and misses only in the timer's
//! state. The last eight intervals go into a ring, where a sleep up to the timer counts as endless.
//!
//! **How it decides.**
//! 1. Learn from the period before.
//! 2. RFC v1 to v5 shorten the time to the timer first if the recent intervals form a *pattern*.
//! 3. Scan for the deepest state that fits that time and the latency limit. If its misses outweigh its
//!    hits, take the shallower state with the most early hits.
//! 4. From v6 on: if more than half of the recent intervals would not fit the choice, *refine* it to
//!    the state that fits their mean.
//! 5. If the choice polls or the expected time is below one tick, keep the tick, and go shallower if
//!    the choice does not fit before it.
//!
//! **What it ignores.** I/O waiters, load, and which interrupt comes.
//!
//! **Source.** Linux 5.1, 5.3.18, 5.4 and 5.10, drivers/cpuidle/governors/teo.c; for v5 a public copy
//! of the posted text. v1 to v4, v6 to v8 and 5.1 are these texts with the posted change notes undone,
//! so they are marked as reconstructed. `teo-rfc-v1-tolerant` and `teo-rfc-v2-strict` are second
//! readings of v1 and v2, chosen because they fit published results.
//!
//! **How a timed-out poll counts.** Since v2 a poll that ran into its limit counts as a sleep up to
//! the timer. v2 to v5 look at the flag whatever state was entered and leave it set, so that after one
//! such poll every sleep counts as a full one until polling is chosen again. v6 and later clear it.
//!
//! **Differences.** In all RFC revisions and in 5.1 the ring index runs over nine places of which
//! eight are read; the ninth lies outside the ring in the source and is kept here as a place that is
//! never read. Times the kernels of this family stored unsigned are unsigned here, which matters for
//! negative sleep lengths only.
//!
//! The files: this one learns, `pattern` selects as in v1 to v5, `refine` as in v6 to 5.1,
//! `refine_stable` as in 5.3 to 5.10.

use std::marker::PhantomData;

use crate::idle::era::{Era, States};
use crate::idle::governor::{Device, Governor, IdleContext, IdleOutcome, Selection};
use crate::machine::{IdleTable, MAX_STATES};

pub mod revisions;

/// What one wakeup adds to a metric.
const PULSE: u32 = 1024;
/// Metrics lose one eighth per wakeup.
const DECAY_SHIFT: u32 = 3;
/// Recent intervals that are looked at.
pub const INTERVALS: usize = 8;
/// Recent intervals that make a majority.
pub const MAJORITY: usize = INTERVALS / 2;

/// What counts as the length of a period that did not end with the timer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The residency measured by the core.
    Core,
    /// The governor's own clock readings.
    Own,
}

/// How much of the exit latency is taken off a measured period.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Latency {
    /// All of it if the period was at least twice as long, else half of the period.
    Whole,
    /// Half of it if the period was at least as long, else half of the period.
    Half,
}

/// What the flag of a timed-out poll does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PollFlag {
    /// Nothing.
    Ignored,
    /// Makes the period a full sleep, and stays.
    Sticky,
    /// Makes the period a full sleep, and is cleared.
    Cleared,
}

/// Which selection a revision uses.
#[derive(Clone, Copy)]
pub enum Choice {
    /// Pattern first: v1 to v5.
    Pattern(super::pattern::Pattern),
    /// Refinement last: v6 to 5.1.
    Refine(super::refine::Refine),
    /// Refinement last, disabled states and limits corrected: 5.3 to 5.10.
    RefineStable,
}

/// Everything that tells the revisions of this family apart.
#[derive(Clone, Copy)]
pub struct Switches {
    /// A sleep is timer-like only if it lasted exactly as long as the timer said (for the metrics; the
    /// ring always takes longer ones too).
    pub exact_timer: bool,
    /// A timer-like sleep counts as endless rather than as the time to the timer.
    pub timer_is_endless: bool,
    /// The ring takes a sleep of exactly the timer's length for a full one.
    pub ring_takes_equal: bool,
    /// Length of other sleeps.
    pub clock: Clock,
    /// Exit latency taken off.
    pub latency: Latency,
    /// The state that was right is looked for among those that fit the timer.
    pub hit_within_timer: bool,
    /// Timed-out polls.
    pub poll_flag: PollFlag,
    /// Places the ring index runs over.
    pub ring: usize,
    /// Selection.
    pub choice: Choice,
}

/// A revision: its unit and its switches.
pub trait Revision: Send + 'static {
    /// Unit of its times.
    type Era: Era;
    /// Its switches.
    const IS: Switches;
}

/// teo with early hits.
pub struct EarlyHits<R: Revision> {
    pub(super) states: States,
    /// Length of a tick in the era's unit, and in ns.
    pub(super) tick: i64,
    tick_ns: u64,
    /// Metrics per state: early hits, hits, misses.
    pub(super) early: [u32; MAX_STATES],
    pub(super) hits: [u32; MAX_STATES],
    pub(super) misses: [u32; MAX_STATES],
    /// The last intervals in the era's unit; the place beyond the ring is never read.
    pub(super) intervals: [u64; INTERVALS + 1],
    place: usize,
    /// How long the last period was by the governor's clock, ns; the sleep length if timer-like.
    span: u64,
    /// Time to the timer at the last select, ns.
    pub(super) sleep_length: u64,
    /// State of the last entry, if its outcome was not learned yet.
    last: Option<usize>,
    revision: PhantomData<R>,
}

impl<R: Revision> EarlyHits<R> {
    /// How long the last period was for the metrics, in the era's unit.
    #[inline]
    fn measured(&self, last: usize, device: &Device) -> u64 {
        let timer_like = if R::IS.exact_timer {
            self.span == self.sleep_length
        } else {
            self.span >= self.sleep_length
        };
        if timer_like {
            let timer = R::Era::time(self.sleep_length as i64);
            return if R::IS.timer_is_endless { R::Era::MAX } else { timer };
        }
        let length = match R::IS.clock {
            Clock::Core => R::Era::residency(device.last_residency),
            Clock::Own => R::Era::time(self.span as i64),
        };
        let exit = self.states.exit[last] as u64;
        match R::IS.latency {
            Latency::Whole if length >= exit.wrapping_mul(2) & R::Era::MAX => {
                length.wrapping_sub(exit)
            }
            Latency::Half if length >= exit => length - exit / 2,
            _ => length / 2,
        }
    }

    /// Learns the last outcome.
    #[inline]
    fn update(&mut self, device: &Device) {
        let Some(last) = self.last.take() else { return };
        let measured = self.measured(last, device);
        let timer = R::Era::time(self.sleep_length as i64);
        let (mut timer_state, mut hit_state) = (None, None);
        for i in 0..self.states.n {
            let target = self.states.target[i] as u64;
            self.early[i] -= self.early[i] >> DECAY_SHIFT;
            let fits_timer = target <= timer;
            if fits_timer {
                timer_state = Some(i);
            }
            if target <= measured && (fits_timer || !R::IS.hit_within_timer) {
                hit_state = Some(i);
            }
        }
        if let Some(t) = timer_state {
            self.hits[t] -= self.hits[t] >> DECAY_SHIFT;
            self.misses[t] -= self.misses[t] >> DECAY_SHIFT;
            if Some(t) > hit_state {
                self.misses[t] += PULSE;
                if let Some(h) = hit_state {
                    self.early[h] += PULSE;
                }
            } else {
                self.hits[t] += PULSE;
            }
        }
        self.push(measured);
    }

    #[inline]
    fn push(&mut self, measured: u64) {
        let full = if R::IS.ring_takes_equal {
            self.span >= self.sleep_length
        } else {
            self.span > self.sleep_length
        };
        self.intervals[self.place] = if full { R::Era::MAX } else { measured };
        self.place = (self.place + 1) % R::IS.ring;
    }

    /// Count and sum of the recent intervals below `range`.
    #[inline]
    pub(super) fn recent_below(&self, range: u64) -> (u64, u64) {
        let (mut count, mut sum) = (0u64, 0u64);
        for &v in &self.intervals[..INTERVALS] {
            if v < range {
                count += 1;
                sum = sum.wrapping_add(v);
            }
        }
        (count, sum)
    }
}

impl<R: Revision> Governor for EarlyHits<R> {
    fn new(table: &IdleTable, hz: u32) -> Self {
        Self {
            states: States::new::<R::Era>(table),
            tick: R::Era::tick(hz),
            tick_ns: crate::idle::era::Ns::tick(hz) as u64,
            early: [0; MAX_STATES],
            hits: [0; MAX_STATES],
            misses: [0; MAX_STATES],
            intervals: [R::Era::MAX; INTERVALS + 1],
            place: 0,
            span: 0,
            sleep_length: 0,
            last: Some(0),
            revision: PhantomData,
        }
    }

    #[inline]
    fn select(&mut self, device: &mut Device, cx: &IdleContext) -> Selection {
        self.update(device);
        self.sleep_length = cx.sleep_length as u64;
        match R::IS.choice {
            Choice::Pattern(pattern) => self.select_with_pattern(&pattern, cx),
            Choice::Refine(refine) => self.select_and_refine(&refine, cx),
            Choice::RefineStable => self.select_and_refine_stable(cx),
        }
    }

    #[inline]
    fn reflect(&mut self, device: &mut Device, outcome: &IdleOutcome) {
        self.last = Some(outcome.state);
        let timed_out = R::IS.poll_flag != PollFlag::Ignored && device.poll_timed_out;
        if timed_out || (outcome.got_tick && self.sleep_length > self.tick_ns) {
            if R::IS.poll_flag == PollFlag::Cleared {
                device.poll_timed_out = false;
            }
            self.span = self.sleep_length;
        } else {
            self.span = outcome.span as u64;
        }
    }
}
