//! Governors written in Python: slow by nature, one call into the interpreter per moment.

use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyTuple, PyType};

use super::errors::wrong_type;
use crate::error::{Error, Result};
use crate::idle::foreign::{ForeignGovernor, ForeignMaker, checked, foreign};
use crate::idle::{self, Device, Selection};
use crate::machine;

/// What a Python governor may know when it is asked. Times in ns.
#[pyclass(frozen, get_all, module = "tickless._core")]
pub struct IdleContext {
    /// Index of the period in the arrays.
    index: usize,
    /// Number of the CPU.
    cpu: u32,
    /// Ticks per second.
    hz: u32,
    /// Number of states.
    n_states: usize,
    /// Exit latencies, ns.
    exit_latency_ns: Py<PyTuple>,
    /// Target residencies, ns.
    target_residency_ns: Py<PyTuple>,
    /// True for a polling state.
    polling: Py<PyTuple>,
    /// Time to the next timer with the tick ignored.
    sleep_length_ns: i64,
    /// Time to the next programmed event, tick included.
    delta_tick_ns: i64,
    /// Longest exit latency allowed.
    latency_limit_ns: i64,
    /// The tick is already stopped.
    tick_stopped: bool,
    /// Bit i set: state i is disabled.
    disabled: u16,
    /// Tasks in I/O wait that last ran on this CPU.
    nr_iowait: u32,
    /// Scheduler utilisation, 0..1024.
    cpu_util: u32,
    /// Run-queue weight; 2048 is a load of 1.
    cpu_load: u32,
}

/// What became of the choice of a Python governor. Times in ns.
#[pyclass(frozen, get_all, module = "tickless._core")]
pub struct IdleOutcome {
    /// The state that was entered.
    state: usize,
    /// Residency the core measured.
    residency_ns: i64,
    /// Time between the moments of select and reflect.
    span_ns: i64,
    /// The tick woke the CPU.
    got_tick: bool,
    /// The last polling gave up.
    poll_timed_out: bool,
}

/// The exception that ended a replay, kept for the thread that started it.
#[derive(Clone, Default)]
pub struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// The exception, once.
    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).take()
    }

    /// Passes as long as nothing was raised: after that nobody is asked any more.
    fn none_yet(&self) -> Result<()> {
        match *self.0.lock().unwrap_or_else(|e| e.into_inner()) {
            Some(_) => Err(Error::Interrupted),
            None => Ok(()),
        }
    }

    /// Keeps `error` and stops the replay.
    pub(super) fn stop(&self, error: PyErr) -> Error {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
        Error::Interrupted
    }
}

/// One object, or a class, that decides on any number of CPUs.
pub struct ObjectMaker {
    object: Py<PyAny>,
    is_class: bool,
    exit_latency: Py<PyTuple>,
    target_residency: Py<PyTuple>,
    polling: Py<PyTuple>,
    n_states: usize,
    hz: u32,
    raised: Raised,
}

impl ObjectMaker {
    /// Wraps an object with a `select`, or a class of such objects.
    pub fn new(
        object: &Bound<'_, PyAny>,
        table: &machine::IdleTable,
        hz: u32,
        raised: &Raised,
    ) -> PyResult<Self> {
        let (py, states) = (object.py(), table.states());
        let times = |of: fn(&machine::IdleState) -> i64| {
            PyTuple::new(py, states.iter().map(of)).map(Bound::unbind)
        };
        Ok(Self {
            object: object.clone().unbind(),
            is_class: object.is_instance_of::<PyType>(),
            exit_latency: times(|s| s.exit_latency)?,
            target_residency: times(|s| s.target_residency)?,
            polling: PyTuple::new(py, states.iter().map(|s| s.polling))?.unbind(),
            n_states: table.len(),
            hz,
            raised: raised.clone(),
        })
    }

    fn instance(&self, py: Python<'_>, n_cpus: usize) -> PyResult<Py<PyAny>> {
        if self.is_class {
            return self.object.call0(py);
        }
        if n_cpus == 1 {
            return Ok(self.object.clone_ref(py));
        }
        Ok(py.import("copy")?.call_method1("deepcopy", (&self.object,))?.unbind())
    }
}

impl ForeignMaker for ObjectMaker {
    fn make(&self, cpu: u32, n_cpus: usize) -> Result<Box<dyn ForeignGovernor>> {
        Python::attach(|py| {
            let object = self.instance(py, n_cpus).map_err(|e| self.raised.stop(e))?;
            let reflects = object.bind(py).hasattr("reflect").map_err(|e| self.raised.stop(e))?;
            Ok(Box::new(ObjectGovernor {
                object,
                reflects,
                context: None,
                cpu,
                n_states: self.n_states,
                hz: self.hz,
                exit_latency: self.exit_latency.clone_ref(py),
                target_residency: self.target_residency.clone_ref(py),
                polling: self.polling.clone_ref(py),
                raised: self.raised.clone(),
            }) as Box<dyn ForeignGovernor>)
        })
    }
}

