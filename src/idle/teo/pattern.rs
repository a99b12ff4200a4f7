//! Selection of RFC v1 to v5: a pattern of recent intervals may shorten the time to the timer first.

use super::early_hits::{EarlyHits, INTERVALS, MAJORITY, Revision};
use crate::idle::era::Era;
use crate::idle::governor::{IdleContext, Rule, Selection};

/// When recent intervals are taken for a pattern.
#[derive(Clone, Copy)]
pub enum Agreement {
    /// Outliers are dropped while a majority remains: at the upper end, with `low_side` also when the
    /// lower end strays. `spread_test` rejects what still strays in the end.
    Majority {
        /// Also drop while the smallest interval strays.
        low_side: bool,
        /// Reject if the largest interval strays in the end.
        spread_test: bool,
    },
    /// No interval exceeds the mean by more than an eighth of it.
    Eighth,
    /// No interval exceeds the mean by more than this, us.
    Within(u64),
}

/// What tells the revisions apart.
#[derive(Clone, Copy)]
pub struct Pattern {
    /// Pattern detector.
    pub agreement: Agreement,
    /// With a stopped tick, patterns and states below one tick do not count, and the latency limit is
    /// not lowered to the expected time.
    pub stopped_tick_aware: bool,
    /// Choose state 1 in place of a polling state unless the timer is within 20 us.
    pub avoid_polling: bool,
}

/// Least spread that makes an interval an outlier, us.
const MIN_SPREAD: u64 = 10;
/// Timers nearer than this may be waited for by polling, us; the habit of menu 4.18.
const POLL_WORTH_US: i64 = 20;

/// Recent intervals below a bound.
struct Sample {
    count: u64,
    sum: u64,
    max: u64,
    min: u64,
}

impl<R: Revision> EarlyHits<R> {
    fn sample(&self, range: u64) -> Sample {
        let mut sample = Sample { count: 0, sum: 0, max: 0, min: u64::MAX };
        for &v in self.intervals[..INTERVALS].iter().filter(|&&v| v < range) {
            sample.count += 1;
            sample.sum += v;
            sample.max = sample.max.max(v);
            sample.min = sample.min.min(v);
        }
        sample
    }

    /// The mean of recent intervals if they form a pattern, else the time to the timer; us.
    fn expected(&self, pattern: &Pattern, timer: u64) -> u64 {
        let states = &self.states;
        if states.n > 1 && timer < states.target[1] as u64 {
            return timer;
        }
        let deepest = states.target[states.n - 1] as u64;
        let range = timer.min((deepest + (deepest >> 2)) & R::Era::MAX);
        let mut found = self.sample(range);
        if found.count <= MAJORITY as u64 {
            return timer;
        }
        match pattern.agreement {
            Agreement::Majority { low_side, spread_test } => {
                let spread = (range >> 3).max(MIN_SPREAD);
                let min = found.min;
                let high = |s: &Sample| s.max > spread && (s.max - spread) * s.count > s.sum;
                while found.count > MAJORITY as u64 - 1
                    && found.max > spread
                    && (high(&found) || (low_side && (min + spread) * found.count < found.sum))
                {
                    found = self.sample(found.max);
                }
                if found.count == 0 || (spread_test && high(&found)) {
                    return timer;
                }
            }
            Agreement::Eighth => {
                let mean = found.sum / found.count;
                if found.max > mean + mean / 8 {
                    return timer;
                }
            }
            Agreement::Within(tolerance) => {
                if found.max - found.sum / found.count > tolerance {
                    return timer;
                }
            }
        }
        found.sum / found.count
    }

    /// The deepest state that fits the expected time, or the one early hits favour.
    fn scan(
        &self,
        pattern: &Pattern,
        cx: &IdleContext,
        timer: i64,
        mut expected: i64,
        limit: i64,
    ) -> (Option<usize>, i64, Rule) {
        let s = &self.states;
        let aware = pattern.stopped_tick_aware && cx.tick_stopped;
        let (mut most_early, mut early_state, mut idx) = (0, None, None);
        let mut rule = if expected < timer { Rule::RecentIntervals } else { Rule::Timer };
        for i in 0..s.n {
            if cx.is_off(i) {
                if early_state.is_some() {
                    most_early = most_early.max(self.early[i]);
                }
                continue;
            }
            let chosen = *idx.get_or_insert(i);
            if s.target[i] > expected {
                if expected >= timer
                    && self.hits[chosen] < self.misses[chosen]
                    && let Some(e) = early_state
                {
                    (idx, expected, rule) = (Some(e), s.target[e], Rule::EarlyHits);
                }
                break;
            }
            if s.exit[i] > limit {
                expected = s.target[chosen];
                rule = Rule::LatencyLimit;
                break;
            }
            idx = Some(i);
            if most_early < self.early[i] && !(aware && s.target[i] < self.tick) {
                most_early = self.early[i];
                early_state = Some(i);
            }
        }
        (idx, expected, rule)
    }

    /// As [`States::shallower`](crate::idle::era::States::shallower), but state 0 is taken at the end
    /// even when it is disabled.
    fn shallower_or_first(&self, cx: &IdleContext, idx: usize, until_event: i64) -> usize {
        (1..idx).rev().find(|&i| !cx.is_off(i) && self.states.target[i] <= until_event).unwrap_or(0)
    }

    #[inline]
    pub(super) fn select_with_pattern(&mut self, pattern: &Pattern, cx: &IdleContext) -> Selection {
        let timer = R::Era::time(cx.sleep_length);
        let mut expected = self.expected(pattern, timer);
        let qos = R::Era::limit(cx.latency_limit);
        let mut limit = qos;
        if !(pattern.stopped_tick_aware && cx.tick_stopped) {
            limit = limit.min(expected as i64);
        } else if expected < self.tick as u64 {
            expected = timer;
        }
        let (idx, expected, rule) = self.scan(pattern, cx, timer as i64, expected as i64, limit);
        let mut choice = Selection {
            state: idx.unwrap_or(0),
            stop_tick: true,
            predicted: expected.wrapping_mul(R::Era::UNIT),
            rule: if idx.is_none() { Rule::AllDisabled } else { rule },
        };
        let s = &self.states;
        if (s.polls(choice.state) || expected < self.tick) && !cx.tick_stopped {
            choice.stop_tick = false;
            let until_event = R::Era::time(cx.delta_tick) as i64;
            if choice.state > 0 && s.target[choice.state] > until_event {
                choice.state = self.shallower_or_first(cx, choice.state, until_event);
                choice.rule = Rule::NextTick;
            }
        }
        if pattern.avoid_polling
            && s.polls(choice.state)
            && s.n > 1
            && timer as i64 > POLL_WORTH_US
            && !cx.is_off(1)
            && s.exit[1] <= qos
        {
            choice.state = 1;
            choice.rule = Rule::NotPolling;
        }
        choice
    }
}
