//! menu of 6.12 and 7.2: the typical interval first, the timer only when it matters.

use std::hint::select_unpredictable;

use super::history::{DECADES, History, Learning, Scale};
use super::intervals::{NO_INTERVAL, Outliers};
use crate::idle::era::{Ns, States};
use crate::idle::governor::{Device, Governor, IdleContext, IdleOutcome, Rule, Selection};
use crate::machine::IdleTable;

/// Below this the timer is not worth looking up and polling is not worth avoiding, ns; the value is
/// the kernel's residency threshold, 15 us.
const SHORT: i64 = 15_000;
/// The bucket that is updated when the timer was not looked up.
const LAST_BUCKET: usize = DECADES - 1;

/// menu with the typical interval first; `BOTH_ENDS` takes outliers off at either end and trusts the
/// timer of a stopped tick only when it is more than two ticks away.
pub struct MenuIntervals<const BOTH_ENDS: bool> {
    states: States,
    history: History<Ns>,
}

/// Linux 6.12.
pub type Menu612 = MenuIntervals<false>;
/// Linux 7.2.
pub type Menu72 = MenuIntervals<true>;

impl<const BOTH_ENDS: bool> MenuIntervals<BOTH_ENDS> {
    const LEARNING: Learning = Learning {
        poll_timeout_is_full_sleep: true,
        outliers: Outliers {
            // 7.2 leaves out only what was stored for want of an interval.
            start: if BOTH_ENDS { NO_INTERVAL - 1 } else { i32::MAX as u32 },
            needs_gain: false,
            needs_nonzero: true,
            either_end: BOTH_ENDS,
        },
    };

    /// The predicted duration and the time to the next event, ns.
    ///
    /// Whether the timer has to be looked up is hard to foresee, so both answers are worked out.
    #[inline(always)]
    fn predict(&mut self, cx: &IdleContext) -> (u64, i64, Rule) {
        let (tick, history) = (self.history.tick, &mut self.history);
        let typical = history.ring.typical(&Self::LEARNING.outliers, NO_INTERVAL);
        let typical = u64::from(typical) * Ns::PER_US;
        let look = (typical > SHORT as u64) | cx.tick_stopped;
        let negative = cx.sleep_length < 0;
        let sleep_length = if negative { 0 } else { cx.sleep_length };
        let delta_tick = if negative { 0 } else { cx.delta_tick };
        history.look_at_timer(sleep_length as u64, 0);
        let corrected = u64::from(history.corrected()) * Ns::PER_US;
        let mut predicted = select_unpredictable(look, corrected.min(typical), typical);
        if cx.tick_stopped && predicted < tick as u64 && (!BOTH_ENDS || sleep_length > 2 * tick) {
            predicted = sleep_length as u64;
        }
        history.next = select_unpredictable(look, sleep_length as u64, i64::MAX as u64);
        history.bucket = select_unpredictable(look, history.bucket, LAST_BUCKET);
        let rule = if look { Rule::Prediction } else { Rule::ShortIdle };
        (predicted, select_unpredictable(look, delta_tick, tick / 2), rule)
    }

    /// [`Self::scan`] where nothing is disabled, nothing too slow, and the tick runs.
    #[inline(always)]
    fn scan_open(&self, predicted: u64, rule: Rule) -> Scan {
        let (s, tick) = (&self.states, self.history.tick as u64);
        let idx = s.last_fitting(predicted as i64);
        let next = idx + 1;
        let beyond = next < s.n;
        let real = beyond
            & s.polls(idx)
            & (s.target[next] < SHORT)
            & (s.target[next] as u64 <= self.history.next)
            & (s.exit[next] as u64 <= predicted);
        let expected =
            select_unpredictable(beyond & (predicted >= tick), s.target[idx] as u64, predicted);
        Scan {
            idx: Some(select_unpredictable(real, next, idx)),
            predicted: select_unpredictable(real, s.target[next] as u64, expected),
            rule: if real { Rule::NotPolling } else { rule },
            settled: false,
        }
    }

    #[inline]
    fn scan(&self, cx: &IdleContext, predicted: u64, delta_tick: i64, rule: Rule) -> Scan {
        let (s, tick) = (&self.states, self.history.tick);
        let mut scan = Scan { idx: None, predicted, rule, settled: false };
        for i in 0..s.n {
            if cx.is_off(i) {
                continue;
            }
            let idx = *scan.idx.get_or_insert(i);
            if s.exit[i] > cx.latency_limit {
                scan.rule = Rule::LatencyLimit;
                break;
            }
            if s.target[i] as u64 <= predicted {
                scan.idx = Some(i);
                continue;
            }
            if s.polls(idx)
                && s.target[i] < SHORT
                && s.target[i] as u64 <= self.history.next
                && s.exit[i] as u64 <= predicted
            {
                scan.predicted = s.target[i] as u64;
                scan.idx = Some(i);
                scan.rule = Rule::NotPolling;
            } else if predicted >= tick as u64 && !cx.tick_stopped {
                scan.predicted = s.target[idx] as u64;
            } else if predicted >= tick as u64 {
                if s.target[idx] < tick && s.target[i] <= delta_tick {
                    scan.idx = Some(i);
                }
                scan.rule = Rule::TickStopped;
                scan.settled = true;
            }
            break;
        }
        scan
    }
}

/// What the scan over the states came to.
struct Scan {
    idx: Option<usize>,
    predicted: u64,
    rule: Rule,
    /// Return at once, tick stopped.
    settled: bool,
}

impl<const BOTH_ENDS: bool> Governor for MenuIntervals<BOTH_ENDS> {
    fn new(table: &IdleTable, hz: u32) -> Self {
        Self {
            states: States::new::<Ns>(table),
            history: History::new(hz, Self::LEARNING.outliers.start),
        }
    }

    #[inline(always)]
    fn select(&mut self, device: &mut Device, cx: &IdleContext) -> Selection {
        let refused = self.history.update(&Self::LEARNING, &self.states, device);
        if refused && device.last_residency == 0 {
            self.history.ring.push(NO_INTERVAL);
        }
        let (predicted, delta_tick, rule) = self.predict(cx);
        let s = &self.states;
        let limit = cx.latency_limit;
        let rules_out_second = self.history.next < s.target[1] as u64 || limit < s.exit[1];
        if s.n <= 1 || limit == 0 || (rules_out_second && !cx.is_off(0)) {
            return Selection {
                state: 0,
                stop_tick: !s.polls(0),
                predicted: predicted as i64,
                rule: if limit == 0 { Rule::ZeroLatency } else { Rule::FirstOnly },
            };
        }
        let open = s.is_open(cx) && !cx.tick_stopped && s.target[0] as u64 <= predicted;
        let scan = if open {
            self.scan_open(predicted, rule)
        } else {
            self.scan(cx, predicted, delta_tick, rule)
        };
        let mut choice = Selection {
            state: scan.idx.unwrap_or(0),
            stop_tick: true,
            predicted: scan.predicted as i64,
            rule: if scan.idx.is_none() { Rule::AllDisabled } else { scan.rule },
        };
        let keep = s.polls(choice.state) || scan.predicted < self.history.tick as u64;
        if !scan.settled && keep && !cx.tick_stopped {
            s.keep_tick(cx, &mut choice, delta_tick as u64);
        }
        choice
    }

    #[inline]
    fn reflect(&mut self, _device: &mut Device, outcome: &IdleOutcome) {
        self.history.note(outcome);
    }
}
