//! Many runs: every kernel on every case, several times each, on all cores.
//!
//! A run depends on its own seed only, and its figures go to their own place, so the result does not
//! depend on the number of threads. What is kept of a run is a few kilobytes; how many runs go on at
//! the same time is limited by the memory they take.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use hdrhistogram::Histogram;

use super::metrics::{COUNTS, Count, StateBooks};
use super::power::{idle_share, watts};
use super::record::Recorder;
use super::setup::{self, GovernorMaker, MAX_TASKS, Setup, Span};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::machine::{MAX_STATES, Machine};
use crate::rng::Seed;
use crate::watch::Watch;
use crate::workload::{Case, Channel, End, Full, Measure, Outcome, Plan, Report};

/// Quantiles of the wake-up latency that are kept; 1 is the longest.
pub const LATENCY_QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 1.0];

/// Quantiles of slices and idle periods that are kept.
pub const LENGTH_QUANTILES: [f64; 3] = [0.1, 0.5, 0.9];

/// Memory that all runs of a call together may take, bytes.
const BUDGET: usize = 4 << 30;

/// Memory of a task and of a CPU in a run, bytes: the bounds that the engine keeps.
const TASK_BYTES: usize = 1 << 10;
const CPU_BYTES: usize = 64 << 10;

/// A column of the table: a kernel, perhaps with governors from outside.
#[derive(Clone, Copy)]
pub struct Column<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Governors in place of the kernel's.
    pub governors: Option<&'a dyn GovernorMaker>,
}

/// A row of the table: a case and the plan that was made of it.
pub struct Row {
    /// The case, as reported.
    pub case: Case,
    /// What runs.
    pub plan: Plan,
}

/// What to run.
pub struct Batch<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The kernels.
    pub columns: &'a [Column<'a>],
    /// The cases.
    pub rows: &'a [Row],
    /// Reported figures, the main one first.
    pub reports: &'a [Report<String>],
    /// One seed per run: by kernel, then case, then repeat.
    pub seeds: &'a [Seed],
    /// The machine is one of so many equal parts of a larger one; counts are those of the whole.
    pub parts: u32,
    /// Run-to-run variation, as in [`Setup`].
    pub noise: f64,
    /// Warm-up instead of the usual one, ns; a workload that ends by itself has none.
    pub warmup: Option<i64>,
    /// Window instead of the usual one, ns.
    pub window: Option<i64>,
    /// Most happenings to write down of the first repeat of each cell; 0 for none.
    pub records: usize,
    /// Worker threads; `None` takes those of the pool it runs in.
    pub threads: Option<usize>,
}

/// What is kept of one run. Counts, times and power are those of the whole machine.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Reported figures.
    pub reported: Vec<f64>,
    /// The main figure in the first and in the second half of the window.
    pub halves: [f64; 2],
    /// Operations of the benchmark, if it counts any.
    pub operations: Option<u64>,
    /// By [`Count`].
    pub counts: [u64; COUNTS.len()],
    /// By idle state.
    pub states: [StateBooks; MAX_STATES],
    /// From wake-up to running, ns, at [`LATENCY_QUANTILES`].
    pub wakeup_latency: [f64; LATENCY_QUANTILES.len()],
    /// From getting a CPU to leaving it, ns, at [`LENGTH_QUANTILES`].
    pub slices: [f64; LENGTH_QUANTILES.len()],
    /// Idle periods, ns, at [`LENGTH_QUANTILES`].
    pub idle_periods: [f64; LENGTH_QUANTILES.len()],
    /// Share of the window that each CPU of the simulated part was not idle.
    pub busy: Vec<f64>,
    /// Mean power of all packages, W; an estimate.
    pub watts: f64,
    /// Warm-up, ns.
    pub warmup: i64,
    /// Length of the window, or run time, ns.
    pub elapsed: i64,
    /// Share of the messages sent that were lost for want of room; those that only say "wake up" to
    /// somebody who was told already do not count.
    pub lost: f64,
    /// It was cut although the workload ends by itself.
    pub cut: bool,
    /// What happened, if it was written down.
    pub recorder: Option<Recorder>,
}

