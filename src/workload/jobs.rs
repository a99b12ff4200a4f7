//! Streams of short processes: kernbench and the git test suite.
//!
//! `make -j N` keeps N compilers running, each of which starts, computes for tens to thousands of
//! milliseconds, and exits; it hardly ever blocks. The git tests are shell scripts: one process after
//! the other, each of a few milliseconds, with the parent waiting. Placement of new tasks, the wake-up
//! by an exit, and short idle gaps are what a kernel can change here. What is ignored: files, which are
//! in the page cache. Source: the MMTests configurations of 2018.

use super::exchange::solid;
use super::model::doubling;
use super::{
    Amount, Better, Case, Mean, Measure, Op, Parameter, Parameters, Plan, Report, Spread, Task,
    WorkloadEntry,
};
use crate::error::Result;
use crate::machine::Machine;

/// Objects of a kernel build (guess): the time scales with it, comparisons do not.
const OBJECTS: f64 = 2500.0;

/// Processes of the git test suite (guess): the same.
const PROCESSES: f64 = 300_000.0;

/// Most jobs at a time.
const MOST_JOBS: u32 = 100_000;

const KERN_COSTS: &[Parameter] = &[
    Parameter::us("make", 150.0, "make: between two jobs", "guess"),
    Parameter::us("fork", 200.0, "make: fork", "guess after unixbench spawn"),
    Parameter::us("start", 800.0, "job: exec", "guess after unixbench execl"),
    Parameter::us("job", 150_000.0, "job: median time of a compiler", "50 to 2000 ms (guess)"),
    Parameter::us("exit", 300.0, "job: exit", "guess"),
];

const GIT_COSTS: &[Parameter] = &[
    Parameter::us("make", 40.0, "shell: between two processes", "guess"),
    Parameter::us("fork", 120.0, "shell: fork", "guess after unixbench spawn"),
    Parameter::us("start", 350.0, "process: exec", "guess after unixbench execl"),
    Parameter::us("job", 1200.0, "process: median time", "0.5 to 5 ms (guess)"),
    Parameter::us("exit", 150.0, "process: exit", "guess"),
];

const REPORT: Report = Report {
    metric: "time",
    unit: "s",
    better: Better::Lower,
    mean: Mean::Arithmetic,
    decimals: 2,
    style: "mmtests",
    row: "jobs",
    prefix: "elsp-",
    measure: Measure::PerOp { counter: "jobs", scale: OBJECTS * 1e-9 },
};

/// Kernel build; cases are jobs at a time.
pub(super) const KERNBENCH: WorkloadEntry = WorkloadEntry {
    name: "kernbench",
    aliases: &["kernel-compilation"],
    summary: "make -j N of a kernel: compilers that compute and exit",
    essay: "make --fork--> job --exit--> make, N at a time. CPU-bound; more jobs than CPUs only queue.",
    report: REPORT,
    more: &[],
    pattern: Some("{}"),
    parameters: KERN_COSTS,
    cases: |machine| doubling(2 * machine.ncpus).split_off(1),
    plan: |_, case, p| jobs(case.count("jobs", MOST_JOBS)?, p, (1_000_000_000, 4_000_000_000)),
};

/// git unit tests.
pub(super) const GITSOURCE: WorkloadEntry = WorkloadEntry {
    name: "gitsource",
    aliases: &["git-tests"],
    summary: "shell scripts that start one short process after the other",
    essay: "shell --fork--> process --exit--> shell, one at a time. Short idle gaps and the clock matter.",
    report: Report {
        row: "test",
        prefix: "",
        measure: Measure::PerOp { counter: "jobs", scale: PROCESSES * 1e-9 },
        ..REPORT
    },
    pattern: None,
    parameters: GIT_COSTS,
    cases: |_: &Machine| vec![Case::new("Elapsed", 1)],
    plan: |_, _, p| jobs(1, p, (50_000_000, 2_000_000_000)),
    ..KERNBENCH
};

/// One parent that keeps so many children running.
fn jobs(at_a_time: u32, p: &Parameters, (warmup, window): (i64, i64)) -> Result<Plan> {
    let mut plan = Plan { warmup, window, spare: at_a_time + 1, ..Plan::default() };
    let done = plan.counter("jobs");
    let median = Amount::ns(p.paced("job")?);
    let child = 1;
    let parent = [
        Op::Repeat(at_a_time),
        p.kernel("fork")?,
        Op::Fork(child),
        Op::Next,
        Op::Repeat(0),
        Op::Wait,
        Op::Count(done),
        p.run("make")?,
        p.kernel("fork")?,
        Op::Fork(child),
        Op::Next,
    ];
    let parent = plan.program("parent", solid(parent));
    let job = Op::Run(median.spread(Spread::LogNormal(800)));
    plan.program("job", solid([p.kernel("start")?, job, p.kernel("exit")?, Op::Exit]));
    plan.task(Task { program: parent, ..Task::default() }, &[]);
    Ok(plan)
}
