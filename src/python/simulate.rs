//! Batches of simulated runs; `tickless.simulate` is the public face.

use std::sync::Arc;

use ndarray::{Array, IxDyn};
use numpy::{Element, IntoPyArray, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::errors::wrong_type;
use super::idle_object::{ObjectMaker, Raised};
use super::kernel::Kernel;
use super::machine::Machine;
use super::recording::columns;
use super::run::{on_this_thread, watched};
use super::workload::Workload;
use crate::engine::{self, Cell, Column, GovernorMaker, MAX_RECORDS, Row, StateBooks, obstacle};
use crate::error::{Error, Result};
use crate::idle::Governor;
use crate::idle::foreign::{CFunction, Failure, ForeignMaker};
use crate::kernel;
use crate::machine::{self, IdleTable};
use crate::rng::Seed;
use crate::watch::Watch;
use crate::workload::{Case, Report, Task};

/// Kernels, cases and settings of a call, checked and ready to run.
#[pyclass(frozen, module = "tickless._core")]
pub struct Batch {
    machine: Arc<machine::Machine>,
    kernels: Vec<(kernel::Kernel, Option<Outside>)>,
    rows: Vec<Row>,
    reports: Vec<Report<String>>,
    parts: u32,
    noise: f64,
    warmup: Option<i64>,
    window: Option<i64>,
    record: bool,
}

/// A governor that is not in the catalogue.
enum Outside {
    C(CFunction),
    Object(Py<PyAny>),
}

#[pymethods]
impl Batch {
    /// Builds the plans of all cases on the machine, or on one last-level cache's share of it.
    #[new]
    #[pyo3(signature = (machine, kernels, workload, cases, *, sliced, noise, warmup_ns, window_ns, record))]
    #[allow(clippy::too_many_arguments)] // keywords on the other side
    fn new(
        py: Python<'_>,
        machine: &Machine,
        kernels: Vec<(Bound<'_, Kernel>, Option<Bound<'_, PyAny>>)>,
        workload: &Workload,
        cases: Vec<(String, i64)>,
        sliced: bool,
        noise: f64,
        warmup_ns: Option<i64>,
        window_ns: Option<i64>,
        record: bool,
    ) -> PyResult<Self> {
        let kernels = kernels
            .into_iter()
            .map(|(k, governor)| Ok((k.get().inner.clone(), governor.map(outside).transpose()?)))
            .collect::<PyResult<_>>()?;
        let machine = &machine.inner;
        let cases: Vec<Case> =
            cases.into_iter().map(|(label, value)| Case { label, value }).collect();
        let (part, rows) = py.detach(|| match sliced {
            true => shares(machine, workload, cases),
            false => Ok((machine.clone(), whole(machine, workload, cases)?)),
        })?;
        let parts = if sliced { machine.topology.nllcs() as u32 } else { 1 };
        let made = Self {
            machine: part,
            kernels,
            rows,
            reports: workload.reports(),
            parts,
            noise,
            warmup: warmup_ns,
            window: window_ns,
            record,
        };
        made.batch(&[], &made.columns(&[]), None).check()?;
        Ok(made)
    }

    /// Simulated time of all runs together, ns.
    fn simulated_ns(&self, repeats: usize) -> i64 {
        let seeds = vec![Seed::new(&[0]); self.cells() * repeats];
        self.batch(&seeds, &self.columns(&[]), None).simulated()
    }

    /// Program of each task of a case.
    fn task_names(&self, case: usize) -> PyResult<Vec<&str>> {
        let programs = self.rows.get(case).map_or(&[][..], |row| &row.plan.programs);
        let name = |t: &Task| programs[t.program as usize].name.as_str();
        Ok(self.tasks(case)?.iter().map(name).collect())
    }

    /// Nice value of each task of a case.
    fn task_nices(&self, case: usize) -> PyResult<Vec<i8>> {
        Ok(self.tasks(case)?.iter().map(|t| t.nice).collect())
    }

    /// Carries out all runs.
    ///
    /// Parameters
    /// ----------
    /// seeds : array of uint64, shape (n_kernels * n_cases * n_repeats, 4)
    ///     Entropy of each run: by kernel, then case, then repeat.
    /// threads : int or None
    ///     Worker threads; None takes one per core. Governors written in Python run on one.
    /// progress : callable or None
    ///     Called now and then with the simulated time so far, ns.
    ///
    /// Returns
    /// -------
    /// dict
    ///     Arrays of shape (n_kernels, n_cases, n_repeats) or with one axis more.
    #[pyo3(signature = (seeds, *, threads=None, progress=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        seeds: PyReadonlyArray2<'py, u64>,
        threads: Option<usize>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let seeds: Vec<Seed> =
            seeds.as_array().rows().into_iter().map(|row| Seed::new(&row.to_vec())).collect();
        let raised = Raised::default();
        let work = |watch: &Watch| self.carry_out(&seeds, threads, &raised, watch);
        let objects = self.kernels.iter().any(|k| matches!(k.1, Some(Outside::Object(_))));
        let cells =
            if objects { on_this_thread(py, progress, work) } else { watched(py, progress, work) };
        match raised.take() {
            Some(error) => Err(error),
            None => self.arrays(py, cells?),
        }
    }
}

