//! One run queue over time, driven by a script of events or by programs.
//!
//! *Open loop*: events happen when the script says, whatever the policy does. *Closed loop*: each
//! task follows a program, so that who runs when decides what happens next. The CPU is idle at the
//! start, the clock jumps from event to event, and switching costs what [`PathCosts`] says
//! (nothing by default).
//!
//! At equal times the end of what the running task does comes first, then wake-ups in the order of
//! task numbers, then the slice timer, then the tick.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::cpu::{Cpu, Order};
use super::entity::{TaskId, TaskSpec};
use super::operation::{Event, EventColumns, MAX_TIME, Operation, check_events, check_tasks};
use super::program::{Op, PathCosts, Program, check_programs};
use super::record::{Rows, Totals};
use super::runqueue::{Policy, Settings};
use crate::error::{Error, Result};
use crate::watch::Watch;

/// Most rows a timeline records: 29 columns of 8 bytes each make this 1.8 GiB.
pub const MAX_ROWS: usize = 1 << 23;

/// How many operations pass between two looks at the watch.
const LOOK: u64 = 4096;

/// What a timeline needs besides its events or programs.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The policy.
    pub policy: &'static Policy,
    /// Its settings.
    pub settings: Settings,
    /// The tasks.
    pub tasks: Vec<TaskSpec>,
    /// Record a row per operation.
    pub rows: bool,
}

/// The closed loop's own parameters.
#[derive(Debug, Clone, Copy)]
pub struct Loop {
    /// The run ends before this time, ns.
    pub until: i64,
    /// First tick, ns.
    pub tick0: i64,
    /// The slice timer fires so long after its expiry, ns.
    pub timer_latency: i64,
    /// Prices of kernel paths.
    pub costs: PathCosts,
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Rows, if they were wanted.
    pub rows: Option<Rows>,
    /// Totals per task.
    pub totals: Vec<Totals>,
    /// Operations that were ignored, as the protocol says.
    pub ignored: u64,
    /// Operations that were carried out.
    pub carried_out: u64,
    /// End of the run, ns.
    pub end: i64,
}

impl Scene {
    fn cpu(&self) -> Cpu {
        Cpu::new(self.policy, &self.settings, &self.tasks, self.rows)
    }

    /// Carries out a script; events at or after `until` are not reached.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] with the index of the first event that is wrong, before anything
    /// runs.
    pub fn run_events(
        &self,
        columns: EventColumns,
        until: Option<i64>,
        watch: &Watch,
    ) -> Result<Outcome> {
        check_tasks(self.policy, &self.tasks)?;
        if let Some(until) = until {
            check_time("until_ns", until)?;
        }
        let events = check_events(self.policy, self.tasks.len(), columns)?;
        if self.rows && events.len() > MAX_ROWS {
            return Err(too_many_rows());
        }
        let mut cpu = self.cpu();
        let end = until.unwrap_or(events.last().map_or(0, |e| e.t));
        let reached = match until {
            Some(until) => events.partition_point(|e| e.t < until),
            None => events.len(),
        };
        for block in events[..reached].chunks(LOOK as usize) {
            for &Event { t, op, task, value } in block {
                cpu.carry_out(Order { t, op, task, value, in_kernel: false });
            }
            watch.advance(block.len() as u64)?;
        }
        Ok(outcome(cpu, end))
    }

    /// Lets the tasks follow their programs.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] naming program and operation, before anything runs; or naming
    /// `until_ns` when more rows than [`MAX_ROWS`] would be recorded.
    pub fn run_programs(
        &self,
        programs: &[Program],
        parameters: Loop,
        watch: &Watch,
    ) -> Result<Outcome> {
        check_tasks(self.policy, &self.tasks)?;
        check_time("until_ns", parameters.until)?;
        check_time("tick0_ns", parameters.tick0)?;
        check_time("timer_latency_ns", parameters.timer_latency)?;
        parameters.costs.check()?;
        check_programs(self.tasks.len(), programs)?;
        let mut run = ClosedLoop::new(self.cpu(), self.settings.tick, programs, parameters);
        while run.step() {
            if run.steps.is_multiple_of(LOOK) {
                watch.advance(LOOK)?;
                if run.cpu.rows.as_ref().is_some_and(|rows| rows.len() > MAX_ROWS) {
                    return Err(too_many_rows());
                }
            }
        }
        Ok(outcome(run.cpu, parameters.until))
    }
}

fn check_time(name: &str, t: i64) -> Result<()> {
    if (0..=MAX_TIME).contains(&t) {
        Ok(())
    } else {
        Err(Error::invalid(name, format!("{t} ns is outside 0 to {MAX_TIME}")))
    }
}

