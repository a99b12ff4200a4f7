//! Numbers that were fitted on baseline columns, in one table: `calibration.toml`.
//!
//! Per machine one factor, per workload and machine at most two numbers; never on a column that a
//! prediction is compared with.

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
    /// The workload; empty: every workload of the machine.
    #[serde(default)]
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

/// Returns parameters and values of a workload on a machine, those of the machine first.
pub(super) fn overrides(workload: &str, machine: &str) -> Result<Vec<(String, f64)>> {
    let mut found: Vec<Fit> = fits()?;
    found.retain(|f| f.machine == machine && (f.workload.is_empty() || f.workload == workload));
    found.sort_by_key(|f| !f.workload.is_empty());
    Ok(found.into_iter().flat_map(|f| f.set).collect())
}
