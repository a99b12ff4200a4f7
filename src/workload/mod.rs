//! Workloads: what runs on the machine.
//!
//! A workload is data. [`program`](Program) is the language, a [`Plan`] is one run written in it, and
//! each entry of [`WORKLOADS`] makes the plans of one benchmark. To add one: a file and two lines here.

mod calibration;
mod check;
mod exchange;
mod hogs;
mod model;
mod parameter;
mod periodic;
mod pingpong;
mod plan;
mod program;
mod schbench;
mod tbench;

pub use calibration::{Fit, fits};
pub use check::{MAX_TASKS, check};
pub use model::{Better, Case, Mean, Measure, Outcome, Report, WorkloadEntry};
pub use parameter::{COMMON, Parameter, Parameters};
pub use plan::{End, Paths, Plan};
pub use program::{
    Amount, At, Barrier, Channel, Device, Full, Guard, Layout, MAX_NESTING, Mutex, Op, Program,
    REGISTERS, Row, Spread, Task, TaskClass,
};

use crate::catalogue;
use crate::error::Result;

/// Every workload, in the order of the docs.
pub const WORKLOADS: &[WorkloadEntry] = &[
    pingpong::PIPE,
    pingpong::TCP,
    tbench::TBENCH,
    tbench::OLD,
    schbench::SCHBENCH,
    hogs::HOGS,
    periodic::PERIODIC,
];

/// Returns the workload called `name`, by name or alias.
///
/// # Errors
/// [`crate::error::Error::UnknownName`] with the nearest names.
pub fn workload(name: &str) -> Result<&'static WorkloadEntry> {
    catalogue::find("workload", WORKLOADS, name)
}
