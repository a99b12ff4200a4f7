//! References: everything that is named exists.

use super::at;
use crate::error::{Error, Result};
use crate::machine::Machine;
use crate::workload::{At, Op, Plan, Program, Task};

/// What a number or a handle stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Channel,
    Board,
    Lock,
    Line,
    Barrier,
    Device,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Channel => "channel",
            Self::Board => "board",
            Self::Lock => "lock",
            Self::Line => "line",
            Self::Barrier => "barrier",
            Self::Device => "device",
        }
    }

    fn number(self, plan: &Plan) -> usize {
        match self {
            Self::Channel => plan.channels.len(),
            Self::Board => plan.boards.len(),
            Self::Lock => plan.locks.len(),
            Self::Line => plan.lines as usize,
            Self::Barrier => plan.barriers.len(),
            Self::Device => plan.devices.len(),
        }
    }
}

/// Returns what an operation acts on.
pub(super) fn targets(op: &Op) -> Vec<(At, Kind)> {
    match *op {
        Op::Send { to, reply } => {
            std::iter::once(to).chain(reply).map(|t| (t, Kind::Channel)).collect()
        }
        Op::Receive(from) => vec![(from, Kind::Channel)],
        Op::Post(board) => vec![(board, Kind::Board), (At::Handle(0), Kind::Channel)],
        Op::Release { board, .. } => vec![(board, Kind::Board)],
        Op::Lock(lock) | Op::Unlock(lock) => vec![(lock, Kind::Lock)],
        Op::Line(line) => vec![(line, Kind::Line)],
        Op::Barrier(barrier) => vec![(barrier, Kind::Barrier)],
        Op::Io(device) => vec![(device, Kind::Device)],
        _ => vec![],
    }
}

/// Checks the references of one operation, except handles.
pub(super) fn op(plan: &Plan, program: &Program, index: usize, op: &Op) -> Result<()> {
    let missing = |word: &str, number: u32, of: usize| {
        at(program, index, format!("{word} {number} does not exist; there are {of}"))
    };
    let is_send = matches!(op, Op::Send { .. });
    for (place, (target, kind)) in targets(op).into_iter().enumerate() {
        match target {
            At::Number(n) if n as usize >= kind.number(plan) => {
                return Err(missing(kind.word(), n, kind.number(plan)));
            }
            At::Caller if !(is_send && place == 0) => {
                return Err(at(program, index, "only a message can be sent to the caller"));
            }
            _ => {}
        }
    }
    let (word, number, of) = match *op {
        Op::Draw(n) => ("table", n, plan.tables.len()),
        Op::Count(n) => ("counter", n, plan.counters.len()),
        Op::Record(n) => ("latency", n, plan.latencies.len()),
        Op::Fork(n) => ("program", n, plan.programs.len()),
        _ => return Ok(()),
    };
    if number as usize >= of {
        return Err(missing(word, number, of));
    }
    Ok(())
}

/// Checks every task: program, nice value, CPUs, handles.
pub(super) fn tasks(plan: &Plan, machine: &Machine) -> Result<()> {
    for (i, cpus) in plan.affinities.iter().enumerate() {
        let name = format!("workload.affinities[{i}]");
        if cpus.is_empty() {
            return Err(Error::invalid(name, "no CPU"));
        }
        if let Some(cpu) = cpus.iter().find(|&&cpu| cpu >= machine.ncpus) {
            let reason =
                format!("CPU {cpu} does not exist; {} has {}", machine.name, machine.ncpus);
            return Err(Error::invalid(name, reason));
        }
    }
    let needed: Vec<Vec<(usize, usize, u32, Kind)>> =
        (0..plan.programs.len()).map(|p| handles_of(plan, p)).collect();
    for (i, task) in plan.tasks.iter().enumerate() {
        let name = || format!("workload.tasks[{i}]");
        if let Some(reason) = fault(plan, task) {
            return Err(Error::invalid(name(), reason));
        }
        let first = task.handles as usize;
        let own = &plan.handles[first..first + task.handle_count as usize];
        for &(program, index, handle, kind) in &needed[task.program as usize] {
            let program = &plan.programs[program];
            let Some(&value) = own.get(handle as usize) else {
                let reason =
                    format!("handle {handle} does not exist: task {i} has {}", task.handle_count);
                return Err(at(program, index, reason));
            };
            if value as usize >= kind.number(plan) {
                let reason = format!(
                    "handle {handle} of task {i} means {} {value}, which does not exist; there are {}",
                    kind.word(),
                    kind.number(plan)
                );
                return Err(at(program, index, reason));
            }
        }
    }
    Ok(())
}

fn fault(plan: &Plan, task: &Task) -> Option<String> {
    let end = u64::from(task.handles) + u64::from(task.handle_count);
    if task.program as usize >= plan.programs.len() {
        return Some(format!("program {} does not exist", task.program));
    }
    if !(-20..=19).contains(&task.nice) {
        return Some(format!("nice {} is not between -20 and 19", task.nice));
    }
    if !(0..=super::MAX_TIME).contains(&task.slice) || !(0..=super::MAX_TIME).contains(&task.start)
    {
        return Some("slice and start are between 0 and 1e15 ns".into());
    }
    if end > plan.handles.len() as u64 {
        return Some(format!("its handles end at {end}, there are {}", plan.handles.len()));
    }
    match task.affinity {
        Some(a) if a as usize >= plan.affinities.len() => {
            Some(format!("affinity {a} does not exist"))
        }
        _ => None,
    }
}

/// Returns the handles that a program and all it forks need: program, operation, handle, kind.
fn handles_of(plan: &Plan, first: usize) -> Vec<(usize, usize, u32, Kind)> {
    let mut seen = vec![false; plan.programs.len()];
    let mut open = vec![first];
    let mut found = Vec::new();
    while let Some(p) = open.pop() {
        if std::mem::replace(&mut seen[p], true) {
            continue;
        }
        for (index, op) in plan.programs[p].ops.iter().enumerate() {
            for (target, kind) in targets(op) {
                if let At::Handle(handle) = target {
                    found.push((p, index, handle, kind));
                }
            }
            if let Op::Fork(child) = *op {
                open.push(child as usize);
            }
        }
    }
    found.sort_by_key(|&(p, index, handle, _)| (p, index, handle));
    found
}
