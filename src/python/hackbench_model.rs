//! The two-station model of hackbench; `tickless.hackbench_model` is the public face.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use super::run::watched;
use crate::error::Result;
use crate::watch::Watch;
use crate::workload::hackbench_model::{self as model, SENDERS, Solution, TwoStations};

type Columns<'py> = [Bound<'py, PyArray1<f64>>; 4];

/// Solves the model for each element of three arrays of the same length.
///
/// Returns
/// -------
/// list of four arrays
///     Messages per second, time per message and sender (ns), senders at the server, its utilisation.
#[pyfunction]
pub fn hackbench_solve<'py>(
    py: Python<'py>,
    groups: PyReadonlyArray1<'py, u32>,
    delay_ns: PyReadonlyArray1<'py, f64>,
    demand_ns: PyReadonlyArray1<'py, f64>,
) -> PyResult<Columns<'py>> {
    let (groups, delay, demand) = (groups.as_array(), delay_ns.as_array(), demand_ns.as_array());
    let solve = |watch: &Watch| -> Result<Vec<Solution>> {
        let rows = groups.iter().zip(delay).zip(demand);
        rows.map(|((&groups, &delay_ns), &demand_ns)| {
            watch.advance(u64::from(groups) * u64::from(SENDERS))?;
            TwoStations { groups, delay_ns, demand_ns }.solve()
        })
        .collect()
    };
    let found = watched(py, None, solve)?;
    let column =
        |of: fn(&Solution) -> f64| found.iter().map(of).collect::<Vec<f64>>().into_pyarray(py);
    Ok([
        column(|s| s.throughput),
        column(|s| s.time_ns),
        column(|s| s.queue),
        column(|s| s.utilisation),
    ])
}

/// Demand at which a message takes `time_ns`.
#[pyfunction]
pub fn hackbench_fit(py: Python<'_>, groups: u32, delay_ns: f64, time_ns: f64) -> PyResult<f64> {
    Ok(py.detach(|| model::fit_demand(groups, delay_ns, time_ns))?)
}

/// Demand of so many migrations per message, ns.
#[pyfunction]
pub fn hackbench_demand(migrations_per_message: f64, line_ns: f64, rest_ns: f64) -> f64 {
    model::demand(migrations_per_message, line_ns, rest_ns)
}

/// Factor on migrations when wake-ups are queued across groups of `threads` out of `cache`.
#[pyfunction]
pub fn hackbench_lock_group(kappa: f64, threads: u32, cache: u32) -> f64 {
    model::lock_group(kappa, threads, cache)
}
