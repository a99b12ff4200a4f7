//! Recordings of simulated runs as columns; `tickless.recording` is the public face.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::engine::{Happening, Recorder};

/// Returns a recording as columns: time, kind, CPU, and two numbers whose meaning depends on the kind.
///
/// Kinds are the positions in `tickless.recording.KINDS`. A sleep length takes both numbers: its low
/// and its high 32 bits.
pub fn columns(py: Python<'_>, recorder: Recorder) -> PyResult<Bound<'_, PyDict>> {
    let n = recorder.records.len();
    let mut t = Vec::with_capacity(n);
    let mut kind = Vec::with_capacity(n);
    let mut numbers = [Vec::with_capacity(n), Vec::with_capacity(n), Vec::with_capacity(n)];
    for (at, happening) in recorder.records {
        let (code, row) = row(happening);
        t.push(at);
        kind.push(code);
        numbers.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    let [cpu, a, b] = numbers;
    let d = PyDict::new(py);
    d.set_item("t_ns", t.into_pyarray(py))?;
    d.set_item("kind", kind.into_pyarray(py))?;
    d.set_item("cpu", cpu.into_pyarray(py))?;
    d.set_item("a", a.into_pyarray(py))?;
    d.set_item("b", b.into_pyarray(py))?;
    d.set_item("lost", recorder.lost)?;
    Ok(d)
}

fn row(happening: Happening) -> (u8, [u32; 3]) {
    match happening {
        Happening::Switch { cpu, prev, next } => (0, [cpu, prev, next]),
        Happening::Waking { cpu, task } => (1, [cpu, task, 0]),
        Happening::Wakeup { cpu, target, task } => (2, [cpu, task, target]),
        Happening::IdleEnter { cpu, state } => (3, [cpu, state, 0]),
        Happening::IdleExit { cpu } => (4, [cpu, 0, 0]),
        Happening::Told { cpu, sleep_length } => {
            (5, [cpu, sleep_length as u32, (sleep_length >> 32) as u32])
        }
        Happening::TickStop { cpu } => (6, [cpu, 0, 0]),
        Happening::Tick { cpu } => (7, [cpu, 0, 0]),
    }
}
