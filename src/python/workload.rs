//! Workloads as a frozen class; `tickless.Workload` is the public face.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::machine::Machine;
use crate::error::{Error, Result};
use crate::machine;
use crate::workload::{
    self, Better, Case, Graph, Mean, NodeKind, Own, Parameters, Plan, Report, WORKLOADS,
    WorkloadEntry,
};

/// A workload with changed parameters; `tickless.Workload` is the public face.
#[pyclass(frozen, module = "tickless._core")]
pub struct Workload {
    source: Source,
    changes: Vec<(String, f64)>,
}

#[derive(Clone)]
enum Source {
    Registered(&'static WorkloadEntry),
    Own(Arc<Own>),
}

/// What plans are made of on a machine: the parameters that fit it, or the user's own workload.
pub enum Fitted {
    /// Of a workload of the catalogue.
    Registered(&'static WorkloadEntry, Parameters),
    /// Of the user's own.
    Own(Arc<Own>),
}

impl Fitted {
    /// The plan of a case, checked.
    pub fn plan(&self, machine: &machine::Machine, case: &Case) -> Result<Plan> {
        match self {
            Self::Registered(entry, parameters) => entry.build(machine, case, parameters),
            Self::Own(own) => own.plan(machine, case),
        }
    }
}

impl Workload {
    /// What it reports, the main figure first.
    pub fn reports(&self) -> Vec<Report<String>> {
        match &self.source {
            Source::Registered(entry) => {
                std::iter::once(&entry.report).chain(entry.more).map(Report::owned).collect()
            }
            Source::Own(own) => vec![own.report()],
        }
    }

    /// The workload with the numbers of a machine, then the user's.
    pub fn fitted(&self, machine: &machine::Machine) -> Result<Fitted> {
        Ok(match &self.source {
            Source::Registered(entry) => {
                Fitted::Registered(entry, self.changed(Parameters::fitted(entry, machine)?)?)
            }
            Source::Own(own) => Fitted::Own(own.clone()),
        })
    }

    /// Every number; on a machine, the values that fit it.
    fn numbers(&self, machine: Option<&machine::Machine>) -> Result<Parameters> {
        match (&self.source, machine) {
            (Source::Registered(entry), Some(machine)) => {
                self.changed(Parameters::fitted(entry, machine)?)
            }
            (Source::Registered(entry), None) => self.changed(Parameters::defaults(entry)),
            (Source::Own(_), _) => self.changed(Parameters::none()),
        }
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
        let entry = workload::workload(name)?;
        Ok(Self { source: Source::Registered(entry), changes: Vec::new() })
    }

    /// A workload of one's own from `text`: `form` is "toml", "json", "rtapp" or "rtapp-partly".
    #[staticmethod]
    fn own(py: Python<'_>, form: &str, text: &str, path: &str, name: &str) -> PyResult<Self> {
        let own = py.detach(|| match form {
            "toml" => Own::toml(text, path, name),
            "json" => Own::json(text, path, name),
            "rtapp" => Own::rtapp(text, path, name, false),
            "rtapp-partly" => Own::rtapp(text, path, name, true),
            _ => Err(Error::invalid("form", format!("{form:?} is no form of a workload"))),
        })?;
        Ok(Self { source: Source::Own(Arc::new(own)), changes: Vec::new() })
    }

    /// A copy with some parameters changed.
    fn replace(&self, changes: Vec<(String, f64)>) -> PyResult<Self> {
        let mut all = self.changes.clone();
        for (name, value) in changes {
            all.retain(|(known, _)| *known != name);
            all.push((name, value));
        }
        let copy = Self { source: self.source.clone(), changes: all };
        copy.numbers(None)?;
        Ok(copy)
    }

    /// Name, aliases, summary, essay, pattern, report, further reports, notes.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let own = match &self.source {
            Source::Registered(entry) => return facts(py, entry),
            Source::Own(own) => own,
        };
        let d = PyDict::new(py);
        d.set_item("name", own.name())?;
        d.set_item("aliases", PyTuple::empty(py))?;
        d.set_item("summary", own.summary())?;
        d.set_item("essay", "")?;
        d.set_item("pattern", None::<&str>)?;
        d.set_item("report", report(py, &own.report())?)?;
        d.set_item("more", PyTuple::empty(py))?;
        d.set_item("notes", PyTuple::new(py, own.notes())?)?;
        Ok(d)
    }

    /// The task graph of a case: text, nodes (name, kind, count), edges (from, to, verb, count).
    fn graph<'py>(
        &self,
        py: Python<'py>,
        machine: &Machine,
        case: (String, i64),
    ) -> PyResult<Bound<'py, PyDict>> {
        let case = Case::new(case.0, case.1);
        let made = py.detach(|| -> Result<Graph> {
            Ok(workload::graph(&self.fitted(&machine.inner)?.plan(&machine.inner, &case)?))
        })?;
        let d = PyDict::new(py);
        d.set_item("text", made.to_string())?;
        let nodes: Vec<_> =
            made.nodes.iter().map(|n| (n.name.as_str(), kind(n.kind), n.count)).collect();
        d.set_item("nodes", nodes)?;
        let edges: Vec<_> =
            made.edges.iter().map(|e| (e.from, e.to, e.kind.word(), e.count)).collect();
        d.set_item("edges", edges)?;
        Ok(d)
    }

    /// Every parameter as a dict; on a machine, the values that fit it.
    fn parameters<'py>(
        &self,
        py: Python<'py>,
        machine: Option<&Machine>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let values = self.numbers(machine.map(|m| m.inner.as_ref()))?;
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
        let cases = match &self.source {
            Source::Registered(entry) => (entry.cases)(&machine.inner),
            Source::Own(own) => own.cases(),
        };
        cases.into_iter().map(|c| (c.label, c.value)).collect()
    }

    /// Label and number of the case called `text`.
    fn case(&self, machine: &Machine, text: &str) -> PyResult<(String, i64)> {
        let case = match &self.source {
            Source::Registered(entry) => entry.case(&machine.inner, text)?,
            Source::Own(own) => own.case(text)?,
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
    d.set_item("notes", PyTuple::empty(py))?;
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

fn kind(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Program => "program",
        NodeKind::Device => "device",
        NodeKind::Lock => "lock",
        NodeKind::Line => "line",
        NodeKind::Barrier => "barrier",
    }
}
