//! tbench 4: the network half of dbench, clients and servers on one machine over loopback TCP.
//!
//! A client sends one request of a recorded file-server session, its server reads it, works and
//! answers; one request is outstanding per connection. Each round trip takes two messages. The client
//! waits unless the answer is already there when it asks, which depends on who runs where: that is
//! the whole sensitivity of the benchmark. Work is split at the wake-up: what follows it (`tail`, then
//! `user`) is not in the way of the peer if the peer runs elsewhere.
//!
//! What is ignored: the four-byte length reads (one more system call each, in the segments), the
//! set-up part of the load file, and all disk work, as in the benchmark. Source: dbench 4.0 and its
//! `client.txt`, whose operations were counted.

use super::exchange::{MOST, pair, paths, settle, solid};
use super::model::doubling;
use super::{
    Amount, At, Better, Case, Mean, Measure, Op, Parameter, Parameters, Plan, Report, Row,
    WorkloadEntry,
};
use crate::error::Result;
use crate::machine::Machine;

/// Payload of reads and writes per round trip: 2488.06 MB in 458,342 round trips.
const PAYLOAD: f64 = 5428.4;

/// Emulated headers of a request and an answer: wire bytes per round trip are 2309 and 3302, payload
/// 0.0862 x 25,720 = 2217 and 0.2710 x 11,853 = 3212.
const HEADERS: [u32; 2] = [92, 90];

const COSTS: &[Parameter] = &[
    Parameter::us(
        "client_send",
        1.3,
        "client: send, up to the wake-up",
        "8.75 us a round trip at 1 client, less wake-ups 1.4, idle exits and switches 2.8, copies 0.9 \
         = 3.65 us, split 2.4 : 3.0 : 1.6 over client send, server, client receive",
    ),
    Parameter::us("client_receive", 0.65, "client: receive, once it is there", "as client_send"),
    Parameter::us("client_user", 0.2, "client: user mode before the send", "as client_send"),
    Parameter::us("server_receive", 0.55, "server: receive, once it is there", "as client_send"),
    Parameter::us("server_user", 0.25, "server: user mode before the answer", "as client_send"),
    Parameter::us("server_send", 0.8, "server: send, up to the wake-up", "as client_send"),
    Parameter::us(
        "tail",
        0.6,
        "send, after the wake-up, kernel mode",
        "wake-up to return to user mode 3.1 of 40 us on real kernels = 8 % of the round trip",
    ),
    Parameter::us(
        "user",
        0.2,
        "user mode between send and receive",
        "tail and this together 8-10 % of the round trip",
    ),
    Parameter::per_byte("copy", 0.08, "each copy of a byte", "netperf-udp slope, 12.5 GB/s"),
    Parameter::us(
        "block",
        0.4,
        "from finding nothing to leaving the CPU",
        "guess; real kernels: block and wake-up together 3.6 of 40 us",
    ),
];

const REPORT: Report = Report {
    metric: "throughput",
    unit: "MB/s",
    better: Better::Higher,
    mean: Mean::Harmonic,
    decimals: 2,
    style: "mmtests",
    row: "clients",
    prefix: "mb/sec-",
    measure: Measure::Rate { counter: "round trips", scale: PAYLOAD * 1e-6 },
};

/// The benchmark of the 2018 and 2023 reports.
pub(super) const TBENCH: WorkloadEntry = WorkloadEntry {
    name: "tbench",
    aliases: &["tbench4"],
    summary: "file-server requests over loopback TCP, one client and one server task per connection",
    essay: "client --request--> server --answer--> client, N pairs. 27.1 % of the requests read (mean \
            11,853 B), 8.6 % write (mean 25,720 B), the rest is small. Up to one pair per core the idle \
            exit of the peer sets the result, above that wake-ups, blocking and cold caches.",
    report: REPORT,
    more: &[],
    pattern: Some("{}"),
    parameters: COSTS,
    cases,
    plan,
};

/// The benchmark of 2002: another load file, whose bytes were counted otherwise.
pub(super) const OLD: WorkloadEntry = WorkloadEntry {
    name: "tbench-2002",
    aliases: &["tbench-32"],
    summary: "tbench of 2002 with 32 clients; fewer bytes per round trip",
    essay: "As tbench. 114.6 MB/s at 85,000 switches a second are 1349 B a switch; two switches a round \
            trip make 2698 B, which stands in for the load file of that time.",
    report: Report {
        decimals: 3,
        mean: Mean::Arithmetic,
        prefix: "",
        measure: Measure::Rate { counter: "round trips", scale: 2.0 * 1349e-6 },
        ..REPORT
    },
    cases: |_| vec![Case::new("32 clients", 32)],
    pattern: Some("{} clients"),
    ..TBENCH
};

fn cases(machine: &Machine) -> Vec<Case> {
    doubling(4 * machine.ncpus)
}

/// Requests by size: weights are counts in the load file; the last row of reads and of writes makes
/// the mean right.
fn mix() -> Vec<Row> {
    let row =
        |weight, sent, read| Row { weight, registers: [HEADERS[0] + sent, HEADERS[1] + read] };
    vec![
        // 124,199 reads: 67 % of 4096 B, 13 % of 61,440 B, the rest.
        row(83_213, 0, 4096),
        row(16_146, 0, 61_440),
        row(24_840, 0, 5608),
        // 39,502 writes: 32 % of 65,536 B, 25 % of 4096 B, 19 % of one byte, the rest.
        row(12_641, 65_536, 0),
        row(9876, 4096, 0),
        row(7505, 1, 0),
        row(9480, 15_516, 0),
        // 294,641 creates, queries, closes, unlinks ... that carry headers only.
        row(294_641, 0, 0),
    ]
}

fn plan(machine: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let clients = case.count("clients", MOST)?;
    let copy = p.ps("copy")?;
    let with = |name: &str, register: usize| -> Result<Op> {
        Ok(Op::Kernel(Amount::per(p.amount(name)?, register, copy)))
    };
    let (request, answer) = (At::Handle(0), At::Handle(1));
    let mut plan = Plan { paths: paths(p)?, tables: vec![mix()], ..Plan::default() };
    let trips = plan.counter("round trips");
    let client = [
        Op::Draw(0),
        p.run("client_user")?,
        with("client_send", 0)?,
        Op::Send { to: request, reply: None },
        p.kernel("tail")?,
        p.run("user")?,
        Op::Receive(answer),
        with("client_receive", 1)?,
        Op::Count(trips),
    ];
    let server = [
        Op::Receive(request),
        with("server_receive", 0)?,
        p.run("server_user")?,
        with("server_send", 1)?,
        Op::Send { to: answer, reply: None },
        p.kernel("tail")?,
        p.run("user")?,
    ];
    let client = plan.program("client", solid(client));
    let server = plan.program("server", solid(server));
    for group in 0..clients {
        pair(&mut plan, client, server, group);
    }
    settle(&mut plan, machine);
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_the_mix_are_those_counted_on_the_wire() {
        let rows = mix();
        let total: f64 = rows.iter().map(|r| f64::from(r.weight)).sum();
        let mean = |i: usize| {
            rows.iter().map(|r| f64::from(r.weight) * f64::from(r.registers[i])).sum::<f64>()
                / total
        };
        assert_eq!(total, 458_342.0);
        assert!((mean(0) - 2309.0).abs() < 5.0, "out {}", mean(0));
        assert!((mean(1) - 3302.0).abs() < 5.0, "back {}", mean(1));
        let headers = f64::from(HEADERS[0] + HEADERS[1]);
        assert!((mean(0) + mean(1) - headers - PAYLOAD).abs() < 5.0);
    }
}
