//! Machine presets as plain dictionaries; `tickless.Machine` is the public face.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::machine::{CpuClass, presets};

/// Names of the machines that ship.
#[pyfunction]
pub fn machine_names() -> Vec<&'static str> {
    presets::PRESETS.iter().map(|p| p.name).collect()
}

/// One machine by name or alias.
#[pyfunction]
pub fn machine<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    let m = presets::machine(name)?;
    let d = PyDict::new(py);
    d.set_item("name", &m.name)?;
    d.set_item("aliases", &m.aliases)?;
    d.set_item("summary", &m.summary)?;
    d.set_item("ncpus", m.ncpus)?;
    d.set_item("hz", m.hz)?;
    d.set_item("active_mw", m.active_mw)?;
    d.set_item("sources", &m.sources)?;
    let classes = m.classes.iter().map(|c| class(py, c)).collect::<PyResult<Vec<_>>>()?;
    d.set_item("classes", classes)?;
    Ok(d)
}

fn class<'py>(py: Python<'py>, c: &CpuClass) -> PyResult<Bound<'py, PyDict>> {
    let states = c.table.states();
    let d = PyDict::new(py);
    d.set_item("name", &c.name)?;
    d.set_item("cpus", &c.cpus)?;
    d.set_item("names", states.iter().map(|s| s.name.as_str()).collect::<Vec<_>>())?;
    d.set_item("exit_latency_ns", states.iter().map(|s| s.exit_latency).collect::<Vec<_>>())?;
    d.set_item(
        "target_residency_ns",
        states.iter().map(|s| s.target_residency).collect::<Vec<_>>(),
    )?;
    d.set_item("polling", states.iter().map(|s| s.polling).collect::<Vec<_>>())?;
    d.set_item(
        "power_mw",
        states.iter().map(|s| s.power_mw.unwrap_or(f64::NAN)).collect::<Vec<_>>(),
    )?;
    d.set_item("wake_ns", &c.wake)?;
    Ok(d)
}
