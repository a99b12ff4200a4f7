//! Registered kernels: what the file says is what they are, and what can be made from them.

use std::fs;
use std::path::Path;

use tickless::error::Error;
use tickless::idle::GOVERNORS;
use tickless::kernel::{
    FIXED_TUNABLES, INERT, Kernel, KernelValue, PollRule, Preemption, READINGS, WakeGroup, kernels,
};
use tickless::machine::{IdleTable, presets};
use tickless::sched::{Feature, POLICIES, timeslice};

const EMBEDDED: &str = include_str!("../src/kernel/kernels.toml");

/// The names of spec/api.md, in the order of the file.
const NAMES: [&str; 22] = [
    "4.18-vanilla",
    "4.18-teo-v1",
    "4.18-teo-v2",
    "4.18-teo-v3",
    "4.18-teo-v5",
    "4.20-rc5-stock",
    "4.20-rc5-teo6",
    "4.20-rc5-teo7",
    "4.20-rc5-teo8",
    "2.5.54",
    "2.5.54-backout",
    "base",
    "eevdf",
    "eevdf-curb",
    "eevdf-curb+mathieu",
    "eevdf-curb+mathieu+aaron",
    "6.1",
    "6.1-teo",
    "6.12",
    "6.12-teo",
    "7.2",
    "7.2-teo",
];

fn kernel(name: &str) -> Kernel {
    Kernel::find(name).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn text(value: &str) -> KernelValue {
    KernelValue::Text(value.to_owned())
}

fn changed(base: &Kernel, changes: &[(&str, KernelValue)]) -> Result<Kernel, Error> {
    let changes: Vec<_> = changes.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    base.replace(&changes)
}

fn made(base: &Kernel, changes: &[(&str, KernelValue)]) -> Kernel {
    changed(base, changes).unwrap_or_else(|e| panic!("{changes:?}: {e}"))
}

fn refusal(base: &Kernel, changes: &[(&str, KernelValue)]) -> String {
    changed(base, changes).expect_err("accepted").to_string()
}

fn skylake() -> IdleTable {
    presets::machine("8x-SKYLAKE-UMA").unwrap().classes.remove(0).table
}

#[test]
fn the_embedded_file_is_the_delivered_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let delivered = root.join("../shared/data/kernels.toml");
    match fs::read_to_string(&delivered) {
        Ok(text) => assert!(text == EMBEDDED, "src/kernel/kernels.toml differs"),
        Err(e) => {
            let required = std::env::var("TICKLESS_REQUIRE_SHARED").is_ok_and(|v| v == "1");
            assert!(!required, "{}: {e}", delivered.display());
        }
    }
}

#[test]
fn all_kernels_are_there_in_the_order_of_the_file() {
    let names: Vec<&str> = kernels().iter().map(|k| k.name.as_str()).collect();
    assert_eq!(names, NAMES);
}

