//! Workloads as a frozen class; `tickless.Workload` is the public face.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::machine::Machine;
use crate::error::Result;
use crate::machine;
use crate::workload::{
    self, Better, Case, Mean, Parameters, Plan, Report, WORKLOADS, WorkloadEntry,
};

/// A workload with changed parameters; `tickless.Workload` is the public face.
#[pyclass(frozen, module = "tickless._core")]
pub struct Workload {
    entry: &'static WorkloadEntry,
    changes: Vec<(String, f64)>,
}

impl Workload {
    /// What it reports, the main figure first.
    pub fn reports(&self) -> Vec<Report> {
        std::iter::once(self.entry.report).chain(self.entry.more.iter().copied()).collect()
    }

    /// The parameters on a machine: those that fit it, then the user's.
    pub fn fitted(&self, machine: &machine::Machine) -> Result<Parameters> {
        self.changed(Parameters::fitted(self.entry, machine)?)
    }

    /// The plan of a case.
    pub fn plan(
        &self,
        machine: &machine::Machine,
        case: &Case,
        parameters: &Parameters,
    ) -> Result<Plan> {
        self.entry.build(machine, case, parameters)
    }

    fn changed(&self, mut parameters: Parameters) -> Result<Parameters> {
        for (name, value) in &self.changes {
            parameters.set(name, *value)?;
        }
        Ok(parameters)
    }
}

#[pymethods]
impl Workload {
    /// A workload by name or alias.
    #[new]
    fn new(name: &str) -> PyResult<Self> {
        Ok(Self { entry: workload::workload(name)?, changes: Vec::new() })
    }

    /// A copy with some parameters changed.
    fn replace(&self, changes: Vec<(String, f64)>) -> PyResult<Self> {
        let mut all = self.changes.clone();
        for (name, value) in changes {
            all.retain(|(known, _)| *known != name);
            all.push((name, value));
        }
        let copy = Self { entry: self.entry, changes: all };
        copy.changed(Parameters::defaults(copy.entry))?;
        Ok(copy)
    }

    /// Name, aliases, summary, essay, pattern, report, further reports.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        facts(py, self.entry)
    }

    /// Every parameter as a dict; on a machine, the values that fit it.
    fn parameters<'py>(
        &self,
        py: Python<'py>,
        machine: Option<&Machine>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let values = match machine {
            Some(machine) => self.fitted(&machine.inner)?,
            None => self.changed(Parameters::defaults(self.entry))?,
        };
        let as_dict = |(p, value): (&workload::Parameter, f64)| {
            let d = PyDict::new(py);
            d.set_item("name", p.name)?;
            d.set_item("value", value)?;
            d.set_item("default", p.default)?;
            d.set_item("unit", p.unit)?;
            d.set_item("summary", p.summary)?;
            d.set_item("source", p.source)?;
            d.set_item("least", p.least)?;
            d.set_item("most", p.most)?;
            Ok(d)
        };
        values.iter().map(as_dict).collect()
    }

    /// Labels and numbers of the cases that the table has on a machine.
    fn cases(&self, machine: &Machine) -> Vec<(String, i64)> {
        (self.entry.cases)(&machine.inner).into_iter().map(|c| (c.label, c.value)).collect()
    }

    /// Label and number of the case called `text`.
    fn case(&self, machine: &Machine, text: &str) -> PyResult<(String, i64)> {
        let case = self.entry.case(&machine.inner, text)?;
        Ok((case.label, case.value))
    }
}

/// Every registered workload as a dict, in the order of the manual.
#[pyfunction]
pub fn workloads(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    WORKLOADS.iter().map(|entry| facts(py, entry)).collect()
}

fn facts<'py>(py: Python<'py>, entry: &WorkloadEntry) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("name", entry.name)?;
    d.set_item("aliases", PyTuple::new(py, entry.aliases)?)?;
    d.set_item("summary", entry.summary)?;
    d.set_item("essay", entry.essay)?;
    d.set_item("pattern", entry.pattern)?;
    d.set_item("report", report(py, &entry.report)?)?;
    let more = entry.more.iter().map(|r| report(py, r)).collect::<PyResult<Vec<_>>>()?;
    d.set_item("more", PyTuple::new(py, more)?)?;
    Ok(d)
}

fn report<'py>(py: Python<'py>, r: &Report) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("metric", r.metric)?;
    d.set_item("unit", r.unit)?;
    let better = match r.better {
        Better::Higher => "higher",
        Better::Lower => "lower",
    };
    d.set_item("better", better)?;
    let mean = match r.mean {
        Mean::Arithmetic => "arithmetic",
        Mean::Harmonic => "harmonic",
        Mean::Median => "median",
    };
    d.set_item("mean", mean)?;
    d.set_item("decimals", r.decimals)?;
    d.set_item("style", r.style)?;
    d.set_item("row", r.row)?;
    d.set_item("prefix", r.prefix)?;
    Ok(d)
}
