//! What every idle governor shares: the two moments of its life, and what it may know at each.
//!
//! The core asks with [`Governor::select`] when the CPU has nothing to do, and tells the outcome with
//! [`Governor::reflect`] when it is busy again. Governors note facts in `reflect` and learn from them
//! at the start of the next `select`, as in the kernel. All arithmetic wraps: strange input gives a
//! strange choice, never a panic.

use crate::machine::IdleTable;

/// One governor on one CPU.
pub trait Governor: Send {
    /// A governor that has just been enabled.
    fn new(table: &IdleTable, hz: u32) -> Self
    where
        Self: Sized;

    /// Chooses a state.
    fn select(&mut self, device: &mut Device, context: &IdleContext) -> Selection;

    /// Hears what became of the choice. Not called when the driver refused the state.
    fn reflect(&mut self, device: &mut Device, outcome: &IdleOutcome);
}

/// What the governor may know when it is asked. Times in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleContext {
    /// Time to the next timer with the tick ignored.
    pub sleep_length: i64,
    /// Time to the next programmed event, tick included.
    pub delta_tick: i64,
    /// Longest exit latency allowed.
    pub latency_limit: i64,
    /// The tick is already stopped.
    pub tick_stopped: bool,
    /// Tasks in I/O wait that last ran on this CPU.
    pub nr_iowait: u32,
    /// Scheduler utilisation, 0..1024.
    pub cpu_util: u32,
    /// Run-queue weight; 2048 is a load of 1.
    pub cpu_load: u32,
    /// Bit i set: state i is disabled.
    pub disabled: u16,
}

impl IdleContext {
    /// True if state `i` is disabled.
    #[inline(always)]
    pub fn is_off(&self, i: usize) -> bool {
        self.disabled >> i & 1 != 0
    }
}

/// What became of the choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleOutcome {
    /// The state that was entered.
    pub state: usize,
    /// Time between the governor's clock readings in `select` and `reflect`, ns.
    pub span: i64,
    /// The tick woke the CPU.
    pub got_tick: bool,
}

/// The part of the cpuidle device that core and governor share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Device {
    /// Residency the core measured last, ns; 0 after a refused entry.
    pub last_residency: i64,
    /// The last polling gave up. Rewritten only when a polling state is entered.
    pub poll_timed_out: bool,
    /// How long haltpoll wants to poll, ns; 0 without an own limit.
    pub poll_limit: u64,
}

/// A governor's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    /// Index of the state to enter.
    pub state: usize,
    /// The tick may be stopped.
    pub stop_tick: bool,
    /// The idle duration the governor reckons with, ns; [`NO_PREDICTION`] if it has none.
    pub predicted: i64,
    /// The rule that settled the state.
    pub rule: Rule,
}

/// [`Selection::predicted`] of a governor that predicts nothing, or did not have to this time.
pub const NO_PREDICTION: i64 = -1;

/// The last rule that had a say in the choice of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Rule {
    /// The table has one state: no governor is asked.
    SingleState,
    /// Every state is disabled: 0 by default.
    AllDisabled,
    /// No latency is tolerated.
    ZeroLatency,
    /// The next timer or the latency limit rules out every state but the first.
    FirstOnly,
    /// Only one enabled state is worth a thought.
    OneCandidate,
    /// The deepest state that fits the time to the next timer.
    Timer,
    /// The deepest state that fits the predicted duration.
    Prediction,
    /// The scan ended at a state that wakes too slowly for the latency limit.
    LatencyLimit,
    /// A shallow real state in place of polling.
    NotPolling,
    /// The tick is stopped: the state is deep enough for the time to the next event.
    TickStopped,
    /// The tick stays on: shallower, so that the state fits the next tick.
    NextTick,
    /// Early wakeups have been the rule: the state that they favour.
    EarlyHits,
    /// Recent short intervals: the state that fits their mean.
    RecentIntervals,
    /// Wakeups before the timer have been the rule: the state that fits most of them.
    Intercepts,
    /// The CPU is utilised: one state shallower.
    Utilised,
    /// Short idle periods prevail: the next timer was not even looked up.
    ShortIdle,
    /// ladder: one step deeper after enough long sleeps.
    Promotion,
    /// ladder: one step shallower after a short sleep.
    Demotion,
    /// ladder: no reason to move.
    Stay,
    /// haltpoll: poll first.
    Poll,
    /// haltpoll: polling is off, or went on for too long.
    Halt,
    /// A governor from outside.
    Foreign,
}

/// Names of the rules; the code of a rule is its place in this list.
pub const RULES: [&str; 22] = [
    "single-state",
    "all-disabled",
    "zero-latency",
    "first-only",
    "one-candidate",
    "timer",
    "prediction",
    "latency-limit",
    "not-polling",
    "tick-stopped",
    "next-tick",
    "early-hits",
    "recent-intervals",
    "intercepts",
    "utilised",
    "short-idle",
    "promotion",
    "demotion",
    "stay",
    "poll",
    "halt",
    "foreign",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rule_has_the_last_name() {
        assert_eq!(RULES[Rule::Foreign as usize], "foreign");
        assert_eq!(RULES.len(), Rule::Foreign as usize + 1);
        assert_eq!(RULES[Rule::NextTick as usize], "next-tick");
        assert_eq!(RULES[Rule::Stay as usize], "stay");
    }
}
