//! Last-level caches: which of their CPUs are idle, and how busy they have been.

use super::mask::{MOST, Mask};
use super::sim::Sim;
use crate::error::{Error, Result};
use crate::machine::Topology;

/// Where a CPU is.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Its last-level cache.
    pub llc: u32,
    /// Its position there.
    pub at: u32,
}

/// One last-level cache.
#[derive(Debug, Clone)]
pub struct Llc {
    /// Its CPUs by position.
    pub cpus: Vec<u32>,
    /// Positions of each CPU's whole core.
    pub core: Vec<Mask>,
    /// Idle CPUs.
    pub idle: Mask,
    /// CPUs of cores that are idle as a whole.
    pub idle_cores: Mask,
    /// Whether the search believes in idle cores (Linux `has_idle_cores`).
    pub has_idle_cores: bool,
    /// Busy CPU time since the last sample, ns.
    busy: i64,
    /// Up to when it has been added up.
    since: i64,
    /// When utilisation was last sampled.
    sampled: i64,
    /// Utilisation of one CPU on average, 0 to 1024.
    pub util: i64,
    /// CPUs a search may look at (Linux `nr_idle_scan`).
    pub scan: u32,
}

/// Time between two samples of utilisation, ns: the tick of a 250 Hz kernel.
const SAMPLE: i64 = 4_000_000;

/// Half-life of utilisation: 32 ms (Linux PELT), so a sample of 4 ms counts for 1 - 2^(-1/8) = 85/1024.
const GAIN: i64 = 85;

/// Linux `imbalance_pct` of the last-level domain, the percentage of SIS_UTIL.
const PERCENT: i64 = 117;

/// Returns where each CPU is, and the caches.
///
/// # Errors
/// [`Error::InvalidParameter`] if one cache has more CPUs than a [`Mask`] holds.
pub fn build(topology: &Topology) -> Result<(Vec<Place>, Vec<Llc>)> {
    let mut places = vec![Place { llc: 0, at: 0 }; topology.ncpus()];
    let mut llcs = Vec::with_capacity(topology.nllcs());
    for llc in 0..topology.nllcs() as u32 {
        let cpus = topology.llc_cpus(llc).to_vec();
        if cpus.len() > MOST {
            return Err(Error::invalid(
                "machine.topology",
                format!(
                    "{} CPUs share a last-level cache; at most {MOST} are modelled",
                    cpus.len()
                ),
            ));
        }
        for (at, &c) in cpus.iter().enumerate() {
            places[c as usize] = Place { llc, at: at as u32 };
        }
        let core = cpus
            .iter()
            .map(|&c| {
                let mut mask = Mask::default();
                for (at, &other) in cpus.iter().enumerate() {
                    if topology.core(other) == topology.core(c) {
                        mask.insert(at);
                    }
                }
                mask
            })
            .collect();
        llcs.push(Llc {
            scan: cpus.len() as u32,
            cpus,
            core,
            idle: Mask::default(),
            idle_cores: Mask::default(),
            has_idle_cores: true,
            busy: 0,
            since: 0,
            sampled: 0,
            util: 0,
        });
    }
    Ok((places, llcs))
}

impl Llc {
    fn add_up(&mut self, now: i64) {
        let busy = self.cpus.len() as i64 - i64::from(self.idle.count());
        self.busy += busy * (now - self.since);
        self.since = now;
    }

    /// Samples utilisation if it is time, and with it the length of searches.
    pub fn sample(&mut self, now: i64) {
        if now - self.sampled < SAMPLE {
            return;
        }
        self.add_up(now);
        let cpus = self.cpus.len() as i64;
        let share = self.busy * 1024 / ((now - self.sampled) * cpus).max(1);
        for _ in 0..((now - self.sampled) / SAMPLE).min(64) {
            self.util += (share - self.util) * GAIN / 1024;
        }
        self.busy = 0;
        self.sampled = now;
        let y = 1024 - (self.util * self.util * PERCENT * PERCENT / (10_000 * 1024)).min(1024);
        self.scan = (y * cpus / 1024) as u32;
    }
}

impl Sim<'_> {
    /// Notes that a CPU has become idle, or is idle no more.
    #[inline]
    pub(super) fn set_idle(&mut self, c: usize, idle: bool) {
        let Place { llc, at } = self.place[c];
        let llc = &mut self.llcs[llc as usize];
        let at = at as usize;
        if llc.idle.has(at) == idle {
            return;
        }
        llc.add_up(self.now);
        let core = llc.core[at];
        if idle {
            llc.idle.insert(at);
            if core.minus(&llc.idle).is_empty() {
                llc.idle_cores.join(&core);
                llc.has_idle_cores = true;
            }
        } else {
            llc.idle.remove(at);
            llc.idle_cores = llc.idle_cores.minus(&core);
        }
    }

    /// Returns true if the CPU is idle.
    #[inline]
    pub(super) fn is_idle(&self, c: usize) -> bool {
        let Place { llc, at } = self.place[c];
        self.llcs[llc as usize].idle.has(at as usize)
    }
}
