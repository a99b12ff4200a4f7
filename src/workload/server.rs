//! Databases and web servers: pgbench, YCSB on MongoDB, siege.
//!
//! Clients ask, a server task answers; transactions are long against a wake-up (30 to 500 us), so
//! governors and wake-up paths matter little and placement more. Cheap models with round prices; what
//! is ignored: locks on rows, buffer pools, garbage collection. Sources: the MMTests configurations of
//! 2018 for pgbench and siege, the single figure of the 2023 report for YCSB.

use super::exchange::{MOST, settle, solid};
use super::model::doubling;
use super::{
    Amount, At, Better, Case, Channel, Device, Full, Mean, Measure, Op, Parameter, Parameters,
    Plan, Report, Spread, Task, WorkloadEntry,
};
use crate::error::Result;
use crate::machine::Machine;

const REPORT: Report = Report {
    metric: "throughput",
    unit: "transactions/s",
    better: Better::Higher,
    mean: Mean::Harmonic,
    decimals: 2,
    style: "mmtests",
    row: "clients",
    prefix: "",
    measure: Measure::Rate { counter: "transactions", scale: 1.0 },
};

const SEND: Parameter = Parameter::us("send", 0.6, "send, up to the wake-up, Unix socket", "guess");
const TAIL: Parameter = Parameter::us("tail", 0.2, "send, after the wake-up", "guess");
const RECEIVE: Parameter = Parameter::us("receive", 0.4, "receive, once it is there", "guess");
const CLIENT: Parameter = Parameter::us("client", 8.0, "client: work per statement", "guess");

const RO_COSTS: &[Parameter] = &[
    Parameter::us("statement", 35.0, "backend: one statement", "30 to 60 us a transaction (guess)"),
    Parameter::count("statements", 1.0, 1.0, "statements of a transaction", "one select"),
    CLIENT,
    SEND,
    TAIL,
    RECEIVE,
];
const RW_COSTS: &[Parameter] = &[
    Parameter::us("statement", 30.0, "backend: one statement", "30 to 60 us (guess)"),
    Parameter::count("statements", 6.0, 1.0, "statements of a transaction", "five, and the commit"),
    Parameter::us(
        "device",
        250.0,
        "mean time of one flush of the log",
        "50 to 300 us, guess for SSDs",
    ),
    CLIENT,
    SEND,
    TAIL,
    RECEIVE,
];

/// pgbench, select only.
pub(super) const PGBENCH_RO: WorkloadEntry = WorkloadEntry {
    name: "pgbench-ro",
    aliases: &["pgbench-timed-ro-small"],
    summary: "pgbench, read only: clients and backends over Unix sockets",
    essay: "client --statement--> backend --row--> client, N pairs; two wake-ups a transaction of some 50 us.",
    report: REPORT,
    more: &[],
    pattern: Some("{}"),
    parameters: RO_COSTS,
    cases: |machine| doubling(2 * machine.ncpus),
    plan: |machine, case, p| pgbench(machine, case, p, false),
};

/// pgbench with writes; all commits that wait share one flush of the log.
pub(super) const PGBENCH_RW: WorkloadEntry = WorkloadEntry {
    name: "pgbench-rw",
    aliases: &["pgbench-timed-rw-small"],
    summary: "pgbench, read and write: six statements, and a commit that waits for the log",
    essay: "As pgbench-ro; at the commit a backend posts on a board and sleeps, a log writer flushes and \
            releases all that are on the board. Limit: those that post during a flush are released by it.",
    parameters: RW_COSTS,
    cases: |machine| doubling(machine.ncpus),
    plan: |machine, case, p| pgbench(machine, case, p, true),
    ..PGBENCH_RO
};

/// A message over a socket: kernel work, wake-up, kernel work.
fn send(p: &Parameters, to: At, reply: Option<At>) -> Result<[Op; 3]> {
    Ok([p.kernel("send")?, Op::Send { to, reply }, p.kernel("tail")?])
}

/// Work that varies as that of servers does.
fn service(p: &Parameters, name: &str) -> Result<Op> {
    Ok(Op::Run(Amount::ns(p.paced(name)?).spread(Spread::LogNormal(400))))
}

