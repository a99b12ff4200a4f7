//! A machine as a model: its CPUs, their idle states, clocks, caches, prices, and where the numbers
//! are from.

use serde::{Deserialize, Serialize};

use super::{Bandwidth, Cache, Clock, Costs, IdleTable, Power, Shape, Topology};
use crate::error::{Error, Result};

/// Most a price can be, ns: 1000 s.
const MOST_NS: i64 = 1_000_000_000_000;

/// A machine, checked; made from a preset, from idle tables, or by [`Machine::replace`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Registered name.
    pub name: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// One line for people.
    pub summary: String,
    /// Logical CPUs.
    pub ncpus: u32,
    /// Tick rate of the bare machine, CONFIG_HZ.
    pub hz: u32,
    /// Power of one busy core, mW, when the machine has power numbers.
    pub active_mw: Option<f64>,
    /// Where the numbers come from, one sentence each.
    pub sources: Vec<String>,
    /// Halted CPUs watch the need-resched flag: a wake is a plain store and needs no interrupt.
    pub mwait: bool,
    /// Who shares what.
    pub topology: Topology,
    /// Clocks.
    pub clock: Clock,
    /// Cache sizes.
    pub cache: Cache,
    /// Memory bandwidth.
    pub bandwidth: Bandwidth,
    /// Power of a package; `None` = not known, energy is NaN.
    pub power: Option<Power>,
    /// Prices of kernel paths and caches.
    pub costs: Costs,
    /// CPUs with the same idle table; one class unless the machine is a hybrid.
    pub classes: Vec<CpuClass>,
    #[serde(skip)]
    class_of: Vec<u16>,
}

/// CPUs that share an idle table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuClass {
    /// Name of the class, empty when there is only one.
    pub name: String,
    /// Its CPUs.
    pub cpus: Vec<u32>,
    /// What the governor sees.
    pub table: IdleTable,
    /// Model of the actual time from wake event to first instruction per state, ns.
    pub wake: Vec<i64>,
    /// Time to finish entering once begun, not interruptible, per state, ns.
    pub entry: Vec<i64>,
    /// Who must ask for the state before it is real.
    pub scope: Vec<Scope>,
    /// What the caches lose in the state.
    pub flush: Vec<Flush>,
}

/// Who must ask for an idle state before it is real.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// A running sibling does not change the cost.
    Thread,
    /// Effective only when all threads of the core ask for at least this depth.
    Core,
    /// Effective only when all cores of the cluster do.
    Cluster,
}

impl Scope {
    /// The words of the settings.
    pub const WORDS: [(&str, Self); 3] =
        [("thread", Self::Thread), ("core", Self::Core), ("cluster", Self::Cluster)];
}

/// What the caches lose in an idle state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flush {
    /// Nothing.
    Keep,
    /// The private caches are empty on wake.
    L2,
    /// The shared cache loses lines too.
    L3,
}

impl Flush {
    /// The words of the settings.
    pub const WORDS: [(&str, Self); 3] = [("keep", Self::Keep), ("l2", Self::L2), ("l3", Self::L3)];
}

impl CpuClass {
    /// A class whose states are known to the governor only: they are left in `wake`, entered at
    /// once, and lose nothing.
    ///
    /// Without `wake` the exit latency of the table is the time it takes.
    pub fn plain(name: &str, cpus: Vec<u32>, table: IdleTable, wake: Option<Vec<i64>>) -> Self {
        let n = table.len();
        let wake = wake.unwrap_or_else(|| table.states().iter().map(|s| s.exit_latency).collect());
        let (entry, scope, flush) = (vec![0; n], vec![Scope::Thread; n], vec![Flush::Keep; n]);
        Self { name: name.to_owned(), cpus, table, wake, entry, scope, flush }
    }

    /// Takes entry time, scope and flush of the states that `other` has under the same name.
    fn inherit(&mut self, other: &CpuClass) {
        for (i, state) in self.table.states().iter().enumerate() {
            if let Some(j) = other.table.states().iter().position(|s| s.name == state.name) {
                self.entry[i] = other.entry[j];
                self.scope[i] = other.scope[j];
                self.flush[i] = other.flush[j];
            }
        }
    }
}

/// Everything of a machine that is given, before the derived tables exist.
pub(super) struct Parts {
    pub name: String,
    pub aliases: Vec<String>,
    pub summary: String,
    pub hz: u32,
    pub sources: Vec<String>,
    pub mwait: bool,
    pub topology: Topology,
    pub clock: Clock,
    pub cache: Cache,
    pub bandwidth: Bandwidth,
    pub power: Option<Power>,
    pub costs: Costs,
    pub classes: Vec<CpuClass>,
}