impl Batch<'_> {
    /// Number of runs.
    pub fn runs(&self) -> usize {
        self.seeds.len()
    }

    /// Simulated time of all runs together, warm-up included, ns; at most, where workloads end by
    /// themselves.
    pub fn simulated(&self) -> i64 {
        let each = self.jobs().map(|j| j.span.warmup + j.span.window);
        each.fold(0, i64::saturating_add)
    }

    /// Carries out all runs; results are in the order of the seeds. The watch counts simulated ns.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] before anything runs for what cannot be run; with the kernel and
    /// case in front for a run that comes to a standstill; [`Error::Interrupted`].
    pub fn run(&self, watch: &Watch) -> Result<Vec<Cell>> {
        self.check()?;
        let workers = self.workers()?;
        let mut order: Vec<Job> = self.jobs().collect();
        // The longest first: the last ones to finish are short.
        order.sort_by_key(|j| std::cmp::Reverse(self.effort(j)));
        let done: Vec<OnceLock<Result<Cell>>> = (0..order.len()).map(|_| OnceLock::new()).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(job) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                let cell = self.one(job, watch);
                if cell.is_err() {
                    watch.stop();
                }
                let stop = cell.is_err();
                let _ = done[job.index].set(cell); // each index occurs once
                if stop {
                    break;
                }
            }
        };
        if workers == 1 {
            work();
        } else {
            rayon::scope(|scope| (0..workers).for_each(|_| scope.spawn(|_| work())));
        }
        collected(done)
    }

    fn jobs(&self) -> impl Iterator<Item = Job> + '_ {
        let repeats = self.seeds.len() / (self.columns.len() * self.rows.len()).max(1);
        (0..self.seeds.len()).map(move |index| {
            let (cell, repeat) = (index / repeats.max(1), index % repeats.max(1));
            let (column, row) = (cell / self.rows.len(), cell % self.rows.len());
            let plan = &self.rows[row].plan;
            let usual = Span::of(self.machine, self.columns[column].kernel, plan);
            let counted_whole = matches!(plan.end, End::AllExit(_));
            let span = Span {
                warmup: self.warmup.filter(|_| !counted_whole).unwrap_or(usual.warmup),
                window: self.window.unwrap_or(usual.window),
            };
            Job { index, column, row, repeat, span }
        })
    }

    /// Refuses what cannot run with any seeds.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a noise out of range, too many tasks, or a kernel that does not
    /// fit the machine.
    pub fn check(&self) -> Result<()> {
        if !(self.noise.is_finite() && (0.0..=setup::MAX_NOISE).contains(&self.noise)) {
            return Err(setup::noise_error(self.noise));
        }
        for column in self.columns {
            column.kernel.settings(self.machine.topology.ncpus() as i64)?;
        }
        let size = |row: &Row| setup::check_size(&row.plan).map_err(|e| placed(e, None, &row.case));
        self.rows.iter().try_for_each(size)
    }

    /// Returns how many runs may go on at the same time.
    fn workers(&self) -> Result<usize> {
        let cells = self.columns.len() * self.rows.len();
        if cells == 0 || self.seeds.is_empty() || !self.seeds.len().is_multiple_of(cells) {
            return Err(Error::invalid(
                "repeats",
                format!("{} seeds for {cells} pairs of kernel and case", self.seeds.len()),
            ));
        }
        if self.threads == Some(0) {
            return Err(Error::invalid("threads", "at least one thread is needed, found 0"));
        }
        let most = self.rows.iter().map(|r| self.bytes(&r.plan)).max().unwrap_or(0);
        let fit = (BUDGET / most.max(1)).max(1);
        let wanted = self.threads.unwrap_or_else(rayon::current_num_threads);
        Ok(wanted.min(fit).min(self.seeds.len()))
    }

    /// Memory of one run, bytes.
    fn bytes(&self, plan: &Plan) -> usize {
        let tasks = (plan.tasks.len() + plan.spare as usize).min(MAX_TASKS);
        tasks * TASK_BYTES + self.machine.topology.ncpus() * CPU_BYTES
    }

    /// A guess at the work of a run: simulated time × CPUs that have something to do.
    fn effort(&self, job: &Job) -> i64 {
        let busy = self.rows[job.row].plan.tasks.len().min(self.machine.ncpus as usize);
        (job.span.warmup + job.span.window).saturating_mul(busy as i64)
    }

    fn one(&self, job: &Job, watch: &Watch) -> Result<Cell> {
        let (column, row) = (self.columns[job.column], &self.rows[job.row]);
        let setup = Setup {
            machine: self.machine,
            kernel: column.kernel,
            plan: &row.plan,
            noise: self.noise,
            record: self.records > 0 && job.repeat == 0,
            governors: column.governors,
        };
        let outcome = setup::run_for(&setup, job.span, &self.seeds[job.index], watch)
            .map_err(|e| placed(e, Some(column.kernel), &row.case))?;
        // A run that ended early counts as done.
        watch.advance((job.span.window - outcome.elapsed).max(0) as u64)?;
        Ok(self.cell(row, job.span, outcome))
    }

    fn cell(&self, row: &Row, span: Span, o: setup::Outcome) -> Cell {
        let parts = u64::from(self.parts);
        let mut m = o.metrics;
        let whole = Seen {
            plan: &row.plan,
            counters: &m.counters,
            latencies: &m.latencies,
            span: o.elapsed,
            parts,
        };
        let reported = self.reports.iter().map(|r| r.measure.value(&row.case, &whole)).collect();
        let operations = operations(self.reports, &row.plan).and_then(|name| whole.count(name));
        let watts = watts(self.machine, &o.spent, &m.states, o.elapsed) * f64::from(self.parts);
        let mut cell = Cell {
            reported,
            halves: [f64::NAN; 2],
            operations,
            counts: m.counts.map(|n| n * parts),
            states: m.states.map(|s| StateBooks {
                usage: s.usage * parts,
                time: s.time * parts as i64,
                above: s.above * parts,
                below: s.below * parts,
            }),
            wakeup_latency: LATENCY_QUANTILES.map(|q| quantile(&m.wakeup_latency, q)),
            slices: LENGTH_QUANTILES.map(|q| quantile(&m.slices, q)),
            idle_periods: LENGTH_QUANTILES.map(|q| quantile(&m.idle_periods, q)),
            busy: o.spent.iter().map(|s| 1.0 - idle_share(s, o.elapsed.max(1))).collect(),
            watts,
            warmup: span.warmup,
            elapsed: o.elapsed,
            lost: lost(&row.plan, m.get(Count::Dropped), m.get(Count::Sent)),
            cut: matches!(row.plan.end, End::AllExit(_)) && !o.finished,
            recorder: o.recorder.map(|r| shortened(r, self.records)),
        };
        // The simulation's own events are those that were simulated.
        cell.counts[Count::Events as usize] /= parts;
        if row.plan.end == End::Window {
            let half = (span.window / 2, span.window - span.window / 2);
            let first = Seen {
                plan: &row.plan,
                counters: &o.first_half,
                latencies: &o.first_latencies,
                span: half.0,
                parts,
            };
            let main = self.reports.first();
            let value = |seen: &Seen| main.map_or(f64::NAN, |r| r.measure.value(&row.case, seen));
            cell.halves[0] = value(&first);
            for (all, first) in m.latencies.iter_mut().zip(&o.first_latencies) {
                // All were counted in the first half too.
                let _ = all.subtract(first);
            }
            let counters: Vec<u64> =
                m.counters.iter().zip(&o.first_half).map(|(all, first)| all - first).collect();
            cell.halves[1] = value(&Seen {
                counters: &counters,
                latencies: &m.latencies,
                span: half.1,
                ..first
            });
        }
        cell
    }
}