fn pgbench(machine: &Machine, case: &Case, p: &Parameters, writes: bool) -> Result<Plan> {
    let clients = case.count("clients", MOST)?;
    let mut plan = Plan::default();
    let done = plan.counter("transactions");
    let (own, request, answer) = (At::Handle(0), At::Handle(1), At::Handle(2));
    let statements = p.number("statements")?;
    let mut client = vec![Op::Repeat(statements), p.run("client")?];
    client.extend(send(p, request, None)?);
    client.extend([Op::Receive(answer), p.kernel("receive")?, Op::Next, Op::Count(done)]);
    let mut backend = vec![Op::Repeat(statements), Op::Receive(request), p.kernel("receive")?];
    backend.push(service(p, "statement")?);
    let reply = send(p, answer, None)?;
    if writes {
        // All statements but the last are answered at once, the last after the commit.
        let reads = [Op::Next, Op::Post(At::Number(0)), Op::Receive(own)];
        backend.splice(0..1, [Op::Repeat(statements.max(2) - 1)]);
        backend.extend(reply);
        let again = backend[1..].to_vec();
        backend.push(reads[0]);
        backend.extend_from_slice(&again[..again.len() - reply.len()]);
        backend.extend([reads[1], reads[2]]);
        backend.extend(reply);
        client[0] = Op::Repeat(statements.max(2));
        log_writer(&mut plan, p)?;
    } else {
        backend.extend(reply);
        backend.push(Op::Next);
    }
    let client = plan.program("client", solid(client));
    let backend = plan.program("backend", solid(backend));
    for group in 0..clients {
        let channels: Vec<u32> = (0..3).map(|_| plan.channel(Channel::connection())).collect();
        for program in [client, backend] {
            plan.task(Task { program, group, ..Task::default() }, &channels);
        }
    }
    settle(&mut plan, machine);
    Ok(plan)
}

/// Adds the task that flushes the log for all commits on board 0.
fn log_writer(plan: &mut Plan, p: &Parameters) -> Result<()> {
    let service = Amount::ns(p.ns("device")?.max(1)).spread(Spread::LogNormal(400));
    plan.devices.push(Device { service, parallel: 1 });
    let wake = plan.channel(Channel {
        capacity: 1,
        full: Full::Drop,
        sync: false,
        ..Channel::connection()
    });
    plan.boards.push(wake);
    let wake = At::Number(wake);
    let ops = [
        Op::Receive(wake),
        Op::Kernel(Amount::ns(10_000)),
        Op::Io(At::Number(0)),
        // Sent to itself and taken: the channel is empty for certain, whoever posted meanwhile.
        Op::Send { to: wake, reply: None },
        Op::Receive(wake),
        Op::Release { board: At::Number(0), each: Amount::ns(300) },
    ];
    let program = plan.program("log writer", ops);
    plan.task(Task { program, ..Task::default() }, &[]);
    Ok(())
}

const YCSB_COSTS: &[Parameter] = &[
    Parameter::count("clients", 0.0, 0.0, "client threads; 0: one per CPU", "guess"),
    Parameter::us(
        "server",
        350.0,
        "server thread: one operation",
        "301,757 operations/s on 256 threads = 848 us each with all CPUs busy, x 0.6 beside a busy \
         sibling = 509 us: 350 and 150, the rest for messages (the split is a guess)",
    ),
    Parameter::us("client", 150.0, "client thread: one operation", "as server"),
    Parameter::us(
        "journal",
        100_000.0,
        "time between two flushes of the journal",
        "MongoDB default",
    ),
    Parameter::us("device", 2000.0, "mean time of a flush", "guess"),
    SEND,
    TAIL,
    RECEIVE,
];

/// YCSB.
pub(super) const YCSB: WorkloadEntry = WorkloadEntry {
    name: "ycsb-mongodb",
    aliases: &["ycsb"],
    summary: "YCSB client threads and one MongoDB server over loopback, a thread per connection",
    essay: "client --operation--> server thread --answer--> client, N pairs, and a journal that is flushed \
            ten times a second. Long transactions on a busy machine: what differs is placement.",
    report: Report {
        unit: "operations/s",
        mean: Mean::Arithmetic,
        row: "",
        style: "percent",
        ..REPORT
    },
    pattern: None,
    parameters: YCSB_COSTS,
    cases: |_| vec![Case::new("throughput", 1)],
    plan: ycsb,
    ..PGBENCH_RO
};

