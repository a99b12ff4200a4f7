//! The kernel itself, and what it means for a scheduler, a polling loop and a wake-up.

use std::fmt;

use crate::error::{Error, Result};
use crate::idle::GovernorEntry;
use crate::machine::IdleTable;
use crate::sched::{Policy, Settings, factor};

use super::switches;

/// When a busy CPU gives way while it runs kernel code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preemption {
    /// Only when it leaves the kernel.
    None,
    /// Also where the kernel offers it.
    Voluntary,
    /// At the next return to user mode, or at the tick (Linux `PREEMPT_LAZY`).
    Lazy,
}

/// How long a CPU may stay in a polling state before it gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollRule {
    /// A sixteenth of the tick.
    TickFraction,
    /// Target residency of the first enabled state above 0; a tick if there is none.
    FirstEnabled,
    /// Target residency of state 1, enabled or not.
    State1,
    /// Target residency of the first enabled state of at least 10 us, at most a sixteenth of the
    /// tick.
    First10us,
    /// No polling state is ever used.
    Never,
    /// A length of the user's own, ns.
    Fixed(i64),
}

/// The CPUs among which a waker queues the wakee itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeGroup {
    /// Those that share the last-level cache.
    Llc,
    /// Those that share the second-level cache.
    L2,
}

/// Features that act on the choice of a CPU at wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// Prefer the waker's CPU if it is idle.
    pub wa_idle: bool,
    /// Compare the loads of both CPUs.
    pub wa_weight: bool,
    /// Count cache and imbalance in that comparison.
    pub wa_bias: bool,
    /// Bound the search for an idle CPU by the utilisation of the cache domain.
    pub sis_util: bool,
    /// Bound it by the average idle time.
    pub sis_prop: bool,
    /// Hand wakees over by the wake list.
    pub ttwu_queue: bool,
}

/// A kernel as its benchmark results see it.
#[derive(Clone)]
pub struct Kernel {
    /// Registered name, or the user's.
    pub name: String,
    /// Other spellings.
    pub aliases: Vec<String>,
    /// Heading as printed.
    pub label: String,
    /// One line.
    pub summary: String,
    /// Id of the published report it is a column of, or empty.
    pub report: String,
    /// Heading of that column, or empty.
    pub column: String,
    /// Idle governor; `None`: the CPU halts in the machine's only state, or
    /// [`Kernel::custom_governor`] is set.
    pub governor: Option<&'static GovernorEntry>,
    /// The governor is one from outside, which the caller holds.
    pub custom_governor: bool,
    /// Scheduling policy.
    pub policy: &'static Policy,
    /// Tick rate, Hz.
    pub hz: i64,
    /// When a busy CPU gives way in kernel code.
    pub preemption: Preemption,
    /// Limit of the polling loop.
    pub poll_rule: PollRule,
    /// Giving up sets the flag that governors read.
    pub poll_flag: bool,
    /// It counts above and below per state.
    pub above_below: bool,
    /// CPUs outside this group of the waker get the wakee by their wake list.
    pub queued_wakeup_group: WakeGroup,
    /// So does another CPU with nothing runnable.
    pub queued_wakeup_idle: bool,
    /// Shortest time between two writes of a CPU to the group's load sum, ns; 0 is no limit.
    pub load_avg_min_interval: i64,
    /// Model-specific registers written in each context switch.
    pub wrmsr_per_switch: u32,
    /// Length of the switch path against that of 6.1, thousandths.
    pub switch_permille: u32,
    /// Patches by what they do.
    pub patches: Vec<String>,
    /// Features the tree has, by the kernel's names; one that is not here does not exist in it.
    pub features: Vec<(String, bool)>,
    /// Tunables on one CPU, unscaled ns (or the unit of the name).
    pub tunables: Vec<(String, i64)>,
    /// Tunables that were set: taken as they stand on any number of CPUs, ns.
    pub set_tunables: Vec<(String, i64)>,
    /// Tunables that grow with the number of CPUs.
    pub scaled: Vec<String>,
    /// How each field is known: `read`, `derived`, `assumed`, or `set` by the user. A single
    /// feature (`features.NAME`) or tunable that was set has a line of its own.
    pub sources: Vec<(String, String)>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// Default of `migration_cost_ns` (Linux `sysctl_sched_migration_cost`).
pub const MIGRATION_COST: i64 = 500_000;

/// Longest time a field of a kernel can be set to, ns: a second, as for the scheduler's tunables.
pub const LONGEST: i64 = 1_000_000_000;

/// Name of the one tunable that acts on placement and balancing, not inside a policy.
pub(super) const MIGRATION_COST_NAME: &str = "migration_cost_ns";

/// Shortest target residency that limits polling from 6.1 on, ns (Linux 6.1, the polling loop).
const FIRST_10US: i64 = 10_000;

impl Kernel {
    /// Returns the scheduler's settings on `ncpus` CPUs: this kernel's tick, its features as far as
    /// the policy knows them, its tunables scaled by the CPU count, and those that were set as they
    /// stand.
    ///
    /// A feature that the policy knows and the tree does not have is off: 4.18 has no floor of the
    /// slice.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a CPU count no kernel has.
    pub fn settings(&self, ncpus: i64) -> Result<Settings> {
        let policy = self.policy;
        let known = policy.features.iter().map(|(f, _)| (f.name(), self.feature(f.name())));
        let mut settings = policy.with_features(policy.settings(ncpus, self.hz)?, known)?;
        let factor = factor(ncpus as u32);
        let scaled = self.tunables.iter().map(|(name, value)| {
            (name.as_str(), value * if self.scaled.contains(name) { factor } else { 1 })
        });
        let set = self.set_tunables.iter().map(|(name, value)| (name.as_str(), *value));
        let own = |name: &str| policy.tunables.iter().any(|t| t.name == name);
        let changes = scaled.chain(set).filter(|(name, _)| own(name));
        settings.tunables = settings.tunables.change(changes)?;
        Ok(settings)
    }

