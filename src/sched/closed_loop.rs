//! The closed loop: tasks follow their programs, so that who runs when decides what happens next.
//!
//! At equal times the end of what the running task does comes first, then wake-ups in the order of
//! task numbers, then the slice timer, then the tick.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::cpu::{Cpu, Order};
use super::entity::TaskId;
use super::operation::Operation;
use super::program::{Op, Program};
use super::runqueue::Runqueue;
use super::timeline::Loop;

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

/// A task on its way through its program: one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Process {
    /// Next operation, and the program's bounds, in the list of all operations.
    at: u32,
    first: u32,
    end: u32,
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
    fn new(first: u32, end: u32, rounds: u64) -> Self {
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

/// A time and a task in one number, which compares without a branch: by time, then by task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Alarm(u128);

impl Alarm {
    /// `t` is not negative.
    fn new(t: i64, task: u32) -> Self {
        Self(u128::from(t as u64) << 32 | u128::from(task))
    }

    fn time(self) -> i64 {
        (self.0 >> 32) as i64
    }

    fn task(self) -> TaskId {
        TaskId(self.0 as u32)
    }
}

/// What happens next.
enum Next {
    SegmentEnd(TaskId),
    Wakeup(TaskId),
    SliceTimer,
    Tick,
}

pub(super) struct ClosedLoop<R> {
    pub cpu: Cpu<R>,
    /// Operations of all programs, one after the other.
    ops: Vec<Op>,
    processes: Vec<Process>,
    /// Forks and ends of sleeps to come.
    alarms: BinaryHeap<Reverse<Alarm>>,
    parameters: Loop,
    tick: i64,
    next_tick: i64,
    now: i64,
    pub steps: u64,
}

impl<R: Runqueue> ClosedLoop<R> {
    pub fn new(cpu: Cpu<R>, tick: i64, programs: &[Program], parameters: Loop) -> Self {
        let mut alarms = BinaryHeap::with_capacity(programs.len());
        let starting = programs.iter().enumerate().filter(|(_, p)| !p.ops.is_empty());
        alarms.extend(starting.map(|(i, p)| Reverse(Alarm::new(p.start, i as u32))));
        let mut ops = Vec::with_capacity(programs.iter().map(|p| p.ops.len()).sum());
        let mut processes = Vec::with_capacity(programs.len());
        for program in programs {
            let first = ops.len() as u32;
            ops.extend_from_slice(&program.ops);
            processes.push(Process::new(first, ops.len() as u32, program.repeat));
        }
        let next_tick = parameters.tick0;
        Self { cpu, ops, processes, alarms, next_tick, parameters, tick, now: 0, steps: 0 }
    }

    fn process(&mut self, id: TaskId) -> &mut Process {
        &mut self.processes[id.0 as usize]
    }

    /// Handles what happens next; returns false at the end of the run.
    pub fn step(&mut self) -> bool {
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
        let Some(&Reverse(alarm)) = self.alarms.peek() else { return false };
        let t = alarm.time();
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
        if let Some(&Reverse(alarm)) = self.alarms.peek()
            && alarm.time() <= best.0
        {
            best = (alarm.time(), Next::Wakeup(alarm.task()));
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
        self.ops[process.at as usize - 1]
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
        self.alarms.push(Reverse(Alarm::new(self.now.saturating_add(ns), id.0)));
        self.order(Operation::Block, -1);
    }
}
