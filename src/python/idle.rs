//! Idle governors at the border: the catalogue as dicts, and the replay on numpy columns.

use numpy::ndarray::Array2;
use numpy::{
    Element, IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use super::errors::wrong_type;
use super::idle_object::{ObjectMaker, Raised};
use super::run::{on_this_thread, watched};
use super::table::IdleTable;
use crate::catalogue::find;
use crate::error::Error;
use crate::idle::foreign::CFunction;
use crate::idle::{
    Chosen, Claim, Confidence, Decisions, Exactness, GOVERNORS, Options, nearest, replay,
};
use crate::periods::{Column, Columns, Periods};
use crate::watch::Watch;

/// Every governor of the catalogue as a dict.
///
/// Keys: ``name``, ``aliases`` (tuple), ``summary``, ``kernel``, ``source``, ``text`` (``"exact"`` or
/// ``"reconstructed"``), ``confidence`` (``"full"``, ``"high"``, ``"medium"``, ``"low"``), ``fitted`` (bool),
/// ``era`` (``"us"`` or ``"ns"``), ``respects_limits``, ``respects_disabled`` (bool).
#[pyfunction]
pub fn governors(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let as_dict = |g: &crate::idle::GovernorEntry| {
        let d = PyDict::new(py);
        d.set_item("name", g.name)?;
        d.set_item("aliases", PyTuple::new(py, g.aliases)?)?;
        d.set_item("summary", g.summary)?;
        d.set_item("kernel", g.kernel)?;
        d.set_item("source", g.source)?;
        d.set_item("text", exactness(g.exactness))?;
        d.set_item("confidence", confidence(g.confidence))?;
        d.set_item("fitted", g.fitted)?;
        d.set_item("era", g.era())?;
        d.set_item("respects_limits", g.respects_limits)?;
        d.set_item("respects_disabled", g.respects_disabled)?;
        Ok(d)
    };
    GOVERNORS.iter().map(as_dict).collect()
}

fn exactness(e: Exactness) -> &'static str {
    match e {
        Exactness::Exact => "exact",
        Exactness::Reconstructed => "reconstructed",
    }
}

fn confidence(c: Confidence) -> &'static str {
    match c {
        Confidence::Full => "full",
        Confidence::High => "high",
        Confidence::Medium => "medium",
        Confidence::Low => "low",
    }
}

/// The registered name of a governor, given its name or an alias.
///
/// Raises
/// ------
/// UnknownNameError
///     With the nearest names.
#[pyfunction]
pub fn canonical_governor(name: &str) -> PyResult<&'static str> {
    Ok(find("governor", GOVERNORS, name)?.name)
}

/// The governor that stands for a kernel version, for every family that version had.
///
/// Parameters
/// ----------
/// version : str
///     Such as ``"6.8"`` or ``"6.1.0-57-amd64"``; 4.18 or newer.
///
/// Returns
/// -------
/// list of dict
///     Keys ``family``, ``name``, ``claim`` (``"identical"``, ``"assumed"``, ``"unknown"``), ``reason``.
///
/// Raises
/// ------
/// InvalidParameterError
///     For anything that is not such a version.
#[pyfunction]
pub fn nearest_governors<'py>(py: Python<'py>, version: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let as_dict = |n: crate::idle::Nearest| {
        let d = PyDict::new(py);
        d.set_item("family", n.family)?;
        d.set_item("name", n.name)?;
        d.set_item("claim", claim(n.claim))?;
        d.set_item("reason", n.reason)?;
        Ok(d)
    };
    nearest(version)?.into_iter().map(as_dict).collect()
}

fn claim(c: Claim) -> &'static str {
    match c {
        Claim::Identical => "identical",
        Claim::Assumed => "assumed",
        Claim::Unknown => "unknown",
    }
}