    /// Returns the features that choose a CPU at wake-up.
    pub fn placement(&self) -> Placement {
        Placement {
            wa_idle: self.feature(switches::WA_IDLE),
            wa_weight: self.feature(switches::WA_WEIGHT),
            wa_bias: self.feature(switches::WA_BIAS),
            sis_util: self.feature(switches::SIS_UTIL),
            sis_prop: self.feature(switches::SIS_PROP),
            ttwu_queue: self.feature(switches::TTWU_QUEUE),
        }
    }

    /// Returns how long a task that ran counts as cache-hot, ns.
    pub fn migration_cost(&self) -> i64 {
        let all = self.set_tunables.iter().chain(&self.tunables);
        let mut named = all.filter(|(name, _)| name == MIGRATION_COST_NAME);
        named.next().map_or(MIGRATION_COST, |&(_, value)| value)
    }

    /// Returns the time after which a CPU gives up polling, ns.
    ///
    /// A state is disabled if `disabled` has its bit or the table says so. [`i64::MAX`] for a table
    /// without a polling state: there is nothing to limit. A governor with a limit of its own
    /// (haltpoll) overrides this.
    pub fn poll_limit(&self, table: &IdleTable, disabled: u16) -> i64 {
        if self.poll_rule == PollRule::Never {
            return 0;
        }
        if !table.states()[0].polling {
            return i64::MAX;
        }
        let tick = 1_000_000_000 / self.hz;
        let off = disabled | table.disabled_mask();
        let targets = table.states().iter().map(|s| s.target_residency).enumerate().skip(1);
        let mut enabled = targets.filter(|&(i, _)| off >> i & 1 == 0).map(|(_, target)| target);
        match self.poll_rule {
            PollRule::Never => 0,
            PollRule::TickFraction => tick / 16,
            PollRule::FirstEnabled => enabled.next().unwrap_or(tick),
            // A state that is not there counts as empty.
            PollRule::State1 => table.states().get(1).map_or(0, |s| s.target_residency),
            PollRule::First10us => {
                enabled.find(|&t| t >= FIRST_10US).map_or(tick / 16, |t| t.min(tick / 16))
            }
            PollRule::Fixed(limit) => limit,
        }
    }

