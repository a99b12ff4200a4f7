//! The idle table as a frozen Python class.

use pyo3::prelude::*;

use crate::machine;

/// Idle states of one CPU, checked; `tickless.IdleTable` is the public face.
#[pyclass(frozen, module = "tickless._core")]
pub struct IdleTable {
    /// The checked table.
    pub inner: machine::IdleTable,
}

#[pymethods]
impl IdleTable {
    #[new]
    fn new(
        names: Vec<String>,
        exit_latency_ns: Vec<i64>,
        target_residency_ns: Vec<i64>,
        polling: Vec<bool>,
        disabled: Vec<bool>,
        power_mw: Vec<Option<f64>>,
    ) -> PyResult<Self> {
        let states = names
            .into_iter()
            .zip(exit_latency_ns)
            .zip(target_residency_ns)
            .zip(polling)
            .zip(disabled)
            .zip(power_mw)
            .map(|(((((name, exit_latency), target_residency), polling), disabled), power_mw)| {
                machine::IdleState {
                    name,
                    exit_latency,
                    target_residency,
                    polling,
                    disabled,
                    power_mw,
                }
            })
            .collect();
        Ok(Self { inner: machine::IdleTable::new(states)? })
    }

    /// What looked odd at construction.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.warnings().to_vec()
    }
}
