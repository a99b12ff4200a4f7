//! Scheduling: the policies of several kernel versions, each exact on one run queue.
//!
//! To add a policy, write one file with a [`Runqueue`] and its [`Policy`] entry, and list it here.

mod cfs;
mod cfs_rules;
mod closed_loop;
mod cpu;
mod eevdf;
mod eevdf_delayed;
mod entity;
mod features;
mod o1;
mod operation;
mod order;
mod program;
mod record;
mod runqueue;
mod sorted;
mod timeline;
mod tree;
mod tunables;
mod vectors;
pub mod weights;

pub use entity::{Class, Entities, Entity, Ledger, TaskId, TaskSpec};
pub use features::{FEATURES, Feature, Features};
pub use o1::{Interactivity, bonus, effective_prio, is_interactive, static_prio, timeslice};
pub use operation::{
    CLASSES, Event, EventColumns, MAX_TASKS, MAX_TIME, OPERATIONS, Operation, TaskColumns,
    check_events, check_tasks, tasks_from_columns,
};
pub use order::{ByDeadline, ByVruntime, Order, before, earlier};
pub use program::{
    OPS, Op, PathCosts, Program, ProgramColumns, check_programs, programs_from_columns,
};
pub use record::{COLUMNS, EARLIER_COLUMNS, LATER_COLUMNS, Rows, TOTALS, Totals};
pub use runqueue::{
    Common, Enqueue, FIRST_VRUNTIME, MAX_CPUS, Observed, Pick, Policy, Resched, Runqueue, Settings,
    Sleep, TICK_RATES,
};
pub use sorted::Sorted;
pub use timeline::{Loop, MAX_ROWS, Outcome, Scene};
pub use tree::Tree;
pub use tunables::{Tunable, Tunables, factor};
pub use vectors::{RULES, apply_rule};

/// Every scheduling policy, oldest kernel first.
pub const POLICIES: &[Policy] = &[
    o1::O1,
    cfs::CFS_UNCAPPED,
    cfs::CFS,
    eevdf::EEVDF,
    eevdf::EEVDF_CURB,
    eevdf_delayed::EEVDF_6_12,
    eevdf_delayed::EEVDF_7_2,
];
