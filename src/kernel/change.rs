//! Kernels of one's own: a registered one with some fields changed, checked again.

use crate::catalogue;
use crate::error::{Error, Result};
use crate::idle::GOVERNORS;
use crate::sched::Policy;

use super::catalogue::FITTED;
use super::model::{
    CUSTOM, Kernel, LONGEST, MIGRATION_COST_NAME, NO_GOVERNOR, PollRule, Preemption, WakeGroup,
    from_word,
};
use super::switches;

/// The value of a field to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelValue {
    /// A name or word.
    Text(String),
    /// A number.
    Integer(i64),
    /// A switch.
    Flag(bool),
    /// Several features by name.
    Features(Vec<(String, bool)>),
    /// Several tunables by name, in the unit of the name.
    Tunables(Vec<(String, i64)>),
    /// A governor from outside, which the caller holds.
    CustomGovernor,
}

/// The fields that can be changed, in the order in which they take effect.
///
/// Beside these, a feature as `features.NAME` and every tunable by its own name.
pub const FIELDS: &[&str] = &[
    "policy",
    "governor",
    "hz",
    "preemption",
    "poll_limit",
    "poll_flag",
    "queued_wakeup_group",
    "queued_wakeup_idle",
    "load_avg_min_interval_ns",
    "wrmsr_per_switch",
    "switch_permille",
    "features",
    "tunables",
    "name",
    "label",
];

/// What a dotted feature begins with.
const DOTTED: &str = "features.";

/// Most registers a context switch can be said to write; 2.5.54 writes two.
const MOST_WRMSR: i64 = 1000;

/// Longest switch path a kernel can be said to have, thousandths of that of 6.1.
const MOST_PERMILLE: i64 = 100_000;

impl Kernel {
    /// Returns a kernel with some fields changed; the name stays unless it is among them, and a note
    /// says what changed.
    ///
    /// Keys are those of [`FIELDS`], a tunable, or `features.NAME`. A changed policy brings its own
    /// features and tunables; those that choose a CPU stay.
    ///
    /// # Errors
    /// [`Error::UnknownName`] for a field, governor, policy, feature or tunable that is not known;
    /// [`Error::InvalidParameter`] for a value that is out of range, has no effect in this kernel,
    /// or contradicts another field.
    pub fn replace(&self, changes: &[(String, KernelValue)]) -> Result<Kernel> {
        let mut ordered = Vec::with_capacity(changes.len());
        for (key, value) in changes {
            ordered.push((place(self, key)?, key.as_str(), value));
        }
        ordered.sort_by_key(|&(place, ..)| place);
        let keys: Vec<&str> = ordered.iter().map(|&(_, key, _)| key).collect();
        let mut kernel = self.clone();
        let mut said = Vec::new();
        for (_, key, value) in &ordered {
            Field { key, value, keys: &keys }.change(&mut kernel, &mut said)?;
        }
        check(&kernel, &keys)?;
        if !said.is_empty() {
            kernel.notes.push(format!("changed from {}: {}", self.name, said.join(", ")));
        }
        Ok(kernel)
    }
}

/// Returns when a change takes effect: the position of its field.
fn place(kernel: &Kernel, key: &str) -> Result<usize> {
    let field = if key.starts_with(DOTTED) {
        "features"
    } else if is_tunable(key) {
        "tunables"
    } else {
        key
    };
    if let Some(at) = FIELDS.iter().position(|&known| known == field) {
        return Ok(at);
    }
    let tunables = switches::tunable_names(kernel.policy);
    let known: Vec<&str> = FIELDS.iter().copied().chain(tunables).collect();
    catalogue::find("field of a kernel", &known, key).map(|_| 0)
}

/// Returns true for the name of a tunable of any policy: whether this one has it is said later.
fn is_tunable(key: &str) -> bool {
    key == MIGRATION_COST_NAME
        || switches::FIXED_TUNABLES.iter().any(|(fixed, _)| *fixed == key)
        || crate::sched::POLICIES.iter().any(|p| p.tunables.iter().any(|t| t.name == key))
}

/// One change.
struct Field<'a> {
    key: &'a str,
    value: &'a KernelValue,
    keys: &'a [&'a str],
}

