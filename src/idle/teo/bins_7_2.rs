//! teo of 7.2: bins that tell ticks and very short sleeps apart.
//!
//! **What it believes.** As 6.12 (`bins_6_12`); besides, a tick that woke the CPU says nothing about
//! how long it would have slept, and a CPU whose sleeps are mostly very short need not ask.
//!
//! **What it measures.** Hits and intercepts per bin, where a hit also has to end within half an exit
//! latency of the timer; wakeups by the tick; intercepts within a tick; sleeps below 15 us. All fade
//! by an eighth, and to zero in the end.
//!
//! **How it decides.**
//! 1. Learn from the period before. A tick wakeup counts as a hit of the deepest state if such wakeups
//!    prevail, as a hit of the timer's state if intercepts within a tick are few, else by its length.
//! 2. Start from the deepest enabled state; if the intercepts below it are more than everything else,
//!    walk back until more than half of them lie above and the bin with most of them is reached.
//! 3. Obey the latency limit.
//! 4. With the tick running, a state below 15 us is taken without a look at the timer if sleeps are
//!    mostly short or the latency limit is below 7.5 us.
//! 5. Look up the timer. With a stopped tick and a far timer, a state below a tick is replaced by the
//!    deepest fast one that fits. Else go shallower if the state does not fit; if intercepts within a
//!    tick prevail, expect less than a tick.
//! 6. The tick as in 6.12.
//!
//! **What it ignores.** I/O waiters, utilisation, and which interrupt comes.
//!
//! **Source.** Linux 7.2, drivers/cpuidle/governors/teo.c.
//!
//! **Differences.** None known.

use super::super::era::{Era, Ns, States};
use super::super::governor::{Device, Governor, IdleContext, IdleOutcome, Rule, Selection};
use super::bins::{DECAY_SHIFT, PULSE};
use super::bins_6_12::{Candidates, SHORT, with_tick_rule, without_timer};
use crate::machine::{IdleTable, MAX_STATES};

/// teo of 7.2.
pub struct Teo72 {
    states: States,
    /// Length of a tick, ns.
    tick: i64,
    /// Time to the timer at the last select, ns.
    sleep_length: i64,
    /// State of the last entry, if its outcome was not learned yet.
    last: Option<usize>,
    /// The tick ended the last period.
    tick_wakeup: bool,
    /// Metrics per bin.
    hits: [u32; MAX_STATES],
    intercepts: [u32; MAX_STATES],
    /// Sum of all hits and intercepts.
    total: u32,
    /// Wakeups by the tick.
    tick_wakeups: u32,
    /// Intercepts within a tick.
    tick_intercepts: u32,
    /// Sleeps below 15 us.
    short_idles: u32,
}

/// Fades by an eighth, and to zero once an eighth is nothing.
#[inline(always)]
fn decay(metric: &mut u32) {
    let part = *metric >> DECAY_SHIFT;
    *metric = if part == 0 { 0 } else { *metric - part };
}

impl Teo72 {
    /// The time slept in state `last`, without half of the exit latency.
    fn measured(&mut self, last: usize, device: &mut Device) -> i64 {
        if device.poll_timed_out {
            device.poll_timed_out = false;
            return i64::MAX;
        }
        let (length, exit) = (device.last_residency, self.states.exit[last]);
        if length >= exit {
            let measured = length - exit / 2;
            if measured < SHORT {
                self.short_idles += PULSE;
            }
            measured
        } else {
            self.short_idles += PULSE;
            length / 2
        }
    }

    fn update(&mut self, device: &mut Device) {
        let Some(last) = self.last.take() else { return };
        decay(&mut self.short_idles);
        let measured = self.measured(last, device);
        let (mut timer_bin, mut slept_bin, mut sum) = (0, 0, 0u32);
        for i in 0..self.states.n {
            decay(&mut self.hits[i]);
            decay(&mut self.intercepts[i]);
            sum = sum.wrapping_add(self.hits[i]).wrapping_add(self.intercepts[i]);
            let target = self.states.target[i];
            if target <= self.sleep_length {
                timer_bin = i;
                if target <= measured {
                    slept_bin = i;
                }
            }
        }
        self.total = sum.wrapping_add(PULSE);
        decay(&mut self.tick_intercepts);
        decay(&mut self.tick_wakeups);
        if self.tick_wakeup {
            self.tick_wakeups += PULSE;
            if 3 * self.tick_wakeups > self.total.wrapping_mul(2) {
                self.hits[self.states.n - 1] += PULSE;
                return;
            }
            if 3 * self.tick_intercepts < sum.wrapping_mul(2) {
                self.hits[timer_bin] += PULSE;
                return;
            }
        }
        let early = self.sleep_length.wrapping_sub(measured);
        if timer_bin == slept_bin && early < self.states.exit[last] / 2 {
            self.hits[timer_bin] += PULSE;
        } else {
            self.intercepts[slept_bin] += PULSE;
            if measured <= self.tick {
                self.tick_intercepts += PULSE;
            }
        }
    }

