//! Programs: what each task does when it has the CPU, as data.
//!
//! A program is a list of operations, repeated a number of times or for ever. Tasks exchange
//! messages through counters: a message to a task that waits in [`Op::Receive`] wakes it, any other
//! message only raises the counter, which the next receive finds (no sleep, no wake-up).

use super::operation::MAX_TIME;
use crate::error::{Error, Result};

/// One operation of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Runs for so many ns in user mode, where a reschedule takes effect at once.
    Run(i64),
    /// Runs for so many ns in kernel mode: a reschedule waits for the next [`Op::Run`] or sleep.
    Kernel(i64),
    /// Sends a message to a task.
    Send {
        /// Number of the receiver.
        to: u32,
        /// The wake-up it may cause is synchronous.
        sync: bool,
    },
    /// Takes a message, or sleeps until one comes.
    Receive,
    /// Sleeps for so many ns.
    Sleep(i64),
    /// Steps back once.
    Yield,
    /// Ends the task.
    Exit,
}

/// What one task does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    /// When the task is forked, ns.
    pub start: i64,
    /// Operations in order; a task without any never starts.
    pub ops: Vec<Op>,
    /// How often the list is carried out; 0 means for ever. Then the task exits.
    pub repeat: u64,
}

/// Most operations of all programs together: their places are counted in 32 bits.
const MAX_OPS: usize = u32::MAX as usize;

/// Prices of kernel paths, ns of CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathCosts {
    /// Paid by a task each time it is switched in.
    pub switch: i64,
    /// Paid by a task before it sleeps.
    pub block: i64,
    /// Paid by the sender before it wakes a receiver.
    pub wake: i64,
}

impl Program {
    /// Returns the program that runs and sleeps alternately, for ever.
    pub fn bursts(start: i64, pairs: &[(i64, i64)]) -> Self {
        let ops = pairs.iter().flat_map(|&(run, sleep)| [Op::Run(run), Op::Sleep(sleep)]);
        Self { start, ops: ops.collect(), repeat: 0 }
    }
}

impl PathCosts {
    /// Checks that no price is negative or absurd.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] that names the price.
    pub fn check(&self) -> Result<()> {
        let named = [("switch_ns", self.switch), ("block_ns", self.block), ("wake_ns", self.wake)];
        for (name, value) in named {
            if !(0..=1_000_000_000).contains(&value) {
                return Err(Error::invalid(
                    format!("costs[{name:?}]"),
                    format!("{value} ns is outside 0 to 1000000000"),
                ));
            }
        }
        Ok(())
    }
}

/// Programs as they come from outside: all operations in one row, cut at `ends`.
#[derive(Debug, Clone, Copy)]
pub struct ProgramColumns<'a> {
    /// When each task is forked, ns.
    pub start: &'a [i64],
    /// How often each program is carried out; 0 for ever.
    pub repeat: &'a [i64],
    /// End of each program in the columns below.
    pub ends: &'a [i64],
    /// Positions in [`OPS`].
    pub op: &'a [u8],
    /// Length in ns or receiver; otherwise 0.
    pub value: &'a [i64],
}

/// Words of the operations of programs, in the order of their codes.
pub const OPS: [&str; 8] =
    ["run", "kernel", "send", "send-sync", "receive", "sleep", "yield", "exit"];

/// Returns the programs, not yet checked against the tasks.
///
/// # Errors
/// [`Error::Shape`] for columns of unequal length, [`Error::InvalidParameter`] naming program and
/// operation for an unknown code, a negative repeat, or ends out of order.
pub fn programs_from_columns(columns: ProgramColumns) -> Result<Vec<Program>> {
    let n = columns.start.len();
    let (repeats, ends) = (columns.repeat.len(), columns.ends.len());
    let (ops, values) = (columns.op.len(), columns.value.len());
    for (name, expected, found) in
        [("repeat", n, repeats), ("ends", n, ends), ("value", ops, values)]
    {
        if found != expected {
            return Err(Error::Shape { name: format!("programs.{name}"), expected, found });
        }
    }
    let mut from = 0;
    (0..n)
        .map(|i| {
            let named = |reason: &str| Error::invalid(format!("programs[{i}]"), reason);
            let to = usize::try_from(columns.ends[i]).unwrap_or(usize::MAX);
            let codes = columns.op.get(from..to).ok_or_else(|| named("ends out of order"))?;
            let repeat =
                u64::try_from(columns.repeat[i]).map_err(|_| named("repeat is negative"))?;
            let ops = codes
                .iter()
                .zip(&columns.value[from..to])
                .enumerate()
                .map(|(j, (&code, &value))| {
                    decode(code, value)
                        .map_err(|e| Error::invalid(format!("programs[{i}].ops[{j}]"), e))
                })
                .collect::<Result<_>>()?;
            from = to;
            Ok(Program { start: columns.start[i], ops, repeat })
        })
        .collect()
}