/// One run: its place in the results, and what it consists of.
#[derive(Debug, Clone, Copy)]
struct Job {
    index: usize,
    column: usize,
    row: usize,
    repeat: usize,
    span: Span,
}

/// A part of a run, as the measures of a report ask for it.
struct Seen<'a> {
    plan: &'a Plan,
    counters: &'a [u64],
    latencies: &'a [Histogram<u64>],
    span: i64,
    parts: u64,
}

impl Outcome for Seen<'_> {
    fn count(&self, counter: &str) -> Option<u64> {
        let i = self.plan.counters.iter().position(|name| name == counter)?;
        Some(self.counters.get(i)? * self.parts)
    }

    fn span(&self) -> i64 {
        self.span
    }

    fn quantile(&self, latency: &str, q: f64) -> Option<f64> {
        let i = self.plan.latencies.iter().position(|name| name == latency)?;
        Some(quantile(self.latencies.get(i)?, q)).filter(|v| !v.is_nan())
    }
}

/// Returns a quantile, 0 the smallest; NaN if nothing was counted.
fn quantile(histogram: &Histogram<u64>, q: f64) -> f64 {
    match q {
        _ if histogram.is_empty() => f64::NAN,
        0.0 => histogram.min() as f64,
        _ => histogram.value_at_quantile(q) as f64,
    }
}

