//! What can happen to a run queue, as words and as checked events.

use super::entity::{Class, TaskSpec};
use super::runqueue::Policy;
use super::weights::{MAX_NICE, MIN_NICE};
use crate::error::{Error, Result};

/// Largest time accepted anywhere, ns: sums of two times stay within 64 bits (146 years).
pub const MAX_TIME: i64 = (1 << 62) - 1;

/// Most tasks on one machine (Linux `PID_MAX_LIMIT`).
pub const MAX_TASKS: u64 = 4 << 20;

/// One kind of event. The words are those of [`OPERATIONS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    /// A new task becomes runnable.
    Fork,
    /// A sleeping or delayed task is woken.
    Wake,
    /// The same by a waker that is about to sleep.
    Swake,
    /// The running task goes to sleep.
    Block,
    /// The running task goes to sleep in a special state, which is never delayed.
    Sblock,
    /// The running task steps back.
    Yield,
    /// Timer tick.
    Tick,
    /// The slice timer expires.
    Hrtick,
    /// A queued task leaves for another CPU.
    Migout,
    /// It arrives.
    Migin,
    /// Change of the nice value.
    Nice,
    /// Change of the slice.
    Slice,
    /// A reschedule asked for in kernel mode is carried out at the return to user mode.
    Resched,
}

/// Words of the operations, in the order of [`Operation`]; the last one only appears in results.
pub const OPERATIONS: [&str; 13] = [
    "FORK", "WAKE", "SWAKE", "BLOCK", "SBLOCK", "YIELD", "TICK", "HRTICK", "MIGOUT", "MIGIN",
    "NICE", "SLICE", "RESCHED",
];

/// The operations that may be asked for, in the order of their codes.
const ASKABLE: [Operation; 12] = [
    Operation::Fork,
    Operation::Wake,
    Operation::Swake,
    Operation::Block,
    Operation::Sblock,
    Operation::Yield,
    Operation::Tick,
    Operation::Hrtick,
    Operation::Migout,
    Operation::Migin,
    Operation::Nice,
    Operation::Slice,
];

impl Operation {
    /// Returns true if the operation concerns whichever task runs.
    pub fn concerns_running(self) -> bool {
        use Operation::{Block, Hrtick, Resched, Sblock, Tick, Yield};
        matches!(self, Block | Sblock | Yield | Tick | Hrtick | Resched)
    }
}

/// One event of an open-loop script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When, ns.
    pub t: i64,
    /// What.
    pub op: Operation,
    /// Which task; -1 where it concerns the running one.
    pub task: i64,
    /// New nice value or slice in ns; otherwise 0.
    pub value: i64,
}

/// Columns of a script as they come from outside; all of one length.
#[derive(Debug, Clone, Copy)]
pub struct EventColumns<'a> {
    /// Times, ns.
    pub t: &'a [i64],
    /// Positions in [`OPERATIONS`].
    pub op: &'a [u8],
    /// Task numbers or -1.
    pub task: &'a [i64],
    /// Values of NICE and SLICE.
    pub value: &'a [i64],
}

/// Returns the script as events, or the first thing wrong with it.
///
/// # Errors
/// [`Error::InvalidParameter`] that names the index of the event.
pub fn check_events(policy: &Policy, ntasks: usize, columns: EventColumns) -> Result<Vec<Event>> {
    let n = columns.t.len();
    for (name, found) in
        [("op", columns.op.len()), ("task", columns.task.len()), ("value", columns.value.len())]
    {
        if found != n {
            return Err(Error::Shape { name: format!("events.{name}"), expected: n, found });
        }
    }
    let mut last = 0;
    let mut events = Vec::with_capacity(n);
    for i in 0..n {
        let event = event_at(columns, i)?;
        check_event(policy, ntasks, &event, last)
            .map_err(|reason| Error::invalid(format!("events[{i}]"), reason))?;
        last = event.t;
        events.push(event);
    }
    Ok(events)
}

fn event_at(columns: EventColumns, i: usize) -> Result<Event> {
    let code = columns.op[i];
    let op = *ASKABLE.get(usize::from(code)).ok_or_else(|| {
        Error::invalid(format!("events[{i}]"), format!("{code} is not the code of an operation"))
    })?;
    Ok(Event { t: columns.t[i], op, task: columns.task[i], value: columns.value[i] })
}

