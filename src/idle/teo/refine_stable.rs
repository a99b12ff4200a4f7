//! Selection of Linux 5.3.18 to 5.10: disabled states lend their metrics to their neighbours, and the
//! latency limit caps the choice after early hits had their say.

use super::early_hits::{EarlyHits, MAJORITY, Revision};
use super::refine::Draft;
use crate::idle::era::Era;
use crate::idle::governor::{IdleContext, Rule, Selection};

/// The scan so far.
#[derive(Default)]
struct Scan {
    idx: Option<usize>,
    /// Hits and misses that decide about `idx`.
    hits: u32,
    misses: u32,
    /// Most early hits seen, the state that had them, and the one before it.
    most_early: u32,
    early_state: Option<usize>,
    early_before: Option<usize>,
    /// First state that wakes too slowly.
    too_slow: Option<usize>,
}

impl<R: Revision> EarlyHits<R> {
    fn scan_disabled(&self, scan: &mut Scan, cx: &IdleContext, i: usize, timer: i64) {
        let s = &self.states;
        if s.target[i] > timer {
            return;
        }
        scan.hits = self.hits[i];
        scan.misses = self.misses[i];
        let Some(idx) = scan.idx.filter(|_| scan.most_early < self.early[i]) else { return };
        if scan.early_state == Some(idx) {
            scan.most_early = self.early[i];
        } else if !(cx.tick_stopped && s.target[idx] < self.tick) {
            scan.early_before = scan.early_state;
            scan.most_early = self.early[i];
            scan.early_state = Some(idx);
        }
    }

    fn scan_all(&self, cx: &IdleContext, timer: i64) -> Scan {
        let s = &self.states;
        let limit = R::Era::limit(cx.latency_limit);
        let mut scan = Scan::default();
        for i in 0..s.n {
            if cx.is_off(i) {
                self.scan_disabled(&mut scan, cx, i, timer);
                continue;
            }
            if scan.idx.is_none() {
                scan.idx = Some(i);
                scan.hits = self.hits[i];
                scan.misses = self.misses[i];
            }
            if s.target[i] > timer {
                break;
            }
            if s.exit[i] > limit && scan.too_slow.is_none() {
                scan.too_slow = Some(i);
            }
            scan.idx = Some(i);
            scan.hits = self.hits[i];
            scan.misses = self.misses[i];
            if scan.most_early < self.early[i] && !(cx.tick_stopped && s.target[i] < self.tick) {
                scan.early_before = scan.early_state;
                scan.most_early = self.early[i];
                scan.early_state = Some(i);
            }
        }
        scan
    }

    #[inline]
    pub(super) fn select_and_refine_stable(&mut self, cx: &IdleContext) -> Selection {
        let timer = R::Era::time(cx.sleep_length) as i64;
        let scan = self.scan_all(cx, timer);
        let Some(idx) = scan.idx else {
            return self.settle(cx, Draft { idx: 0, expected: timer, rule: Rule::AllDisabled });
        };
        let s = &self.states;
        let mut draft = Draft { idx, expected: timer, rule: Rule::Timer };
        if scan.hits <= scan.misses {
            let early =
                if scan.early_state == Some(idx) { scan.early_before } else { scan.early_state };
            if let Some(e) = early {
                draft = Draft { idx: e, expected: s.target[e], rule: Rule::EarlyHits };
            }
        }
        if let Some(slow) = scan.too_slow.filter(|&slow| slow < draft.idx) {
            // The first state that wakes too slowly, not the last that is fast enough: the source's choice.
            draft.idx = slow;
            draft.rule = Rule::LatencyLimit;
        }
        if draft.idx > 0 {
            let (count, sum) = self.recent_below(draft.expected as u64);
            if count > MAJORITY as u64 {
                let mean = (sum / count) as i64;
                if !(cx.tick_stopped && mean < self.tick) {
                    draft.expected = mean;
                    if s.target[draft.idx] > mean {
                        draft.idx = s.shallower(cx, draft.idx, mean);
                        draft.rule = Rule::RecentIntervals;
                    }
                }
            }
        }
        self.settle(cx, draft)
    }
}
