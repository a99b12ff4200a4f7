//! One CPU with one run queue: carries out operations and keeps the books.
//!
//! The rules of what is ignored and when the pick runs are those of the golden protocol: every
//! operation happens on the state the previous one left; if it asks for a reschedule, or the
//! running task blocks or yields, the pick runs at the same time. No CPU is left idle with work.

use super::entity::{Entities, TaskId, TaskSpec};
use super::operation::Operation;
use super::record::{Happened, Rows, Totals};
use super::runqueue::{Enqueue, Resched, Runqueue, Sleep};

/// Where a task is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    New,
    Runnable,
    /// Asleep, or blocked and still queued.
    Blocked,
    /// Under way to another CPU.
    Away,
    Gone,
}

/// What is kept of one task: two neighbouring cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(align(128))]
struct Book {
    totals: Totals,
    /// When it became ready, if it waits, ns.
    ready_since: i64,
    life: Life,
}

impl Book {
    fn new() -> Self {
        Self { totals: Totals::default(), ready_since: 0, life: Life::New }
    }
}

/// A run queue, its tasks and what is known about them.
pub(super) struct Cpu<R> {
    rq: R,
    /// What the run queue said after the last operation.
    running: Option<TaskId>,
    resched_waits: bool,
    slice_timer: Option<i64>,
    tasks: Entities,
    books: Vec<Book>,
    /// Rows, if they are wanted.
    pub rows: Option<Rows>,
    /// Operations that were ignored.
    pub ignored: u64,
    /// Operations that were carried out.
    pub carried_out: u64,
}

/// One operation to be carried out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order {
    pub t: i64,
    pub op: Operation,
    /// The task; -1 where it concerns the running one.
    pub task: i64,
    pub value: i64,
    /// The CPU is in kernel mode: a reschedule waits.
    pub in_kernel: bool,
}

impl<R: Runqueue> Cpu<R> {
    pub fn new(rq: R, specs: &[TaskSpec], rows: bool) -> Self {
        let mut cpu = Self {
            rq,
            running: None,
            resched_waits: false,
            slice_timer: None,
            tasks: Entities::new(specs),
            books: vec![Book::new(); specs.len()],
            rows: rows.then(Rows::default),
            ignored: 0,
            carried_out: 0,
        };
        for (i, spec) in specs.iter().enumerate() {
            cpu.rq.set_slice(&mut cpu.tasks, TaskId(i as u32), spec.slice, 0);
        }
        cpu
    }

    /// Returns the running task.
    #[inline]
    pub fn running(&self) -> Option<TaskId> {
        self.running
    }

    /// Returns true if a reschedule waits for the return to user mode.
    #[inline]
    pub fn resched_waits(&self) -> bool {
        self.resched_waits
    }

    /// Returns when the slice timer expires, ns.
    #[inline]
    pub fn slice_timer(&self) -> Option<i64> {
        self.slice_timer
    }

    #[inline]
    fn ask_run_queue(&mut self) {
        let common = self.rq.common();
        self.running = common.curr;
        self.resched_waits = common.resched != Resched::No;
        self.slice_timer = common.slice_timer;
    }

    /// Counts one round of a task's program.
    pub fn count_round(&mut self, id: TaskId) {
        self.book(id).totals.rounds += 1;
    }

    /// Ends a task that has just blocked for the last time.
    pub fn gone(&mut self, id: TaskId) {
        self.book(id).life = Life::Gone;
    }

    /// Returns true if the operation would be carried out now.
    #[inline(always)]
    fn is_valid(&self, op: Operation, task: i64, value: i64) -> bool {
        if op.concerns_running() {
            return self.running().is_some();
        }
        let id = TaskId(task as u32);
        let life = self.books[task as usize].life;
        match op {
            Operation::Fork => life == Life::New,
            Operation::Wake | Operation::Swake => life == Life::Blocked,
            Operation::Migout => self.tasks[id].on_rq && self.running() != Some(id),
            Operation::Migin => life == Life::Away,
            Operation::Nice => {
                matches!(life, Life::Runnable | Life::Blocked)
                    && i64::from(self.tasks[id].nice) != value
            }
            _ => matches!(life, Life::Runnable | Life::Blocked),
        }
    }

