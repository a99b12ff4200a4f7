//! The idle states of one CPU, shallow to deep, checked once.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Most states a table can have; cpuidle's own limit.
pub const MAX_STATES: usize = 10;

/// One idle state as the governor sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IdleState {
    /// Name as in sysfs, e.g. `C1E`.
    pub name: String,
    /// Exit latency, ns.
    pub exit_latency: i64,
    /// Target residency, ns.
    pub target_residency: i64,
    /// The CPU spins in this state instead of halting (POLL, snooze).
    pub polling: bool,
    /// Disabled by the user or the driver.
    pub disabled: bool,
    /// Power of one core in this state, mW, when somebody knows or guesses it.
    pub power_mw: Option<f64>,
}

/// One to ten idle states of one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<IdleState>", into = "Vec<IdleState>")]
pub struct IdleTable {
    states: Vec<IdleState>,
    warnings: Vec<String>,
}

impl IdleTable {
    /// Checks and freezes the states.
    ///
    /// An order that is not shallow to deep is kept and noted in [`IdleTable::warnings`]: real
    /// firmware ships such tables, and the governors scan them as they are.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for 0 or more than [`MAX_STATES`] states, for negative times,
    /// and for a polling state that is not state 0.
    pub fn new(states: Vec<IdleState>) -> Result<Self> {
        let n = states.len();
        if n == 0 || n > MAX_STATES {
            return Err(Error::invalid(
                "states",
                format!("an idle table has 1 to {MAX_STATES} states, found {n}"),
            ));
        }
        for (i, s) in states.iter().enumerate() {
            for (field, value) in
                [("exit_latency_ns", s.exit_latency), ("target_residency_ns", s.target_residency)]
            {
                if value < 0 {
                    return Err(Error::invalid(
                        format!("{field}[{i}]"),
                        format!("state {:?} has a negative value ({value} ns)", s.name),
                    ));
                }
            }
            if s.polling && i > 0 {
                return Err(Error::invalid(
                    format!("polling[{i}]"),
                    format!("only state 0 can poll, {:?} is state {i}", s.name),
                ));
            }
        }
        let mut warnings = Vec::new();
        for (i, pair) in states.windows(2).enumerate() {
            for (field, shallow, deep) in [
                ("exit latency", pair[0].exit_latency, pair[1].exit_latency),
                ("target residency", pair[0].target_residency, pair[1].target_residency),
            ] {
                if deep < shallow {
                    warnings.push(format!(
                        "states are not ordered shallow to deep: the {field} of state {} ({}, {deep} ns) \
                         is below that of state {i} ({}, {shallow} ns)",
                        i + 1,
                        pair[1].name,
                        pair[0].name,
                    ));
                }
            }
        }
        Ok(Self { states, warnings })
    }

    /// The states, shallow to deep.
    pub fn states(&self) -> &[IdleState] {
        &self.states
    }

    /// The states to be changed in place; the caller makes a new table of them, checked.
    pub(super) fn states_mut(&mut self) -> &mut [IdleState] {
        &mut self.states
    }

    /// Number of states, 1 to [`MAX_STATES`].
    #[allow(clippy::len_without_is_empty)] // never empty by construction
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// What looked odd at construction.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Bit i set = state i is disabled.
    pub fn disabled_mask(&self) -> u16 {
        self.states.iter().enumerate().fold(0, |m, (i, s)| m | (u16::from(s.disabled) << i))
    }
}

impl TryFrom<Vec<IdleState>> for IdleTable {
    type Error = Error;
    fn try_from(states: Vec<IdleState>) -> Result<Self> {
        Self::new(states)
    }
}

impl From<IdleTable> for Vec<IdleState> {
    fn from(table: IdleTable) -> Self {
        table.states
    }
}
