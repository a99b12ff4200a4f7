//! What tasks do, as data: the operations of a program, and the things they act on.
//!
//! A [`Program`] is a list of operations that many tasks may share. What differs between tasks is
//! reached through *handles*: numbers of channels, locks and so on that each task brings along.
//! Messages carry two numbers, as a rule the bytes of the request and of the answer, so that the
//! work of a receiver can depend on what was sent.

/// Numbers that a message carries, and that a task keeps of the last one.
pub const REGISTERS: usize = 2;

/// How deep loops may be nested.
pub const MAX_NESTING: usize = 4;

/// How an amount varies from one time to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spread {
    /// Not at all.
    #[default]
    Fixed,
    /// Evenly, by so many thousandths to both sides.
    Uniform(u16),
    /// Exponentially, with the amount as mean.
    Exponential,
    /// Log-normally, with the amount as median and so many thousandths as sigma.
    LogNormal(u16),
}

/// An amount of work or time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// The part that is always there, ns.
    pub base: i64,
    /// Added for each unit of the registers, ps.
    pub per: [i32; REGISTERS],
    /// Variation of the whole.
    pub spread: Spread,
}

impl Amount {
    /// Returns so many ns, always the same.
    pub const fn ns(base: i64) -> Self {
        Self { base, per: [0; REGISTERS], spread: Spread::Fixed }
    }

    /// Returns the amount with so many ps for each unit of a register.
    #[must_use]
    pub const fn per(mut self, register: usize, ps: i32) -> Self {
        self.per[register] = ps;
        self
    }

    /// Returns the amount with a variation.
    #[must_use]
    pub const fn spread(mut self, spread: Spread) -> Self {
        self.spread = spread;
        self
    }
}

/// Which channel, lock, line, barrier, board or device an operation means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// This one, for every task that runs the program.
    Number(u32),
    /// The task's own handle of this number.
    Handle(u32),
    /// The channel on which the sender of the last request waits for the answer.
    Caller,
}

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Runs in user mode, where a reschedule takes effect at once.
    Run(Amount),
    /// Runs in kernel mode: a reschedule waits for the return to user mode.
    Kernel(Amount),
    /// Spins in user mode until so much time has passed, however much of it the task ran.
    Spin(Amount),
    /// Sleeps for so long.
    Sleep(Amount),
    /// Sleeps until the next multiple of a period, counted from the start of the task.
    Every(i64),
    /// Sends a message; waits while the channel is full, unless it drops.
    Send {
        /// Where to.
        to: At,
        /// The channel on which the answer is awaited; the message is a request.
        reply: Option<At>,
    },
    /// Takes a message, or waits for one.
    Receive(At),
    /// Puts the task's handle 0, a channel, on a board and wakes the owner of the board.
    Post(At),
    /// Sends one message to every channel on the board, paying so much for each before its wake-up.
    Release {
        /// The board.
        board: At,
        /// Work per channel, kernel mode.
        each: Amount,
    },
    /// Takes a lock, or waits for it.
    Lock(At),
    /// Gives a lock back.
    Unlock(At),
    /// Writes a contended cache line: waits for its turn, then for the line to arrive.
    Line(At),
    /// Waits until all parties are here.
    Barrier(At),
    /// Gives a request to a device and sleeps until the interrupt of its completion.
    Io(At),
    /// Moves so many bytes to or from memory, at the share of the bandwidth that is left.
    Memory(u64),
    /// Reads so many bytes that it has read before, from the nearest cache that still holds them.
    Touch(u32),
    /// Picks a row of a table at random and loads it into the registers.
    Draw(u32),
    /// Skips so many operations, except with this probability in thousandths.
    Unless {
        /// Probability of not skipping, thousandths.
        permille: u16,
        /// Operations to skip.
        skip: u16,
    },
    /// Carries out what follows, up to the matching [`Op::Next`], so many times; 0 for ever.
    Repeat(u32),
    /// Ends the innermost loop.
    Next,
    /// Starts a task with another program, which inherits the handles.
    Fork(u32),
    /// Waits until a child has exited.
    Wait,
    /// Steps back once.
    Yield,
    /// Counts one in a counter.
    Count(u32),
    /// Notes the time; messages carry the note of their sender.
    Stamp,
    /// Adds the time since the note to a latency histogram.
    Record(u32),
    /// Ends the task.
    Exit,
}

/// What a task carries out; the list begins anew when it ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    /// A word for people: `client`, `server`.
    pub name: String,
    /// The operations.
    pub ops: Vec<Op>,
}

/// What happens to a message that finds the channel full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Full {
    /// The sender waits.
    #[default]
    Block,
    /// The message is lost, as a datagram is.
    Drop,
}

/// A mutex that waiters spin on, around each send and receive of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// Held for so long besides the lines, ns.
    pub hold: i64,
    /// Cache lines that follow the mutex to its next holder, in thousandths.
    pub lines_permille: u32,
}

/// A queue of messages: a pipe, one direction of a connection, a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channel {
    /// Most messages in it.
    pub capacity: u32,
    /// What happens when there are as many.
    pub full: Full,
    /// Wake-ups of receivers are synchronous (Linux `WF_SYNC`).
    pub sync: bool,
    /// A waiting sender is woken once so many messages have been taken (a page of a pipe).
    pub drain: u32,
    /// The mutex around it, if it matters.
    pub guard: Option<Guard>,
}

impl Channel {
    /// Returns a connection with room for everything, as request and reply need.
    pub const fn connection() -> Self {
        Self { capacity: u32::MAX, full: Full::Block, sync: true, drain: 1, guard: None }
    }
}

/// A mutex that programs take and give back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mutex {
    /// Waiters spin; otherwise they sleep.
    pub spin: bool,
}

/// A meeting point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Barrier {
    /// So many tasks meet.
    pub parties: u32,
    /// Waiters spin in user mode for at most so long before they sleep, ns.
    pub spin: i64,
}

/// A device that serves requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    /// Time for one request.
    pub service: Amount,
    /// Requests it serves at the same time.
    pub parallel: u32,
}

/// One row of a table to draw from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Relative frequency.
    pub weight: u32,
    /// What the registers are set to.
    pub registers: [u32; REGISTERS],
}

/// Scheduling class of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TaskClass {
    /// SCHED_NORMAL.
    #[default]
    Normal,
    /// SCHED_BATCH.
    Batch,
    /// SCHED_IDLE.
    Idle,
}

/// One task at the start of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Task {
    /// Its program.
    pub program: u32,
    /// Nice value.
    pub nice: i8,
    /// Scheduling class.
    pub class: TaskClass,
    /// Custom slice, ns; 0 for the policy's.
    pub slice: i64,
    /// When it starts, ns.
    pub start: i64,
    /// First of its handles in [`super::Plan::handles`].
    pub handles: u32,
    /// How many there are.
    pub handle_count: u32,
    /// Tasks with the same number start near each other (one connection, one group of hackbench).
    pub group: u32,
    /// Place in [`super::Plan::affinities`]; `None`: every CPU.
    pub affinity: Option<u32>,
}

/// Where tasks are at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// Groups in turn over the last-level caches, tasks over their idle CPUs.
    #[default]
    Spread,
    /// Each group inside one last-level cache, filled one after the other.
    Packed,
    /// On socket 0 while the tasks fit, then everywhere.
    Socket0,
}
