//! Machines as a frozen class; `tickless.Machine` is the public face.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::table::IdleTable;
use crate::error::Error;
use crate::machine::{
    self, Cache, Clock, ClockDomain, CpuClass, Numbering, Places, Shape, Topology, presets,
};

/// A machine; `tickless.Machine` is the public face.
#[pyclass(frozen, module = "tickless._core")]
pub struct Machine {
    /// The machine of the core.
    pub inner: Arc<machine::Machine>,
}

/// A value of a setting, as it comes from Python.
#[derive(FromPyObject)]
pub enum Value {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<f64>),
}

impl From<Value> for machine::Value {
    fn from(value: Value) -> Self {
        match value {
            Value::Bool(v) => machine::Value::Bool(v),
            Value::Int(v) => machine::Value::Int(v),
            Value::Float(v) => machine::Value::Float(v),
            Value::Text(v) => machine::Value::Text(v),
            Value::List(v) => machine::Value::List(v),
        }
    }
}

impl From<machine::Machine> for Machine {
    fn from(inner: machine::Machine) -> Self {
        Self { inner: Arc::new(inner) }
    }
}

/// Names of the machines that ship.
#[pyfunction]
pub fn machine_names() -> Vec<&'static str> {
    presets::PRESETS.iter().map(|p| p.name).collect()
}

#[pymethods]
impl Machine {
    /// A machine by name or alias.
    #[new]
    fn new(name: &str) -> PyResult<Self> {
        Ok(presets::machine(name)?.into())
    }

    /// A machine known by its idle tables.
    #[staticmethod]
    fn from_tables(
        name: &str,
        tables: Vec<PyRef<'_, IdleTable>>,
        wake_ns: Vec<Option<Vec<i64>>>,
        table_of: Vec<usize>,
        hz: i64,
    ) -> PyResult<Self> {
        let hz = u32::try_from(hz).unwrap_or(0); // refused below, with the range
        let classes = classes(&tables, wake_ns);
        Ok(machine::Machine::from_classes(name, classes, &table_of, hz)?.into())
    }

    /// What `text` gave.
    #[staticmethod]
    fn from_text(text: &str) -> PyResult<Self> {
        Ok(machine::Machine::from_text(text)?.into())
    }

    /// Everything as text; equal machines have equal texts.
    fn text(&self) -> PyResult<String> {
        Ok(self.inner.to_text()?)
    }

    /// A copy with other idle tables.
    fn with_tables(
        &self,
        tables: Vec<PyRef<'_, IdleTable>>,
        wake_ns: Vec<Option<Vec<i64>>>,
        table_of: Vec<usize>,
    ) -> PyResult<Self> {
        Ok(self.inner.with_classes(classes(&tables, wake_ns), &table_of)?.into())
    }

    /// A copy with other summary and sources.
    fn with_about(&self, summary: String, sources: Vec<String>) -> Self {
        let mut copy = (*self.inner).clone();
        (copy.summary, copy.sources) = (summary, sources);
        copy.into()
    }

    /// A copy whose CPUs are placed one by one; a clock of 0 is unknown.
    #[allow(clippy::too_many_arguments)] // one per column of sysfs
    fn with_hardware(
        &self,
        core: Vec<u32>,
        llc: Vec<u32>,
        socket: Vec<u32>,
        node: Vec<u32>,
        capacity: Vec<u32>,
        clock_mhz: (u32, u32, u32),
        cache_kib: (u32, u32, u32),
        mwait: bool,
    ) -> PyResult<Self> {
        let numbering = Numbering::Listed(Places { core, llc, socket, node });
        let topology = Topology::new(Shape { capacity, numbering, ..Shape::flat(1) })?;
        let (highest, base_mhz, min_mhz) = clock_mhz;
        let clock = Clock {
            turbo_mhz: if highest == 0 { Vec::new() } else { vec![highest] },
            base_mhz,
            min_mhz,
            domain: ClockDomain::Core,
            priced_mhz: highest,
        };
        let (l1d_kib, l2_kib, l3_kib) = cache_kib;
        let cache = Cache { l1d_kib, l2_kib, l3_kib };
        Ok(self.inner.with_hardware(topology, clock, cache, mwait)?.into())
    }

