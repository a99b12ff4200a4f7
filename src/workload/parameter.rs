//! The numbers of a workload: defaults, what a machine changes, and what the user changes.

use super::{Amount, Op, Spread, WorkloadEntry, calibration};
use crate::catalogue::{self, Named};
use crate::error::{Error, Result};
use crate::machine::Machine;

/// One number of a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Name.
    pub name: &'static str,
    /// Value unless something else is said.
    pub default: f64,
    /// Unit: `us`, `ns/B`, `1`.
    pub unit: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// Where the default is from, with the arithmetic; `guess` when from nowhere.
    pub source: &'static str,
    /// Smallest value allowed.
    pub least: f64,
    /// Largest value allowed.
    pub most: f64,
}

impl Named for Parameter {
    fn name(&self) -> &str {
        self.name
    }
    fn aliases(&self) -> &[&str] {
        &[]
    }
}

impl Parameter {
    /// Returns a time in us, up to 1000 s.
    pub const fn us(
        name: &'static str,
        default: f64,
        summary: &'static str,
        source: &'static str,
    ) -> Self {
        Self { name, default, unit: "us", summary, source, least: 0.0, most: 1e9 }
    }

    /// Returns a price per byte in ns.
    pub const fn per_byte(
        name: &'static str,
        default: f64,
        summary: &'static str,
        source: &'static str,
    ) -> Self {
        Self { name, default, unit: "ns/B", summary, source, least: 0.0, most: 1e4 }
    }

    /// Returns a number of things, at least `least`.
    pub const fn count(
        name: &'static str,
        default: f64,
        least: f64,
        summary: &'static str,
        source: &'static str,
    ) -> Self {
        Self { name, default, unit: "1", summary, source, least, most: 1e9 }
    }

    /// Returns a part of a whole, or a switch, between 0 and 1.
    pub const fn share(
        name: &'static str,
        default: f64,
        summary: &'static str,
        source: &'static str,
    ) -> Self {
        Self { name, default, unit: "1", summary, source, least: 0.0, most: 1.0 }
    }
}

/// Parameters that every workload has.
pub const COMMON: &[Parameter] = &[
    Parameter {
        name: "pace",
        default: 1.0,
        unit: "1",
        summary: "factor on all work that is not copying: slower instructions, mitigations",
        source: "the factor on kernel paths of the machine, `costs.scale_permille`; 1 is the Skylake \
                 client of the 2018 report",
        least: 1e-3,
        most: 1e3,
    },
    Parameter {
        name: "work",
        default: 1.0,
        unit: "1",
        summary: "factor on all work that is not copying: this workload alone",
        source: "fitted on the first row of a baseline column where there is one",
        least: 1e-3,
        most: 1e3,
    },
];

/// How work varies from one time to the next: evenly by 10 % to both sides, enough that tasks do not
/// stay in phase; results change by a point or two between 2 and 10 %.
pub(super) const SEGMENT: Spread = Spread::Uniform(100);

/// Values of the parameters of one workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    values: Vec<(Parameter, f64)>,
}

impl Parameters {
    /// Returns no parameters at all.
    pub const fn none() -> Self {
        Self { values: Vec::new() }
    }

    /// Returns the defaults.
    pub fn defaults(entry: &WorkloadEntry) -> Self {
        let all = COMMON.iter().chain(entry.parameters);
        Self { values: all.map(|p| (*p, p.default)).collect() }
    }

    /// Returns the values for a machine: its pace, and the calibration table where it has rows.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a machine with an impossible factor; never for the table that
    /// ships: a test reads all of it.
    pub fn fitted(entry: &WorkloadEntry, machine: &Machine) -> Result<Self> {
        let mut found = Self::defaults(entry);
        found.set("pace", f64::from(machine.costs.scale_permille) / 1000.0)?;
        for (name, value) in calibration::overrides(entry.name, &machine.name)? {
            found.set(&name, value)?;
        }
        Ok(found)
    }

    /// Returns every parameter with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&Parameter, f64)> {
        self.values.iter().map(|(p, v)| (p, *v))
    }

    /// Returns a value.
    ///
    /// # Errors
    /// [`Error::UnknownName`] with the nearest names.
    pub fn get(&self, name: &str) -> Result<f64> {
        match self.values.iter().find(|(p, _)| p.name == name) {
            Some(&(_, value)) => Ok(value),
            None => Err(self.unknown(name)),
        }
    }

    /// Changes a value.
    ///
    /// # Errors
    /// [`Error::UnknownName`] with the nearest names, [`Error::InvalidParameter`] for a value that is
    /// not finite or out of range.
    pub fn set(&mut self, name: &str, value: f64) -> Result<()> {
        let unknown = self.unknown(name);
        let Some((p, old)) = self.values.iter_mut().find(|(p, _)| p.name == name) else {
            return Err(unknown);
        };
        if !(p.least..=p.most).contains(&value) {
            return Err(Error::invalid(
                format!("workload.{name}"),
                format!("{value} {} is not between {} and {}", p.unit, p.least, p.most),
            ));
        }
        *old = value;
        Ok(())
    }

    fn unknown(&self, name: &str) -> Error {
        let known: Vec<Parameter> = self.values.iter().map(|(p, _)| *p).collect();
        match catalogue::find("workload parameter", &known, name) {
            Err(error) => error,
            Ok(_) => Error::invalid(name, "is no parameter"),
        }
    }

    /// Returns a time in ns, whatever the pace.
    pub(super) fn ns(&self, name: &str) -> Result<i64> {
        Ok((self.get(name)? * 1e3).round() as i64)
    }

    /// Returns work in ns at the pace of the machine.
    pub(super) fn paced(&self, name: &str) -> Result<i64> {
        let factor = self.get("pace")? * self.get("work")?;
        Ok((self.get(name)? * factor * 1e3).round() as i64)
    }

    /// Returns work in ns at the pace of the machine, varied a little.
    pub(super) fn amount(&self, name: &str) -> Result<Amount> {
        Ok(Amount::ns(self.paced(name)?).spread(SEGMENT))
    }

    /// Returns an operation of kernel work.
    pub(super) fn kernel(&self, name: &str) -> Result<Op> {
        Ok(Op::Kernel(self.amount(name)?))
    }

    /// Returns an operation of user work.
    pub(super) fn run(&self, name: &str) -> Result<Op> {
        Ok(Op::Run(self.amount(name)?))
    }

    /// Returns a price per byte in ps.
    pub(super) fn ps(&self, name: &str) -> Result<i32> {
        Ok((self.get(name)? * 1e3).round() as i32)
    }

    /// Returns a number of things.
    pub(super) fn number(&self, name: &str) -> Result<u32> {
        Ok(self.get(name)?.round() as u32)
    }
}
