//! Machines: laws of the topology, prices, and changed copies.

use proptest::prelude::*;
use tickless::error::Error;
use tickless::machine::{
    Costs, CpuClass, Distance, Flush, IdleTable, Machine, Numbering, Scope, Shape, Topology, Value,
    presets,
};

fn machine(name: &str) -> Machine {
    presets::machine(name).unwrap()
}

fn all() -> Vec<Machine> {
    presets::PRESETS.iter().map(|p| p.machine().unwrap()).collect()
}

fn change(name: &str, value: Value) -> Vec<(String, Value)> {
    vec![(name.to_owned(), value)]
}

fn get(m: &Machine, name: &str) -> Value {
    m.settings().into_iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no {name}")).1
}

/// Checks what any topology keeps.
fn laws(t: &Topology) {
    let n = t.ncpus() as u32;
    for a in 0..n {
        assert!(t.core_cpus(t.core(a)).contains(&a));
        assert!(t.llc_cpus(t.llc(a)).contains(&a));
        assert!(t.socket_cpus(t.socket(a)).contains(&a));
        assert_eq!(t.siblings(a).len() + 1, t.core_cpus(t.core(a)).len());
        for &b in t.siblings(a) {
            assert!(b != a && t.siblings(b).contains(&a), "siblings {a} and {b} are not mutual");
        }
    }
    for (count, members) in [
        (t.ncores(), (0..t.ncores() as u32).map(|g| t.core_cpus(g)).collect::<Vec<_>>()),
        (t.nllcs(), (0..t.nllcs() as u32).map(|g| t.llc_cpus(g)).collect()),
        (t.nsockets(), (0..t.nsockets() as u32).map(|g| t.socket_cpus(g)).collect()),
    ] {
        let mut cpus: Vec<u32> = members.concat();
        cpus.sort_unstable();
        assert_eq!(cpus, (0..n).collect::<Vec<_>>(), "{count} groups are no partition");
    }
    // A sample of pairs suffices for the big ones.
    let step = (n / 37).max(1);
    for a in (0..n).step_by(step as usize) {
        for b in 0..n {
            let d = t.distance(a, b);
            assert_eq!(d, t.distance(b, a), "distance of {a} and {b} is not symmetric");
            assert_eq!(d == Distance::Same, a == b);
            assert_eq!(d <= Distance::Smt, t.core(a) == t.core(b));
            assert_eq!(d <= Distance::Llc, t.llc(a) == t.llc(b));
            assert_eq!(d <= Distance::Socket, t.socket(a) == t.socket(b));
        }
    }
}

#[test]
fn every_preset_keeps_the_laws_of_a_topology() {
    for m in all() {
        assert_eq!(m.ncpus as usize, m.topology.ncpus(), "{}", m.name);
        laws(&m.topology);
    }
}

#[test]
fn cpu_numbers_follow_the_text_of_the_preset() {
    let skl = machine("8x-SKYLAKE-UMA").topology;
    assert_eq!(skl.siblings(1), [5]);
    let milan = machine("epyc-2x64-nps1").topology;
    assert_eq!((milan.ncpus(), milan.nllcs(), milan.siblings(3)), (256, 16, &[131][..]));
    assert_eq!(milan.llc_cpus(1)[..9], [8, 9, 10, 11, 12, 13, 14, 15, 136]);
    assert_eq!(milan.distance(0, 64), Distance::Node);
    assert_eq!(milan.distance(0, 8), Distance::Socket);
    let juno = machine("juno-r1");
    assert_eq!(juno.topology.llc_cpus(juno.topology.llc(1)), [1, 2]);
    assert_eq!(juno.topology.distance(0, 1), Distance::Socket);
    assert_eq!(juno.classes[juno.class_of(2)].name, "A57");
}

