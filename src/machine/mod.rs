//! Machines: what the hardware offers, without any kernel on it.

mod change;
mod costs;
mod hardware;
mod idle_table;
mod model;
mod preset_file;
pub mod presets;
mod settings;
mod topology;

pub use costs::Costs;
pub use hardware::{Bandwidth, Cache, Clock, ClockDomain, Power};
pub use idle_table::{IdleState, IdleTable, MAX_STATES};
pub use model::{CpuClass, Flush, Machine, Scope};
pub use settings::Value;
pub use topology::{DISTANCES, Distance, MAX_CPUS, Numbering, Places, Shape, Topology};
