//! What each operation of a program means.

use super::cpu::{FULL, NONE};
use super::metrics::record;
use super::sim::{Sim, is_user};
use super::task::{Task, Then, Waits};
use crate::sched::Resched;
use crate::workload::{Amount, At, Op, Spread};

/// Whether the task goes on at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// With the next operation.
    Next,
    /// When the work in hand is done, or when it is woken.
    Busy,
}

impl Sim<'_> {
    /// The work in hand is done.
    pub(super) fn task_ended(&mut self, c: usize) {
        let id = self.cpus[c].cur;
        let task = &mut self.tasks[id as usize];
        task.left = 0;
        task.timed = false;
        match task.then {
            Then::Fetch | Then::Retry => self.fetch(c, id),
            Then::Deliver | Then::DeliverRetry => {
                task.then = Then::Retry;
                self.finish_wake(c, id);
                self.fetch(c, id);
            }
            Then::Recheck => self.recheck(c, id),
            Then::Sleep => self.sleep(c, id),
            Then::Io(device) => self.submit(c, id, device),
            Then::Spin => self.stop_spinning(c, id),
            Then::Release => self.release_next(c, id),
        }
    }

    /// Carries out operations until one takes time or waits.
    pub(super) fn fetch(&mut self, c: usize, id: u32) {
        let plan = self.plan;
        for _ in 0..self.patience() {
            let task = &mut self.tasks[id as usize];
            let ops = &plan.programs[task.program as usize].ops;
            if task.ip as usize >= ops.len() {
                task.ip = 0;
                task.depth = 0;
            }
            let op = &ops[task.ip as usize];
            if is_user(op) && self.queues[c].common().resched != Resched::No {
                // Preemption takes effect on the way back to user mode.
                self.tasks[id as usize].plan(0, false, Then::Retry);
                self.cpus[c].in_kernel = false;
                self.schedule(c);
                return;
            }
            self.cpus[c].streams = matches!(op, Op::Memory(_));
            if self.operate(c, id, op) == Flow::Busy {
                return;
            }
        }
        self.endless(id);
    }

    fn operate(&mut self, c: usize, id: u32, op: &Op) -> Flow {
        match *op {
            Op::Run(amount) => self.work(c, id, &amount, false),
            Op::Kernel(amount) => self.work(c, id, &amount, true),
            Op::Send { to: At::Caller, .. } if self.tasks[id as usize].caller == NONE => {
                self.uncalled(id);
                Flow::Busy
            }
            Op::Send { to, reply } => {
                let to = self.resolve(id, to);
                let reply = reply.map_or(NONE, |r| self.resolve(id, r));
                self.send(c, id, to, reply)
            }
            Op::Receive(from) => {
                let from = self.resolve(id, from);
                self.receive(c, id, from)
            }
            Op::Spin(amount) => {
                let until = self.now + self.draw(id, &amount);
                self.take_time(c, id, Then::Fetch, until)
            }
            Op::Sleep(amount) => {
                let until = self.now + self.draw(id, &amount);
                self.go_to_sleep(c, id, until)
            }
            Op::Every(period) => self.every(c, id, period),
            Op::Post(board) => {
                let board = self.resolve(id, board);
                self.post(c, id, board)
            }
            Op::Release { board, each } => {
                let board = self.resolve(id, board);
                self.release(c, id, board, &each)
            }
            Op::Lock(at) => {
                let lock = self.resolve(id, at);
                self.take_lock(c, id, lock)
            }
            Op::Unlock(at) => {
                let lock = self.resolve(id, at);
                self.give_lock(c, id, lock)
            }
            Op::Line(at) => {
                let line = self.resolve(id, at);
                self.write_line(c, id, line)
            }
            Op::Barrier(at) => {
                let barrier = self.resolve(id, at);
                self.meet(c, id, barrier)
            }
            Op::Io(at) => {
                let device = self.resolve(id, at);
                let block = self.prices.costs.block;
                self.spend(c, id, block, true, Then::Io(device))
            }
            Op::Memory(bytes) => self.stream(c, id, bytes),
            Op::Touch(bytes) => self.touch(c, id, bytes),
            Op::Fork(program) => self.fork(c, id, program),
            Op::Wait => self.wait_child(c, id),
            Op::Yield => {
                let task = self.next_op(id);
                task.plan(0, true, Then::Fetch);
                self.queues[c].yield_now(&mut self.entities, self.now);
                self.schedule(c);
                Flow::Busy
            }
            Op::Exit => {
                self.exit(c, id);
                Flow::Busy
            }
            _ => self.bookkeeping(id, op),
        }
    }

    /// Operations that take no time.
    fn bookkeeping(&mut self, id: u32, op: &Op) -> Flow {
        let now = self.now;
        let task = &mut self.tasks[id as usize];
        match *op {
            Op::Count(counter) => self.metrics.counters[counter as usize] += 1,
            Op::Stamp => task.stamp = now,
            Op::Record(latency) => {
                record(&mut self.metrics.latencies[latency as usize], now - task.stamp);
            }
            Op::Draw(table) => {
                let rows = &self.plan.tables[table as usize];
                let total: u64 = rows.iter().map(|r| u64::from(r.weight)).sum();
                let mut at = task.random.below(total);
                let row = rows.iter().find(|r| {
                    let weight = u64::from(r.weight);
                    let here = at < weight;
                    at = at.wrapping_sub(weight);
                    here
                });
                task.registers = row.map_or(task.registers, |r| r.registers);
            }
            Op::Unless { permille, skip } => {
                let skips = task.random.below(1000) >= u64::from(permille);
                task.ip += if skips { u32::from(skip) } else { 0 };
            }
            Op::Repeat(times) => {
                task.loops[task.depth as usize] = (times, task.ip);
                task.depth += 1;
            }
            Op::Next => {
                let (times, begin) = task.loops[task.depth as usize - 1];
                if times == 1 {
                    task.depth -= 1;
                } else {
                    task.loops[task.depth as usize - 1].0 = times.saturating_sub(1);
                    task.ip = begin;
                }
            }
            _ => {}
        }
        task.ip += 1;
        Flow::Next
    }

    /// Returns the number of the thing that an operation means.
    #[inline]
    pub(super) fn resolve(&self, id: u32, at: At) -> u32 {
        match at {
            At::Number(n) => n,
            At::Handle(h) => self.plan.handles[(self.tasks[id as usize].handles.0 + h) as usize],
            At::Caller => self.tasks[id as usize].caller,
        }
    }

    /// Moves on to the next operation.
    #[inline]
    pub(super) fn next_op(&mut self, id: u32) -> &mut Task {
        let task = &mut self.tasks[id as usize];
        task.ip += 1;
        task
    }

    fn work(&mut self, c: usize, id: u32, amount: &Amount, kernel: bool) -> Flow {
        let ns = self.draw(id, amount);
        self.next_op(id);
        self.spend(c, id, ns, kernel, Then::Fetch)
    }

    /// Lets the task spend so much work before it goes on.
    #[inline]
    pub(super) fn spend(&mut self, c: usize, id: u32, ns: i64, kernel: bool, then: Then) -> Flow {
        self.tasks[id as usize].plan(ns, kernel, then);
        if ns == 0 {
            self.turn_idly(id);
        }
        self.cpus[c].in_kernel = kernel;
        self.begin(c, super::cpu::Kind::Task, ns);
        Flow::Busy
    }

    /// Counts an operation that takes no time this time: too many in a row never end.
    #[cold]
    fn turn_idly(&mut self, id: u32) {
        let now = self.now;
        let task = &mut self.tasks[id as usize];
        task.turns = if task.turned_at == now { task.turns + 1 } else { 0 };
        task.turned_at = now;
        let turns = task.turns;
        if turns > self.patience() {
            self.endless(id);
        }
    }

    /// Lets the task run in user mode until a time.
    fn take_time(&mut self, c: usize, id: u32, then: Then, until: i64) -> Flow {
        let task = self.next_op(id);
        task.plan(0, false, then);
        task.timed = true;
        task.until = until;
        self.cpus[c].in_kernel = false;
        self.cpus[c].begin_until(super::cpu::Kind::Task, until);
        Flow::Busy
    }

    /// Returns how much work an amount is this time.
    pub(super) fn draw(&mut self, id: u32, amount: &Amount) -> i64 {
        let task = &mut self.tasks[id as usize];
        let mut ns = amount.base;
        for (per, register) in amount.per.iter().zip(task.registers) {
            if *per != 0 {
                ns += i64::from(*per) * i64::from(register) / 1000;
            }
        }
        ns = match amount.spread {
            Spread::Fixed => ns,
            Spread::Uniform(permille) => {
                let width = 2 * ns * i64::from(permille) / 1000;
                let share = (task.random.next_u64() >> 32) as i64;
                ns - width / 2 + ((i128::from(width) * i128::from(share)) >> 32) as i64
            }
            Spread::Exponential => task.random.exponential(ns),
            Spread::LogNormal(sigma) => {
                let x = (f64::from(sigma) / 1000.0 * task.random.normal()).exp();
                (ns as f64 * x).round() as i64
            }
        };
        if self.layout_factor != FULL {
            ns = ((i128::from(ns) * i128::from(self.layout_factor)) >> 16) as i64;
        }
        ns.clamp(0, LONGEST)
    }

    fn go_to_sleep(&mut self, c: usize, id: u32, until: i64) -> Flow {
        let block = self.prices.costs.block;
        self.tasks[id as usize].until = until;
        self.spend(c, id, block, true, Then::Sleep)
    }

    /// Sleeps until the next multiple of a period; the time it should wake becomes its note.
    fn every(&mut self, c: usize, id: u32, period: i64) -> Flow {
        let now = self.now;
        let task = &mut self.tasks[id as usize];
        let next = task.due + period;
        task.stamp = next;
        task.due = next;
        if next <= now {
            // Late: the period that has passed is made up for at once.
            task.ip += 1;
            return Flow::Next;
        }
        self.go_to_sleep(c, id, next)
    }

    fn sleep(&mut self, c: usize, id: u32) {
        let until = self.tasks[id as usize].until;
        self.next_op(id);
        if until <= self.now {
            self.tasks[id as usize].plan(0, true, Then::Fetch);
            self.fetch(c, id);
            return;
        }
        self.set_timer(c, until, id);
        self.block(c, id, Waits::Timer);
    }
}

/// Longest segment of work, ns: what a speed can be applied to without overflow.
const LONGEST: i64 = 1 << 46;
