//! UnixBench: five small loops, run as one copy and as two copies per CPU.
//!
//! `dhry2reg` computes. `syscall` makes five trivial system calls, two of which count references of a
//! file that all copies share, so the whole machine takes turns on one cache line. `pipe` writes and
//! reads 512 bytes in a pipe of its own, without a switch. `spawn` forks, exits and waits; `execl`
//! replaces itself again and again; both take a lock of the whole machine for a while.
//! Copies do not talk to each other. What is ignored: memory for page tables, the file system.
//! Source: byte-unixbench; loop times from the single-copy rows, serial parts from the rows of 512
//! copies of the 2023 report.

use super::exchange::{MOST, settle, solid};
use super::{
    Amount, At, Better, Case, Mean, Measure, Mutex, Op, Parameter, Parameters, Plan, Report,
    SEGMENT, Task, WorkloadEntry,
};
use crate::error::{Error, Result};
use crate::machine::Machine;

/// Loops that are counted at once, where a loop is much shorter than a tick.
const BATCH: u32 = 100;

const SERIAL: &str = "time of the whole machine per loop at 512 copies";

const DHRY: &[Parameter] = &[Parameter::us(
    "loop",
    0.0242,
    "one loop, user mode",
    "41.4 million loops/s alone on the EPYC (no system call, so the pace of the kernel is not in it)",
)];
const SYSCALL: &[Parameter] = &[
    Parameter::us("loop", 0.326, "one loop of five calls", "2.92 M/s alone = 0.342 us"),
    Parameter::count(
        "lines",
        1.0,
        0.0,
        "writes of the shared line per loop",
        "7.61 M/s at 512 copies = 131 ns a loop for the whole machine; one owner change over 256 CPUs \
         takes some 150 ns",
    ),
];
const PIPE: &[Parameter] =
    &[Parameter::us("loop", 0.388, "write and read of 512 B", "2.57 M/s alone = 0.388 us")];
const SPAWN: &[Parameter] = &[
    Parameter::us("fork", 117.0, "parent: fork", "4429/s alone = 226 us, halved (guess)"),
    Parameter::us("exit", 91.0, "child: start and exit", "the rest, less switches and wake-up"),
    Parameter::us(
        "serial",
        9.4,
        SERIAL,
        "68,883/s at 512 copies = 14.5 us, less some 5 us for handing the lock to a sleeper",
    ),
];
const EXECL: &[Parameter] = &[
    Parameter::us(
        "loop",
        197.0,
        "one exec, besides the serial part",
        "3878/s alone = 258 us, less 60",
    ),
    Parameter::us(
        "serial",
        60.0,
        SERIAL,
        "11,639/s at 512 copies = 86 us, less some 26 us for waking a sleeper from a deep state",
    ),
];

const REPORT: Report = Report {
    metric: "throughput",
    unit: "loops/s",
    better: Better::Higher,
    mean: Mean::Harmonic,
    decimals: 2,
    style: "unixbench",
    row: "copies",
    prefix: "unixbench-dhry2reg-",
    measure: Measure::Rate { counter: "loops", scale: 1.0 },
};

const BATCHED: Measure = Measure::Rate { counter: "loops", scale: BATCH as f64 };

/// Integer loop.
pub(super) const DHRY2REG: WorkloadEntry = WorkloadEntry {
    name: "unixbench-dhry2reg",
    aliases: &["dhry2reg"],
    summary: "integer loop in user mode, no system calls",
    essay: "Independent copies. Speed of a thread beside a running sibling, and the clock.",
    report: Report { measure: BATCHED, ..REPORT },
    more: &[],
    pattern: Some("{}"),
    parameters: DHRY,
    cases,
    plan: |machine, case, p| {
        let count = Op::Count(0);
        let ns = p.get("loop")? * p.get("work")? * f64::from(BATCH) * 1e3;
        copies(machine, case, vec![Op::Run(Amount::ns(ns.round() as i64)), count])
    },
};

/// Five trivial system calls. The report prints an arithmetic mean here, and the sign of a time.
pub(super) const SYSCALLS: WorkloadEntry = WorkloadEntry {
    name: "unixbench-syscall",
    aliases: &["unixbench-syscall-mix"],
    summary: "dup and close of a shared file, getpid, getuid, umask",
    essay: "Copies share one file, whose reference count moves between all CPUs: with many copies the \
            whole machine runs at the speed of one cache line.",
    report: Report { mean: Mean::Arithmetic, prefix: "unixbench-syscall-", ..REPORT },
    parameters: SYSCALL,
    plan: syscall,
    ..DHRY2REG
};

/// Own pipe.
pub(super) const PIPES: WorkloadEntry = WorkloadEntry {
    name: "unixbench-pipe",
    aliases: &["pipe-throughput"],
    summary: "write and read of 512 bytes in a pipe of one's own",
    essay: "Independent copies, two system calls a loop, no wake-up and no switch.",
    report: Report { measure: BATCHED, prefix: "unixbench-pipe-", ..REPORT },
    parameters: PIPE,
    plan: |machine, case, p| {
        let ns = f64::from(BATCH) * p.get("loop")? * p.get("pace")? * p.get("work")? * 1e3;
        let half = Amount::ns((ns / 2.0).round() as i64).spread(SEGMENT);
        copies(
            machine,
            case,
            vec![Op::Kernel(half), Op::Kernel(half), Op::Count(0), Op::Run(Amount::ns(20))],
        )
    },
    ..DHRY2REG
};

