//! Workloads: what runs on the machine.
//!
//! A workload is data. [`program`](Program) is the language, a [`Plan`] is one run written in it, and
//! each entry of [`WORKLOADS`] makes the plans of one benchmark. To add one: a file and two lines here.

mod calibration;
mod check;
mod custom;
mod dbench;
mod deathstar;
mod disk;
mod exchange;
mod graph;
mod hackbench;
pub mod hackbench_model;
mod hogs;
mod jobs;
mod lmbench;
mod model;
mod names;
mod nas;
mod own;
mod parameter;
mod periodic;
mod pingpong;
mod pipetest;
mod plan;
mod pollbench;
mod program;
mod recorded;
mod rtapp;
mod schbench;
mod server;
mod stream;
mod tbench;
mod tcp;
mod tree;
mod udp;
mod unixbench;

pub use calibration::{Fit, fits};
pub use check::{MAX_TASKS, check};
pub use custom::Definition;
pub use graph::{Edge, EdgeKind, Graph, Node, NodeKind, graph};
pub use model::{Better, Case, Mean, Measure, Outcome, Report, WorkloadEntry};
pub use names::{Kind, Names};
pub use own::Own;
pub use parameter::{COMMON, Parameter, Parameters};
pub use plan::{End, Paths, Plan};
pub use program::{
    Amount, At, Barrier, Channel, Device, Full, Guard, Layout, MAX_NESTING, Mutex, Op, Program,
    REGISTERS, Row, Spread, Task, TaskClass,
};
pub use rtapp::{RTAPP_REPORT, RtApp, Unsupported};

use parameter::SEGMENT;

use crate::catalogue;
use crate::error::Result;

/// Every workload: those with published figures, the neutral ones of the 2018 report, and building blocks.
pub const WORKLOADS: &[WorkloadEntry] = &[
    tbench::TBENCH,
    schbench::SCHBENCH,
    hackbench::HACKBENCH,
    udp::NETPERF,
    udp::SOCKPERF,
    tcp::RR,
    tcp::STREAM,
    dbench::DBENCH,
    stream::STREAM_10,
    stream::STREAM_100,
    unixbench::ALL,
    unixbench::DHRY2REG,
    unixbench::SYSCALLS,
    unixbench::PIPES,
    unixbench::SPAWNS,
    unixbench::EXECLS,
    server::YCSB,
    deathstar::DEATHSTAR,
    lmbench::CTXSW,
    lmbench::COMM,
    tbench::OLD,
    pollbench::POLLBENCH,
    server::PGBENCH_RO,
    server::PGBENCH_RW,
    server::SIEGE,
    pipetest::PIPETEST,
    jobs::KERNBENCH,
    jobs::GITSOURCE,
    nas::NAS_MPI,
    nas::NAS_OMP,
    disk::FIO_RANDRW,
    disk::FIO_SEQWRITE,
    disk::FIO_SEQREAD_4K,
    disk::FIO_SEQREAD_32K,
    disk::XFSREPAIR,
    disk::SQLITE,
    pingpong::PIPE,
    pingpong::TCP,
    hogs::HOGS,
    periodic::PERIODIC,
    recorded::RECORDED,
];

/// Returns the workload called `name`, by name or alias.
///
/// # Errors
/// [`crate::error::Error::UnknownName`] with the nearest names.
pub fn workload(name: &str) -> Result<&'static WorkloadEntry> {
    catalogue::find("workload", WORKLOADS, name)
}
