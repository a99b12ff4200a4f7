//! Patches that can be put on a kernel by writing `kernel+patch`.

use crate::error::{Error, Result};
use crate::sched::Policy;

use super::model::{Kernel, WakeGroup};
use super::switches;

/// A change of a kernel that has a name of its own.
#[derive(Debug)]
pub struct Patch {
    /// Registered name: what it does.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    apply: fn(&mut Kernel) -> std::result::Result<(), &'static str>,
}

/// Shortest time between two writes to the group's load sum with the patch, ns (the form merged
/// later, read in Linux 6.12).
const RATE_LIMIT: i64 = 1_000_000;

/// Every patch, in the order in which names of combinations list them.
pub const PATCHES: &[Patch] = &[
    Patch {
        name: "run-to-parity",
        summary: "the running task keeps the CPU until it has its share",
        apply: run_to_parity,
    },
    Patch {
        name: "queued-wakeup-l2",
        summary: "wake-ups are queued outside the L2 group, not outside the LLC",
        apply: queued_wakeup_l2,
    },
    Patch {
        name: "load-avg-ratelimit",
        summary: "a CPU writes the group's load sum at most once per millisecond",
        apply: load_avg_ratelimit,
    },
];

impl Patch {
    /// Puts the patch on `kernel`.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if it is there already, or does not apply.
    pub fn apply(&self, kernel: &mut Kernel) -> Result<()> {
        let done = if kernel.patches.iter().any(|p| p == self.name) {
            Err("it is in this kernel already")
        } else {
            (self.apply)(kernel)
        };
        let name = kernel.name.clone();
        done.map_err(|reason| {
            Error::invalid("kernel", format!("patch {} on {name}: {reason}", self.name))
        })?;
        kernel.patches.push(self.name.to_owned());
        Ok(())
    }
}

type Done = std::result::Result<(), &'static str>;

/// The change of one commit between the two policies of August 2023.
fn run_to_parity(kernel: &mut Kernel) -> Done {
    const FEATURE: &str = "RUN_TO_PARITY";
    if kernel.feature(FEATURE) {
        return Err("it is in this kernel already");
    }
    if kernel.policy.name != "eevdf" {
        return Err("it applies to policy eevdf alone");
    }
    kernel.policy = Policy::find("eevdf-curb").map_err(|_| "its policy is not registered")?;
    match kernel.features.iter_mut().find(|(name, _)| name == FEATURE) {
        Some((_, on)) => *on = true,
        None => kernel.features.push((FEATURE.to_owned(), true)),
    }
    Ok(())
}

fn queued_wakeup_l2(kernel: &mut Kernel) -> Done {
    if !kernel.feature(switches::TTWU_QUEUE) {
        return Err("it needs wake lists, the feature TTWU_QUEUE");
    }
    if kernel.queued_wakeup_group == WakeGroup::L2 {
        return Err("it is in this kernel already");
    }
    kernel.queued_wakeup_group = WakeGroup::L2;
    Ok(())
}

fn load_avg_ratelimit(kernel: &mut Kernel) -> Done {
    if !switches::has_features(kernel.policy) {
        return Err("this kernel has no group loads");
    }
    if kernel.load_avg_min_interval != 0 {
        return Err("it is in this kernel already");
    }
    kernel.load_avg_min_interval = RATE_LIMIT;
    Ok(())
}
