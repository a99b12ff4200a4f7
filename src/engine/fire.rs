//! What happens when a CPU is due: the end of its activity, interrupts, timers, the tick.
//!
//! At equal times the end of the activity comes first, then interrupts of other CPUs, own timers, the
//! slice timer and the tick, one per call.

use super::cpu::{BACKGROUND, Kind, Reason};
use super::metrics::Count;
use super::record::Happening;
use super::sim::Sim;
use super::slots::NEVER;
use crate::sched::Resched;

impl Sim<'_> {
    /// Looks at a CPU whose time has come.
    pub(super) fn fire(&mut self, c: usize) {
        let cpu = &self.cpus[c];
        if cpu.act.end <= self.now {
            self.ended(c);
        } else if cpu.irq_at <= self.now {
            self.cpus[c].irq_at = NEVER;
            self.poked(c);
        } else if cpu.next_timer() <= self.now {
            self.timer(c);
        } else if cpu.slice_at <= self.now {
            self.slice_timer(c);
        } else if cpu.tick_on && cpu.next_tick <= self.now {
            self.tick(c);
        }
        self.rekey(c);
    }

    fn ended(&mut self, c: usize) {
        self.settle(c);
        match self.cpus[c].act.kind {
            Kind::Task => self.task_ended(c),
            Kind::Switch => self.go(c),
            Kind::Prepare => self.prepared(c),
            Kind::Idle => self.leave_idle(c, Reason::Limit),
            Kind::Exit => self.left_idle(c),
            Kind::Interrupt => self.idle_again(c),
        }
    }

    /// Carries out a reschedule that an interrupt makes possible.
    pub(super) fn after_interrupt(&mut self, c: usize, at_tick: bool) {
        let cpu = &self.cpus[c];
        if cpu.act.kind != Kind::Task {
            return;
        }
        let asked = self.queues[c].common().resched;
        let user = !cpu.in_kernel;
        // The lazy model preempts kernel code for an urgent wish, and turns a lazy one into an urgent
        // one at the tick (schedulers.md 3b.9).
        let now = asked == Resched::Now || (asked == Resched::Lazy && at_tick);
        let point = self.voluntary && cpu.act.end - self.now > VOLUNTARY_POINTS;
        if asked != Resched::No && (user || (self.lazy && now) || point) {
            self.preempt(c);
        }
    }

    /// Takes the CPU from its running task, which stays runnable.
    pub(super) fn preempt(&mut self, c: usize) {
        self.settle(c);
        let cpu = &self.cpus[c];
        self.tasks[cpu.cur as usize].left = cpu.act.left;
        self.schedule(c);
    }

    /// A reschedule interrupt, or one for the wake list.
    fn poked(&mut self, c: usize) {
        if self.cpus[c].act.kind == Kind::Idle {
            self.leave_idle(c, Reason::Wake);
            return;
        }
        self.settle(c);
        let price = self.prices.costs.interrupt_send;
        self.cpus[c].steal(price);
        self.take_wake_list(c);
        self.after_interrupt(c, false);
    }

    fn timer(&mut self, c: usize) {
        let kind = self.cpus[c].act.kind;
        if kind == Kind::Idle {
            if !self.polls(c) {
                self.leave_idle(c, Reason::Timer);
                return;
            }
            // Polling goes on unless the interrupt wakes somebody here.
            self.settle(c);
            self.collect_timers(c);
            if !self.cpus[c].due.is_empty() {
                self.leave_idle(c, Reason::Timer);
            }
            return;
        }
        self.settle(c);
        let work = self.collect_timers(c) + self.prices.costs.interrupt;
        self.cpus[c].steal(work);
        self.wake_due(c);
        self.after_interrupt(c, false);
    }

    /// Moves due timers to the list of tasks to be woken; returns the work of housekeeping timers.
    pub(super) fn collect_timers(&mut self, c: usize) -> i64 {
        let mut work = 0;
        while let Some(id) = self.cpus[c].take_timer(self.now) {
            if id == BACKGROUND {
                work += self.prices.costs.background_work;
                let next = self.now + self.background_gap(c);
                self.cpus[c].set_timer(next, BACKGROUND);
            } else {
                self.cpus[c].due.push(id);
            }
        }
        work
    }

    /// Wakes the tasks whose timers or devices are due, from interrupt context.
    pub(super) fn wake_due(&mut self, c: usize) {
        if self.cpus[c].due.is_empty() {
            return;
        }
        let mut due = std::mem::take(&mut self.cpus[c].due);
        for &id in &due {
            self.wake_from_interrupt(c, id);
        }
        due.clear();
        self.cpus[c].due = due;
    }

    /// Returns the time to the next housekeeping timer.
    fn background_gap(&mut self, c: usize) -> i64 {
        let mean = self.prices.costs.background_period;
        if self.noise > 0.0 { self.cpu_random[c].exponential(mean).max(1) } else { mean }
    }

    fn slice_timer(&mut self, c: usize) {
        self.cpus[c].slice_at = NEVER;
        if self.cpus[c].cur == super::cpu::NONE {
            return;
        }
        self.settle(c);
        let price = self.prices.costs.interrupt;
        self.cpus[c].steal(price);
        self.queues[c].slice_timer_expired(&mut self.entities, self.now);
        self.note_slice_timer(c);
        self.after_interrupt(c, false);
    }

    fn tick(&mut self, c: usize) {
        self.metrics.count(Count::Ticks);
        self.note(Happening::Tick { cpu: c as u32 });
        self.cpus[c].next_tick += self.tick;
        if self.cpus[c].act.kind == Kind::Idle {
            self.cpus[c].period.got_tick = true;
            if !self.polls(c) {
                self.leave_idle(c, Reason::Tick);
            }
            return;
        }
        self.settle(c);
        let mut work = self.prices.costs.tick;
        let tail = self.prices.costs.tick_tail;
        if self.noise > 0.0 && tail > 0 {
            work += self.cpu_random[c].exponential(tail);
        }
        self.cpus[c].steal(work);
        self.sample_util(c);
        if self.cpus[c].cur != super::cpu::NONE && self.cpus[c].act.kind != Kind::Interrupt {
            self.queues[c].tick(&mut self.entities, self.now);
            self.note_slice_timer(c);
            self.balance_busy(c);
        } else {
            self.balance_idle(c);
        }
        self.after_interrupt(c, true);
    }

    /// Takes over the slice timer as the run queue left it.
    #[inline]
    pub(super) fn note_slice_timer(&mut self, c: usize) {
        self.cpus[c].slice_at = match self.queues[c].common().slice_timer {
            Some(t) => t + SLICE_TIMER_LATENCY,
            None => NEVER,
        };
    }

    /// Updates the utilisation that governors see: a decaying share of busy time.
    pub(super) fn sample_util(&mut self, c: usize) {
        let cpu = &mut self.cpus[c];
        let (busy, wall) =
            (cpu.spent.busy + cpu.spent.overhead - cpu.util_busy, self.now - cpu.util_at);
        if wall < UTIL_PERIOD {
            return;
        }
        let share = busy * 1024 / wall;
        for _ in 0..(wall / UTIL_PERIOD).min(345) {
            cpu.util += (share * 1024 - cpu.util) * UTIL_GAIN / 1024;
        }
        cpu.util_busy += busy;
        cpu.util_at = self.now;
    }
}

/// Long kernel paths offer to give way about so often, ns, unless the kernel is built without
/// (Linux `cond_resched`; guess: a few pages' worth of work).
const VOLUNTARY_POINTS: i64 = 20_000;

/// A high-resolution timer fires about so late, ns (the goldens of schedulers.md 3b.10 use 1 us).
const SLICE_TIMER_LATENCY: i64 = 1000;

/// Linux PELT: periods of 1024 us, of which 32 halve the past: each counts for 1 - 2^(-1/32) = 22/1024.
const UTIL_PERIOD: i64 = 1_048_576;
const UTIL_GAIN: i64 = 22;