fn ycsb(machine: &Machine, _: &Case, p: &Parameters) -> Result<Plan> {
    let asked = p.number("clients")?;
    let clients = if asked == 0 { machine.ncpus } else { asked.min(MOST) };
    let mut plan = Plan::default();
    let done = plan.counter("transactions");
    let (request, answer) = (At::Handle(0), At::Handle(1));
    let mut client = vec![service(p, "client")?];
    client.extend(send(p, request, None)?);
    client.extend([Op::Receive(answer), p.kernel("receive")?, Op::Count(done)]);
    let mut server = vec![Op::Receive(request), p.kernel("receive")?, service(p, "server")?];
    server.extend(send(p, answer, None)?);
    let client = plan.program("client", solid(client));
    let server = plan.program("server", solid(server));
    for group in 0..clients {
        super::exchange::pair(&mut plan, client, server, group);
    }
    let flush = Amount::ns(p.ns("device")?.max(1)).spread(Spread::LogNormal(400));
    plan.devices.push(Device { service: flush, parallel: 1 });
    let every = Op::Every(p.ns("journal")?.max(1));
    let journal = [every, Op::Kernel(Amount::ns(50_000)), Op::Io(At::Number(0))];
    let journal = plan.program("journal", journal);
    plan.task(Task { program: journal, ..Task::default() }, &[]);
    settle(&mut plan, machine);
    Ok(plan)
}

const SIEGE_COSTS: &[Parameter] = &[
    Parameter::count(
        "workers",
        250.0,
        1.0,
        "worker processes of the web server",
        "guess: prefork limit",
    ),
    Parameter::us("page", 300.0, "worker: one page", "200 to 500 us (guess)"),
    Parameter::us("client", 30.0, "user: one page, no think time", "siege -b"),
    SEND,
    TAIL,
    RECEIVE,
];

/// Most users of the MMTests configuration.
const USERS: i64 = 250;

/// siege.
pub(super) const SIEGE: WorkloadEntry = WorkloadEntry {
    name: "siege",
    aliases: &["http-siege"],
    summary: "web users without think time, and worker processes that share one queue",
    essay: "user --request--> queue --> any idle worker --page--> user. The machine is full from some \
            tens of users on.",
    report: Report { row: "users", ..REPORT },
    parameters: SIEGE_COSTS,
    cases: |machine| {
        let most = (64 * i64::from(machine.ncpus)).min(USERS);
        let mut cases = doubling(most as u32);
        cases.extend((most == USERS).then(|| Case::number(USERS)));
        cases
    },
    plan: siege,
    ..PGBENCH_RO
};

fn siege(machine: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let users = case.count("users", MOST)?;
    let mut plan = Plan::default();
    let done = plan.counter("transactions");
    let queue = At::Number(plan.channel(Channel { sync: false, ..Channel::connection() }));
    let own = At::Handle(0);
    let mut user = vec![p.run("client")?];
    user.extend(send(p, queue, Some(own))?);
    user.extend([Op::Receive(own), p.kernel("receive")?, Op::Count(done)]);
    let mut worker = vec![Op::Receive(queue), p.kernel("receive")?, service(p, "page")?];
    worker.extend(send(p, At::Caller, None)?);
    let user = plan.program("user", solid(user));
    let worker = plan.program("worker", solid(worker));
    for group in 0..users {
        let own = plan.channel(Channel::connection());
        plan.task(Task { program: user, group, ..Task::default() }, &[own]);
    }
    for group in 0..p.number("workers")?.min(MOST) {
        plan.task(Task { program: worker, group, ..Task::default() }, &[]);
    }
    settle(&mut plan, machine);
    // Workers that nobody asks are not load.
    if users <= machine.ncpus / 2 {
        (plan.warmup, plan.window) = (50_000_000, 400_000_000);
    }
    Ok(plan)
}