impl Field<'_> {
    /// Makes the change and says what it was.
    fn change(&self, kernel: &mut Kernel, said: &mut Vec<String>) -> Result<()> {
        match self.key {
            "name" => {
                kernel.name = self.line()?;
                kernel.aliases.clear();
                if !self.keys.contains(&"label") {
                    kernel.label.clone_from(&kernel.name);
                }
                return Ok(());
            }
            "label" => {
                kernel.label = self.line()?;
                return Ok(());
            }
            "features" => return self.features(kernel, said),
            "tunables" => return self.tunables(kernel, said),
            key if is_tunable(key) => return set_tunable(kernel, key, self.integer()?, said),
            "policy" => self.policy(kernel, said)?,
            "governor" => self.governor(kernel)?,
            "hz" => {
                kernel.hz = self.integer()?;
                kernel.policy.settings(1, kernel.hz)?;
            }
            "preemption" => kernel.preemption = self.word(Preemption::WORDS)?,
            "poll_limit" => kernel.poll_rule = self.poll_limit()?,
            "poll_flag" => kernel.poll_flag = self.flag()?,
            "queued_wakeup_group" => kernel.queued_wakeup_group = self.word(WakeGroup::WORDS)?,
            "queued_wakeup_idle" => kernel.queued_wakeup_idle = self.flag()?,
            "load_avg_min_interval_ns" => {
                kernel.load_avg_min_interval = self.within(LONGEST)?;
            }
            "wrmsr_per_switch" => kernel.wrmsr_per_switch = self.within(MOST_WRMSR)? as u32,
            "switch_permille" => kernel.switch_permille = self.within(MOST_PERMILLE)? as u32,
            dotted => {
                let name = dotted.strip_prefix(DOTTED).unwrap_or(dotted);
                return set_feature(kernel, name, self.flag()?, said);
            }
        }
        said.push(format!("{} = {}", self.key, self.shown()));
        mark(kernel, self.key);
        Ok(())
    }

    fn policy(&self, kernel: &mut Kernel, said: &mut Vec<String>) -> Result<()> {
        let policy = Policy::find(self.text()?)?;
        if policy.name == kernel.policy.name {
            return Ok(());
        }
        if switches::has_features(policy) != switches::has_features(kernel.policy) {
            return Err(self.invalid(
                "kernels with the O(1) scheduler differ from the others in more than the policy; \
                 start from one of the right kind",
            ));
        }
        take_policy(kernel, policy);
        if kernel.preemption == Preemption::Lazy && !asks_lazily(policy) {
            kernel.preemption = Preemption::Voluntary;
            said.push("preemption = voluntary".to_owned());
        }
        Ok(())
    }

    fn governor(&self, kernel: &mut Kernel) -> Result<()> {
        kernel.custom_governor = *self.value == KernelValue::CustomGovernor;
        kernel.governor = None;
        kernel.notes.retain(|note| note != FITTED);
        if kernel.custom_governor {
            return Ok(());
        }
        match self.text()? {
            NO_GOVERNOR => {
                // Nothing polls, gives up or counts without the framework.
                kernel.poll_rule = PollRule::Never;
                kernel.poll_flag = false;
                kernel.above_below = false;
            }
            name => {
                let entry = catalogue::find("governor", GOVERNORS, name)?;
                if entry.fitted {
                    kernel.notes.push(FITTED.to_owned());
                }
                kernel.governor = Some(entry);
            }
        }
        Ok(())
    }

    fn poll_limit(&self) -> Result<PollRule> {
        match self.value {
            KernelValue::Integer(_) => Ok(PollRule::Fixed(self.within(LONGEST)?)),
            _ => self.word(PollRule::WORDS),
        }
    }

    fn features(&self, kernel: &mut Kernel, said: &mut Vec<String>) -> Result<()> {
        match self.value {
            KernelValue::Features(list) => {
                list.iter().try_for_each(|(name, on)| set_feature(kernel, name, *on, said))
            }
            _ => Err(self.invalid("expected names with True or False")),
        }
    }

    fn tunables(&self, kernel: &mut Kernel, said: &mut Vec<String>) -> Result<()> {
        match self.value {
            KernelValue::Tunables(list) => {
                list.iter().try_for_each(|(name, value)| set_tunable(kernel, name, *value, said))
            }
            _ => Err(self.invalid("expected names with integers")),
        }
    }

    fn text(&self) -> Result<&str> {
        match self.value {
            KernelValue::Text(text) => Ok(text),
            _ => Err(self.invalid("expected a text")),
        }
    }

    /// Returns a text that fits into one line of a table.
    fn line(&self) -> Result<String> {
        match self.text()? {
            text if text.trim().is_empty() || text.contains(char::is_control) => {
                Err(self.invalid("expected a text of one line"))
            }
            text => Ok(text.to_owned()),
        }
    }

    fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T> {
        from_word(self.key, words, self.text()?)
    }

    fn flag(&self) -> Result<bool> {
        match self.value {
            KernelValue::Flag(on) => Ok(*on),
            _ => Err(self.invalid("expected True or False")),
        }
    }

    fn integer(&self) -> Result<i64> {
        match self.value {
            KernelValue::Integer(value) => Ok(*value),
            _ => Err(self.invalid("expected an integer")),
        }
    }

    fn within(&self, most: i64) -> Result<i64> {
        match self.integer()? {
            value if (0..=most).contains(&value) => Ok(value),
            value => Err(self.invalid(&format!("{value} is outside 0 to {most}"))),
        }
    }

    fn invalid(&self, reason: &str) -> Error {
        Error::invalid(self.key, reason)
    }

    fn shown(&self) -> String {
        match self.value {
            KernelValue::Text(text) => text.clone(),
            KernelValue::Integer(value) => value.to_string(),
            KernelValue::Flag(on) => on.to_string(),
            _ => CUSTOM.to_owned(),
        }
    }
}