#[test]
fn every_field_of_the_file_is_in_its_kernel() {
    let file: toml::Table = toml::from_str(EMBEDDED).unwrap();
    for (name, want) in file["kernel"].as_table().unwrap() {
        let k = kernel(name);
        let word = |key: &str| want.get(key).and_then(|v| v.as_str()).unwrap_or("");
        let number = |key: &str| want[key].as_integer().unwrap();
        let flag = |key: &str| want[key].as_bool().unwrap();
        let reading = READINGS.iter().find(|r| r.kernel == name);
        assert_eq!(k.governor_name(), reading.map_or(word("governor"), |r| r.governor), "{name}");
        assert_eq!(k.policy.name, word("policy"), "{name}");
        assert_eq!((k.summary.as_str(), k.report.as_str()), (word("summary"), word("report")));
        assert_eq!(k.column, word("column"));
        assert_eq!(k.label, if k.column.is_empty() { name } else { word("column") });
        assert_eq!(k.hz, number("hz"));
        assert_eq!(k.preemption.word(), word("preemption"));
        assert_eq!(k.poll_rule.text(), word("poll_limit"));
        assert_eq!(k.poll_flag, flag("poll_flag"));
        assert_eq!(k.above_below, flag("above_below"));
        assert_eq!(k.queued_wakeup_group.word(), word("queued_wakeup_group"));
        assert_eq!(k.queued_wakeup_idle, flag("queued_wakeup_idle"));
        assert_eq!(k.load_avg_min_interval, number("load_avg_min_interval_ns"));
        assert_eq!(i64::from(k.wrmsr_per_switch), number("wrmsr_per_switch"));
        assert_eq!(k.patches.len(), want["patches"].as_array().unwrap().len());
        let features = want["features"].as_table().unwrap();
        assert_eq!(k.features.len(), features.len(), "{name}");
        for (feature, on) in features {
            assert_eq!(k.feature(feature), on.as_bool().unwrap(), "{name}: {feature}");
        }
        let tunables = want["tunables"].as_table().unwrap();
        assert_eq!(k.tunables.len() + 2, tunables.len(), "{name}"); // scaled, tunable_scaling
        for (tunable, value) in &k.tunables {
            assert_eq!(Some(*value), tunables[tunable].as_integer(), "{name}: {tunable}");
        }
        assert_eq!(k.sources.len(), want["source"].as_table().unwrap().len());
        for note in want["notes"].as_array().unwrap() {
            assert!(k.notes.iter().any(|n| Some(n.as_str()) == note.as_str()), "{name}: {note}");
        }
    }
}

#[test]
fn tunables_grow_with_the_cpus_as_in_the_kernel() {
    let get = |name: &str, ncpus, tunable: &str| {
        let k = kernel(name);
        let known = k.policy.tunables.iter().find(|t| t.name == tunable).unwrap();
        k.settings(ncpus).unwrap().tunables.get(known)
    };
    assert_eq!(get("base", 1, "latency_ns"), 6_000_000);
    assert_eq!(get("base", 256, "latency_ns"), 24_000_000);
    assert_eq!(get("base", 256, "min_granularity_ns"), 3_000_000);
    assert_eq!(get("base", 256, "wakeup_granularity_ns"), 4_000_000);
    assert_eq!(get("base", 256, "idle_min_granularity_ns"), 750_000);
    assert_eq!(get("eevdf", 256, "base_slice_ns"), 3_000_000);
    assert_eq!(get("6.12", 2, "base_slice_ns"), 1_400_000);
    assert_eq!(get("7.2", 8, "base_slice_ns"), 2_800_000);
    assert_eq!(kernel("4.20-rc5-stock").settings(8).unwrap().tick, 1_000_000);
}

#[test]
fn a_tunable_that_is_set_is_taken_as_it_stands() {
    let k = made(&kernel("eevdf"), &[("base_slice_ns", KernelValue::Integer(5_000_000))]);
    for ncpus in [1, 8, 256] {
        let tunables = k.settings(ncpus).unwrap().tunables;
        assert_eq!(tunables.get(&k.policy.tunables[0]), 5_000_000);
    }
    assert_eq!(k.migration_cost(), 500_000);
    let k = made(&k, &[("migration_cost_ns", KernelValue::Integer(0))]);
    assert_eq!(k.migration_cost(), 0);
    assert_eq!(k.set_tunables.len(), 2);
}

#[test]
fn a_kernel_without_a_floor_of_the_slice_has_none() {
    assert!(!kernel("4.18-vanilla").settings(8).unwrap().features.has(Feature::BaseSlice));
    assert!(kernel("6.1").settings(8).unwrap().features.has(Feature::BaseSlice));
}

#[test]
fn features_reach_the_policy_and_the_placement() {
    let parity = |name| kernel(name).settings(8).unwrap().features.has(Feature::RunToParity);
    assert!(!parity("eevdf") && parity("eevdf-curb"));
    let (old, new, o1) = (kernel("4.18-vanilla"), kernel("6.12"), kernel("2.5.54"));
    assert!(old.placement().sis_prop && !old.placement().sis_util);
    assert!(new.placement().sis_util && !new.placement().sis_prop && new.placement().ttwu_queue);
    assert!(!o1.placement().ttwu_queue && !o1.placement().wa_idle);
    let off = made(&new, &[("features.WA_IDLE", KernelValue::Flag(false))]);
    assert!(!off.placement().wa_idle && off.placement().wa_weight);
}

