//! What a run needs, what comes out of it, and the run itself.

use hdrhistogram::Histogram;

use super::cpu::{Cpu, Kind, Spent};
use super::metrics::Metrics;
use super::record::Recorder;
use super::sim::Sim;
use super::task::Books;
use crate::error::{Error, Result};
use crate::idle::Governor;
use crate::kernel::Kernel;
use crate::machine::{IdleTable, Machine};
use crate::rng::Seed;
use crate::watch::Watch;
use crate::workload::{End, Plan};

/// Makes idle governors that are not in the catalogue.
pub trait GovernorMaker: Sync {
    /// Makes the governor of one CPU.
    ///
    /// # Errors
    /// Whatever keeps it from being made.
    fn make(&self, cpu: u32, table: &IdleTable, hz: u32) -> Result<Box<dyn Governor>>;
}

/// What a run needs.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The workload, for this machine and case.
    pub plan: &'a Plan,
    /// Strength of run-to-run variation: 1 as on a real machine, 0 for none.
    pub noise: f64,
    /// Write down what happens.
    pub record: bool,
    /// Governors in place of the kernel's.
    pub governors: Option<&'a dyn GovernorMaker>,
}

/// What came out of a run. Everything is counted from the end of the warm-up.
#[derive(Debug)]
pub struct Outcome {
    /// Counts and histograms.
    pub metrics: Metrics,
    /// The workload's counters in the first half of the window.
    pub first_half: Vec<u64>,
    /// The workload's latencies in the first half of the window, ns.
    pub first_latencies: Vec<Histogram<u64>>,
    /// Where the time of each CPU went.
    pub spent: Vec<Spent>,
    /// Books of each task of the plan.
    pub tasks: Vec<Books>,
    /// Length of the window, ns; for a workload that ends by itself, its run time.
    pub elapsed: i64,
    /// The workload ended by itself.
    pub finished: bool,
    /// Messages that lie in channels, at the beginning of the window and at the end.
    pub in_flight: [u64; 2],
    /// Events of the whole run, warm-up included.
    pub events: u64,
    /// What happened, if it was to be written down.
    pub recorder: Option<Recorder>,
}

/// Most tasks of a run.
pub const MAX_TASKS: usize = 2_000_000;

/// Strongest run-to-run variation.
pub(super) const MAX_NOISE: f64 = 100.0;

/// Longest warm-up or window, ns: eleven days, small enough that sums and products stay in 63 bits.
const MAX_SPAN: i64 = 1_000_000_000_000_000;

/// The error of a noise out of range.
pub(super) fn noise_error(noise: f64) -> Error {
    Error::invalid("noise", format!("{noise} is not a number from 0 to {MAX_NOISE}"))
}

/// Refuses a plan of too many tasks.
pub(super) fn check_size(plan: &Plan) -> Result<()> {
    let tasks = plan.tasks.len() + plan.spare as usize;
    if tasks <= MAX_TASKS {
        return Ok(());
    }
    let gb = tasks as f64 * 1024.0 / 1e9;
    Err(Error::invalid(
        "workload.tasks",
        format!("{tasks} tasks need about {gb:.1} GB, at most {MAX_TASKS} are run"),
    ))
}

/// How long a run takes, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Not counted at the beginning.
    pub warmup: i64,
    /// Counted; for a workload that ends by itself, at most.
    pub window: i64,
}

/// Shortest warm-up with more tasks than CPUs under CFS: virtual runtimes spread until wake-up
/// preemption and sleeper credit (4 and 12 ms) hold them, at the rate at which partners differ in
/// CPU use; 64 clients on 16 CPUs rose until 0.4 s and were steady after 1 s.
const CFS_WARMUP: i64 = 1_000_000_000;

/// The same under schedulers that bound the lag by a slice: some rounds of four tasks of 3 ms each.
const CROWDED_WARMUP: i64 = 200_000_000;

/// The machine idles for so long before the first task starts: a governor without a history keeps idle
/// CPUs in shallow states, which for the clock bins are active. Their timers come every 40 ms and
/// the longest history is eight periods.
const BOOT: i64 = 1_000_000_000;

impl Span {
    /// Returns the window that the plan asks for, and the warm-up that plan and kernel together need.
    ///
    /// A workload that ends by itself is counted from its beginning.
    pub fn of(machine: &Machine, kernel: &Kernel, plan: &Plan) -> Self {
        if let End::AllExit(limit) = plan.end {
            return Self { warmup: 0, window: limit };
        }
        let crowded = plan.tasks.len() > machine.ncpus as usize;
        let least = match crowded {
            true if kernel.policy.name.starts_with("cfs") => CFS_WARMUP,
            true => CROWDED_WARMUP,
            false => 0,
        };
        Self { warmup: plan.warmup.max(least), window: plan.window }
    }
}

/// Carries out one run of the usual length.
///
/// # Errors
/// As [`run_for`].
pub fn run(setup: &Setup<'_>, seed: &Seed, watch: &Watch) -> Result<Outcome> {
    run_for(setup, Span::of(setup.machine, setup.kernel, setup.plan), seed, watch)
}

