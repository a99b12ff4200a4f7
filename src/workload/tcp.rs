//! netperf over TCP on loopback: one byte to and fro (TCP_RR), or a stream (TCP_STREAM).
//!
//! Request/response is ping-pong over as many connections as there are clients. The stream fills the
//! socket buffer, waits for room, and goes on when a good part has been taken; many messages pass
//! between two sleeps, so wake-ups hardly matter. What is ignored: segments, acknowledgements and
//! windows, all of them part of the price of a message. Source: netperf.

use super::exchange::{MOST, paths, ping_pong, settle, solid};
use super::model::doubling_of;
use super::pingpong::TCP_COSTS;
use super::{
    Amount, At, Better, Case, Channel, Full, Mean, Measure, Op, Parameter, Parameters, Plan,
    Report, Task, WorkloadEntry,
};
use crate::error::{Error, Result};
use crate::machine::Machine;

/// What one direction of a connection holds, bytes: the default send buffer grown by auto-tuning.
const BUFFER: i64 = 2_500_000;

/// Largest message of the stream.
const LARGEST: i64 = 1 << 24;

const SIZES: [i64; 9] = [64, 128, 256, 1024, 2048, 3312, 4096, 8192, 16_384];

const STREAM_COSTS: &[Parameter] = &[
    Parameter::us("send", 0.45, "sender: system call and its part of a segment", "guess"),
    Parameter::per_byte("copy", 0.08, "sender: copy of a byte", "netperf-udp slope"),
    Parameter::us("receive", 0.3, "receiver: its part of a system call", "guess"),
    Parameter::per_byte("receive_copy", 0.08, "receiver: copy of a byte", "netperf-udp slope"),
    Parameter::us("user", 0.05, "sender: user mode between two messages", "guess"),
    Parameter::us("block", 0.4, "from finding nothing to leaving the CPU", "guess"),
];

/// netperf TCP_RR; cases are clients.
pub(super) const RR: WorkloadEntry = WorkloadEntry {
    name: "netperf-tcp-rr",
    aliases: &["netperf"],
    summary: "one byte to and fro over each of N TCP connections",
    essay: "client --byte--> server --byte--> client, N pairs; two wake-ups a transaction. As tbench, \
            with constant and tiny messages.",
    report: Report {
        metric: "throughput",
        unit: "transactions/s",
        better: Better::Higher,
        mean: Mean::Arithmetic,
        decimals: 2,
        style: "normalised",
        row: "clients",
        prefix: "",
        measure: Measure::Rate { counter: "round trips", scale: 1.0 },
    },
    more: &[],
    pattern: Some("{}-clients"),
    parameters: TCP_COSTS,
    cases: |machine| doubling_of(2 * machine.ncpus, "clients"),
    plan: |machine, case, p| ping_pong(machine, case.count("clients", MOST)?, p),
};

/// netperf TCP_STREAM; cases are bytes per message.
pub(super) const STREAM: WorkloadEntry = WorkloadEntry {
    name: "netperf-tcp",
    aliases: &["netperf-tcp-stream", "netperf-ipv4-tcp"],
    summary: "a stream of messages over one TCP connection",
    essay: "sender --messages--> receiver, with a buffer between them. The slower side sets the rate; \
            the faster one sleeps now and then.",
    report: Report {
        metric: "throughput",
        unit: "Mbit/s",
        better: Better::Higher,
        mean: Mean::Harmonic,
        decimals: 2,
        style: "mmtests",
        row: "bytes",
        prefix: "",
        measure: Measure::Volume { counter: "received", scale: 8e-6 },
    },
    more: &[],
    pattern: Some("{}"),
    parameters: STREAM_COSTS,
    cases: |_| SIZES.map(Case::number).to_vec(),
    plan: stream,
};

fn stream(machine: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    if !(1..=LARGEST).contains(&case.value) {
        let reason = format!("a message of {} bytes; 1 to {LARGEST} are possible", case.value);
        return Err(Error::invalid("case", reason));
    }
    let with = |name, copy| -> Result<Op> {
        let work = p.amount(name)?;
        let copying = case.value * i64::from(p.ps(copy)?) / 1000;
        Ok(Op::Kernel(Amount { base: work.base + copying, ..work }))
    };
    let mut plan = Plan { paths: paths(p)?, ..Plan::default() };
    let received = plan.counter("received");
    let socket = At::Handle(0);
    let sender = [with("send", "copy")?, Op::Send { to: socket, reply: None }, p.run("user")?];
    let receiver = [Op::Receive(socket), with("receive", "receive_copy")?, Op::Count(received)];
    let programs =
        [plan.program("sender", solid(sender)), plan.program("receiver", solid(receiver))];
    let capacity = (BUFFER / case.value).max(2) as u32;
    // A sender that waits for room is woken when a third of the buffer is free.
    let drain = (capacity / 3).max(1);
    let socket =
        plan.channel(Channel { capacity, drain, full: Full::Block, ..Channel::connection() });
    for program in programs {
        plan.task(Task { program, ..Task::default() }, &[socket]);
    }
    settle(&mut plan, machine);
    Ok(plan)
}
