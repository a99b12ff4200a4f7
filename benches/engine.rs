//! Events per second of the closed loop, on one core: `cargo bench --bench engine [-- WORDS]`.
//!
//! Lines: busy pairs on 8 CPUs, tbench with 1,024 clients on 256 CPUs, and the same load per CPU on 8
//! to 512 CPUs, whose price per event should grow less than twofold. Time is CPU time
//! of this thread, and that of the whole run, set-up included. The peer, SimPy doing the same ping-pong, is in the Python benches.

use tickless::engine::{self, Setup, Span};
use tickless::kernel::Kernel;
use tickless::machine::{Machine, Value, presets};
use tickless::rng::Seed;
use tickless::watch::Watch;
use tickless::workload::{Case, Parameters, Plan, WORKLOADS};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|w| name.contains(w.as_str()));
    let skylake = presets::machine("8x-SKYLAKE-UMA").expect("ships");
    let epyc = presets::machine("epyc-2x64-nps1").expect("ships");
    let mut lines = vec![
        ("8 CPUs, 4 pairs, menu".to_owned(), skylake.clone(), "4.18-vanilla", 4, 0.5),
        ("8 CPUs, 8 pairs, cfs".to_owned(), skylake.clone(), "4.18-vanilla", 8, 0.5),
        ("8 CPUs, 32 pairs, cfs".to_owned(), skylake, "4.18-vanilla", 32, 0.5),
        ("256 CPUs, 128 pairs, eevdf".to_owned(), epyc.clone(), "eevdf", 128, 0.02),
        ("256 CPUs, 1024 pairs, cfs".to_owned(), epyc.clone(), "base", 1024, 0.02),
        ("256 CPUs, 1024 pairs, eevdf".to_owned(), epyc.clone(), "eevdf", 1024, 0.02),
    ];
    for llcs in [1, 4, 16, 32, 64] {
        let cores = i64::from(llcs) * 4;
        let change = |name: &str, v: i64| (name.to_owned(), Value::Int(v));
        let machine = epyc.replace(&[
            change("topology.sockets", 1),
            change("topology.numa_nodes", 1),
            change("topology.llcs_per_socket", i64::from(llcs)),
            change("topology.cores_per_socket", cores),
        ]);
        let machine = machine.expect("whole caches");
        let cpus = 2 * cores;
        let name = format!("growth: {cpus} CPUs, {} pairs, eevdf", 2 * cpus);
        lines.push((name, machine, "eevdf", 2 * cpus, 4.0 / cpus as f64));
    }
    println!(
        "{:<40} {:>10} {:>12} {:>12}",
        "closed loop, tbench", "events", "M events/s", "ns/event"
    );
    for (name, machine, kernel, pairs, seconds) in lines {
        if wanted(&name) {
            line(&name, &machine, kernel, pairs, seconds);
        }
    }
}

fn line(name: &str, machine: &Machine, kernel: &str, pairs: i64, seconds: f64) {
    let plan = tbench(machine, pairs, seconds);
    let kernel = Kernel::find(kernel).expect("ships");
    let setup =
        Setup { machine, kernel: &kernel, plan: &plan, noise: 1.0, record: false, governors: None };
    let mut best = f64::INFINITY;
    let mut events = 0;
    for seed in 0..3 {
        let start = cpu_seconds();
        let span = Span { warmup: 0, window: plan.window };
        let outcome =
            engine::run_for(&setup, span, &Seed::new(&[seed]), &Watch::new()).expect("runs");
        best = best.min((cpu_seconds() - start) / outcome.events as f64);
        events = outcome.events;
    }
    println!("{name:<40} {events:>10} {:>12.2} {:>12.1}", 1e-6 / best, best * 1e9);
}

/// CPU time of this thread, where Linux tells; wall time elsewhere.
fn cpu_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    let wall = || {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0.0, |d| d.as_secs_f64())
    };
    ns.map_or_else(wall, |ns| ns / 1e9)
}

fn tbench(machine: &Machine, pairs: i64, seconds: f64) -> Plan {
    let entry = WORKLOADS.iter().find(|w| w.name == "tbench").expect("ships");
    let parameters = Parameters::defaults(entry);
    let mut plan = entry.build(machine, &Case::number(pairs), &parameters).expect("builds");
    plan.warmup = 0;
    plan.window = (seconds * 1e9) as i64;
    plan
}