fn decode(code: u8, value: i64) -> std::result::Result<Op, String> {
    let receiver = || {
        u32::try_from(value).map_err(|_| format!("message to task {value}, which does not exist"))
    };
    Ok(match code {
        0 => Op::Run(value),
        1 => Op::Kernel(value),
        2 => Op::Send { to: receiver()?, sync: false },
        3 => Op::Send { to: receiver()?, sync: true },
        4 => Op::Receive,
        5 => Op::Sleep(value),
        6 => Op::Yield,
        7 => Op::Exit,
        _ => return Err(format!("{code} is not the code of an operation")),
    })
}

/// Checks one program per task.
///
/// # Errors
/// [`Error::Shape`] if there is not one per task, [`Error::InvalidParameter`] naming the program
/// and the operation otherwise.
pub fn check_programs(ntasks: usize, programs: &[Program]) -> Result<()> {
    if programs.len() != ntasks {
        return Err(Error::Shape {
            name: "programs".into(),
            expected: ntasks,
            found: programs.len(),
        });
    }
    let ops: usize = programs.iter().map(|p| p.ops.len()).sum();
    if ops > MAX_OPS {
        let reason = format!("{ops} operations in all; at most {MAX_OPS} are supported");
        return Err(Error::invalid("programs", reason));
    }
    for (i, program) in programs.iter().enumerate() {
        check_program(ntasks, program)
            .map_err(|(place, reason)| Error::invalid(format!("programs[{i}]{place}"), reason))?;
    }
    Ok(())
}

fn check_program(ntasks: usize, program: &Program) -> std::result::Result<(), (String, String)> {
    if !(0..=MAX_TIME).contains(&program.start) {
        return Err((
            ".start_ns".into(),
            format!("{} ns is outside 0 to {MAX_TIME}", program.start),
        ));
    }
    for (j, op) in program.ops.iter().enumerate() {
        check_op(ntasks, *op).map_err(|reason| (format!(".ops[{j}]"), reason))?;
    }
    let takes_time = |op: &Op| matches!(op, Op::Run(_) | Op::Kernel(_) | Op::Sleep(_) | Op::Exit);
    if program.repeat != 1 && !program.ops.is_empty() && !program.ops.iter().any(takes_time) {
        return Err((
            String::new(),
            "repeats without ever taking time; add a run or a sleep".to_owned(),
        ));
    }
    Ok(())
}

fn check_op(ntasks: usize, op: Op) -> std::result::Result<(), String> {
    match op {
        Op::Run(ns) | Op::Kernel(ns) | Op::Sleep(ns) if !(1..=MAX_TIME).contains(&ns) => {
            Err(format!("{ns} ns is outside 1 to {MAX_TIME}"))
        }
        Op::Send { to, .. } if to as usize >= ntasks => {
            Err(format!("message to task {to}, but there are {ntasks} tasks, counted from 0"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_program_that_takes_no_time_is_refused() {
        let idle = Program { ops: vec![Op::Receive, Op::Yield], ..Program::default() };
        let e = check_programs(1, &[idle]).unwrap_err().to_string();
        assert!(e.contains("programs[0]"), "{e}");
    }

    #[test]
    fn every_word_has_a_code_and_no_code_more() {
        for code in 0..=255u8 {
            assert_eq!(decode(code, 1).is_ok(), usize::from(code) < OPS.len());
        }
    }

    #[test]
    fn an_empty_burst_is_refused_by_place() {
        for bad in [0, -1, i64::MIN, i64::MAX] {
            let e = check_programs(1, &[Program::bursts(0, &[(5, 5), (bad, 5)])]).unwrap_err();
            assert!(e.to_string().contains("programs[0].ops[2]"), "{e}");
        }
    }
}
