//! Waking: the price for the waker, the way into a run queue, and what the target CPU does about it.

use super::cpu::{Kind, NONE, Reason};
use super::metrics::Count;
use super::record::Happening;
use super::sim::Sim;
use super::slots::NEVER;
use super::task::{Life, Waits};
use crate::kernel::WakeGroup;
use crate::machine::Distance;
use crate::sched::{Enqueue, Resched, TaskId};

impl Sim<'_> {
    /// Chooses a CPU for a sleeping task and returns what the wake-up costs the waker; it takes effect
    /// with [`Sim::finish_wake`] when that is paid.
    pub(super) fn begin_wake(&mut self, c: usize, waker: u32, wakee: u32, sync: bool) -> i64 {
        self.mark_waking(wakee);
        self.note(Happening::Waking { cpu: c as u32, task: wakee });
        let delayed = self.entities[TaskId(wakee)].delayed;
        let target = if delayed {
            self.tasks[wakee as usize].cpu as usize
        } else {
            self.choose_cpu(c, waker, wakee, sync)
        };
        self.last_target = target;
        let far = self.topology.distance(c as u32, target as u32);
        let queued = !delayed && self.through_wake_list(c, target, far);
        let costs = &self.prices.costs;
        let mut price = costs.wake + costs.trace_event;
        let halted = self.cpus[target].act.kind == Kind::Idle && !self.polls(target);
        if halted && target != c {
            price += costs.wake_halted;
            if !self.machine.mwait {
                price += costs.interrupt_send;
            }
        }
        if queued {
            price += costs.wake_queued + 2 * self.prices.line(far);
        } else {
            price += costs.wake_remote[far as usize];
            let hold = self.prices.costs.lock_hold;
            price += self.lock(target, c, hold) + self.read_load_line(c);
        }
        if waker != NONE {
            let task = &mut self.tasks[waker as usize];
            task.wakee = wakee;
            task.target = target as u32;
            task.queued = queued;
            task.sync = sync;
        }
        price
    }

    fn mark_waking(&mut self, wakee: u32) {
        let task = &mut self.tasks[wakee as usize];
        debug_assert_eq!(task.life, Life::Blocked);
        task.life = Life::Waking;
        task.books.wakeups += 1;
        if !matches!(task.waits, Waits::Timer | Waits::Device(_)) {
            self.lively += 1;
        }
        self.metrics.count(Count::Wakeups);
    }

    /// True if the wakee goes over the target's wake list instead of the target's lock.
    fn through_wake_list(&self, c: usize, target: usize, far: Distance) -> bool {
        if !self.rules.ttwu_queue || target == c {
            return false;
        }
        let group = match self.kernel.queued_wakeup_group {
            WakeGroup::Llc => far <= Distance::Llc,
            WakeGroup::L2 => far <= Distance::Smt,
        };
        !group || (self.kernel.queued_wakeup_idle && self.is_idle(target))
    }

    /// The price is paid: the wakee gets into the run queue, or onto the wake list.
    pub(super) fn finish_wake(&mut self, c: usize, waker: u32) {
        let task = &self.tasks[waker as usize];
        let (wakee, target, queued, sync) =
            (task.wakee, task.target as usize, task.queued, task.sync);
        if target != c {
            self.metrics.count(Count::RemoteWakeups);
        }
        if queued {
            self.metrics.count(Count::QueuedWakeups);
            self.cpus[target].wake_list.push(wakee);
            self.set_idle(target, false);
            match self.cpus[target].act.kind {
                Kind::Idle => self.leave_idle(target, Reason::Wake),
                Kind::Exit | Kind::Prepare | Kind::Interrupt => {}
                _ => self.send_interrupt(target),
            }
        } else {
            self.enqueue(c, target, wakee, sync);
        }
    }

    /// Puts woken tasks that are on the wake list into the run queue.
    pub(super) fn take_wake_list(&mut self, c: usize) {
        if self.cpus[c].wake_list.is_empty() {
            return;
        }
        // Nothing is put on the list meanwhile: its memory is used again.
        let mut list = std::mem::take(&mut self.cpus[c].wake_list);
        for &id in &list {
            let price = self.prices.costs.wake_remote[Distance::Llc as usize];
            self.cpus[c].steal(price);
            self.enqueue(c, c, id, false);
        }
        list.clear();
        self.cpus[c].wake_list = list;
    }

    /// Wakes a task from an interrupt on CPU `c`.
    pub(super) fn wake_from_interrupt(&mut self, c: usize, id: u32) {
        if let Waits::Device(_) = self.tasks[id as usize].waits {
            let home = self.tasks[id as usize].cpu as usize;
            self.cpus[home].iowait = self.cpus[home].iowait.saturating_sub(1);
        }
        let price = self.begin_wake(c, NONE, id, false);
        let target = self.last_target;
        self.cpus[c].steal(price);
        self.enqueue(c, target, id, false);
    }

    /// Puts a woken task into a run queue, on behalf of CPU `by`.
    pub(super) fn enqueue(&mut self, by: usize, target: usize, id: u32, sync: bool) {
        let how = Enqueue::Wake { sync };
        let from = self.tasks[id as usize].cpu as usize;
        if from != target {
            self.metrics.count(Count::Migrations);
            let price = self.write_load_line(target, 2);
            self.cpus[target].steal_if_awake(price);
            self.queues[from].sleeper_leaves(&mut self.entities, TaskId(id), self.now);
            self.queues[target].sleeper_arrives(&mut self.entities, TaskId(id), self.now);
        }
        self.arrive(by, target, id, how);
    }

    /// Makes a task runnable on a CPU and lets the CPU react.
    pub(super) fn arrive(&mut self, by: usize, target: usize, id: u32, how: Enqueue) {
        let now = self.now;
        let task = &mut self.tasks[id as usize];
        task.life = Life::Ready;
        task.ready_at = now;
        // A task that is moved may be about to look once more before it sleeps; it still waits.
        if how != Enqueue::Migrate {
            task.waits = Waits::Nothing;
            task.woken_at = now;
        }
        self.push_ready(target, id);
        self.note(Happening::Wakeup { cpu: by as u32, target: target as u32, task: id });
        self.cpus[by].steal_if_awake(self.prices.costs.trace_event);
        self.set_idle(target, false);
        let queue = &mut self.queues[target];
        queue.enqueue(&mut self.entities, TaskId(id), how, now);
        queue.wakeup_preempt(&mut self.entities, TaskId(id), how, now);
        self.note_slice_timer(target);
        let cpu = &self.cpus[target];
        match cpu.act.kind {
            Kind::Idle => self.leave_idle(target, Reason::Wake),
            Kind::Task if target != by => self.ask_to_reschedule(target),
            _ => {}
        }
        if target != by {
            self.rekey(target);
        }
    }

    /// Sends a reschedule interrupt to a busy CPU if the wish is urgent enough for one.
    fn ask_to_reschedule(&mut self, target: usize) {
        let asked = self.queues[target].common().resched;
        if asked == Resched::Now && (!self.cpus[target].in_kernel || self.lazy) {
            self.send_interrupt(target);
        }
    }

    fn send_interrupt(&mut self, target: usize) {
        let cpu = &mut self.cpus[target];
        if cpu.irq_at == NEVER {
            self.metrics.count(Count::Interrupts);
            cpu.irq_at = self.now + self.prices.costs.interrupt_latency;
            self.rekey(target);
        }
    }

    /// Starts a task that was not there before.
    pub(super) fn start(&mut self, id: u32) {
        let target = self.first_cpu(id);
        self.tasks[id as usize].due = self.now;
        self.tasks[id as usize].cpu = target as u32;
        self.settle(target);
        self.arrive(target, target, id, Enqueue::Fork);
        self.rekey(target);
        if self.cpus[target].act.kind == Kind::Task
            && !self.cpus[target].in_kernel
            && self.queues[target].common().resched != Resched::No
        {
            self.preempt(target);
            self.rekey(target);
        }
    }
}
