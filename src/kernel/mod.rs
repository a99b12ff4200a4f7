//! Kernels: what a column of a published table is made of, as an object.
//!
//! `kernels.toml` holds the registered ones; [`Kernel::find`] returns one by any of its printed
//! names, [`Kernel::replace`] makes another from it.

mod catalogue;
mod change;
mod file;
mod model;
mod patches;
mod switches;

pub use catalogue::{READINGS, Reading, SWITCH_PATHS, kernels};
pub use change::{FIELDS, KernelValue};
pub use model::{Kernel, LONGEST, MIGRATION_COST, Placement, PollRule, Preemption, WakeGroup};
pub use patches::{PATCHES, Patch};
pub use switches::{FIXED_TUNABLES, INERT, PLACEMENT};
