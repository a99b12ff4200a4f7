//! teo with bins: Linux 5.14 to 6.5, here as in 6.1 and 6.5.
//!
//! **What it believes.** The time to the next timer is the best guess for the idle duration, unless
//! most wakeups have lately come long before it.
//!
//! **What it measures.** The range of durations is cut into bins at the target residencies. After each
//! period the bin of the time to the timer is compared with the bin of the time really slept: equal
//! means a *hit* in that bin, shorter an *intercept* in the bin that was slept to. All metrics fade by
//! an eighth each time. The last nine periods are also kept as they are: an intercept of one of them
//! counts as *recent* in its bin.
//!
//! **How it decides.**
//! 1. Learn from the period before.
//! 2. If the timer comes before state 1 pays off, take state 0.
//! 3. Scan for the deepest enabled state that fits the time to the timer, summing hits and intercepts
//!    of the bins below it.
//! 4. If the intercepts below are more than everything else, or more than four of the recent periods
//!    were intercepted below, walk back to the shallowest state above half of them, and expect the
//!    middle of its bin.
//! 5. Obey the latency limit.
//! 6. 6.2 to 6.5: on a utilised CPU (more than 1/64 of its capacity) go one state shallower, but not to
//!    a polling one.
//! 7. If the choice polls or the expected time is below one tick, keep the tick, and go shallower if
//!    the choice does not fit before it.
//!
//! **What it ignores.** I/O waiters, and which interrupt comes.
//!
//! **Source.** Linux 6.1 and 6.5, drivers/cpuidle/governors/teo.c.
//!
//! **Differences.** The middle of the last bin needs a target beyond the last state; the source reads
//! the empty entry there, and so does this model.

use super::metrics::{Bins, Lanes, LastPeriod, PULSE};
use crate::idle::era::{Ns, States};
use crate::idle::governor::{Device, Governor, IdleContext, IdleOutcome, Rule, Selection};
use crate::machine::{IdleTable, MAX_STATES};

/// Recent periods that are kept as they are.
const RECENT: usize = 9;
/// Recent intercepts that call for a shallower state.
const RECENT_MAJORITY: u32 = 4;
/// A CPU is utilised above 1/64 of its capacity of 1024.
const UTILISED: u32 = 1024 >> 6;

/// teo with bins; `UTIL` goes shallower on utilised CPUs.
pub struct TeoBins<const UTIL: bool> {
    states: States,
    last: LastPeriod,
    /// Metrics per bin.
    bins: Bins,
    recent: [u32; MAX_STATES],
    /// Sum of all hits and intercepts.
    total: u32,
    /// Bins of the recent intercepts.
    ring: [Option<u8>; RECENT],
    place: usize,
}

/// Linux 6.1.
pub type Teo61 = TeoBins<false>;
/// Linux 6.5.
pub type Teo65 = TeoBins<true>;

/// A choice in the making: the state, the expected time, the rule.
struct Draft {
    idx: usize,
    /// Shallowest enabled state the scan saw: the tick decision goes no further down.
    floor: usize,
    expected: i64,
    rule: Rule,
}

/// Sums of the bins below the candidate.
#[derive(Clone, Copy, Default)]
struct Sums {
    hits: u32,
    intercepts: u32,
    recent: u32,
}

impl<const UTIL: bool> TeoBins<UTIL> {
    #[inline]
    fn update(&mut self, device: &Device) {
        let Some(last) = self.last.state.take() else { return };
        let measured = self.last.measured(last, &self.states, device);
        let (timer_bin, slept_bin) =
            (self.last.timer_bin, self.last.slept_bin(&self.states, measured));
        let hit = timer_bin == slept_bin;
        let sum = self.bins.learn(Lanes::faded, slept_bin, hit, true);
        self.total = sum + PULSE;
        self.recent[slept_bin] += u32::from(!hit);
        let kept = (!hit).then_some(slept_bin as u8);
        if let Some(old) = std::mem::replace(&mut self.ring[self.place], kept) {
            self.recent[usize::from(old)] -= 1;
        }
        self.place = (self.place + 1) % RECENT;
    }

    /// Middle of bin `i`.
    fn middle(&self, i: usize) -> i64 {
        self.states.target[i].wrapping_add(self.states.target[i + 1]) / 2
    }

    fn time_ok(&self, cx: &IdleContext, duration: i64) -> bool {
        !cx.tick_stopped || duration >= self.last.tick
    }