#[test]
fn a_line_without_a_figure_costs_what_the_next_distance_does() {
    for (name, line) in [
        ("8x-SKYLAKE-UMA", [0, 15, 45, 45, 45]),
        ("epyc-2x64-nps1", [0, 12, 25, 110, 210]),
        ("dual-p4-1700", [0, 180, 180, 180, 180]),
        ("piii-500", [0; 5]),
        ("juno-r1", [0, 80, 80, 200, 200]),
    ] {
        assert_eq!(machine(name).costs.line, line, "{name}");
    }
}

#[test]
fn prices_of_a_preset_are_its_own_or_the_start_values() {
    let skl = machine("8x-SKYLAKE-UMA");
    assert_eq!(skl.costs.poll_quantum, 7400);
    assert_eq!(skl.costs.demote_to, Some(2));
    assert_eq!((skl.costs.wake, skl.costs.switch), (350, 500));
    assert_eq!(skl.costs.l2_flush_refill, 1280);
    assert_eq!(skl.cache.l3_kib, 8192);
    assert_eq!(skl.bandwidth.socket_mbs, 28_000);
    assert_eq!(machine("48x-HASWELL-NUMA").costs.demote_to, Some(1));
    assert_eq!(machine("i7-2600k").costs.scale_permille, 2000);
    assert_eq!(machine("epyc-2x64-nps1").costs.smt_run_permille, 620);
    let p4 = machine("dual-p4-1700").costs;
    assert_eq!((p4.wrmsr, p4.fill_l2_ps, p4.fill_memory_ps), (530, 8_000, 45_000));
    let p3 = machine("piii-500").costs; // lines of 32 bytes: two for each 64
    assert_eq!((p3.fill_l2_ps, p3.fill_memory_ps), (96_000, 220_000));
}

#[test]
fn states_carry_entry_scope_and_flush() {
    let class = &machine("8x-SKYLAKE-UMA").classes[0];
    assert_eq!(class.entry[3], 10_000);
    assert_eq!(class.scope[..3], [Scope::Thread, Scope::Thread, Scope::Core]);
    assert_eq!(
        (class.flush[2], class.flush[3], class.flush[6]),
        (Flush::Keep, Flush::L2, Flush::L3)
    );
}

#[test]
fn the_clock_falls_with_the_number_of_active_cores() {
    let m = machine("8x-SKYLAKE-UMA");
    let speeds: Vec<u32> = [0, 1, 2, 3, 4, 99].iter().map(|&k| m.clock.permille(k)).collect();
    assert_eq!(speeds, [1000, 1000, 1000, 974, 948, 948]);
    // The prices hold at the clock the machine had: a slower copy is slower.
    let slow = m.replace(&change("clock.turbo_ghz", Value::List(vec![1.95]))).unwrap();
    assert_eq!(slow.clock.permille(1), 500);
}

#[test]
fn every_setting_of_every_preset_reads_back_what_was_written() {
    for m in all() {
        let settings = m.settings();
        for (name, value) in &settings {
            let nan = matches!(value, Value::Float(v) if v.is_nan());
            if nan || *value == Value::Text("listed".into()) {
                continue; // power nobody knows; listed CPUs, which only a kernel can tell
            }
            let same = m.replace(&change(name, value.clone())).unwrap_or_else(|e| {
                panic!("{}: {name} = {value}: {e}", m.name);
            });
            assert_eq!(get(&same, name), *value, "{}: {name}", m.name);
        }
    }
}

#[test]
fn a_changed_price_changes_nothing_else() {
    let m = machine("8x-SKYLAKE-UMA");
    let before = m.settings();
    let changed = m.replace(&change("costs.line_ns.socket", Value::Int(99))).unwrap();
    for ((name, old), (_, new)) in before.iter().zip(changed.settings()) {
        let want = if name == "costs.line_ns.socket" { &Value::Int(99) } else { old };
        assert_eq!(&new, want, "{name}");
    }
    assert_eq!(changed.costs.line, [0, 15, 45, 99, 45]);
    let told = "changed: costs.line_ns.socket = 99 (was 45)";
    assert_eq!(changed.sources.last().unwrap(), told);
    assert!(changed.aliases.is_empty());
}