fn check_event(
    policy: &Policy,
    ntasks: usize,
    event: &Event,
    last: i64,
) -> std::result::Result<(), String> {
    let Event { t, op, task, value } = *event;
    let word = OPERATIONS[op as usize];
    if !(0..=MAX_TIME).contains(&t) {
        return Err(format!("time {t} ns is outside 0 to {MAX_TIME}"));
    }
    if t < last {
        return Err(format!(
            "time {t} ns is before the previous event's {last} ns; sort the events"
        ));
    }
    if op.concerns_running() {
        if task != -1 {
            return Err(format!("{word} concerns the running task: give -1, not {task}"));
        }
    } else if !(0..ntasks as i64).contains(&task) {
        return Err(format!("{word} of task {task}, but there are {ntasks} tasks, counted from 0"));
    }
    match op {
        Operation::Nice => check_nice(value),
        Operation::Slice => check_slice(policy, value),
        _ => Ok(()),
    }
}

fn check_slice(policy: &Policy, slice: i64) -> std::result::Result<(), String> {
    if slice < 0 {
        Err(format!("slice {slice} ns is negative; 0 means the base slice"))
    } else if slice > MAX_TIME {
        Err(format!("slice {slice} ns is longer than {MAX_TIME} ns"))
    } else if slice > 0 && !policy.custom_slices {
        Err(format!("policy {:?} has no custom slices; give 0", policy.name))
    } else {
        Ok(())
    }
}

/// Columns of tasks as they come from outside; all of one length.
#[derive(Debug, Clone, Copy)]
pub struct TaskColumns<'a> {
    /// Nice values.
    pub nice: &'a [i64],
    /// Positions in [`CLASSES`].
    pub class: &'a [u8],
    /// Slices, ns; 0 for the base slice.
    pub slice: &'a [i64],
}

/// Words of the scheduling classes, in the order of their codes.
pub const CLASSES: [(&str, Class); 3] =
    [("normal", Class::Normal), ("batch", Class::Batch), ("idle", Class::Idle)];

/// Returns the tasks, or the first thing wrong with them; nothing is allocated before the number
/// of tasks is checked.
///
/// # Errors
/// [`Error::InvalidParameter`] that names the index of the task, [`Error::Shape`] for columns of
/// unequal length.
pub fn tasks_from_columns(policy: &Policy, columns: TaskColumns) -> Result<Vec<TaskSpec>> {
    let n = columns.nice.len();
    for (name, found) in [("class", columns.class.len()), ("slice_ns", columns.slice.len())] {
        if found != n {
            return Err(Error::Shape { name: format!("tasks.{name}"), expected: n, found });
        }
    }
    check_count(n)?;
    (0..n)
        .map(|i| {
            let (nice, code, slice) = (columns.nice[i], columns.class[i], columns.slice[i]);
            let named = |reason| Error::invalid(format!("tasks[{i}]"), reason);
            check_nice(nice).map_err(named)?;
            check_slice(policy, slice).map_err(named)?;
            let class = CLASSES
                .get(usize::from(code))
                .ok_or_else(|| named(format!("{code} is not the code of a class")))?
                .1;
            Ok(TaskSpec { nice: nice as i8, class, slice })
        })
        .collect()
}

/// Checks the number of tasks and each task's nice value and slice.
///
/// # Errors
/// [`Error::InvalidParameter`] that names the index of the task.
pub fn check_tasks(policy: &Policy, tasks: &[TaskSpec]) -> Result<()> {
    check_count(tasks.len())?;
    for (i, task) in tasks.iter().enumerate() {
        check_nice(i64::from(task.nice))
            .and_then(|()| check_slice(policy, task.slice))
            .and_then(|()| check_class(policy, task.class))
            .map_err(|reason| Error::invalid(format!("tasks[{i}]"), reason))?;
    }
    Ok(())
}

fn check_class(policy: &Policy, class: Class) -> std::result::Result<(), String> {
    if policy.classes.contains(&class) {
        return Ok(());
    }
    let words = |has: bool| {
        let chosen = CLASSES.iter().filter(|(_, c)| policy.classes.contains(c) == has);
        chosen.map(|(word, _)| *word).collect::<Vec<_>>().join(", ")
    };
    Err(format!("policy {:?} has no class {}; use {}", policy.name, words(false), words(true)))
}

fn check_count(n: usize) -> Result<()> {
    if n as u64 > MAX_TASKS {
        let reason = format!("{n} tasks; at most {MAX_TASKS} are supported");
        return Err(Error::invalid("tasks", reason));
    }
    Ok(())
}

fn check_nice(nice: i64) -> std::result::Result<(), String> {
    if (MIN_NICE..=MAX_NICE).contains(&nice) {
        Ok(())
    } else {
        Err(format!("nice {nice} is outside {MIN_NICE} to {MAX_NICE}"))
    }
}