fn too_many_rows() -> Error {
    Error::invalid(
        "until_ns",
        format!("more than {MAX_ROWS} rows; shorten the run or record totals only (rows=False)"),
    )
}

fn outcome(mut cpu: Cpu, end: i64) -> Outcome {
    Outcome {
        rows: cpu.rows.take(),
        totals: cpu.totals(end),
        ignored: cpu.ignored,
        carried_out: cpu.carried_out,
        end,
    }
}

/// What a task does when the path it is on ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// Goes on with its next operation.
    Continue,
    /// Wakes a receiver.
    Wake { to: u32, sync: bool },
    /// Looks for a message once more and sleeps if there is none.
    Receive,
    /// Sleeps for so many ns.
    Sleep(i64),
    /// Ends.
    Exit,
}

/// A task on its way through its program.
#[derive(Debug, Clone, Copy)]
struct Process {
    /// Next operation, and the program's bounds, in the list of all operations.
    at: usize,
    first: usize,
    end: usize,
    /// CPU time left in the present one, ns.
    left: i64,
    then: Then,
    in_kernel: bool,
    /// Sleeps in a receive.
    waiting: bool,
    started: bool,
    /// Messages not yet taken.
    messages: u64,
    /// Rounds left; 0 for ever.
    rounds: u64,
}

impl Process {
    fn new(first: usize, end: usize, rounds: u64) -> Self {
        Self {
            at: first,
            first,
            end,
            left: 0,
            then: Then::Continue,
            in_kernel: true,
            waiting: false,
            started: false,
            messages: 0,
            rounds,
        }
    }
}

/// What happens next.
enum Next {
    SegmentEnd(TaskId),
    Wakeup(TaskId),
    SliceTimer,
    Tick,
}

struct ClosedLoop {
    cpu: Cpu,
    /// Operations of all programs, one after the other.
    ops: Vec<Op>,
    processes: Vec<Process>,
    /// Forks and ends of sleeps to come: time and task.
    alarms: BinaryHeap<Reverse<(i64, u32)>>,
    parameters: Loop,
    tick: i64,
    next_tick: i64,
    now: i64,
    steps: u64,
}

impl ClosedLoop {
    fn new(cpu: Cpu, tick: i64, programs: &[Program], parameters: Loop) -> Self {
        let mut alarms = BinaryHeap::with_capacity(programs.len());
        let starting = programs.iter().enumerate().filter(|(_, p)| !p.ops.is_empty());
        alarms.extend(starting.map(|(i, p)| Reverse((p.start, i as u32))));
        let mut ops = Vec::with_capacity(programs.iter().map(|p| p.ops.len()).sum());
        let mut processes = Vec::with_capacity(programs.len());
        for program in programs {
            let first = ops.len();
            ops.extend_from_slice(&program.ops);
            processes.push(Process::new(first, ops.len(), program.repeat));
        }
        let next_tick = parameters.tick0;
        Self { cpu, ops, processes, alarms, next_tick, parameters, tick, now: 0, steps: 0 }
    }

    fn process(&mut self, id: TaskId) -> &mut Process {
        &mut self.processes[id.0 as usize]
    }

    /// Handles what happens next; returns false at the end of the run.
    fn step(&mut self) -> bool {
        self.steps += 1;
        let running = self.cpu.running();
        if running.is_none() && !self.skip_idle_ticks() {
            return false;
        }
        let (t, next) = self.earliest(running);
        if t >= self.parameters.until {
            return false;
        }
        if let Some(curr) = running {
            let ran = t - self.now;
            self.process(curr).left -= ran;
        }
        self.now = t;
        match next {
            Next::SegmentEnd(id) => self.segment_end(id),
            Next::Wakeup(id) => self.alarm(id),
            Next::SliceTimer => self.order(Operation::Hrtick, -1),
            Next::Tick => {
                self.next_tick += self.tick;
                if running.is_some() {
                    self.order(Operation::Tick, -1);
                }
            }
        }
        true
    }

    /// Moves the tick past the idle time ahead; returns false if nothing will ever happen.
    fn skip_idle_ticks(&mut self) -> bool {
        let Some(&Reverse((t, _))) = self.alarms.peek() else { return false };
        if self.next_tick < t {
            let missed = (t - self.next_tick - 1) / self.tick + 1;
            self.next_tick += missed * self.tick;
        }
        true
    }

    fn earliest(&self, running: Option<TaskId>) -> (i64, Next) {
        let mut best = (self.next_tick, Next::Tick);
        if let Some(expiry) = self.cpu.slice_timer() {
            let t = expiry + self.parameters.timer_latency;
            if t <= best.0 {
                best = (t, Next::SliceTimer);
            }
        }
        if let Some(&Reverse((t, id))) = self.alarms.peek()
            && t <= best.0
        {
            best = (t, Next::Wakeup(TaskId(id)));
        }
        if let Some(curr) = running {
            let t = self.now + self.processes[curr.0 as usize].left;
            if t <= best.0 {
                best = (t, Next::SegmentEnd(curr));
            }
        }
        best
    }

