//! Numbers that were fitted on baseline columns, in one table: `calibration.toml`.
//!
//! Per workload and machine at most two numbers; never on a column that a prediction is compared with.
//! The one factor of a machine is [`crate::machine::Costs::scale_permille`].

use serde::Deserialize;
use std::collections::BTreeMap;

use crate::error::{Error, Result};

const TABLE: &str = include_str!("calibration.toml");

/// One fit.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// The machine.
    pub machine: String,
    /// The workload.
    pub workload: String,
    /// The baseline rows it was fitted on; empty for numbers that are taken over or guessed.
    #[serde(default)]
    pub rows: Vec<String>,
    /// How the numbers were found.
    pub source: String,
    /// Parameters and values.
    pub set: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    fit: Vec<Fit>,
}

/// Returns all fits.
///
/// # Errors
/// Never for the table that ships: a test reads it.
pub fn fits() -> Result<Vec<Fit>> {
    let table: Table =
        toml::from_str(TABLE).map_err(|e| Error::invalid("calibration", e.to_string()))?;
    Ok(table.fit)
}

/// Returns parameters and values of a workload on a machine.
pub(super) fn overrides(workload: &str, machine: &str) -> Result<Vec<(String, f64)>> {
    let own = |f: &Fit| f.machine == machine && f.workload == workload;
    Ok(fits()?.into_iter().filter(own).flat_map(|f| f.set).collect())
}
