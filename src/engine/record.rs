//! A recording of what happened, for pictures and traces.

use super::sim::Sim;

/// Most happenings of a recording: 32 bytes each make this 512 MiB.
pub const MAX_RECORDS: usize = 1 << 24;

/// Something that a trace shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happening {
    /// A CPU goes from one task to another; `u32::MAX` is the idle task.
    Switch {
        /// The CPU.
        cpu: u32,
        /// Who had it.
        prev: u32,
        /// Who has it now.
        next: u32,
    },
    /// A wake-up begins.
    Waking {
        /// The waker's CPU.
        cpu: u32,
        /// The wakee.
        task: u32,
    },
    /// A task becomes runnable.
    Wakeup {
        /// The waker's CPU.
        cpu: u32,
        /// The wakee's CPU.
        target: u32,
        /// The wakee.
        task: u32,
    },
    /// A CPU enters an idle state.
    IdleEnter {
        /// The CPU.
        cpu: u32,
        /// The state.
        state: u32,
    },
    /// A CPU has left an idle state.
    IdleExit {
        /// The CPU.
        cpu: u32,
    },
    /// A governor is told how long its CPU could sleep.
    Told {
        /// The CPU.
        cpu: u32,
        /// Time to the next timer, ns.
        sleep_length: i64,
    },
    /// A CPU stops its tick.
    TickStop {
        /// The CPU.
        cpu: u32,
    },
    /// The tick of a CPU.
    Tick {
        /// The CPU.
        cpu: u32,
    },
}

/// A recording.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    /// Time and happening, in order.
    pub records: Vec<(i64, Happening)>,
    /// Happenings that did not fit.
    pub lost: u64,
}

impl Recorder {
    /// Puts everything in the order of time; what happens at one time stays in the order of its causes.
    #[must_use]
    pub fn in_order(mut self) -> Self {
        self.records.sort_by_key(|record| record.0);
        self
    }
}

impl Sim<'_> {
    /// Writes down what happens now, if anybody wants to know.
    #[inline]
    pub(super) fn note(&mut self, happening: Happening) {
        self.note_at(self.now, happening);
    }

    /// Writes down what happens at a time that may still be to come.
    #[inline]
    pub(super) fn note_at(&mut self, time: i64, happening: Happening) {
        if let Some(recorder) = &mut self.recorder {
            if recorder.records.len() < MAX_RECORDS {
                recorder.records.push((time, happening));
            } else {
                recorder.lost += 1;
            }
        }
    }
}
