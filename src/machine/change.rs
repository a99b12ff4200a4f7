//! Changed copies of a machine: by the names of its settings, or cut down to one cache's share.

use super::settings::{Draft, Setting, settings};
use super::topology::{Numbering, Shape};
use super::{CpuClass, IdleTable, Machine, Topology, Value};
use crate::catalogue;
use crate::error::{Error, Result};

impl Machine {
    /// All settings with their values, in the units that their names say.
    pub fn settings(&self) -> Vec<(String, Value)> {
        let (mut copy, mut draft) = (self.clone(), Draft::new(self));
        settings(&mut copy, &mut draft).iter().map(|s| (s.name(), s.get())).collect()
    }

    /// A copy with some settings changed and everything checked again.
    ///
    /// Names are those of [`Machine::settings`]; any unit that fits may stand in a name
    /// (`costs.wake_us`), `states.` may be left out before a state, case does not matter, and
    /// `exit_latency` and `target_residency` are the same as `exit` and `residency`. On a hybrid
    /// `states.WFI...` means the state in every class, `states.big.WFI...` that of one.
    ///
    /// An exit latency is what the governor sees; the actual wake stays, except on a machine whose
    /// wakes all are the exit latencies of the table. Another number of sockets keeps the memory nodes per socket unless these are changed too.
    ///
    /// # Errors
    /// [`Error::UnknownName`] with the nearest settings; [`Error::InvalidParameter`] for a value
    /// out of range, counts that do not divide, and a topology of listed CPUs.
    pub fn replace(&self, changes: &[(String, Value)]) -> Result<Self> {
        let (mut copy, notes) = self.apply(changes)?;
        copy.aliases.clear();
        copy.sources.extend(notes.into_iter().map(|note| format!("changed: {note}")));
        copy.checked()
    }

    /// The same without a note in the sources and under the same aliases: a preset's own prices.
    pub(super) fn with_costs(&self, costs: &[(String, Value)]) -> Result<Self> {
        self.apply(costs)?.0.checked()
    }

    fn apply(&self, changes: &[(String, Value)]) -> Result<(Self, Vec<String>)> {
        let mut copy = self.clone();
        let mut draft = Draft::new(self);
        let mut notes = Vec::new();
        {
            let mut all = settings(&mut copy, &mut draft);
            for (name, value) in changes {
                notes.extend(set(&mut all, name, value)?);
            }
        }
        let named = |stem: &str| changes.iter().any(|(name, _)| name.to_lowercase().contains(stem));
        copy.power = draft.power();
        copy.reshape(self.topology.shape(), draft.shape, named("numa_nodes"))?;
        if (named("cache.l2_") || named("fill_l3")) && !named("l2_flush_refill") {
            copy.costs.l2_flush_refill = copy.costs.flush_refill(copy.cache.l2_kib);
        }
        if self.clock.priced_mhz == 0 {
            copy.clock.priced_mhz = copy.clock.turbo_mhz.iter().copied().max().unwrap_or(0);
        }
        check_clock(&copy)?;
        for (class, old) in copy.classes.iter_mut().zip(&self.classes) {
            follow_exit(class, old);
            class.table = IdleTable::new(class.table.states().to_vec())?; // its warnings anew
        }
        Ok((copy, notes))
    }

    /// Takes a changed shape.
    fn reshape(&mut self, old: &Shape, mut new: Shape, nodes_given: bool) -> Result<()> {
        if new == *old {
            return Ok(());
        }
        let counts = |s: &Shape| {
            [s.sockets, s.numa_nodes, s.llcs_per_socket, s.cores_per_socket, s.threads_per_core]
        };
        let changed = counts(&new) != counts(old);
        if changed && matches!(new.numbering, Numbering::Listed(_)) {
            return Err(Error::invalid(
                "topology",
                format!(
                    "the CPUs of {} are listed one by one; give topology.numbering, \
                     \"cores first\" or \"threads together\", with the counts",
                    self.name
                ),
            ));
        }
        if new.sockets != old.sockets && !nodes_given {
            let nodes = u64::from(old.numa_nodes) * u64::from(new.sockets) / u64::from(old.sockets);
            new.numa_nodes = u32::try_from(nodes.max(1)).unwrap_or(u32::MAX);
        }
        self.topology = Topology::new(new)?;
        let ncpus = self.topology.ncpus() as u32;
        if ncpus != self.ncpus {
            let [only] = self.classes.as_mut_slice() else {
                return Err(Error::invalid(
                    "topology",
                    format!(
                        "{} has CPUs of several kinds; another number of CPUs needs new idle tables",
                        self.name
                    ),
                ));
            };
            only.cpus = (0..ncpus).collect();
        }
        Ok(())
    }

