//! What the tests of the engine share: machines without costs, runs, and what a run says.
#![allow(dead_code)] // no test file uses everything

use std::sync::mpsc;
use std::time::Duration;

use tickless::engine::{self, Count, GovernorMaker, Outcome, Setup, Span};
use tickless::error::Result;
use tickless::kernel::Kernel;
use tickless::machine::{CpuClass, IdleState, IdleTable, Machine, Value, presets};
use tickless::rng::Seed;
use tickless::watch::Watch;
use tickless::workload::{End, Plan};

pub const MS: i64 = 1_000_000;
pub const SECOND: i64 = 1_000_000_000;

pub fn preset(name: &str) -> Machine {
    presets::machine(name).unwrap()
}

pub fn kernel(name: &str) -> Kernel {
    Kernel::find(name).unwrap()
}

/// One state that costs nothing to leave.
pub fn halt() -> IdleTable {
    let state = IdleState {
        name: "HLT".into(),
        exit_latency: 0,
        target_residency: 0,
        polling: false,
        disabled: false,
        power_mw: None,
    };
    IdleTable::new(vec![state]).unwrap()
}

/// A machine on which the kernel costs nothing: every price is 0, and `n` CPUs share one cache.
pub fn free_machine(n: usize) -> Machine {
    let class = CpuClass::plain("", Vec::new(), halt(), None);
    let machine = Machine::from_classes("free", vec![class], &vec![0; n], 250).unwrap();
    let prices = machine.settings().into_iter().filter(|(name, value)| {
        let share = ["costs.smt", "costs.scale", "costs.poll"].iter().any(|p| name.starts_with(p));
        name.starts_with("costs.") && !share && !matches!(value, Value::Text(_))
    });
    let mut free: Vec<_> = prices.map(|(name, _)| (name, Value::Int(0))).collect();
    // Housekeeping never comes.
    free.retain(|(name, _)| name != "costs.background_period_ns");
    free.push(("costs.background_period_s".into(), Value::Int(1000)));
    machine.replace(&free).unwrap()
}

/// Everything that a run needs, with the usual choices.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    pub machine: &'a Machine,
    pub kernel: &'a Kernel,
    pub plan: &'a Plan,
    pub noise: f64,
    pub record: bool,
    pub governors: Option<&'a dyn GovernorMaker>,
    pub seed: u64,
}

impl<'a> Run<'a> {
    pub fn new(machine: &'a Machine, kernel: &'a Kernel, plan: &'a Plan) -> Self {
        Self { machine, kernel, plan, noise: 0.0, record: false, governors: None, seed: 1 }
    }

    fn setup(&self) -> Setup<'a> {
        let Self { machine, kernel, plan, noise, record, governors, .. } = *self;
        Setup { machine, kernel, plan, noise, record, governors }
    }

    /// What the plan asks for, without the warm-up that the kernel would need.
    fn span(&self) -> Span {
        match self.plan.end {
            End::Window => Span { warmup: self.plan.warmup, window: self.plan.window },
            End::AllExit(limit) => Span { warmup: 0, window: limit },
        }
    }

    pub fn result(&self) -> Result<Outcome> {
        let seed = Seed::new(&[self.seed]);
        in_time(|watch| engine::run_for(&self.setup(), self.span(), &seed, watch))
    }

    pub fn go(&self) -> Outcome {
        self.result().unwrap_or_else(|error| panic!("{self}: {error}"))
    }

    /// Runs and watches every law that holds at every moment; panics with what is broken.
    pub fn watched(&self) -> Result<Outcome> {
        let seed = Seed::new(&[self.seed]);
        let (outcome, faults) =
            in_time(|watch| engine::audit(&self.setup(), self.span(), &seed, watch));
        assert!(faults.is_empty(), "{self}: {}", faults.join("\n"));
        if let Ok(outcome) = &outcome {
            laws(outcome, self);
        }
        outcome
    }
}

/// A run that takes so long hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Stops what takes too long, so that a run that hangs is an error with a name.
fn in_time<T>(work: impl FnOnce(&Watch) -> T) -> T {
    let watch = Watch::new();
    let (done, wait) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let watch = &watch;
        scope.spawn(move || {
            if wait.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                watch.stop();
            }
        });
        let result = work(watch);
        drop(done);
        result
    })
}

impl std::fmt::Display for Run<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let first = self.plan.programs.first().map_or("", |p| p.name.as_str());
        let tasks = self.plan.tasks.len();
        write!(
            f,
            "{} on {} with {tasks} tasks ({first}), noise {}",
            self.kernel.name, self.machine.name, self.noise
        )
    }
}

/// What must hold when a run has ended.
pub fn laws(outcome: &Outcome, run: &Run<'_>) {
    let count = |what: Count| outcome.metrics.get(what);
    for (cpu, spent) in outcome.spent.iter().enumerate() {
        let sum = spent.busy + spent.overhead + spent.idle;
        assert_eq!(sum, outcome.elapsed, "{run}: time of CPU {cpu}: {spent:?}");
    }
    let [before, after] = outcome.in_flight;
    let left = before + count(Count::Sent) - count(Count::Received) - count(Count::Dropped);
    assert_eq!(left, after, "{run}: messages");
    let sum = |of: fn(&engine::Books) -> u64| outcome.tasks.iter().map(of).sum::<u64>();
    if run.plan.spare == 0 {
        assert_eq!(sum(|b| b.wakeups), count(Count::Wakeups), "{run}: wake-ups");
        assert_eq!(sum(|b| b.voluntary), count(Count::Voluntary), "{run}: voluntary");
        assert_eq!(sum(|b| b.involuntary), count(Count::Involuntary), "{run}: involuntary");
    }
    assert!(count(Count::Voluntary) <= count(Count::Blocks), "{run}: sleeps");
    let switches = count(Count::Voluntary) + count(Count::Involuntary);
    assert!(switches <= count(Count::Switches), "{run}: switches");
}

/// Everything a run says, as text that differs when one bit does.
pub fn fingerprint(outcome: &Outcome) -> String {
    let quantiles: Vec<u64> = outcome
        .metrics
        .latencies
        .iter()
        .chain([&outcome.metrics.wakeup_latency, &outcome.metrics.slices])
        .chain([&outcome.metrics.idle_periods])
        .flat_map(|h| {
            [0.0, 0.5, 0.99, 1.0].map(|q| h.value_at_quantile(q)).into_iter().chain([h.len()])
        })
        .collect();
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {} {} {:?} {quantiles:?}",
        outcome.metrics.counts,
        outcome.metrics.counters,
        outcome.metrics.states,
        outcome.first_half,
        outcome.spent,
        outcome.tasks,
        outcome.elapsed,
        outcome.events,
        outcome.in_flight,
    )
}
