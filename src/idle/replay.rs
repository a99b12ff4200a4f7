//! Several governors on the periods of several CPUs, on all cores.
//!
//! Every pair of a governor and a CPU is a job of its own with its own governor instance, so the result
//! cannot depend on the number of threads. Decisions are made in the order of the CPUs and put back
//! into the order of the periods at the end.

use rayon::prelude::*;

use super::entry::GovernorEntry;
use super::foreign::{CFunction, CGovernor, ForeignMaker, Wrapped};
use super::stream::{self, Rows, Stream};
use crate::error::{Error, Result};
use crate::machine::IdleTable;
use crate::periods::{CpuOrder, Periods};
use crate::watch::Watch;

/// Tick rates a kernel can be built with.
pub const HZ: [u32; 4] = [100, 250, 300, 1000];

/// Who decides.
pub enum Chosen<'a> {
    /// A governor of the catalogue.
    Entry(&'static GovernorEntry),
    /// A C function.
    C(CFunction),
    /// An object from the other side of the border; asked on one thread only.
    Object(&'a dyn ForeignMaker),
}

/// How to replay.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Ticks per second, one of [`HZ`].
    pub hz: u32,
    /// The measured residency is the wake time plus the exit latency of the entered state.
    pub add_exit_latency: bool,
    /// States really entered, by period: the governors learn from these instead of their own choices.
    pub recorded: Option<&'a [u8]>,
    /// Also return predictions and rules.
    pub trace: bool,
    /// Worker threads; None: one per core.
    pub threads: Option<usize>,
}

/// Decisions, one row of `n_periods` per governor, rows in the order the governors were given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decisions {
    /// Chosen state.
    pub state: Vec<u8>,
    /// The tick may be stopped.
    pub stop_tick: Vec<bool>,
    /// [`FITS`](stream::FITS), [`ABOVE`](stream::ABOVE) or [`BELOW`](stream::BELOW).
    pub verdict: Vec<u8>,
    /// Expected durations, ns; empty unless traced.
    pub predicted: Vec<i64>,
    /// Codes of the rules; empty unless traced.
    pub rule: Vec<u8>,
}

/// Replays all `governors` on `periods`.
///
/// # Errors
/// [`Error::InvalidParameter`] for a tick rate no kernel has, no threads, or a recorded state that is
/// not in the table; [`Error::Shape`] for recorded states of another length;
/// [`Error::Interrupted`] if the watch was stopped; whatever a foreign governor returns.
pub fn replay(
    governors: &[Chosen<'_>],
    table: &IdleTable,
    periods: &Periods<'_>,
    options: &Options<'_>,
    watch: &Watch,
) -> Result<Decisions> {
    check(table, periods, options)?;
    let order = periods.by_cpu();
    let mut decisions = Decisions::zeroed(governors.len(), periods.len(), options.trace);
    if !decisions.state.is_empty() {
        let stream = |range| Stream {
            periods,
            order: &order,
            range,
            table,
            hz: options.hz,
            add_exit_latency: options.add_exit_latency,
            recorded: options.recorded,
            watch,
        };
        let jobs = decisions.jobs(&order, periods.len());
        run_jobs(governors, jobs, &order, options, &stream)?;
        decisions.restore(&order, periods.len(), options.threads == Some(1));
    }
    Ok(decisions)
}

fn check(table: &IdleTable, periods: &Periods<'_>, options: &Options<'_>) -> Result<()> {
    if !HZ.contains(&options.hz) {
        return Err(Error::invalid("hz", format!("{} is none of 100, 250, 300, 1000", options.hz)));
    }
    if options.threads == Some(0) {
        return Err(Error::invalid("threads", "at least one thread is needed, found 0"));
    }
    let Some(recorded) = options.recorded else { return Ok(()) };
    if recorded.len() != periods.len() {
        return Err(Error::Shape {
            name: "recorded_state".into(),
            expected: periods.len(),
            found: recorded.len(),
        });
    }
    let odd = |&(i, &s): &(usize, &u8)| usize::from(s) >= table.len() && !periods.is_rejected(i);
    match recorded.iter().enumerate().find(odd) {
        None => Ok(()),
        Some((i, s)) => Err(Error::invalid(
            format!("recorded_state[{i}]"),
            format!("state {s} is not in the table, which has {} states", table.len()),
        )),
    }
}

/// One governor on one CPU.
struct Job<'a> {
    governor: usize,
    cpu: usize,
    rows: Rows<'a>,
}

fn run_jobs<'a>(
    governors: &[Chosen<'_>],
    jobs: Vec<Job<'_>>,
    order: &CpuOrder,
    options: &Options<'_>,
    stream: &(dyn Fn(std::ops::Range<usize>) -> Stream<'a> + Sync),
) -> Result<()> {
    let one = |job: Job<'_>| {
        let stream = stream(order.ranges[job.cpu].clone());
        let cpu = order.numbers[job.cpu];
        run_job(&governors[job.governor], &stream, job.rows, options.trace, cpu, order)
    };
    let (foreign, own): (Vec<_>, Vec<_>) =
        jobs.into_iter().partition(|j| matches!(governors[j.governor], Chosen::Object(_)));
    // The first error in the order of the jobs, whichever thread came first.
    let results: Vec<Result<()>> = match options.threads {
        Some(1) => own.into_iter().map(one).collect(),
        _ if own.len() < 2 => own.into_iter().map(one).collect(),
        Some(n) => pool(n)?.install(|| own.into_par_iter().map(one).collect()),
        None => own.into_par_iter().map(one).collect(),
    };
    results.into_iter().collect::<Result<()>>()?;
    foreign.into_iter().try_for_each(one)
}