    /// The machine reduced to its first last-level cache: one socket with that cache, its CPUs,
    /// and its share of clock bins, memory bandwidth and package power.
    ///
    /// The share is that of a load spread evenly over all caches, so k active cores of the slice
    /// run at the clock of k times as many active cores of the socket.
    ///
    /// # Errors
    /// Never for a checked machine.
    pub fn slice_llc(&self) -> Result<Self> {
        let cpus = self.topology.llc_cpus(0).to_vec();
        let shape = self.topology.shape();
        let share = (self.topology.nllcs() / self.topology.nsockets()).max(1) as u32;
        let mut copy = self.clone();
        copy.topology = match shape.numbering {
            Numbering::Listed(_) => self.topology.only(&cpus)?,
            _ => Topology::new(Shape {
                sockets: 1,
                numa_nodes: 1,
                llcs_per_socket: 1,
                cores_per_socket: shape.cores_per_socket / shape.llcs_per_socket,
                capacity: cpus
                    .iter()
                    .filter_map(|&c| shape.capacity.get(c as usize))
                    .copied()
                    .collect(),
                ..shape.clone()
            })?,
        };
        let bins = 1..=copy.topology.ncores();
        if !self.clock.turbo_mhz.is_empty() {
            copy.clock.turbo_mhz = bins.map(|k| self.clock.mhz(k * share as usize)).collect();
        }
        copy.bandwidth.socket_mbs /= share;
        if let Some(power) = &mut copy.power {
            power.package_idle_mw /= f64::from(share);
            power.uncore_mw /= f64::from(share);
        }
        copy.classes = self.classes.iter().filter_map(|class| part(class, &cpus)).collect();
        if copy.classes[0].table != self.classes[0].table {
            copy.costs.demote_to = None; // it names a state of CPUs that are gone
        }
        copy.name = format!("{}-llc", self.name);
        copy.aliases.clear();
        copy.sources.push(format!(
            "changed: cut down to one of {} last-level caches",
            self.topology.nllcs()
        ));
        copy.checked()
    }
}

/// Sets every setting that `name` means; returns what was changed.
fn set(all: &mut [Setting<'_>], name: &str, value: &Value) -> Result<Vec<String>> {
    let asked =
        name.replace(".exit_latency_", ".exit_").replace(".target_residency_", ".residency_");
    let long = format!("states.{asked}");
    let mut notes = Vec::new();
    for setting in all.iter_mut() {
        let Some(size) = setting.unit_of(&asked).or_else(|| setting.unit_of(&long)) else {
            continue;
        };
        let old = setting.get();
        setting.set(name, value, size)?;
        notes.push(format!("{} = {} (was {old})", setting.name(), setting.get()));
    }
    if notes.is_empty() {
        let names: Vec<String> = all.iter().map(Setting::name).collect();
        return Err(catalogue::unknown_of("machine setting", &names, name));
    }
    Ok(notes)
}

/// In a class whose wakes are the exit latencies, a changed latency changes the wake with it.
fn follow_exit(class: &mut CpuClass, old: &CpuClass) {
    let exits = |c: &CpuClass| c.table.states().iter().map(|s| s.exit_latency).collect::<Vec<_>>();
    if old.wake == exits(old) && class.wake == old.wake {
        class.wake = exits(class);
    }
}

fn check_clock(machine: &Machine) -> Result<()> {
    match machine.clock.turbo_mhz.iter().position(|mhz| !(1..=100_000).contains(mhz)) {
        Some(i) => Err(Error::invalid(
            format!("clock.turbo_ghz[{i}]"),
            format!(
                "expected 0.001 to 100 GHz, found {}",
                f64::from(machine.clock.turbo_mhz[i]) / 1e3
            ),
        )),
        None => Ok(()),
    }
}

/// The class reduced to some CPUs, which are renumbered in their order.
fn part(class: &CpuClass, cpus: &[u32]) -> Option<CpuClass> {
    let kept = cpus.iter().enumerate().filter(|(_, cpu)| class.cpus.contains(cpu));
    let kept: Vec<u32> = kept.map(|(i, _)| i as u32).collect();
    (!kept.is_empty()).then(|| CpuClass { cpus: kept, ..class.clone() })
}