impl Batch {
    fn tasks(&self, case: usize) -> PyResult<&[Task]> {
        let row = self.rows.get(case);
        row.map(|row| &row.plan.tasks[..])
            .ok_or_else(|| Error::invalid("case", format!("no case number {case}")).into())
    }

    fn cells(&self) -> usize {
        self.kernels.len() * self.rows.len()
    }

    fn columns<'a>(&'a self, makers: &'a [Option<Maker<'a>>]) -> Vec<Column<'a>> {
        let maker = |i: usize| makers.get(i)?.as_ref().map(|m| m as &dyn GovernorMaker);
        let column =
            |(i, k): (usize, &'a (kernel::Kernel, _))| Column { kernel: &k.0, governors: maker(i) };
        self.kernels.iter().enumerate().map(column).collect()
    }

    fn batch<'a>(
        &'a self,
        seeds: &'a [Seed],
        columns: &'a [Column<'a>],
        threads: Option<usize>,
    ) -> engine::Batch<'a> {
        engine::Batch {
            machine: &self.machine,
            columns,
            rows: &self.rows,
            reports: &self.reports,
            seeds,
            parts: self.parts,
            noise: self.noise,
            warmup: self.warmup,
            window: self.window,
            // All recordings together are no longer than one may be.
            records: if self.record { MAX_RECORDS / self.cells().max(1) } else { 0 },
            threads,
        }
    }

    fn carry_out(
        &self,
        seeds: &[Seed],
        threads: Option<usize>,
        raised: &Raised,
        watch: &Watch,
    ) -> Result<Vec<Cell>> {
        let failure = Failure::new(watch);
        let makers: Vec<Option<Maker>> = self
            .kernels
            .iter()
            .map(|k| k.1.as_ref().map(|outside| Maker { outside, failure: &failure, raised }))
            .collect();
        let objects = makers.iter().flatten().any(|m| matches!(m.outside, Outside::Object(_)));
        let threads = if objects { threads.map_or(Some(1), |n| Some(n.min(1))) } else { threads };
        let result = self.batch(seeds, &self.columns(&makers), threads).run(watch);
        failure.take().map_or(result, Err)
    }

    fn arrays<'py>(&self, py: Python<'py>, mut cells: Vec<Cell>) -> PyResult<Bound<'py, PyDict>> {
        let shape = [self.kernels.len(), self.rows.len(), cells.len() / self.cells().max(1)];
        let states = self.machine.classes.iter().map(|c| c.table.len()).max().unwrap_or(1);
        let out = Shaped { py, shape, out: PyDict::new(py) };
        let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        out.wide("reported", &cells, |c| c.reported.clone())?;
        out.wide("halves", &cells, |c| c.halves.to_vec())?;
        out.wide("operations", &cells, |c| vec![c.operations.map_or(f64::NAN, |n| n as f64)])?;
        out.wide("counts", &cells, |c| c.counts.map(count).to_vec())?;
        let books =
            |c: &Cell, of: fn(&StateBooks) -> i64| c.states[..states].iter().map(of).collect();
        out.wide("idle_usage", &cells, |c| books(c, |s| s.usage as i64))?;
        out.wide("idle_time_ns", &cells, |c| books(c, |s| s.time))?;
        out.wide("idle_above", &cells, |c| books(c, |s| s.above as i64))?;
        out.wide("idle_below", &cells, |c| books(c, |s| s.below as i64))?;
        out.wide("wakeup_latency_ns", &cells, |c| c.wakeup_latency.to_vec())?;
        out.wide("slice_ns", &cells, |c| c.slices.to_vec())?;
        out.wide("idle_period_ns", &cells, |c| c.idle_periods.to_vec())?;
        out.wide("busy", &cells, |c| c.busy.clone())?;
        out.wide("power_w", &cells, |c| vec![c.watts])?;
        out.wide("warmup_ns", &cells, |c| vec![c.warmup])?;
        out.wide("elapsed_ns", &cells, |c| vec![c.elapsed])?;
        out.wide("lost_share", &cells, |c| vec![c.lost])?;
        out.wide("cut", &cells, |c| vec![c.cut])?;
        let repeats = shape[2].max(1);
        let recorders = cells.iter_mut().step_by(repeats).map(|c| c.recorder.take());
        let recordings: Vec<_> =
            recorders.flatten().map(|r| columns(py, r)).collect::<PyResult<_>>()?;
        out.out.set_item("recordings", recordings)?;
        Ok(out.out)
    }
}

