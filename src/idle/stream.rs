//! The replay of one governor on one CPU: the loop everything else surrounds.
//!
//! For every period the governor is asked, the verdict is passed, and the outcome is told, in this
//! order. The loop is compiled once per governor type; nothing is allocated or looked up per period.

use std::ops::Range;

use super::era::{Ns, States};
use super::governor::{Device, Governor, IdleContext, IdleOutcome, NO_PREDICTION, Rule, Selection};
use crate::error::Result;
use crate::machine::{IdleTable, MAX_STATES};
use crate::periods::{CpuOrder, Period, Periods};
use crate::watch::Watch;

/// Verdict: the state was right, or there was no better enabled one.
pub const FITS: u8 = 0;
/// Verdict: chosen too deep; a shallower state was enabled.
pub const ABOVE: u8 = 1;
/// Verdict: chosen too shallow; the next deeper enabled state would have paid off.
pub const BELOW: u8 = 2;

/// Periods per block: 16 kB of them, half of a first-level cache.
const BLOCK: usize = 256;

/// What one CPU gives to the loop.
pub struct Stream<'a> {
    /// All periods.
    pub periods: &'a Periods<'a>,
    /// Their order by CPU.
    pub order: &'a CpuOrder,
    /// This CPU's part of that order.
    pub range: Range<usize>,
    /// The state table.
    pub table: &'a IdleTable,
    /// Ticks per second.
    pub hz: u32,
    /// The measured residency is the wake time plus the exit latency.
    pub add_exit_latency: bool,
    /// States that were really entered, by period; None: the governor's own choices are entered.
    pub recorded: Option<&'a [u8]>,
    /// Who waits for us.
    pub watch: &'a Watch,
}

/// Where the decisions of one governor on one CPU go, in the order of the stream.
pub struct Rows<'a> {
    /// Chosen state.
    pub state: &'a mut [u8],
    /// The tick may be stopped.
    pub stop_tick: &'a mut [bool],
    /// [`FITS`], [`ABOVE`] or [`BELOW`].
    pub verdict: &'a mut [u8],
    /// Expected duration, ns; empty unless traced.
    pub predicted: &'a mut [i64],
    /// Code of the rule; empty unless traced.
    pub rule: &'a mut [u8],
}

/// Whoever is asked in the loop. Fallible, unlike [`Governor`], for the sake of foreign ones.
pub trait Asked {
    /// Chooses a state in period `index`.
    fn select(&mut self, index: usize, device: &mut Device, cx: &IdleContext) -> Result<Selection>;
    /// Hears what became of it.
    fn reflect(&mut self, index: usize, device: &mut Device, outcome: &IdleOutcome) -> Result<()>;
    /// Learns that the driver refused the state.
    fn refused(&mut self) {}
}

struct Own<G>(G);

impl<G: Governor> Asked for Own<G> {
    #[inline(always)]
    fn select(&mut self, _: usize, device: &mut Device, cx: &IdleContext) -> Result<Selection> {
        Ok(self.0.select(device, cx))
    }
    #[inline(always)]
    fn reflect(&mut self, _: usize, device: &mut Device, outcome: &IdleOutcome) -> Result<()> {
        self.0.reflect(device, outcome);
        Ok(())
    }
}

/// Replays a governor of the catalogue.
pub(super) fn run_own<G: Governor, const TRACE: bool>(
    stream: &Stream<'_>,
    rows: Rows<'_>,
) -> Result<()> {
    run::<_, TRACE>(stream, rows, Own(G::new(stream.table, stream.hz)))
}

/// Replays whoever is asked.
pub(super) fn run<A: Asked, const TRACE: bool>(
    stream: &Stream<'_>,
    rows: Rows<'_>,
    mut asked: A,
) -> Result<()> {
    let core = Core::new(stream);
    let mut device = Device::default();
    let mut block = vec![stream.periods.template(); BLOCK.min(stream.range.len())];
    let mut done = 0;
    while done < stream.range.len() {
        let start = stream.range.start + done;
        let len = BLOCK.min(stream.range.end - start);
        let block = &mut block[..len];
        core.gather(stream, start, block);
        let state = &mut rows.state[done..][..len];
        let stop_tick = &mut rows.stop_tick[done..][..len];
        let verdict = &mut rows.verdict[done..][..len];
        for k in 0..len {
            let (period, index) = (&block[k], stream.order.index(start + k));
            let choice = core.step(&mut asked, &mut device, index, period, stream.recorded)?;
            state[k] = choice.state as u8;
            stop_tick[k] = choice.stop_tick;
            verdict[k] = core.judge(period, choice.state);
            if TRACE {
                rows.predicted[done + k] = choice.predicted;
                rows.rule[done + k] = choice.rule as u8;
            }
        }
        done += len;
        stream.watch.advance(len as u64)?;
    }
    Ok(())
}

