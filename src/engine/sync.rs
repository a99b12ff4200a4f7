//! Locks, contended lines and barriers, and parents that wait for children.

use std::collections::VecDeque;

use super::cpu::{Kind, NONE};
use super::ops::Flow;
use super::sim::Sim;
use super::task::{Then, Waits};
use crate::sched::Enqueue;

/// A lock in use.
#[derive(Debug)]
pub struct LockState {
    /// Who has it.
    owner: u32,
    /// How often the owner has taken it: two handles may mean one lock.
    depth: u32,
    /// Tasks that sleep for it.
    pub sleepers: VecDeque<u32>,
    /// Tasks that spin for it.
    spinners: VecDeque<u32>,
}

impl Default for LockState {
    fn default() -> Self {
        Self { owner: NONE, depth: 0, sleepers: VecDeque::new(), spinners: VecDeque::new() }
    }
}

/// A barrier in use.
#[derive(Debug, Default)]
pub struct BarrierState {
    /// How often everybody has been here.
    generation: u32,
    /// How many are here now.
    pub here: u32,
    /// Those that sleep.
    pub sleepers: Vec<u32>,
    /// Those that spin.
    pub spinners: Vec<u32>,
}

/// A board in use.
#[derive(Debug, Default)]
pub struct BoardState {
    /// Channels on it.
    pub posted: VecDeque<u32>,
}