/// The O(1) scheduler has no tunables; its constants are those of the file.
#[test]
fn the_constants_of_the_o1_scheduler_are_those_of_the_file() {
    let k = kernel("2.5.54");
    let get = |name: &str| k.tunables.iter().find(|(n, _)| n == name).unwrap().1;
    let ticks = |ns: i64| (ns * k.hz / 1_000_000_000) as u32;
    assert_eq!(timeslice(19, k.hz), ticks(get("min_timeslice_ns")));
    assert_eq!(timeslice(-20, k.hz), ticks(get("max_timeslice_ns")));
    // The bonus spans this share of the 40 nice levels, half of it up and half down.
    let most = tickless::sched::bonus(get("max_sleep_avg_ns"));
    assert_eq!(i64::from(most), 40 * get("prio_bonus_ratio_pct") / 100 / 2);
    assert_eq!(tickless::sched::bonus(0), -most);
}

/// Skylake: C1 2 us, C1E 20 us, C3 100 us, C6 200 us, C7s and C8 800 us.
#[test]
fn polling_is_limited_by_the_rule_of_the_version() {
    let table = skylake();
    let limit = |name: &str, disabled| kernel(name).poll_limit(&table, disabled);
    let all = 0b111_1110;
    // 4.17 to 4.19: a sixteenth of 4 ms, whatever is enabled.
    assert_eq!(limit("4.18-vanilla", 0), 250_000);
    assert_eq!(limit("4.18-vanilla", all), 250_000);
    // 4.20: state 1, enabled or not.
    assert_eq!(limit("4.18-teo-v5", 0), 2_000);
    assert_eq!(limit("4.18-teo-v5", 0b10), 2_000);
    // 5.0: the first enabled state; a tick, here of 1 ms, if there is none.
    assert_eq!(limit("4.20-rc5-stock", 0), 2_000);
    assert_eq!(limit("4.20-rc5-stock", 0b10), 20_000);
    assert_eq!(limit("4.20-rc5-stock", 0b110), 100_000);
    assert_eq!(limit("4.20-rc5-stock", all), 1_000_000);
    // 6.1: the first enabled state of at least 10 us, at most a sixteenth of the tick.
    assert_eq!(limit("6.1", 0), 20_000);
    assert_eq!(limit("6.1", 0b100), 100_000);
    assert_eq!(limit("6.1", 0b1_1100), 250_000);
    assert_eq!(limit("6.1", all), 250_000);
    assert_eq!(limit("2.5.54", 0), 0);
}

#[test]
fn the_limit_follows_the_tick_the_table_and_the_user() {
    let epyc = presets::machine("epyc-2x64-nps1").unwrap().classes.remove(0).table;
    assert_eq!(kernel("base").poll_limit(&epyc, 0), 250_000); // C2 has 800 us
    let fast = made(&kernel("base"), &[("hz", KernelValue::Integer(1000))]);
    assert_eq!(fast.poll_limit(&epyc, 0), 62_500);
    let fixed = made(&fast, &[("poll_limit", KernelValue::Integer(7_000))]);
    assert_eq!(fixed.poll_limit(&epyc, 0), 7_000);
    let rule = made(&fast, &[("poll_limit", text("tick/16"))]);
    assert_eq!(rule.poll_rule, PollRule::TickFraction);
    let halt = presets::machine("dual-p4-1700").unwrap().classes.remove(0).table;
    assert!(!halt.states()[0].polling);
    assert_eq!(kernel("6.1").poll_limit(&halt, 0), i64::MAX);
}

#[test]
fn states_that_the_table_disables_do_not_limit() {
    let mut states = skylake().states().to_vec();
    states[1].disabled = true;
    let table = IdleTable::new(states).unwrap();
    assert_eq!(kernel("4.20-rc5-stock").poll_limit(&table, 0), 20_000);
}

