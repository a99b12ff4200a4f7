//! One program by itself: loops that close, locks that are given back, and time that passes.

use super::at;
use crate::error::{Error, Result};
use crate::workload::{At, End, MAX_NESTING, Op, Plan, Program};

/// Most times that a loop without any time in it is carried out at once.
const MAX_IDLE_TURNS: u64 = 1_000_000;

/// A loop that is open while the program is read.
struct Loop {
    start: usize,
    turns: u64,
    timed: bool,
    /// Turns of loops without time inside it.
    idle: u64,
    held: Vec<At>,
}

/// Checks one program.
pub(super) fn program(plan: &Plan, program: &Program) -> Result<()> {
    let mut open = vec![Loop { start: 0, turns: 0, timed: false, idle: 0, held: Vec::new() }];
    let mut held: Vec<At> = Vec::new();
    for (index, op) in program.ops.iter().enumerate() {
        match *op {
            Op::Repeat(times) => {
                if open.len() > MAX_NESTING {
                    let reason = format!("loops are nested more than {MAX_NESTING} deep");
                    return Err(at(program, index, reason));
                }
                let turns = if times == 0 { u64::MAX } else { u64::from(times) };
                open.push(Loop { start: index, turns, timed: false, idle: 0, held: held.clone() });
            }
            Op::Next => close(program, index, &mut open, &held)?,
            Op::Lock(lock) if held.contains(&lock) => {
                return Err(at(program, index, "takes a lock that it already holds: deadlock"));
            }
            Op::Lock(lock) => held.push(lock),
            Op::Unlock(lock) => match held.iter().position(|&h| h == lock) {
                Some(place) => drop(held.remove(place)),
                None => return Err(at(program, index, "gives back a lock that it does not hold")),
            },
            Op::Exit if !held.is_empty() => {
                return Err(at(
                    program,
                    index,
                    "exits with a lock: whoever wants it waits for ever",
                ));
            }
            Op::Unless { skip, .. } => region(program, index, skip as usize)?,
            Op::Wait if !program.ops.iter().any(|o| matches!(o, Op::Fork(_))) => {
                return Err(at(program, index, "waits for a child, but forks none: deadlock"));
            }
            Op::Fork(child) => fork(plan, program, index, child)?,
            _ => {}
        }
        if takes_time(plan, program, op) {
            open.iter_mut().for_each(|l| l.timed = true);
        }
    }
    if open.len() > 1 {
        let start = open[open.len() - 1].start;
        return Err(at(program, start, "this loop has no Next"));
    }
    if !held.is_empty() {
        let last = program.ops.len() - 1;
        return Err(at(program, last, "the program ends and begins anew with a lock held"));
    }
    ends(plan, program, open[0].timed)
}

fn close(program: &Program, index: usize, open: &mut Vec<Loop>, held: &[At]) -> Result<()> {
    if open.len() < 2 {
        return Err(at(program, index, "Next without a Repeat"));
    }
    let Some(done) = open.pop() else { return Ok(()) };
    if !done.timed {
        let turns = done.turns.saturating_mul(done.idle.max(1));
        if turns > MAX_IDLE_TURNS {
            let reason = "this loop repeats for ever, or more than a million times, without time \
                          passing and without waiting; put work into it";
            return Err(at(program, done.start, reason));
        }
        if let Some(outer) = open.last_mut() {
            outer.idle = outer.idle.saturating_add(turns);
        }
    }
    if done.held != held {
        return Err(at(
            program,
            index,
            "a turn of the loop ends with other locks than it began with",
        ));
    }
    Ok(())
}

/// Checks what [`Op::Unless`] skips: inside the program, whole loops, locks in balance.
fn region(program: &Program, index: usize, skip: usize) -> Result<()> {
    let rest = &program.ops[index + 1..];
    if skip == 0 || skip > rest.len() {
        let reason = format!("skips {skip} operations; {} follow", rest.len());
        return Err(at(program, index, reason));
    }
    let (mut depth, mut locks) = (0_i64, 0_i64);
    for op in &rest[..skip] {
        match op {
            Op::Repeat(_) => depth += 1,
            Op::Next => depth -= 1,
            Op::Lock(_) => locks += 1,
            Op::Unlock(_) => locks -= 1,
            _ => {}
        }
        if depth < 0 {
            break;
        }
    }
    if depth != 0 || locks != 0 {
        return Err(at(program, index, "skips a part of a loop, or of a pair of Lock and Unlock"));
    }
    Ok(())
}

fn fork(plan: &Plan, program: &Program, index: usize, child: u32) -> Result<()> {
    if plan.spare == 0 {
        return Err(at(program, index, "forks, but workload.spare leaves no room for a child"));
    }
    let child = &plan.programs[child as usize];
    if !exits(child) && program.ops.contains(&Op::Wait) {
        let reason = format!("waits for {:?}, which never exits: deadlock", child.name);
        return Err(at(program, index, reason));
    }
    Ok(())
}

fn exits(program: &Program) -> bool {
    program.ops.contains(&Op::Exit)
}

/// Says whether time passes, or the task waits for somebody, whenever the operation is carried out.
fn takes_time(plan: &Plan, program: &Program, op: &Op) -> bool {
    match *op {
        // A task that fills its own channel does not wait there.
        Op::Receive(from) => {
            !program.ops.iter().any(|o| matches!(o, Op::Send { to, .. } if *to == from))
        }
        Op::Run(_) | Op::Kernel(_) | Op::Spin(_) | Op::Sleep(_) | Op::Every(_) => true,
        Op::Io(_) | Op::Memory(_) | Op::Touch(_) | Op::Wait => true,
        Op::Barrier(At::Number(n)) => plan.barriers[n as usize].parties > 1,
        Op::Barrier(_) => true,
        _ => false,
    }
}

/// Checks that a program that begins anew lets time pass, and that one that should end can.
fn ends(plan: &Plan, program: &Program, timed: bool) -> Result<()> {
    let name = || format!("workload.programs[{}]", program.name);
    if !timed && !exits(program) {
        return Err(Error::invalid(
            name(),
            "begins anew for ever without time passing and without waiting; put work into it",
        ));
    }
    let number = plan.programs.iter().position(|p| std::ptr::eq(p, program));
    let runs = plan.tasks.iter().any(|t| Some(t.program as usize) == number);
    if matches!(plan.end, End::AllExit(_)) && runs && !exits(program) {
        let reason = "never exits, but the run ends when every task has exited";
        return Err(Error::invalid(name(), reason));
    }
    Ok(())
}
