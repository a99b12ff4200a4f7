//! Traces and idle tables from files.

use std::io::Read;
use std::path::PathBuf;

use numpy::{Element, PyArray1};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use super::errors::wrong_type;
use super::run::watched;
use crate::error::Error;
use crate::input::columns::{Tables, Wakeups};
use crate::input::episodes::Episodes;
use crate::input::intervals::Intervals;
use crate::input::report::Strictness;
use crate::input::source::{Origin, Source};
use crate::input::tables;
use crate::input::{self, Options, Trace};

/// Bytes asked from a Python file object at a time.
const CHUNK: usize = 1 << 20;

/// One input: a path, bytes, or an open binary file.
enum Input {
    Path(PathBuf),
    Bytes(Py<PyBytes>),
    File(Py<PyAny>),
}

impl Input {
    fn of(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = source.cast::<PyBytes>() {
            return Ok(Input::Bytes(bytes.clone().unbind()));
        }
        if source.hasattr("read")? {
            return Ok(Input::File(source.clone().unbind()));
        }
        match source.extract::<PathBuf>() {
            Ok(path) => Ok(Input::Path(path)),
            Err(_) => Err(wrong_type(
                "path",
                "a path, bytes, an open binary file, or a list of these",
                &source.get_type().name()?.to_string(),
            )),
        }
    }

    fn source<'a>(&'a self, py: Python<'a>) -> Source<'a> {
        match self {
            Input::Path(path) => {
                Source { name: path.display().to_string(), origin: Origin::Path(path.clone()) }
            }
            Input::Bytes(bytes) => {
                Source { name: "<bytes>".into(), origin: Origin::Bytes(bytes.as_bytes(py)) }
            }
            Input::File(file) => {
                let name = file.getattr(py, "name").and_then(|n| n.extract::<String>(py));
                let reader = PythonFile { file: file.clone_ref(py), chunk: Vec::new(), at: 0 };
                Source {
                    name: name.unwrap_or_else(|_| "<stream>".into()),
                    origin: Origin::Stream(Box::new(reader)),
                }
            }
        }
    }
}

/// `read(n)` of a Python object, called with the interpreter lock held for the call only.
struct PythonFile {
    file: Py<PyAny>,
    chunk: Vec<u8>,
    at: usize,
}

impl Read for PythonFile {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.chunk.len() {
            self.chunk = Python::attach(|py| -> PyResult<Vec<u8>> {
                let data = self.file.call_method1(py, "read", (CHUNK,))?;
                match data.cast_bound::<PyBytes>(py) {
                    Ok(bytes) => Ok(bytes.as_bytes().to_vec()),
                    Err(_) => Err(PyOSError::new_err(
                        "read() gave no bytes: open the file in binary mode",
                    )),
                }
            })
            .map_err(|e| std::io::Error::other(e.to_string()))?;
            self.at = 0;
        }
        let n = into.len().min(self.chunk.len() - self.at);
        into[..n].copy_from_slice(&self.chunk[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

/// Reads a trace; `sources` is a list of paths, bytes and open binary files.
///
/// Returns a dict of the report and the columns (int64 ns, uint16 CPUs, uint32 numbers of names).
#[pyfunction]
#[pyo3(signature = (sources, errors, unit_ns, progress=None))]
pub fn read_trace<'py>(
    py: Python<'py>,
    sources: Vec<Bound<'py, PyAny>>,
    errors: &str,
    unit_ns: Option<u64>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let strictness = match errors {
        "report" => Strictness::Report,
        "strict" => Strictness::Strict,
        "ignore" => Strictness::Ignore,
        other => {
            let reason = format!("expected \"report\", \"strict\" or \"ignore\", found {other:?}");
            return Err(Error::invalid("errors", reason).into());
        }
    };
    let options = Options { strictness, unit: unit_ns };
    let inputs = sources.iter().map(Input::of).collect::<PyResult<Vec<_>>>()?;
    let sources: Vec<Source> = inputs.iter().map(|i| i.source(py)).collect();
    let trace = watched(py, progress.as_ref(), |watch| input::read_trace(sources, options, watch))?;
    as_dict(py, trace)
}

/// Reads a dump of the cpuidle directories, a directory tree, or the text of cpupower idle-info.
#[pyfunction]
pub fn read_idle_dump<'py>(
    py: Python<'py>,
    source: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let input = Input::of(&source)?;
    let source = input.source(py);
    let dump = watched(py, None, |watch| tables::read_dump(source, watch))?;
    let d = PyDict::new(py);
    d.set_item("format", dump.format)?;
    d.set_item("driver", dump.driver)?;
    d.set_item("governor", dump.governor)?;
    d.set_item("available_governors", dump.available_governors)?;
    d.set_item("offline", dump.offline)?;
    let cpus = PyDict::new(py);
    for (cpu, states) in dump.cpus {
        let list = PyDict::new(py);
        for (index, state) in states {
            let fields = PyDict::new(py);
            state.texts.iter().try_for_each(|(name, text)| fields.set_item(name, text))?;
            state.numbers.iter().try_for_each(|(name, number)| fields.set_item(name, number))?;
            list.set_item(index, fields)?;
        }
        cpus.set_item(cpu, list)?;
    }
    d.set_item("cpus", cpus)?;
    let remarks = dump.remarks.into_iter().map(|r| (r.line, r.code, r.cpu, r.states, r.text));
    d.set_item("remarks", remarks.collect::<Vec<_>>())?;
    Ok(d)
}

/// Tells what a file is by its first bytes: a format word.
#[pyfunction]
pub fn detect_format(head: &[u8]) -> &'static str {
    input::detect(head).word()
}