    /// Carries one operation out, or counts it as ignored.
    ///
    /// Inlined, because most callers know the operation and need a small part of this.
    #[inline(always)]
    pub fn carry_out(&mut self, order: Order) {
        let Order { t, op, task, value, in_kernel } = order;
        if !self.is_valid(op, task, value) {
            self.ignored += 1;
            if let Some(rows) = &mut self.rows {
                rows.ignored(t, op, task);
            }
            return;
        }
        self.carried_out += 1;
        let prev = self.running();
        let id = match prev {
            Some(curr) if op.concerns_running() => curr,
            _ => TaskId(task as u32),
        };
        let was_delayed = self.tasks[id].delayed;
        self.operate(op, id, value, t);
        self.ask_run_queue();
        if let Some(rows) = &mut self.rows {
            let woken = matches!(op, Operation::Wake | Operation::Swake);
            let was_delayed = was_delayed && woken;
            let happened = Happened { t, op, arg: i64::from(id.0), prev, was_delayed };
            rows.carried_out(&self.rq, &self.tasks, happened);
        }
        self.count(op, id, prev, was_delayed, t);
        use Operation::{Block, Resched as Return, Sblock, Yield};
        let gives_up = matches!(op, Block | Sblock | Yield | Return);
        if gives_up || (self.resched_waits() && (!in_kernel || prev.is_none())) {
            self.schedule(prev, t);
        }
        if matches!(op, Block | Sblock) && self.tasks[id].on_rq {
            self.book(id).totals.delayed_blocks += 1;
        }
        if let Some(rows) = &mut self.rows {
            rows.picked(&self.rq, &self.tasks);
        }
    }

    #[inline(always)]
    fn operate(&mut self, op: Operation, id: TaskId, value: i64, t: i64) {
        let (rq, tasks) = (&mut self.rq, &mut self.tasks);
        match op {
            Operation::Fork => self.wake_up(id, Enqueue::Fork, t),
            Operation::Wake => self.wake_up(id, Enqueue::Wake { sync: false }, t),
            Operation::Swake => self.wake_up(id, Enqueue::Wake { sync: true }, t),
            Operation::Migin => self.wake_up(id, Enqueue::Migrate, t),
            Operation::Block => rq.block(tasks, Sleep::Normal, t),
            Operation::Sblock => rq.block(tasks, Sleep::Special, t),
            Operation::Yield => rq.yield_now(tasks, t),
            Operation::Tick => rq.tick(tasks, t),
            Operation::Hrtick => rq.slice_timer_expired(tasks, t),
            Operation::Migout => rq.leave(tasks, id, t),
            Operation::Nice => rq.set_nice(tasks, id, value as i8, t),
            Operation::Slice => rq.set_slice(tasks, id, value, t),
            Operation::Resched => {}
        }
    }

    fn wake_up(&mut self, id: TaskId, how: Enqueue, t: i64) {
        self.rq.enqueue(&mut self.tasks, id, how, t);
        self.rq.wakeup_preempt(&mut self.tasks, id, how, t);
    }

    #[inline(always)]
    fn count(
        &mut self,
        op: Operation,
        id: TaskId,
        prev: Option<TaskId>,
        was_delayed: bool,
        t: i64,
    ) {
        let asked = self.resched_waits();
        let book = &mut self.books[id.0 as usize];
        let totals = &mut book.totals;
        match op {
            Operation::Fork | Operation::Wake | Operation::Swake => {
                totals.wakeups += 1;
                totals.delayed_wakeups += i64::from(was_delayed);
                let preempts = op != Operation::Fork && prev.is_some() && asked;
                totals.wakeup_preempts += i64::from(preempts);
                book.life = Life::Runnable;
                book.ready_since = t;
            }
            Operation::Block | Operation::Sblock => {
                totals.blocks += 1;
                book.life = Life::Blocked;
            }
            Operation::Migout => book.life = Life::Away,
            Operation::Migin => {
                // A delayed task stays blocked; the preemption test may even have dropped it.
                let e = &self.tasks[id];
                let blocked = e.delayed || !e.on_rq;
                book.life = if blocked { Life::Blocked } else { Life::Runnable };
                book.ready_since = t;
            }
            _ => {}
        }
    }

    #[inline]
    fn book(&mut self, id: TaskId) -> &mut Book {
        &mut self.books[id.0 as usize]
    }

    fn schedule(&mut self, prev: Option<TaskId>, t: i64) {
        let next = self.rq.pick_next(&mut self.tasks, t);
        self.ask_run_queue();
        if next == prev {
            return;
        }
        if let Some(p) = prev {
            let book = self.book(p);
            if book.life == Life::Runnable {
                book.totals.preempted += 1;
                book.ready_since = t;
            }
        }
        if let Some(n) = next {
            let book = self.book(n);
            let waited = t - book.ready_since;
            let totals = &mut book.totals;
            totals.switch_ins += 1;
            totals.wait += waited;
            totals.max_wait = totals.max_wait.max(waited);
        }
    }

    /// Returns the totals with CPU time counted up to `end`.
    pub fn totals(&self, end: i64) -> Vec<Totals> {
        let mut all: Vec<Totals> = self.books.iter().map(|book| book.totals).collect();
        for (i, totals) in all.iter_mut().enumerate() {
            totals.exec = self.tasks.ledger(TaskId(i as u32)).sum_exec;
        }
        if let Some(curr) = self.running() {
            let since = self.tasks.ledger(curr).exec_start;
            all[curr.0 as usize].exec += (end - since).max(0);
        }
        all
    }
}