/// A table of one state asks nobody.
pub(super) fn run_single(stream: &Stream<'_>, rows: Rows<'_>) -> Result<()> {
    rows.state.fill(0);
    rows.stop_tick.fill(false);
    rows.verdict.fill(FITS);
    rows.predicted.fill(NO_PREDICTION);
    rows.rule.fill(Rule::SingleState as u8);
    stream.watch.advance(stream.range.len() as u64)
}

/// The part of the cpuidle core that a replay needs.
struct Core {
    states: States,
    table_disabled: u16,
    tick: i64,
    add_exit_latency: bool,
}

impl Core {
    fn new(stream: &Stream<'_>) -> Self {
        Self {
            states: States::new::<Ns>(stream.table),
            table_disabled: stream.table.disabled_mask(),
            tick: <Ns as super::era::Era>::tick(stream.hz),
            add_exit_latency: stream.add_exit_latency,
        }
    }

    fn gather(&self, stream: &Stream<'_>, start: usize, block: &mut [Period]) {
        match &stream.order.sorted {
            Some(sorted) => {
                let index = &sorted.index[start..];
                stream.periods.gather(|k| index[k] as usize, self.tick, block);
            }
            None => stream.periods.gather(|k| start + k, self.tick, block),
        }
    }

    #[inline(always)]
    fn residency(&self, period: &Period, state: usize) -> i64 {
        let exit = if self.add_exit_latency { self.states.exit[state] } else { 0 };
        period.wake.wrapping_add(exit)
    }

    /// Asks, enters, tells.
    #[inline(always)]
    fn step<A: Asked>(
        &self,
        asked: &mut A,
        device: &mut Device,
        index: usize,
        period: &Period,
        recorded: Option<&[u8]>,
    ) -> Result<Selection> {
        let context = IdleContext {
            sleep_length: period.sleep_length,
            delta_tick: period.delta_tick,
            latency_limit: period.latency_limit,
            tick_stopped: period.tick_stopped,
            nr_iowait: period.nr_iowait,
            cpu_util: period.cpu_util,
            cpu_load: period.cpu_load,
            disabled: period.disabled | self.table_disabled,
        };
        let choice = asked.select(index, device, &context)?;
        if period.rejected {
            device.last_residency = 0;
            asked.refused();
            return Ok(choice);
        }
        let state = recorded.map_or(choice.state, |r| usize::from(r[index]));
        let residency = self.residency(period, state);
        device.last_residency = residency;
        if self.states.polls(state) {
            device.poll_timed_out = period.poll_timeout;
        }
        let span = residency.wrapping_add(period.overhead);
        let outcome = IdleOutcome { state, span, got_tick: period.got_tick };
        asked.reflect(index, device, &outcome)?;
        Ok(choice)
    }

    /// The core's own verdict on the chosen state, by the residency it has or would have had.
    #[inline(always)]
    fn judge(&self, period: &Period, state: usize) -> u8 {
        if period.rejected {
            return FITS;
        }
        let enabled = !u32::from(period.disabled | self.table_disabled);
        let (residency, exit) = (self.residency(period, state), self.states.exit[state]);
        let below = enabled & ((1 << state) - 1);
        let next = state + 1 + (enabled >> (state + 1)).trailing_zeros() as usize;
        let deeper = next.min(MAX_STATES);
        // Verdicts are as good as random: no branches here.
        let short = residency < self.states.target[state];
        let pays = (next < self.states.n)
            & (residency > exit)
            & (residency.wrapping_sub(exit) >= self.states.target[deeper]);
        ABOVE * u8::from(short & (below != 0)) + BELOW * u8::from(!short & pays)
    }
}
