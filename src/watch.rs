//! A long call and the one who waits for it: how far it got, and the wish to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Shared by the worker threads of one call and whoever waits for them.
///
/// Workers call [`Watch::advance`] every few thousand items: often enough for a stop within 0.2 s,
/// rarely enough to cost nothing. A clone is the same watch in other hands.
#[derive(Default, Clone)]
pub struct Watch {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    ask: Option<Arc<Ask>>,
}

/// Whether to stop, asked by the worker itself.
type Ask = dyn Fn() -> bool + Send + Sync;

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Watch({} done, stop: {})", self.done(), self.stop.load(Ordering::Relaxed))
    }
}

impl Watch {
    /// A watch that nobody has asked to stop.
    pub fn new() -> Self {
        Self::default()
    }

    /// A watch whose worker asks for itself: the one who waits is the worker's own thread.
    pub fn asking(ask: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { ask: Some(Arc::new(ask)), ..Self::default() }
    }

    /// Counts `items` as done and fails with [`Error::Interrupted`] when a stop was asked for.
    pub fn advance(&self, items: u64) -> Result<()> {
        self.done.fetch_add(items, Ordering::Relaxed);
        if self.ask.as_ref().is_some_and(|ask| ask()) {
            self.stop();
        }
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// The same watch with a count of its own: for work that is no part of the progress.
    #[must_use]
    pub fn uncounted(&self) -> Self {
        Self { done: Arc::default(), ..self.clone() }
    }

    /// Asks the workers to stop at their next [`Watch::advance`].
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Items done so far.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
}
