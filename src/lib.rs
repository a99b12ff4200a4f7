//! CPU-idle governors and schedulers of the Linux kernel, replayed and simulated in integer nanoseconds.
//!
//! ```text
//!  machine ──┐
//!  kernel  ──┼─► engines (replay, timeline) ─► arrays
//!  traces  ──┘
//! ```
//!
//! The core is plain Rust: it knows neither Python nor statistics. The module `python`, behind the
//! feature of the same name, is the only border. Lower lines of this list may use higher lines,
//! never the reverse; `tests/architecture.rs` holds the exact table.

pub mod error;
pub mod watch;

pub mod catalogue;
pub mod rng;

pub mod machine;
pub mod periods;

pub mod idle;

pub mod sched;

pub mod workload;

pub mod input;

pub mod engine;

pub mod kernel;

#[cfg(feature = "python")]
pub mod python;
