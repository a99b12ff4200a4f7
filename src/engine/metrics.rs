//! What is counted in a run.

use hdrhistogram::Histogram;

use crate::machine::MAX_STATES;

macro_rules! counts {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Something that is counted over all CPUs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Count { $($(#[$doc])* $variant,)* }

        /// Names of the counts, in order.
        pub const COUNTS: &[&str] = &[$($name,)*];
    };
}

counts! {
    /// Switches between tasks, the idle task included.
    Switches = "context_switches",
    /// Switches away from a task that goes to sleep.
    Voluntary = "voluntary",
    /// Switches away from a task that could go on.
    Involuntary = "involuntary",
    /// Sleeping tasks woken.
    Wakeups = "wakeups",
    /// Wake-ups of a task on another CPU than the waker's.
    RemoteWakeups = "remote_wakeups",
    /// Wake-ups through a wake list.
    QueuedWakeups = "queued_wakeups",
    /// Sleeps.
    Blocks = "blocks",
    /// Tasks that went on on another CPU.
    Migrations = "migrations",
    /// Tasks pulled by balancing.
    Pulls = "pulls",
    /// Reschedule interrupts to busy CPUs.
    Interrupts = "reschedule_interrupts",
    /// Ticks.
    Ticks = "ticks",
    /// Idle entries that a wake-up overtook.
    Aborted = "aborted_idle_entries",
    /// Choices of the governor.
    Selections = "governor_selections",
    /// Idle entries with the tick stopped.
    TickStopped = "tick_stopped",
    /// Polling that gave up.
    PollLimits = "poll_limits",
    /// Requests of a core-level state that the hardware demoted.
    Demoted = "demoted",
    /// Messages sent.
    Sent = "messages_sent",
    /// Messages taken.
    Received = "messages_received",
    /// Messages lost for want of room.
    Dropped = "messages_dropped",
    /// Receives that found nothing.
    EmptyReads = "reads_on_empty",
    /// Sends that found no room.
    FullWrites = "writes_on_full",
    /// Waited for run-queue locks, ns.
    LockWait = "lock_wait_ns",
    /// Waited for the group's load line, ns.
    LoadLineWait = "load_line_wait_ns",
    /// Writes of the group's load line.
    LoadLineWrites = "load_line_writes",
    /// Events of the simulation.
    Events = "events",
}

/// Books of one idle state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateBooks {
    /// Entries.
    pub usage: u64,
    /// Residency as the kernel measures it, exit included, ns.
    pub time: i64,
    /// Chosen too deep.
    pub above: u64,
    /// Chosen too shallow.
    pub below: u64,
}

/// Everything counted.
#[derive(Debug, Clone)]
pub struct Metrics {
    /// By [`Count`].
    pub counts: [u64; COUNTS.len()],
    /// By idle state.
    pub states: [StateBooks; MAX_STATES],
    /// The workload's counters.
    pub counters: Vec<u64>,
    /// The workload's latencies, ns.
    pub latencies: Vec<Histogram<u64>>,
    /// From wake-up to running, ns.
    pub wakeup_latency: Histogram<u64>,
    /// From getting the CPU to leaving it, ns.
    pub slices: Histogram<u64>,
    /// Idle periods, ns.
    pub idle_periods: Histogram<u64>,
}

/// Longest time a histogram tells apart from longer ones: 2^40 ns, 18 minutes.
const LONGEST: u64 = 1 << 40;

fn histogram(digits: u8) -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST, digits).expect("1 to 2^40 with 2 or 3 digits is valid")
}

impl Metrics {
    /// Returns empty books for a workload with so many counters and latencies.
    pub fn new(counters: usize, latencies: usize) -> Self {
        Self {
            counts: [0; COUNTS.len()],
            states: [StateBooks::default(); MAX_STATES],
            counters: vec![0; counters],
            latencies: (0..latencies).map(|_| histogram(3)).collect(),
            wakeup_latency: histogram(2),
            slices: histogram(2),
            idle_periods: histogram(2),
        }
    }

    /// Begins anew.
    pub fn reset(&mut self) {
        self.counts = [0; COUNTS.len()];
        self.states = [StateBooks::default(); MAX_STATES];
        self.counters.fill(0);
        for h in self.latencies.iter_mut().chain([
            &mut self.wakeup_latency,
            &mut self.slices,
            &mut self.idle_periods,
        ]) {
            h.reset();
        }
    }

    /// Counts one.
    #[inline]
    pub fn count(&mut self, what: Count) {
        self.counts[what as usize] += 1;
    }

    /// Counts some.
    #[inline]
    pub fn add(&mut self, what: Count, n: i64) {
        self.counts[what as usize] += n as u64;
    }

    /// Returns a count.
    pub fn get(&self, what: Count) -> u64 {
        self.counts[what as usize]
    }
}

/// Adds a duration to a histogram; those of no length count as 1 ns.
#[inline]
pub fn record(histogram: &mut Histogram<u64>, ns: i64) {
    histogram.saturating_record(ns.max(1) as u64);
}
