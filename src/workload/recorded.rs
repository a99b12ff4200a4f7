//! The programs that the shipped traces of real kernels were recorded with, from start to end.
//!
//! They are small on purpose: hogs that spin until a point in time, tasks that sleep to absolute times
//! and then work, and a pair that passes one byte through two pipes. Work is CPU time of the thread
//! and does not vary. What is ignored: the parent, and kernel threads but for one that stands for all
//! of them where a run is long enough to see them. Source: the data's own description of its programs.

use super::exchange::{pair, paths, receive, send, solid};
use super::pingpong::PIPE_COSTS;
use super::{
    Amount, At, Better, Case, End, Mean, Measure, Op, Parameters, Plan, Report, Task, WorkloadEntry,
};
use crate::error::{Error, Result};
use crate::machine::Machine;

/// Length of all runs but that of the pipe pair alone, ns.
const LENGTH: i64 = 300_000_000;

/// The programs begin together, so long after their parent has started them, ns.
const HEAD_START: i64 = 5_000_000;

/// Wake-ups of kernel threads in 300 ms: 11 in the runs of four hogs, on both kernels.
const HOUSEKEEPING: i64 = 11;

/// Work of one: the median slice of the idle runs, ns.
const HOUSEWORK: i64 = 4300;

/// The pair is given up after so long, ns.
const LIMIT: i64 = 10_000_000_000;

const US: i64 = 1000;

/// One program beside others.
enum Part {
    /// Computes to the end, at a nice value.
    Hog(i8),
    /// Sleeps to multiples of a period, us, and then works so long.
    Every(i64, i64),
    /// Two tasks and two pipes, so many rounds.
    Pair(u32),
    /// A kernel thread.
    Housekeeping,
}

/// Label and parts, in the order in which the parent starts them.
const RUNS: &[(&str, &[Part])] = &[
    ("pingpong", &[Part::Pair(1000)]),
    ("hogs-eq4", &[Part::Housekeeping, Part::Hog(0), Part::Hog(0), Part::Hog(0), Part::Hog(0)]),
    (
        "hogs-nice",
        &[
            Part::Housekeeping,
            Part::Hog(0),
            Part::Hog(5),
            Part::Hog(10),
            Part::Hog(-5),
            Part::Hog(19),
        ],
    ),
    (
        "periodic",
        &[
            Part::Housekeeping,
            Part::Every(1000, 100),
            Part::Every(3000, 300),
            Part::Every(7000, 1000),
        ],
    ),
    (
        "mix",
        &[
            Part::Housekeeping,
            Part::Hog(0),
            Part::Hog(5),
            Part::Every(1000, 100),
            Part::Every(4000, 500),
            Part::Pair(500),
        ],
    ),
];

/// The programs of the recorded runs.
pub(super) const RECORDED: WorkloadEntry = WorkloadEntry {
    name: "recorded",
    aliases: &["recorded-programs"],
    summary: "the programs of the traces of real kernels: a pipe pair, hogs, periodic tasks, a mix",
    essay: "pingpong: 1,000 rounds of one byte through two pipes. hogs-eq4, hogs-nice: hogs for 300 ms. \
            periodic: 100 us of every ms, 300 of every 3, 1000 of every 7. mix: hogs at nice 0 and 5, 100 \
            us of every ms, 500 of every 4, and 500 rounds of the pair. The real runs were counted from \
            their start: simulate them without a warm-up.",
    report: Report {
        metric: "elapsed",
        unit: "ms",
        better: Better::Lower,
        mean: Mean::Arithmetic,
        decimals: 3,
        style: "mmtests",
        row: "run",
        prefix: "",
        measure: Measure::Elapsed { scale: 1e-6 },
    },
    more: &[],
    pattern: None,
    parameters: PIPE_COSTS,
    cases: |_| RUNS.iter().zip(0..).map(|((label, _), i)| Case::new(*label, i)).collect(),
    plan,
};

fn plan(_: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let Some((_, parts)) = usize::try_from(case.value).ok().and_then(|i| RUNS.get(i)) else {
        return Err(Error::invalid("case", format!("{:?} is not a recorded run", case.label)));
    };
    let alone = matches!(parts, [Part::Pair(_)]);
    let mut plan = Plan {
        paths: paths(p)?,
        warmup: 0,
        window: HEAD_START + LENGTH,
        end: if alone { End::AllExit(LIMIT) } else { End::Window },
        ..Plan::default()
    };
    // One CPU: on a larger machine the programs keep each other company all the same.
    plan.affinities.push(vec![0]);
    for (part, group) in parts.iter().zip(0..) {
        add(&mut plan, part, group, p)?;
    }
    for task in &mut plan.tasks {
        task.affinity = Some(0);
    }
    Ok(plan)
}

fn add(plan: &mut Plan, part: &Part, group: u32, p: &Parameters) -> Result<()> {
    let (nice, program) = match *part {
        Part::Hog(nice) => {
            let forever = [Op::Sleep(Amount::ns(HEAD_START)), Op::Spin(Amount::ns(LIMIT))];
            (nice, plan.program(&format!("hog{nice}"), forever))
        }
        Part::Every(period, work) => {
            let late = plan.latency(&format!("late {period}"));
            let body = [Op::Every(period * US), Op::Record(late), Op::Run(Amount::ns(work * US))];
            (0, plan.program(&format!("per{period}"), repeated(0, body)))
        }
        Part::Housekeeping => {
            let period = LENGTH / HOUSEKEEPING;
            let body = [Op::Every(period), Op::Kernel(Amount::ns(HOUSEWORK))];
            (0, plan.program("kthread", repeated(0, body)))
        }
        Part::Pair(rounds) => return add_pair(plan, rounds, group, p),
    };
    plan.task(Task { program, nice, group, ..Task::default() }, &[]);
    Ok(())
}

fn add_pair(plan: &mut Plan, rounds: u32, group: u32, p: &Parameters) -> Result<()> {
    let (request, answer) = (At::Handle(0), At::Handle(1));
    let done = plan.counter("rounds");
    let mut ping = solid(send(p, request, None)?);
    ping.extend(solid(receive(p, answer)?));
    ping.push(Op::Count(done));
    let mut pong = solid(receive(p, request)?);
    pong.extend(solid(send(p, answer, None)?));
    let ping = plan.program("ping", repeated(rounds, ping));
    let pong = plan.program("pong", repeated(rounds, pong));
    pair(plan, ping, pong, group);
    Ok(())
}

/// Begins with the others, carries out `body` so many times (0: for ever), and exits.
fn repeated(times: u32, body: impl IntoIterator<Item = Op>) -> Vec<Op> {
    let mut ops = vec![Op::Sleep(Amount::ns(HEAD_START)), Op::Repeat(times)];
    ops.extend(body);
    ops.extend([Op::Next, Op::Exit]);
    ops
}