fn as_dict(py: Python<'_>, trace: Trace) -> PyResult<Bound<'_, PyDict>> {
    let out = report(py, &trace)?;
    out.set_item("idle", intervals(py, trace.idle.intervals, Some(trace.episodes))?)?;
    out.set_item("idle_broken", intervals(py, trace.idle.broken, None)?)?;
    event_tables(py, &out, trace.batch.tables)?;
    Ok(out)
}

fn array<T: Element>(py: Python<'_>, column: Vec<T>) -> Bound<'_, PyArray1<T>> {
    PyArray1::from_vec(py, column)
}

fn intervals(py: Python<'_>, i: Intervals, e: Option<Episodes>) -> PyResult<Bound<'_, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("cpu", array(py, i.cpu))?;
    d.set_item("state", array(py, i.state))?;
    d.set_item("start_ns", array(py, i.start))?;
    d.set_item("end_ns", array(py, i.end))?;
    if let Some(e) = e {
        d.set_item("told_ns", array(py, e.told))?;
        d.set_item("chosen", array(py, e.chosen))?;
        d.set_item("next_timer_ns", array(py, e.next_timer))?;
        d.set_item("got_tick", array(py, e.got_tick))?;
        d.set_item("tick_stopped", array(py, e.tick_stopped))?;
    }
    Ok(d)
}

fn wakeups(py: Python<'_>, w: Wakeups) -> PyResult<Bound<'_, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("time_ns", array(py, w.time))?;
    d.set_item("cpu", array(py, w.cpu))?;
    d.set_item("by_pid", array(py, w.by_pid))?;
    d.set_item("by_comm", array(py, w.by_comm))?;
    d.set_item("pid", array(py, w.pid))?;
    d.set_item("comm", array(py, w.comm))?;
    d.set_item("target_cpu", array(py, w.target_cpu))?;
    d.set_item("new", array(py, w.new))?;
    Ok(d)
}

fn event_tables(py: Python<'_>, out: &Bound<'_, PyDict>, t: Tables) -> PyResult<()> {
    let d = PyDict::new(py);
    d.set_item("time_ns", array(py, t.switches.time))?;
    d.set_item("cpu", array(py, t.switches.cpu))?;
    d.set_item("prev_pid", array(py, t.switches.prev_pid))?;
    d.set_item("prev_comm", array(py, t.switches.prev_comm))?;
    d.set_item("prev_state", array(py, t.switches.prev_state))?;
    d.set_item("next_pid", array(py, t.switches.next_pid))?;
    d.set_item("next_comm", array(py, t.switches.next_comm))?;
    out.set_item("switches", d)?;
    out.set_item("wakeups", wakeups(py, t.wakeups)?)?;
    out.set_item("wakings", wakeups(py, t.wakings)?)?;
    let d = PyDict::new(py);
    d.set_item("time_ns", array(py, t.misses.time))?;
    d.set_item("cpu", array(py, t.misses.cpu))?;
    d.set_item("state", array(py, t.misses.state))?;
    d.set_item("above", array(py, t.misses.above))?;
    out.set_item("idle_misses", d)?;
    let d = PyDict::new(py);
    d.set_item("time_ns", array(py, t.frequency.time))?;
    d.set_item("cpu", array(py, t.frequency.cpu))?;
    d.set_item("khz", array(py, t.frequency.khz))?;
    out.set_item("frequency", d)?;
    let d = PyDict::new(py);
    d.set_item("time_ns", array(py, t.marks.time))?;
    d.set_item("cpu", array(py, t.marks.cpu))?;
    d.set_item("kind", array(py, t.marks.kind.iter().map(|&k| k as u8).collect()))?;
    d.set_item("name", array(py, t.marks.name))?;
    d.set_item("value", array(py, t.marks.value))?;
    out.set_item("marks", d)?;
    out.set_item("names", t.names.texts())?;
    out.set_item("prev_states", t.states.texts())
}

fn report<'py>(py: Python<'py>, trace: &Trace) -> PyResult<Bound<'py, PyDict>> {
    let (b, idle) = (&trace.batch, &trace.idle);
    let d = PyDict::new(py);
    d.set_item("format", trace.format)?;
    d.set_item("relative", b.relative > 0)?;
    d.set_item("sources", &trace.sources)?;
    d.set_item("lines", b.lines)?;
    d.set_item("events", b.events)?;
    d.set_item("used", b.used)?;
    d.set_item("damaged", b.tally.damaged())?;
    d.set_item("skipped", b.tally.skipped())?;
    d.set_item("warnings", warnings(py, trace)?)?;
    d.set_item("first_lines", first_lines(py, trace)?)?;
    d.set_item("header", header(py, trace)?)?;
    d.set_item("lost_in_header", b.header.entries.map(|(kept, all)| all.saturating_sub(kept)))?;
    let lost = PyList::empty(py);
    for loss in &b.lost {
        let row = PyDict::new(py);
        row.set_item("line", loss.line)?;
        row.set_item("cpu", loss.cpu)?;
        row.set_item("events", loss.events)?;
        lost.append(row)?;
    }
    d.set_item("lost", lost)?;
    d.set_item("reordered", b.clocks.back.clone())?;
    d.set_item("tgids", b.tgids.clone())?;
    let counts = b.unknown_counts.iter().copied();
    let unknown: Vec<(String, u64)> = b.unknown.texts().into_iter().zip(counts).collect();
    d.set_item("unknown_events", unknown)?;
    d.set_item("cpus_seen", array(py, b.clocks.cpus().collect::<Vec<u16>>()))?;
    d.set_item("cpu_id_differs", b.cpu_differs)?;
    d.set_item("idle_tail_open", idle.tail_open)?;
    d.set_item("idle_head_unknown", idle.head_unknown)?;
    d.set_item("exit_without_enter", idle.exit_without_enter)?;
    d.set_item("exit_after_loss", idle.exit_after_loss)?;
    d.set_item("idle_reentered", idle.reentered)?;
    d.set_item("idle_zero_length", idle.zero)?;
    Ok(d)
}

