//! From threads to a plan.

use super::parse::{Event, Global, Phase, Thread};
use crate::error::{Error, Result};
use crate::machine::Machine;
use crate::workload::{
    Amount, At, Barrier, Channel, Device, End, Full, Kind, MAX_TASKS, Mutex, Op, Plan, Task,
};

/// Most children alive at the same time.
const SPARE: u32 = 1000;

/// Run of a file without a duration whose threads never end, ns.
const ENDLESS: i64 = 10_000_000_000;

/// Longest run of a file without a duration whose threads do end, ns.
const LIMIT: i64 = 3_600_000_000_000;

/// One call that wakes others, ns: a system call (guess).
const CALL: i64 = 1000;

/// Writing to nowhere: a system call and a copy at 12.5 GB/s, ps per byte.
const COPY: i64 = 80;

/// Time of the device for one write, ns (guess for SSDs).
const DEVICE: i64 = 100_000;

/// Names, numbered as they come.
#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        let place = self.0.iter().position(|n| n == name);
        place.unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        }) as u32
    }
}

#[derive(Default)]
struct Everything {
    mutexes: Names,
    conditions: Names,
    /// Barriers, and how many threads name each.
    barriers: Names,
    parties: Vec<i64>,
    threads: Vec<String>,
    device: bool,
}

/// Makes the plan of a file.
pub(super) fn plan(threads: &[Thread], global: &Global, machine: &Machine) -> Result<Plan> {
    let mut plan = Plan { warmup: 0, ..Plan::default() };
    plan.counter("loops");
    let names = threads.iter().map(|t| t.name.clone()).collect();
    let mut all = Everything { threads: names, device: global.device, ..Everything::default() };
    for thread in threads {
        let ops = program(thread, &mut all)?;
        plan.program(&thread.name, ops);
    }
    things(&all, &mut plan);
    tasks(threads, machine, &mut plan)?;
    end(threads, global, &mut plan);
    Ok(plan)
}

fn program(thread: &Thread, all: &mut Everything) -> Result<Vec<Op>> {
    let mut ops = Vec::new();
    let ends = thread.turns >= 0;
    if ends {
        ops.push(Op::Repeat(thread.turns.max(1) as u32));
    }
    for phase in &thread.phases {
        turns(phase, thread, all, &mut ops)?;
    }
    ops.push(Op::Count(0));
    if ends {
        ops.extend([Op::Next, Op::Exit]);
    }
    Ok(if thread.turns == 0 { vec![Op::Exit] } else { ops })
}

fn turns(phase: &Phase, thread: &Thread, all: &mut Everything, ops: &mut Vec<Op>) -> Result<()> {
    if phase.turns == 0 {
        return Ok(());
    }
    let many = phase.turns != 1;
    if many {
        // -1 is for ever, which is 0 here.
        ops.push(Op::Repeat(phase.turns.max(0) as u32));
    }
    for event in &phase.events {
        events(event, thread, all, ops)?;
    }
    if many {
        ops.push(Op::Next);
    }
    Ok(())
}

fn events(event: &Event, thread: &Thread, all: &mut Everything, ops: &mut Vec<Op>) -> Result<()> {
    let us = |us: i64| Amount::ns(us * 1000);
    match event {
        Event::Run(t) => ops.push(Op::Run(us(*t))),
        Event::Runtime(t) => ops.push(Op::Spin(us(*t))),
        Event::Sleep(t) => ops.push(Op::Sleep(us(*t))),
        Event::Timer(t) => ops.push(Op::Every(t * 1000)),
        Event::Lock(name) => ops.push(Op::Lock(At::Number(all.mutexes.number(name)))),
        Event::Unlock(name) => ops.push(Op::Unlock(At::Number(all.mutexes.number(name)))),
        Event::Wait { condition, mutex } => wait(condition, Some(mutex), all, ops),
        Event::Suspend(condition) => wait(condition, None, all, ops),
        Event::Signal(condition) => signal(condition, all, ops),
        Event::Sync { condition, mutex } => {
            signal(condition, all, ops);
            wait(condition, Some(mutex), all, ops);
        }
        Event::Barrier(name) => {
            let number = all.barriers.number(name);
            all.parties.resize(all.barriers.0.len(), 0);
            all.parties[number as usize] += thread.instances;
            ops.push(Op::Barrier(At::Number(number)));
        }
        Event::Memory(bytes) => ops.push(Op::Memory(*bytes as u64)),
        Event::Write(bytes) => {
            ops.push(Op::Kernel(Amount::ns(CALL + bytes / 1000 * COPY)));
            ops.extend(all.device.then_some(Op::Io(At::Number(0))));
        }
        Event::Yield => ops.push(Op::Yield),
        Event::Fork(name) => {
            let Some(child) = all.threads.iter().position(|t| t == name) else {
                let key = format!("tasks.{}.fork", thread.name);
                return Err(Error::invalid(key, format!("no thread {name:?}")));
            };
            ops.push(Op::Fork(child as u32));
        }
    }
    Ok(())
}