impl Machine {
    /// Checks the parts and builds the derived tables.
    pub(super) fn new(parts: Parts) -> Result<Self> {
        let Parts { name, aliases, summary, hz, sources, mwait, topology, clock, .. } = parts;
        let machine = Self {
            name,
            aliases,
            summary,
            ncpus: 0,
            hz,
            active_mw: None,
            sources,
            mwait,
            topology,
            clock,
            cache: parts.cache,
            bandwidth: parts.bandwidth,
            power: parts.power,
            costs: parts.costs,
            classes: parts.classes,
            class_of: Vec::new(),
        };
        machine.checked()
    }

    /// A machine known by its idle tables: each CPU a core below one last-level cache, the prices
    /// are the start values, clocks and power are not known.
    ///
    /// `class_of` holds the index into `classes` of every CPU; the `cpus` of the classes are filled
    /// in from it.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] as for [`Machine::replace`].
    pub fn from_classes(
        name: &str,
        classes: Vec<CpuClass>,
        class_of: &[usize],
        hz: u32,
    ) -> Result<Self> {
        let n = u32::try_from(class_of.len()).unwrap_or(u32::MAX);
        Self::new(Parts {
            name: name.to_owned(),
            aliases: Vec::new(),
            summary: String::new(),
            hz,
            sources: vec![
                "topology: every CPU a core of its own below one last-level cache".into(),
                COST_SOURCE.into(),
            ],
            mwait: false,
            topology: Topology::new(Shape::flat(n))?,
            clock: Clock::unknown(),
            cache: Cache::default(),
            bandwidth: Bandwidth::default(),
            power: None,
            costs: Costs::default(),
            classes: spread(classes, class_of)?,
        })
    }

    /// A copy with other idle tables; what the tables do not tell of a state is taken from the
    /// state of the same name, if the CPU had one.
    ///
    /// With another number of CPUs the topology becomes a flat one.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] as for [`Machine::replace`].
    pub fn with_classes(&self, classes: Vec<CpuClass>, class_of: &[usize]) -> Result<Self> {
        let mut copy = self.clone();
        copy.aliases.clear();
        copy.classes = spread(classes, class_of)?;
        let alike = copy.classes.len() == self.classes.len();
        for class in &mut copy.classes {
            let first = class.cpus.first().and_then(|&cpu| self.class_of.get(cpu as usize));
            if let Some(&old) = first {
                let old = &self.classes[old as usize];
                class.inherit(old);
                if alike {
                    class.name.clone_from(&old.name);
                }
            }
        }
        let named = |class: &CpuClass, i: usize| class.table.states()[i].name.clone();
        let target = self.costs.demote_to.map(|i| named(&self.classes[0], i));
        copy.costs.demote_to = target.and_then(|name| {
            copy.classes[0].table.states().iter().position(|state| state.name == name)
        });
        if class_of.len() != self.ncpus as usize {
            let n = u32::try_from(class_of.len()).unwrap_or(u32::MAX);
            copy.topology = Topology::new(Shape::flat(n))?;
        }
        copy.sources.push("changed: idle tables given by the caller".into());
        copy.checked()
    }

    /// A copy whose hardware was read from somewhere else.
    ///
    /// # Errors
    /// [`Error::Shape`] when the topology has another number of CPUs.
    pub fn with_hardware(
        &self,
        topology: Topology,
        clock: Clock,
        cache: Cache,
        mwait: bool,
    ) -> Result<Self> {
        if topology.ncpus() != self.ncpus as usize {
            let (expected, found) = (self.ncpus as usize, topology.ncpus());
            return Err(Error::Shape { name: "topology".into(), expected, found });
        }
        let mut copy = Self { topology, clock, cache, mwait, ..self.clone() };
        copy.costs.l2_flush_refill = copy.costs.flush_refill(copy.cache.l2_kib);
        copy.checked()
    }

    /// Index into [`Machine::classes`] of a CPU.
    #[inline]
    pub fn class_of(&self, cpu: u32) -> usize {
        usize::from(self.class_of[cpu as usize])
    }

    /// Checks everything and builds the derived tables anew.
    pub(super) fn checked(mut self) -> Result<Self> {
        self.ncpus = self.topology.ncpus() as u32;
        self.class_of = class_of(&self.classes, self.topology.ncpus(), &self.name)?;
        if !(1..=10_000).contains(&self.hz) {
            return Err(Error::invalid("hz", format!("expected 1 to 10000, found {}", self.hz)));
        }
        for class in &self.classes {
            check_class(class)?;
        }
        check_costs(&self.costs, self.classes[0].table.len())?;
        if let Some(power) = &self.power {
            check_power(power)?;
        }
        self.active_mw = self.power.as_ref().map(|p| p.core_active_mw);
        Ok(self)
    }

    /// The machine as text, from which [`Machine::from_text`] makes an equal one.
    ///
    /// # Errors
    /// Never for a checked machine.
    pub fn to_text(&self) -> Result<String> {
        toml::to_string(self).map_err(|e| Error::invalid("machine", e.to_string()))
    }