/// Process creation.
pub(super) const SPAWNS: WorkloadEntry = WorkloadEntry {
    name: "unixbench-spawn",
    aliases: &["spawn"],
    summary: "fork, exit, wait",
    essay: "parent --fork--> child --exit--> parent. Placement of new tasks, the wake-up by the exit, and \
            a part that the machine does one at a time.",
    report: Report { prefix: "unixbench-spawn-", ..REPORT },
    parameters: SPAWN,
    plan: spawn,
    ..DHRY2REG
};

/// Program replacement.
pub(super) const EXECLS: WorkloadEntry = WorkloadEntry {
    name: "unixbench-execl",
    aliases: &["execl"],
    summary: "a process that replaces itself by the same program again and again",
    essay: "Independent copies that build page tables, and take turns on a file's lock.",
    report: Report { prefix: "unixbench-execl-", ..REPORT },
    parameters: EXECL,
    plan: execl,
    ..DHRY2REG
};

/// All ten rows of the published table; each row is a case of the workload it names. The value of a
/// case is the number of loops that are counted at once, its label ends with the copies.
pub(super) const ALL: WorkloadEntry = WorkloadEntry {
    name: "unixbench",
    aliases: &["Unixbench", "unixbenchd"],
    summary: "the ten rows of the published table: five loops, alone and two copies per CPU",
    essay: "Each row is a case of unixbench-dhry2reg, -syscall, -pipe, -spawn or -execl with defaults.",
    report: Report {
        row: "test",
        prefix: "",
        measure: Measure::Volume { counter: "loops", scale: 1.0 },
        ..REPORT
    },
    pattern: None,
    parameters: &[],
    cases: |machine| TESTS.into_iter().flat_map(|test| rows(test, machine)).collect(),
    plan: one_row,
    ..DHRY2REG
};

const TESTS: [&WorkloadEntry; 5] = [&DHRY2REG, &SYSCALLS, &PIPES, &SPAWNS, &EXECLS];

fn rows(test: &WorkloadEntry, machine: &Machine) -> Vec<Case> {
    let at_once = if test.report.measure == BATCHED { i64::from(BATCH) } else { 1 };
    let label = |c: Case| Case::new(format!("{}{}", test.report.prefix, c.label), at_once);
    (test.cases)(machine).into_iter().map(label).collect()
}

fn cases(machine: &Machine) -> Vec<Case> {
    [1, 2 * i64::from(machine.ncpus)].map(Case::number).to_vec()
}

/// Makes the plan of a row of the published table.
fn one_row(machine: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let found = TESTS.into_iter().find_map(|test| {
        let copies = case.label.strip_prefix(test.report.prefix)?.parse().ok()?;
        Some((test, Case::number(copies)))
    });
    let Some((test, copies)) = found else {
        return Err(Error::invalid("case", format!("{:?} is no row of this table", case.label)));
    };
    let mut own = Parameters::fitted(test, machine)?;
    own.set("pace", p.get("pace")?)?;
    own.set("work", p.get("work")?)?;
    (test.plan)(machine, &copies, &own)
}

/// Makes the plan of independent copies of a loop.
fn copies(machine: &Machine, case: &Case, ops: Vec<Op>) -> Result<Plan> {
    let copies = case.count("copies", MOST)?;
    let mut plan = Plan::default();
    plan.counter("loops");
    let program = plan.program("copy", solid(ops));
    for group in 0..copies {
        plan.task(Task { program, group, ..Task::default() }, &[]);
    }
    settle(&mut plan, machine);
    Ok(plan)
}

fn syscall(machine: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let lines = p.number("lines")?.min(100);
    let part = Amount::ns(p.paced("loop")? / (i64::from(lines) + 1)).spread(SEGMENT);
    let mut ops = vec![Op::Kernel(part)];
    for _ in 0..lines {
        ops.extend([Op::Line(At::Number(0)), Op::Kernel(part)]);
    }
    ops.extend([Op::Count(0), Op::Run(Amount::ns(10))]);
    let mut plan = copies(machine, case, ops)?;
    plan.lines = 1;
    Ok(plan)
}

/// A part that the whole machine does one at a time.
fn serial(p: &Parameters) -> Result<[Op; 3]> {
    Ok([Op::Lock(At::Number(0)), p.kernel("serial")?, Op::Unlock(At::Number(0))])
}

fn spawn(machine: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let mut ops = vec![p.kernel("fork")?];
    ops.extend(serial(p)?);
    ops.extend([Op::Fork(1), Op::Wait, Op::Count(0), Op::Run(Amount::ns(1000))]);
    let mut plan = copies(machine, case, ops)?;
    plan.locks.push(Mutex { spin: false });
    plan.program("child", solid([Op::Run(Amount::ns(1000)), p.kernel("exit")?, Op::Exit]));
    plan.spare = plan.tasks.len() as u32;
    Ok(plan)
}

fn execl(machine: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let mut ops = vec![p.kernel("loop")?];
    ops.extend(serial(p)?);
    ops.extend([Op::Count(0), Op::Run(Amount::ns(1000))]);
    let mut plan = copies(machine, case, ops)?;
    plan.locks.push(Mutex { spin: false });
    Ok(plan)
}
