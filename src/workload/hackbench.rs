//! hackbench, or `perf bench sched messaging`: groups of 20 senders that write to each of 20 receivers.
//!
//! One pipe per receiver; each sender writes 100 bytes to receivers 0 to 19 in turn, so one slow
//! receiver stops all 20 senders: its pipe fills and every sender arrives there within one round.
//! Write and read are each a critical section on the mutex of the pipe, whose waiters spin, and carry a
//! few cache lines to the CPU that is next. A receiver is woken when its pipe was empty; a waiting
//! sender once a page has been read. All tasks wait until a main task, when all are there, wakes one
//! after the other.
//!
//! What is ignored: the hierarchy of task groups, merging of small writes across pages, and address
//! spaces (processes pay a little more to switch). Limits: several equilibria exist, pipes mostly full
//! or mostly empty, and which one holds depends on the ratio of read to write; two-station arithmetic
//! that needs no such choice is in [`super::hackbench_model`]. Source: perf and rt-tests.

use super::exchange::solid;
use super::model::doubling_of;
use super::{
    At, Better, Case, Channel, End, Guard, Layout, Mean, Measure, Op, Parameter, Parameters, Paths,
    Plan, Report, SEGMENT, Task, WorkloadEntry,
};
use crate::error::Result;
use crate::machine::Machine;
use crate::workload::Amount;

/// Senders, and receivers, of a group.
const HALF: u32 = 20;

/// Most groups: 40 tasks each must fit.
const MOST_GROUPS: u32 = 20_000;

/// Messages that fit into a pipe of 16 pages, 40 to a page.
const PIPE: u32 = 640;

/// Messages of a page.
const PAGE: u32 = 40;

/// Messages that fit into a socket: 212,992 B at 768 B each.
const SOCKET: u32 = 277;

/// Longest simulated run, ns.
const LIMIT: i64 = 600_000_000_000;

const COSTS: &[Parameter] = &[
    Parameter::count(
        "loops",
        1000.0,
        1.0,
        "rounds of every sender",
        "short enough to simulate; seconds are those of 100,000 loops",
    ),
    Parameter::us(
        "write",
        0.35,
        "one write besides cache lines, contention and wake-ups",
        "hand fit to the CFS column of the 2023 report together with read, lines and hold",
    ),
    Parameter::us("read", 0.45, "one read besides the same", "as write; the ratio is not known"),
    Parameter::us("hold", 0.1, "of both: inside the mutex of the pipe", "guess"),
    Parameter {
        name: "lines",
        default: 2.5,
        unit: "1",
        summary: "cache lines that move with the mutex",
        source: "as write: 2 to 3 between CPUs in each direction",
        least: 0.0,
        most: 1000.0,
    },
    Parameter::share(
        "socket",
        0.0,
        "1: Unix sockets instead of pipes",
        "the report's command has -p",
    ),
    Parameter::count(
        "socket_factor",
        2.7,
        1.0,
        "price of a message over a socket against one over a pipe",
        "2.5 to 3, measured on a two-CPU guest",
    ),
    Parameter::share(
        "process",
        0.0,
        "1: processes instead of threads",
        "the report's command has -t",
    ),
    Parameter::us("process_refill", 0.2, "refill that processes pay more", "guess: page tables"),
    Parameter::share(
        "packed",
        0.0,
        "start: 0 spread over all caches, 0.5 on socket 0 while tasks fit, 1 each group in one cache",
        "results differ by up to 15 points; the light rows of the report look packed",
    ),
    Parameter::us("wake_each", 0.3, "main task: per task it wakes at the start", "guess"),
];

/// The benchmark of the 2023 report; cases are groups.
pub(super) const HACKBENCH: WorkloadEntry = WorkloadEntry {
    name: "hackbench",
    aliases: &["perf-bench-sched-messaging"],
    summary: "groups of 20 senders and 20 receivers, each sender writes to every receiver in turn",
    essay: "sender --100 B--> pipe of receiver 0, 1, ... 19 --> receiver, 400 messages a round and group. \
            While there are idle CPUs placement and pipe contention set the time; above that migrations \
            and the load sum of the task group.",
    report: Report {
        metric: "time",
        unit: "s",
        better: Better::Lower,
        mean: Mean::Arithmetic,
        decimals: 2,
        style: "normalised",
        row: "Case",
        prefix: "",
        // 400 messages x 100,000 loops a group, in seconds.
        measure: Measure::Turn { counter: "messages", scale: 400.0 * 100_000.0 * 1e-9 },
    },
    more: &[],
    pattern: Some("{}-groups"),
    parameters: COSTS,
    cases: |machine| doubling_of((machine.ncpus / 16).max(4), "groups"),
    plan,
};