/// Gives the kernel another policy, with the features and tunables of that policy.
fn take_policy(kernel: &mut Kernel, policy: &'static Policy) {
    kernel.policy = policy;
    kernel.features.retain(|(name, _)| switches::PLACEMENT.contains(&name.as_str()));
    let own = policy.features.iter().map(|&(feature, on)| (feature.name().to_owned(), on));
    kernel.features.splice(0..0, own);
    for list in [&mut kernel.tunables, &mut kernel.set_tunables] {
        list.retain(|(name, _)| name == MIGRATION_COST_NAME);
    }
    kernel.tunables.splice(0..0, policy.tunables.iter().map(|t| (t.name.to_owned(), t.unscaled)));
    let scaled = policy.tunables.iter().filter(|t| t.scaled);
    kernel.scaled = scaled.map(|t| t.name.to_owned()).collect();
}

fn set_feature(kernel: &mut Kernel, name: &str, on: bool, said: &mut Vec<String>) -> Result<()> {
    let now = kernel.features.iter().find(|(feature, _)| feature == name).map(|&(_, on)| on);
    switches::check_feature(kernel.policy, name, now, on)?;
    put(&mut kernel.features, name, on);
    said.push(format!("{name} = {on}"));
    mark(kernel, &format!("{DOTTED}{name}"));
    Ok(())
}

fn set_tunable(kernel: &mut Kernel, name: &str, value: i64, said: &mut Vec<String>) -> Result<()> {
    let now = kernel.tunables.iter().find(|(tunable, _)| tunable == name).map(|&(_, v)| v);
    switches::check_tunable(kernel.policy, name, now, value)?;
    if switches::tunable_names(kernel.policy).contains(&name) {
        put(&mut kernel.set_tunables, name, value);
        said.push(format!("{name} = {value}"));
        mark(kernel, name);
    }
    Ok(())
}

fn put<T>(list: &mut Vec<(String, T)>, name: &str, value: T) {
    match list.iter_mut().find(|(known, _)| known == name) {
        Some((_, old)) => *old = value,
        None => list.push((name.to_owned(), value)),
    }
}

/// Records that the user set a field, a single feature or a single tunable.
fn mark(kernel: &mut Kernel, field: &str) {
    put(&mut kernel.sources, field, "set".to_owned());
}

/// Returns true for policies that ask for a reschedule at the return to user mode.
fn asks_lazily(policy: &Policy) -> bool {
    policy.name == "eevdf-7.2"
}

/// Refuses fields that contradict each other, and changes that cannot have an effect.
fn check(kernel: &Kernel, changed: &[&str]) -> Result<()> {
    let is_changed = |key: &&str| changed.contains(key);
    let idle = kernel.governor.is_some() || kernel.custom_governor;
    if idle && kernel.poll_rule == PollRule::Never {
        return Err(Error::invalid(
            "poll_limit",
            "a kernel with a governor needs a rule for polling; give poll_limit too",
        ));
    }
    if !idle && (kernel.poll_rule != PollRule::Never || kernel.poll_flag) {
        let key = if kernel.poll_flag { "poll_flag" } else { "poll_limit" };
        return Err(Error::invalid(key, "without a governor nothing polls; give governor too"));
    }
    if kernel.preemption == Preemption::Lazy && !asks_lazily(kernel.policy) {
        return Err(Error::invalid(
            "preemption",
            format!("policy {} never asks lazily; eevdf-7.2 does", kernel.policy.name),
        ));
    }
    let queued = ["queued_wakeup_group", "queued_wakeup_idle"];
    if let Some(key) = queued.iter().find(|key| is_changed(key))
        && !kernel.feature(switches::TTWU_QUEUE)
    {
        return Err(Error::invalid(*key, "has no effect without the feature TTWU_QUEUE"));
    }
    let group = "load_avg_min_interval_ns";
    if is_changed(&group) && !switches::has_features(kernel.policy) {
        return Err(Error::invalid(group, "this kernel has no group loads"));
    }
    Ok(())
}
