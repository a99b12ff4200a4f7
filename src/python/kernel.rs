//! Kernels as a frozen class; `tickless.Kernel` is the public face.

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyTuple};

use super::table::IdleTable;
use crate::kernel::{self, KernelValue, PollRule};

/// What a kernel is made of; `tickless.Kernel` is the public face.
#[pyclass(frozen, module = "tickless._core")]
pub struct Kernel {
    /// The kernel of the core.
    pub inner: kernel::Kernel,
}

/// A value to change, as it comes from Python.
#[derive(FromPyObject)]
pub enum Value {
    Flag(bool),
    Integer(i64),
    Text(String),
    Features(Vec<(String, bool)>),
    Tunables(Vec<(String, i64)>),
}

impl From<Value> for KernelValue {
    fn from(value: Value) -> Self {
        match value {
            Value::Flag(on) => KernelValue::Flag(on),
            Value::Integer(number) => KernelValue::Integer(number),
            Value::Text(text) => KernelValue::Text(text),
            Value::Features(list) => KernelValue::Features(list),
            Value::Tunables(list) => KernelValue::Tunables(list),
        }
    }
}

#[pymethods]
impl Kernel {
    #[new]
    fn new(name: &str) -> PyResult<Self> {
        Ok(Self { inner: kernel::Kernel::find(name)? })
    }

    /// A kernel with some fields changed; ``custom_governor`` if the caller holds the governor.
    fn replace(&self, changes: Vec<(String, Value)>, custom_governor: bool) -> PyResult<Self> {
        let mut all: Vec<(String, KernelValue)> =
            changes.into_iter().map(|(key, value)| (key, value.into())).collect();
        if custom_governor {
            all.push(("governor".to_owned(), KernelValue::CustomGovernor));
        }
        Ok(Self { inner: self.inner.replace(&all)? })
    }

    /// Every field by its Python name.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        facts(py, &self.inner)
    }

    /// The tunables on so many CPUs by name, ns.
    fn tunables_on<'py>(&self, py: Python<'py>, ncpus: i64) -> PyResult<Bound<'py, PyDict>> {
        let settings = self.inner.settings(ncpus)?;
        let values = PyDict::new(py);
        for tunable in self.inner.policy.tunables {
            values.set_item(tunable.name, settings.tunables.get(tunable))?;
        }
        Ok(values)
    }

    /// The longest stay in a polling state, ns; None for a table that has none.
    fn poll_limit_ns(&self, table: &IdleTable) -> Option<i64> {
        Some(self.inner.poll_limit(&table.inner, 0)).filter(|&limit| limit != i64::MAX)
    }
}

/// Every registered kernel as a dict, in the order of the manual.
#[pyfunction]
pub fn kernels(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    kernel::kernels().iter().map(|k| facts(py, k)).collect()
}

fn facts<'py>(py: Python<'py>, k: &kernel::Kernel) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("name", &k.name)?;
    d.set_item("aliases", PyTuple::new(py, &k.aliases)?)?;
    d.set_item("label", &k.label)?;
    d.set_item("summary", &k.summary)?;
    d.set_item("report", &k.report)?;
    d.set_item("column", &k.column)?;
    d.set_item("governor", k.governor_name())?;
    d.set_item("policy", k.policy.name)?;
    d.set_item("hz", k.hz)?;
    d.set_item("preemption", k.preemption.word())?;
    match k.poll_rule {
        PollRule::Fixed(ns) => d.set_item("poll_limit", ns)?,
        rule => d.set_item("poll_limit", rule.text())?,
    }
    d.set_item("poll_flag", k.poll_flag)?;
    d.set_item("above_below", k.above_below)?;
    d.set_item("queued_wakeup_group", k.queued_wakeup_group.word())?;
    d.set_item("queued_wakeup_idle", k.queued_wakeup_idle)?;
    d.set_item("load_avg_min_interval_ns", k.load_avg_min_interval)?;
    d.set_item("wrmsr_per_switch", k.wrmsr_per_switch)?;
    d.set_item("switch_permille", k.switch_permille)?;
    d.set_item("patches", PyTuple::new(py, &k.patches)?)?;
    d.set_item("features", k.features.clone().into_py_dict(py)?)?;
    d.set_item("tunables", k.tunables.clone().into_py_dict(py)?)?;
    d.set_item("set_tunables", k.set_tunables.clone().into_py_dict(py)?)?;
    d.set_item("scaled", PyTuple::new(py, &k.scaled)?)?;
    d.set_item("sources", k.sources.clone().into_py_dict(py)?)?;
    d.set_item("notes", PyTuple::new(py, &k.notes)?)?;
    Ok(d)
}