    /// Carries out an operation on the run queue; the incoming task pays for a switch.
    #[inline(always)]
    fn order(&mut self, op: Operation, task: i64) {
        let before = self.cpu.running();
        let in_kernel = before.is_some_and(|c| self.processes[c.0 as usize].in_kernel);
        self.cpu.carry_out(Order { t: self.now, op, task, value: 0, in_kernel });
        let after = self.cpu.running();
        if after != before
            && let Some(id) = after
        {
            let price = self.parameters.costs.switch;
            self.process(id).left += price;
        }
    }

    fn alarm(&mut self, id: TaskId) {
        self.alarms.pop();
        if std::mem::replace(&mut self.process(id).started, true) {
            self.order(Operation::Wake, i64::from(id.0));
        } else {
            self.order(Operation::Fork, i64::from(id.0));
        }
    }

    /// The running task finished what it was doing: goes on until something takes time.
    fn segment_end(&mut self, id: TaskId) {
        loop {
            match std::mem::replace(&mut self.process(id).then, Then::Continue) {
                Then::Continue => {}
                Then::Wake { to, sync } => self.wake(to, sync),
                Then::Receive => {
                    if !self.take_message(id) {
                        self.process(id).waiting = true;
                        return self.order(Operation::Block, -1);
                    }
                }
                Then::Sleep(ns) => return self.sleep(id, ns),
                Then::Exit => {
                    self.order(Operation::Sblock, -1);
                    return self.cpu.gone(id);
                }
            }
            self.advance(id);
            if self.cpu.running() != Some(id) || self.process(id).left > 0 {
                return;
            }
        }
    }

    /// Carries out operations up to one that takes time or ends the task's turn.
    fn advance(&mut self, id: TaskId) {
        while self.cpu.running() == Some(id) {
            let op = self.next_op(id);
            let costs = self.parameters.costs;
            match op {
                Op::Run(ns) => return self.enter_user(id, ns),
                Op::Kernel(ns) => return self.enter_kernel(id, ns, Then::Continue),
                Op::Send { to, sync } => {
                    let receiver = &mut self.processes[to as usize];
                    receiver.messages += 1;
                    if receiver.waiting {
                        return self.enter_kernel(id, costs.wake, Then::Wake { to, sync });
                    }
                }
                Op::Receive => {
                    if !self.take_message(id) {
                        return self.enter_kernel(id, costs.block, Then::Receive);
                    }
                }
                Op::Sleep(ns) => return self.enter_kernel(id, costs.block, Then::Sleep(ns)),
                Op::Yield => self.order(Operation::Yield, -1),
                Op::Exit => return self.enter_kernel(id, 0, Then::Exit),
            }
        }
    }

    /// Returns the next operation; the end of the list is a round, and the last round an exit.
    fn next_op(&mut self, id: TaskId) -> Op {
        let process = &mut self.processes[id.0 as usize];
        if process.at == process.end {
            process.at = process.first;
            self.cpu.count_round(id);
            if process.rounds == 1 {
                return Op::Exit;
            }
            process.rounds = process.rounds.saturating_sub(1);
        }
        process.at += 1;
        self.ops[process.at - 1]
    }

    /// Goes on in kernel mode for `ns`, which may be 0, then does `then`.
    fn enter_kernel(&mut self, id: TaskId, ns: i64, then: Then) {
        let process = self.process(id);
        process.left = ns;
        process.then = then;
        process.in_kernel = true;
    }

    /// Returns to user mode, where a waiting reschedule takes effect.
    fn enter_user(&mut self, id: TaskId, ns: i64) {
        let process = self.process(id);
        process.left = ns;
        process.in_kernel = false;
        if self.cpu.resched_waits() {
            self.order(Operation::Resched, -1);
        }
    }

    fn take_message(&mut self, id: TaskId) -> bool {
        let process = self.process(id);
        let found = process.messages > 0;
        process.messages -= u64::from(found);
        found
    }

    fn wake(&mut self, to: u32, sync: bool) {
        let receiver = &mut self.processes[to as usize];
        if receiver.waiting {
            receiver.waiting = false;
            receiver.then = Then::Receive;
            if sync {
                self.order(Operation::Swake, i64::from(to));
            } else {
                self.order(Operation::Wake, i64::from(to));
            }
        }
    }

    fn sleep(&mut self, id: TaskId, ns: i64) {
        self.alarms.push(Reverse((self.now.saturating_add(ns), id.0)));
        self.order(Operation::Block, -1);
    }
}