/// Replays governors on columns of idle periods.
///
/// Parameters
/// ----------
/// governors : list
///     Names or aliases; ``("cfunc", address)``; or objects with ``select(ctx)`` and, if they care,
///     ``reflect(ctx, outcome)``, or classes of such. With periods of several CPUs an object is deep-copied
///     for each; a class is called for each.
/// table : IdleTable
///     State table of the CPUs.
/// columns : dict
///     1-D C-contiguous arrays of equal length, or ints. int64: ``sleep_length_ns``, ``wake_ns`` (both
///     required), ``delta_tick_ns``, ``latency_limit_ns``, ``overhead_ns``; uint32: ``nr_iowait``,
///     ``cpu_util``, ``cpu_load``, ``cpu``; uint16: ``disabled``; bool or uint8: ``tick_stopped``,
///     ``got_tick``, ``poll_timeout``, ``rejected``. A missing column or None takes its default.
/// hz : int
///     100, 250, 300 or 1000.
/// add_exit_latency : bool
///     The measured residency is the wake time plus the exit latency of the entered state.
/// recorded_state : array of uint8, shape (n_periods,), or None
///     States really entered; the governors then learn from these.
/// trace_decisions : bool
///     Also return predictions and rules.
/// threads : int or None
///     Worker threads; None takes one per core.
/// progress : callable or None
///     Called now and then with the number of decisions made.
///
/// Returns
/// -------
/// dict
///     ``state`` (uint8), ``stop_tick`` (bool), ``verdict`` (uint8), each of shape (n_governors, n_periods);
///     when traced also ``predicted_ns`` (int64, -1 where nothing is predicted) and
///     ``rule`` (uint8, index into `RULES`).
///
/// Raises
/// ------
/// UnknownNameError, InvalidParameterError, ShapeError
///     For what is wrong with the arguments. Exceptions of Python governors pass unchanged, with a note
///     that names the period.
#[pyfunction]
#[pyo3(signature = (governors, table, columns, *, hz, add_exit_latency=false, recorded_state=None, trace_decisions=false, threads=None, progress=None))]
#[allow(clippy::too_many_arguments)] // keywords on the other side
#[pyo3(name = "replay")]
pub fn replay_columns<'py>(
    py: Python<'py>,
    governors: Vec<Bound<'py, PyAny>>,
    table: &IdleTable,
    columns: &Bound<'py, PyDict>,
    hz: u32,
    add_exit_latency: bool,
    recorded_state: Option<&Bound<'py, PyAny>>,
    trace_decisions: bool,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let raised = Raised::default();
    let objects = governors
        .iter()
        .map(|g| object_maker(g, table, hz, &raised))
        .collect::<PyResult<Vec<_>>>()?;
    let chosen = governors
        .iter()
        .zip(&objects)
        .map(|(g, object)| choose(g, object.as_ref()))
        .collect::<PyResult<Vec<_>>>()?;
    let arrays = Arrays::borrow(columns)?;
    let recorded = recorded_state.map(|r| borrow::<u8>("recorded_state", r)).transpose()?;
    let recorded = recorded.as_ref().map(|r| r.as_slice()).transpose()?;
    let periods = Periods::new(arrays.columns()?)?;
    // Objects are asked one after the other, and on a thread that must not wait for others.
    let alone = objects.iter().all(Option::is_some);
    let threads = if alone { threads.map_or(Some(1), |n| Some(n.min(1))) } else { threads };
    let options = Options { hz, add_exit_latency, recorded, trace: trace_decisions, threads };
    let work = |watch: &Watch| replay(&chosen, &table.inner, &periods, &options, watch);
    let decisions =
        if alone { on_this_thread(py, progress, work) } else { watched(py, progress, work) };
    match raised.take() {
        Some(e) => Err(e),
        None => as_dict(py, decisions?, governors.len(), periods.len()),
    }
}

fn as_dict(
    py: Python<'_>,
    d: Decisions,
    n_governors: usize,
    n_periods: usize,
) -> PyResult<Bound<'_, PyDict>> {
    let shape = (n_governors, n_periods);
    let traced = d.rule.len() == d.state.len();
    let out = PyDict::new(py);
    out.set_item("state", matrix(py, shape, d.state)?)?;
    out.set_item("stop_tick", matrix(py, shape, d.stop_tick)?)?;
    out.set_item("verdict", matrix(py, shape, d.verdict)?)?;
    if traced {
        out.set_item("predicted_ns", matrix(py, shape, d.predicted)?)?;
        out.set_item("rule", matrix(py, shape, d.rule)?)?;
    }
    Ok(out)
}