#[test]
fn the_columns_of_v1_and_v2_are_simulated_by_their_fitted_readings() {
    for (name, fitted, delivered) in [
        ("4.18-teo-v1", "teo-rfc-v1-tolerant", "teo-rfc-v1"),
        ("4.18-teo-v2", "teo-rfc-v2-strict", "teo-rfc-v2"),
    ] {
        let k = kernel(name);
        assert_eq!(k.governor_name(), fitted);
        assert!(k.governor.unwrap().fitted);
        assert!(k.notes.iter().any(|n| n.contains("fitted reading, not a prediction")));
        let golden = made(&k, &[("governor", text(delivered))]);
        assert_eq!(golden.governor_name(), delivered);
        assert!(!golden.notes.iter().any(|n| n.contains("fitted reading")));
    }
    let fitted = kernels().iter().filter(|k| k.governor.is_some_and(|g| g.fitted)).count();
    assert_eq!(fitted, READINGS.len());
}

#[test]
fn a_printed_heading_finds_its_kernel() {
    for k in kernels() {
        assert_eq!(kernel(&k.label).name, k.name);
    }
    assert_eq!(kernel("2.5.54+BK+wrmsr-backout").name, "2.5.54-backout");
    assert_eq!(kernel("teo-v2+backport").name, "4.18-teo-v2");
    assert_eq!(kernel("+mathieu").name, "eevdf-curb+mathieu");
}

#[test]
fn a_combination_that_is_registered_is_that_kernel() {
    for (written, registered) in [
        ("eevdf+run-to-parity", "eevdf-curb"),
        ("eevdf_curb+mathieu", "eevdf-curb+mathieu"),
        ("eevdf+mathieu+run-to-parity", "eevdf-curb+mathieu"),
        ("eevdf-curb+aaron+mathieu", "eevdf-curb+mathieu+aaron"),
        ("eevdf-curb+mathieu+load-avg-ratelimit", "eevdf-curb+mathieu+aaron"),
        ("eevdf+Skip queued wakeups only when L2 is shared+run-to-parity", "eevdf-curb+mathieu"),
    ] {
        assert_eq!(kernel(written).name, registered, "{written}");
    }
}

#[test]
fn a_patch_changes_its_one_field() {
    let base = kernel("6.1");
    let l2 = kernel("6.1+mathieu");
    assert_eq!((l2.name.as_str(), l2.report.as_str()), ("6.1+queued-wakeup-l2", ""));
    assert_eq!(l2.queued_wakeup_group, WakeGroup::L2);
    let back =
        Kernel { queued_wakeup_group: WakeGroup::Llc, patches: base.patches.clone(), ..l2.clone() };
    assert!(back.same_makeup(&base) && !l2.same_makeup(&base));
    let both = kernel("base+load-avg-ratelimit+queued-wakeup-l2");
    assert_eq!(both.name, "base+queued-wakeup-l2+load-avg-ratelimit");
    assert_eq!(both.load_avg_min_interval, 1_000_000);
    assert_eq!(kernel(&both.name).name, both.name);
}

#[test]
fn a_patch_that_cannot_be_put_on_says_why() {
    for (name, reason) in [
        ("6.1+mathieu+queued-wakeup-l2", "already"),
        ("eevdf-curb+mathieu+mathieu", "already"),
        ("6.12+aaron", "already"),
        ("6.12+run-to-parity", "already"),
        ("base+run-to-parity", "policy eevdf"),
        ("2.5.54+mathieu", "TTWU_QUEUE"),
        ("2.5.54+aaron", "no group loads"),
        ("eevdf+matheu", "mathieu"),
        ("eevdf+", "unknown patch"),
        ("evdf+mathieu", "eevdf"),
        ("+", "unknown kernel"),
        ("", "unknown kernel"),
        ("6.13", "6.1"),
    ] {
        let e = Kernel::find(name).expect_err(name).to_string();
        assert!(e.contains(reason), "{name}: {e}");
    }
}

