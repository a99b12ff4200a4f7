//! lmbench: context switches between processes with data of their own, and latencies of local
//! communication.
//!
//! `lat_ctx` passes a token around a ring of processes through pipes; each sums an array before it
//! passes on. The reported time is that of a hop without the sum: switch, pipe, and the refill of what
//! the others have pushed out of the caches. The local latencies are round trips of two tasks over a
//! pipe, a Unix socket, UDP, TCP, remote procedure calls over both, and the set-up of a TCP connection.
//! What is ignored: page colouring, which moves the rows with 64 KB arrays by tens of percent.
//! Source: lmbench 2.

use super::exchange::{pair, paths, solid};
use super::{
    Amount, At, Better, Case, Channel, Mean, Measure, Op, Parameter, Parameters, Paths, Plan,
    Report, Task, WorkloadEntry,
};
use crate::error::{Error, Result};
use crate::machine::Machine;

const TOGETHER: Parameter = Parameter::share(
    "together",
    1.0,
    "1: all on CPU 0, where their parent ran; 0: anywhere",
    "with one runnable task at a time nothing moves them; the rows are those of one CPU",
);

/// Processes and KB of the seven columns.
const COLUMNS: [(u32, u32); 7] = [(2, 0), (2, 16), (2, 64), (8, 16), (8, 64), (16, 16), (16, 64)];

const RING_COSTS: &[Parameter] = &[
    Parameter::us(
        "pipe",
        0.05,
        "read and write of the token, as far as it is not subtracted",
        "lat_ctx measures the pipe alone and subtracts it",
    ),
    Parameter::us(
        "wake",
        0.35,
        "wake-up of the next process",
        "price of the machine; the hop of 1.2 us on one CPU is 0.37 us and this and a switch",
    ),
    Parameter::us("block", 0.0, "from finding the pipe empty to leaving the CPU", "in the 1.2 us"),
    TOGETHER,
];

const REPORT: Report = Report {
    metric: "latency",
    unit: "us",
    better: Better::Lower,
    mean: Mean::Arithmetic,
    decimals: 0,
    style: "lmbench",
    row: "ctxsw",
    prefix: "",
    measure: Measure::PerOp { counter: "hops", scale: 1e-3 },
};

/// Context switches.
pub(super) const CTXSW: WorkloadEntry = WorkloadEntry {
    name: "lmbench-ctxsw",
    aliases: &["lmbench-ctx", "lat_ctx"],
    summary: "a token around a ring of processes, each of which sums an array",
    essay: "process 0 --pipe--> 1 --pipe--> ... --> 0. One process is runnable at a time. Small rings show \
            the switch, large arrays the caches.",
    report: REPORT,
    more: &[],
    pattern: None,
    parameters: RING_COSTS,
    cases: |_| COLUMNS.map(|(n, kb)| Case::new(format!("{n}p/{kb}K"), i64::from(n))).to_vec(),
    plan: ring,
};

/// Work of one message in each direction: sender, receiver, us at pace 1.
const COMM_COSTS: &[Parameter] = &[
    Parameter::us("pipe", 0.37, "write and read of a pipe", "measured"),
    Parameter::us(
        "unix",
        1.17,
        "send and receive, Unix socket",
        "22 us a round trip against 14 for a pipe: 4 us more a message, at pace 5",
    ),
    Parameter::us("udp", 1.57, "send and receive, UDP", "26 against 14 us, as unix"),
    Parameter::us("tcp", 1.97, "send and receive, TCP", "30 against 14 us, as unix"),
    Parameter::us("rpc", 1.5, "each remote procedure call adds to a message", "guess: not printed"),
    Parameter::us(
        "connect",
        5.4,
        "connect and accept, besides one message each way",
        "57 us = 30 + 27, at pace 5",
    ),
    Parameter::us(
        "block",
        0.0,
        "from finding nothing to leaving the CPU",
        "in the hop of 1.2 us on one CPU, 0.37 us and wake-up and switch",
    ),
    TOGETHER,
];

/// Local latencies.
pub(super) const COMM: WorkloadEntry = WorkloadEntry {
    name: "lmbench-comm",
    aliases: &["lmbench-local"],
    summary: "round trips of two tasks over pipe, Unix socket, UDP, TCP, RPC, and TCP connection set-up",
    essay: "client <--> server, one message each way; only the price of a message differs.",
    report: Report {
        row: "",
        measure: Measure::PerOp { counter: "round trips", scale: 1e-3 },
        ..REPORT
    },
    more: &[],
    pattern: None,
    parameters: COMM_COSTS,
    cases: |_| {
        let names =
            ["2p/0K ctxsw", "Pipe", "AF UNIX", "UDP", "RPC/UDP", "TCP", "RPC/TCP", "TCP conn"];
        names.map(|name| Case::new(name, 1)).to_vec()
    },
    plan: comm,
};

