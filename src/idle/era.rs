//! The unit a governor thinks in, and the state table in that unit.
//!
//! Until 5.4 cpuidle counted in microseconds held in 32 bits, since 5.5 in nanoseconds held in 64.
//! Values of both eras are kept in 64-bit variables here; whatever the old kernels stored in 32 bits
//! is cut to 32 bits at the same place.

use std::hint::select_unpredictable;

use super::governor::{IdleContext, Rule, Selection};
use crate::machine::{IdleTable, MAX_STATES};

/// A unit of time with its widths.
pub trait Era: Send + 'static {
    /// The name: `us` or `ns`.
    const NAME: &'static str;
    /// Nanoseconds per unit.
    const UNIT: i64;
    /// Largest unsigned value of this era.
    const MAX: u64;

    /// A time the kernel stores unsigned.
    fn time(ns: i64) -> u64;
    /// The latency limit.
    fn limit(ns: i64) -> i64;
    /// The residency the core measured, as the governor's unsigned arithmetic sees it.
    fn residency(ns: i64) -> u64;
    /// Length of a tick.
    fn tick(hz: u32) -> i64;
}

/// Microseconds in 32 bits.
pub struct Us;
/// Nanoseconds in 64 bits.
pub struct Ns;

impl Era for Us {
    const NAME: &'static str = "us";
    const UNIT: i64 = 1000;
    const MAX: u64 = u32::MAX as u64;

    #[inline(always)]
    fn time(ns: i64) -> u64 {
        u64::from((ns / 1000) as u32)
    }
    #[inline(always)]
    fn limit(ns: i64) -> i64 {
        (ns / 1000).min(i64::from(i32::MAX))
    }
    #[inline(always)]
    fn residency(ns: i64) -> u64 {
        u64::from((ns / 1000).min(i64::from(i32::MAX)) as u32)
    }
    fn tick(hz: u32) -> i64 {
        i64::from((1_000_000 + hz / 2) / hz)
    }
}

impl Era for Ns {
    const NAME: &'static str = "ns";
    const UNIT: i64 = 1;
    const MAX: u64 = u64::MAX;

    #[inline(always)]
    fn time(ns: i64) -> u64 {
        ns as u64
    }
    #[inline(always)]
    fn limit(ns: i64) -> i64 {
        ns
    }
    #[inline(always)]
    fn residency(ns: i64) -> u64 {
        ns as u64
    }
    fn tick(hz: u32) -> i64 {
        i64::from((1_000_000_000 + hz / 2) / hz)
    }
}

/// The state table as a governor of one era sees it.
#[derive(Debug, Clone, Copy)]
pub struct States {
    /// Number of states.
    pub n: usize,
    /// Exit latencies, in the era's unit; 0 beyond the last state.
    pub exit: [i64; MAX_STATES + 1],
    /// Target residencies, in the era's unit; 0 beyond the last state, as in the driver's table.
    pub target: [i64; MAX_STATES + 1],
    polling: bool,
    /// Bit i set: state i exists.
    all: u32,
    /// Targets ascend.
    ordered: bool,
    /// Largest exit latency.
    slowest: i64,
}

impl States {
    /// The table in the unit of `E`.
    pub fn new<E: Era>(table: &IdleTable) -> Self {
        let mut states = Self {
            n: table.len(),
            exit: [0; MAX_STATES + 1],
            target: [0; MAX_STATES + 1],
            polling: table.states()[0].polling,
            all: (1 << table.len()) - 1,
            ordered: false,
            slowest: 0,
        };
        for (i, s) in table.states().iter().enumerate() {
            states.exit[i] = E::time(s.exit_latency) as i64;
            states.target[i] = E::time(s.target_residency) as i64;
        }
        states.ordered = states.target[..states.n].is_sorted();
        states.slowest = states.exit.into_iter().max().unwrap_or(0);
        states
    }

    /// True if state `i` spins instead of halting; only state 0 can.
    #[inline(always)]
    pub fn polls(&self, i: usize) -> bool {
        i == 0 && self.polling
    }

    /// Bit i set: state i is enabled.
    #[inline(always)]
    pub fn enabled(&self, cx: &IdleContext) -> u32 {
        !u32::from(cx.disabled) & self.all
    }

    /// True if targets ascend, nothing is disabled, and nothing is too slow for the limit in ns: then
    /// the deepest state that fits a time can be found without a scan.
    #[inline(always)]
    pub fn is_open(&self, cx: &IdleContext) -> bool {
        self.ordered & (self.enabled(cx) == self.all) & (self.slowest <= cx.latency_limit)
    }

    /// The last state with a target of at most `duration`; 0 if there is none.
    ///
    /// Without branches on the data: which state it is, is as good as random.
    #[inline(always)]
    pub fn last_fitting(&self, duration: i64) -> usize {
        let mut last = 0;
        for i in 1..self.n {
            last = select_unpredictable(self.target[i] <= duration, i, last);
        }
        last
    }

    /// `idx` if its target is at most `duration`, else a shallower state; `last` is
    /// [`States::last_fitting`] of `duration`.
    #[inline(always)]
    pub fn fit(&self, cx: &IdleContext, idx: usize, duration: i64, last: usize) -> usize {
        if self.ordered && self.enabled(cx) == self.all {
            // No need to know `idx` to know `last`: the two are worked out side by side.
            return idx.min(last);
        }
        if self.target[idx] > duration { self.shallower(cx, idx, duration) } else { idx }
    }

    /// The deepest enabled state below `idx` with a target of at most `duration`, else the shallowest
    /// enabled one; `idx` itself when everything below it is disabled.
    #[inline]
    pub fn shallower(&self, cx: &IdleContext, idx: usize, duration: i64) -> usize {
        let mut found = idx;
        for i in (0..idx).rev() {
            if cx.is_off(i) {
                continue;
            }
            found = i;
            if self.target[i] <= duration {
                break;
            }
        }
        found
    }

    /// Keeps the tick, and goes shallower if the choice does not fit the time `until_event`.
    #[inline]
    pub fn keep_tick(&self, cx: &IdleContext, choice: &mut Selection, until_event: u64) {
        choice.stop_tick = false;
        // A branch, since it is rare that the choice does not fit.
        if self.target[choice.state] > until_event as i64 {
            let state = self.shallower(cx, choice.state, until_event as i64);
            if state != choice.state {
                choice.rule = Rule::NextTick;
            }
            choice.state = state;
        }
    }
}

/// Index of the highest bit; 0 without any.
#[inline(always)]
pub fn highest(mask: u32) -> u32 {
    31 - (mask | 1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_wrap_at_32_bits_and_residencies_stop_at_31() {
        assert_eq!(Us::time(4_294_967_296_000), 0);
        assert_eq!(Us::time(-1), 0);
        assert_eq!(Us::time(-1000), u64::from(u32::MAX));
        assert_eq!(Us::residency(i64::MAX), 0x7fff_ffff);
    }

    #[test]
    fn ticks_are_rounded_to_the_nearest_unit() {
        assert_eq!((Us::tick(300), Ns::tick(300)), (3333, 3_333_333));
        assert_eq!((Us::tick(1000), Ns::tick(250)), (1000, 4_000_000));
    }
}