struct ObjectGovernor {
    object: Py<PyAny>,
    reflects: bool,
    /// The context of the decision whose outcome is awaited.
    context: Option<Py<IdleContext>>,
    cpu: u32,
    n_states: usize,
    hz: u32,
    exit_latency: Py<PyTuple>,
    target_residency: Py<PyTuple>,
    polling: Py<PyTuple>,
    raised: Raised,
}

impl ObjectGovernor {
    fn context(&self, py: Python<'_>, index: usize, cx: &idle::IdleContext) -> IdleContext {
        IdleContext {
            index,
            cpu: self.cpu,
            hz: self.hz,
            n_states: self.n_states,
            exit_latency_ns: self.exit_latency.clone_ref(py),
            target_residency_ns: self.target_residency.clone_ref(py),
            polling: self.polling.clone_ref(py),
            sleep_length_ns: cx.sleep_length,
            delta_tick_ns: cx.delta_tick,
            latency_limit_ns: cx.latency_limit,
            tick_stopped: cx.tick_stopped,
            disabled: cx.disabled,
            nr_iowait: cx.nr_iowait,
            cpu_util: cx.cpu_util,
            cpu_load: cx.cpu_load,
        }
    }

    fn ask(&mut self, py: Python<'_>, index: usize, cx: &idle::IdleContext) -> PyResult<Selection> {
        // A governor written in C runs no bytecode, and with it no signal handler.
        py.check_signals()?;
        let context = Py::new(py, self.context(py, index, cx))?;
        let answer = self
            .object
            .call_method1(py, "select", (&context,))
            .map_err(|e| noted(py, e, "select", index))?;
        self.context = Some(context);
        self.read(answer.bind(py), index)
    }

    /// An int, or a pair of an int and whether the tick may be stopped.
    fn read(&self, answer: &Bound<'_, PyAny>, index: usize) -> PyResult<Selection> {
        let refuse = || {
            wrong_type(
                "governors",
                "select to return a state (int) or (state, stop_tick)",
                &format!("{answer} in period {index}"),
            )
        };
        let (state, stop_tick) = match answer.extract::<(Bound<'_, PyAny>, bool)>() {
            Ok((state, stop_tick)) => (state, stop_tick),
            Err(_) => (answer.clone(), true),
        };
        if state.is_instance_of::<PyBool>() {
            return Err(refuse());
        }
        // Numpy integers count too: whatever Python accepts as an index.
        let number = match state.cast::<PyInt>() {
            Ok(int) => int.clone().into_any(),
            Err(_) => state.call_method0("__index__").map_err(|_| refuse())?,
        };
        let number = number.extract::<i64>().unwrap_or(i64::MAX);
        Ok(foreign(checked(number, self.n_states, index)?, stop_tick))
    }
}

/// The exception with a note on where it happened.
fn noted(py: Python<'_>, error: PyErr, moment: &str, index: usize) -> PyErr {
    let note = format!("raised by {moment} of a governor in period {index}");
    let value: &Bound<'_, PyBaseException> = error.value(py);
    // An exception that refuses notes is still the user's exception.
    let _ = value.call_method1("add_note", (note,));
    error
}

impl ForeignGovernor for ObjectGovernor {
    fn select(
        &mut self,
        index: usize,
        _device: &Device,
        cx: &idle::IdleContext,
    ) -> Result<Selection> {
        self.raised.none_yet()?;
        Python::attach(|py| self.ask(py, index, cx).map_err(|e| self.raised.stop(e)))
    }

    fn reflect(
        &mut self,
        index: usize,
        device: &Device,
        outcome: &idle::IdleOutcome,
    ) -> Result<()> {
        self.raised.none_yet()?;
        let Some(context) = self.context.take().filter(|_| self.reflects) else { return Ok(()) };
        let outcome = IdleOutcome {
            state: outcome.state,
            residency_ns: device.last_residency,
            span_ns: outcome.span,
            got_tick: outcome.got_tick,
            poll_timed_out: device.poll_timed_out,
        };
        Python::attach(|py| {
            Py::new(py, outcome)
                .and_then(|o| self.object.call_method1(py, "reflect", (context, o)))
                .map(drop)
                .map_err(|e| self.raised.stop(noted(py, e, "reflect", index)))
        })
    }
}
