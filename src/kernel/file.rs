//! Reading `kernels.toml`, and checking it against the catalogues of governors and policies.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use crate::catalogue;
use crate::error::{Error, Result};
use crate::idle::GOVERNORS;
use crate::sched::Policy;

use super::model::{
    Kernel, MIGRATION_COST_NAME, NO_GOVERNOR, PollRule, Preemption, WakeGroup, from_word,
};
use super::switches::{self, FIXED_TUNABLES};

/// Entries of a table, by name; their places in the file give the order.
type Table<T> = BTreeMap<String, Spanned<T>>;

#[derive(Deserialize)]
struct File {
    schema_version: u32,
    kernel: Table<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    summary: String,
    #[serde(default)]
    report: String,
    #[serde(default)]
    column: String,
    governor: String,
    policy: String,
    hz: i64,
    preemption: String,
    poll_limit: String,
    poll_flag: bool,
    above_below: bool,
    queued_wakeup_group: String,
    queued_wakeup_idle: bool,
    load_avg_min_interval_ns: i64,
    wrmsr_per_switch: u32,
    patches: Vec<String>,
    features: Table<bool>,
    tunables: Table<toml::Value>,
    source: Table<String>,
    notes: Vec<String>,
}

/// Layout of the file that this reads.
const SCHEMA: u32 = 1;

/// Reads all kernels of a file, in its order and without aliases.
///
/// # Errors
/// [`Error::InvalidParameter`] or [`Error::UnknownName`] for what is wrong with it.
pub fn parse(text: &str) -> Result<Vec<Kernel>> {
    let file: File = toml::from_str(text).map_err(|e| Error::invalid("kernels", e.to_string()))?;
    if file.schema_version != SCHEMA {
        return Err(Error::invalid("kernels", format!("layout {}", file.schema_version)));
    }
    in_order(file.kernel).into_iter().map(|(name, entry)| kernel(name, entry)).collect()
}

fn kernel(name: String, entry: Entry) -> Result<Kernel> {
    let governor = match entry.governor.as_str() {
        NO_GOVERNOR => None,
        registered => Some(catalogue::find("governor", GOVERNORS, registered)?),
    };
    let policy = Policy::find(&entry.policy)?;
    let (tunables, scaled) = tunables(&name, entry.tunables)?;
    let kernel = Kernel {
        aliases: Vec::new(),
        label: if entry.column.is_empty() { name.clone() } else { entry.column.clone() },
        name,
        summary: entry.summary,
        report: entry.report,
        column: entry.column,
        governor,
        custom_governor: false,
        policy,
        hz: entry.hz,
        preemption: from_word("preemption", Preemption::WORDS, &entry.preemption)?,
        poll_rule: from_word("poll_limit", PollRule::WORDS, &entry.poll_limit)?,
        poll_flag: entry.poll_flag,
        above_below: entry.above_below,
        queued_wakeup_group: from_word(
            "queued_wakeup_group",
            WakeGroup::WORDS,
            &entry.queued_wakeup_group,
        )?,
        queued_wakeup_idle: entry.queued_wakeup_idle,
        load_avg_min_interval: entry.load_avg_min_interval_ns,
        wrmsr_per_switch: entry.wrmsr_per_switch,
        switch_permille: 1000,
        patches: entry.patches,
        features: in_order(entry.features),
        tunables,
        set_tunables: Vec::new(),
        scaled,
        sources: in_order(entry.source),
        notes: entry.notes,
    };
    check(&kernel)?;
    Ok(kernel)
}

/// Numbers by name.
type Values = Vec<(String, i64)>;

/// Splits the tunables into the values and the names of those that grow with the CPU count.
fn tunables(kernel: &str, table: Table<toml::Value>) -> Result<(Values, Vec<String>)> {
    let wrong = |what: &str| Error::invalid("kernels", format!("{kernel}: {what}"));
    let (mut values, mut scaled, mut scaling) = (Vec::new(), Vec::new(), String::new());
    for (name, value) in in_order(table) {
        match value {
            toml::Value::Integer(value) => values.push((name, value)),
            toml::Value::String(word) if name == "tunable_scaling" => scaling = word,
            toml::Value::Array(list) if name == "scaled" => {
                scaled = list.iter().filter_map(|v| v.as_str()).map(str::to_owned).collect();
            }
            _ => return Err(wrong(&format!("tunable {name} is no integer"))),
        }
    }
    match (scaling.as_str(), scaled.is_empty()) {
        ("log", _) | ("none", true) => Ok((values, scaled)),
        _ => Err(wrong("tunable_scaling is neither log nor none without scaled tunables")),
    }
}

/// Checks that what the file says is what the policy does.
fn check(kernel: &Kernel) -> Result<()> {
    let wrong = |what: String| Err(Error::invalid("kernels", format!("{}: {what}", kernel.name)));
    if kernel.governor.is_none() != (kernel.poll_rule == PollRule::Never) {
        return wrong("poll_limit is none exactly without a governor".into());
    }
    for (name, on) in &kernel.features {
        switches::check_feature(kernel.policy, name, Some(*on), *on)?;
    }
    for (name, value) in &kernel.tunables {
        let own = kernel.policy.tunables.iter().find(|t| t.name == name);
        let scaled = kernel.scaled.contains(name);
        match own {
            Some(t) if (t.unscaled, t.scaled) != (*value, scaled) => {
                return wrong(format!("{name} is {} in policy {}", t.unscaled, kernel.policy.name));
            }
            Some(_) => {}
            None => {
                let known = FIXED_TUNABLES.iter().any(|(fixed, _)| fixed == name);
                if scaled || !(known || name == MIGRATION_COST_NAME) {
                    return wrong(format!("{name} is not known"));
                }
            }
        }
    }
    kernel.settings(1).map(|_| ())
}

fn in_order<T>(table: Table<T>) -> Vec<(String, T)> {
    let mut entries: Vec<(String, Spanned<T>)> = table.into_iter().collect();
    entries.sort_by_key(|(_, value)| value.span().start);
    entries.into_iter().map(|(name, value)| (name, value.into_inner())).collect()
}
