//! What a run needs, what comes out of it, and the run itself.

use super::cpu::Spent;
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

/// Carries out one run.
///
/// # Errors
/// [`Error::InvalidParameter`] for a plan that does not fit the machine or that comes to a standstill,
/// [`Error::Interrupted`] when the watch says so.
pub fn run(setup: &Setup<'_>, seed: &Seed, watch: &Watch) -> Result<Outcome> {
    let plan = setup.plan;
    if plan.tasks.len() + plan.spare as usize > MAX_TASKS {
        return Err(Error::invalid(
            "workload.tasks",
            format!("{} tasks; at most {MAX_TASKS} fit", plan.tasks.len()),
        ));
    }
    if !(setup.noise.is_finite() && (0.0..=100.0).contains(&setup.noise)) {
        return Err(Error::invalid("noise", format!("{} is outside 0 to 100", setup.noise)));
    }
    carry_out(&mut Sim::new(setup, seed)?, watch)
}

/// Carries out one run, and watches the laws that hold all the time.
///
/// For tests: it takes several times as long. The second value says what was broken.
#[doc(hidden)]
pub fn audit(setup: &Setup<'_>, seed: &Seed, watch: &Watch) -> (Result<Outcome>, Vec<String>) {
    let mut sim = match Sim::new(setup, seed) {
        Ok(sim) => sim,
        Err(error) => return (Err(error), Vec::new()),
    };
    sim.audit = Some(Box::default());
    let outcome = carry_out(&mut sim, watch);
    (outcome, sim.look_at_rest())
}

fn carry_out(sim: &mut Sim<'_>, watch: &Watch) -> Result<Outcome> {
    let plan = sim.plan;
    let (warmup, end) = match plan.end {
        End::Window => (plan.warmup, plan.warmup + plan.window),
        End::AllExit(limit) => (0, limit),
    };
    sim.run_until(warmup, watch)?;
    let before = sim.books();
    let under_way = sim.messages();
    sim.metrics.reset();
    if let Some(recorder) = &mut sim.recorder {
        recorder.records.clear();
    }
    sim.run_until(warmup + (end - warmup) / 2, watch)?;
    let first_half = sim.metrics.counters.clone();
    sim.run_until(end, watch)?;
    let after = sim.books();
    let finished = sim.is_over();
    Ok(Outcome {
        first_half,
        spent: after.0.iter().zip(&before.0).map(|(a, b)| a.since(b)).collect(),
        tasks: after.1.iter().zip(&before.1).map(|(a, b)| a.since(b)).collect(),
        elapsed: (sim.now - warmup).max(0),
        finished,
        events: sim.events,
        recorder: sim.recorder.take(),
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
