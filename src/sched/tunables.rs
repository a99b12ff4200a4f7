//! Tunables: lengths of time the administrator can set, with the kernel's scaling by CPU count.
//!
//! Defaults grow with the number of CPUs, 1 + log2 of it, up to 8 CPUs
//! (Linux `tunable_scaling` = log). A value that is set is taken as it stands, as a value written
//! to debugfs is.

use crate::error::{Error, Result};

/// Shortest and longest time a tunable may be set to, ns (Linux `min_sched_granularity_ns`,
/// `max_sched_granularity_ns`).
const LIMITS: (i64, i64) = (100_000, 1_000_000_000);

/// One tunable of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tunable {
    /// Name as the Python user spells it.
    pub name: &'static str,
    /// Value on one CPU, ns.
    pub unscaled: i64,
    /// Grows with the number of CPUs.
    pub scaled: bool,
}

/// CFS: targeted period in which every task runs once.
pub const LATENCY: Tunable = Tunable { name: "latency_ns", unscaled: 6_000_000, scaled: true };
/// CFS: shortest slice.
pub const MIN_GRANULARITY: Tunable =
    Tunable { name: "min_granularity_ns", unscaled: 750_000, scaled: true };
/// CFS: lead in virtual time a woken task needs to preempt.
pub const WAKEUP_GRANULARITY: Tunable =
    Tunable { name: "wakeup_granularity_ns", unscaled: 1_000_000, scaled: true };
/// CFS: shortest slice of SCHED_IDLE tasks beside others; never scaled.
pub const IDLE_MIN_GRANULARITY: Tunable =
    Tunable { name: "idle_min_granularity_ns", unscaled: 750_000, scaled: false };
/// EEVDF of August 2023: slice of every task.
pub const BASE_SLICE_2023: Tunable =
    Tunable { name: "base_slice_ns", unscaled: 750_000, scaled: true };
/// EEVDF of 6.12 (stable releases) and later: slice of tasks that asked for none.
pub const BASE_SLICE: Tunable = Tunable { name: "base_slice_ns", unscaled: 700_000, scaled: true };

/// Returns the factor of the defaults on `ncpus` CPUs: 1, 2, 3, 4 for 1, 2-3, 4-7, 8 and more.
pub fn factor(ncpus: u32) -> i64 {
    1 + i64::from(ncpus.clamp(1, 8).ilog2())
}

/// The values of one policy's tunables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tunables {
    known: &'static [Tunable],
    values: Vec<i64>,
    factor: i64,
}

impl Tunables {
    /// Returns the defaults on as many CPUs as give this [`factor`].
    pub fn defaults(known: &'static [Tunable], factor: i64) -> Self {
        let value = |t: &Tunable| t.unscaled * if t.scaled { factor } else { 1 };
        Self { known, values: known.iter().map(value).collect(), factor }
    }

    /// Returns the values with some of them set by name.
    ///
    /// # Errors
    /// [`Error::UnknownName`] listing the known ones; [`Error::InvalidParameter`] for a value
    /// outside 0.1 ms to 1 s (the wake-up granularity may be 0).
    pub fn change<'a>(mut self, changes: impl IntoIterator<Item = (&'a str, i64)>) -> Result<Self> {
        for (name, value) in changes {
            let Some(at) = self.known.iter().position(|t| t.name == name) else {
                return Err(Error::UnknownName {
                    kind: "tunable of this policy",
                    name: name.to_owned(),
                    nearest: self.known.iter().map(|t| t.name.to_owned()).collect(),
                });
            };
            let least = if name == WAKEUP_GRANULARITY.name { 0 } else { LIMITS.0 };
            if !(least..=LIMITS.1).contains(&value) {
                return Err(Error::invalid(
                    format!("tunables[{name:?}]"),
                    format!("{value} ns is outside {least} to {}", LIMITS.1),
                ));
            }
            self.values[at] = value;
        }
        Ok(self)
    }

    /// Returns the value of a tunable in ns; 0 if the policy does not have it.
    pub fn get(&self, tunable: &Tunable) -> i64 {
        let at = self.known.iter().position(|t| t.name == tunable.name);
        at.map_or(0, |i| self.values[i])
    }

    /// Returns the value divided by the CPU-count factor, ns (Linux `normalized_sysctl_*`).
    pub fn normalized(&self, tunable: &Tunable) -> i64 {
        self.get(tunable) / self.factor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_grow_with_the_logarithm_of_the_cpu_count_up_to_eight() {
        let counts = [1, 2, 3, 4, 7, 8, 256];
        assert_eq!(counts.map(factor), [1, 2, 2, 3, 3, 4, 4]);
        let all = Tunables::defaults(&[LATENCY, IDLE_MIN_GRANULARITY], factor(8));
        assert_eq!(all.get(&LATENCY), 24_000_000);
        assert_eq!(all.get(&IDLE_MIN_GRANULARITY), 750_000);
    }

    #[test]
    fn a_set_value_is_not_scaled_again() {
        let t = Tunables::defaults(&[BASE_SLICE], 4).change([("base_slice_ns", 2_000_000)]);
        let t = t.unwrap();
        assert_eq!((t.get(&BASE_SLICE), t.normalized(&BASE_SLICE)), (2_000_000, 500_000));
    }

    #[test]
    fn a_value_outside_the_limits_is_refused_by_name() {
        for bad in [0, -1, 1_000_000_001, i64::MAX] {
            let e = Tunables::defaults(&[BASE_SLICE], 4).change([("base_slice_ns", bad)]);
            assert!(e.unwrap_err().to_string().contains("base_slice_ns"));
        }
    }
}
