//! pipetest, or `perf bench sched pipe`: one pair of tasks, a token of four bytes, two pipes.
//!
//! Ping-pong with a single pair; kept as a workload of its own because reports name it.
//! Source: pipetest of the MMTests scheduler configuration.

use super::exchange::ping_pong;
use super::pingpong::{PIPE, PIPE_COSTS};
use super::{Better, Case, Mean, Measure, Report, WorkloadEntry};

/// pipetest.
pub(super) const PIPETEST: WorkloadEntry = WorkloadEntry {
    name: "pipetest",
    aliases: &["perf-bench-sched-pipe"],
    summary: "two tasks pass a token of four bytes through two pipes",
    essay: "As pingpong with one pair: us per round trip, two wake-ups and two sleeps each.",
    report: Report {
        metric: "time",
        unit: "us",
        better: Better::Lower,
        mean: Mean::Arithmetic,
        decimals: 2,
        style: "mmtests",
        row: "test",
        prefix: "",
        measure: Measure::PerOp { counter: "round trips", scale: 1e-3 },
    },
    pattern: None,
    parameters: PIPE_COSTS,
    cases: |_| vec![Case::new("Time", 1)],
    plan: |machine, _, p| ping_pong(machine, 1, p),
    ..PIPE
};
