//! teo of 6.12: bins first, the timer only when it can change the choice.
//!
//! **What it believes.** As the revisions before it (`bins`); besides, looking up the next timer is
//! expensive, and often the metrics alone say that the CPU will not sleep long.
//!
//! **What it measures.** Hits and intercepts per bin as before, without the recent periods. If all
//! states pay off within a tick, one more bin counts the sleeps beyond it.
//!
//! **How it decides.**
//! 1. Learn from the period before; if the timer was not looked up then, it counts as endless.
//! 2. Start from the deepest enabled state. If the intercepts below it are more than everything else,
//!    walk back to the shallowest state above half of them.
//! 3. Obey the latency limit.
//! 4. If that leaves state 0, or a state below 15 us where state 0 polls, take it with the tick on,
//!    without a look at the timer.
//! 5. Look up the timer; go shallower if the state does not fit it. If wakeups before the timer
//!    prevail (5/8 of everything), expect less than a tick.
//! 6. Keep the tick if the choice polls or less than a tick is expected, and go shallower if the choice
//!    does not fit before it.
//!
//! **What it ignores.** I/O waiters, utilisation, and which interrupt comes.
//!
//! **Source.** Linux 6.12, drivers/cpuidle/governors/teo.c.
//!
//! **Differences.** None known.

use std::hint::select_unpredictable;

use super::metrics::{Allowed, Below, Bins, DECAY_SHIFT, Lanes, LastPeriod, PULSE};
use crate::idle::era::{Ns, States};
use crate::idle::governor::{
    Device, Governor, IdleContext, IdleOutcome, NO_PREDICTION, Rule, Selection,
};
use crate::machine::IdleTable;

/// States that pay off below this are taken without a look at the timer, ns; the kernel's residency
/// threshold, 15 us.
pub(super) const SHORT: i64 = 15_000;

/// teo of 6.12.
pub struct Teo612 {
    states: States,
    last: LastPeriod,
    bins: Bins,
    allowed: Allowed,
    /// All states pay off within a tick.
    within_tick: bool,
    /// Sleeps beyond a tick, when all states pay off within one.
    tick_hits: u32,
    /// Sum of everything counted.
    total: u32,
}

/// Ends a decision without a look at the timer.
#[inline(always)]
pub(super) fn without_timer(state: usize, rule: Rule) -> Selection {
    Selection { state, stop_tick: false, predicted: NO_PREDICTION, rule }
}

/// Ends a decision that reckons with `choice.predicted` ns.
#[inline(always)]
pub(super) fn with_tick_rule(
    s: &States,
    cx: &IdleContext,
    tick: i64,
    until_event: i64,
    mut choice: Selection,
) -> Selection {
    if (s.polls(choice.state) | (choice.predicted < tick)) & !cx.tick_stopped {
        s.keep_tick(cx, &mut choice, until_event as u64);
    }
    choice
}

impl Teo612 {
    #[inline(always)]
    fn update(&mut self, device: &Device) {
        let Some(last) = self.last.state.take() else { return };
        let measured = self.last.measured(last, &self.states, device);
        let slept_bin = self.last.slept_bin(&self.states, measured);
        let mut timer_bin = self.last.timer_bin;
        let tick = self.last.tick;
        let (mut counted, mut faded) = (false, 0);
        if self.within_tick {
            faded = self.tick_hits - (self.tick_hits >> DECAY_SHIFT);
            let beyond = tick <= self.last.sleep_length;
            timer_bin = select_unpredictable(beyond, self.states.n, timer_bin);
            counted = beyond & (tick as u64 <= measured);
            self.tick_hits = faded + PULSE * u32::from(counted);
        }
        let hit = timer_bin == slept_bin;
        let sum = self.bins.learn(Lanes::faded, slept_bin, hit, !counted);
        self.total = sum + faded + PULSE;
    }

