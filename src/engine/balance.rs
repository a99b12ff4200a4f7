//! Load balancing: an idle CPU pulls, a busy one pulls now and then or hands over to an idle one
//! (schedulers.md 5, simplified: numbers of tasks stand for loads).

use super::cpu::NONE;
use super::metrics::Count;
use super::sim::Sim;
use crate::sched::{Enqueue, TaskId};

/// Domains above the core: the last-level cache, the socket, the machine.
const DOMAINS: usize = 3;

/// Price of a look at one queue while balancing, ns (guess; a few cache lines each).
const LOOK: i64 = 30;

/// Failures after which cache-hot tasks are moved too (Linux `cache_nice_tries`).
const PATIENCE: u32 = 1;

impl Sim<'_> {
    fn domain(&self, c: usize, level: usize) -> &[u32] {
        let c = c as u32;
        match level {
            0 => self.topology.llc_cpus(self.topology.llc(c)),
            1 => self.topology.socket_cpus(self.topology.socket(c)),
            _ => &self.everyone,
        }
    }

    /// A CPU that is about to idle looks for work; returns true if it found some.
    pub(super) fn pull_when_idle(&mut self, c: usize) -> bool {
        if self.cpus.len() == 1 || self.waiting == 0 {
            return false;
        }
        for level in 0..DOMAINS {
            let span = self.domain(c, level).len() as i64;
            if level > 0 && span == self.domain(c, level - 1).len() as i64 {
                continue;
            }
            let price = LOOK * span;
            // Not worth it if the CPU is rarely idle for so long (Linux `max_newidle_lb_cost`).
            if self.cpus[c].avg_idle < price + self.prices.costs.migrate[level + 2] {
                return false;
            }
            self.cpus[c].steal(price);
            if self.pull(c, level, 1) {
                return true;
            }
        }
        false
    }

    /// Periodic balancing of a busy CPU at its tick, and a push to an idle CPU if tasks wait here.
    pub(super) fn balance_busy(&mut self, c: usize) {
        if self.cpus.len() == 1 {
            return;
        }
        if !self.cpus[c].ready.is_empty() {
            self.push_to_idle(c);
        }
        self.periodic(c, 16);
    }

    /// Periodic balancing of an idle CPU at its tick.
    pub(super) fn balance_idle(&mut self, c: usize) {
        if self.cpus.len() > 1 && self.waiting > 0 {
            self.periodic(c, 1);
        }
    }

    fn periodic(&mut self, c: usize, busy_factor: i64) {
        for level in 0..DOMAINS {
            if self.now < self.cpus[c].balance_at[level] {
                continue;
            }
            let span = self.domain(c, level).len() as i64;
            if level > 0 && span == self.domain(c, level - 1).len() as i64 {
                continue;
            }
            let interval = (span * 1_000_000 * busy_factor).clamp(self.tick, 4_100_000_000);
            self.cpus[c].balance_at[level] = self.now + interval;
            let least = if self.is_idle(c) { 1 } else { 2 };
            self.cpus[c].steal(LOOK * span);
            if self.waiting > 0 {
                self.pull(c, level, least);
            }
        }
    }

    /// Pulls a waiting task from the longest queue of a domain if it is longer by `least`.
    fn pull(&mut self, c: usize, level: usize, least: u32) -> bool {
        let mine = self.queues[c].common().nr;
        let from = self
            .domain(c, level)
            .iter()
            .map(|&o| o as usize)
            .filter(|&o| o != c && !self.cpus[o].ready.is_empty())
            .max_by_key(|&o| (self.queues[o].common().nr, std::cmp::Reverse(o)));
        let Some(from) = from else { return false };
        let theirs = self.queues[from].common().nr;
        // A queue of one is about to run it (Linux `load_balance`: `nr_running > 1`).
        if theirs < 2 || theirs < mine + least {
            return false;
        }
        let patient = self.cpus[c].balance_failures <= PATIENCE;
        let hot_before = self.now - self.migration_cost;
        let movable = |id: u32| self.allowed(id, c) && !self.entities[TaskId(id)].delayed;
        let tasks = &self.tasks;
        let candidates = self.cpus[from].ready.iter().copied().filter(|&id| movable(id));
        let coldest = candidates.min_by_key(|&id| (tasks[id as usize].left_at, id));
        match coldest {
            Some(id) if !patient || tasks[id as usize].left_at <= hot_before => {
                self.cpus[c].balance_failures = 0;
                self.migrate(id, from, c);
                true
            }
            _ => {
                self.cpus[c].balance_failures += 1;
                false
            }
        }
    }

    /// Hands a waiting task to an idle CPU, in the same last-level cache if there is one.
    fn push_to_idle(&mut self, c: usize) {
        let llc = self.place[c].llc as usize;
        let at = self.place[c].at as usize;
        let near = self.llcs[llc].idle.first_from(at).map(|p| self.llcs[llc].cpus[p] as usize);
        let target = near.or_else(|| {
            let n = self.llcs.len();
            (1..n).map(|i| (llc + i) % n).find_map(|l| {
                self.llcs[l].idle.first_from(0).map(|p| self.llcs[l].cpus[p] as usize)
            })
        });
        let Some(target) = target else { return };
        let ready = &self.cpus[c].ready;
        let found = ready.iter().find(|&&id| self.allowed(id, target)).map(|&id| (id, target));
        if let Some((id, target)) = found.or_else(|| self.confined_to_idle(c)) {
            self.cpus[c].steal(LOOK * self.llcs[llc].cpus.len() as i64);
            self.migrate(id, c, target);
        }
    }

    /// Returns a waiting task that is confined to some CPUs, and an idle one among these.
    fn confined_to_idle(&self, c: usize) -> Option<(u32, usize)> {
        let idle = |id: u32| {
            (0..self.cpus.len()).find(|&other| self.allowed(id, other) && self.is_idle(other))
        };
        let mut seen = NONE;
        let mut anew = |id: u32| {
            let set = self.tasks[id as usize].affinity;
            std::mem::replace(&mut seen, set) != set
        };
        let mut sets = self.cpus[c].ready.iter().copied().filter(|&id| anew(id));
        sets.find_map(|id| idle(id).map(|other| (id, other)))
    }

    fn migrate(&mut self, id: u32, from: usize, to: usize) {
        self.metrics.count(Count::Pulls);
        self.metrics.count(Count::Migrations);
        self.drop_ready(from, id);
        self.queues[from].leave(&mut self.entities, TaskId(id), self.now);
        let price = self.write_load_line(to, 2) + self.lock(from, to, self.prices.costs.lock_hold);
        self.cpus[to].steal_if_awake(price);
        self.arrive(from, to, id, Enqueue::Migrate);
        self.note_slice_timer(from);
        self.rekey(to);
        self.rekey(from);
    }
}