/// Waits on a condition, with its mutex given back meanwhile.
fn wait(condition: &str, mutex: Option<&str>, all: &mut Everything, ops: &mut Vec<Op>) {
    let board = At::Number(all.conditions.number(condition));
    let mutex = mutex.map(|m| At::Number(all.mutexes.number(m)));
    ops.push(Op::Post(board));
    ops.extend(mutex.map(Op::Unlock));
    ops.push(Op::Receive(At::Handle(0)));
    ops.extend(mutex.map(Op::Lock));
}

fn signal(condition: &str, all: &mut Everything, ops: &mut Vec<Op>) {
    let board = At::Number(all.conditions.number(condition));
    ops.push(Op::Release { board, each: Amount::ns(CALL) });
}

fn things(all: &Everything, plan: &mut Plan) {
    plan.locks = vec![Mutex { spin: false }; all.mutexes.0.len()];
    let most = MAX_TASKS as i64 + 1;
    plan.barriers = all
        .parties
        .iter()
        .map(|&n| Barrier { parties: n.clamp(0, most) as u32, spin: 0 })
        .collect();
    for (kind, names) in [(Kind::Lock, &all.mutexes), (Kind::Barrier, &all.barriers)] {
        for name in &names.0 {
            plan.names.add(kind, name);
        }
    }
    for condition in &all.conditions.0 {
        plan.names.add(Kind::Channel, condition);
        // Nobody waits for posts as such.
        let wakes =
            plan.channel(Channel { capacity: 1, full: Full::Drop, ..Channel::connection() });
        plan.boards.push(wakes);
    }
    if all.device {
        plan.devices.push(Device { service: Amount::ns(DEVICE), parallel: 32 });
    }
}

fn tasks(threads: &[Thread], machine: &Machine, plan: &mut Plan) -> Result<()> {
    let total: i64 = threads.iter().map(|t| t.instances).sum();
    if total > MAX_TASKS as i64 {
        return Err(Error::invalid(
            "tasks",
            format!("{total} threads; at most {MAX_TASKS} are run"),
        ));
    }
    for (program, thread) in threads.iter().enumerate() {
        let affinity = affinity(thread, machine, plan)?;
        for _ in 0..thread.instances {
            plan.names.add(Kind::Channel, &thread.name);
            let own = plan.channel(Channel { sync: false, ..Channel::connection() });
            let task = Task {
                program: program as u32,
                nice: thread.nice,
                class: thread.class,
                slice: thread.slice,
                start: thread.delay * 1000,
                group: program as u32,
                affinity,
                ..Task::default()
            };
            plan.task(task, &[own]);
        }
        let forks = |e: &Event| matches!(e, Event::Fork(_));
        if thread.phases.iter().flat_map(|p| &p.events).any(forks) {
            plan.spare = SPARE;
        }
    }
    Ok(())
}

fn affinity(thread: &Thread, machine: &Machine, plan: &mut Plan) -> Result<Option<u32>> {
    if thread.cpus.is_empty() {
        return Ok(None);
    }
    if let Some(cpu) = thread.cpus.iter().find(|&&cpu| cpu >= machine.ncpus) {
        let reason = format!("CPU {cpu} does not exist; {} has {}", machine.name, machine.ncpus);
        return Err(Error::invalid(format!("tasks.{}.cpus", thread.name), reason));
    }
    plan.affinities.push(thread.cpus.clone());
    Ok(Some(plan.affinities.len() as u32 - 1))
}

fn end(threads: &[Thread], global: &Global, plan: &mut Plan) {
    let duration = global.duration * 1_000_000_000;
    let forks = plan.spare > 0;
    let finite = threads.iter().filter(|t| t.instances > 0).all(|t| t.turns >= 0);
    if finite && !forks {
        plan.end = End::AllExit(if duration > 0 { duration } else { LIMIT });
    } else {
        plan.end = End::Window;
    }
    plan.window = if duration > 0 { duration } else { ENDLESS };
}
