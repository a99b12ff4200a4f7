//! haltpoll: a guest polls a little before it halts.
//!
//! **What it believes.** In a virtual machine halting is dear, since it means leaving for the host;
//! if recent halts ended soon, polling a little longer would have caught the wakeup.
//!
//! **What it measures.** How long the CPU was halted last.
//!
//! **How it decides.**
//! 1. A latency limit of zero means state 0, the polling state, with the tick on.
//! 2. Without a polling limit of its own it halts (state 1).
//! 3. After a poll that ran into its limit it halts; after one that was ended by work, or after a
//!    halt, it polls with the tick on.
//! 4. A halt longer than the polling limit but no longer than 200 us doubles the limit, at least to
//!    50 us and at most to 200 us. A halt beyond 200 us halves it; since 6.12 a limit below 50 us
//!    becomes zero.
//!
//! **What it ignores.** The state table, disabled states, every latency limit but zero, timers.
//!
//! **Source.** Linux 5.4, 5.10, 6.12 and 7.2, drivers/cpuidle/governors/haltpoll.c.
//!
//! **Differences.** The halting state is state 1 and exists: tables of one state ask no governor.

use super::governor::{Device, Governor, IdleContext, IdleOutcome, NO_PREDICTION, Rule, Selection};
use crate::machine::IdleTable;

/// Longest halt that polling is expected to replace, and the largest limit, ns; the governor's default.
const GUEST_HALT_POLL: u64 = 200_000;
/// Where a growing limit starts, and the least that is kept since 6.12, ns; the governor's default.
const GROW_START: u32 = 50_000;

/// haltpoll; `US` measures halts in microseconds, `FLOOR` drops limits that shrank below the start.
pub struct Haltpoll<const US: bool, const FLOOR: bool> {
    /// State of the last entry.
    last: usize,
}

/// Linux 5.4.
pub type Haltpoll54 = Haltpoll<true, false>;
/// Linux 5.10.
pub type Haltpoll510 = Haltpoll<false, false>;
/// Linux 6.12 and 7.2.
pub type Haltpoll612 = Haltpoll<false, true>;

impl<const US: bool, const FLOOR: bool> Haltpoll<US, FLOOR> {
    fn adjust(device: &mut Device, block: u64) {
        let limit = device.poll_limit;
        if block > limit && block <= GUEST_HALT_POLL {
            let grown = (limit as u32).wrapping_mul(2).max(GROW_START);
            device.poll_limit = u64::from(grown).min(GUEST_HALT_POLL);
        } else if block > GUEST_HALT_POLL {
            let shrunk = limit as u32 / 2;
            device.poll_limit = if FLOOR && shrunk < GROW_START { 0 } else { u64::from(shrunk) };
        }
    }
}

impl<const US: bool, const FLOOR: bool> Governor for Haltpoll<US, FLOOR> {
    fn new(_table: &IdleTable, _hz: u32) -> Self {
        Self { last: 0 }
    }

    fn select(&mut self, device: &mut Device, cx: &IdleContext) -> Selection {
        let unit = if US { 1000 } else { 1 };
        let (state, rule) = if cx.latency_limit / unit == 0 {
            (0, Rule::ZeroLatency)
        } else if device.poll_limit == 0 || (self.last == 0 && device.poll_timed_out) {
            (1, Rule::Halt)
        } else {
            (0, Rule::Poll)
        };
        Selection { state, stop_tick: state == 1, predicted: NO_PREDICTION, rule }
    }

    fn reflect(&mut self, device: &mut Device, outcome: &IdleOutcome) {
        self.last = outcome.state;
        if outcome.state != 0 {
            let r = device.last_residency;
            let block = if US { (r / 1000).min(i64::from(i32::MAX)).wrapping_mul(1000) } else { r };
            Self::adjust(device, block as u64);
        }
    }
}