#[test]
fn one_setting_has_several_spellings() {
    let m = machine("8x-SKYLAKE-UMA");
    for (name, value) in [
        ("states.C6.exit_us", Value::Float(42.5)),
        ("states.C6.exit_ns", Value::Int(42_500)),
        ("c6.exit_latency_ns", Value::Int(42_500)),
        ("C6.exit_latency_us", Value::Float(42.5)),
        ("states.c6.exit_latency_ms", Value::Float(0.0425)),
    ] {
        let c = m.replace(&change(name, value)).unwrap();
        assert_eq!(c.classes[0].table.states()[4].exit_latency, 42_500, "{name}");
        assert_eq!(c.classes[0].wake[4], 32_000, "{name}: the actual wake stays");
    }
    let c = m.replace(&change("c6.target_residency_ns", Value::Int(7))).unwrap();
    assert_eq!(c.classes[0].table.states()[4].target_residency, 7);
    assert!(!c.classes[0].table.warnings().is_empty(), "an unordered table warns");
}

#[test]
fn a_state_of_a_hybrid_is_changed_in_all_classes_or_in_one() {
    let m = machine("snapdragon-845");
    let wake = |m: &Machine| [m.classes[0].wake[0], m.classes[1].wake[0]];
    let old = wake(&m);
    let both = m.replace(&change("states.WFI.wake_ns", Value::Int(3))).unwrap();
    assert_eq!(wake(&both), [3, 3]);
    let big = m.replace(&change("states.big.WFI.wake_ns", Value::Int(4))).unwrap();
    assert_eq!(wake(&big), [old[0], 4]);
}

#[test]
fn wakes_that_are_the_exit_latencies_follow_them() {
    let m = machine("emulated-1cpu");
    let c = m.replace(&change("C6.exit_us", Value::Int(90))).unwrap();
    assert_eq!((m.classes[0].wake[4], c.classes[0].wake[4]), (85_000, 90_000));
    let own = [change("C6.exit_us", Value::Int(90)), change("C6.wake_us", Value::Int(10))].concat();
    assert_eq!(m.replace(&own).unwrap().classes[0].wake[4], 10_000);
}

#[test]
fn counts_of_a_topology_change_together() {
    let m = machine("8x-SKYLAKE-UMA");
    let changes = [("topology.sockets", 2), ("topology.cores_per_socket", 6)];
    let changes: Vec<_> = changes.iter().map(|&(n, v)| (n.to_owned(), Value::Int(v))).collect();
    let big = m.replace(&changes).unwrap();
    assert_eq!((big.ncpus, big.topology.nsockets(), big.topology.nnodes()), (24, 2, 2));
    assert_eq!(big.class_of(23), 0);
    laws(&big.topology);
}

#[test]
fn a_new_size_of_the_private_cache_changes_its_refill() {
    let m = machine("8x-SKYLAKE-UMA");
    let c = m.replace(&change("cache.l2_kib", Value::Int(512))).unwrap();
    assert_eq!(c.costs.l2_flush_refill, 2560);
}

#[test]
fn power_is_known_as_soon_as_one_number_is_given() {
    let m = machine("vm-2cpu");
    assert!(m.power.is_none() && m.active_mw.is_none());
    let c = m.replace(&change("power.core_active_w", Value::Float(2.5))).unwrap();
    assert_eq!((c.active_mw, c.power.unwrap().uncore_mw), (Some(2500.0), 0.0));
}

