//! Selection of RFC v6 to v8 and Linux 5.1: choose by the timer, then refine by recent intervals.

use super::early_hits::{EarlyHits, MAJORITY, Revision};
use crate::idle::era::Era;
use crate::idle::governor::{IdleContext, Rule, Selection};

/// What tells the revisions apart.
#[derive(Clone, Copy)]
pub struct Refine {
    /// v6, v7: hits and misses are compared only when a deeper state did not fit, and early hits win
    /// only over fewer hits; else they are compared in the end, and win ties.
    pub hits_test_in_scan: bool,
}

/// A choice in the making: the state, the expected time in the era's unit, the rule.
pub(super) struct Draft {
    pub idx: usize,
    pub expected: i64,
    pub rule: Rule,
}

impl<R: Revision> EarlyHits<R> {
    fn scan_by_timer(&self, refine: &Refine, cx: &IdleContext, timer: i64) -> Option<Draft> {
        let s = &self.states;
        let limit = R::Era::limit(cx.latency_limit);
        let (mut most_early, mut early_state, mut idx) = (0, None, None);
        let mut beyond = false;
        for i in 0..s.n {
            if cx.is_off(i) {
                if early_state.is_some() {
                    most_early = most_early.max(self.early[i]);
                }
                continue;
            }
            let chosen = *idx.get_or_insert(i);
            if s.target[i] > timer {
                beyond = true;
                break;
            }
            if s.exit[i] > limit {
                let expected = s.target[chosen];
                return Some(Draft { idx: chosen, expected, rule: Rule::LatencyLimit });
            }
            idx = Some(i);
            if most_early < self.early[i] && !(cx.tick_stopped && s.target[i] < self.tick) {
                most_early = self.early[i];
                early_state = Some(i);
            }
        }
        let idx = idx?;
        let early_wins = if refine.hits_test_in_scan {
            beyond && self.hits[idx] < self.misses[idx]
        } else {
            self.hits[idx] <= self.misses[idx]
        };
        Some(match early_state {
            Some(e) if early_wins => Draft { idx: e, expected: s.target[e], rule: Rule::EarlyHits },
            _ => Draft { idx, expected: timer, rule: Rule::Timer },
        })
    }

    #[inline]
    pub(super) fn select_and_refine(&mut self, refine: &Refine, cx: &IdleContext) -> Selection {
        let timer = R::Era::time(cx.sleep_length) as i64;
        let Some(mut draft) = self.scan_by_timer(refine, cx, timer) else {
            let none = Draft { idx: 0, expected: timer, rule: Rule::AllDisabled };
            return self.settle(cx, none);
        };
        if draft.idx > 0 {
            let (count, sum) = self.recent_below(self.states.target[draft.idx] as u64);
            if count > MAJORITY as u64 {
                let mean = (sum / count) as i64;
                if !(cx.tick_stopped && mean < self.tick) {
                    draft.idx = self.states.shallower(cx, draft.idx, mean);
                    draft.expected = mean;
                    draft.rule = Rule::RecentIntervals;
                }
            }
        }
        self.settle(cx, draft)
    }

    /// Decides about the tick.
    #[inline]
    pub(super) fn settle(&self, cx: &IdleContext, draft: Draft) -> Selection {
        let mut choice = Selection {
            state: draft.idx,
            stop_tick: true,
            predicted: draft.expected.wrapping_mul(R::Era::UNIT),
            rule: draft.rule,
        };
        if (self.states.polls(draft.idx) || draft.expected < self.tick) && !cx.tick_stopped {
            self.states.keep_tick(cx, &mut choice, R::Era::time(cx.delta_tick));
        }
        choice
    }
}
