//! ladder: one step at a time.
//!
//! **What it believes.** The next idle period resembles the last one; the right state is near the
//! current one.
//!
//! **What it measures.** How long the last period lasted beyond the exit latency of its state, and
//! how often in a row that was long enough for more.
//!
//! **How it decides.**
//! 1. A latency limit of zero sends it to state 0, whose counters start afresh.
//! 2. If the last sleep outlasted the promotion threshold of the current state (its exit latency),
//!    the next state is enabled and wakes fast enough, it counts a promotion and forgets demotions;
//!    the fourth promotion moves one state deeper.
//! 3. If the current state is disabled or wakes too slowly for the limit, it falls to the deepest
//!    state below it that is fast enough.
//! 4. If the last sleep was shorter than the demotion threshold (the exit latency again), it moves
//!    one state shallower at once.
//! 5. Otherwise it stays.
//!
//! With a polling state 0 the ladder begins at state 1; state 0 then has no thresholds, which matters
//! only after rule 1 put the governor there.
//!
//! **What it ignores.** Timers, the tick (it never asks to keep it), load, and whether the state it
//! falls to is enabled.
//!
//! **Source.** Linux 4.18 and 6.1, drivers/cpuidle/governors/ladder.c; the rules are the same through
//! 7.2, only the unit changed.
//!
//! **Differences.** None known.

use std::marker::PhantomData;

use super::era::{Era, States};
use super::governor::{Device, Governor, IdleContext, IdleOutcome, NO_PREDICTION, Rule, Selection};
use crate::machine::{IdleTable, MAX_STATES};

/// Long sleeps in a row that move one state deeper.
const PROMOTION_COUNT: u32 = 4;
/// Short sleeps that move one state shallower.
const DEMOTION_COUNT: u32 = 1;

/// When to leave a state, and how near that is.
#[derive(Debug, Clone, Copy, Default)]
struct Rung {
    /// Long and short sleeps counted so far.
    promotions: u32,
    demotions: u32,
    /// Sleeps it takes.
    promotions_needed: u32,
    demotions_needed: u32,
    /// What counts as long and as short, in the era's unit beyond the exit latency.
    promotion_time: u64,
    demotion_time: u64,
}

/// The ladder governor in the unit of `E`.
pub struct Ladder<E> {
    states: States,
    rungs: [Rung; MAX_STATES],
    /// The state of the last decision or entry.
    last: usize,
    /// Where the ladder begins: 1 above a polling state.
    first: usize,
    era: PhantomData<E>,
}

impl<E: Era> Ladder<E> {
    fn go(&mut self, state: usize, rule: Rule) -> Selection {
        if state != self.last || rule == Rule::ZeroLatency {
            self.rungs[self.last].promotions = 0;
            self.rungs[self.last].demotions = 0;
            self.last = state;
        }
        Selection { state, stop_tick: true, predicted: NO_PREDICTION, rule }
    }

    /// The sleep beyond the exit latency; negative values become huge ones, as in the kernel.
    fn slept(&self, device: &Device) -> u64 {
        let slept =
            (E::residency(device.last_residency) as i64).wrapping_sub(self.states.exit[self.last]);
        slept as u64 & E::MAX
    }
}

impl<E: Era> Governor for Ladder<E> {
    fn new(table: &IdleTable, _hz: u32) -> Self {
        let states = States::new::<E>(table);
        let first = usize::from(states.polls(0) && states.n > 1);
        let mut rungs = [Rung::default(); MAX_STATES];
        for (i, rung) in rungs.iter_mut().enumerate().take(states.n).skip(first) {
            rung.promotions_needed = PROMOTION_COUNT;
            rung.demotions_needed = DEMOTION_COUNT;
            if i + 1 < states.n {
                rung.promotion_time = states.exit[i] as u64;
            }
            if i > first {
                rung.demotion_time = states.exit[i] as u64;
            }
        }
        Self { states, rungs, last: first, first, era: PhantomData }
    }

    fn select(&mut self, device: &mut Device, cx: &IdleContext) -> Selection {
        let limit = E::limit(cx.latency_limit);
        if limit == 0 {
            return self.go(0, Rule::ZeroLatency);
        }
        let (last, first) = (self.last, self.first);
        let slept = self.slept(device);
        let exit = &self.states.exit;
        let rung = &mut self.rungs[last];
        if last + 1 < self.states.n
            && !cx.is_off(last + 1)
            && slept > rung.promotion_time
            && exit[last + 1] <= limit
        {
            rung.promotions = rung.promotions.wrapping_add(1);
            rung.demotions = 0;
            if rung.promotions >= rung.promotions_needed {
                return self.go(last + 1, Rule::Promotion);
            }
        }
        if last > first && (cx.is_off(last) || exit[last] > limit) {
            let fast = (first + 1..last).rev().find(|&i| exit[i] <= limit);
            return self.go(fast.unwrap_or(first), Rule::LatencyLimit);
        }
        if last > first && slept < rung.demotion_time {
            rung.demotions = rung.demotions.wrapping_add(1);
            rung.promotions = 0;
            if rung.demotions >= rung.demotions_needed {
                return self.go(last - 1, Rule::Demotion);
            }
        }
        self.go(last, Rule::Stay)
    }

    fn reflect(&mut self, _device: &mut Device, outcome: &IdleOutcome) {
        if outcome.state > 0 {
            self.last = outcome.state;
        }
    }
}
