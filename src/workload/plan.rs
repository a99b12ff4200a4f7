//! A plan: everything one run of a workload consists of, for one machine and one case.

use super::names::Names;
use super::program::{Barrier, Channel, Device, Layout, Mutex, Op, Program, Row, Task};

/// When a run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// When the measured window ends.
    Window,
    /// When every task has exited; a run that takes longer than the limit, ns, is cut there.
    AllExit(i64),
}

/// Prices of kernel paths that belong to the workload, ns; `None`: those of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paths {
    /// Blocking path of a receiver.
    pub block: Option<i64>,
    /// Waker's part of a wake-up.
    pub wake: Option<i64>,
    /// Refill after other tasks ran on the CPU.
    pub refill: Option<i64>,
    /// Extra for a message that was not consumed at once where it was sent.
    pub cold_message: Option<i64>,
}

/// Everything one run consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Programs.
    pub programs: Vec<Program>,
    /// Channels.
    pub channels: Vec<Channel>,
    /// Mutexes.
    pub locks: Vec<Mutex>,
    /// Number of contended lines.
    pub lines: u32,
    /// Barriers.
    pub barriers: Vec<Barrier>,
    /// Boards: each has a channel that is sent a message when somebody posts.
    pub boards: Vec<u32>,
    /// Devices.
    pub devices: Vec<Device>,
    /// Tables to draw from.
    pub tables: Vec<Vec<Row>>,
    /// Handles of all tasks, one after the other.
    pub handles: Vec<u32>,
    /// Sets of CPUs that tasks may be confined to.
    pub affinities: Vec<Vec<u32>>,
    /// Tasks that exist at the start.
    pub tasks: Vec<Task>,
    /// Most tasks alive at the same time that were forked during the run.
    pub spare: u32,
    /// Names of the counters.
    pub counters: Vec<String>,
    /// Names of the latency histograms.
    pub latencies: Vec<String>,
    /// Names of channels, locks and so on, as far as they have any.
    pub names: Names,
    /// Prices of paths.
    pub paths: Paths,
    /// Start placement.
    pub layout: Layout,
    /// Not counted at the beginning, ns.
    pub warmup: i64,
    /// Measured, ns.
    pub window: i64,
    /// When it is over.
    pub end: End,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            programs: Vec::new(),
            channels: Vec::new(),
            locks: Vec::new(),
            lines: 0,
            barriers: Vec::new(),
            boards: Vec::new(),
            devices: Vec::new(),
            tables: Vec::new(),
            handles: Vec::new(),
            affinities: Vec::new(),
            tasks: Vec::new(),
            spare: 0,
            counters: Vec::new(),
            latencies: Vec::new(),
            names: Names::default(),
            paths: Paths::default(),
            layout: Layout::default(),
            warmup: 20_000_000,
            window: 200_000_000,
            end: End::Window,
        }
    }
}

impl Plan {
    /// Adds a program and returns its number.
    pub fn program(&mut self, name: &str, ops: impl IntoIterator<Item = Op>) -> u32 {
        self.programs.push(Program { name: name.to_owned(), ops: ops.into_iter().collect() });
        self.programs.len() as u32 - 1
    }

    /// Adds a channel and returns its number.
    pub fn channel(&mut self, channel: Channel) -> u32 {
        self.channels.push(channel);
        self.channels.len() as u32 - 1
    }

    /// Adds a task with these handles.
    pub fn task(&mut self, mut task: Task, handles: &[u32]) {
        task.handles = self.handles.len() as u32;
        task.handle_count = handles.len() as u32;
        self.handles.extend_from_slice(handles);
        self.tasks.push(task);
    }

    /// Adds a counter and returns its number.
    pub fn counter(&mut self, name: &str) -> u32 {
        self.counters.push(name.to_owned());
        self.counters.len() as u32 - 1
    }

    /// Adds a latency histogram and returns its number.
    pub fn latency(&mut self, name: &str) -> u32 {
        self.latencies.push(name.to_owned());
        self.latencies.len() as u32 - 1
    }
}
