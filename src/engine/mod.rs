//! The closed loop: machine × kernel × workload as a discrete-event simulation in integer nanoseconds.
//!
//! A deeper idle state delays a reply, which lengthens the peer's idle period, which changes the next
//! decision. Every decision is made by the governor and the run queues of the kernel, with the context
//! the kernel gives them; the engine only says what happens when and what it costs. Equal times are
//! served in a fixed order, every source of randomness has a stream of its own, and no decision depends
//! on floating point: the same seed gives the same bits.

mod audit;
mod balance;
mod batch;
mod channel;
mod clock;
mod contention;
mod cpu;
mod device;
mod fire;
mod idle;
mod llc;
mod mask;
mod metrics;
mod ops;
mod parts;
mod placement;
mod power;
mod prices;
mod record;
mod setup;
mod sim;
mod slots;
mod switch;
mod sync;
mod task;
mod wake;

pub use batch::{Batch, Cell, Column, LATENCY_QUANTILES, LENGTH_QUANTILES, Row};
pub use cpu::Spent;
pub use metrics::{COUNTS, Count, Metrics, StateBooks};
pub use parts::obstacle;
pub use record::{Happening, MAX_RECORDS, Recorder};
pub use setup::{GovernorMaker, MAX_TASKS, Outcome, Setup, Span, audit, run, run_for};
pub use task::Books;