#[test]
fn a_changed_kernel_keeps_its_name_and_says_what_changed() {
    let k = made(&kernel("6.12"), &[("governor", text("teo")), ("hz", KernelValue::Integer(1000))]);
    assert_eq!((k.name.as_str(), k.governor_name(), k.hz), ("6.12", "teo-7.2", 1000));
    assert_eq!(k.notes.last().unwrap(), "changed from 6.12: governor = teo, hz = 1000");
    assert!(k.sources.contains(&("hz".to_owned(), "set".to_owned())));
    let named = made(&k, &[("name", text("mine"))]);
    assert_eq!((named.name.as_str(), named.label.as_str()), ("mine", "mine"));
    let labelled = made(&named, &[("label", text("as printed"))]);
    assert_eq!((labelled.name.as_str(), labelled.label.as_str()), ("mine", "as printed"));
    assert!(made(&k, &[]).same_makeup(&k));
}

#[test]
fn every_governor_can_be_put_on_every_kernel_that_has_one() {
    for k in kernels().iter().filter(|k| k.governor.is_some()) {
        for g in GOVERNORS {
            assert_eq!(made(k, &[("governor", text(g.name))]).governor_name(), g.name);
        }
    }
}

#[test]
fn a_governor_of_ones_own_is_called_custom() {
    let k = made(&kernel("6.12"), &[("governor", KernelValue::CustomGovernor)]);
    assert!(k.custom_governor && k.governor.is_none());
    assert_eq!(k.governor_name(), "custom");
    assert!(!made(&k, &[("governor", text("menu"))]).custom_governor);
    assert!(refusal(&k, &[("governor", text("custom"))]).contains("unknown governor"));
}

#[test]
fn without_a_governor_nothing_polls() {
    let k = made(&kernel("6.12"), &[("governor", text("none"))]);
    assert!(k.governor.is_none() && !k.custom_governor && !k.poll_flag && !k.above_below);
    assert_eq!(k.poll_limit(&skylake(), 0), 0);
    assert!(refusal(&k, &[("poll_limit", text("tick/16"))]).contains("governor"));
    assert!(refusal(&k, &[("poll_flag", KernelValue::Flag(true))]).contains("governor"));
    assert!(refusal(&k, &[("governor", text("menu"))]).contains("poll_limit"));
    let again = [("governor", text("menu")), ("poll_limit", text("first-10us"))];
    assert_eq!(made(&k, &again).poll_rule, PollRule::First10us);
    assert!(refusal(&kernel("6.12"), &[("poll_limit", text("none"))]).contains("poll_limit"));
}

#[test]
fn another_policy_brings_its_features_and_tunables() {
    let names = POLICIES.iter().map(|p| p.name).filter(|&n| n != "o1");
    for name in names.clone() {
        for base in names.clone() {
            let from = kernels().iter().find(|k| k.policy.name == base).unwrap();
            let k = made(from, &[("policy", text(name))]);
            let settings = k.settings(8).unwrap();
            let own = k.policy.settings(8, k.hz).unwrap();
            assert_eq!(settings.tunables, own.tunables);
            if name != base {
                assert_eq!(settings.features, own.features);
            }
            assert_eq!(k.placement(), from.placement());
            assert_eq!(k.migration_cost(), from.migration_cost());
        }
    }
    let k = made(&kernel("7.2"), &[("policy", text("cfs"))]);
    assert_eq!(k.preemption, Preemption::Voluntary);
    assert!(k.notes.last().unwrap().contains("preemption = voluntary"));
}

#[test]
fn changes_take_effect_in_a_fixed_order() {
    let value = KernelValue::Integer(2_000_000);
    let one = [("latency_ns", value.clone()), ("policy", text("cfs"))];
    let other = [("policy", text("cfs")), ("latency_ns", value)];
    assert!(made(&kernel("6.12"), &one).same_makeup(&made(&kernel("6.12"), &other)));
}

