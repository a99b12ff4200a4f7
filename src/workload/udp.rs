//! Datagrams over loopback: netperf UDP_STREAM and sockperf in its throughput mode.
//!
//! A sender sends as fast as it can, a receiver takes what comes. Loopback detaches the datagram from
//! the sender's buffer, so the sender never waits; a datagram that finds the receive queue full is
//! lost. The protocol work of both directions runs in the sender, which also pays for waking the
//! receiver whenever that has gone to sleep. So the sender's rate depends on how often the receiver
//! sleeps, and that on how long it takes to wake: a slower wake lets datagrams collect and makes the
//! sender faster.
//!
//! What is ignored: memory pressure, and the second copy of large datagrams in the cache. Sources: the
//! two tools; receive queue and its accounting as in Linux (212,992 B, true sizes of buffers).

use super::exchange::{settle, solid};
use super::{
    Amount, At, Better, Case, Channel, Full, Mean, Measure, Op, Parameter, Parameters, Paths, Plan,
    Report, Task, WorkloadEntry,
};
use crate::error::{Error, Result};
use crate::machine::Machine;

/// Default receive queue of a socket, bytes.
const RECEIVE_QUEUE: u64 = 212_992;

/// Largest datagram.
const LARGEST: i64 = 65_507;

const SIZES: [i64; 9] = [64, 128, 256, 1024, 2048, 3312, 4096, 8192, 16_384];
const SOCKPERF_SIZES: [i64; 5] = [14, 100, 300, 500, 850];

const NETPERF_COSTS: &[Parameter] = &[
    Parameter::us(
        "send",
        1.1,
        "sender: system call and protocol work of both sides, up to the wake-up",
        "1.413 us at 64 B, less tail and user 0.1 and 0.33 wake-ups of 0.6 us; fitted at the smallest size",
    ),
    Parameter::us("tail", 0.05, "sender: after the wake-up", "guess"),
    Parameter::us("user", 0.05, "sender: user mode between two datagrams", "guess"),
    Parameter::per_byte("copy", 0.08, "sender: copy of a byte", "slope of the table, 12.5 GB/s"),
    Parameter::us("receive", 0.5, "receiver: system call, once a datagram is there", "guess"),
    Parameter::per_byte(
        "receive_copy",
        0.08,
        "receiver: copy of a byte",
        "as the sender's; losses at 16 KB would need 0.115 to 0.12",
    ),
    Parameter::us("block", 0.3, "from finding nothing to leaving the CPU", "guess"),
];

const SOCKPERF_COSTS: &[Parameter] = &[
    Parameter::us(
        "send",
        1.2,
        "sender: system call and protocol work of both sides, up to the wake-up",
        "2.2 us on the Haswell at 3.1 GHz = 1.75 us at pace 1, less the rest",
    ),
    Parameter::us("tail", 0.05, "sender: after the wake-up", "guess"),
    Parameter::us("user", 0.25, "sender: two readings of the clock, log", "guess"),
    Parameter::per_byte("copy", 0.08, "sender: copy of a byte", "netperf-udp"),
    Parameter::us(
        "receive",
        0.55,
        "receiver: system call, once a datagram is there",
        "0.7 us at 3.1 GHz (guess)",
    ),
    Parameter::per_byte("receive_copy", 0.08, "receiver: copy of a byte", "as the sender's"),
    Parameter::us("block", 0.3, "from finding nothing to leaving the CPU", "guess"),
];

const REPORT: Report = Report {
    metric: "send",
    unit: "Mbit/s",
    better: Better::Higher,
    mean: Mean::Harmonic,
    decimals: 2,
    style: "mmtests",
    row: "bytes",
    prefix: "send-",
    measure: Measure::Volume { counter: "sent", scale: 8e-6 },
};

/// netperf UDP_STREAM; cases are bytes per datagram.
pub(super) const NETPERF: WorkloadEntry = WorkloadEntry {
    name: "netperf-udp",
    aliases: &["netperf-ipv4-udp"],
    summary: "one sender and one receiver of datagrams over loopback, as fast as the sender can",
    essay: "sender --datagrams--> receiver; the sender never waits. Its rate is its own path plus the \
            wake-ups it pays for, which depend on how fast the receiver wakes and falls asleep again.",
    report: REPORT,
    more: &[Report {
        metric: "recv",
        prefix: "recv-",
        measure: Measure::Volume { counter: "received", scale: 8e-6 },
        ..REPORT
    }],
    pattern: Some("{}"),
    parameters: NETPERF_COSTS,
    cases: |_| SIZES.map(Case::number).to_vec(),
    plan,
};

/// sockperf; its megabits have 2^20 bits.
pub(super) const SOCKPERF: WorkloadEntry = WorkloadEntry {
    name: "sockperf",
    aliases: &["sockperf-udp-throughput"],
    summary: "sockperf in its throughput mode over loopback UDP",
    essay: "As netperf-udp, with two readings of the clock and a log entry per datagram.",
    report: Report {
        metric: "throughput",
        prefix: "",
        measure: Measure::Volume { counter: "sent", scale: 8.0 / 1_048_576.0 },
        ..REPORT
    },
    more: &[],
    parameters: SOCKPERF_COSTS,
    cases: |_| SOCKPERF_SIZES.map(Case::number).to_vec(),
    ..NETPERF
};

/// Returns the datagrams that fit into a receive queue: each is charged a buffer of a power of two
/// that holds 64 bytes of headers, the data and 320 bytes of book-keeping, and 256 bytes for its head.
/// 64-byte datagrams are charged 768 bytes.
fn queue(size: i64) -> u32 {
    let buffer = (size as u64 + 64 + 320).next_power_of_two();
    (RECEIVE_QUEUE / (buffer + 256)).max(1) as u32
}

fn plan(machine: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    if !(1..=LARGEST).contains(&case.value) {
        let reason = format!("a datagram of {} bytes; 1 to {LARGEST} are possible", case.value);
        return Err(Error::invalid("case", reason));
    }
    // Bytes at ps each: at most 65,507 x 1e7, far from overflow.
    let copying = |name| -> Result<i64> { Ok(case.value * i64::from(p.ps(name)?) / 1000) };
    let with = |name, copy| -> Result<Op> {
        let work = p.amount(name)?;
        Ok(Op::Kernel(Amount { base: work.base + copying(copy)?, ..work }))
    };
    let paths = Paths { block: Some(p.ns("block")?), ..Paths::default() };
    let mut plan = Plan { paths, ..Plan::default() };
    let (sent, received) = (plan.counter("sent"), plan.counter("received"));
    let socket = At::Handle(0);
    let sender = [
        with("send", "copy")?,
        Op::Send { to: socket, reply: None },
        p.kernel("tail")?,
        Op::Count(sent),
        p.run("user")?,
    ];
    let receiver = [Op::Receive(socket), with("receive", "receive_copy")?, Op::Count(received)];
    let programs =
        [plan.program("sender", solid(sender)), plan.program("receiver", solid(receiver))];
    let socket = plan.channel(Channel {
        capacity: queue(case.value),
        full: Full::Drop,
        ..Channel::connection()
    });
    for program in programs {
        plan.task(Task { program, ..Task::default() }, &[socket]);
    }
    settle(&mut plan, machine);
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_receive_queue_holds_277_small_datagrams_and_few_large_ones() {
        assert_eq!(queue(64), 277);
        assert_eq!(queue(16_384), 6);
        assert!(SIZES.windows(2).all(|w| queue(w[0]) >= queue(w[1])));
    }
}
