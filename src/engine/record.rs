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
}

/// A recording.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    /// Time and happening, in order.
    pub records: Vec<(i64, Happening)>,
    /// Happenings that did not fit.
    pub lost: u64,
}

impl Sim<'_> {
    /// Writes down what happens now, if anybody wants to know.
    #[inline]
    pub(super) fn note(&mut self, happening: Happening) {
        if let Some(recorder) = &mut self.recorder {
            if recorder.records.len() < MAX_RECORDS {
                recorder.records.push((self.now, happening));
            } else {
                recorder.lost += 1;
            }
        }
    }
}
