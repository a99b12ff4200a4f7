//! dbench 4 on a file system, asynchronous mode: what a file server does to its disk.
//!
//! Each client goes through a recorded session of 3573 operations again and again. Most of them end in
//! the page cache; 43 are real fsyncs, even in asynchronous mode. A fsync wakes a worker of the log,
//! which commits, submits a request and sleeps until the interrupt; then the client is woken. So every
//! fsync takes three or four wake-ups of CPUs that are otherwise idle, all of them with a task that
//! waits for IO. Reported is the time of one pass.
//!
//! What is ignored: throttling of writers, layout on disk, the journal's size. Limits: rows from 16
//! clients on collapse on the real machine (570 ms at 32, 3185 ms at 64 clients) for these reasons, here
//! they only queue. Source: dbench 4.1alpha as patched by MMTests; the load file's operations were
//! counted, fsyncs checked by system-call trace.

use super::exchange::{MOST, solid};
use super::{
    Amount, At, Better, Case, Channel, Device, Mean, Measure, Mutex, Op, Parameter, Parameters,
    Plan, Report, Spread, Task, WorkloadEntry,
};
use crate::error::Result;
use crate::machine::Machine;

/// Fsyncs of a pass.
const FSYNCS: u32 = 43;

/// Operations between two fsyncs: 3573 / 43.
const BETWEEN: u32 = 83;

/// Operations that take the log lock once: creates, unlinks, renames and half of the writes are about
/// a tenth of them.
const PER_LOG: u32 = 10;

/// What a synchronous write costs, shared with sqlite.
pub(super) const LOG_COSTS: [Parameter; 5] = [
    Parameter::us("log", 2.0, "reservation in the log, under its lock", "guess"),
    Parameter::us("fsync", 5.0, "client: fsync up to the wake-up of the worker", "guess"),
    Parameter::us("commit", 15.0, "worker: commit and submission", "guess"),
    Parameter::us(
        "device",
        300.0,
        "mean service time of the device",
        "37.15 ms a pass at 1 client: 43 fsyncs of 0.36 ms and 3573 operations of 6 us",
    ),
    Parameter::count(
        "parallel",
        2.0,
        1.0,
        "requests that device and log serve at a time",
        "5900 fsync/s at 16 clients x (0.30 + 0.03) ms",
    ),
];

const COSTS: &[Parameter] = &[
    Parameter::us(
        "operation",
        4.6,
        "one operation in the page cache",
        "6 us on the Haswell at 3.1 GHz; 19.12 MB a pass are 5.4 KB each",
    ),
    Parameter::us("user", 0.2, "user mode between two operations", "guess"),
    LOG_COSTS[0],
    LOG_COSTS[1],
    LOG_COSTS[2],
    LOG_COSTS[3],
    LOG_COSTS[4],
];

/// The benchmark of the 2018 report; cases are clients.
pub(super) const DBENCH: WorkloadEntry = WorkloadEntry {
    name: "dbench",
    aliases: &["dbench4"],
    summary: "file-server sessions on a file system: page cache, log and 43 fsyncs a pass",
    essay: "client --fsync--> log worker --request--> device --interrupt--> log worker --done--> client; 43 \
            times in 3573 operations. With one client the machine is idle during every fsync, so exit \
            latencies of deep states add up; with many the device sets the time.",
    report: Report {
        metric: "latency",
        unit: "ms",
        better: Better::Lower,
        mean: Mean::Arithmetic,
        decimals: 2,
        style: "mmtests",
        row: "clients",
        prefix: "",
        measure: Measure::Turn { counter: "passes", scale: 1e-6 },
    },
    more: &[],
    pattern: Some("{}"),
    parameters: COSTS,
    cases,
    plan,
};

/// Doubles while below the number of CPUs, then times eight, up to eight times as many.
fn cases(machine: &Machine) -> Vec<Case> {
    let ncpus = i64::from(machine.ncpus);
    let next = |&n: &i64| Some(if n < ncpus { 2 * n } else { 8 * n }).filter(|&n| n <= 8 * ncpus);
    std::iter::successors(Some(1), next).map(Case::number).collect()
}

/// Adds device, workers and their queue; returns the queue.
pub(super) fn log(plan: &mut Plan, p: &Parameters) -> Result<u32> {
    let service = Amount::ns(p.ns("device")?.max(1)).spread(Spread::Exponential);
    let parallel = p.number("parallel")?.min(1000);
    plan.devices.push(Device { service, parallel });
    let queue = plan.channel(Channel { sync: false, ..Channel::connection() });
    let worker = [
        Op::Receive(At::Number(queue)),
        p.kernel("commit")?,
        Op::Io(At::Number(0)),
        Op::Send { to: At::Caller, reply: None },
    ];
    let worker = plan.program("log worker", solid(worker));
    for _ in 0..parallel {
        plan.task(Task { program: worker, ..Task::default() }, &[]);
    }
    Ok(queue)
}

/// One fsync of a task whose handle 0 is a channel of its own.
pub(super) fn fsync(p: &Parameters, queue: u32) -> Result<[Op; 3]> {
    let own = At::Handle(0);
    Ok([p.kernel("fsync")?, Op::Send { to: At::Number(queue), reply: Some(own) }, Op::Receive(own)])
}

fn plan(_: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let clients = case.count("clients", MOST)?;
    let mut plan = Plan { warmup: 200_000_000, window: 2_000_000_000, ..Plan::default() };
    plan.locks.push(Mutex { spin: false });
    let passes = plan.counter("passes");
    let queue = log(&mut plan, p)?;
    let lock = At::Number(0);
    let mut ops = vec![Op::Repeat(FSYNCS), Op::Repeat(BETWEEN / PER_LOG)];
    ops.extend([Op::Lock(lock), p.kernel("log")?, Op::Unlock(lock), Op::Repeat(PER_LOG)]);
    ops.extend([p.kernel("operation")?, p.run("user")?, Op::Next, Op::Next]);
    ops.extend(fsync(p, queue)?);
    ops.extend([Op::Next, Op::Count(passes)]);
    let client = plan.program("client", solid(ops));
    for group in 0..clients {
        let own = plan.channel(Channel { sync: false, ..Channel::connection() });
        plan.task(Task { program: client, group, ..Task::default() }, &[own]);
    }
    // A pass takes tens of ms and, with many clients, much longer; some passes of each are counted.
    plan.window += i64::from(clients.min(512)) * 50_000_000;
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_double_below_the_number_of_cpus_and_then_jump() {
        let values = |name| -> Vec<i64> {
            let machine = crate::machine::presets::machine(name).unwrap();
            cases(&machine).iter().map(|c| c.value).collect()
        };
        assert_eq!(values("48x-HASWELL-NUMA"), [1, 2, 4, 8, 16, 32, 64]);
        assert_eq!(values("8x-SKYLAKE-UMA"), [1, 2, 4, 8, 64]);
    }
}