#[test]
fn a_bad_change_is_refused_by_name() {
    let m = machine("8x-SKYLAKE-UMA");
    for (name, value, about) in [
        ("hz", Value::Int(0), "hz: expected 1 to 10000"),
        ("hz", Value::Float(250.5), "hz: expected a whole number"),
        ("hz", Value::Text("fast".into()), "hz: expected a number, found fast"),
        ("hz", Value::Bool(true), "hz: expected a number"),
        ("costs.wake_ns", Value::Int(-1), "costs.wake_ns: expected a finite value"),
        ("costs.wake_ns", Value::Float(f64::NAN), "costs.wake_ns: expected a finite value"),
        ("costs.wake_s", Value::Float(1e300), "costs.wake_s: expected 0 to"),
        ("costs.smt_run", Value::Float(1.01), "costs.smt_run: a speed"),
        ("costs.smt_run", Value::Float(0.0), "costs.smt_run: a speed"),
        ("costs.scale", Value::Int(0), "costs.scale"),
        ("costs.poll_quantum_ns", Value::Int(0), "costs.poll_quantum_ns: expected at least 1"),
        (
            "costs.demote_to",
            Value::Text("C9".into()),
            "costs.demote_to: expected one of none, POLL",
        ),
        ("clock.domain", Value::Text("city".into()), "clock.domain: expected one of core, cluster"),
        ("clock.turbo_ghz", Value::List(vec![3.0, 0.0]), "clock.turbo_ghz[1]"),
        ("topology.sockets", Value::Int(0), "topology.sockets: expected at least 1"),
        ("topology.sockets", Value::Float(1e12), "topology.sockets: expected less than"),
        ("topology.sockets", Value::Int(4_000_000_000), "topology: a machine has at most 8192"),
        ("topology.llcs_per_socket", Value::Int(3), "topology.llcs_per_socket: 4 cores"),
        ("topology.capacity", Value::List(vec![1024.0]), "topology.capacity: expected length 8"),
        ("states.C1.power_w", Value::Float(-1.0), "states.C1.power_w: expected"),
        ("mwait", Value::Int(1), "mwait: expected true or false"),
    ] {
        let e = m.replace(&change(name, value)).unwrap_err().to_string();
        assert!(e.starts_with(about), "{name}: {e}");
    }
}

