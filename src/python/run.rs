//! Long calls: the interpreter lock released, Ctrl-C heard, progress reported.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};
use crate::watch::Watch;

/// How often the waiting thread looks at signals and reports progress.
const LOOK: Duration = Duration::from_millis(50);

/// The worker threads, and the process that started them.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// The worker threads of this process, one per core.
///
/// A fork copies no threads: work given to the pool of the parent would wait for ever, so a child
/// (`multiprocessing`) gets its own.
fn pool() -> Result<Arc<ThreadPool>> {
    let process = std::process::id();
    let mut known = POOL.lock().unwrap_or_else(|e| e.into_inner());
    if let Some((owner, pool)) = known.take() {
        if owner == process {
            *known = Some((owner, pool.clone()));
            return Ok(pool);
        }
        // Dropping it would tell threads to end that are not there.
        std::mem::forget(pool);
    }
    let pool = ThreadPoolBuilder::new()
        .build()
        .map_err(|e| Error::invalid("threads", format!("cannot start worker threads: {e}")))?;
    let pool = Arc::new(pool);
    *known = Some((process, pool.clone()));
    Ok(pool)
}

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
    let pool = pool()?;
    let result = py.detach(|| {
        std::thread::scope(|scope| {
            let (finished, waiting) = mpsc::channel();
            let watch = &watch;
            let worker = scope.spawn(move || {
                let result = pool.install(|| work(watch));
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

/// Runs `work`, which calls Python again and again, on the calling thread.
///
/// Ctrl-C ends whatever the called code is doing, a sleep or an endless loop too, because Python runs
/// its signal handlers on this thread only. Another thread calls `progress(done)`; its exception
/// stops the work and is the one that is raised.
pub fn on_this_thread<T>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> Result<T>,
) -> PyResult<T> {
    let signal: Arc<Mutex<Option<PyErr>>> = Arc::default();
    let heard = signal.clone();
    // The called code may not be called for long: the work itself looks at signals too, and lets
    // other threads of Python run.
    let watch = Watch::asking(move || {
        Python::attach(|py| {
            py.detach(std::thread::yield_now);
            let caught = py.check_signals().err();
            let stop = caught.is_some();
            if stop {
                *heard.lock().unwrap_or_else(|e| e.into_inner()) = caught;
            }
            stop
        })
    });
    let result = reported(py, progress, &watch, work);
    let caught = signal.lock().unwrap_or_else(|e| e.into_inner()).take();
    caught.map_or(result, Err)
}

fn reported<T>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    watch: &Watch,
    work: impl FnOnce(&Watch) -> Result<T>,
) -> PyResult<T> {
    let Some(progress) = progress.map(|p| p.clone().unbind()) else { return Ok(work(watch)?) };
    let (result, raised) = std::thread::scope(|scope| {
        let (finished, waiting) = mpsc::channel::<()>();
        let progress = &progress;
        let reporter = scope.spawn(move || {
            while let Err(mpsc::RecvTimeoutError::Timeout) = waiting.recv_timeout(LOOK) {
                if let Err(e) = Python::attach(|py| progress.call1(py, (watch.done(),)).map(drop)) {
                    watch.stop();
                    return Err(e);
                }
            }
            Ok(())
        });
        let result = work(watch);
        drop(finished);
        let reported = py.detach(|| reporter.join());
        (result, reported.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    raised?;
    let result = result?;
    progress.call1(py, (watch.done(),))?;
    Ok(result)
}
