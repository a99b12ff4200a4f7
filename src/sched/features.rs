//! Scheduler features: named switches as in the kernel's `sched/features.h`.
//!
//! Each policy lists the switches its kernel version has and that act on one run queue, with that
//! version's default. Switches that only matter for groups or for placement over CPUs are not
//! listed, so that no switch is accepted and then ignored.

use crate::error::{Error, Result};

/// A switch, named as in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Feature {
    /// Sleepers get half the latency as credit, not all of it.
    GentleFairSleepers,
    /// New tasks start one slice later.
    StartDebit,
    /// The ideal slice is not shorter than the minimum granularity.
    BaseSlice,
    /// Hint to pick the woken task next.
    NextBuddy,
    /// Hint to return to the task that a wake-up preempted.
    LastBuddy,
    /// Honour the next-hint at the pick.
    PickBuddy,
    /// Wake-ups may preempt.
    WakeupPreemption,
    /// Keep the lag over sleep.
    PlaceLag,
    /// New tasks get half a slice.
    PlaceDeadlineInitial,
    /// Keep the distance to the deadline over migration and attribute changes.
    PlaceRelDeadline,
    /// Protect the running task until it has received its share.
    RunToParity,
    /// A shorter slice may break the protection.
    PreemptShort,
    /// A blocked task stays queued until it has paid its lag.
    DelayDequeue,
    /// A delayed task keeps no positive lag.
    DelayZero,
    /// End slices by a precise timer instead of the tick.
    Hrtick,
}

/// Every switch with its kernel name and what it does when on.
pub const FEATURES: &[(Feature, &str, &str)] = &[
    (
        Feature::GentleFairSleepers,
        "GENTLE_FAIR_SLEEPERS",
        "sleepers get half the latency as credit",
    ),
    (Feature::StartDebit, "START_DEBIT", "new tasks start one slice later"),
    (Feature::BaseSlice, "BASE_SLICE", "the ideal slice is at least the minimum granularity"),
    (Feature::NextBuddy, "NEXT_BUDDY", "hint to pick the woken task next"),
    (Feature::LastBuddy, "LAST_BUDDY", "hint to return to the task a wake-up preempted"),
    (Feature::PickBuddy, "PICK_BUDDY", "honour the next-hint at the pick"),
    (Feature::WakeupPreemption, "WAKEUP_PREEMPTION", "wake-ups may preempt"),
    (Feature::PlaceLag, "PLACE_LAG", "keep the lag over sleep"),
    (Feature::PlaceDeadlineInitial, "PLACE_DEADLINE_INITIAL", "new tasks get half a slice"),
    (
        Feature::PlaceRelDeadline,
        "PLACE_REL_DEADLINE",
        "keep the distance to the deadline over migration and attribute changes",
    ),
    (Feature::RunToParity, "RUN_TO_PARITY", "protect the running task until it has its share"),
    (Feature::PreemptShort, "PREEMPT_SHORT", "a shorter slice may break the protection"),
    (Feature::DelayDequeue, "DELAY_DEQUEUE", "a blocked task stays queued until its lag is paid"),
    (Feature::DelayZero, "DELAY_ZERO", "a delayed task keeps no positive lag"),
    (Feature::Hrtick, "HRTICK", "end slices by a precise timer"),
];

impl Feature {
    /// Returns the kernel's name of the switch.
    pub fn name(self) -> &'static str {
        FEATURES[self as usize].1
    }
}

/// A set of switches that are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features(u32);

impl Features {
    /// Returns the defaults of a list of switches.
    pub fn defaults(list: &[(Feature, bool)]) -> Self {
        list.iter().fold(Self::default(), |all, &(feature, on)| all.with(feature, on))
    }

    /// Returns the set with one switch turned on or off.
    pub fn with(self, feature: Feature, on: bool) -> Self {
        let bit = 1 << feature as u32;
        Self(if on { self.0 | bit } else { self.0 & !bit })
    }

    /// Returns true if the switch is on.
    #[inline]
    pub fn has(self, feature: Feature) -> bool {
        self.0 & (1 << feature as u32) != 0
    }

    /// Returns the set with switches changed by name.
    ///
    /// # Errors
    /// [`Error::UnknownName`] for a switch that is not in `known`; it lists those that are.
    pub fn change<'a>(
        self,
        known: &[(Feature, bool)],
        changes: impl IntoIterator<Item = (&'a str, bool)>,
    ) -> Result<Self> {
        changes.into_iter().try_fold(self, |all, (name, on)| {
            match known.iter().find(|(feature, _)| feature.name() == name) {
                Some(&(feature, _)) => Ok(all.with(feature, on)),
                None => Err(Error::UnknownName {
                    kind: "feature of this policy",
                    name: name.to_owned(),
                    nearest: known.iter().map(|(f, _)| f.name().to_owned()).collect(),
                }),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_the_order_of_the_enum() {
        for (i, &(feature, name, _)) in FEATURES.iter().enumerate() {
            assert_eq!(feature as usize, i);
            assert_eq!(feature.name(), name);
        }
    }

    #[test]
    fn an_unknown_switch_lists_the_known_ones() {
        let known = &[(Feature::PlaceLag, true), (Feature::NextBuddy, false)];
        let e = Features::defaults(known).change(known, [("HRTICK", true)]).unwrap_err();
        assert!(e.to_string().contains("PLACE_LAG, NEXT_BUDDY"), "{e}");
    }
}
