//! STREAM: copy, scale, add and triad over arrays far larger than the caches.
//!
//! One thread per last-level cache, all of which start and end each pass together. Nothing is sent
//! but barriers; the result is the best pass, and what varies is placement: two threads on one cache
//! share its link to memory. With 100 passes instead of 10 the best is over more tries, so it varies
//! less. What is ignored: pages on the wrong node. Source: STREAM with OpenMP.

use super::{
    At, Barrier, Better, Case, End, Mean, Measure, Op, Parameter, Parameters, Plan, Report, Task,
    WorkloadEntry,
};
use crate::error::Result;
use crate::machine::Machine;

/// Bytes that are asked for at once; bandwidth is shared anew for each piece.
const PIECE: u64 = 1 << 20;

/// Longest simulated run, ns.
const LIMIT: i64 = 600_000_000_000;

/// Kernels, and the arrays each reads and writes.
const KERNELS: [(&str, i64); 4] = [("Copy", 2), ("Scale", 2), ("Add", 3), ("Triad", 3)];

/// Megabytes of each array.
const ARRAY_MB: i64 = 512;

const TEN: &[Parameter] = &[
    Parameter::count("passes", 10.0, 1.0, "repetitions, of which the best counts", "stream-10"),
    THREADS,
    OVERHEAD,
];
const HUNDRED: &[Parameter] = &[
    Parameter::count("passes", 100.0, 1.0, "repetitions, of which the best counts", "stream-100"),
    THREADS,
    OVERHEAD,
];
const THREADS: Parameter = Parameter::count(
    "threads",
    0.0,
    0.0,
    "threads; 0: one for each last-level cache",
    "MMTests stream-omp-llcs; 16 on the EPYC (guess)",
);
const OVERHEAD: Parameter =
    Parameter::us("fork_join", 5.0, "each thread, before a pass: OpenMP", "guess");

const REPORT: Report = Report {
    metric: "bandwidth",
    unit: "MB/s",
    better: Better::Higher,
    mean: Mean::Harmonic,
    decimals: 2,
    style: "normalised",
    row: "Test",
    prefix: "",
    measure: Measure::Best { latency: "pass", scale: 1e3 },
};

/// Ten passes.
pub(super) const STREAM_10: WorkloadEntry = WorkloadEntry {
    name: "stream-10",
    aliases: &["stream"],
    summary: "STREAM with one thread per last-level cache, best of 10 passes",
    essay: "Threads meet at a barrier, move their part of the arrays, meet again. Bandwidth is the sum \
            over caches of what their links allow, so placement by the scheduler is all there is.",
    report: REPORT,
    more: &[],
    pattern: None,
    parameters: TEN,
    cases: |_| {
        KERNELS.map(|(name, arrays)| Case::new(name, arrays * ARRAY_MB * 1_000_000)).to_vec()
    },
    plan,
};

/// A hundred passes.
pub(super) const STREAM_100: WorkloadEntry = WorkloadEntry {
    name: "stream-100",
    aliases: &[],
    summary: "STREAM with one thread per last-level cache, best of 100 passes",
    parameters: HUNDRED,
    ..STREAM_10
};

fn plan(machine: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let asked = p.number("threads")?;
    let caches = machine.topology.nllcs() as u32;
    let threads = if asked == 0 { caches } else { asked.min(super::exchange::MOST) };
    let bytes = case.count("bytes", u32::MAX)?;
    let part = u64::from(bytes) / u64::from(threads);
    let mut plan = Plan { end: End::AllExit(LIMIT), ..Plan::default() };
    plan.barriers.push(Barrier { parties: threads, spin: 200_000 });
    let pass = plan.latency("pass");
    let passes = p.number("passes")?;
    let meet = Op::Barrier(At::Number(0));
    let body = |first: bool| {
        let mut ops = vec![Op::Repeat(passes), meet];
        ops.extend(first.then_some(Op::Stamp));
        ops.push(Op::Run(super::Amount::ns(p.paced("fork_join")?)));
        ops.push(Op::Repeat((part / PIECE).max(1) as u32));
        ops.extend([Op::Memory(PIECE.min(part).max(1)), Op::Next, meet]);
        ops.extend(first.then_some(Op::Record(pass)));
        ops.extend([Op::Next, Op::Exit]);
        Ok::<_, crate::error::Error>(super::exchange::solid(ops))
    };
    let programs = [plan.program("thread 0", body(true)?), plan.program("thread", body(false)?)];
    for i in 0..threads {
        let program = programs[usize::from(i > 0)];
        plan.task(Task { program, group: i, ..Task::default() }, &[]);
    }
    Ok(plan)
}