    /// Returns whether a feature is on; a feature that the tree does not have is off.
    pub fn feature(&self, name: &str) -> bool {
        self.features.iter().any(|(feature, on)| feature == name && *on)
    }

    /// Returns the governor's registered name, `none`, or `custom`.
    pub fn governor_name(&self) -> &'static str {
        match self.governor {
            Some(entry) => entry.name,
            None if self.custom_governor => CUSTOM,
            None => NO_GOVERNOR,
        }
    }

    /// Returns true if both behave alike, whatever they are called and wherever they are from.
    pub fn same_makeup(&self, other: &Self) -> bool {
        let pairs = |list: &[(String, i64)]| sorted(list.to_vec());
        self.governor_name() == other.governor_name()
            && self.policy.name == other.policy.name
            && (self.hz, self.preemption) == (other.hz, other.preemption)
            && (self.poll_rule, self.poll_flag) == (other.poll_rule, other.poll_flag)
            && self.above_below == other.above_below
            && self.queued_wakeup_group == other.queued_wakeup_group
            && self.queued_wakeup_idle == other.queued_wakeup_idle
            && self.load_avg_min_interval == other.load_avg_min_interval
            && self.wrmsr_per_switch == other.wrmsr_per_switch
            && self.switch_permille == other.switch_permille
            && sorted(self.features.clone()) == sorted(other.features.clone())
            && pairs(&self.tunables) == pairs(&other.tunables)
            && pairs(&self.set_tunables) == pairs(&other.set_tunables)
            && sorted(self.scaled.clone()) == sorted(other.scaled.clone())
            && sorted(self.patches.clone()) == sorted(other.patches.clone())
    }
}

/// Name of the absence of a governor.
pub(super) const NO_GOVERNOR: &str = "none";
/// Name of a governor from outside.
pub(super) const CUSTOM: &str = "custom";

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort_unstable();
    list
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({:?}, {}, {})", self.name, self.governor_name(), self.policy.name)
    }
}

impl Preemption {
    /// The words of the files.
    pub const WORDS: &[(&str, Self)] =
        &[("none", Self::None), ("voluntary", Self::Voluntary), ("lazy", Self::Lazy)];

    /// Returns its word.
    pub fn word(self) -> &'static str {
        word_of(Self::WORDS, self)
    }
}

impl PollRule {
    /// The words of the files; [`PollRule::Fixed`] has none.
    pub const WORDS: &[(&str, Self)] = &[
        ("tick/16", Self::TickFraction),
        ("first-enabled", Self::FirstEnabled),
        ("state-1", Self::State1),
        ("first-10us", Self::First10us),
        ("none", Self::Never),
    ];

    /// Returns its word, or the length in ns.
    pub fn text(self) -> String {
        match self {
            Self::Fixed(ns) => format!("{ns} ns"),
            rule => word_of(Self::WORDS, rule).to_owned(),
        }
    }
}

impl WakeGroup {
    /// The words of the files.
    pub const WORDS: &[(&str, Self)] = &[("llc", Self::Llc), ("l2", Self::L2)];

    /// Returns its word.
    pub fn word(self) -> &'static str {
        word_of(Self::WORDS, self)
    }
}

fn word_of<T: Copy + PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    words.iter().find(|(_, v)| *v == value).map_or("", |(word, _)| word)
}

/// Returns what `word` stands for.
pub(super) fn from_word<T: Copy>(field: &str, words: &[(&str, T)], word: &str) -> Result<T> {
    let found = words.iter().find(|(known, _)| *known == word);
    found.map(|&(_, value)| value).ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
        Error::invalid(field, format!("{word:?} is not one of {}", known.join(", ")))
    })
}