    /// The last bin below the deepest with the most intercepts.
    fn peak(&self) -> Option<usize> {
        let (mut most, mut peak) = (0, None);
        for i in 0..self.states.n - 1 {
            if self.intercepts[i] >= most {
                most = self.intercepts[i];
                peak = Some(i);
            }
        }
        peak
    }

    /// Walks back from the deepest state until more than half of the intercepts lie above and their
    /// peak is reached.
    fn walk_back(&self, cx: &IdleContext, c: &Candidates, start: usize) -> usize {
        let peak = self.peak();
        let (mut seen, mut idx) = (0u32, start);
        for i in (c.floor..start).rev() {
            seen = seen.wrapping_add(self.intercepts[i]);
            if cx.is_off(i) {
                continue;
            }
            idx = i;
            if seen.wrapping_mul(2) > c.intercepts && Some(i) <= peak {
                break;
            }
        }
        idx
    }

    /// With a stopped tick: the deepest fast enough state beyond `idx` that fits the timer.
    fn deeper(&self, cx: &IdleContext, c: &Candidates, idx: usize) -> usize {
        (idx + 1..=c.fast_enough)
            .rev()
            .find(|&i| !cx.is_off(i) && self.states.target[i] <= cx.sleep_length)
            .unwrap_or(idx)
    }
}

impl Governor for Teo72 {
    fn new(table: &IdleTable, hz: u32) -> Self {
        Self {
            states: States::new::<Ns>(table),
            tick: Ns::tick(hz),
            sleep_length: 0,
            last: Some(0),
            tick_wakeup: false,
            hits: [0; MAX_STATES],
            intercepts: [0; MAX_STATES],
            total: 0,
            tick_wakeups: 0,
            tick_intercepts: 0,
            short_idles: 0,
        }
    }

    #[inline]
    fn select(&mut self, device: &mut Device, cx: &IdleContext) -> Selection {
        self.update(device);
        let (s, tick) = (&self.states, self.tick);
        self.sleep_length = i64::MAX;
        let c = Candidates::find(s, cx, &self.hits, &self.intercepts);
        let Some(deepest) = c.idx else { return without_timer(0, Rule::AllDisabled) };
        let mut choice = Selection {
            state: deepest,
            stop_tick: true,
            predicted: s.target[deepest],
            rule: Rule::OneCandidate,
        };
        if deepest == c.floor {
            return with_tick_rule(s, cx, tick, c.floor, tick / 2, choice);
        }
        choice.rule = Rule::Timer;
        if c.intercepted(self.total) {
            choice.state = self.walk_back(cx, &c, deepest);
            if choice.state != deepest {
                choice.rule = Rule::Intercepts;
            }
        }
        if choice.state > c.fast_enough {
            choice.state = c.fast_enough;
            choice.rule = Rule::LatencyLimit;
        }
        let idle_short = 2 * self.short_idles >= self.total || cx.latency_limit < SHORT / 2;
        if !cx.tick_stopped && (choice.state == 0 || s.target[choice.state] < SHORT) && idle_short {
            return without_timer(choice.state, Rule::ShortIdle);
        }
        self.sleep_length = cx.sleep_length;
        choice.predicted = cx.sleep_length;
        let target = s.target[choice.state];
        if cx.tick_stopped && cx.sleep_length > 2 * tick && target < tick {
            choice.state = self.deeper(cx, &c, choice.state);
            choice.rule = Rule::TickStopped;
            return choice;
        }
        if choice.state == 0 {
            choice.stop_tick = false;
            return choice;
        }
        if target > cx.sleep_length {
            choice.state = s.shallower(cx, choice.state, cx.sleep_length);
            choice.rule = Rule::Timer;
        }
        if s.target[choice.state] < tick && 3 * self.tick_intercepts >= self.total.wrapping_mul(2) {
            choice.predicted = tick / 2;
        }
        with_tick_rule(s, cx, tick, c.floor, cx.delta_tick, choice)
    }

    #[inline]
    fn reflect(&mut self, _device: &mut Device, outcome: &IdleOutcome) {
        self.tick_wakeup = outcome.got_tick;
        self.last = Some(outcome.state);
    }
}
