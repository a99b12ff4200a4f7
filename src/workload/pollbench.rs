//! pollbench H P L (2002): a ring of processes that wait in poll on H handles and pass on by pipe.
//!
//! H tokens go round a ring of P processes L times. A hop is poll, read and write, and as many looks
//! at handles as the process has. On two CPUs the next process often runs on the other one, so that a
//! hop is a switch to the idle task and one from it. The structure is inferred from a kernel profile
//! (sys_poll, do_poll, pipe_write, fget). Source: the 2.5.54 report, which prints seconds.

use super::exchange::{paths, solid};
use super::{
    Amount, At, Better, Case, Channel, Mean, Measure, Op, Parameter, Parameters, Plan, Report,
    Task, WorkloadEntry,
};
use crate::error::{Error, Result};
use crate::machine::Machine;

/// Handles, processes and loops of the rows.
const ROWS: [(i64, i64, i64); 3] = [(1, 100, 5000), (2, 100, 2000), (5, 100, 2000)];

const COSTS: &[Parameter] = &[
    Parameter::us(
        "hop",
        1.2,
        "poll, read and write, besides the handles",
        "16.75 us a hop, less two switches, wake-up and idle task of 4.5 us each: 7.7 us at pace 5, \
         less one handle",
    ),
    Parameter::us(
        "handle",
        0.32,
        "poll: one handle",
        "23.2 us with five handles against 16.75 us with one: 1.6 us, at pace 5",
    ),
    Parameter::us("block", 0.3, "from finding nothing to leaving the CPU", "guess"),
];

/// The benchmark of the 2.5.54 report; a case is written `handles processes loops`.
pub(super) const POLLBENCH: WorkloadEntry = WorkloadEntry {
    name: "pollbench",
    aliases: &[],
    summary: "a ring of processes that poll handles and pass on by pipe",
    essay: "process 0 --pipe--> 1 --pipe--> ... --> 0, waiting in poll. One switch a hop or two, and a price \
            per handle.",
    report: Report {
        metric: "time",
        unit: "s",
        better: Better::Lower,
        mean: Mean::Arithmetic,
        decimals: 6,
        style: "mmtests",
        row: "handles processes loops",
        prefix: "",
        // The value of a case is the number of hops.
        measure: Measure::Turn { counter: "hops", scale: 1e-9 },
    },
    more: &[],
    pattern: None,
    parameters: COSTS,
    cases: |_| ROWS.map(|(h, n, l)| Case::new(format!("{h} {n} {l}"), n * l)).to_vec(),
    plan,
};

fn plan(_: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let numbers: Vec<u32> = case.label.split(' ').map_while(|w| w.parse().ok()).collect();
    let &[handles @ 1..=10_000, processes @ 2..=100_000, _] = numbers.as_slice() else {
        let reason = format!("{:?} is not of the form 1 100 5000", case.label);
        return Err(Error::invalid("case", reason));
    };
    let hop = p.paced("hop")? + i64::from(handles) * p.paced("handle")?;
    let part = |percent: i64| Op::Kernel(Amount::ns(hop * percent / 100).spread(super::SEGMENT));
    let mut plan = Plan { paths: paths(p)?, window: 500_000_000, ..Plan::default() };
    let hops = plan.counter("hops");
    let (from, to) = (At::Handle(0), At::Handle(1));
    let user = Op::Run(Amount::ns(50));
    let body =
        [part(30), Op::Receive(from), part(40), user, part(20), Op::Send { to, reply: None }];
    let body: Vec<Op> = body.into_iter().chain([part(10), user, Op::Count(hops)]).collect();
    let mut first = vec![Op::Send { to, reply: None }, Op::Repeat(0)];
    first.extend(&body);
    first.push(Op::Next);
    let programs = [plan.program("first", solid(first)), plan.program("process", solid(body))];
    let pipes: Vec<u32> = (0..processes).map(|_| plan.channel(Channel::connection())).collect();
    for i in 0..processes {
        let own = [pipes[i as usize], pipes[((i + 1) % processes) as usize]];
        plan.task(Task { program: programs[usize::from(i > 0)], ..Task::default() }, &own);
    }
    Ok(plan)
}