    /// Walks back from `draft.idx` to the shallowest state above half of the intercepts.
    fn walk_back(
        &self,
        cx: &IdleContext,
        draft: &mut Draft,
        below: Sums,
        many: bool,
        recent: bool,
    ) {
        let (start, mut fallback) = (draft.idx, (draft.idx, draft.expected));
        let mut seen = Sums::default();
        for i in (0..start).rev() {
            seen.intercepts = seen.intercepts.wrapping_add(self.bins.intercepts(i));
            seen.recent = seen.recent.wrapping_add(self.recent[i]);
            let middle = self.middle(i);
            let ok = self.time_ok(cx, middle);
            if (!recent || seen.recent.wrapping_mul(2) > below.recent)
                && (!many || seen.intercepts.wrapping_mul(2) > below.intercepts)
            {
                (draft.idx, draft.expected) =
                    if ok && !cx.is_off(i) { (i, middle) } else { fallback };
                if draft.idx != start {
                    draft.rule = Rule::Intercepts;
                }
                return;
            }
            if cx.is_off(i) {
                continue;
            }
            if ok {
                fallback = (i, middle);
            } else if fallback.0 == start {
                return;
            }
        }
    }

    /// One state shallower, skipping polling ones; `idx` if there is none.
    fn shallower_real(&self, cx: &IdleContext, idx: usize, duration: i64) -> usize {
        let mut found = idx;
        for i in (0..idx).rev() {
            if cx.is_off(i) || self.states.polls(i) {
                continue;
            }
            found = i;
            if self.states.target[i] <= duration {
                break;
            }
        }
        found
    }

    /// A utilised CPU with two states: the shallow one if it is real or must be.
    fn choose_of_two(&self, cx: &IdleContext) -> Draft {
        let expected = self.middle(0);
        let shallow =
            !cx.is_off(0) && !self.states.polls(0) && self.time_ok(cx, expected) || cx.is_off(1);
        Draft { idx: usize::from(!shallow), floor: 0, expected, rule: Rule::Utilised }
    }

    fn choose(&self, cx: &IdleContext) -> Draft {
        let s = &self.states;
        let timer = cx.sleep_length;
        let mut draft = Draft { idx: 0, floor: 0, expected: timer, rule: Rule::FirstOnly };
        let mut idx = (!cx.is_off(0)).then_some(0);
        if s.n < 2 || (idx.is_some() && s.target[1] > timer) {
            return draft;
        }
        let utilised = UTIL && cx.cpu_util > UTILISED;
        if utilised && s.n < 3 {
            return self.choose_of_two(cx);
        }
        let (mut sums, mut below, mut fast_enough) = (Sums::default(), Sums::default(), 0);
        for i in 1..s.n {
            sums.hits = sums.hits.wrapping_add(self.bins.hits(i - 1));
            sums.intercepts = sums.intercepts.wrapping_add(self.bins.intercepts(i - 1));
            sums.recent = sums.recent.wrapping_add(self.recent[i - 1]);
            if cx.is_off(i) {
                continue;
            }
            if idx.is_none() {
                idx = Some(i);
                draft.floor = i;
            }
            if s.target[i] > timer {
                break;
            }
            idx = Some(i);
            if s.exit[i] <= cx.latency_limit {
                fast_enough = i;
            }
            below = sums;
        }
        let Some(idx) = idx else {
            draft.rule = Rule::AllDisabled;
            return draft;
        };
        draft.idx = idx;
        if idx == draft.floor {
            draft.rule = Rule::OneCandidate;
            return draft;
        }
        draft.rule = Rule::Timer;
        let many = below.intercepts.wrapping_mul(2) > self.total.wrapping_sub(below.hits);
        let recent = below.recent > RECENT_MAJORITY;
        if many || recent {
            self.walk_back(cx, &mut draft, below, many, recent);
        }
        if draft.idx > fast_enough {
            draft.idx = fast_enough;
            draft.rule = Rule::LatencyLimit;
        }
        if utilised {
            let i = self.shallower_real(cx, draft.idx, draft.expected);
            let middle = self.middle(i);
            if self.time_ok(cx, middle) {
                draft = Draft { idx: i, expected: middle, rule: Rule::Utilised, ..draft };
            }
        }
        draft
    }
}

impl<const UTIL: bool> Governor for TeoBins<UTIL> {
    fn new(table: &IdleTable, hz: u32) -> Self {
        let states = States::new::<Ns>(table);
        let last = LastPeriod::new(&states, hz);
        Self {
            states,
            last,
            bins: Bins::default(),
            recent: [0; MAX_STATES],
            total: 0,
            ring: [None; RECENT],
            place: 0,
        }
    }

    #[inline]
    fn select(&mut self, device: &mut Device, cx: &IdleContext) -> Selection {
        self.update(device);
        self.last.look_at_timer(&self.states, cx.sleep_length);
        let draft = self.choose(cx);
        let mut choice = Selection {
            state: draft.idx,
            stop_tick: true,
            predicted: draft.expected,
            rule: draft.rule,
        };
        if (self.states.polls(draft.idx) || draft.expected < self.last.tick) && !cx.tick_stopped {
            self.states.keep_tick(cx, &mut choice, cx.delta_tick as u64);
        }
        choice
    }

    #[inline]
    fn reflect(&mut self, device: &mut Device, outcome: &IdleOutcome) {
        self.last.note(device, outcome);
    }
}