/// A dict of arrays whose first axes are kernel, case and repeat.
struct Shaped<'py> {
    py: Python<'py>,
    shape: [usize; 3],
    out: Bound<'py, PyDict>,
}

impl Shaped<'_> {
    /// Adds one array with as many values per run as `of` gives, in a fourth axis.
    fn wide<T: Element + Clone>(
        &self,
        name: &str,
        cells: &[Cell],
        of: impl Fn(&Cell) -> Vec<T>,
    ) -> PyResult<()> {
        let values: Vec<T> = cells.iter().flat_map(of).collect();
        let width = values.len() / cells.len().max(1);
        let shape = [&self.shape[..], &[width]].concat();
        let array = Array::from_shape_vec(IxDyn(&shape), values)
            .map_err(|e| Error::invalid(name, format!("result has another shape: {e}")))?;
        self.out.set_item(name, array.into_pyarray(self.py))
    }
}

fn whole(machine: &machine::Machine, workload: &Workload, cases: Vec<Case>) -> Result<Vec<Row>> {
    let fitted = workload.fitted(machine)?;
    let row = |case: Case| Ok(Row { plan: fitted.plan(machine, &case)?, case });
    cases.into_iter().map(row).collect()
}

/// The share of the first last-level cache, and the plans of its share of each case.
///
/// Parameters are those that fit the whole machine.
fn shares(
    machine: &machine::Machine,
    workload: &Workload,
    cases: Vec<Case>,
) -> Result<(Arc<machine::Machine>, Vec<Row>)> {
    let part = machine.slice_llc()?;
    let parts = machine.topology.nllcs() as u32;
    let fitted = workload.fitted(machine)?;
    let row = |case: Case| {
        let refuse = |reason: String| {
            let name = &machine.name;
            let reason = format!(
                "\"llc\": case {} cannot be divided by the {parts} last-level caches of {name}: {reason}",
                case.label
            );
            Error::invalid("slice", reason)
        };
        if case.value % i64::from(parts) != 0 {
            return Err(refuse(format!("{} is no multiple of {parts}", case.value)));
        }
        let whole = fitted.plan(machine, &case)?;
        let share = Case { value: case.value / i64::from(parts), ..case.clone() };
        let plan = fitted.plan(&part, &share)?;
        match obstacle(&whole, &plan, parts) {
            Some(reason) => Err(refuse(reason)),
            None => Ok(Row { case, plan }),
        }
    };
    let rows = cases.into_iter().map(row).collect::<Result<_>>()?;
    Ok((Arc::new(part), rows))
}

fn outside(governor: Bound<'_, PyAny>) -> PyResult<Outside> {
    if let Ok((kind, address)) = governor.extract::<(String, usize)>()
        && kind == "cfunc"
    {
        return Ok(Outside::C(CFunction::new(address)?));
    }
    if governor.hasattr("select")? {
        return Ok(Outside::Object(governor.unbind()));
    }
    let found = governor.repr()?.to_string();
    Err(wrong_type("governor", "(\"cfunc\", address), or an object with select(ctx)", &found))
}

/// Makes governors from outside for the CPUs of a run.
struct Maker<'a> {
    outside: &'a Outside,
    failure: &'a Failure,
    raised: &'a Raised,
}

impl GovernorMaker for Maker<'_> {
    fn make(&self, cpu: u32, table: &IdleTable, hz: u32) -> Result<Box<dyn Governor>> {
        let object = match self.outside {
            Outside::C(function) => return Ok(self.failure.c(*function, table, hz, cpu)),
            Outside::Object(object) => object,
        };
        let made = Python::attach(|py| ObjectMaker::new(object.bind(py), table, hz, self.raised));
        // Every run and every CPU has its own copy, so that runs do not depend on each other.
        let maker = made.map_err(|e| self.raised.stop(e))?;
        Ok(self.failure.object(maker.make(cpu, COPIES)?))
    }
}

/// So many CPUs, more than one, make an object be copied.
const COPIES: usize = 2;
