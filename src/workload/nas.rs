//! NAS parallel benchmarks, class C: one rank or thread per CPU, compute, meet, compute.
//!
//! MPI ranks spin when they wait, so no CPU is ever idle; OpenMP threads spin for a while and then
//! sleep. A kernel is described by the work between two meetings. What is ignored: communication as
//! such, and memory bandwidth. Source: NPB with Open MPI and libgomp; the times between meetings are
//! guesses of the right order.

use super::{
    Amount, At, Barrier, Better, Case, End, Mean, Measure, Op, Parameter, Parameters, Plan, Report,
    Spread, Task, WorkloadEntry,
};
use crate::error::{Error, Result};
use crate::machine::Machine;

/// Longest simulated run, ns.
const LIMIT: i64 = 600_000_000_000;

/// Kernels, and us between two meetings.
const KERNELS: [(&str, i64); 8] = [
    ("bt", 5000),
    ("cg", 500),
    ("ep", 200_000),
    ("ft", 20_000),
    ("is", 10_000),
    ("lu", 200),
    ("mg", 2000),
    ("sp", 3000),
];

const SPIN_FOR_EVER: f64 = 1e9;

const fn costs(spin: f64, why: &'static str) -> [Parameter; 3] {
    [
        Parameter::us("total", 400_000.0, "work of each rank in all", "short enough to simulate"),
        Parameter::us("spin", spin, "spinning before a waiter sleeps", why),
        Parameter::share("imbalance", 0.05, "spread of the work between two meetings", "guess"),
    ]
}

const MPI: &[Parameter] = &costs(SPIN_FOR_EVER, "Open MPI never sleeps");
const OMP: &[Parameter] = &costs(200.0, "libgomp, more threads than CPUs or not (guess)");

/// Over MPI.
pub(super) const NAS_MPI: WorkloadEntry = WorkloadEntry {
    name: "nas-mpi",
    aliases: &["nas-c-class-mpi"],
    summary: "NAS class C over MPI: ranks compute and meet, waiters spin",
    essay: "All ranks meet at a barrier after each step. Nobody sleeps: a scheduler can only disturb.",
    report: Report {
        metric: "time",
        unit: "s",
        better: Better::Lower,
        mean: Mean::Arithmetic,
        decimals: 3,
        style: "mmtests",
        row: "kernel",
        prefix: "",
        measure: Measure::Elapsed { scale: 1e-9 },
    },
    more: &[],
    pattern: None,
    parameters: MPI,
    cases: |_| KERNELS.map(|(name, us)| Case::new(name, us)).to_vec(),
    plan,
};

/// With OpenMP.
pub(super) const NAS_OMP: WorkloadEntry = WorkloadEntry {
    name: "nas-omp",
    aliases: &["nas-c-class-omp"],
    summary: "NAS class C with OpenMP: threads compute and meet, waiters spin and then sleep",
    essay: "As nas-mpi; waiters that sleep are woken one after the other by the last to come.",
    parameters: OMP,
    ..NAS_MPI
};

fn plan(machine: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let step = case.count("us between meetings", 1_000_000_000)?;
    let factor = p.get("work")? * p.get("pace")?;
    let ns = (f64::from(step) * 1e3 * factor).round() as i64;
    let steps = (p.ns("total")? / (i64::from(step) * 1000)).clamp(1, 1_000_000) as u32;
    if ns <= 0 {
        return Err(Error::invalid("workload.work", "leaves nothing to compute"));
    }
    let uneven = Spread::Uniform((p.get("imbalance")? * 1000.0).round() as u16);
    let mut plan = Plan { end: End::AllExit(LIMIT), ..Plan::default() };
    plan.barriers.push(Barrier { parties: machine.ncpus, spin: p.ns("spin")? });
    let ops = [
        Op::Repeat(steps),
        Op::Run(Amount::ns(ns).spread(uneven)),
        Op::Barrier(At::Number(0)),
        Op::Next,
        Op::Exit,
    ];
    let program = plan.program("rank", ops);
    for group in 0..machine.ncpus {
        plan.task(Task { program, group, ..Task::default() }, &[]);
    }
    Ok(plan)
}
