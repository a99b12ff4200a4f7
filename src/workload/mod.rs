//! Workloads: what runs on the machine.

mod plan;
mod program;

pub use plan::{End, Paths, Plan};
pub use program::{
    Amount, At, Barrier, Channel, Device, Full, Guard, Layout, MAX_NESTING, Mutex, Op, Program,
    REGISTERS, Row, Spread, Task, TaskClass,
};
