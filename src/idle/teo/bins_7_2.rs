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

use std::hint::select_unpredictable;

use super::bins_6_12::{SHORT, with_tick_rule, without_timer};
use super::metrics::{Allowed, Below, Bins, DECAY_SHIFT, Lanes, PULSE};
use crate::idle::era::{Era, Ns, States, highest};
use crate::idle::governor::{Device, Governor, IdleContext, IdleOutcome, Rule, Selection};
use crate::machine::IdleTable;

/// teo of 7.2.
pub struct Teo72 {
    states: States,
    /// Length of a tick, ns.
    tick: i64,
    /// Time to the timer at the last select, ns.
    sleep_length: i64,
    /// Bin of that time.
    timer_bin: usize,
    /// State of the last entry, if its outcome was not learned yet.
    last: Option<usize>,
    /// The tick ended the last period.
    tick_wakeup: bool,
    /// Metrics per bin.
    bins: Bins,
    allowed: Allowed,
    /// Sum of all hits and intercepts.
    total: u32,
    /// Wakeups by the tick.
    tick_wakeups: u16,
    /// Intercepts within a tick.
    tick_intercepts: u16,
    /// Sleeps below 15 us.
    short_idles: u16,
}

/// A metric after fading by an eighth, and to zero once an eighth is nothing.
#[inline(always)]
fn faded(metric: u16) -> u16 {
    let part = metric >> DECAY_SHIFT;
    if part == 0 { 0 } else { metric - part }
}

impl Teo72 {
    /// The time slept in state `last`, without half of the exit latency.
    #[inline(always)]
    fn measured(&mut self, last: usize, device: &mut Device) -> i64 {
        self.short_idles = faded(self.short_idles);
        if device.poll_timed_out {
            device.poll_timed_out = false;
            return i64::MAX;
        }
        let (length, exit) = (device.last_residency, self.states.exit[last]);
        let whole = length >= exit;
        let measured = select_unpredictable(whole, length.wrapping_sub(exit / 2), length / 2);
        self.short_idles += PULSE as u16 * u16::from(!whole | (measured < SHORT));
        measured
    }

    #[inline(always)]
    fn update(&mut self, device: &mut Device) {
        let Some(last) = self.last.take() else { return };
        let measured = self.measured(last, device);
        let timer_bin = self.timer_bin;
        let slept_bin = self.states.last_fitting(measured.min(self.sleep_length));
        let early = self.sleep_length.wrapping_sub(measured);
        let hit = (timer_bin == slept_bin) & (early < self.states.exit[last] / 2);
        self.tick_intercepts = faded(self.tick_intercepts);
        self.tick_wakeups = faded(self.tick_wakeups);
        if self.tick_wakeup {
            self.learn_tick_wakeup(timer_bin, slept_bin, hit, measured);
            return;
        }
        self.total = self.bins.learn(Lanes::faded_to_zero, slept_bin, hit, true) + PULSE;
        self.tick_intercepts += PULSE as u16 * u16::from(!hit & (measured <= self.tick));
    }

    /// As any other period, unless tick wakeups prevail or intercepts within a tick are few.
    fn learn_tick_wakeup(&mut self, timer_bin: usize, slept_bin: usize, hit: bool, measured: i64) {
        let sum = self.bins.learn(Lanes::faded_to_zero, 0, true, false);
        self.total = sum + PULSE;
        self.tick_wakeups += PULSE as u16;
        let (bin, hit) = if 3 * u32::from(self.tick_wakeups) > 2 * self.total {
            (self.states.n - 1, true)
        } else if 3 * u32::from(self.tick_intercepts) < 2 * sum {
            (timer_bin, true)
        } else {
            self.tick_intercepts += PULSE as u16 * u16::from(!hit & (measured <= self.tick));
            (slept_bin, hit)
        };
        self.bins.learn(|lanes| lanes, bin, hit, true);
    }

    /// The last bin below the deepest with the most intercepts.
    #[inline(always)]
    fn peak(&self) -> usize {
        let (mut most, mut peak) = (0, 0);
        for i in 0..self.states.n - 1 {
            let intercepts = self.bins.intercepts(i);
            peak = select_unpredictable(intercepts >= most, i, peak);
            most = most.max(intercepts);
        }
        peak
    }

    /// Walks back from the deepest state until more than half of the intercepts lie above and their
    /// peak is reached.
    #[inline(always)]
    fn walk_back(&self, below: &Below) -> usize {
        let allowed = &self.allowed;
        let wanted = self.bins.above_half(below.intercepts).min(self.peak());
        let reachable = allowed.enabled & ((2 << wanted) - 1);
        (highest(reachable) as usize).max(allowed.floor)
    }

    /// With a stopped tick: the deepest fast enough state beyond `idx` that fits the timer.
    fn deeper(&self, cx: &IdleContext, idx: usize) -> usize {
        (idx + 1..=self.allowed.fast_enough)
            .rev()
            .find(|&i| !cx.is_off(i) && self.states.target[i] <= cx.sleep_length)
            .unwrap_or(idx)
    }
}

impl Governor for Teo72 {
    fn new(table: &IdleTable, hz: u32) -> Self {
        let states = States::new::<Ns>(table);
        let timer_bin = states.last_fitting(0);
        Self {
            states,
            tick: Ns::tick(hz),
            sleep_length: 0,
            timer_bin,
            last: Some(0),
            tick_wakeup: false,
            bins: Bins::default(),
            allowed: Allowed::new(),
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
        (self.sleep_length, self.timer_bin) = (i64::MAX, s.n - 1);
        self.allowed.look(s, cx);
        let deepest = self.allowed.deepest;
        if self.allowed.enabled == 0 {
            return without_timer(0, Rule::AllDisabled);
        }
        let mut choice = Selection {
            state: deepest,
            stop_tick: true,
            predicted: s.target[deepest],
            rule: Rule::OneCandidate,
        };
        if deepest == self.allowed.floor {
            return with_tick_rule(s, cx, tick, tick / 2, choice);
        }
        choice.rule = Rule::Timer;
        let below = Below::sum(&self.bins, deepest, s.n);
        if below.intercepted(self.total) {
            choice.state = self.walk_back(&below);
            if choice.state != deepest {
                choice.rule = Rule::Intercepts;
            }
        }
        if choice.state > self.allowed.fast_enough {
            choice.state = self.allowed.fast_enough;
            choice.rule = Rule::LatencyLimit;
        }
        let idle_short =
            2 * u32::from(self.short_idles) >= self.total || cx.latency_limit < SHORT / 2;
        if !cx.tick_stopped && (choice.state == 0 || s.target[choice.state] < SHORT) && idle_short {
            return without_timer(choice.state, Rule::ShortIdle);
        }
        self.sleep_length = cx.sleep_length;
        self.timer_bin = s.last_fitting(cx.sleep_length);
        choice.predicted = cx.sleep_length;
        let target = s.target[choice.state];
        if cx.tick_stopped && cx.sleep_length > 2 * tick && target < tick {
            choice.state = self.deeper(cx, choice.state);
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
        if s.target[choice.state] < tick
            && 3 * u32::from(self.tick_intercepts) >= self.total.wrapping_mul(2)
        {
            choice.predicted = tick / 2;
        }
        with_tick_rule(s, cx, tick, cx.delta_tick, choice)
    }

    #[inline]
    fn reflect(&mut self, _device: &mut Device, outcome: &IdleOutcome) {
        self.tick_wakeup = outcome.got_tick;
        self.last = Some(outcome.state);
    }
}