/// Carries out one run of a given length; the watch counts simulated ns.
///
/// # Errors
/// [`Error::InvalidParameter`] for a plan that does not fit the machine or that comes to a standstill,
/// [`Error::Interrupted`] when the watch says so.
pub fn run_for(setup: &Setup<'_>, span: Span, seed: &Seed, watch: &Watch) -> Result<Outcome> {
    let plan = setup.plan;
    check_size(plan)?;
    if !(setup.noise.is_finite() && (0.0..=MAX_NOISE).contains(&setup.noise)) {
        return Err(noise_error(setup.noise));
    }
    if span.warmup < 0 || span.window <= 0 || span.warmup.max(span.window) > MAX_SPAN {
        return Err(Error::invalid(
            "duration",
            format!(
                "a warm-up of {} ns and a window of {} ns: both are at most {MAX_SPAN} ns, the window \
                 more than 0",
                span.warmup, span.window
            ),
        ));
    }
    carry_out(&mut Sim::new(setup, seed)?, span, watch)
}

/// Carries out one run, and watches the laws that hold all the time.
///
/// For tests: it takes several times as long. The second value says what was broken.
#[doc(hidden)]
pub fn audit(
    setup: &Setup<'_>,
    span: Span,
    seed: &Seed,
    watch: &Watch,
) -> (Result<Outcome>, Vec<String>) {
    let mut sim = match Sim::new(setup, seed) {
        Ok(sim) => sim,
        Err(error) => return (Err(error), Vec::new()),
    };
    sim.audit = Some(Box::default());
    let outcome = carry_out(&mut sim, span, watch);
    (outcome, sim.look_at_rest())
}

fn carry_out(sim: &mut Sim<'_>, span: Span, watch: &Watch) -> Result<Outcome> {
    sim.delay_starts(BOOT);
    sim.run_until(BOOT, &watch.uncounted())?;
    let (warmup, end) = (BOOT + span.warmup, BOOT + span.warmup + span.window);
    sim.run_until(warmup, watch)?;
    let before = sim.books();
    let under_way = sim.messages();
    let asleep = sim.open_periods();
    sim.metrics.reset();
    if let Some(recorder) = &mut sim.recorder {
        recorder.records.clear();
    }
    sim.run_until(warmup + (end - warmup) / 2, watch)?;
    let first_half = sim.metrics.counters.clone();
    let first_latencies = sim.metrics.latencies.clone();
    sim.run_until(end, watch)?;
    let after = sim.books();
    // Idle periods across an edge of the window count for the part inside.
    for (state, ns) in asleep {
        sim.metrics.states[state].time -= ns;
    }
    for (state, ns) in sim.open_periods() {
        sim.metrics.states[state].time += ns;
    }
    let finished = sim.is_over();
    Ok(Outcome {
        first_half,
        first_latencies,
        spent: after.0.iter().zip(&before.0).map(|(a, b)| a.since(b)).collect(),
        tasks: after.1.iter().zip(&before.1).map(|(a, b)| a.since(b)).collect(),
        elapsed: (sim.now - warmup).max(0),
        finished,
        events: sim.events,
        recorder: sim.recorder.take().map(Recorder::in_order),
        in_flight: [under_way, sim.messages()],
        metrics: std::mem::replace(&mut sim.metrics, Metrics::new(0, 0)),
    })
}

impl Sim<'_> {
    /// Returns the books of all CPUs and all tasks of the plan.
    fn books(&self) -> (Vec<Spent>, Vec<Books>) {
        let spent = self.cpus.iter().map(|c| c.spent).collect();
        let tasks = self.tasks[..self.plan.tasks.len()]
            .iter()
            .enumerate()
            .map(|(i, t)| Books { ran: self.cpu_time(i as u32), ..t.books })
            .collect();
        (spent, tasks)
    }

    /// Returns how many messages lie in channels.
    fn messages(&self) -> u64 {
        self.channels.iter().map(|c| c.messages.len() as u64).sum()
    }

    /// Lets all tasks start later.
    fn delay_starts(&mut self, ns: i64) {
        for (start, _) in &mut self.starts {
            *start += ns;
        }
    }

    /// Returns state and length so far of the idle periods that have not ended.
    fn open_periods(&self) -> Vec<(usize, i64)> {
        let open = |c: &&Cpu| matches!(c.act.kind, Kind::Idle | Kind::Exit);
        let so_far = |c: &Cpu| (c.period.state, (self.now - c.period.stamp).max(0));
        self.cpus.iter().filter(open).map(so_far).collect()
    }

    /// Returns the CPU time that the scheduler has charged a task with.
    fn cpu_time(&self, id: u32) -> i64 {
        let ledger = self.entities.ledger(crate::sched::TaskId(id));
        ledger.sum_exec
    }
}

impl Spent {
    fn since(&self, before: &Self) -> Self {
        Self {
            busy: self.busy - before.busy,
            overhead: self.overhead - before.overhead,
            idle: self.idle - before.idle,
        }
    }
}

impl Books {
    fn since(&self, before: &Self) -> Self {
        Self {
            ran: self.ran - before.ran,
            involuntary: self.involuntary - before.involuntary,
            voluntary: self.voluntary - before.voluntary,
            wakeups: self.wakeups - before.wakeups,
        }
    }
}
