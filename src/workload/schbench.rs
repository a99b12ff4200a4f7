//! schbench, old version: how late does a woken worker run?
//!
//! A worker spins 30 ms on the clock, puts itself on the list of its message thread, wakes it and
//! waits. The message thread, once woken, sleeps 30 to 37.5 ms, notes the time once, and wakes all
//! workers of its list one after the other. The latency of a worker is the time from that common note
//! to its first instruction: with few workers the serial wake loop, with more runnable tasks than
//! CPUs the slice of whoever runs there.
//!
//! Any number of posts wakes the message thread once: its channel holds one message and drops the
//! others, and just before it notes the time it sends itself one and takes it, which empties the
//! channel. Source: schbench of 2016 to 2018.

use super::exchange::MOST;
use super::model::doubling;
use super::{
    Amount, At, Better, Case, Channel, Full, Mean, Measure, Op, Parameter, Parameters, Plan,
    Report, Spread, Task, WorkloadEntry,
};
use crate::error::Result;
use crate::machine::Machine;

const COSTS: &[Parameter] = &[
    Parameter::count(
        "message_threads",
        2.0,
        1.0,
        "message threads, each with its own workers",
        "schbench default; with one thread 256 workers do not queue, so two are confirmed",
    ),
    Parameter::us("spin", 30_000.0, "one turn of a worker, on the clock", "schbench default"),
    Parameter::us("sleep", 30_000.0, "shortest sleep of a message thread", "schbench default"),
    Parameter::us("jitter", 7_500.0, "most that is added to the sleep", "a quarter of the sleep"),
    Parameter::us(
        "each",
        1.0,
        "message thread: futex call per worker, besides its wake-up",
        "guess; 350 us at 128 workers = 2.7 us each, of which the wake-up across caches 1 to 1.4",
    ),
    Parameter::us("user", 1.0, "worker: from the end of the spin to the futex call", "guess"),
];

/// The benchmark of the 2023 report; cases are workers per message thread.
pub(super) const SCHBENCH: WorkloadEntry = WorkloadEntry {
    name: "schbench",
    aliases: &["schbench-old", "schbench (old)"],
    summary: "wake-up latency of workers that a message thread wakes all at once",
    essay: "worker --post--> message thread --release all--> workers; two message threads. The 99th \
            percentile is the end of a serial wake loop while there are idle CPUs, and the slice of the \
            scheduler when there are none.",
    report: Report {
        metric: "latency p99",
        unit: "us",
        better: Better::Lower,
        mean: Mean::Median,
        decimals: 0,
        style: "normalised",
        row: "#workers",
        prefix: "",
        measure: Measure::Quantile { latency: "wakeup", q: 0.99, scale: 1e-3 },
    },
    more: &[],
    pattern: Some("{}"),
    parameters: COSTS,
    cases,
    plan,
};

fn cases(machine: &Machine) -> Vec<Case> {
    doubling(2 * machine.ncpus)
}

fn plan(_: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let workers = case.count("workers", MOST)?;
    let mut plan = Plan { warmup: 500_000_000, window: 4_000_000_000, ..Plan::default() };
    let late = plan.latency("wakeup");
    let (own, board) = (At::Handle(0), At::Handle(1));
    let worker = [
        Op::Spin(Amount::ns(p.ns("spin")?)),
        p.run("user")?,
        Op::Post(board),
        Op::Receive(own),
        Op::Record(late),
    ];
    let worker = plan.program("worker", super::exchange::solid(worker));
    let messenger = [
        Op::Receive(own),
        Op::Sleep(between(p.ns("sleep")?, p.ns("jitter")?)),
        Op::Send { to: own, reply: None },
        Op::Receive(own),
        Op::Stamp,
        Op::Release { board, each: Amount::ns(p.paced("each")?) },
    ];
    let messenger = plan.program("message thread", messenger);
    for group in 0..p.number("message_threads")? {
        let wake = plan.channel(Channel {
            capacity: 1,
            full: Full::Drop,
            sync: false,
            ..Channel::connection()
        });
        plan.boards.push(wake);
        plan.task(Task { program: messenger, group, ..Task::default() }, &[wake, group]);
        for _ in 0..workers {
            let own = plan.channel(Channel { sync: false, ..Channel::connection() });
            plan.task(Task { program: worker, group, ..Task::default() }, &[own, group]);
        }
    }
    Ok(plan)
}

/// Returns an amount spread evenly from `least` to `least + range`.
fn between(least: i64, range: i64) -> Amount {
    let middle = least + range / 2;
    let permille = if middle > 0 { range * 500 / middle } else { 0 };
    Amount::ns(middle).spread(Spread::Uniform(permille.clamp(0, 1000) as u16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_thread_sleeps_30_to_37_and_a_half_ms() {
        let sleep = between(30_000_000, 7_500_000);
        let Spread::Uniform(permille) = sleep.spread else { panic!("not uniform") };
        let half = sleep.base * i64::from(permille) / 1000;
        assert!((sleep.base - half - 30_000_000).abs() < 50_000);
        assert!((sleep.base + half - 37_500_000).abs() < 50_000);
    }
}
