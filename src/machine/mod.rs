//! Machines: what the hardware offers, without any kernel on it.

mod idle_table;
mod model;
pub mod presets;

pub use idle_table::{IdleState, IdleTable, MAX_STATES};
pub use model::{CpuClass, Machine};
