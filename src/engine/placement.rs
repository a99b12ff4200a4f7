//! Which CPU a task gets: at a wake-up, and at its start (schedulers.md 4).

use super::cpu::NONE;
use super::llc::Place;
use super::sim::Sim;
use crate::machine::Distance;
use crate::workload::Layout;

/// Linux `imbalance_pct` between last-level caches, and inside a core.
const IMBALANCE: i64 = 117;
const IMBALANCE_SMT: i64 = 110;

/// Wake-up flips are halved when so much time has passed, ns (one second).
const FLIP_DECAY: i64 = 1_000_000_000;

/// CPUs that a search of SIS_PROP looks at, at least.
const LEAST_SCAN: u32 = 4;

impl Sim<'_> {
    /// Returns true if the task may run on the CPU.
    #[inline]
    pub(super) fn allowed(&self, id: u32, c: usize) -> bool {
        let set = self.tasks[id as usize].affinity;
        set == NONE || self.affinities[set as usize][c]
    }

    /// Chooses the CPU of a woken task; `waker` is [`NONE`] in an interrupt.
    pub(super) fn choose_cpu(&mut self, c: usize, waker: u32, wakee: u32, sync: bool) -> usize {
        if self.cpus.len() == 1 { 0 } else { self.search_cpu(c, waker, wakee, sync) }
    }

    fn search_cpu(&mut self, c: usize, waker: u32, wakee: u32, sync: bool) -> usize {
        let prev = self.tasks[wakee as usize].cpu as usize;
        let wide = waker != NONE && self.is_wide(c, waker, wakee);
        let target = if !wide && self.allowed(wakee, c) && c != prev {
            self.wake_affine(c, prev, waker, sync)
        } else {
            prev
        };
        let found = self.idle_sibling(wakee, prev, target);
        if self.allowed(wakee, found) {
            return found;
        }
        if self.allowed(wakee, prev) { prev } else { self.any_allowed(wakee) }
    }

    fn any_allowed(&self, id: u32) -> usize {
        let open = |c: &usize| self.allowed(id, *c);
        let idle = (0..self.cpus.len()).filter(open).find(|&c| self.is_idle(c));
        idle.or_else(|| {
            (0..self.cpus.len()).filter(open).min_by_key(|&c| self.queues[c].common().nr)
        })
        .expect("the plan's check refuses empty sets of CPUs")
    }

    /// True if the waker wakes too many different tasks for its last-level cache to hold them
    /// (Linux `wake_wide`).
    fn is_wide(&mut self, c: usize, waker: u32, wakee: u32) -> bool {
        let now = self.now;
        let task = &mut self.tasks[waker as usize];
        if now - task.flips_at > FLIP_DECAY {
            task.flips >>= 1;
            task.flips_at = now;
        }
        if task.last_wakee != wakee {
            task.last_wakee = wakee;
            task.flips += 1;
        }
        let (a, b) = (task.flips, self.tasks[wakee as usize].flips);
        let factor = self.llcs[self.place[c].llc as usize].cpus.len() as u32;
        let (less, more) = (a.min(b), a.max(b));
        less >= factor && more >= less.saturating_mul(factor)
    }

    /// Chooses between the waker's CPU and the previous one (Linux `wake_affine`).
    fn wake_affine(&self, c: usize, prev: usize, waker: u32, sync: bool) -> usize {
        let near = self.topology.distance(c as u32, prev as u32);
        if self.rules.wa_idle {
            if self.is_idle(c) && near <= Distance::Llc {
                return if self.is_idle(prev) { prev } else { c };
            }
            if sync && self.queues[c].common().nr == 1 {
                return c;
            }
            if self.is_idle(prev) {
                return prev;
            }
        }
        if !self.rules.wa_weight {
            return prev;
        }
        // Queue lengths stand for load averages; all tasks weigh the same.
        let load = |cpu: usize| i64::from(self.queues[cpu].common().nr) * 1024;
        let mut here = load(c);
        if sync && waker != NONE {
            if here <= 1024 {
                return c;
            }
            here -= 1024;
        }
        let percent = if near == Distance::Smt { IMBALANCE_SMT } else { IMBALANCE };
        let mut mine = (here + 1024) * 100;
        mine *= i64::from(self.topology.capacity(prev as u32));
        let bias = if self.rules.wa_bias { 100 + (percent - 100) / 2 } else { 100 };
        let mut theirs = load(prev) * bias;
        theirs *= i64::from(self.topology.capacity(c as u32));
        if sync {
            theirs += 1;
        }
        if mine < theirs { c } else { prev }
    }

    /// Looks for an idle CPU near the target (Linux `select_idle_sibling`).
    fn idle_sibling(&mut self, wakee: u32, prev: usize, target: usize) -> usize {
        let free = |sim: &Self, c: usize| sim.is_idle(c) && sim.allowed(wakee, c);
        if free(self, target) {
            return target;
        }
        let llc = self.place[target].llc;
        if prev != target && self.place[prev].llc == llc && free(self, prev) {
            return prev;
        }
        let recent = self.tasks[wakee as usize].recent;
        if recent != NONE
            && recent as usize != prev
            && recent as usize != target
            && self.place[recent as usize].llc == llc
            && free(self, recent as usize)
        {
            self.tasks[wakee as usize].recent = prev as u32;
            return recent as usize;
        }
        self.scan(wakee, prev, target, llc as usize).unwrap_or(target)
    }

    fn scan(&mut self, wakee: u32, prev: usize, target: usize, llc: usize) -> Option<usize> {
        let now = self.now;
        let from = self.place[target].at as usize + 1;
        self.llcs[llc].sample(now);
        let domain = &mut self.llcs[llc];
        if domain.has_idle_cores {
            if let Some(at) = domain.idle_cores.first_from(from) {
                let c = domain.cpus[at] as usize;
                if self.tasks[wakee as usize].affinity == NONE || self.allowed(wakee, c) {
                    return Some(c);
                }
            } else {
                domain.has_idle_cores = false;
            }
            // The search for a whole core remembers any idle CPU on its way.
            return self.first_idle(wakee, llc, from, u32::MAX);
        }
        if self.place[prev].llc as usize == llc {
            let siblings = self.topology.siblings(prev as u32);
            let found = siblings.iter().map(|&s| s as usize);
            if let Some(s) = found.filter(|&s| self.is_idle(s)).find(|&s| self.allowed(wakee, s)) {
                return Some(s);
            }
        }
        let most = self.scan_length(llc, target);
        if most == 0 {
            return None;
        }
        self.first_idle(wakee, llc, from, most)
    }

    /// Returns how many CPUs the search may look at.
    fn scan_length(&self, llc: usize, target: usize) -> u32 {
        let domain = &self.llcs[llc];
        if self.rules.sis_util {
            domain.scan
        } else if self.rules.sis_prop {
            // span * avg_idle / avg_scan_cost, with the cost of one look (about 20 ns) times the span.
            let span = domain.cpus.len() as i64;
            let cost = 20 * span;
            let n = span * self.cpus[target].avg_idle / 512 / cost.max(1);
            n.max(i64::from(LEAST_SCAN)).min(span) as u32
        } else {
            u32::MAX
        }
    }

    fn first_idle(&self, wakee: u32, llc: usize, from: usize, most: u32) -> Option<usize> {
        let domain = &self.llcs[llc];
        let n = domain.cpus.len();
        if self.tasks[wakee as usize].affinity == NONE {
            let at = domain.idle.first_from(from)?;
            let steps = (at + n - from % n) % n;
            return (steps < most as usize).then(|| domain.cpus[at] as usize);
        }
        (0..n.min(most as usize))
            .map(|i| (from + i) % n)
            .filter(|&at| domain.idle.has(at))
            .map(|at| domain.cpus[at] as usize)
            .find(|&c| self.allowed(wakee, c))
    }

    /// Returns the CPU on which a task of the plan starts.
    pub(super) fn first_cpu(&self, id: u32) -> usize {
        let group = self.plan.tasks.get(id as usize).map_or(0, |t| t.group) as usize;
        let nllcs = self.llcs.len();
        match self.plan.layout {
            Layout::Spread => self.idlest_near(id, group % nllcs),
            Layout::Packed => {
                // Fill one cache after the other, as many groups in each as there are rounds.
                let groups =
                    self.plan.tasks.iter().map(|t| t.group).max().unwrap_or(0) as usize + 1;
                self.idlest_near(id, group * nllcs.min(groups) / groups)
            }
            Layout::Socket0 => {
                let n = self.topology.socket_cpus(0).len();
                let here =
                    self.llcs.iter().filter(|l| self.topology.socket(l.cpus[0]) == 0).count();
                if self.plan.tasks.len() <= n {
                    self.idlest_near(id, group % here.max(1))
                } else {
                    self.idlest_near(id, group % nllcs)
                }
            }
        }
    }

    /// Returns the CPU with the shortest queue in a cache; idle cores first. If the task may not run
    /// there, the best one anywhere.
    pub(super) fn idlest_near(&self, id: u32, llc: usize) -> usize {
        let domain = &self.llcs[llc];
        let key = |c: usize| {
            let Place { llc, at } = self.place[c];
            let whole = self.llcs[llc as usize].idle_cores.has(at as usize);
            (self.queues[c].common().nr, !whole, c)
        };
        let near = domain.cpus.iter().map(|&c| c as usize).filter(|&c| self.allowed(id, c));
        near.min_by_key(|&c| key(c))
            .or_else(|| {
                (0..self.cpus.len()).filter(|&c| self.allowed(id, c)).min_by_key(|&c| key(c))
            })
            .unwrap_or(0)
    }
}
