//! Refuses plans that cannot run, before anything runs.
//!
//! Three looks: every number against its range, every program by itself (loops, locks, progress), and
//! all tasks together (who ever sends to whom). What passes may still starve, but it refers to nothing
//! that does not exist, does not wait for a message that nobody can send, and does not loop without
//! time passing.

mod amounts;
mod flow;
mod refs;
mod shape;

use super::{End, Plan, Program};
use crate::error::{Error, Result};
use crate::machine::Machine;

/// Most tasks of a run, those that may be forked included.
pub const MAX_TASKS: u64 = 2_000_000;

/// Memory of one task in the engine, bytes; for messages only.
pub(super) const TASK_BYTES: u64 = 1024;

/// Longest time of any kind, ns: eleven days, small enough that sums and products stay in 63 bits.
const MAX_TIME: i64 = 1_000_000_000_000_000;

/// Most channels, and most handles of all tasks together.
const MAX_CHANNELS: usize = 8_000_000;

/// Most operations of all programs together.
const MAX_OPS: usize = 1_000_000;

/// Refuses a plan that cannot run on the machine.
///
/// # Errors
/// [`Error::InvalidParameter`] that names the field, the program and the operation:
/// `workload.programs[client].ops[3]`.
pub fn check(plan: &Plan, machine: &Machine) -> Result<()> {
    sizes(plan)?;
    times(plan)?;
    amounts::things(plan)?;
    for program in &plan.programs {
        for (index, op) in program.ops.iter().enumerate() {
            amounts::op(plan, program, index, op)?;
            refs::op(plan, program, index, op)?;
        }
        shape::program(plan, program)?;
    }
    refs::tasks(plan, machine)?;
    flow::check(plan)
}

/// Returns the error of one operation.
fn at(program: &Program, index: usize, reason: impl Into<String>) -> Error {
    Error::invalid(format!("workload.programs[{}].ops[{index}]", program.name), reason)
}

fn sizes(plan: &Plan) -> Result<()> {
    if plan.tasks.is_empty() {
        return Err(Error::invalid("workload.tasks", "no task: at least one has to run"));
    }
    let tasks = plan.tasks.len() as u64 + u64::from(plan.spare);
    if tasks > MAX_TASKS {
        let gb = tasks as f64 * TASK_BYTES as f64 / 1e9;
        return Err(Error::invalid(
            "workload.tasks",
            format!(
                "{tasks} tasks need about {gb:.1} GB, at most {MAX_TASKS} are run; use fewer \
                 clients, or one last-level cache's share of the machine"
            ),
        ));
    }
    let limits = [
        ("workload.channels", plan.channels.len(), MAX_CHANNELS),
        ("workload.handles", plan.handles.len(), 8 * MAX_CHANNELS),
        ("workload.programs", plan.programs.iter().map(|p| p.ops.len()).sum(), MAX_OPS),
        ("workload.locks", plan.locks.len(), MAX_CHANNELS),
        ("workload.lines", plan.lines as usize, MAX_CHANNELS),
        ("workload.tables", plan.tables.iter().map(Vec::len).sum(), MAX_OPS),
    ];
    for (name, found, most) in limits {
        if found > most {
            return Err(Error::invalid(name, format!("{found} are too many, at most {most}")));
        }
    }
    match plan.programs.iter().find(|p| p.ops.is_empty()) {
        Some(p) => {
            Err(Error::invalid(format!("workload.programs[{}]", p.name), "has no operations"))
        }
        None => Ok(()),
    }
}

fn times(plan: &Plan) -> Result<()> {
    let end = match plan.end {
        End::Window => plan.window,
        End::AllExit(limit) => limit,
    };
    let paths = [
        ("block", plan.paths.block),
        ("wake", plan.paths.wake),
        ("refill", plan.paths.refill),
        ("cold_message", plan.paths.cold_message),
    ];
    let paths = paths.iter().map(|&(n, v)| (format!("workload.paths.{n}"), v.unwrap_or(0), 0));
    let own = [
        ("workload.warmup".to_owned(), plan.warmup, 0),
        ("workload.window".to_owned(), plan.window, 1),
        ("workload.end".to_owned(), end, 1),
    ];
    for (name, value, least) in own.into_iter().chain(paths) {
        if !(least..=MAX_TIME).contains(&value) {
            let reason = format!("{value} ns is not between {least} and {MAX_TIME}");
            return Err(Error::invalid(name, reason));
        }
    }
    Ok(())
}
