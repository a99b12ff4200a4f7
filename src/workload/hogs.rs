//! CPU hogs: tasks that only compute, in two groups of different nice values.
//!
//! Nothing sleeps and nothing is sent, so the shares are what the scheduler makes of the weights: at
//! nice 0 and 5 weights of 1024 and 335, a share of 75.3 % for the first group if every CPU has as
//! many of both. By default all hogs run on CPU 0, where that is exact.
//! Source: the usual first test of a fair scheduler.

use super::exchange::MOST;
use super::model::doubling;
use super::{
    Amount, Better, Case, Mean, Measure, Op, Parameter, Parameters, Plan, Report, Task,
    WorkloadEntry,
};
use crate::error::{Error, Result};
use crate::machine::Machine;

const COSTS: &[Parameter] = &[
    Parameter::us("chunk", 100.0, "work between two counts", "fine against a slice of 3 ms"),
    Parameter {
        name: "nice",
        default: 5.0,
        unit: "1",
        summary: "nice value of the second group; the first has 0",
        source: "weights 1024 and 335",
        least: -20.0,
        most: 19.0,
    },
    Parameter::share("pinned", 1.0, "1: all on CPU 0, 0: anywhere", "exact shares"),
];

/// Hogs of two nice values.
pub(super) const HOGS: WorkloadEntry = WorkloadEntry {
    name: "hogs",
    aliases: &["cpu-hogs"],
    summary: "tasks that only compute, half of them at another nice value",
    essay: "No messages. The share of the nice-0 tasks in all work done shows the weights.",
    report: Report {
        metric: "share",
        unit: "1",
        better: Better::Higher,
        mean: Mean::Arithmetic,
        decimals: 4,
        style: "mmtests",
        row: "hogs",
        prefix: "",
        measure: Measure::Share { counter: "nice 0", of: "all" },
    },
    more: &[Report {
        metric: "throughput",
        unit: "chunks/s",
        better: Better::Higher,
        mean: Mean::Harmonic,
        decimals: 0,
        style: "mmtests",
        row: "hogs",
        prefix: "",
        measure: Measure::Rate { counter: "all", scale: 1.0 },
    }],
    pattern: Some("{}"),
    parameters: COSTS,
    cases: |_| doubling(8),
    plan,
};

fn plan(_: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let each = case.count("hogs of each nice value", MOST)?;
    let chunk = Amount::ns(p.paced("chunk")?);
    if chunk.base == 0 {
        return Err(Error::invalid("workload.chunk", "0 us: a hog computes"));
    }
    let mut plan = Plan { warmup: 200_000_000, window: 2_000_000_000, ..Plan::default() };
    let (first, all) = (plan.counter("nice 0"), plan.counter("all"));
    let normal = plan.program("nice 0", [Op::Run(chunk), Op::Count(first), Op::Count(all)]);
    let other = plan.program("niced", [Op::Run(chunk), Op::Count(all)]);
    let affinity = (p.get("pinned")? >= 0.5).then_some(0);
    if affinity.is_some() {
        plan.affinities.push(vec![0]);
    }
    for group in 0..each {
        for (program, nice) in [(normal, 0), (other, p.get("nice")? as i8)] {
            plan.task(Task { program, nice, group, affinity, ..Task::default() }, &[]);
        }
    }
    Ok(plan)
}
