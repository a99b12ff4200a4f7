//! One CPU: what it does at present, at which speed, until when, and where its time went.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::slots::NEVER;
use crate::idle::{Device, Governor};

/// No task.
pub const NONE: u32 = u32::MAX;

/// A timer that belongs to no task: housekeeping of the kernel.
pub const BACKGROUND: u32 = u32::MAX - 1;

/// Full speed of a CPU; speeds are fractions of it.
pub const FULL: u64 = 1 << 16;

/// What a CPU does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Runs its task.
    Task,
    /// Switches to its task.
    Switch,
    /// Idle task, on the way to a choice: a wake-up that comes now costs no exit latency.
    Prepare,
    /// In an idle state, or entering it.
    Idle,
    /// Leaving an idle state.
    Exit,
    /// Idle task, interrupted.
    Interrupt,
}

/// Why an idle state ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Another CPU or a device.
    Wake,
    /// A timer of this CPU.
    Timer,
    /// The tick.
    Tick,
    /// Polling lasted too long.
    Limit,
}

/// What a thread looks like to its siblings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Executes.
    Active,
    /// Polls.
    Polling,
    /// Is halted.
    Halted,
}

/// The work a CPU has in hand.
#[derive(Debug, Clone, Copy)]
pub struct Activity {
    /// What it is.
    pub kind: Kind,
    /// Speed does not matter to it: the end is a time, not an amount of work.
    pub fixed: bool,
    /// Work left at `since`, ns at full speed.
    pub left: i64,
    /// Up to when it has been accounted for.
    pub since: i64,
    /// Interrupt time still to be spent before the work goes on.
    pub stolen: i64,
    /// When it ends.
    pub end: i64,
}

/// An idle period in progress, or the last one.
#[derive(Debug, Clone, Copy)]
pub struct Period {
    /// The state the governor chose.
    pub state: usize,
    /// The state the hardware goes to: a shallower one if it demotes the request.
    pub hardware: usize,
    /// The governor's clock reading before entry, ns.
    pub stamp: i64,
    /// End of the entry, which cannot be interrupted, ns.
    pub entered: i64,
    /// Why it ended.
    pub reason: Reason,
    /// A tick came.
    pub got_tick: bool,
}

/// Where the time of a CPU went, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Operations of tasks.
    pub busy: i64,
    /// Switches, interrupts, ticks, the idle task outside of idle states.
    pub overhead: i64,
    /// Idle states, entry and exit included.
    pub idle: i64,
}

/// One CPU.
pub struct Cpu {
    /// Its present activity.
    pub act: Activity,
    /// The task that has the CPU; [`NONE`] while idle.
    pub cur: u32,
    /// The last task that had it.
    pub last_task: u32,
    /// Counts switches to other tasks: tells how many ran since.
    pub epoch: u32,
    /// Ticks come.
    pub tick_on: bool,
    /// The next tick, or when it would be.
    pub next_tick: i64,
    /// Own timers: time, then task or [`BACKGROUND`].
    timers: BinaryHeap<Reverse<(i64, u32)>>,
    /// The next of them.
    timer_at: i64,
    /// A reschedule or wake-list interrupt arrives.
    pub irq_at: i64,
    /// The slice timer fires.
    pub slice_at: i64,
    /// Tasks that others put on the wake list.
    pub wake_list: Vec<u32>,
    /// Tasks whose device is done or whose timer is due, waiting for the exit.
    pub due: Vec<u32>,
    /// Runnable tasks that wait.
    pub ready: Vec<u32>,
    /// The idle period.
    pub period: Period,
    /// The idle governor; none if the machine has one state.
    pub governor: Option<Box<dyn Governor>>,
    /// What governor and core share.
    pub device: Device,
    /// Mean of the last four residencies, which the hardware watches, ns.
    pub recent_residency: i64,
    /// Running average of idle gaps, ns (Linux `avg_idle`).
    pub avg_idle: i64,
    /// When it last became idle.
    pub idle_since: i64,
    /// Private caches are empty.
    pub flushed: bool,
    /// Tasks in I/O wait that last ran here.
    pub iowait: u32,
    /// Bytes that operations have touched here so far.
    pub touched: u64,
    /// Next attempts at balancing, by domain.
    pub balance_at: [i64; 3],
    /// Failed attempts to pull.
    pub balance_failures: u32,
    /// Its task moves bytes to or from memory.
    pub streams: bool,
    /// Runs its task in kernel mode.
    pub in_kernel: bool,
    /// Where the time went.
    pub spent: Spent,
    /// Share of time busy, in 1/1024 of 1/1024, decaying.
    pub util: i64,
    /// Busy time that `util` has seen.
    pub util_busy: i64,
    /// Up to when `util` is right.
    pub util_at: i64,
    /// When the CPU last wrote the group's load sum.
    pub load_written: i64,
}

impl Cpu {
    /// Returns an idle CPU that has just been switched on.
    pub fn new(governor: Option<Box<dyn Governor>>, first_tick: i64) -> Self {
        Self {
            act: Activity {
                kind: Kind::Prepare,
                fixed: false,
                left: 0,
                since: 0,
                stolen: 0,
                end: 0,
            },
            cur: NONE,
            last_task: NONE,
            epoch: 0,
            tick_on: true,
            next_tick: first_tick,
            timers: BinaryHeap::new(),
            timer_at: NEVER,
            irq_at: NEVER,
            slice_at: NEVER,
            wake_list: Vec::new(),
            due: Vec::new(),
            ready: Vec::new(),
            period: Period {
                state: 0,
                hardware: 0,
                stamp: 0,
                entered: 0,
                reason: Reason::Wake,
                got_tick: false,
            },
            governor,
            device: Device::default(),
            recent_residency: 0,
            avg_idle: 1_000_000,
            idle_since: 0,
            flushed: false,
            iowait: 0,
            touched: 0,
            balance_at: [0; 3],
            balance_failures: 0,
            streams: false,
            in_kernel: false,
            spent: Spent::default(),
            util: 0,
            util_busy: 0,
            util_at: 0,
            load_written: i64::MIN / 2,
        }
    }

