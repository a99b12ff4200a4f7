//! menu of 5.0 to 6.1: the polling state joins the scan, and the tick fixes are in.

use super::history::{DECADES, History, Learning, Scale};
use super::intervals::{NO_INTERVAL, Outliers};
use crate::idle::era::{Era, Ns, States, Us};
use crate::idle::governor::{Device, Governor, IdleContext, IdleOutcome, Rule, Selection};
use crate::machine::IdleTable;

/// What tells the revisions apart.
pub trait Revision: Send + 'static {
    /// Microseconds until 5.3, nanoseconds from 5.10 on.
    type Era: Scale;
    /// What is learned.
    const LEARNING: Learning;
    /// An early exit stops the tick unless state 0 polls, and a latency limit ends the scan without
    /// touching the prediction.
    const LATE_RULES: bool;
    /// Negative times are zero, a stopped tick trusts the timer rather than the next event, and a
    /// refused entry is remembered as "no interval".
    const GUARDED: bool;
}

const fn learning(start: u32) -> Learning {
    Learning {
        poll_timeout_is_full_sleep: true,
        outliers: Outliers { start, needs_gain: true, needs_nonzero: false, either_end: false },
    }
}

/// Linux 5.0; also 4.20.
pub struct V50;
/// Linux 5.3: intervals above 2^31 us are outliers from the start.
pub struct V53;
/// Linux 5.10: nanoseconds.
pub struct V510;
/// Linux 6.1: guards against odd input.
pub struct V61;

impl Revision for V50 {
    type Era = Us;
    const LEARNING: Learning = learning(NO_INTERVAL);
    const LATE_RULES: bool = false;
    const GUARDED: bool = false;
}
impl Revision for V53 {
    type Era = Us;
    const LEARNING: Learning = learning(i32::MAX as u32);
    const LATE_RULES: bool = false;
    const GUARDED: bool = false;
}
impl Revision for V510 {
    type Era = Ns;
    const LEARNING: Learning = learning(i32::MAX as u32);
    const LATE_RULES: bool = true;
    const GUARDED: bool = false;
}
impl Revision for V61 {
    type Era = Ns;
    const LEARNING: Learning = learning(i32::MAX as u32);
    const LATE_RULES: bool = true;
    const GUARDED: bool = true;
}

/// Linux 5.0.
pub type Menu50 = Menu<V50>;
/// Linux 5.3.
pub type Menu53 = Menu<V53>;
/// Linux 5.10.
pub type Menu510 = Menu<V510>;
/// Linux 6.1.
pub type Menu61 = Menu<V61>;

/// menu of 5.0 to 6.1.
pub struct Menu<R: Revision> {
    states: States,
    history: History<R::Era>,
}

impl<R: Revision> Menu<R> {
    /// Predicts the idle duration in the era's unit and tightens the limit; learns on the way.
    #[inline]
    fn predict(&mut self, cx: &IdleContext, limit: &mut i64) -> u64 {
        let corrected = self.history.corrected();
        let typical = self.history.ring.typical(&R::LEARNING.outliers, corrected);
        let predicted = u64::from(corrected.min(typical)) * R::Era::PER_US;
        if !cx.tick_stopped {
            *limit = (*limit).min((predicted / multiplier(cx)) as i64);
        } else if predicted < self.history.tick as u64 {
            return if R::GUARDED { self.history.next } else { R::Era::time(cx.delta_tick) };
        }
        predicted
    }

    /// Only the first state is worth a thought.
    #[inline]
    fn first_only(&self, cx: &IdleContext, limit: i64) -> bool {
        let s = &self.states;
        s.n <= 1
            || limit == 0
            || ((self.history.next < s.target[1] as u64 || limit < s.exit[1]) && !cx.is_off(0))
    }

    #[inline]
    fn scan(&self, cx: &IdleContext, predicted: u64, limit: i64) -> Scan {
        let (s, tick) = (&self.states, self.history.tick);
        let mut scan = Scan { idx: None, predicted, rule: Rule::Prediction, settled: false };
        for i in 0..s.n {
            if cx.is_off(i) {
                continue;
            }
            let idx = *scan.idx.get_or_insert(i);
            if s.target[i] as u64 > predicted {
                if s.polls(idx) && s.exit[i] <= limit && s.target[i] as u64 <= self.history.next {
                    scan.predicted = s.target[i] as u64;
                    scan.idx = Some(i);
                    scan.rule = Rule::NotPolling;
                } else if predicted >= tick as u64 && !cx.tick_stopped {
                    scan.predicted = s.target[idx] as u64;
                } else if predicted >= tick as u64 {
                    if s.target[idx] < tick && s.target[i] <= cx.delta_tick / R::Era::UNIT {
                        scan.idx = Some(i);
                    }
                    scan.rule = Rule::TickStopped;
                    scan.settled = true;
                }
                break;
            }
            if s.exit[i] > limit {
                if !R::LATE_RULES {
                    scan.predicted = s.target[idx] as u64;
                }
                scan.rule = Rule::LatencyLimit;
                break;
            }
            scan.idx = Some(i);
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

/// One plus ten for every task in I/O wait; counted in 32 signed bits.
#[inline(always)]
fn multiplier(cx: &IdleContext) -> u64 {
    1i32.wrapping_add((cx.nr_iowait as i32).wrapping_mul(10)) as u64
}

impl<R: Revision> Governor for Menu<R> {
    fn new(table: &IdleTable, hz: u32) -> Self {
        Self {
            states: States::new::<R::Era>(table),
            history: History::new(hz, R::LEARNING.outliers.start),
        }
    }

    #[inline]
    fn select(&mut self, device: &mut Device, cx: &IdleContext) -> Selection {
        let mut cx = *cx;
        let refused = self.history.update(&R::LEARNING, &self.states, device);
        if R::GUARDED && refused && device.last_residency == 0 {
            self.history.ring.push(NO_INTERVAL);
        }
        if R::GUARDED && cx.sleep_length < 0 {
            (cx.sleep_length, cx.delta_tick) = (0, 0);
        }
        let io = if cx.nr_iowait > 0 { DECADES } else { 0 };
        self.history.look_at_timer(R::Era::time(cx.sleep_length), io);
        let mut limit = R::Era::limit(cx.latency_limit);
        if self.first_only(&cx, limit) {
            return Selection {
                state: 0,
                stop_tick: R::LATE_RULES && !self.states.polls(0),
                predicted: (self.history.next as i64).wrapping_mul(R::Era::UNIT),
                rule: if limit == 0 { Rule::ZeroLatency } else { Rule::FirstOnly },
            };
        }
        let predicted = self.predict(&cx, &mut limit);
        let scan = self.scan(&cx, predicted, limit);
        let mut choice = Selection {
            state: scan.idx.unwrap_or(0),
            stop_tick: true,
            predicted: (scan.predicted as i64).wrapping_mul(R::Era::UNIT),
            rule: if scan.idx.is_none() { Rule::AllDisabled } else { scan.rule },
        };
        let keep = self.states.polls(choice.state) || scan.predicted < self.history.tick as u64;
        if !scan.settled && keep && !cx.tick_stopped {
            self.states.keep_tick(&cx, &mut choice, R::Era::time(cx.delta_tick));
        }
        choice
    }

    #[inline]
    fn reflect(&mut self, _device: &mut Device, outcome: &IdleOutcome) {
        self.history.note(outcome);
    }
}