fn matrix<'py, T: Element>(
    py: Python<'py>,
    shape: (usize, usize),
    values: Vec<T>,
) -> PyResult<Bound<'py, PyAny>> {
    let array = Array2::from_shape_vec(shape, values)
        .map_err(|e| Error::invalid("replay", format!("result has another shape: {e}")))?;
    Ok(array.into_pyarray(py).into_any())
}

fn object_maker(
    governor: &Bound<'_, PyAny>,
    table: &IdleTable,
    hz: u32,
    raised: &Raised,
) -> PyResult<Option<ObjectMaker>> {
    if governor.is_instance_of::<PyString>() || governor.is_instance_of::<PyTuple>() {
        return Ok(None);
    }
    if !governor.hasattr("select")? {
        return Err(wrong_type(
            "governors",
            "a name, (\"cfunc\", address), or an object with select(ctx)",
            &type_name(governor),
        ));
    }
    ObjectMaker::new(governor, &table.inner, hz, raised).map(Some)
}

fn choose<'a>(
    governor: &Bound<'_, PyAny>,
    object: Option<&'a ObjectMaker>,
) -> PyResult<Chosen<'a>> {
    if let Some(object) = object {
        return Ok(Chosen::Object(object));
    }
    if let Ok(name) = governor.extract::<String>() {
        return Ok(Chosen::Entry(find("governor", GOVERNORS, &name)?));
    }
    match governor.extract::<(String, usize)>() {
        Ok((kind, address)) if kind == "cfunc" => Ok(Chosen::C(CFunction::new(address)?)),
        _ => Err(wrong_type("governors", "(\"cfunc\", address)", &governor.repr()?.to_string())),
    }
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "?".into(), |n| n.to_string())
}

/// A column as it came: borrowed, or one number.
enum Held<'py, T: Element> {
    One(T),
    Many(PyReadonlyArray1<'py, T>),
}

impl<'py, T: Element + Copy> Held<'py, T> {
    fn column(&self) -> PyResult<Column<'_, T>> {
        Ok(match self {
            Held::One(v) => Column::Scalar(*v),
            Held::Many(a) => Column::Slice(a.as_slice()?),
        })
    }
}

/// All columns of one call, borrowed for its duration.
struct Arrays<'py> {
    sleep_length: Held<'py, i64>,
    wake: Held<'py, i64>,
    delta_tick: Option<Held<'py, i64>>,
    latency_limit: Option<Held<'py, i64>>,
    overhead: Option<Held<'py, i64>>,
    nr_iowait: Option<Held<'py, u32>>,
    cpu_util: Option<Held<'py, u32>>,
    cpu_load: Option<Held<'py, u32>>,
    disabled: Option<Held<'py, u16>>,
    tick_stopped: Option<Held<'py, u8>>,
    got_tick: Option<Held<'py, u8>>,
    poll_timeout: Option<Held<'py, u8>>,
    rejected: Option<Held<'py, u8>>,
    cpu: Option<Held<'py, u32>>,
}

const NAMES: [&str; 14] = [
    "sleep_length_ns",
    "wake_ns",
    "delta_tick_ns",
    "latency_limit_ns",
    "overhead_ns",
    "nr_iowait",
    "cpu_util",
    "cpu_load",
    "disabled",
    "tick_stopped",
    "got_tick",
    "poll_timeout",
    "rejected",
    "cpu",
];

