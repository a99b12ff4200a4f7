//! DeathStarBench, social network: a graph of small services that call each other.
//!
//! A load generator keeps connections busy; a web front end calls one of three services, which call
//! others, down to caches and stores. Each service has its threads, which share a queue; a thread that
//! calls waits for the answer. One request crosses 5 to 15 services, so it is a chain of wake, run,
//! wake. All services run on the CPUs of 1, 2, 4 or 8 last-level caches, the generator on the others.
//! The redis store has one thread, which limits large partitions: that and a fixed number of
//! connections per CPU make the CPUs less busy there (guess, after the shape of the published losses).
//!
//! What is ignored: containers, network bridges, TCP windows. Prices are guesses throughout, since no
//! absolute figure is published. Source: the structure of the social network application.

use super::exchange::solid;
use super::{
    Amount, At, Better, Case, Channel, Mean, Measure, Op, Parameter, Parameters, Plan, Report,
    Spread, Task, WorkloadEntry,
};
use crate::error::{Error, Result};
use crate::machine::Machine;

const COSTS: &[Parameter] = &[
    Parameter::us(
        "service",
        50.0,
        "one visit of a service, without calls",
        "run 50 to 200 us between wake-ups (guess); with its calls some 10 us a message",
    ),
    Parameter::us("store", 4.0, "one visit of a cache or store", "guess"),
    Parameter::us("send", 1.2, "send, up to the wake-up", "as tbench, with a serialiser"),
    Parameter::us("tail", 0.6, "send, after the wake-up", "as tbench"),
    Parameter::us("receive", 0.8, "receive, once it is there", "as tbench"),
    Parameter::count("connections", 3.0, 1.0, "connections per CPU of the partition", "guess"),
    Parameter::count("threads", 0.5, 0.0, "threads of a service per CPU of the partition", "guess"),
];

/// A service: its name, threads (0: by the size of the partition), and whom it calls, in turn.
struct Service {
    name: &'static str,
    threads: u32,
    store: bool,
    calls: &'static [usize],
}

const fn service(name: &'static str, calls: &'static [usize]) -> Service {
    Service { name, threads: 0, store: false, calls }
}

const fn store(name: &'static str, threads: u32) -> Service {
    Service { name, threads, store: true, calls: &[] }
}

/// The graph, leaves first: a service calls only services before it.
const SERVICES: &[Service] = &[
    store("redis", 1),
    store("memcached", 4),
    store("mongodb", 16),
    service("unique-id", &[]),
    service("media", &[]),
    service("user", &[1]),
    service("url-shorten", &[2]),
    service("user-mention", &[1]),
    service("text", &[6, 7]),
    service("social-graph", &[0]),
    service("post-storage", &[1]),
    service("post-storage-write", &[2]),
    service("user-timeline", &[0, 10]),
    service("home-timeline", &[0, 10]),
    service("write-timelines", &[9, 0, 2]),
    service("compose-post", &[8, 3, 4, 5, 11, 14]),
    service("nginx-home", &[13]),
    service("nginx-user", &[12]),
    service("nginx-compose", &[15]),
];

/// Front ends, and of ten connections those that use them: the mixed load of the application.
const MIX: [(usize, u32); 3] = [(16, 6), (17, 3), (18, 1)];

/// The benchmark of the 2023 report.
pub(super) const DEATHSTAR: WorkloadEntry = WorkloadEntry {
    name: "DeathStarBench",
    aliases: &["deathstarbench", "deathstar"],
    summary: "a social network of 19 services that call each other, on 1 to 8 last-level caches",
    essay: "generator --> nginx --> timelines, compose --> text, user, post storage ... --> redis, memcached, \
            mongodb, and back. Saturated; every call is a request and an answer, two wake-ups at most.",
    report: Report {
        metric: "throughput",
        unit: "requests/s",
        better: Better::Higher,
        mean: Mean::Arithmetic,
        decimals: 2,
        style: "percent",
        row: "Scaling",
        prefix: "",
        measure: Measure::Rate { counter: "requests", scale: 1.0 },
    },
    more: &[],
    pattern: Some("{}CCD"),
    parameters: COSTS,
    cases: |machine| {
        let fits = |&n: &i64| n <= machine.topology.nllcs() as i64;
        let cases = [1, 2, 4, 8].into_iter().filter(fits);
        cases.map(|n| Case::new(format!("{n}CCD"), n)).collect()
    },
    plan,
};

