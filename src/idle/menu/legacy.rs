//! menu of 4.18: microseconds, and a limit that falls with the load.

use super::history::{History, Learning};
use super::intervals::{NO_INTERVAL, Outliers};
use crate::idle::era::{Era, States, Us};
use crate::idle::governor::{Device, Governor, IdleContext, IdleOutcome, Rule, Selection};
use crate::machine::IdleTable;

const LEARNING: Learning = Learning {
    poll_timeout_is_full_sleep: false,
    outliers: Outliers {
        start: NO_INTERVAL,
        needs_gain: false,
        needs_nonzero: false,
        either_end: false,
    },
};
/// Timers nearer than this may be waited for by polling, us.
const POLL_WORTH_US: u64 = 20;

/// menu 4.18; `TICK_FIXED` is how 4.18.20 handles a stopped tick.
pub struct Menu418<const TICK_FIXED: bool> {
    states: States,
    history: History<Us>,
}

/// Linux 4.18, first release.
pub type Menu418First = Menu418<false>;
/// Linux 4.18.20.
pub type Menu418Last = Menu418<true>;

/// What the scan over the states came to.
struct Scan {
    idx: Option<usize>,
    expected: u64,
    rule: Rule,
    /// Return at once, tick stopped.
    settled: bool,
}

impl<const TICK_FIXED: bool> Menu418<TICK_FIXED> {
    /// Where the scan starts: beyond the polling state unless the timer is near.
    fn first(&self, cx: &IdleContext, limit: i64) -> usize {
        let s = &self.states;
        let worth = POLL_WORTH_US.max(s.target[1] as u64);
        usize::from(
            s.n > 1
                && s.polls(0)
                && self.history.next > worth
                && limit > s.exit[1]
                && !cx.is_off(1),
        )
    }

    fn scan(&self, cx: &IdleContext, first: usize, predicted: u64, limit: i64) -> Scan {
        let (s, tick) = (&self.states, self.history.tick);
        let base = if first == 1 { Rule::NotPolling } else { Rule::Prediction };
        let mut scan = Scan { idx: None, expected: predicted, rule: base, settled: false };
        for i in first..s.n {
            if cx.is_off(i) {
                continue;
            }
            let idx = *scan.idx.get_or_insert(i);
            if s.target[i] as u64 > predicted {
                if !TICK_FIXED || predicted < tick as u64 {
                    break;
                }
                if !cx.tick_stopped {
                    scan.expected = s.target[idx] as u64;
                    break;
                }
                if s.target[idx] < tick && s.target[i] <= cx.delta_tick / 1000 {
                    scan.idx = Some(i);
                }
                scan.rule = Rule::TickStopped;
                scan.settled = true;
                break;
            }
            if s.exit[i] > limit {
                scan.expected = s.target[idx] as u64;
                scan.rule = Rule::LatencyLimit;
                break;
            }
            if i > first {
                scan.rule = Rule::Prediction;
            }
            scan.idx = Some(i);
        }
        scan
    }
}

/// One plus what busy CPUs and I/O waiters multiply the cost of waking late by.
fn multiplier(cx: &IdleContext) -> u32 {
    let load = (cx.cpu_load >> 11) * 10 + (((cx.cpu_load & 2047) * 100) >> 11) / 10;
    1u32.wrapping_add(2 * load).wrapping_add(cx.nr_iowait.wrapping_mul(10))
}

impl<const TICK_FIXED: bool> Governor for Menu418<TICK_FIXED> {
    fn new(table: &IdleTable, hz: u32) -> Self {
        Self {
            states: States::new::<Us>(table),
            history: History::new(hz, LEARNING.outliers.start),
        }
    }

    #[inline]
    fn select(&mut self, device: &mut Device, cx: &IdleContext) -> Selection {
        self.history.update(&LEARNING, &self.states, device);
        let mut limit = Us::limit(cx.latency_limit);
        if limit == 0 {
            return Selection { state: 0, stop_tick: false, predicted: 0, rule: Rule::ZeroLatency };
        }
        let io = if cx.nr_iowait > 0 { super::history::DECADES } else { 0 };
        self.history.look_at_timer(Us::time(cx.sleep_length), io);
        let typical = self.history.ring.typical(&LEARNING.outliers, NO_INTERVAL);
        let expected = u64::from(typical).min(self.history.next);
        let first = self.first(cx, limit);
        let mut predicted = u64::from(self.history.corrected()).min(expected);
        let tick = self.history.tick as u64;
        let until_event = Us::time(cx.delta_tick);
        if !cx.tick_stopped {
            limit = limit.min((predicted / u64::from(multiplier(cx))) as i64);
        } else if predicted < tick {
            predicted = if TICK_FIXED { until_event } else { tick.min(until_event) };
        }
        let scan = self.scan(cx, first, predicted, limit);
        let mut choice = Selection {
            state: scan.idx.unwrap_or(0),
            stop_tick: true,
            predicted: predicted as i64 * 1000,
            rule: if scan.idx.is_none() { Rule::AllDisabled } else { scan.rule },
        };
        let keep = self.states.polls(choice.state) || scan.expected < tick;
        if scan.settled || !keep || (TICK_FIXED && cx.tick_stopped) {
            return choice;
        }
        if cx.tick_stopped {
            choice.stop_tick = false;
        } else {
            self.states.keep_tick(cx, &mut choice, until_event);
        }
        choice
    }

    #[inline]
    fn reflect(&mut self, _device: &mut Device, outcome: &IdleOutcome) {
        self.history.note(outcome);
    }
}