#[test]
fn an_unknown_setting_lists_the_nearest() {
    let m = machine("8x-SKYLAKE-UMA");
    for (name, near) in [
        ("costs.wakeup_ns", "costs.wake_ns"),
        ("costs.wake", "costs.wake_ns"),
        ("states.C9.exit_us", "states.C6.exit_us"),
        ("topology.socket", "topology.sockets"),
    ] {
        match m.replace(&change(name, Value::Int(1))) {
            Err(Error::UnknownName { kind, nearest, .. }) => {
                assert_eq!(kind, "machine setting");
                assert!(nearest.iter().any(|n| n == near), "{name}: {nearest:?}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn a_hybrid_keeps_its_number_of_cpus() {
    for name in ["snapdragon-845", "juno-r1"] {
        let e = machine(name).replace(&change("topology.cores_per_socket", Value::Int(12)));
        let text = e.unwrap_err().to_string();
        assert!(text.starts_with("topology"), "{text}");
    }
}

#[test]
fn a_slice_is_one_cache_with_its_share() {
    let m = machine("epyc-2x64-nps1");
    let slice = m.slice_llc().unwrap();
    assert_eq!((slice.name.as_str(), slice.ncpus), ("epyc-2x64-nps1-llc", 16));
    assert_eq!((slice.topology.nllcs(), slice.topology.siblings(3)), (1, &[11][..]));
    // All 8 cores of the slice stand for all 64 of the socket.
    assert_eq!(slice.clock.permille(8), m.clock.permille(64));
    assert_eq!(slice.bandwidth.socket_mbs, m.bandwidth.socket_mbs / 8);
    assert_eq!(slice.costs, m.costs);
    assert_eq!(slice.power.as_ref().unwrap().uncore_mw, 90_000.0 / 8.0);
    laws(&slice.topology);
    let uma = machine("8x-SKYLAKE-UMA").slice_llc().unwrap();
    assert_eq!((uma.ncpus, uma.topology.siblings(0)), (8, &[4][..]));
    let juno = machine("juno-r1").slice_llc().unwrap();
    assert_eq!((juno.ncpus, juno.classes.len(), juno.classes[0].name.as_str()), (4, 1, "A53"));
}

#[test]
fn text_and_back_is_the_same_machine() {
    for m in all() {
        let m = m.replace(&change("hz", Value::Int(300))).unwrap();
        assert_eq!(Machine::from_text(&m.to_text().unwrap()).unwrap(), m);
    }
    assert!(Machine::from_text("name = 3").is_err());
}

#[test]
fn a_machine_of_idle_tables_is_flat_with_start_prices() {
    let table: IdleTable = machine("vm-2cpu").classes[0].table.clone();
    let class = CpuClass::plain("", vec![], table, None);
    let m = Machine::from_classes("mine", vec![class.clone()], &[0; 3], 100).unwrap();
    assert_eq!((m.ncpus, m.topology.nllcs(), m.topology.ncores()), (3, 1, 3));
    assert_eq!(
        (m.costs.clone(), m.clock.permille(2), m.power.clone()),
        (Costs::default(), 1000, None)
    );
    assert!(Machine::from_classes("mine", vec![class.clone()], &[], 100).is_err());
    assert!(Machine::from_classes("mine", vec![class], &[1], 100).is_err());
}

#[test]
fn new_idle_tables_keep_what_the_old_states_knew() {
    let m = machine("8x-SKYLAKE-UMA");
    let states = m.classes[0].table.states();
    let fewer =
        IdleTable::new(vec![states[0].clone(), states[2].clone(), states[4].clone()]).unwrap();
    let class = CpuClass::plain("", vec![], fewer, Some(vec![1, 2, 3]));
    let c = m.with_classes(vec![class], &[0; 8]).unwrap();
    assert_eq!(c.classes[0].entry, [0, 500, 20_000]);
    assert_eq!((c.classes[0].flush[2], c.classes[0].scope[1]), (Flush::L2, Scope::Core));
    assert_eq!(c.costs.demote_to, Some(1), "C1E moved from index 2 to 1");
    assert_eq!(c.topology, m.topology);
}

proptest! {
    #[test]
    fn any_shape_that_is_accepted_keeps_the_laws(
        sockets in 1u32..4,
        nodes in 1u32..9,
        llcs in 1u32..5,
        cores in 1u32..9,
        threads in 1u32..4,
        together in any::<bool>(),
    ) {
        let numbering = if together { Numbering::ThreadsTogether } else { Numbering::CoresFirst };
        let shape = Shape {
            sockets,
            numa_nodes: nodes,
            llcs_per_socket: llcs,
            cores_per_socket: cores,
            threads_per_core: threads,
            capacity: vec![],
            numbering,
        };
        let accepted = cores.is_multiple_of(llcs)
            && if nodes >= sockets {
                nodes.is_multiple_of(sockets) && cores.is_multiple_of(nodes / sockets)
            } else {
                sockets.is_multiple_of(nodes)
            };
        match Topology::new(shape) {
            Ok(t) => {
                prop_assert!(accepted);
                prop_assert_eq!(t.ncpus() as u32, sockets * cores * threads);
                prop_assert_eq!(t.nllcs() as u32, sockets * llcs);
                prop_assert_eq!(t.nnodes() as u32, nodes);
                laws(&t);
                let cpus: Vec<u32> = t.llc_cpus(0).to_vec();
                laws(&t.only(&cpus).unwrap());
            }
            Err(_) => prop_assert!(!accepted),
        }
    }

    #[test]
    fn no_value_of_any_setting_panics(at in 0usize..200, number in any::<f64>(), whole in any::<i64>()) {
        let m = machine("8x-SKYLAKE-UMA");
        let settings = m.settings();
        let name = &settings[at % settings.len()].0;
        for value in [
            Value::Float(number),
            Value::Int(whole),
            Value::List(vec![number; 3]),
            Value::Text("x".into()),
        ] {
            let _ = m.replace(&change(name, value));
        }
    }
}
