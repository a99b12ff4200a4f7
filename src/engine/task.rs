//! One task on its way through its program.

use std::collections::VecDeque;

use super::cpu::NONE;
use crate::rng::Stream;
use crate::workload::{Kind, MAX_NESTING, Names, REGISTERS};

/// Where a task is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// Not started, or a spare one.
    New,
    /// Has a CPU.
    Running,
    /// Waits in a run queue.
    Ready,
    /// Woken, not yet in a run queue.
    Waking,
    /// Sleeps.
    Blocked,
    /// Has exited.
    Gone,
}

/// What a sleeping task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// Nothing.
    Nothing,
    /// A message on a channel.
    Message(u32),
    /// Room in a channel.
    Room(u32),
    /// A timer.
    Timer,
    /// A lock.
    Lock(u32),
    /// A barrier.
    Barrier(u32),
    /// A device.
    Device(u32),
    /// A child.
    Child,
}

impl Waits {
    /// Returns what it is in words, with the names that the plan has.
    pub fn say(self, names: &Names) -> String {
        match self {
            Self::Nothing => "nothing".into(),
            Self::Message(n) => format!("a message on {}", names.say(Kind::Channel, n)),
            Self::Room(n) => format!("room in {}", names.say(Kind::Channel, n)),
            Self::Timer => "a timer".into(),
            Self::Lock(n) => names.say(Kind::Lock, n),
            Self::Barrier(n) => format!("the others at {}", names.say(Kind::Barrier, n)),
            Self::Device(n) => names.say(Kind::Device, n),
            Self::Child => "a child".into(),
        }
    }
}

/// What happens when the work in hand is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The next operation.
    Fetch,
    /// The operation at `ip` once more.
    Retry,
    /// The wakee gets into its run queue, then the next operation.
    Deliver,
    /// The same, and the operation at `ip` goes on.
    DeliverRetry,
    /// Looks once more whether it has to wait, then sleeps.
    Recheck,
    /// Sleeps until `until`.
    Sleep,
    /// Sleeps until the device is done.
    Io(u32),
    /// Spins until released; then the next operation.
    Spin,
    /// The message of a release goes out.
    Release,
}

/// A message.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    /// What the sender had in its registers.
    pub registers: [u32; REGISTERS],
    /// Its note of the time.
    pub stamp: i64,
    /// The channel for the answer; [`NONE`] if it is no request.
    pub reply: u32,
    /// CPU it was sent from, and that CPU's epoch.
    pub sent: (u32, u32),
}

/// One task.
#[derive(Debug)]
pub struct Task {
    /// Its program and the next operation.
    pub program: u32,
    /// The next operation.
    pub ip: u32,
    /// Rounds left of each open loop, and where it begins.
    pub loops: [(u32, u32); MAX_NESTING],
    /// Open loops.
    pub depth: u8,
    /// The last message's numbers.
    pub registers: [u32; REGISTERS],
    /// Note of a time.
    pub stamp: i64,
    /// Channel of the last request's sender.
    pub caller: u32,
    /// Its handles.
    pub handles: (u32, u32),
    /// Where it is in its life.
    pub life: Life,
    /// What it waits for.
    pub waits: Waits,
    /// Work left of the segment, ns at full speed.
    pub left: i64,
    /// The segment runs in kernel mode.
    pub kernel: bool,
    /// The segment ends at a time, `until`.
    pub timed: bool,
    /// What comes after it.
    pub then: Then,
    /// A point in time that the operation needs, or the channel of a release.
    pub until: i64,
    /// When the last period of [`crate::workload::Op::Every`] began.
    pub due: i64,
    /// Task to be woken, its CPU, by its wake list, with the synchronous hint.
    pub wakee: u32,
    /// CPU of the wakee.
    pub target: u32,
    /// Through the wake list.
    pub queued: bool,
    /// With the synchronous hint.
    pub sync: bool,
    /// CPU it is on, or was on.
    pub cpu: u32,
    /// CPU it used before that (Linux `recent_used_cpu`).
    pub recent: u32,
    /// The CPU's epoch when it left.
    pub epoch: u32,
    /// When it last left a CPU.
    pub left_at: i64,
    /// When it was woken; negative when it was not.
    pub woken_at: i64,
    /// Since when it waits in the run queue.
    pub ready_at: i64,
    /// Since when it runs.
    pub on_at: i64,
    /// Place in the ready list of its CPU.
    pub place: u32,
    /// Wake-ups of different tasks, decayed, and when (Linux `wakee_flips`).
    pub flips: u32,
    /// When they were last halved.
    pub flips_at: i64,
    /// Task it woke last.
    pub last_wakee: u32,
    /// Set of CPUs it may use; [`NONE`]: all.
    pub affinity: u32,
    /// Parent, exited children not yet waited for.
    pub parent: u32,
    /// Exited children not yet waited for.
    pub exited: u32,
    /// Where its data is: CPU and that CPU's count of touched bytes.
    pub data: (u32, u64),
    /// The how manyth task of the run it is: places of tasks are used again.
    pub birth: u32,
    /// The same of its parent.
    pub parent_birth: u32,
    /// Operations without time since `turned_at`.
    pub turns: u32,
    /// When it last spent no time on an operation that should take some.
    pub turned_at: i64,
    /// Own randomness.
    pub random: Stream,
    /// Books.
    pub books: Books,
}

/// What is counted per task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Books {
    /// CPU time in operations, ns.
    pub ran: i64,
    /// Switches away while runnable.
    pub involuntary: u64,
    /// Switches away to sleep.
    pub voluntary: u64,
    /// Wake-ups.
    pub wakeups: u64,
}

impl Task {
    /// Returns a task that has not started.
    pub fn new(random: Stream) -> Self {
        Self {
            program: 0,
            ip: 0,
            loops: [(0, 0); MAX_NESTING],
            depth: 0,
            registers: [0; REGISTERS],
            stamp: 0,
            caller: NONE,
            handles: (0, 0),
            life: Life::New,
            waits: Waits::Nothing,
            left: 0,
            kernel: true,
            timed: false,
            then: Then::Retry,
            until: 0,
            due: 0,
            wakee: NONE,
            target: 0,
            queued: false,
            sync: false,
            cpu: 0,
            recent: NONE,
            epoch: 0,
            left_at: i64::MIN / 2,
            woken_at: -1,
            ready_at: 0,
            on_at: 0,
            place: NONE,
            flips: 0,
            flips_at: 0,
            last_wakee: NONE,
            affinity: NONE,
            parent: NONE,
            exited: 0,
            data: (NONE, 0),
            birth: 0,
            parent_birth: 0,
            turns: 0,
            turned_at: 0,
            random,
            books: Books::default(),
        }
    }

    /// Sets what to do and what comes then.
    #[inline]
    pub fn plan(&mut self, work: i64, kernel: bool, then: Then) {
        self.left = work;
        self.kernel = kernel;
        self.timed = false;
        self.then = then;
    }
}

/// A channel in use.
#[derive(Debug, Default)]
pub struct Queue {
    /// Messages in it.
    pub messages: VecDeque<Message>,
    /// Tasks that sleep for a message.
    pub receivers: VecDeque<u32>,
    /// Tasks that sleep for room.
    pub senders: VecDeque<u32>,
    /// Taken since a sender was last woken.
    pub drained: u32,
    /// The mutex around it is free again, and who had it.
    pub free_at: i64,
    /// CPU that had it last.
    pub holder: u32,
}