fn pool(threads: usize) -> Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| Error::invalid("threads", format!("cannot start {threads} threads: {e}")))
}

fn run_job(
    governor: &Chosen<'_>,
    stream: &Stream<'_>,
    rows: Rows<'_>,
    trace: bool,
    cpu: u32,
    order: &CpuOrder,
) -> Result<()> {
    if stream.table.len() == 1 {
        return stream::run_single(stream, rows);
    }
    match governor {
        Chosen::Entry(entry) if trace => (entry.maker.run_traced)(stream, rows),
        Chosen::Entry(entry) => (entry.maker.run)(stream, rows),
        Chosen::C(function) => {
            let asked = CGovernor::new(*function, stream.table, stream.hz, cpu);
            run_foreign(stream, rows, trace, asked)
        }
        Chosen::Object(maker) => {
            let asked = Wrapped(maker.make(cpu, order.numbers.len())?);
            run_foreign(stream, rows, trace, asked)
        }
    }
}

fn run_foreign<A: stream::Asked>(
    stream: &Stream<'_>,
    rows: Rows<'_>,
    trace: bool,
    asked: A,
) -> Result<()> {
    if trace {
        stream::run::<A, true>(stream, rows, asked)
    } else {
        stream::run::<A, false>(stream, rows, asked)
    }
}

impl Decisions {
    fn zeroed(n_governors: usize, n_periods: usize, trace: bool) -> Self {
        let n = n_governors * n_periods;
        let traced = if trace { n } else { 0 };
        Self {
            state: vec![0; n],
            stop_tick: vec![false; n],
            verdict: vec![0; n],
            predicted: vec![0; traced],
            rule: vec![0; traced],
        }
    }

    /// Cuts the arrays into one piece per governor and CPU, in that order.
    fn jobs(&mut self, order: &CpuOrder, n_periods: usize) -> Vec<Job<'_>> {
        let n_governors = self.state.len() / n_periods;
        let mut state = Pieces(&mut self.state);
        let mut stop_tick = Pieces(&mut self.stop_tick);
        let mut verdict = Pieces(&mut self.verdict);
        let mut predicted = Pieces(&mut self.predicted);
        let mut rule = Pieces(&mut self.rule);
        let mut jobs = Vec::with_capacity(n_governors * order.ranges.len());
        for governor in 0..n_governors {
            for (cpu, range) in order.ranges.iter().enumerate() {
                let rows = Rows {
                    state: state.next(range.len()),
                    stop_tick: stop_tick.next(range.len()),
                    verdict: verdict.next(range.len()),
                    predicted: predicted.next(range.len()),
                    rule: rule.next(range.len()),
                };
                jobs.push(Job { governor, cpu, rows });
            }
        }
        jobs
    }

    /// Puts the decisions of every row back into the order of the periods.
    fn restore(&mut self, order: &CpuOrder, n_periods: usize, serial: bool) {
        let Some(sorted) = &order.sorted else { return };
        let back = Back { place: &sorted.place, n_periods, serial };
        self.state = back.restored(&self.state);
        self.stop_tick = back.restored(&self.stop_tick);
        self.verdict = back.restored(&self.verdict);
        self.predicted = back.restored(&self.predicted);
        self.rule = back.restored(&self.rule);
    }
}

/// The way back from the order of the CPUs.
struct Back<'a> {
    place: &'a [u32],
    n_periods: usize,
    serial: bool,
}

impl Back<'_> {
    fn restored<T: Copy + Default + Send + Sync>(&self, by_cpu: &[T]) -> Vec<T> {
        /// Periods put back at a time.
        const PART: usize = 1 << 16;
        let mut by_period = vec![T::default(); by_cpu.len()];
        for (row, from) in by_period.chunks_mut(self.n_periods).zip(by_cpu.chunks(self.n_periods)) {
            let put = |(to, places): (&mut [T], &[u32])| {
                for (to, &place) in to.iter_mut().zip(places) {
                    *to = from[place as usize];
                }
            };
            if self.serial {
                put((row, self.place));
            } else {
                row.par_chunks_mut(PART).zip(self.place.par_chunks(PART)).for_each(put);
            }
        }
        by_period
    }
}

/// What is left of a slice that is handed out piece by piece; an empty one gives empty pieces.
struct Pieces<'a, T>(&'a mut [T]);

impl<'a, T> Pieces<'a, T> {
    fn next(&mut self, len: usize) -> &'a mut [T] {
        let rest = std::mem::take(&mut self.0);
        let (piece, rest) = rest.split_at_mut(len.min(rest.len()));
        self.0 = rest;
        piece
    }
}