    /// A copy with some settings changed.
    fn replace(&self, changes: Vec<(String, Value)>) -> PyResult<Self> {
        let changes: Vec<_> = changes.into_iter().map(|(name, v)| (name, v.into())).collect();
        Ok(self.inner.replace(&changes)?.into())
    }

    /// One last-level cache's share of the machine.
    fn slice_llc(&self) -> PyResult<Self> {
        Ok(self.inner.slice_llc()?.into())
    }

    /// All settings by name, in the units their names say.
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let d = PyDict::new(py);
        for (name, value) in self.inner.settings() {
            match value {
                machine::Value::Bool(v) => d.set_item(name, v)?,
                machine::Value::Int(v) => d.set_item(name, v)?,
                machine::Value::Float(v) => d.set_item(name, v)?,
                machine::Value::Text(v) => d.set_item(name, v)?,
                machine::Value::List(v) => d.set_item(name, v)?,
            }
        }
        Ok(d)
    }

    /// Name, aliases, summary, sources, CPUs, tick rate, busy power.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let m = &*self.inner;
        let d = PyDict::new(py);
        d.set_item("name", &m.name)?;
        d.set_item("aliases", &m.aliases)?;
        d.set_item("summary", &m.summary)?;
        d.set_item("sources", &m.sources)?;
        d.set_item("ncpus", m.ncpus)?;
        d.set_item("hz", m.hz)?;
        d.set_item("active_mw", m.active_mw)?;
        Ok(d)
    }

    /// Idle tables by class of CPUs, each with the columns of `tickless.IdleTable`.
    fn classes<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.inner.classes.iter().map(|c| class(py, c)).collect()
    }

    /// Core, last-level cache, socket, memory node and capacity of every CPU.
    fn places<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let topology = &self.inner.topology;
        let places = topology.places();
        let capacity: Vec<u32> = (0..self.inner.ncpus).map(|cpu| topology.capacity(cpu)).collect();
        let d = PyDict::new(py);
        for (name, column) in [
            ("core_of", places.core),
            ("llc_of", places.llc),
            ("socket_of", places.socket),
            ("node_of", places.node),
            ("capacity", capacity),
        ] {
            let wide = column.into_iter().map(i64::from).collect();
            d.set_item(name, PyArray1::from_vec(py, wide))?;
        }
        Ok(d)
    }

    /// How far two CPUs are apart: same, smt, llc, socket, node.
    fn distance(&self, a: u32, b: u32) -> PyResult<&'static str> {
        if let Some(cpu) = [a, b].into_iter().find(|&cpu| cpu >= self.inner.ncpus) {
            let last = self.inner.ncpus - 1;
            return Err(Error::invalid("cpu", format!("expected 0 to {last}, found {cpu}")).into());
        }
        Ok(machine::Distance::WORDS[self.inner.topology.distance(a, b) as usize])
    }
}

fn classes(tables: &[PyRef<'_, IdleTable>], wake_ns: Vec<Option<Vec<i64>>>) -> Vec<CpuClass> {
    let several = tables.len() > 1;
    let name = |i: usize| if several { i.to_string() } else { String::new() };
    tables
        .iter()
        .zip(wake_ns)
        .enumerate()
        .map(|(i, (table, wake))| CpuClass::plain(&name(i), vec![], table.inner.clone(), wake))
        .collect()
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
    d.set_item("disabled", states.iter().map(|s| s.disabled).collect::<Vec<_>>())?;
    d.set_item(
        "power_mw",
        states.iter().map(|s| s.power_mw.unwrap_or(f64::NAN)).collect::<Vec<_>>(),
    )?;
    d.set_item("wake_ns", &c.wake)?;
    Ok(d)
}
