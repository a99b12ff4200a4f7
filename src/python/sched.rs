//! Scheduling policies and timelines.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::run::watched;
use crate::error::Result;
use crate::sched::{
    self, COLUMNS, EventColumns, Loop, Outcome, PathCosts, Pick, Policy, ProgramColumns, Scene,
    TOTALS, TaskColumns,
};
use crate::watch::Watch;

/// Which policy, on what machine, with which tasks; taken from a dict of the Python side.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Setup<'py> {
    policy: String,
    ncpus: i64,
    hz: i64,
    features: Vec<(String, bool)>,
    tunables: Vec<(String, i64)>,
    ideal_pick: bool,
    nice: PyReadonlyArray1<'py, i64>,
    class: PyReadonlyArray1<'py, u8>,
    slice_ns: PyReadonlyArray1<'py, i64>,
    rows: bool,
}

/// Events of an open loop, as columns of one length.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Events<'py> {
    t_ns: PyReadonlyArray1<'py, i64>,
    op: PyReadonlyArray1<'py, u8>,
    task: PyReadonlyArray1<'py, i64>,
    value: PyReadonlyArray1<'py, i64>,
    until_ns: Option<i64>,
}

/// Programs of a closed loop: operations of all tasks in one row, cut at `ends`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Programs<'py> {
    start_ns: PyReadonlyArray1<'py, i64>,
    repeat: PyReadonlyArray1<'py, i64>,
    ends: PyReadonlyArray1<'py, i64>,
    op: PyReadonlyArray1<'py, u8>,
    value: PyReadonlyArray1<'py, i64>,
    until_ns: i64,
    tick0_ns: i64,
    timer_latency_ns: i64,
    switch_ns: i64,
    block_ns: i64,
    wake_ns: i64,
}

impl Setup<'_> {
    fn scene(&self) -> PyResult<Scene> {
        let policy = Policy::find(&self.policy)?;
        let settings = policy.settings(self.ncpus, self.hz)?;
        let features = self.features.iter().map(|(name, on)| (name.as_str(), *on));
        let mut settings = policy.with_features(settings, features)?;
        let tunables = self.tunables.iter().map(|(name, value)| (name.as_str(), *value));
        settings.tunables = settings.tunables.change(tunables)?;
        settings.pick = if self.ideal_pick { Pick::Ideal } else { Pick::Walk };
        let columns = TaskColumns {
            nice: self.nice.as_slice()?,
            class: self.class.as_slice()?,
            slice: self.slice_ns.as_slice()?,
        };
        let tasks = sched::tasks_from_columns(policy, columns)?;
        Ok(Scene { policy, settings, tasks, rows: self.rows })
    }
}

/// Carries out a script of events on one run queue.
///
/// Use `tickless.timeline`; this takes checked columns and returns raw arrays.
#[pyfunction]
pub fn timeline_events<'py>(
    py: Python<'py>,
    setup: Setup<'py>,
    events: Events<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let scene = setup.scene()?;
    let columns = EventColumns {
        t: events.t_ns.as_slice()?,
        op: events.op.as_slice()?,
        task: events.task.as_slice()?,
        value: events.value.as_slice()?,
    };
    run(py, |watch| scene.run_events(columns, events.until_ns, watch))
}

/// Lets tasks follow their programs on one run queue.
///
/// Use `tickless.timeline`; this takes checked columns and returns raw arrays.
#[pyfunction]
pub fn timeline_programs<'py>(
    py: Python<'py>,
    setup: Setup<'py>,
    programs: Programs<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let scene = setup.scene()?;
    let list = sched::programs_from_columns(ProgramColumns {
        start: programs.start_ns.as_slice()?,
        repeat: programs.repeat.as_slice()?,
        ends: programs.ends.as_slice()?,
        op: programs.op.as_slice()?,
        value: programs.value.as_slice()?,
    })?;
    let parameters = Loop {
        until: programs.until_ns,
        tick0: programs.tick0_ns,
        timer_latency: programs.timer_latency_ns,
        costs: PathCosts {
            switch: programs.switch_ns,
            block: programs.block_ns,
            wake: programs.wake_ns,
        },
    };
    run(py, |watch| scene.run_programs(&list, parameters, watch))
}

