//! The closed loop: what must hold for every run.

use tickless::engine::{self, Count, Outcome, Setup};
use tickless::kernel::Kernel;
use tickless::machine::Machine;
use tickless::rng::Seed;
use tickless::watch::Watch;
use tickless::workload::{Amount, At, Channel, Op, Plan, Task};

fn machine(name: &str) -> Machine {
    tickless::machine::presets::machine(name).unwrap()
}

/// `n` pairs that send one token back and forth, each doing some work in between.
fn pairs(n: u32, work: i64) -> Plan {
    let mut plan = Plan { window: 50_000_000, warmup: 5_000_000, ..Plan::default() };
    let trips = plan.counter("trips");
    let (there, back) = (At::Handle(0), At::Handle(1));
    let user = |ns| Op::Run(Amount::ns(ns));
    let client = plan.program(
        "client",
        [
            Op::Kernel(Amount::ns(work)),
            Op::Send { to: there, reply: None },
            user(100),
            Op::Receive(back),
            Op::Count(trips),
        ],
    );
    let server = plan.program(
        "server",
        [
            Op::Receive(there),
            Op::Kernel(Amount::ns(work)),
            Op::Send { to: back, reply: None },
            user(100),
        ],
    );
    for group in 0..n {
        let handles = [plan.channel(Channel::connection()), plan.channel(Channel::connection())];
        plan.task(Task { program: client, group, ..Task::default() }, &handles);
        plan.task(Task { program: server, group, ..Task::default() }, &handles);
    }
    plan
}

fn run(machine: &Machine, kernel: &str, plan: &Plan, noise: f64) -> Outcome {
    let kernel = Kernel::find(kernel).unwrap();
    let setup = Setup { machine, kernel: &kernel, plan, noise, record: false, governors: None };
    engine::run(&setup, &Seed::new(&[1, 2, 3, 4]), &Watch::new()).unwrap()
}

#[test]
fn show() {
    for (m, k, n) in [
        ("8x-SKYLAKE-UMA", "4.18-vanilla", 1),
        ("8x-SKYLAKE-UMA", "4.18-vanilla", 4),
        ("8x-SKYLAKE-UMA", "4.18-vanilla", 16),
        ("8x-SKYLAKE-UMA", "4.18-teo-v5", 1),
        ("epyc-2x64-nps1", "eevdf", 64),
        ("epyc-2x64-nps1", "eevdf", 512),
        ("epyc-2x64-nps1", "base", 512),
    ] {
        let machine = machine(m);
        let plan = pairs(n, 1000);
        let t = std::time::Instant::now();
        let o = run(&machine, k, &plan, 1.0);
        let wall = t.elapsed().as_secs_f64();
        let c = |c: Count| o.metrics.get(c);
        let trips = o.metrics.counters[0].max(1);
        println!(
            "{m} {k} {n}: {:.2} us/trip per pair; ev {} = {:.2} M/s; wakes/trip {:.2} switches {:.2} invol {:.2} blocks {:.2} remote {:.2} mig {:.3}",
            o.elapsed as f64 * f64::from(n) / trips as f64 / 1e3,
            c(Count::Events),
            c(Count::Events) as f64 / wall / 1e6,
            c(Count::Wakeups) as f64 / trips as f64,
            c(Count::Switches) as f64 / trips as f64,
            c(Count::Involuntary) as f64 / trips as f64,
            c(Count::Blocks) as f64 / trips as f64,
            c(Count::RemoteWakeups) as f64 / trips as f64,
            c(Count::Migrations) as f64 / trips as f64,
        );
        for s in &o.spent {
            assert_eq!(s.busy + s.overhead + s.idle, o.elapsed);
        }
    }
}