/// Returns the counter of the operations that the benchmark reports.
fn operations<'a>(reports: &'a [Report<String>], plan: &'a Plan) -> Option<&'a str> {
    let counted = reports.iter().find_map(|r| match &r.measure {
        Measure::Rate { counter, .. }
        | Measure::Volume { counter, .. }
        | Measure::PerOp { counter, .. }
        | Measure::Turn { counter, .. } => Some(counter),
        Measure::Share { of, .. } => Some(of),
        Measure::Elapsed { .. } | Measure::Quantile { .. } | Measure::Best { .. } => None,
    });
    counted.or_else(|| plan.counters.first()).map(String::as_str)
}

fn lost(plan: &Plan, dropped: u64, sent: u64) -> f64 {
    let carries =
        |(i, c): (usize, &Channel)| c.full == Full::Drop && !plan.boards.contains(&(i as u32));
    match plan.channels.iter().enumerate().any(carries) {
        true if sent > 0 => dropped as f64 / sent as f64,
        _ => 0.0,
    }
}

fn shortened(mut recorder: Recorder, most: usize) -> Recorder {
    let found = recorder.records.len();
    recorder.lost += found.saturating_sub(most) as u64;
    recorder.records.truncate(most);
    recorder.records.shrink_to_fit();
    recorder
}

/// Returns the cells, or the first error in their order that is not a mere consequence of another.
fn collected(done: Vec<OnceLock<Result<Cell>>>) -> Result<Vec<Cell>> {
    let mut cells = Vec::with_capacity(done.len());
    let mut stopped = None;
    for slot in done {
        match slot.into_inner() {
            Some(Ok(cell)) => cells.push(cell),
            Some(Err(Error::Interrupted)) | None => stopped = Some(Error::Interrupted),
            Some(Err(error)) => return Err(error),
        }
    }
    stopped.map_or(Ok(cells), Err)
}

/// Returns the error with the cell it occurred in.
fn placed(error: Error, kernel: Option<&Kernel>, case: &Case) -> Error {
    match error {
        Error::InvalidParameter { name, reason } => {
            let kernel = kernel.map_or(String::new(), |k| format!("kernel {}, ", k.name));
            Error::InvalidParameter {
                name,
                reason: format!("{kernel}case {}: {reason}", case.label),
            }
        }
        other => other,
    }
}
