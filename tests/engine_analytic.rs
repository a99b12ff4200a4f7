//! On a machine where the kernel costs nothing, queues have the lengths that queueing theory gives
//! them, round trips take as long as their work, and shares are as the weights.

mod support;

use support::{MS, Run, SECOND, free_machine, kernel};
use tickless::kernel::Kernel;
use tickless::machine::{Machine, Value};
use tickless::sched::weights;
use tickless::workload::{Amount, At, Channel, Op, Plan, Spread, Task};

/// Mean work of a customer, ns.
const WORK: i64 = 100_000;

/// Independent runs behind a mean and its error.
const REPEATS: u64 = 8;

fn exponential(mean: i64) -> Amount {
    Amount::ns(mean).spread(Spread::Exponential)
}

/// Mean and standard error over runs with different seeds.
fn estimate(of: impl Fn(u64) -> f64) -> (f64, f64) {
    let values: Vec<f64> = (1..=REPEATS).map(of).collect();
    let n = REPEATS as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Five standard errors of a Student distribution with seven degrees of freedom are passed in fewer
/// than two of a thousand cases; the histograms round to a thousandth.
fn agrees((mean, error): (f64, f64), expected: f64, what: &str) {
    let tolerance = 5.0 * error + 0.001 * expected;
    assert!(
        (mean - expected).abs() <= tolerance,
        "{what}: {mean} instead of {expected}, standard error {error}"
    );
    assert!(
        error < 0.05 * expected,
        "{what}: too uncertain to say anything: {error} of {expected}"
    );
}

/// One Poisson source on a CPU of its own, and `c` servers each on one.
fn open_queue(c: u32, load: f64, work: Amount) -> Plan {
    let mut plan = Plan { warmup: SECOND / 2, window: 4 * SECOND, ..Plan::default() };
    let wait = plan.latency("wait");
    let queue = At::Number(plan.channel(Channel::connection()));
    let gap = (WORK as f64 / (load * f64::from(c))).round() as i64;
    let source = plan.program(
        "source",
        [Op::Sleep(exponential(gap)), Op::Stamp, Op::Send { to: queue, reply: None }],
    );
    let server = plan.program("server", [Op::Receive(queue), Op::Record(wait), Op::Run(work)]);
    plan.affinities = (0..=c).map(|cpu| vec![cpu]).collect();
    plan.task(Task { program: source, affinity: Some(0), ..Task::default() }, &[]);
    for cpu in 1..=c {
        plan.task(Task { program: server, affinity: Some(cpu), ..Task::default() }, &[]);
    }
    plan
}

fn mean_wait(plan: &Plan, kernel: &Kernel, cpus: usize) -> (f64, f64) {
    let machine = free_machine(cpus);
    estimate(|seed| {
        let run = Run { seed, ..Run::new(&machine, kernel, plan) };
        run.go().metrics.latencies[0].mean() // no wait at all counts as 1 ns, nothing beside 1e5
    })
}

/// Probability that a customer has to wait with `c` servers and `a` Erlangs (Erlang C).
fn erlang_c(c: u32, a: f64) -> f64 {
    let term = |k: u32| (1..=k).fold(1.0, |t, i| t * a / f64::from(i));
    let busy = term(c) * f64::from(c) / (f64::from(c) - a);
    busy / ((0..c).map(term).sum::<f64>() + busy)
}

#[test]
fn waiting_times_are_those_of_an_open_queue_with_one_and_more_servers() {
    for (c, load, name) in
        [(1, 0.5, "4.18-vanilla"), (1, 0.8, "6.12"), (2, 0.7, "7.2"), (4, 0.8, "6.1")]
    {
        let plan = open_queue(c, load, exponential(WORK));
        let found = mean_wait(&plan, &kernel(name), c as usize + 1);
        let a = load * f64::from(c);
        let expected = erlang_c(c, a) * WORK as f64 / (f64::from(c) - a);
        agrees(found, expected, &format!("M/M/{c} at {load} on {name}"));
    }
}

#[test]
fn waiting_times_with_equal_work_are_half_of_those_with_exponential_work() {
    let load = 0.7;
    let plan = open_queue(1, load, Amount::ns(WORK));
    let found = mean_wait(&plan, &kernel("6.12"), 2);
    let expected = WORK as f64 * load / (2.0 * (1.0 - load)); // Pollaczek and Khinchine
    agrees(found, expected, "M/D/1");
}

/// Throughput of `n` customers among stations of these demands, by mean-value analysis; the delay is
/// spent without a queue.
fn mean_value(n: u32, demands: &[f64], delay: f64) -> f64 {
    let mut queues = vec![0.0; demands.len()];
    let mut throughput = 0.0;
    for customers in 1..=n {
        let stay: Vec<f64> = demands.iter().zip(&queues).map(|(d, q)| d * (1.0 + q)).collect();
        throughput = f64::from(customers) / (delay + stay.iter().sum::<f64>());
        queues = stay.iter().map(|s| s * throughput).collect();
    }
    throughput
}

#[test]
fn two_stations_with_tokens_between_them_work_as_fast_as_mean_value_analysis_says() {
    let demands = [WORK, 60_000];
    for tokens in [1, 3, 8] {
        let mut plan = Plan { warmup: SECOND / 2, window: 4 * SECOND, ..Plan::default() };
        let done = plan.counter("done");
        let queues = [0, 1].map(|_| At::Number(plan.channel(Channel::connection())));
        plan.affinities = vec![vec![0], vec![1]];
        for (i, demand) in demands.into_iter().enumerate() {
            let mut ops = vec![Op::Receive(queues[i]), Op::Run(exponential(demand))];
            ops.push(Op::Send { to: queues[1 - i], reply: None });
            ops.extend((i == 0).then_some(Op::Count(done)));
            let program = plan.program("station", ops);
            plan.task(Task { program, affinity: Some(i as u32), ..Task::default() }, &[]);
        }
        let token = plan.program("token", [Op::Send { to: queues[0], reply: None }, Op::Exit]);
        (0..tokens).for_each(|_| plan.task(Task { program: token, ..Task::default() }, &[]));
        let (machine, kernel) = (free_machine(2), kernel("6.12"));
        let found = estimate(|seed| {
            let outcome = Run { seed, ..Run::new(&machine, &kernel, &plan) }.go();
            outcome.metrics.counters[0] as f64 / outcome.elapsed as f64
        });
        let expected = mean_value(tokens, &demands.map(|d| d as f64), 0.0);
        agrees(found, expected, &format!("{tokens} tokens"));
    }
}

#[test]
fn thinking_tasks_share_a_cpu_as_mean_value_analysis_says_whatever_the_policy() {
    let think = 400_000;
    for name in ["2.5.54", "4.18-vanilla", "eevdf", "6.12", "7.2"] {
        let mut plan = Plan { warmup: SECOND / 2, window: 4 * SECOND, ..Plan::default() };
        let done = plan.counter("done");
        let ops = [Op::Run(exponential(WORK)), Op::Count(done), Op::Sleep(exponential(think))];
        let program = plan.program("thinker", ops);
        (0..6).for_each(|_| plan.task(Task { program, ..Task::default() }, &[]));
        let (machine, kernel) = (free_machine(1), kernel(name));
        let found = estimate(|seed| {
            let outcome = Run { seed, ..Run::new(&machine, &kernel, &plan) }.go();
            outcome.metrics.counters[0] as f64 / outcome.elapsed as f64
        });
        agrees(found, mean_value(6, &[WORK as f64], think as f64), name);
    }
}

/// Two tasks that pass a token to and fro, each working in kernel and user mode in between.
fn ping_pong(work: [i64; 2], affinities: Option<[u32; 2]>) -> Plan {
    let mut plan = Plan { warmup: 10 * MS, window: 200 * MS, ..Plan::default() };
    let trips = plan.counter("trips");
    let channels = [0, 1].map(|_| At::Number(plan.channel(Channel::connection())));
    plan.affinities = affinities.map_or(Vec::new(), |cpus| cpus.map(|cpu| vec![cpu]).to_vec());
    for (i, ns) in work.into_iter().enumerate() {
        let take = Op::Receive(channels[i]);
        let give = Op::Send { to: channels[1 - i], reply: None };
        let [kernel, user] = [Op::Kernel(Amount::ns(ns / 4)), Op::Run(Amount::ns(ns - ns / 4))];
        let ops = match i {
            0 => vec![kernel, user, give, take, Op::Count(trips)],
            _ => vec![take, kernel, user, give],
        };
        let program = plan.program(["ping", "pong"][i], ops);
        let affinity = affinities.map(|_| i as u32);
        plan.task(Task { program, affinity, ..Task::default() }, &[]);
    }
    plan
}

#[test]
fn a_round_trip_takes_as_long_as_its_work() {
    let work = [3_000, 1_700];
    for name in ["2.5.54", "4.18-vanilla", "6.1", "eevdf", "6.12", "7.2"] {
        for (cpus, pinned) in [(1, None), (2, Some([0, 1]))] {
            let plan = ping_pong(work, pinned);
            let (machine, kernel) = (free_machine(cpus), kernel(name));
            let outcome = Run::new(&machine, &kernel, &plan).watched().unwrap();
            let expected = (outcome.elapsed / (work[0] + work[1])) as u64;
            // One turn more or less at the edges; periodic balancing looks at two queues now and then.
            let looks =
                (outcome.elapsed / (4 * MS) * 60 / (work[0] + work[1])) as u64 * (cpus as u64 - 1);
            let found = outcome.metrics.counters[0];
            assert!(
                found.abs_diff(expected) <= 1 + looks,
                "{name}, {cpus} CPUs: {found} of {expected}"
            );
        }
    }
}

#[test]
fn shares_of_a_cpu_are_as_the_weights_of_the_nice_values() {
    let nice = [0, 5, -4, 10];
    let total: f64 = nice.iter().map(|&n| f64::from(weights::of_nice(n).weight)).sum();
    for name in ["4.18-vanilla", "6.1", "base", "eevdf", "eevdf-curb", "6.12", "7.2"] {
        let mut plan = Plan { warmup: SECOND, window: 20 * SECOND, ..Plan::default() };
        let program = plan.program("hog", [Op::Run(Amount::ns(5 * MS))]);
        for nice in nice {
            plan.task(Task { program, nice, ..Task::default() }, &[]);
        }
        let (machine, kernel) = (free_machine(1), kernel(name));
        let outcome = Run::new(&machine, &kernel, &plan).go();
        for (task, nice) in nice.iter().enumerate() {
            let found = outcome.tasks[task].ran as f64 / outcome.elapsed as f64;
            let expected = f64::from(weights::of_nice(*nice).weight) / total;
            // Ticks of 4 ms cut the slices: a few of them over 20 s.
            let off = (found - expected).abs();
            assert!(off < 0.005, "{name}, nice {nice}: {found} instead of {expected}");
        }
    }
}

/// The machine with every price `k` times as high.
fn slower(machine: &Machine, k: i64) -> Machine {
    let priced = |name: &str| name.starts_with("costs.") && !name.starts_with("costs.s");
    let also = ["costs.switch_ns", "costs.switch_in_ns", "costs.settle_ns"];
    let scaled = machine.settings().into_iter().filter_map(|(name, value)| match value {
        Value::Int(ns) if priced(&name) || also.contains(&name.as_str()) => {
            Some((name, Value::Int(ns * k)))
        }
        Value::Float(ns) if priced(&name) => Some((name, Value::Float(ns * k as f64))),
        _ => None,
    });
    machine.replace(&scaled.collect::<Vec<_>>()).unwrap()
}

#[test]
fn four_times_slower_everything_gives_four_times_longer_results() {
    // 4 ms are four ticks of 1 ms, so the tick scales too. Policies do not matter with a CPU for each.
    let prices = [
        ("costs.wake_ns", 350),
        ("costs.switch_ns", 500),
        ("costs.switch_in_ns", 400),
        ("costs.prepare_idle_ns", 500),
        ("costs.interrupt_ns", 1000),
        ("costs.tick_ns", 2000),
        ("costs.tick_stop_ns", 300),
        ("costs.tick_restart_ns", 300),
        ("costs.block_ns", 400),
        ("costs.refill_ns", 800),
        ("costs.background_period_ns", 250 * SECOND),
    ];
    let prices = prices.map(|(name, ns)| (name.to_owned(), Value::Int(ns)));
    let fast = free_machine(2).replace(&prices).unwrap();
    let slow = slower(&fast, 4);
    let hz = |hz| {
        let changes = [("hz".to_owned(), tickless::kernel::KernelValue::Integer(hz))];
        kernel("6.12").replace(&changes).unwrap()
    };
    let (quick, lazy) = (hz(1000), hz(250));
    let work = [3_200, 1_600];
    let plan = ping_pong(work, Some([0, 1]));
    let mut long = ping_pong(work.map(|ns| 4 * ns), Some([0, 1]));
    (long.warmup, long.window) = (4 * plan.warmup, 4 * plan.window);
    let first = Run::new(&fast, &quick, &plan).watched().unwrap();
    let second = Run::new(&slow, &lazy, &long).watched().unwrap();
    // Looks of the balancer, 30 ns each, are the only times that do not scale.
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-3 * b.abs();
    let trips = |o: &tickless::engine::Outcome| o.metrics.counters[0] as f64;
    assert!(near(trips(&first), trips(&second)), "{} {}", trips(&first), trips(&second));
    for (a, b) in first.spent.iter().zip(&second.spent) {
        for (a, b) in [(a.busy, b.busy), (a.overhead, b.overhead), (a.idle, b.idle)] {
            assert!(near(4.0 * a as f64, b as f64), "4 x {a} is not {b}");
        }
    }
}
