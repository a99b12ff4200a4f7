//! Laws that hold at every moment of a run, watched while it goes on; for tests.
//!
//! After an event, or after some on large machines, everything that is kept twice is compared, and
//! everything that must not be lost is looked for. What is broken is written down in words.

use super::cpu::{Kind, NONE};
use super::sim::Sim;
use super::task::{Life, Then, Waits};
use crate::workload::{At, Op};

/// Most faults that are written down.
const MOST: usize = 8;

/// Tasks and CPUs looked at per event, about: an event of a big run is not paid for with all of them.
const PER_EVENT: usize = 32;

/// A timer may be late by so much: the deepest exit and some interrupts, ns.
const LATE: i64 = 20_000_000;

/// What has been seen so far.
#[derive(Debug, Default)]
pub struct Audit {
    /// What was broken.
    pub faults: Vec<String>,
    now: i64,
    events: usize,
}

impl Audit {
    fn expect(&mut self, holds: bool, fault: impl FnOnce() -> String) {
        if !holds && self.faults.len() < MOST {
            self.faults.push(format!("at {} ns: {}", self.now, fault()));
        }
    }
}

impl Sim<'_> {
    /// Looks at the run after an event.
    pub(super) fn look_over(&self, mut audit: Box<Audit>) -> Box<Audit> {
        audit.expect(audit.now <= self.now, || format!("time goes back to {}", self.now));
        audit.now = self.now;
        audit.events += 1;
        let size = self.cpus.len() + self.tasks.len() + self.channels.len();
        if audit.events.is_multiple_of(1 + size / PER_EVENT) {
            self.look_at_all(&mut audit);
        }
        audit
    }

    /// Looks at the run when it has ended, and returns what was broken.
    pub(super) fn look_at_rest(&mut self) -> Vec<String> {
        let Some(mut audit) = self.audit.take() else { return Vec::new() };
        self.look_at_all(&mut audit);
        audit.faults
    }

    fn look_at_all(&self, audit: &mut Audit) {
        (0..self.cpus.len()).for_each(|c| self.look_at_cpu(audit, c));
        self.look_at_counts(audit);
        self.look_for_starving(audit);
        self.look_for_lost(audit);
        self.look_at_sleepers(audit);
    }

    /// Books, the task that has the CPU, and those that wait for it.
    fn look_at_cpu(&self, audit: &mut Audit, c: usize) {
        let cpu = &self.cpus[c];
        let spent = cpu.spent.busy + cpu.spent.overhead + cpu.spent.idle;
        audit.expect(spent == cpu.act.since, || {
            format!("CPU {c} has accounted for {spent} of {} ns", cpu.act.since)
        });
        let works = matches!(cpu.act.kind, Kind::Task | Kind::Switch);
        audit.expect(works == (cpu.cur != NONE), || {
            format!("CPU {c} is in {:?} with task {}", cpu.act.kind, cpu.cur)
        });
        audit.expect(!works || !self.is_idle(c), || format!("CPU {c} works and counts as idle"));
        let visible = self.is_idle(c) || works || !cpu.ready.is_empty();
        let coming = !cpu.wake_list.is_empty();
        audit.expect(visible || coming, || format!("CPU {c} is idle and counts as busy"));
        let asleep = cpu.act.kind == Kind::Idle && (coming || !cpu.ready.is_empty());
        audit.expect(!asleep, || format!("CPU {c} sleeps while somebody waits for it"));
        audit.expect(self.slots.time(c) <= cpu.next_event(), || {
            format!(
                "CPU {c} is looked at {} and has to be {}",
                self.slots.time(c),
                cpu.next_event()
            )
        });
        let curr = self.queues[c].common().curr.map_or(NONE, |id| id.0);
        audit.expect(curr == cpu.cur, || format!("queue {c} runs {curr}, its CPU {}", cpu.cur));
        if let Some(task) = self.tasks.get(cpu.cur as usize) {
            let here = task.life == Life::Running && task.place == NONE && task.cpu as usize == c;
            audit.expect(here, || format!("CPU {c} runs task {} that is {:?}", cpu.cur, task.life));
            audit.expect(self.allowed(cpu.cur, c), || format!("task {} on CPU {c}", cpu.cur));
        }
        for (place, &id) in cpu.ready.iter().enumerate() {
            let task = &self.tasks[id as usize];
            audit.expect(task.life == Life::Ready && task.place as usize == place, || {
                format!("CPU {c} keeps task {id} ready that is {:?}", task.life)
            });
            audit.expect(self.allowed(id, c), || format!("task {id} waits on CPU {c}"));
        }
        let nr = self.queues[c].common().nr as usize;
        let least = cpu.ready.len() + usize::from(cpu.cur != NONE);
        audit.expect(nr >= least, || format!("queue {c} has {nr} tasks instead of {least}"));
    }

    fn look_at_counts(&self, audit: &mut Audit) {
        let ready: usize = self.cpus.iter().map(|c| c.ready.len()).sum();
        audit
            .expect(ready == self.waiting as usize, || format!("{} of {ready} wait", self.waiting));
        let plan = self.plan.tasks.len();
        let to_start = self.starts.len() - self.started;
        let moves = |life: Life| matches!(life, Life::Running | Life::Ready | Life::Waking);
        let lively = |task: &super::task::Task| match task.life {
            Life::Blocked => matches!(task.waits, Waits::Timer | Waits::Device(_)),
            life => moves(life) && !(task.then == Then::Spin && task.until == i64::MAX),
        };
        let found = self.tasks.iter().filter(|t| lively(t)).count() + to_start;
        audit.expect(found == self.lively as usize, || format!("{} of {found} live", self.lively));
        let there = |(i, task): (usize, &super::task::Task)| match task.life {
            Life::New => i < plan,
            Life::Gone => false,
            _ => true,
        };
        let found = self.tasks.iter().enumerate().filter(|&t| there(t)).count();
        audit.expect(found == self.alive as usize, || format!("{} of {found} exist", self.alive));
        let io =
            |t: &&super::task::Task| t.life == Life::Blocked && matches!(t.waits, Waits::Device(_));
        let found = self.tasks.iter().filter(io).count();
        let counted: u32 = self.cpus.iter().map(|c| c.iowait).sum();
        audit.expect(found == counted as usize, || format!("{counted} of {found} in I/O wait"));
    }

    /// No CPU idles for longer than a balance period while a task that may run there waits.
    fn look_for_starving(&self, audit: &mut Audit) {
        if self.waiting == 0 {
            return;
        }
        let period = (self.cpus.len() as i64 * 1_000_000).max(self.tick) + 2 * self.tick;
        let since = self.now - period;
        for (c, cpu) in self.cpus.iter().enumerate() {
            if cpu.cur != NONE || cpu.idle_since > since || !self.is_idle(c) {
                continue;
            }
            let waits =
                |&&id: &&u32| self.tasks[id as usize].ready_at < since && self.allowed(id, c);
            for (other, from) in self.cpus.iter().enumerate() {
                if let Some(id) = from.ready.iter().find(waits) {
                    audit.expect(false, || {
                        format!("CPU {c} idles, and task {id} waits on CPU {other} all the time")
                    });
                }
            }
        }
    }

    /// Every message, room and lock that somebody sleeps for has somebody on the way to it.
    fn look_for_lost(&self, audit: &mut Audit) {
        let mut receiving = vec![0usize; self.channels.len()];
        let mut sending = vec![0usize; self.channels.len()];
        let mut locking = vec![0usize; self.mutexes.len()];
        for (i, task) in self.tasks.iter().enumerate() {
            if !matches!(task.life, Life::Running | Life::Ready | Life::Waking) {
                continue;
            }
            let ops = &self.plan.programs[task.program as usize].ops;
            let resolve = |at: At| self.resolve(i as u32, at) as usize;
            // Past the end, the program begins anew.
            match *ops.get(task.ip as usize).unwrap_or(&ops[0]) {
                Op::Send { to: At::Caller, .. } if task.caller == NONE => {}
                Op::Receive(at) => receiving[resolve(at)] += 1,
                Op::Send { to, .. } => sending[resolve(to)] += 1,
                Op::Post(board) => sending[self.plan.boards[resolve(board)] as usize] += 1,
                Op::Lock(at) => locking[resolve(at)] += 1,
                _ => {}
            }
        }
        for (i, channel) in self.channels.iter().enumerate() {
            let n = channel.messages.len();
            let lost = !channel.receivers.is_empty() && n > receiving[i];
            audit.expect(!lost, || format!("{n} messages on channel {i}, and a receiver sleeps"));
            let lost = !channel.senders.is_empty() && n == 0 && sending[i] == 0;
            audit.expect(!lost, || format!("channel {i} is empty, and a sender sleeps"));
        }
        for (i, lock) in self.mutexes.iter().enumerate() {
            let lost = self.is_free(i as u32) && !lock.sleepers.is_empty() && locking[i] == 0;
            audit
                .expect(!lost, || format!("lock {i} is free, and task {:?} sleeps", lock.sleepers));
        }
        for (i, barrier) in self.barriers.iter().enumerate() {
            let here = barrier.sleepers.len() + barrier.spinners.len();
            audit.expect(here == barrier.here as usize, || {
                format!("{here} tasks wait at barrier {i}, {} have come", barrier.here)
            });
        }
    }

    /// Everybody that sleeps, or is being woken, is known to whoever has to go on with it.
    fn look_at_sleepers(&self, audit: &mut Audit) {
        let mut awaited = vec![false; self.tasks.len()];
        for task in &self.tasks {
            if matches!(task.then, Then::Deliver | Then::DeliverRetry) && task.life != Life::Gone {
                awaited[task.wakee as usize] = true;
            }
        }
        for &id in self.cpus.iter().flat_map(|c| c.wake_list.iter().chain(&c.due)) {
            awaited[id as usize] = true;
        }
        for (i, task) in self.tasks.iter().enumerate() {
            match (task.life, task.waits) {
                (Life::Waking, _) => {
                    audit.expect(awaited[i], || format!("task {i} wakes for ever"))
                }
                (Life::Blocked, Waits::Timer) => audit.expect(task.until + LATE > self.now, || {
                    format!("task {i} oversleeps {}", task.until)
                }),
                (Life::Blocked, Waits::Child) => audit
                    .expect(task.exited == 0, || format!("task {i} waits for a child that left")),
                (Life::Blocked, Waits::Nothing) => {
                    audit.expect(false, || format!("task {i} sleeps for nothing"))
                }
                _ => {}
            }
        }
    }
}
