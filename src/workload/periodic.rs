//! Periodic tasks: each wakes by timer at fixed times, computes a little, and sleeps again.
//!
//! Timers are the one wake-up that an idle governor can foresee, so this is the case in which a deep
//! state costs nothing but its exit latency. What is measured is how late the task runs: the time from
//! the due time, which the timer leaves as the note of the task, to its first instruction. Source: the
//! pattern of cyclictest, of audio players and of control loops.

use super::exchange::{MOST, solid};
use super::model::doubling;
use super::{
    Better, Case, Mean, Measure, Op, Parameter, Parameters, Plan, Report, Task, WorkloadEntry,
};
use crate::error::Result;
use crate::machine::Machine;

const COSTS: &[Parameter] = &[
    Parameter::us("period", 10_000.0, "time from one start to the next", "a choice"),
    Parameter::us("runtime", 500.0, "work in each period", "a choice: 5 % of a CPU"),
];

/// Periodic tasks.
pub(super) const PERIODIC: WorkloadEntry = WorkloadEntry {
    name: "periodic",
    aliases: &["cyclictest"],
    summary: "tasks that a timer wakes at fixed times to compute a little",
    essay: "No messages. Idle periods end by timer; the lateness of a task is the exit latency, and \
            queueing behind other tasks.",
    report: Report {
        metric: "latency p99",
        unit: "us",
        better: Better::Lower,
        mean: Mean::Arithmetic,
        decimals: 1,
        style: "mmtests",
        row: "tasks",
        prefix: "",
        measure: Measure::Quantile { latency: "late", q: 0.99, scale: 1e-3 },
    },
    more: &[Report {
        metric: "throughput",
        unit: "periods/s",
        better: Better::Higher,
        mean: Mean::Harmonic,
        decimals: 1,
        style: "mmtests",
        row: "tasks",
        prefix: "",
        measure: Measure::Rate { counter: "periods", scale: 1.0 },
    }],
    pattern: Some("{}"),
    parameters: COSTS,
    cases: |machine| doubling(machine.ncpus),
    plan,
};

fn plan(_: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let tasks = case.count("tasks", MOST)?;
    let period = p.ns("period")?;
    let mut plan = Plan { warmup: 100_000_000, window: 1_000_000_000, ..Plan::default() };
    let (periods, late) = (plan.counter("periods"), plan.latency("late"));
    let ops = [Op::Every(period), Op::Record(late), p.run("runtime")?, Op::Count(periods)];
    let program = plan.program("periodic", solid(ops));
    for group in 0..tasks {
        // Starts are spread over one period, as those of independent programs are.
        let start = period / i64::from(tasks) * i64::from(group);
        plan.task(Task { program, group, start, ..Task::default() }, &[]);
    }
    Ok(plan)
}
