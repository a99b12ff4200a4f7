//! How fast each CPU is: its capacity, the clock of its domain, and what its siblings do.

use super::cpu::{FULL, Look};
use super::sim::Sim;
use crate::machine::{ClockDomain, Flush, Machine};

/// Clock domains and how many of their cores are awake.
#[derive(Debug)]
pub struct Clocks {
    /// Domain of each CPU.
    domain: Vec<u32>,
    /// Awake cores by domain.
    awake: Vec<u32>,
    /// Awake threads by core.
    threads: Vec<u32>,
    /// Whether each CPU counts as awake.
    counted: Vec<bool>,
    /// Speed by number of awake cores, as a fraction of [`FULL`].
    bins: Vec<u64>,
    /// Domains whose clock has changed since a CPU last looked, by CPU.
    stale: Vec<bool>,
}

impl Clocks {
    /// Returns the clocks of a machine with every CPU awake.
    pub fn new(machine: &Machine) -> Self {
        let topology = &machine.topology;
        let (ncpus, ncores) = (topology.ncpus(), topology.ncores());
        let domain: Vec<u32> = (0..ncpus as u32)
            .map(|c| match machine.clock.domain {
                ClockDomain::Core => topology.core(c),
                ClockDomain::Cluster => topology.llc(c),
                ClockDomain::Package => topology.socket(c),
            })
            .collect();
        let domains = domain.iter().max().map_or(0, |d| *d as usize + 1);
        let bins: Vec<u64> = (0..=ncores)
            .map(|n| FULL * u64::from(machine.clock.permille(n.max(1))) / 1000)
            .collect();
        let mut clocks = Self {
            stale: vec![true; ncpus],
            domain,
            awake: vec![0; domains],
            threads: vec![0; ncores],
            counted: vec![false; ncpus],
            bins,
        };
        for c in 0..ncpus {
            clocks.count(topology.core(c as u32), c, true);
        }
        clocks
    }

    fn count(&mut self, core: u32, c: usize, awake: bool) {
        if self.counted[c] == awake {
            return;
        }
        self.counted[c] = awake;
        let threads = &mut self.threads[core as usize];
        let domain = &mut self.awake[self.domain[c] as usize];
        let before = self.bins[*domain as usize];
        if awake {
            *threads += 1;
            *domain += u32::from(*threads == 1);
        } else {
            *threads -= 1;
            *domain -= u32::from(*threads == 0);
        }
        if self.bins[*domain as usize] != before {
            let changed = self.domain[c];
            for (stale, &domain) in self.stale.iter_mut().zip(&self.domain) {
                *stale |= domain == changed;
            }
        }
    }

    /// Returns the clock of a CPU.
    #[inline]
    fn speed(&self, c: usize) -> u64 {
        self.bins[self.awake[self.domain[c] as usize] as usize]
    }
}

impl Sim<'_> {
    /// Returns how fast a CPU works at present.
    pub(super) fn rate(&self, c: usize) -> u64 {
        let siblings = self.topology.siblings(c as u32);
        let look = siblings.iter().map(|&s| self.looks[s as usize]).fold(
            Look::Halted,
            |most, look| match (most, look) {
                (Look::Active, _) | (_, Look::Active) => Look::Active,
                (Look::Polling, _) | (_, Look::Polling) => Look::Polling,
                _ => Look::Halted,
            },
        );
        let share = match look {
            Look::Active => self.prices.smt_run,
            Look::Polling => self.prices.smt_poll,
            Look::Halted => FULL,
        };
        let capacity = u64::from(self.topology.capacity(c as u32));
        let speed = (self.clock.speed(c) * share) >> 16;
        (speed * capacity / 1024).max(1)
    }

    /// Notes that a CPU looks different to its siblings: their work slows down or speeds up.
    ///
    /// The clock of the other cores of the domain changes at their next activity.
    pub(super) fn look(&mut self, c: usize) {
        let state = self.cpus[c].period.hardware;
        let class = self.class(c);
        let look = self.cpus[c].look(class.table.states()[state].polling);
        if self.looks[c] == look {
            return;
        }
        self.looks[c] = look;
        let asleep = look == Look::Halted && class.flush[state] != Flush::Keep;
        let topology = self.topology;
        self.clock.count(topology.core(c as u32), c, !asleep);
        for &s in topology.siblings(c as u32) {
            let s = s as usize;
            self.settle(s);
            self.rates[s] = self.rate(s);
            let rate = self.rates[s];
            self.cpus[s].predict_end(rate);
            self.rekey(s);
        }
    }

    /// Begins work on a CPU, at the speed it has now.
    #[inline]
    pub(super) fn begin(&mut self, c: usize, kind: super::cpu::Kind, work: i64) {
        if self.clock.stale[c] {
            self.clock.stale[c] = false;
            self.rates[c] = self.rate(c);
        }
        let rate = self.rates[c];
        self.cpus[c].begin(kind, work, rate);
    }
}
