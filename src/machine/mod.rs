//! Machines: what the hardware offers, without any kernel on it.

mod idle_table;

pub use idle_table::{IdleState, IdleTable, MAX_STATES};