    /// Reads what [`Machine::to_text`] wrote.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for any other text.
    pub fn from_text(text: &str) -> Result<Self> {
        let machine: Self =
            toml::from_str(text).map_err(|e| Error::invalid("machine", e.to_string()))?;
        machine.checked()
    }
}

/// Where prices come from that no preset gives.
pub(super) const COST_SOURCE: &str =
    "costs: start values of a 3.5 to 4 GHz core, mostly guesses; the field names each source";

fn spread(mut classes: Vec<CpuClass>, class_of: &[usize]) -> Result<Vec<CpuClass>> {
    for class in &mut classes {
        class.cpus.clear();
    }
    let n = classes.len();
    for (cpu, &kind) in class_of.iter().enumerate() {
        let class = classes.get_mut(kind).ok_or_else(|| {
            Error::invalid(format!("table_of[{cpu}]"), format!("expected below {n}, found {kind}"))
        })?;
        class.cpus.push(cpu as u32);
    }
    classes.retain(|class| !class.cpus.is_empty());
    Ok(classes)
}

fn class_of(classes: &[CpuClass], ncpus: usize, name: &str) -> Result<Vec<u16>> {
    let mut of = vec![u16::MAX; ncpus];
    for (kind, class) in classes.iter().enumerate() {
        for &cpu in &class.cpus {
            match of.get_mut(cpu as usize) {
                Some(slot) if *slot == u16::MAX => *slot = kind as u16,
                _ => {
                    return Err(Error::invalid(
                        "classes",
                        format!("CPU {cpu} of {name} is not there or in two classes"),
                    ));
                }
            }
        }
    }
    match of.iter().position(|&kind| kind == u16::MAX) {
        Some(cpu) => {
            Err(Error::invalid("classes", format!("CPU {cpu} of {name} has no idle table")))
        }
        None => Ok(of),
    }
}

fn check_class(class: &CpuClass) -> Result<()> {
    let n = class.table.len();
    for (what, len) in [
        ("wake", class.wake.len()),
        ("entry", class.entry.len()),
        ("scope", class.scope.len()),
        ("flush", class.flush.len()),
    ] {
        if len != n {
            return Err(Error::Shape { name: what.into(), expected: n, found: len });
        }
    }
    for (i, state) in class.table.states().iter().enumerate() {
        for (what, ns) in [("wake", class.wake[i]), ("entry", class.entry[i])] {
            if ns < 0 {
                return Err(Error::invalid(
                    format!("states.{}.{what}_ns", state.name),
                    format!("expected at least 0, found {ns}"),
                ));
            }
        }
        if state.power_mw.is_some_and(|p| !p.is_finite() || p < 0.0) {
            return Err(Error::invalid(
                format!("states.{}.power_w", state.name),
                "expected a finite value of at least 0",
            ));
        }
    }
    Ok(())
}

fn check_costs(c: &Costs, states: usize) -> Result<()> {
    for (name, permille) in
        [("costs.smt_run", c.smt_run_permille), ("costs.smt_poll", c.smt_poll_permille)]
    {
        if !(1..=1000).contains(&permille) {
            let found = f64::from(permille) / 1e3;
            return Err(Error::invalid(
                name,
                format!("a speed is above 0 (at least 0.001) and at most 1, found {found}"),
            ));
        }
    }
    if !(1..=1_000_000).contains(&c.scale_permille) {
        return Err(Error::invalid("costs.scale", "expected 0.001 to 1000"));
    }
    for (name, least, ns) in [
        ("costs.poll_quantum_ns", 1, c.poll_quantum),
        ("costs.background_period_ns", 1, c.background_period),
    ] {
        if ns < least {
            return Err(Error::invalid(name, format!("expected at least {least}, found {ns}")));
        }
    }
    if let Some(i) = c.demote_to.filter(|&i| i >= states) {
        return Err(Error::invalid(
            "costs.demote_to",
            format!("the idle table has {states} states, found state {i}"),
        ));
    }
    Ok(())
}

/// Checks one price.
pub(super) fn check_price(name: &str, value: i64) -> Result<i64> {
    if (0..=MOST_NS).contains(&value) {
        return Ok(value);
    }
    Err(Error::invalid(name, format!("expected 0 to {MOST_NS} ns, found {value}")))
}

fn check_power(power: &Power) -> Result<()> {
    for (name, mw) in [
        ("power.package_idle_w", power.package_idle_mw),
        ("power.uncore_w", power.uncore_mw),
        ("power.core_active_w", power.core_active_mw),
    ] {
        if !mw.is_finite() || mw < 0.0 {
            return Err(Error::invalid(name, "expected a finite value of at least 0"));
        }
    }
    Ok(())
}
