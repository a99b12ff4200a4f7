//! Ping-pong: two tasks pass one message to and fro, so that exactly one of them has something to do.
//!
//! Every half turn is one wake-up and one sleep: nothing but the price of a system call, a wake-up, a
//! switch and, on two CPUs, the exit from an idle state. What is ignored: contents and buffers.
//! Source: `perf bench sched pipe`, pipetest, and the request/response mode of netperf.

use super::exchange::{MOST, ping_pong};
use super::model::doubling;
use super::{Better, Case, Mean, Measure, Parameter, Parameters, Plan, Report, WorkloadEntry};
use crate::error::Result;
use crate::machine::Machine;

pub(super) const PIPE_COSTS: &[Parameter] = &[
    Parameter::us(
        "send",
        0.13,
        "write, up to the wake-up of the reader",
        "write + read without sleep 0.37 us (measured); 0.20 of it writing, a third of that after the wake-up (guess)",
    ),
    Parameter::us("tail", 0.07, "write, after the wake-up", "0.20 - 0.13"),
    Parameter::us("user", 0.05, "user mode between two system calls", "guess"),
    Parameter::us("receive", 0.17, "read, once the message is there", "0.37 - 0.20"),
    Parameter::us(
        "block",
        0.3,
        "from finding the pipe empty to leaving the CPU",
        "1,500 instructions with the way back (guess after the TCP path, 1,800)",
    ),
];

pub(super) const TCP_COSTS: &[Parameter] = &[
    Parameter::us(
        "send",
        0.9,
        "send, up to the wake-up of the receiver",
        "request path 2.4 us of an 8.75 us tbench round trip, less wake-up and file server work",
    ),
    Parameter::us(
        "tail",
        0.6,
        "send, after the wake-up",
        "3.1 of 40 us from wake-up to the return to user mode on real kernels = 8 %",
    ),
    Parameter::us("user", 0.1, "user mode between two system calls", "guess"),
    Parameter::us("receive", 0.5, "receive, once the message is there", "guess"),
    Parameter::us("block", 0.4, "from finding nothing to leaving the CPU", "guess"),
];

const REPORT: Report = Report {
    metric: "latency",
    unit: "us",
    better: Better::Lower,
    mean: Mean::Arithmetic,
    decimals: 2,
    style: "mmtests",
    row: "pairs",
    prefix: "",
    measure: Measure::Turn { counter: "round trips", scale: 1e-3 },
};

/// Two tasks and two pipes.
pub(super) const PIPE: WorkloadEntry = WorkloadEntry {
    name: "pingpong",
    aliases: &["pingpong-pipe", "perfpipe"],
    summary: "pairs of tasks that pass a token through two pipes",
    essay: "client --pipe--> server --pipe--> client. Two wake-ups, two sleeps a round trip; the result \
            is the sum of write, wake-up, switch or idle exit, and read, twice.",
    report: REPORT,
    more: &[],
    pattern: Some("{}"),
    parameters: PIPE_COSTS,
    cases,
    plan,
};

/// The same over loopback TCP.
pub(super) const TCP: WorkloadEntry = WorkloadEntry {
    name: "pingpong-tcp",
    aliases: &[],
    summary: "pairs of tasks that pass one byte over a TCP connection",
    essay: "As pingpong; send and receive are longer, and a good part of send follows the wake-up.",
    parameters: TCP_COSTS,
    ..PIPE
};

fn cases(machine: &Machine) -> Vec<Case> {
    doubling(machine.ncpus)
}

fn plan(machine: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    ping_pong(machine, case.count("pairs", MOST)?, p)
}