/// Returns the CPUs of the services and of the generator.
fn partition(machine: &Machine, case: &Case) -> Result<[Vec<u32>; 2]> {
    let caches = machine.topology.nllcs() as u32;
    let n = case.count("last-level caches", caches).map_err(|_| {
        let reason = format!("{:?}: {} has {caches} last-level caches", case.label, machine.name);
        Error::invalid("case", reason)
    })?;
    let (mut inside, outside): (Vec<u32>, Vec<u32>) =
        (0..machine.ncpus).partition(|&cpu| machine.topology.llc(cpu) < n);
    inside.sort_unstable();
    // On the whole machine there is no elsewhere for the generator.
    let generator = if outside.is_empty() { inside.clone() } else { outside };
    Ok([inside, generator])
}

fn work(p: &Parameters, name: &str) -> Result<Amount> {
    Ok(Amount::ns(p.paced(name)? / 2).spread(Spread::LogNormal(400)))
}

fn plan(machine: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let affinities = partition(machine, case)?;
    let cpus = affinities[0].len() as f64;
    let mut plan = Plan {
        warmup: 500_000_000,
        window: 500_000_000,
        affinities: affinities.into(),
        ..Plan::default()
    };
    let requests = plan.counter("requests");
    let queues: Vec<u32> = SERVICES
        .iter()
        .map(|_| plan.channel(Channel { sync: false, ..Channel::connection() }))
        .collect();
    let usual = (p.get("threads")? * cpus).ceil().clamp(1.0, 10_000.0) as u32;
    for (number, service) in SERVICES.iter().enumerate() {
        let ops = serve(p, service, &queues, queues[number])?;
        let program = plan.program(service.name, ops);
        let threads = if service.threads > 0 { service.threads } else { usual };
        for _ in 0..threads {
            let own = plan.channel(Channel::connection());
            let task = Task { program, group: number as u32, affinity: Some(0), ..Task::default() };
            plan.task(task, &[own]);
        }
    }
    let connections = (p.get("connections")? * cpus).ceil().clamp(1.0, 100_000.0) as u32;
    for (front, share) in MIX {
        let program = generate(&mut plan, p, queues[front], requests)?;
        for group in 0..(connections * share).div_ceil(10) {
            let own = plan.channel(Channel::connection());
            plan.task(Task { program, group, affinity: Some(1), ..Task::default() }, &[own]);
        }
    }
    Ok(plan)
}

/// Asks and waits for the answer; handle 0 is where it comes.
fn call(p: &Parameters, to: u32) -> Result<[Op; 5]> {
    let own = At::Handle(0);
    Ok([
        p.kernel("send")?,
        Op::Send { to: At::Number(to), reply: Some(own) },
        p.kernel("tail")?,
        Op::Receive(own),
        p.kernel("receive")?,
    ])
}

fn serve(p: &Parameters, service: &Service, queues: &[u32], queue: u32) -> Result<Vec<Op>> {
    let half = work(p, if service.store { "store" } else { "service" })?;
    let mut ops = vec![Op::Receive(At::Number(queue)), p.kernel("receive")?, Op::Run(half)];
    for &callee in service.calls {
        ops.extend(call(p, queues[callee])?);
    }
    ops.extend([Op::Run(half), p.kernel("send")?, Op::Send { to: At::Caller, reply: None }]);
    ops.push(p.kernel("tail")?);
    Ok(solid(ops))
}

fn generate(plan: &mut Plan, p: &Parameters, queue: u32, requests: u32) -> Result<u32> {
    let mut ops = vec![Op::Run(Amount::ns(5000))];
    ops.extend(call(p, queue)?);
    ops.push(Op::Count(requests));
    Ok(plan.program("connection", solid(ops)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_call_only_services_before_them_so_that_calls_end() {
        for (i, service) in SERVICES.iter().enumerate() {
            assert!(service.calls.iter().all(|&c| c < i), "{}", service.name);
        }
    }

    #[test]
    fn a_request_crosses_a_handful_of_services() {
        fn visits(i: usize) -> usize {
            1 + SERVICES[i].calls.iter().map(|&c| visits(c)).sum::<usize>()
        }
        let counts: Vec<usize> = MIX.iter().map(|&(front, _)| visits(front)).collect();
        // Compose: front end, compose-post, text 5, unique-id, media, user 2, post 2, timelines 5.
        assert_eq!(counts, [5, 5, 18]);
    }
}
