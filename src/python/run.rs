//! Long calls: the interpreter lock released, Ctrl-C heard, progress reported.

use std::sync::mpsc;
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::Result;
use crate::watch::Watch;

/// How often the waiting thread looks at signals and reports progress.
const LOOK: Duration = Duration::from_millis(50);

/// Runs `work` on another thread with the interpreter lock released.
///
/// The calling thread looks every 50 ms for signals, which makes Ctrl-C stop the work at its next
/// [`Watch::advance`], and calls `progress(done)` if there is one. An exception of either stops the
/// work and is the one that is raised.
pub fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> Result<T> + Send,
) -> PyResult<T> {
    let watch = Watch::new();
    let progress = progress.map(|p| p.clone().unbind());
    let mut raised: Option<PyErr> = None;
    let result = py.detach(|| {
        std::thread::scope(|scope| {
            let (finished, waiting) = mpsc::channel();
            let watch = &watch;
            let worker = scope.spawn(move || {
                let result = work(watch);
                let _ = finished.send(());
                result
            });
            while let Err(mpsc::RecvTimeoutError::Timeout) = waiting.recv_timeout(LOOK) {
                let look = Python::attach(|py| {
                    py.check_signals()?;
                    match &progress {
                        Some(p) => p.call1(py, (watch.done(),)).map(drop),
                        None => Ok(()),
                    }
                });
                if let Err(e) = look {
                    raised.get_or_insert(e);
                    watch.stop();
                }
            }
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    });
    if let Some(e) = raised {
        return Err(e);
    }
    if let Some(p) = &progress {
        p.call1(py, (watch.done(),))?;
    }
    Ok(result?)
}