#[test]
fn what_cannot_be_changed_is_refused_with_the_reason() {
    use KernelValue::{Features, Flag, Integer, Tunables};
    let feature = |name: &str| Features(vec![(name.to_owned(), true)]);
    let tunable = |name: &str| Tunables(vec![(name.to_owned(), 1_000_000)]);
    for (base, key, value, reason) in [
        ("6.12", "hz", Integer(200), "tick rates"),
        ("6.12", "hz", text("fast"), "expected an integer"),
        ("6.12", "governor", text("menu-6.13"), "menu-6.12"),
        ("6.12", "policy", text("eevdf-6.13"), "eevdf-6.12"),
        ("6.12", "policy", text("o1"), "O(1)"),
        ("2.5.54", "policy", text("cfs"), "O(1)"),
        ("6.12", "preemption", text("full"), "none, voluntary, lazy"),
        ("6.12", "preemption", text("lazy"), "eevdf-7.2"),
        ("6.12", "poll_limit", text("forever"), "tick/16"),
        ("6.12", "poll_limit", Integer(-1), "outside"),
        ("6.12", "poll_flag", Integer(1), "True or False"),
        ("6.12", "queued_wakeup_group", text("l3"), "llc, l2"),
        ("2.5.54", "queued_wakeup_group", text("l2"), "TTWU_QUEUE"),
        ("2.5.54", "load_avg_min_interval_ns", Integer(5), "no group loads"),
        ("6.12", "load_avg_min_interval_ns", Integer(-5), "outside"),
        ("6.12", "wrmsr_per_switch", Integer(1 << 40), "outside"),
        ("6.12", "wrmsr_per_swich", Integer(1), "wrmsr_per_switch"),
        ("6.12", "governer", text("menu"), "governor"),
        ("6.12", "name", text(" "), "one line"),
        ("6.12", "label", text("a\nb"), "one line"),
        ("6.12", "features", Flag(true), "names"),
        ("6.12", "features", feature("HRTICK"), "not modelled"),
        ("base", "features", feature("HRTICK"), "not modelled"),
        ("6.1", "features.ALT_PERIOD", Flag(false), "groups"),
        ("7.2", "features.PARANOID_AVG", Flag(true), "overflow"),
        ("eevdf", "features.RUN_TO_PARITY", Flag(true), "eevdf-curb"),
        ("base", "features.PLACE_LAG", Flag(true), "unknown feature"),
        ("6.12", "features.WA_IDEL", Flag(true), "WA_IDLE"),
        ("2.5.54", "features.WA_IDLE", Flag(true), "no features"),
        ("6.12", "tunables", Integer(1), "names"),
        ("6.12", "tunables", tunable("base_slice"), "base_slice_ns"),
        ("6.12", "latency_ns", Integer(1_000_000), "base_slice_ns"),
        ("6.12", "base_slice_ns", Integer(5), "outside"),
        ("6.12", "migration_cost_ns", Integer(-1), "outside"),
        ("base", "nr_latency", Integer(16), "divided"),
        ("2.5.54", "min_timeslice_ns", Integer(5_000_000), "constants"),
        ("2.5.54", "balance_busy_ns", Integer(5_000_000), "constants"),
        ("2.5.54", "migration_cost_ns", Integer(5), "constants"),
    ] {
        let e = refusal(&kernel(base), &[(key, value)]);
        assert!(e.contains(reason), "{base} {key}: {e}");
    }
}

#[test]
fn what_has_no_effect_in_the_model_may_be_named_with_its_present_value() {
    for k in kernels().iter().filter(|k| !k.features.is_empty()) {
        let same = made(k, &[("features", KernelValue::Features(k.features.clone()))]);
        assert_eq!(same.features, k.features);
        let inert = |name: &str| INERT.iter().any(|(n, _)| *n == name);
        for (name, on) in k.features.iter().filter(|(name, _)| inert(name)) {
            let known = k.policy.features.iter().any(|(f, _)| f.name() == name);
            let flipped = KernelValue::Flag(!on);
            let result = changed(k, &[(&format!("features.{name}"), flipped)]);
            let acts = known && !k.policy.fixed_off.iter().any(|(f, _)| f.name() == name);
            assert_eq!(result.is_ok(), acts, "{}: {name}", k.name);
        }
    }
}

#[test]
fn every_tunable_on_record_can_be_set_or_is_listed_as_fixed() {
    for k in kernels() {
        for (name, value) in &k.tunables {
            let fixed = FIXED_TUNABLES.iter().any(|(n, _)| n == name);
            let other = KernelValue::Integer(value + 1);
            assert_eq!(changed(k, &[(name, other)]).is_ok(), !fixed, "{}: {name}", k.name);
        }
    }
}