/// Line, code and CPU of everything worth a warning; the line 0 of whole-file remarks becomes None.
fn warnings<'py>(py: Python<'py>, trace: &Trace) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for (place, code) in trace.batch.tally.warnings() {
        let line = (place.line > 0).then_some(place.line);
        list.append((line, code.word(), place.cpu))?;
    }
    Ok(list)
}

fn first_lines<'py>(py: Python<'py>, trace: &Trace) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    for (code, places) in trace.batch.tally.places().filter(|(c, _)| c.is_skip()) {
        d.set_item(code.word(), places.iter().map(|p| p.line).collect::<Vec<_>>())?;
    }
    Ok(d)
}

fn header<'py>(py: Python<'py>, trace: &Trace) -> PyResult<Option<Bound<'py, PyDict>>> {
    let h = &trace.batch.header;
    if h.is_empty() {
        return Ok(None);
    }
    let d = PyDict::new(py);
    let put = |key: &str, value: Option<u64>| match value {
        Some(v) => d.set_item(PyString::new(py, key), v),
        None => Ok(()),
    };
    put("version", h.version)?;
    if let Some(tracer) = &h.tracer {
        d.set_item("tracer", tracer)?;
    }
    put("entries_in_buffer", h.entries.map(|e| e.0))?;
    put("entries_written", h.entries.map(|e| e.1))?;
    put("cpus", h.cpus)?;
    if !h.empty_cpus.is_empty() {
        d.set_item("empty_cpus", &h.empty_cpus)?;
    }
    Ok(Some(d))
}
