//! The only border: the compiled module `tickless._core`.
//!
//! One file per room; each wrapper borrows arrays, releases the interpreter lock, calls one function
//! of the core, and hands arrays back without copying.

mod errors;
mod hackbench_model;
mod idle;
mod idle_object;
mod input;
mod kernel;
mod machine;
mod recording;
mod run;
mod sched;
mod simulate;
mod table;
mod workload;

use pyo3::prelude::*;

/// Compiled core of tickless. Use the names in `tickless`; these are its internals.
#[pymodule]
pub mod _core {
    #[pymodule_export]
    use super::hackbench_model::{
        hackbench_demand, hackbench_fit, hackbench_lock_group, hackbench_solve,
    };
    #[pymodule_export]
    use super::idle::{canonical_governor, governors, nearest_governors, replay_columns};
    #[pymodule_export]
    use super::idle_object::{IdleContext, IdleOutcome};
    #[pymodule_export]
    use super::input::{detect_format, read_idle_dump, read_trace};
    #[pymodule_export]
    use super::kernel::{Kernel, kernels};
    #[pymodule_export]
    use super::machine::{Machine, machine_names};
    #[pymodule_export]
    use super::simulate::Batch;
    #[pymodule_export]
    use super::table::IdleTable;
    #[pymodule_export]
    use super::workload::{Workload, workloads};

    #[pymodule_export]
    use super::sched::{
        policies, scheduling_vectors, scheduling_words, timeline_events, timeline_programs,
    };

    /// Names of the rules a traced replay reports; a code is an index into this.
    #[pymodule_export]
    const RULES: [&str; 22] = crate::idle::RULES;

    /// Names of the numbers a C governor is given, in order.
    #[pymodule_export]
    const FOREIGN_CONTEXT: [&str; 16] = crate::idle::foreign::CONTEXT;

    /// Names of what a simulation counts, in order.
    #[pymodule_export]
    const COUNTS: &[&str] = crate::engine::COUNTS;

    /// Quantiles of the wake-up latency that a simulation keeps.
    #[pymodule_export]
    const LATENCY_QUANTILES: [f64; 4] = crate::engine::LATENCY_QUANTILES;

    /// Quantiles of slices and idle periods that it keeps.
    #[pymodule_export]
    const LENGTH_QUANTILES: [f64; 3] = crate::engine::LENGTH_QUANTILES;

    /// Defaults of the two-station model: line, ns; rest, ns; migrations left by queued wake-ups.
    #[pymodule_export]
    const HACKBENCH_DEFAULTS: [f64; 3] = [
        crate::workload::hackbench_model::LINE_NS,
        crate::workload::hackbench_model::REST_NS,
        crate::workload::hackbench_model::KAPPA,
    ];

    /// Version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// True when the core was compiled without optimisation.
    #[pymodule_export]
    const DEBUG_BUILD: bool = cfg!(debug_assertions);
}