    /// Returns the time of the next own timer.
    #[inline]
    pub fn next_timer(&self) -> i64 {
        self.timer_at
    }

    /// Sets a timer.
    pub fn set_timer(&mut self, at: i64, id: u32) {
        self.timers.push(Reverse((at, id)));
        self.timer_at = self.timer_at.min(at);
    }

    /// Takes the next timer that is due.
    pub fn take_timer(&mut self, now: i64) -> Option<u32> {
        if self.timer_at > now {
            return None;
        }
        let Reverse((_, id)) = self.timers.pop()?;
        self.timer_at = self.timers.peek().map_or(NEVER, |&Reverse((t, _))| t);
        Some(id)
    }

    /// Returns when the CPU has to be looked at again.
    #[inline]
    pub fn next_event(&self) -> i64 {
        if self.act.kind == Kind::Exit {
            return self.act.end;
        }
        let tick = if self.tick_on { self.next_tick } else { NEVER };
        self.act.end.min(self.irq_at).min(self.timer_at).min(tick).min(self.slice_at)
    }

    /// Returns what a sibling sees.
    #[inline]
    pub fn look(&self, polls: bool) -> Look {
        match (self.act.kind, polls) {
            (Kind::Idle, true) => Look::Polling,
            (Kind::Idle, false) => Look::Halted,
            _ => Look::Active,
        }
    }

    /// Accounts for the time up to `now`.
    #[inline]
    pub fn settle(&mut self, now: i64, rate: u64) {
        let act = &mut self.act;
        let mut elapsed = now - act.since;
        if elapsed == 0 {
            return;
        }
        act.since = now;
        if act.stolen > 0 {
            let stolen = act.stolen.min(elapsed);
            act.stolen -= stolen;
            elapsed -= stolen;
            self.spent.overhead += stolen;
        }
        match act.kind {
            Kind::Task => self.spent.busy += elapsed,
            Kind::Idle | Kind::Exit => self.spent.idle += elapsed,
            _ => self.spent.overhead += elapsed,
        }
        if !act.fixed {
            act.left = (act.left - done_in(elapsed, rate)).max(0);
        }
    }

    /// Sets the end of the activity from what is left of it; needs a settled activity.
    #[inline]
    pub fn predict_end(&mut self, rate: u64) {
        if !self.act.fixed {
            self.act.end = self.act.since + self.act.stolen + time_for(self.act.left, rate);
        }
    }

    /// Begins work of so many ns at full speed; needs a settled activity, whose interrupt time stays.
    #[inline]
    pub fn begin(&mut self, kind: Kind, work: i64, rate: u64) {
        self.act.kind = kind;
        self.act.fixed = false;
        self.act.left = work;
        self.predict_end(rate);
    }

    /// Begins something that ends at a time.
    #[inline]
    pub fn begin_until(&mut self, kind: Kind, end: i64) {
        self.act.kind = kind;
        self.act.fixed = true;
        self.act.left = 0;
        self.act.end = if end == NEVER { NEVER } else { end + self.act.stolen };
    }

    /// Lets something take time from a CPU that is awake.
    #[inline]
    pub fn steal_if_awake(&mut self, ns: i64) {
        if !matches!(self.act.kind, Kind::Idle | Kind::Exit) {
            self.steal(ns);
        }
    }

    /// Lets an interrupt take time from the activity.
    #[inline]
    pub fn steal(&mut self, ns: i64) {
        self.act.stolen += ns;
        if self.act.end != NEVER {
            self.act.end += ns;
        }
    }
}

/// Returns the work done in so much time.
#[inline]
fn done_in(time: i64, rate: u64) -> i64 {
    if rate == FULL { time } else { ((time as u128 * u128::from(rate)) >> 16) as i64 }
}

/// Returns the time that work takes, rounded up.
#[inline]
fn time_for(work: i64, rate: u64) -> i64 {
    if rate == FULL {
        return work;
    }
    // Work of a segment is below 2^47 ns (39 hours), which the plan's check guarantees.
    (((work as u64) << 16).div_ceil(rate)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_accounted_for_to_the_nanosecond_whatever_the_speed_and_the_interrupts() {
        let mut cpu = Cpu::new(None, NEVER);
        let rates = [FULL, FULL * 6 / 10, FULL / 3];
        let mut now = 0;
        cpu.begin(Kind::Task, 1_000_000, rates[0]);
        for i in 0..1000 {
            let rate = rates[i % 3];
            now += (i as i64 * 37) % 911;
            cpu.settle(now, rates[(i + 2) % 3]);
            if i % 7 == 0 {
                cpu.steal(300);
            }
            cpu.predict_end(rate);
            let spent = cpu.spent;
            assert_eq!(spent.busy + spent.overhead + spent.idle, now);
        }
    }

    #[test]
    fn work_ends_when_predicted() {
        for rate in [FULL, FULL * 58 / 100, 12345] {
            let mut cpu = Cpu::new(None, NEVER);
            cpu.begin(Kind::Task, 777_777, rate);
            let end = cpu.act.end;
            cpu.settle(end, rate);
            assert_eq!(cpu.act.left, 0, "{rate}");
            cpu.begin(Kind::Task, 777_777, rate);
            cpu.settle(end + (cpu.act.end - end) - 2, rate);
            assert!(cpu.act.left > 0);
        }
    }
}
