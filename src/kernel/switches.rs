//! Which features and tunables of a kernel act in the model, and which are only on record.
//!
//! A switch that is accepted and then ignored would be a lie: those that do not act can be read,
//! and changing them is refused with the reason given here.

use crate::catalogue;
use crate::error::{Error, Result};
use crate::sched::Policy;

use super::model::MIGRATION_COST_NAME;

pub(super) const WA_IDLE: &str = "WA_IDLE";
pub(super) const WA_WEIGHT: &str = "WA_WEIGHT";
pub(super) const WA_BIAS: &str = "WA_BIAS";
pub(super) const SIS_UTIL: &str = "SIS_UTIL";
pub(super) const SIS_PROP: &str = "SIS_PROP";
pub(super) const TTWU_QUEUE: &str = "TTWU_QUEUE";

/// Features that choose a CPU at wake-up or hand the wakee over; no single run queue knows them.
pub const PLACEMENT: &[&str] = &[WA_IDLE, WA_WEIGHT, WA_BIAS, SIS_UTIL, SIS_PROP, TTWU_QUEUE];

/// Features on record that have no effect here unless the policy knows them, each with the reason.
pub const INERT: &[(&str, &str)] = &[
    ("ALT_PERIOD", "it counts the tasks of all groups, and a run queue here has no groups"),
    ("HRTICK", "the slice timer of this version is off by default and not modelled"),
    ("PARANOID_AVG", "it guards against overflow and changes no decision"),
    (
        "RUN_TO_PARITY",
        "this policy has no protection; take policy eevdf-curb, or add +run-to-parity",
    ),
];

/// Tunables on record that cannot be set, each with the reason.
pub const FIXED_TUNABLES: &[(&str, &str)] = &[
    ("nr_latency", "it is latency_ns divided by min_granularity_ns; set one of these"),
    ("min_timeslice_ns", O1),
    ("max_timeslice_ns", O1),
    ("max_sleep_avg_ns", O1),
    ("starvation_limit_ns", O1),
    ("prio_bonus_ratio_pct", O1),
    ("interactive_delta", O1),
    ("child_penalty_pct", O1),
    ("parent_penalty_pct", O1),
    ("exit_weight", O1),
    ("balance_idle_ns", O1),
    ("balance_busy_ns", O1),
    ("balance_imbalance_pct", O1),
];

const O1: &str = "a constant of the O(1) scheduler, compiled into that kernel";

/// Name of the policy that knows neither features nor groups.
const WITHOUT_FEATURES: &str = "o1";

/// Returns true for policies of kernels that have scheduler features and group loads.
pub(super) fn has_features(policy: &Policy) -> bool {
    policy.name != WITHOUT_FEATURES
}

/// Returns Ok if the feature `name`, now `present`, may be turned `on` under this policy.
pub(super) fn check_feature(
    policy: &Policy,
    name: &str,
    present: Option<bool>,
    on: bool,
) -> Result<()> {
    let refuse = |reason: &str| Err(Error::invalid(format!("features[{name:?}]"), reason));
    if !has_features(policy) {
        return refuse("the O(1) scheduler has no features");
    }
    if policy.features.iter().any(|(f, _)| f.name() == name) {
        let settings = policy.settings(1, 1000)?;
        return policy.with_features(settings, [(name, on)]).map(|_| ());
    }
    if PLACEMENT.contains(&name) {
        return Ok(());
    }
    match INERT.iter().find(|(inert, _)| *inert == name) {
        Some(_) if present == Some(on) => Ok(()),
        Some((_, reason)) => refuse(reason),
        None => {
            let own = policy.features.iter().map(|(f, _)| f.name());
            let known: Vec<&str> = own.chain(PLACEMENT.iter().copied()).collect();
            catalogue::find("feature of this kernel", &known, name).map(|_| ())
        }
    }
}

/// Returns Ok if the tunable `name`, now `present`, may be set to `value` under this policy.
pub(super) fn check_tunable(
    policy: &Policy,
    name: &str,
    present: Option<i64>,
    value: i64,
) -> Result<()> {
    let refuse = |reason: String| Err(Error::invalid(format!("tunables[{name:?}]"), reason));
    if policy.tunables.iter().any(|t| t.name == name) {
        let tunables = policy.settings(1, 1000)?.tunables;
        return tunables.change([(name, value)]).map(|_| ());
    }
    if !has_features(policy) {
        return match present {
            Some(now) if now == value => Ok(()),
            _ => refuse("the O(1) scheduler has constants, no tunables".into()),
        };
    }
    if name == MIGRATION_COST_NAME {
        let longest = super::LONGEST;
        return if (0..=longest).contains(&value) {
            Ok(())
        } else {
            refuse(format!("{value} ns is outside 0 to {longest}"))
        };
    }
    match FIXED_TUNABLES.iter().find(|(fixed, _)| *fixed == name) {
        Some(_) if present == Some(value) => Ok(()),
        Some((_, reason)) => refuse((*reason).to_owned()),
        None => catalogue::find("tunable of this kernel", &tunable_names(policy), name).map(|_| ()),
    }
}

/// Returns the tunables that can be set under this policy.
pub(super) fn tunable_names(policy: &Policy) -> Vec<&'static str> {
    let own = policy.tunables.iter().map(|t| t.name);
    let common = has_features(policy).then_some(MIGRATION_COST_NAME);
    own.chain(common).collect()
}