fn run<'py>(
    py: Python<'py>,
    work: impl FnOnce(&Watch) -> Result<Outcome> + Send,
) -> PyResult<Bound<'py, PyDict>> {
    let outcome = watched(py, None, work)?;
    let result = PyDict::new(py);
    if let Some(rows) = outcome.rows {
        result.set_item("rows", table(py, rows.into_values(), COLUMNS.len())?)?;
    }
    let totals = outcome.totals.iter().enumerate().flat_map(|(i, t)| t.values(i)).collect();
    result.set_item("totals", table(py, totals, TOTALS.len())?)?;
    result.set_item("ignored", outcome.ignored)?;
    result.set_item("carried_out", outcome.carried_out)?;
    result.set_item("end_ns", outcome.end)?;
    Ok(result)
}

/// Hands a row-major table over without a copy.
fn table(py: Python<'_>, values: Vec<i64>, width: usize) -> PyResult<Bound<'_, PyArray2<i64>>> {
    let shape = [values.len() / width, width];
    values.into_pyarray(py).reshape(shape)
}

/// Scheduling policies with their features, tunables and the columns they leave blank.
#[pyfunction]
pub fn policies(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let entry = |policy: &Policy| {
        let features = PyDict::new(py);
        for &(feature, on) in policy.features {
            features.set_item(feature.name(), on)?;
        }
        let tunables = PyDict::new(py);
        for tunable in policy.tunables {
            tunables.set_item(tunable.name, (tunable.unscaled, tunable.scaled))?;
        }
        let dict = PyDict::new(py);
        dict.set_item("name", policy.name)?;
        dict.set_item("summary", policy.summary)?;
        dict.set_item("aliases", policy.aliases)?;
        dict.set_item("source", policy.source)?;
        dict.set_item("features", features)?;
        dict.set_item("tunables", tunables)?;
        let classes = sched::CLASSES.iter().filter(|(_, class)| policy.classes.contains(class));
        dict.set_item("classes", classes.map(|(word, _)| *word).collect::<Vec<_>>())?;
        dict.set_item("custom_slices", policy.custom_slices)?;
        dict.set_item("blank_columns", policy.blank_columns)?;
        Ok(dict)
    };
    sched::POLICIES.iter().map(entry).collect()
}

/// The words and column names of the scheduling border, so that Python keeps no second list.
#[pyfunction]
pub fn scheduling_words(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("columns", COLUMNS)?;
    dict.set_item("totals", TOTALS)?;
    dict.set_item("operations", sched::OPERATIONS)?;
    dict.set_item("ops", sched::OPS)?;
    dict.set_item("classes", sched::CLASSES.map(|(word, _)| word))?;
    dict.set_item("max_tasks", sched::MAX_TASKS)?;
    let features: Vec<_> = sched::FEATURES.iter().map(|&(_, name, text)| (name, text)).collect();
    dict.set_item("features", features)?;
    Ok(dict)
}

/// An array of int64.
type Integers<'py> = Bound<'py, PyArray1<i64>>;

/// Applies one rule of a policy to many vectors of integers.
///
/// Vector `i` is `values[ends[i-1]:ends[i]]`; the results come back in the same form.
#[pyfunction]
pub fn scheduling_vectors<'py>(
    py: Python<'py>,
    rule: &str,
    values: PyReadonlyArray1<'py, i64>,
    ends: PyReadonlyArray1<'py, i64>,
) -> PyResult<(Integers<'py>, Integers<'py>)> {
    let (values, ends) = (values.as_slice()?, ends.as_slice()?);
    let (results, result_ends) = py.detach(|| sched::apply_rule(rule, values, ends))?;
    Ok((results.into_pyarray(py), result_ends.into_pyarray(py)))
}
