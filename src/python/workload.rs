//! Workloads as a frozen class; `tickless.Workload` is the public face.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::machine::Machine;
use crate::catalogue::unknown_of;
use crate::error::Result;
use crate::machine;
use crate::workload::{
    self, Better, Case, Definition, Mean, Parameters, Plan, Report, WORKLOADS, WorkloadEntry,
};

/// A workload; `tickless.Workload` is the public face.
#[pyclass(frozen, module = "tickless._core")]
pub struct Workload {
    kind: Kind,
}

enum Kind {
    /// One of the catalogue, with changed parameters.
    Registered(&'static WorkloadEntry, Vec<(String, f64)>),
    /// The user's own.
    Defined(Arc<Definition>),
}

/// What plans are made of on a machine: the parameters that fit it, or the definition itself.
pub enum Fitted {
    /// Of a workload of the catalogue.
    Registered(&'static WorkloadEntry, Parameters),
    /// Of the user's own.
    Defined(Arc<Definition>),
}

impl Fitted {
    /// The plan of a case, checked.
    pub fn plan(&self, machine: &machine::Machine, case: &Case) -> Result<Plan> {
        match self {
            Self::Registered(entry, parameters) => entry.build(machine, case, parameters),
            Self::Defined(definition) => definition.plan(machine, case),
        }
    }
}

impl Workload {
    /// What it reports, the main figure first.
    pub fn reports(&self) -> Vec<Report<String>> {
        match &self.kind {
            Kind::Registered(entry, _) => {
                std::iter::once(&entry.report).chain(entry.more).map(Report::owned).collect()
            }
            Kind::Defined(definition) => vec![definition.report.clone()],
        }
    }

    /// The workload with the numbers of a machine, then the user's.
    pub fn fitted(&self, machine: &machine::Machine) -> Result<Fitted> {
        Ok(match &self.kind {
            Kind::Registered(entry, changes) => {
                Fitted::Registered(entry, changed(Parameters::fitted(entry, machine)?, changes)?)
            }
            Kind::Defined(definition) => Fitted::Defined(definition.clone()),
        })
    }
}

fn changed(mut parameters: Parameters, changes: &[(String, f64)]) -> Result<Parameters> {
    for (name, value) in changes {
        parameters.set(name, *value)?;
    }
    Ok(parameters)
}

#[pymethods]
impl Workload {
    /// A workload by name or alias.
    #[new]
    fn new(name: &str) -> PyResult<Self> {
        Ok(Self { kind: Kind::Registered(workload::workload(name)?, Vec::new()) })
    }

    /// A workload of one's own from a definition in TOML, or in JSON.
    #[staticmethod]
    fn defined(text: &str, path: &str, json: bool) -> PyResult<Self> {
        let definition = match json {
            true => Definition::from_json(text, path)?,
            false => Definition::from_toml(text, path)?,
        };
        Ok(Self { kind: Kind::Defined(Arc::new(definition)) })
    }

    /// A copy with some parameters changed.
    fn replace(&self, changes: Vec<(String, f64)>) -> PyResult<Self> {
        match &self.kind {
            Kind::Registered(entry, before) => {
                let mut all = before.clone();
                for (name, value) in changes {
                    all.retain(|(known, _)| *known != name);
                    all.push((name, value));
                }
                changed(Parameters::defaults(entry), &all)?;
                Ok(Self { kind: Kind::Registered(entry, all) })
            }
            Kind::Defined(definition) => match changes.first() {
                Some((name, _)) => Err(unknown_of("workload parameter", &[], name).into()),
                None => Ok(Self { kind: Kind::Defined(definition.clone()) }),
            },
        }
    }

    /// Name, aliases, summary, essay, pattern, report, further reports.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        match &self.kind {
            Kind::Registered(entry, _) => facts(py, entry),
            Kind::Defined(definition) => {
                let d = PyDict::new(py);
                d.set_item("name", &definition.name)?;
                d.set_item("aliases", PyTuple::empty(py))?;
                d.set_item("summary", &definition.summary)?;
                d.set_item("essay", "")?;
                d.set_item("pattern", "{}")?;
                d.set_item("report", report(py, &definition.report)?)?;
                d.set_item("more", PyTuple::empty(py))?;
                Ok(d)
            }
        }
    }

    /// Every parameter as a dict; on a machine, the values that fit it.
    fn parameters<'py>(
        &self,
        py: Python<'py>,
        machine: Option<&Machine>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let Kind::Registered(entry, changes) = &self.kind else { return Ok(Vec::new()) };
        let values = match machine {
            Some(machine) => Parameters::fitted(entry, &machine.inner)?,
            None => Parameters::defaults(entry),
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
        changed(values, changes)?.iter().map(as_dict).collect()
    }

    /// Labels and numbers of the cases that the table has on a machine.
    fn cases(&self, machine: &Machine) -> Vec<(String, i64)> {
        let cases = match &self.kind {
            Kind::Registered(entry, _) => (entry.cases)(&machine.inner),
            Kind::Defined(definition) => definition.cases.clone(),
        };
        cases.into_iter().map(|c| (c.label, c.value)).collect()
    }

    /// Label and number of the case called `text`.
    fn case(&self, machine: &Machine, text: &str) -> PyResult<(String, i64)> {
        let case = match &self.kind {
            Kind::Registered(entry, _) => entry.case(&machine.inner, text)?,
            Kind::Defined(definition) => {
                let listed = definition.cases.iter().find(|c| c.label == text).cloned();
                match listed.or_else(|| text.parse().ok().map(Case::number)) {
                    Some(case) => case,
                    None => {
                        let known: Vec<String> =
                            definition.cases.iter().map(|c| c.label.clone()).collect();
                        return Err(unknown_of("case", &known, text).into());
                    }
                }
            }
        };
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

fn report<'py, S: AsRef<str>>(py: Python<'py>, r: &Report<S>) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("metric", r.metric.as_ref())?;
    d.set_item("unit", r.unit.as_ref())?;
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
    d.set_item("style", r.style.as_ref())?;
    d.set_item("row", r.row.as_ref())?;
    d.set_item("prefix", r.prefix.as_ref())?;
    Ok(d)
}