fn layout(packed: f64) -> Layout {
    match packed {
        p if p < 0.25 => Layout::Spread,
        p if p < 0.75 => Layout::Socket0,
        _ => Layout::Packed,
    }
}

/// Returns the channel of one receiver, and the factor on the price of a message.
fn channel(p: &Parameters) -> Result<(Channel, f64)> {
    if p.get("socket")? >= 0.5 {
        return Ok((
            Channel { capacity: SOCKET, ..Channel::connection() },
            p.get("socket_factor")?,
        ));
    }
    let hold = p.paced("hold")?;
    let guard = Guard { hold, lines_permille: (p.get("lines")? * 1000.0).round() as u32 };
    let pipe = Channel { capacity: PIPE, drain: PAGE, guard: Some(guard), ..Channel::connection() };
    Ok((pipe, 1.0))
}

fn plan(machine: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let groups = case.count("groups", MOST_GROUPS)?;
    let (pipe, factor) = channel(p)?;
    // The engine scales paths by the factor of the machine, refills not: taken out here.
    let refill = machine.costs.refill * 1000 / i64::from(machine.costs.scale_permille.max(1));
    let refill = refill + p.ns("process_refill")?;
    let process = p.get("process")? >= 0.5;
    let paths = Paths { refill: process.then_some(refill), ..Paths::default() };
    let mut plan = Plan {
        paths,
        layout: layout(p.get("packed")?),
        end: End::AllExit(LIMIT),
        ..Plan::default()
    };
    let messages = plan.counter("messages");
    let price = |name| -> Result<Op> {
        let hold = if pipe.guard.is_some() { p.paced("hold")? } else { 0 };
        let ns = (p.paced(name)? as f64 * factor) as i64;
        Ok(Op::Kernel(Amount::ns((ns - hold).max(0)).spread(SEGMENT)))
    };
    let loops = p.number("loops")?;
    let programs = [sender(&mut plan, loops, price("write")?), {
        let read = price("read")?;
        receiver(&mut plan, loops, read, messages)
    }];
    start(&mut plan, p, 2 * HALF * groups)?;
    // Tasks with one number start near each other: those of a group, or none.
    let together = plan.layout == Layout::Packed;
    for group in 0..groups {
        let pipes: Vec<u32> = (0..HALF).map(|_| plan.channel(pipe)).collect();
        for i in 0..HALF {
            let number = if together { group } else { HALF * group + i };
            let task = |program| Task { program, group: number, ..Task::default() };
            // Handle 0 is where the task waits for the start.
            let own = [plan.channel(Channel::connection()), plan.channel(Channel::connection())];
            let all: Vec<u32> = std::iter::once(own[0]).chain(pipes.iter().copied()).collect();
            plan.task(task(programs[0]), &all);
            plan.task(task(programs[1]), &[own[1], pipes[i as usize]]);
        }
    }
    Ok(plan)
}

/// Waits for the start signal.
fn ready() -> [Op; 2] {
    [Op::Post(At::Number(0)), Op::Receive(At::Handle(0))]
}

fn sender(plan: &mut Plan, loops: u32, write: Op) -> u32 {
    let mut ops = ready().to_vec();
    ops.push(Op::Repeat(loops));
    for receiver in 1..=HALF {
        ops.extend([write, Op::Send { to: At::Handle(receiver), reply: None }]);
        ops.push(Op::Run(Amount::ns(20)));
    }
    ops.extend([Op::Next, Op::Exit]);
    plan.program("sender", solid(ops))
}

fn receiver(plan: &mut Plan, loops: u32, read: Op, messages: u32) -> u32 {
    let mut ops = ready().to_vec();
    ops.extend([Op::Repeat(HALF * loops), Op::Receive(At::Handle(1)), read]);
    ops.extend([Op::Count(messages), Op::Run(Amount::ns(20)), Op::Next, Op::Exit]);
    plan.program("receiver", solid(ops))
}

/// Adds the main task, which waits until all others are there and then wakes them.
fn start(plan: &mut Plan, p: &Parameters, tasks: u32) -> Result<()> {
    let board = plan.channel(Channel::connection());
    plan.boards.push(board);
    let each = Amount::ns(p.paced("wake_each")?);
    let ops = [
        Op::Repeat(tasks),
        Op::Receive(At::Number(board)),
        Op::Next,
        Op::Release { board: At::Number(0), each },
        Op::Exit,
    ];
    let program = plan.program("main", ops);
    plan.task(Task { program, ..Task::default() }, &[]);
    Ok(())
}