impl<'py> Arrays<'py> {
    fn borrow(columns: &Bound<'py, PyDict>) -> PyResult<Self> {
        for key in columns.keys() {
            let key: String = key.extract()?;
            if !NAMES.contains(&key.as_str()) {
                let reason = format!("unknown column {key:?}; known: {}", NAMES.join(", "));
                return Err(Error::invalid("columns", reason).into());
            }
        }
        let required = |name| -> PyResult<Held<'py, i64>> {
            times(columns, name)?
                .ok_or_else(|| Error::invalid(name, "this column is required").into())
        };
        Ok(Self {
            sleep_length: required("sleep_length_ns")?,
            wake: required("wake_ns")?,
            delta_tick: times(columns, "delta_tick_ns")?,
            latency_limit: times(columns, "latency_limit_ns")?,
            overhead: times(columns, "overhead_ns")?,
            nr_iowait: held(columns, "nr_iowait")?,
            cpu_util: held(columns, "cpu_util")?,
            cpu_load: held(columns, "cpu_load")?,
            disabled: held(columns, "disabled")?,
            tick_stopped: flags(columns, "tick_stopped")?,
            got_tick: flags(columns, "got_tick")?,
            poll_timeout: flags(columns, "poll_timeout")?,
            rejected: flags(columns, "rejected")?,
            cpu: held(columns, "cpu")?,
        })
    }

    fn columns(&self) -> PyResult<Columns<'_>> {
        let mut c = Columns::new(self.sleep_length.column()?, self.wake.column()?);
        c.delta_tick = self.delta_tick.as_ref().map(Held::column).transpose()?;
        c.got_tick = self.got_tick.as_ref().map(Held::column).transpose()?;
        put(&mut c.latency_limit, &self.latency_limit)?;
        put(&mut c.overhead, &self.overhead)?;
        put(&mut c.nr_iowait, &self.nr_iowait)?;
        put(&mut c.cpu_util, &self.cpu_util)?;
        put(&mut c.cpu_load, &self.cpu_load)?;
        put(&mut c.disabled, &self.disabled)?;
        put(&mut c.tick_stopped, &self.tick_stopped)?;
        put(&mut c.poll_timeout, &self.poll_timeout)?;
        put(&mut c.rejected, &self.rejected)?;
        put(&mut c.cpu, &self.cpu)?;
        Ok(c)
    }
}

fn put<'a, T: Element + Copy>(
    column: &mut Column<'a, T>,
    held: &'a Option<Held<'_, T>>,
) -> PyResult<()> {
    if let Some(held) = held {
        *column = held.column()?;
    }
    Ok(())
}

fn times<'py>(columns: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<Held<'py, i64>>> {
    held(columns, name)
}

fn given<'py>(columns: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(columns.get_item(name)?.filter(|value| !value.is_none()))
}

/// A column of `T`, from an array of exactly this dtype or an int.
fn held<'py, T>(columns: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<Held<'py, T>>>
where
    T: Element + Copy + TryFrom<i128>,
{
    given(columns, name)?.map(|value| hold(name, &value)).transpose()
}

/// A column of flags: uint8, or bool seen as such.
fn flags<'py>(columns: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<Held<'py, u8>>> {
    let Some(value) = given(columns, name)? else { return Ok(None) };
    match value.cast::<PyArray1<bool>>() {
        Ok(array) => hold(name, &array.call_method1("view", ("uint8",))?),
        Err(_) => hold(name, &value),
    }
    .map(Some)
}

fn hold<'py, T>(name: &str, value: &Bound<'py, PyAny>) -> PyResult<Held<'py, T>>
where
    T: Element + Copy + TryFrom<i128>,
{
    if value.is_instance_of::<pyo3::types::PyInt>() {
        let number = value.extract::<i128>().ok().and_then(|v| T::try_from(v).ok());
        let dtype = T::get_dtype(value.py());
        return number.map(Held::One).ok_or_else(|| {
            Error::invalid(name, format!("{value} does not fit into {dtype}")).into()
        });
    }
    borrow(name, value).map(Held::Many)
}

fn borrow<'py, T: Element>(
    name: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<PyReadonlyArray1<'py, T>> {
    let wanted = || format!("an int or a 1-D C-contiguous array of {}", T::get_dtype(value.py()));
    let array = value.cast::<PyArray1<T>>().map_err(|_| {
        let found = match value.cast::<numpy::PyUntypedArray>() {
            Ok(a) => format!("an array of {} with {} dimensions", a.dtype(), a.ndim()),
            Err(_) => type_name(value),
        };
        wrong_type(name, &wanted(), &found)
    })?;
    if !array.is_c_contiguous() {
        return Err(wrong_type(name, &wanted(), "an array with gaps"));
    }
    array
        .try_readonly()
        .map_err(|e| Error::invalid(name, format!("the array is in use for writing: {e}")).into())
}