/// Reads `8p/16K`.
fn column(label: &str) -> Option<(u32, u32)> {
    let (n, kb) = label.split_once("p/")?;
    Some((n.parse().ok()?, kb.strip_suffix('K')?.parse().ok()?))
}

/// Largest ring, and largest array in KB.
const LARGEST: (u32, u32) = (10_000, 1 << 20);

fn ring(_: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let Some((n, kb)) = column(&case.label) else {
        return Err(Error::invalid("case", format!("{:?} is not of the form 2p/16K", case.label)));
    };
    if n < 2 || n > LARGEST.0 || kb > LARGEST.1 {
        return Err(Error::invalid("case", format!("{n} processes with {kb} KB are out of range")));
    }
    let paths = Paths { wake: Some(p.ns("wake")?), ..paths(p)? };
    let mut plan = Plan { paths, ..Plan::default() };
    let hops = plan.counter("hops");
    let (from, to) = (At::Handle(0), At::Handle(1));
    let mut body = vec![Op::Receive(from)];
    body.extend((kb > 0).then_some(Op::Touch(kb * 1024)));
    body.extend([p.kernel("pipe")?, Op::Send { to, reply: None }, Op::Count(hops)]);
    body.push(Op::Run(Amount::ns(20)));
    // The first process puts the token into the ring, once.
    let mut first = vec![p.kernel("pipe")?, Op::Send { to, reply: None }, Op::Repeat(0)];
    first.extend(&body);
    first.push(Op::Next);
    let programs = [plan.program("first", solid(first)), plan.program("process", solid(body))];
    let pipes: Vec<u32> = (0..n).map(|_| plan.channel(Channel::connection())).collect();
    for i in 0..n {
        let program = programs[usize::from(i > 0)];
        let own = [pipes[i as usize], pipes[((i + 1) % n) as usize]];
        plan.task(Task { program, ..Task::default() }, &own);
    }
    gather(&mut plan, p)?;
    Ok(plan)
}

/// Confines all tasks to CPU 0 if they are to be together.
fn gather(plan: &mut Plan, p: &Parameters) -> Result<()> {
    if p.get("together")? >= 0.5 {
        plan.affinities.push(vec![0]);
        plan.tasks.iter_mut().for_each(|t| t.affinity = Some(0));
    }
    Ok(())
}

fn comm(machine: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let price = |names: &[&str]| -> Result<i64> { names.iter().map(|n| p.paced(n)).sum() };
    let message = match case.label.as_str() {
        "2p/0K ctxsw" => {
            // The column of the other table, repeated here; its hop is counted as a round trip.
            let own = Parameters::fitted(&CTXSW, machine)?;
            let mut plan = ring(machine, &Case::new("2p/0K", 2), &own)?;
            plan.counters = vec!["round trips".into()];
            return Ok(plan);
        }
        "Pipe" => price(&["pipe"])?,
        "AF UNIX" => price(&["unix"])?,
        "UDP" => price(&["udp"])?,
        "RPC/UDP" => price(&["udp", "rpc"])?,
        "TCP" => price(&["tcp"])?,
        "RPC/TCP" => price(&["tcp", "rpc"])?,
        "TCP conn" => price(&["tcp"])? + price(&["connect"])? / 2,
        other => return Err(Error::invalid("case", format!("{other:?} is no row of this table"))),
    };
    let mut plan = Plan { paths: paths(p)?, ..Plan::default() };
    let trips = plan.counter("round trips");
    // Of a message two thirds are the sender's, half a fifth of it after the wake-up (guess).
    let part =
        |permille: i64| Op::Kernel(Amount::ns(message * permille / 1000).spread(super::SEGMENT));
    let (send, tail, receive) = (part(550), part(100), part(350));
    let user = Op::Run(Amount::ns(20));
    let (request, answer) = (At::Handle(0), At::Handle(1));
    let out = |to| [send, Op::Send { to, reply: None }, tail, user];
    let back = |from| [Op::Receive(from), receive, user];
    let client = out(request).into_iter().chain(back(answer)).chain([Op::Count(trips)]);
    let client = plan.program("client", solid(client));
    let server = plan.program("server", solid(back(request).into_iter().chain(out(answer))));
    pair(&mut plan, client, server, 0);
    gather(&mut plan, p)?;
    Ok(plan)
}