impl Sim<'_> {
    /// Returns true if nobody has the lock.
    pub(super) fn is_free(&self, lock: u32) -> bool {
        self.mutexes[lock as usize].owner == NONE
    }

    /// Takes a lock, or waits for it.
    pub(super) fn take_lock(&mut self, c: usize, id: u32, lock: u32) -> Flow {
        let state = &mut self.mutexes[lock as usize];
        if state.owner == NONE || state.owner == id {
            state.owner = id;
            state.depth += 1;
            self.next_op(id);
            return Flow::Next;
        }
        if self.plan.locks[lock as usize].spin {
            state.spinners.push_back(id);
            return self.spin(c, id, Waits::Lock(lock), i64::MAX);
        }
        self.tasks[id as usize].waits = Waits::Lock(lock);
        let block = self.prices.costs.block;
        self.spend(c, id, block, true, Then::Recheck)
    }

    /// Gives a lock back; the longest waiting spinner or sleeper gets it.
    pub(super) fn give_lock(&mut self, c: usize, id: u32, lock: u32) -> Flow {
        self.next_op(id);
        let state = &mut self.mutexes[lock as usize];
        state.depth = state.depth.saturating_sub(1);
        if state.depth > 0 {
            return Flow::Next;
        }
        state.owner = NONE;
        if let Some(next) = state.spinners.pop_front() {
            state.owner = next;
            state.depth = 1;
            self.release_spinner(next);
            return Flow::Next;
        }
        match state.sleepers.pop_front() {
            Some(next) => {
                let price = self.begin_wake(c, id, next, false);
                self.spend(c, id, price, true, Then::Deliver)
            }
            None => Flow::Next,
        }
    }

    /// Writes a contended line: waits for its turn and for the line.
    pub(super) fn write_line(&mut self, c: usize, id: u32, line: u32) -> Flow {
        let server = self.lines[line as usize];
        let wait = (server.free_at - self.now).max(0);
        let moved = self.prices.line(self.topology.distance(server.holder, c as u32));
        let price = wait + moved;
        self.lines[line as usize] =
            super::contention::Server { free_at: self.now + price, holder: c as u32 };
        self.next_op(id);
        self.pay(c, id, price)
    }

    /// Spins in user mode for at most so long.
    fn spin(&mut self, c: usize, id: u32, waits: Waits, limit: i64) -> Flow {
        if limit == i64::MAX {
            // Only somebody else can end it.
            self.lively -= 1;
        }
        let task = &mut self.tasks[id as usize];
        task.waits = waits;
        task.plan(0, false, Then::Spin);
        task.timed = true;
        task.until = self.now.saturating_add(limit);
        self.cpus[c].in_kernel = false;
        let until = self.tasks[id as usize].until;
        self.cpus[c].begin_until(Kind::Task, until);
        Flow::Busy
    }

    /// Ends the spinning of a task, wherever it is.
    fn release_spinner(&mut self, id: u32) {
        let task = &mut self.tasks[id as usize];
        self.lively += u32::from(task.until == i64::MAX);
        task.waits = Waits::Nothing;
        task.then = Then::Fetch;
        task.until = self.now;
        task.ip += 1;
        let c = task.cpu as usize;
        if self.cpus[c].cur == id && self.cpus[c].act.kind == Kind::Task {
            self.settle(c);
            let now = self.now;
            self.cpus[c].begin_until(Kind::Task, now);
            self.rekey(c);
        }
    }

    /// The time to spin is over.
    pub(super) fn stop_spinning(&mut self, c: usize, id: u32) {
        if let Waits::Barrier(barrier) = self.tasks[id as usize].waits {
            let state = &mut self.barriers[barrier as usize];
            state.spinners.retain(|&other| other != id);
            state.sleepers.push(id);
            let waits = Waits::Barrier(barrier);
            self.tasks[id as usize].ip += 1;
            self.block(c, id, waits);
        } else {
            self.fetch(c, id);
        }
    }

    /// Waits until all parties are here.
    pub(super) fn meet(&mut self, c: usize, id: u32, barrier: u32) -> Flow {
        let parties = self.plan.barriers[barrier as usize].parties;
        let limit = self.plan.barriers[barrier as usize].spin;
        let state = &mut self.barriers[barrier as usize];
        state.here += 1;
        if state.here < parties {
            if limit > 0 {
                state.spinners.push(id);
                return self.spin(c, id, Waits::Barrier(barrier), limit);
            }
            state.sleepers.push(id);
            self.next_op(id);
            self.block(c, id, Waits::Barrier(barrier));
            return Flow::Busy;
        }
        state.here = 0;
        state.generation = state.generation.wrapping_add(1);
        let spinners = std::mem::take(&mut state.spinners);
        let sleepers = std::mem::take(&mut state.sleepers);
        for &other in &spinners {
            self.release_spinner(other);
        }
        let mut price = 0;
        for &other in &sleepers {
            price += self.begin_wake(c, NONE, other, false);
            let target = self.last_target;
            self.enqueue(c, target, other, false);
        }
        let state = &mut self.barriers[barrier as usize];
        state.spinners = spinners;
        state.spinners.clear();
        state.sleepers = sleepers;
        state.sleepers.clear();
        self.next_op(id);
        self.pay(c, id, price)
    }

    /// Starts a child with the parent's handles, registers, note and caller.
    pub(super) fn fork(&mut self, c: usize, id: u32, program: u32) -> Flow {
        self.next_op(id);
        let Some(child) = self.spare.pop() else {
            // No place left: the parent waits for a child to end, as fork does at its limit.
            self.tasks[id as usize].ip -= 1;
            return self.yield_for_place(c, id);
        };
        self.births += 1;
        let birth = self.births;
        let parent = &self.tasks[id as usize];
        let (handles, affinity, parent_birth) = (parent.handles, parent.affinity, parent.birth);
        let (registers, stamp, caller) = (parent.registers, parent.stamp, parent.caller);
        let target = self.cpu_for_child(c, id);
        let now = self.now;
        let task = &mut self.tasks[child as usize];
        task.program = program;
        task.ip = 0;
        task.depth = 0;
        task.handles = handles;
        task.affinity = affinity;
        task.parent = id;
        task.birth = birth;
        task.parent_birth = parent_birth;
        task.exited = 0;
        task.due = now;
        task.registers = registers;
        task.stamp = stamp;
        task.caller = caller;
        task.waits = Waits::Nothing;
        task.cpu = target as u32;
        task.data = (NONE, 0);
        task.plan(0, true, Then::Retry);
        self.alive += 1;
        self.lively += 1;
        self.arrive(c, target, child, Enqueue::Fork);
        Flow::Next
    }

    fn yield_for_place(&mut self, c: usize, id: u32) -> Flow {
        // It asks again from user mode, where its children can take the CPU from it.
        let block = self.prices.costs.block.max(1000);
        self.spend(c, id, block, false, Then::Retry)
    }

    /// The slow path of fork: an idle CPU nearby, else the shortest queue of the cache.
    fn cpu_for_child(&mut self, c: usize, id: u32) -> usize {
        let llc = self.place[c].llc as usize;
        if self.llcs[llc].idle.is_empty() && self.tasks[id as usize].affinity == NONE {
            let n = self.llcs.len();
            let other = (1..n).map(|i| (llc + i) % n).find(|&l| !self.llcs[l].idle.is_empty());
            return self.idlest_near(id, other.unwrap_or(llc));
        }
        self.idlest_near(id, llc)
    }

    /// Waits until a child has exited.
    pub(super) fn wait_child(&mut self, c: usize, id: u32) -> Flow {
        let task = &mut self.tasks[id as usize];
        if task.exited > 0 {
            task.exited -= 1;
            task.waits = Waits::Nothing;
            task.ip += 1;
            return Flow::Next;
        }
        task.waits = Waits::Child;
        let block = self.prices.costs.block;
        self.spend(c, id, block, true, Then::Recheck)
    }
}
