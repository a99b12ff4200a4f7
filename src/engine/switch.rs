//! The scheduler's part: picking, switching, blocking.

use super::cpu::{Kind, NONE};
use super::metrics::{Count, record};
use super::record::Happening;
use super::sim::Sim;
use super::task::{Life, Task, Then, Waits};
use crate::sched::{Sleep, TaskId};

impl Sim<'_> {
    /// Lets the run queue choose who has the CPU, and begins the switch; needs a settled activity.
    pub(super) fn schedule(&mut self, c: usize) {
        let prev = self.cpus[c].cur;
        let mut next = self.queues[c].pick_next(&mut self.entities, self.now);
        if next.is_none() {
            self.cpus[c].act.kind = Kind::Switch;
        }
        if next.is_none() && self.pull_when_idle(c) {
            next = self.queues[c].pick_next(&mut self.entities, self.now);
        }
        self.note_slice_timer(c);
        let next = next.map_or(NONE, |id| id.0);
        if next == prev && next != NONE && self.tasks[next as usize].life == Life::Running {
            self.go(c);
            return;
        }
        if prev != NONE {
            self.switched_out(c, prev);
        }
        self.cpus[c].cur = next;
        if prev != next {
            self.metrics.count(Count::Switches);
            let at = self.leaves_interrupt(c);
            self.note_at(at, Happening::Switch { cpu: c as u32, prev, next });
        }
        if next == NONE {
            if prev == NONE {
                // Whoever made the CPU leave the idle loop has been pulled away by another one.
                self.set_idle(c, true);
                let price = self.prices.costs.govern;
                self.begin(c, Kind::Prepare, price);
            } else {
                self.become_idle(c);
            }
        } else {
            self.switch_to(c, prev, next);
        }
    }

    fn switched_out(&mut self, c: usize, prev: u32) {
        let (now, at) = (self.now, self.leaves_interrupt(c));
        let epoch = self.cpus[c].epoch;
        let task = &mut self.tasks[prev as usize];
        let ran = at - task.on_at;
        task.epoch = epoch;
        task.left_at = now;
        record(&mut self.metrics.slices, ran);
        match task.life {
            Life::Running => {
                task.life = Life::Ready;
                task.ready_at = now;
                task.books.involuntary += 1;
                self.metrics.count(Count::Involuntary);
                self.push_ready(c, prev);
            }
            Life::Gone => self.retire(prev),
            _ => {
                task.books.voluntary += 1;
                self.metrics.count(Count::Voluntary);
            }
        }
    }

    fn switch_to(&mut self, c: usize, prev: u32, next: u32) {
        let at = self.leaves_interrupt(c);
        self.drop_ready(c, next);
        let same = self.cpus[c].last_task == next;
        if !same {
            self.cpus[c].epoch = self.cpus[c].epoch.wrapping_add(1);
            self.cpus[c].last_task = next;
        }
        let mut price = if prev == NONE { self.prices.costs.switch_in } else { self.prices.switch };
        price += self.prices.costs.trace_event + self.restart_tick(c);
        price += self.refill(c, next);
        price += self.lock(c, c, self.prices.costs.lock_hold);
        let task = &mut self.tasks[next as usize];
        task.life = Life::Running;
        task.on_at = at;
        if task.woken_at >= 0 {
            record(&mut self.metrics.wakeup_latency, at - task.woken_at);
            task.woken_at = -1;
        }
        self.cpus[c].in_kernel = true;
        self.set_idle(c, false);
        self.begin(c, Kind::Switch, price);
    }

    /// Returns when a CPU is through with its interrupts: a switch that one asks for begins then.
    #[inline]
    fn leaves_interrupt(&self, c: usize) -> i64 {
        self.now + self.cpus[c].act.stolen
    }

    /// Returns what it costs to find the caches in the state the task finds them.
    fn refill(&mut self, c: usize, next: u32) -> i64 {
        let costs = &self.prices.costs;
        let cpu = &mut self.cpus[c];
        let task = &mut self.tasks[next as usize];
        let mut price = 0;
        if task.cpu as usize != c {
            let far = self.topology.distance(task.cpu, c as u32);
            price += costs.migrate[far as usize];
            task.recent = task.cpu;
            task.cpu = c as u32;
        } else if cpu.epoch.wrapping_sub(task.epoch) > 2 {
            // More than one other task has run here since.
            price += costs.refill;
        }
        if cpu.flushed {
            cpu.flushed = false;
            price += costs.l2_flush_refill;
        }
        price
    }

    /// Lets the CPU's task go on with what it has in hand; needs a settled activity.
    pub(super) fn go(&mut self, c: usize) {
        let cpu = &mut self.cpus[c];
        let task = &self.tasks[cpu.cur as usize];
        cpu.in_kernel = task.kernel;
        if !task.kernel && self.queues[c].common().resched != crate::sched::Resched::No {
            self.schedule(c);
            return;
        }
        if task.timed {
            let end = task.until.max(self.now);
            self.cpus[c].begin_until(Kind::Task, end);
        } else {
            let left = task.left;
            self.begin(c, Kind::Task, left);
        }
    }

    /// Puts the running task to sleep; somebody else gets the CPU.
    pub(super) fn block(&mut self, c: usize, id: u32, waits: Waits) {
        let task = &mut self.tasks[id as usize];
        task.life = Life::Blocked;
        task.waits = waits;
        task.plan(0, true, Then::Retry);
        self.metrics.count(Count::Blocks);
        if !matches!(waits, Waits::Timer | Waits::Device(_)) {
            self.lively -= 1;
        }
        let held = self.lock(c, c, self.prices.costs.lock_hold) + self.read_load_line(c);
        self.cpus[c].steal(held);
        self.queues[c].block(&mut self.entities, Sleep::Normal, self.now);
        self.schedule(c);
    }

    /// Ends the running task.
    pub(super) fn exit(&mut self, c: usize, id: u32) {
        let task = &mut self.tasks[id as usize];
        task.life = Life::Gone;
        let (parent, birth) = (task.parent, task.parent_birth);
        self.lively -= 1;
        self.alive -= 1;
        // A parent that has gone leaves its place to somebody else.
        let here = |parent: &Task| parent.birth == birth && parent.life != Life::Gone;
        if parent != NONE && here(&self.tasks[parent as usize]) {
            self.tasks[parent as usize].exited += 1;
            if self.tasks[parent as usize].waits == Waits::Child
                && self.tasks[parent as usize].life == Life::Blocked
            {
                self.wake_from_interrupt(c, parent);
            }
        }
        self.queues[c].block(&mut self.entities, Sleep::Special, self.now);
        self.schedule(c);
    }

    /// Notes a runnable task that waits on a CPU.
    pub(super) fn push_ready(&mut self, c: usize, id: u32) {
        debug_assert_eq!(self.tasks[id as usize].place, NONE, "task {id} waits twice");
        let ready = &mut self.cpus[c].ready;
        self.tasks[id as usize].place = ready.len() as u32;
        ready.push(id);
        self.waiting += 1;
    }

    /// Takes a task off the list of those that wait on a CPU.
    pub(super) fn drop_ready(&mut self, c: usize, id: u32) {
        let place = self.tasks[id as usize].place;
        if place == NONE {
            return;
        }
        let ready = &mut self.cpus[c].ready;
        debug_assert_eq!(
            ready.get(place as usize),
            Some(&id),
            "task {id} does not wait on CPU {c}"
        );
        ready.swap_remove(place as usize);
        self.waiting -= 1;
        if let Some(&moved) = ready.get(place as usize) {
            self.tasks[moved as usize].place = place;
        }
        self.tasks[id as usize].place = NONE;
    }

    /// Makes an exited task's place free for another one.
    fn retire(&mut self, id: u32) {
        if id as usize >= self.plan.tasks.len() {
            self.entities.renew(TaskId(id), &crate::sched::TaskSpec::default());
            self.spare.push(id);
        }
    }
}
