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

use super::super::era::{Ns, States};
use super::super::governor::{
    Device, Governor, IdleContext, IdleOutcome, NO_PREDICTION, Rule, Selection,
};
use super::bins::{DECAY_SHIFT, LastPeriod, PULSE};
use crate::machine::{IdleTable, MAX_STATES};

/// States that pay off below this are taken without a look at the timer, ns; the kernel's residency
/// threshold, 15 us.
pub(super) const SHORT: i64 = 15_000;

/// teo of 6.12.
pub struct Teo612 {
    states: States,
    last: LastPeriod,
    /// Metrics per bin.
    hits: [u32; MAX_STATES],
    intercepts: [u32; MAX_STATES],
    /// Sleeps beyond a tick, when all states pay off within one.
    tick_hits: u32,
    /// Sum of everything counted.
    total: u32,
}

/// The outcome of the scan over all states, shared with 7.2.
#[derive(Clone, Copy, Default)]
pub(super) struct Candidates {
    /// Deepest enabled state.
    pub idx: Option<usize>,
    /// Shallowest enabled state (0 if state 0 is enabled).
    pub floor: usize,
    /// Deepest enabled state that is fast enough; 0 if there is none.
    pub fast_enough: usize,
    /// Hits and intercepts of the bins below `idx`.
    pub hits: u32,
    pub intercepts: u32,
    /// Intercepts of all bins but the last.
    pub all_intercepts: u32,
}

impl Candidates {
    /// Sums up the bins and finds the candidates; `visit(i)` sees every bin below the last in turn.
    #[inline]
    pub fn find(
        s: &States,
        cx: &IdleContext,
        hits: &[u32; MAX_STATES],
        intercepts: &[u32; MAX_STATES],
    ) -> Self {
        let mut c = Self { idx: (!cx.is_off(0)).then_some(0), ..Self::default() };
        let (mut sum_hits, mut sum_intercepts) = (0u32, 0u32);
        for i in 1..s.n {
            sum_intercepts = sum_intercepts.wrapping_add(intercepts[i - 1]);
            sum_hits = sum_hits.wrapping_add(hits[i - 1]);
            if cx.is_off(i) {
                continue;
            }
            if c.idx.is_none() {
                c.floor = i;
            }
            c.idx = Some(i);
            if s.exit[i] <= cx.latency_limit {
                c.fast_enough = i;
            }
            c.intercepts = sum_intercepts;
            c.hits = sum_hits;
        }
        c.all_intercepts = sum_intercepts;
        c
    }

    /// The intercepts below the deepest state are more than everything else.
    #[inline]
    pub fn intercepted(&self, total: u32) -> bool {
        self.intercepts.wrapping_mul(2) > total.wrapping_sub(self.hits)
    }
}

/// Ends a decision: keeps the tick if `short`, without a further look at the choice.
#[inline]
pub(super) fn without_timer(state: usize, rule: Rule) -> Selection {
    Selection { state, stop_tick: false, predicted: NO_PREDICTION, rule }
}

/// Ends a decision that reckons with `expected` ns.
#[inline]
pub(super) fn with_tick_rule(
    s: &States,
    cx: &IdleContext,
    tick: i64,
    floor: usize,
    until_event: i64,
    mut choice: Selection,
) -> Selection {
    if !((!s.polls(choice.state) && choice.predicted >= tick) || cx.tick_stopped) {
        s.keep_tick(cx, &mut choice, floor, until_event as u64);
    }
    choice
}

impl Teo612 {
    fn update(&mut self, device: &Device) {
        let Some(last) = self.last.state.take() else { return };
        let measured = self.last.measured(last, &self.states, device);
        let (n, tick) = (self.states.n, self.last.tick);
        let (mut timer_bin, mut slept_bin) = (0, 0);
        self.total = 0;
        for i in 0..n {
            self.hits[i] -= self.hits[i] >> DECAY_SHIFT;
            self.intercepts[i] -= self.intercepts[i] >> DECAY_SHIFT;
            self.total = self.total.wrapping_add(self.hits[i] + self.intercepts[i]);
            let target = self.states.target[i];
            if target <= self.last.sleep_length {
                timer_bin = i;
                if target as u64 <= measured {
                    slept_bin = i;
                }
            }
        }
        self.total = self.total.wrapping_add(PULSE);
        if self.states.target[n - 1] < tick {
            self.tick_hits -= self.tick_hits >> DECAY_SHIFT;
            self.total = self.total.wrapping_add(self.tick_hits);
            if tick <= self.last.sleep_length {
                timer_bin = n;
                if tick as u64 <= measured {
                    self.tick_hits += PULSE;
                    return;
                }
            }
        }
        if timer_bin == slept_bin {
            self.hits[timer_bin] += PULSE;
        } else {
            self.intercepts[slept_bin] += PULSE;
        }
    }

    /// Walks back from the deepest state to the shallowest above half of the intercepts.
    fn walk_back(&self, cx: &IdleContext, start: usize, below: u32) -> usize {
        let (mut seen, mut fallback) = (0u32, start);
        for i in (0..start).rev() {
            seen = seen.wrapping_add(self.intercepts[i]);
            let ok = !cx.tick_stopped || self.states.target[i] >= self.last.tick;
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
}

impl Governor for Teo612 {
    fn new(table: &IdleTable, hz: u32) -> Self {
        Self {
            states: States::new::<Ns>(table),
            last: LastPeriod::new(hz),
            hits: [0; MAX_STATES],
            intercepts: [0; MAX_STATES],
            tick_hits: 0,
            total: 0,
        }
    }

    #[inline]
    fn select(&mut self, device: &mut Device, cx: &IdleContext) -> Selection {
        self.update(device);
        let (s, tick) = (&self.states, self.last.tick);
        self.last.sleep_length = i64::MAX;
        if s.n < 2 {
            return without_timer(0, Rule::SingleState);
        }
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
            choice.state = self.walk_back(cx, deepest, c.intercepts);
            if choice.state != deepest {
                choice.rule = Rule::Intercepts;
            }
        }
        if choice.state == 0 {
            self.last.sleep_length = cx.sleep_length;
            return Selection { predicted: cx.sleep_length, stop_tick: false, ..choice };
        }
        if choice.state > c.fast_enough {
            choice.state = c.fast_enough;
            choice.rule = Rule::LatencyLimit;
        }
        if choice.state == 0 || (s.polls(0) && s.target[choice.state] < SHORT) {
            return without_timer(choice.state, choice.rule);
        }
        self.last.sleep_length = cx.sleep_length;
        choice.predicted = cx.sleep_length;
        if s.target[choice.state] > cx.sleep_length {
            choice.state = s.shallower(cx, choice.state, cx.sleep_length);
            choice.rule = Rule::Timer;
        }
        let intercepts = c.all_intercepts.wrapping_add(self.intercepts[s.n - 1]);
        if s.target[choice.state] < tick && intercepts > self.total / 2 + self.total / 8 {
            choice.predicted = tick / 2;
        }
        with_tick_rule(s, cx, tick, c.floor, cx.delta_tick, choice)
    }

    #[inline]
    fn reflect(&mut self, device: &mut Device, outcome: &IdleOutcome) {
        self.last.note(device, outcome);
    }
}