    /// With a stopped tick: walks back from the deepest state to the shallowest above half of the
    /// intercepts, but not to one below a tick.
    #[cold]
    fn walk_back_stopped(&self, cx: &IdleContext, start: usize, below: u32) -> usize {
        let (mut seen, mut fallback) = (0u32, start);
        for i in (0..start).rev() {
            seen = seen.wrapping_add(self.bins.intercepts(i));
            let ok = self.states.target[i] >= self.last.tick;
            if seen.wrapping_mul(2) > below {
                return if ok && !cx.is_off(i) { i } else { fallback };
            }
            if cx.is_off(i) {
                continue;
            }
            if ok {
                fallback = i;
            } else if fallback == start {
                break;
            }
        }
        start
    }

    /// Walks back from the deepest state to the shallowest above half of the intercepts.
    #[inline(always)]
    fn walk_back(&self, cx: &IdleContext, below: &Below) -> usize {
        let start = self.allowed.deepest;
        if cx.tick_stopped {
            return self.walk_back_stopped(cx, start, below.intercepts);
        }
        let above_half = self.bins.above_half(below.intercepts);
        if self.allowed.enabled >> above_half & 1 != 0 {
            return above_half;
        }
        // A disabled state there leaves the next enabled one above it; the start is enabled.
        above_half + (self.allowed.enabled >> above_half).trailing_zeros() as usize
    }
}

impl Governor for Teo612 {
    fn new(table: &IdleTable, hz: u32) -> Self {
        let states = States::new::<Ns>(table);
        let last = LastPeriod::new(&states, hz);
        let within_tick = states.target[states.n - 1] < last.tick;
        Self {
            states,
            last,
            bins: Bins::default(),
            allowed: Allowed::new(),
            within_tick,
            tick_hits: 0,
            total: 0,
        }
    }

    #[inline(always)]
    fn select(&mut self, device: &mut Device, cx: &IdleContext) -> Selection {
        self.update(device);
        let (s, tick) = (&self.states, self.last.tick);
        self.last.look_away(s);
        if s.n < 2 {
            return without_timer(0, Rule::SingleState);
        }
        self.allowed.look(s, cx);
        let deepest = self.allowed.deepest;
        if self.allowed.enabled == 0 {
            return without_timer(0, Rule::AllDisabled);
        }
        if deepest == self.allowed.floor {
            let (predicted, rule) = (s.target[deepest], Rule::OneCandidate);
            let only = Selection { state: deepest, stop_tick: true, predicted, rule };
            return with_tick_rule(s, cx, tick, tick / 2, only);
        }
        let below = Below::sum(&self.bins, deepest, s.n);
        let (mut idx, mut rule) = (deepest, Rule::Timer);
        if below.intercepted(self.total) {
            idx = self.walk_back(cx, &below);
            rule = if idx == deepest { rule } else { Rule::Intercepts };
        }
        if idx == 0 {
            self.last.look_at_timer(s, cx.sleep_length);
            return Selection { predicted: cx.sleep_length, ..without_timer(0, rule) };
        }
        if idx > self.allowed.fast_enough {
            (idx, rule) = (self.allowed.fast_enough, Rule::LatencyLimit);
        }
        if idx == 0 || (s.polls(0) && s.target[idx] < SHORT) {
            return without_timer(idx, rule);
        }
        self.last.look_at_timer(s, cx.sleep_length);
        let state = s.fit(cx, idx, cx.sleep_length, self.last.timer_bin);
        if state != idx {
            rule = Rule::Timer;
        }
        let often = self.bins.all_intercepts() > self.total / 2 + self.total / 8;
        let early = (s.target[state] < tick) & often;
        let predicted = select_unpredictable(early, tick / 2, cx.sleep_length);
        let choice = Selection { state, stop_tick: true, predicted, rule };
        with_tick_rule(s, cx, tick, cx.delta_tick, choice)
    }

    #[inline(always)]
    fn reflect(&mut self, device: &mut Device, outcome: &IdleOutcome) {
        self.last.note(device, outcome);
    }
}
