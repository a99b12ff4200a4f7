//! The idle loop of one CPU: preparing, asking the governor, entering, leaving, and the books.

use super::cpu::{Kind, NONE, Reason};
use super::metrics::{Count, record};
use super::record::Happening;
use super::sim::Sim;
use super::slots::NEVER;
use crate::idle::{IdleContext, IdleOutcome, Selection};
use crate::machine::{Flush, Scope};

/// Linux default of `PM_QOS_CPU_LATENCY_DEFAULT_VALUE`, ns.
const NO_LATENCY_LIMIT: i64 = 2_000_000_000_000;

impl Sim<'_> {
    /// Begins the idle loop: the run queue is empty.
    pub(super) fn become_idle(&mut self, c: usize) {
        self.set_idle(c, true);
        self.cpus[c].idle_since = self.now;
        self.cpus[c].in_kernel = true;
        let price = self.prices.costs.prepare_idle + self.prices.costs.trace_event;
        self.begin(c, Kind::Prepare, price);
    }

    /// True if the CPU is in a polling state.
    #[inline]
    pub(super) fn polls(&self, c: usize) -> bool {
        let state = self.cpus[c].period.state;
        self.class(c).table.states()[state].polling
    }

    /// Something may have arrived while the idle task was on its way; otherwise chooses and enters.
    pub(super) fn prepared(&mut self, c: usize) {
        self.take_wake_list(c);
        if self.queues[c].common().nr > 0 {
            self.metrics.count(Count::Aborted);
            self.leave_idle_loop(c);
            return;
        }
        self.enter(c);
    }

    fn enter(&mut self, c: usize) {
        let (now, tick) = (self.now, self.tick);
        let cpu = &self.cpus[c];
        let timer = cpu.next_timer();
        let to_timer = if timer == NEVER { NO_LATENCY_LIMIT } else { (timer - now).max(0) };
        let stopped = !cpu.tick_on;
        // A tick that cannot be stopped limits the sleep (governors.md 8).
        let near = !stopped && to_timer <= tick;
        let to_event = if stopped { to_timer } else { to_timer.min((cpu.next_tick - now).max(0)) };
        let context = IdleContext {
            sleep_length: if near { to_event } else { to_timer },
            delta_tick: to_event,
            latency_limit: NO_LATENCY_LIMIT,
            tick_stopped: stopped,
            nr_iowait: cpu.iowait,
            cpu_util: (cpu.util >> 10) as u32,
            cpu_load: (cpu.util >> 9) as u32,
            disabled: self.class(c).table.disabled_mask(),
        };
        let class = self.class(c);
        let cpu = &mut self.cpus[c];
        let choice = match cpu.governor.as_mut() {
            Some(governor) => governor.select(&mut cpu.device, &context),
            None => Selection {
                // Without a governor the CPU halts (Linux `default_idle`); it never polls.
                state: class.table.states().iter().position(|s| !s.polling).unwrap_or(0),
                stop_tick: true,
                predicted: crate::idle::NO_PREDICTION,
                rule: crate::idle::Rule::SingleState,
            },
        };
        self.metrics.count(Count::Selections);
        let stops = stopped || (choice.stop_tick && !near);
        let price = if stops && !stopped { self.prices.costs.tick_stop } else { 0 };
        if stops {
            self.metrics.count(Count::TickStopped);
        }
        let class = self.class(c);
        let state = choice.state.min(class.table.len() - 1);
        let polling = class.table.states()[state].polling;
        let limit = if polling { self.poll_limit(c) } else { NEVER };
        let hardware = self.demoted(c, state);
        let cpu = &mut self.cpus[c];
        cpu.tick_on = !stops;
        let stamp = now + price;
        cpu.period = super::cpu::Period {
            state,
            hardware,
            stamp,
            entered: stamp + class.entry[hardware],
            reason: Reason::Wake,
            got_tick: false,
        };
        cpu.spent.overhead += price;
        cpu.spent.idle -= price;
        if polling {
            cpu.device.poll_timed_out = false;
        }
        let end = if limit == NEVER { NEVER } else { stamp.saturating_add(limit) };
        cpu.begin_until(Kind::Idle, end);
        let cpu = c as u32;
        self.note(Happening::Told { cpu, sleep_length: context.sleep_length });
        if stops && !stopped {
            self.note(Happening::TickStop { cpu });
        }
        self.note_at(stamp, Happening::IdleEnter { cpu, state: state as u32 });
        self.look(c);
    }

    /// Returns how long the CPU polls: the first look at the clock after the limit.
    fn poll_limit(&self, c: usize) -> i64 {
        let class = self.class(c);
        let own = self.cpus[c].device.poll_limit;
        let limit = if own > 0 {
            own as i64
        } else {
            self.kernel.poll_limit(&class.table, class.table.disabled_mask())
        };
        let quantum = self.prices.costs.poll_quantum;
        if quantum > 0 && limit < NEVER / 2 {
            (limit / quantum + 1) * quantum
        } else {
            limit.max(1)
        }
    }

    /// Begins to leave an idle state.
    pub(super) fn leave_idle(&mut self, c: usize, reason: Reason) {
        self.settle(c);
        let period = self.cpus[c].period;
        let end = if self.now < period.stamp {
            // The wake-up came before the entry: the monitor sees it at once.
            period.stamp
        } else {
            let latency = self.exit_latency(c);
            self.now.max(period.entered) + latency
        };
        let cpu = &mut self.cpus[c];
        cpu.period.reason = reason;
        cpu.begin_until(Kind::Exit, end);
        if reason == Reason::Limit {
            self.metrics.count(Count::PollLimits);
        }
        if self.class(c).flush[period.hardware] != Flush::Keep {
            self.cpus[c].flushed = true;
        }
        self.look(c);
        self.rekey(c);
    }

    /// Returns the state the hardware goes to: recent idle periods were too short for the one asked for.
    fn demoted(&mut self, c: usize, state: usize) -> usize {
        match self.prices.costs.demote_to {
            Some(to)
                if state > to && self.cpus[c].recent_residency < self.prices.costs.demote_below =>
            {
                self.metrics.count(Count::Demoted);
                to
            }
            _ => state,
        }
    }

    /// Returns the actual time from the wake-up to the first instruction, ns.
    fn exit_latency(&mut self, c: usize) -> i64 {
        let class = self.class(c);
        let state = self.cpus[c].period.hardware;
        if class.scope[state] == Scope::Thread {
            return class.wake[state];
        }
        let settled = self.now - self.prices.costs.settle;
        let mine = self.cpus[c].period.entered <= settled;
        let mut core = state;
        let mut together = mine;
        for &s in self.topology.siblings(c as u32) {
            let other = &self.cpus[s as usize];
            together &= other.act.kind == Kind::Idle && other.period.entered <= settled;
            core = core.min(other.period.hardware);
        }
        if !together || class.scope[core] == Scope::Thread {
            // The core is awake: only this thread has to come back.
            let thread = (0..=state).rev().find(|&s| class.scope[s] == Scope::Thread);
            return thread.map_or(class.wake[state], |s| class.wake[s]);
        }
        class.wake[core] + self.package_exit(c, core)
    }

    /// Returns what leaving a package state costs the first CPU that wakes.
    fn package_exit(&self, c: usize, state: usize) -> i64 {
        let price = self.prices.costs.package_exit;
        if price == 0 || self.class(c).flush[state] == Flush::Keep {
            return 0;
        }
        let socket = self.topology.socket(c as u32);
        let asleep = self.topology.socket_cpus(socket).iter().all(|&s| {
            let cpu = &self.cpus[s as usize];
            let class = self.class(s as usize);
            cpu.act.kind == Kind::Idle && class.flush[cpu.period.hardware] != Flush::Keep
        });
        if asleep { price } else { 0 }
    }

    /// The idle state is left: tells the governor, then does what woke the CPU.
    pub(super) fn left_idle(&mut self, c: usize) {
        self.keep_books(c);
        let now = self.now;
        self.note(Happening::IdleExit { cpu: c as u32 });
        let mut work = 0;
        let reason = self.cpus[c].period.reason;
        if reason == Reason::Tick || reason == Reason::Timer || self.cpus[c].next_timer() <= now {
            work += self.collect_timers(c) + self.prices.costs.interrupt;
        }
        if self.cpus[c].tick_on && self.cpus[c].next_tick <= now {
            self.cpus[c].next_tick += self.tick;
            self.note(Happening::Tick { cpu: c as u32 });
            self.cpus[c].period.got_tick = true;
            work += self.prices.costs.interrupt;
        }
        if reason == Reason::Tick {
            self.balance_idle(c);
        }
        if work > 0 || !self.cpus[c].due.is_empty() {
            self.begin(c, Kind::Interrupt, work);
        } else {
            self.idle_again(c);
        }
    }

    fn keep_books(&mut self, c: usize) {
        let now = self.now;
        let table = &self.class(c).table;
        let cpu = &mut self.cpus[c];
        let period = cpu.period;
        let span = (now - period.stamp).max(0);
        let states = table.states();
        cpu.device.last_residency = span;
        if states[period.state].polling {
            let timed_out = period.reason == Reason::Limit;
            cpu.device.poll_timed_out = timed_out && self.kernel.poll_flag;
        }
        let got_tick = period.got_tick;
        if let Some(governor) = cpu.governor.as_mut() {
            let outcome = IdleOutcome { state: period.state, span, got_tick };
            governor.reflect(&mut cpu.device, &outcome);
        }
        cpu.recent_residency += (span - cpu.recent_residency) / 4;
        let books = &mut self.metrics.states[period.state];
        books.usage += 1;
        books.time += span;
        let shallower = states[..period.state].iter().any(|s| !s.disabled);
        if span < states[period.state].target_residency && shallower {
            books.above += 1;
        } else if let Some(deeper) = states[period.state + 1..].iter().find(|s| !s.disabled) {
            let exit = states[period.state].exit_latency;
            books.below += u64::from(span > exit && span - exit >= deeper.target_residency);
        }
        record(&mut self.metrics.idle_periods, span);
    }

    /// Goes on after an idle state and its interrupts: to a task, or to the next choice.
    pub(super) fn idle_again(&mut self, c: usize) {
        self.wake_due(c);
        self.take_wake_list(c);
        if self.queues[c].common().nr > 0 {
            self.leave_idle_loop(c);
        } else {
            let price = self.prices.costs.govern;
            self.begin(c, Kind::Prepare, price);
        }
    }

    /// Leaves the idle loop for the scheduler.
    fn leave_idle_loop(&mut self, c: usize) {
        let gap = self.now - self.cpus[c].idle_since;
        let cpu = &mut self.cpus[c];
        cpu.avg_idle = (cpu.avg_idle + (gap - cpu.avg_idle) / 8).min(MAX_AVG_IDLE);
        self.schedule(c);
    }

    /// Restarts the tick where its phase says; returns the price.
    pub(super) fn restart_tick(&mut self, c: usize) -> i64 {
        let cpu = &mut self.cpus[c];
        if cpu.tick_on {
            return 0;
        }
        cpu.tick_on = true;
        if cpu.next_tick <= self.now {
            cpu.next_tick += ((self.now - cpu.next_tick) / self.tick + 1) * self.tick;
        }
        self.prices.costs.tick_restart
    }

    /// Puts a timer of a task on its CPU.
    pub(super) fn set_timer(&mut self, c: usize, at: i64, id: u32) {
        debug_assert_ne!(id, NONE);
        self.cpus[c].set_timer(at, id);
    }
}

/// Twice the first value of the dearest balancing, 0.5 ms (schedulers.md 5).
const MAX_AVG_IDLE: i64 = 1_000_000;
