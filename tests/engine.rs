//! The closed loop: what must hold for every run on every machine, kernel and workload.

mod support;

use std::sync::{Arc, Mutex};

use support::{MS, Run, fingerprint, kernel, preset};
use tickless::engine::{GovernorMaker, Happening, Outcome};
use tickless::error::Result;
use tickless::idle::{
    Chosen, Device, GOVERNORS, Governor, GovernorEntry, IdleContext, IdleOutcome, Options,
    Selection, replay,
};
use tickless::kernel::{Kernel, kernels};
use tickless::machine::{IdleTable, Machine, presets};
use tickless::periods::{Column, Columns, Periods};
use tickless::watch::Watch;
use tickless::workload::{End, Parameters, Plan, WORKLOADS, WorkloadEntry, workload};

/// The smallest case of a workload, cut short.
fn plan(entry: &WorkloadEntry, machine: &Machine, window: i64) -> Plan {
    let parameters = Parameters::fitted(entry, machine).unwrap();
    let case = (entry.cases)(machine).into_iter().next().unwrap();
    cut(entry.build(machine, &case, &parameters).unwrap(), window)
}

fn case(name: &str, machine: &Machine, label: &str, window: i64) -> Plan {
    let entry = workload(name).unwrap();
    let case = entry.case(machine, label).unwrap();
    let parameters = Parameters::fitted(entry, machine).unwrap();
    cut(entry.build(machine, &case, &parameters).unwrap(), window)
}

fn cut(mut plan: Plan, window: i64) -> Plan {
    plan.warmup = plan.warmup.min(window);
    plan.window = window;
    if let End::AllExit(limit) = plan.end {
        plan.end = End::AllExit(limit.min(2 * window));
    }
    plan
}

#[test]
fn every_workload_keeps_the_laws_and_gives_the_same_bits_again() {
    let machine = preset("8x-SKYLAKE-UMA");
    for (i, entry) in WORKLOADS.iter().enumerate() {
        let plan = plan(entry, &machine, 8 * MS);
        let kernel = &kernels()[i % kernels().len()];
        let run = Run { noise: 1.0, ..Run::new(&machine, kernel, &plan) };
        let first = run.watched().unwrap_or_else(|e| panic!("{}: {e}", entry.name));
        let again = Run { record: true, ..run }.go();
        assert_eq!(fingerprint(&first), fingerprint(&again), "{}", entry.name);
    }
}

#[test]
fn every_kernel_keeps_the_laws_with_idle_and_with_crowded_cpus() {
    let machine = preset("8x-SKYLAKE-UMA");
    let (few, many) =
        (case("tbench", &machine, "2", 8 * MS), case("schbench", &machine, "8", 8 * MS));
    let crowd = case("tbench", &machine, "16", 8 * MS);
    for kernel in kernels() {
        for plan in [&few, &many, &crowd] {
            let run = Run { noise: 1.0, ..Run::new(&machine, kernel, plan) };
            let outcome = run.watched().unwrap_or_else(|e| panic!("{run}: {e}"));
            assert!(outcome.spent.iter().any(|s| s.busy > 0), "{run}");
        }
    }
}

#[test]
fn every_machine_keeps_the_laws() {
    for (i, preset) in presets::PRESETS.iter().enumerate() {
        let machine = preset.machine().unwrap();
        let kernel = &kernels()[(3 * i) % kernels().len()];
        let plan = case("tbench", &machine, "4", 2 * MS);
        let run = Run { noise: 1.0, ..Run::new(&machine, kernel, &plan) };
        let outcome = run.watched().unwrap_or_else(|e| panic!("{run}: {e}"));
        consistent_residencies(&outcome, &machine, &run);
    }
}

/// The time in idle states is the time that CPUs are idle, up to the price of stopping a tick at
/// either edge of the window.
fn consistent_residencies(outcome: &Outcome, machine: &Machine, run: &Run<'_>) {
    let states: i64 = outcome.metrics.states.iter().map(|s| s.time).sum();
    let idle: i64 = outcome.spent.iter().map(|s| s.idle).sum();
    let slack = 2 * i64::from(machine.ncpus) * machine.costs.scaled().tick_stop;
    assert!((states - idle).abs() <= slack, "{run}: {states} ns in states, {idle} ns idle");
}

#[test]
fn another_seed_is_another_run() {
    let machine = preset("8x-SKYLAKE-UMA");
    let (kernel, plan) = (kernel("6.12"), case("tbench", &machine, "4", 8 * MS));
    for noise in [0.0, 1.0] {
        let run = |seed| Run { seed, noise, ..Run::new(&machine, &kernel, &plan) }.go();
        assert_ne!(fingerprint(&run(1)), fingerprint(&run(2)), "noise {noise}");
    }
}

/// One question to a governor, its answer, and what became of it.
#[derive(Debug, Clone, Copy)]
struct Asked {
    context: IdleContext,
    choice: Selection,
    outcome: Option<IdleOutcome>,
    polled_out: bool,
}

type Log = Arc<Mutex<Vec<Vec<Asked>>>>;

/// Governors of an entry that write down what they hear and say.
struct Listening {
    entry: &'static GovernorEntry,
    log: Log,
}

struct Ear {
    inner: Box<dyn Governor>,
    cpu: usize,
    log: Log,
}

impl GovernorMaker for Listening {
    fn make(&self, cpu: u32, table: &IdleTable, hz: u32) -> Result<Box<dyn Governor>> {
        let inner = self.entry.build(table, hz);
        self.log.lock().unwrap().resize(cpu as usize + 1, Vec::new());
        Ok(Box::new(Ear { inner, cpu: cpu as usize, log: Arc::clone(&self.log) }))
    }
}

impl Governor for Ear {
    fn new(_: &IdleTable, _: u32) -> Self {
        unreachable!("made by Listening")
    }

    fn select(&mut self, device: &mut Device, context: &IdleContext) -> Selection {
        let choice = self.inner.select(device, context);
        let asked = Asked { context: *context, choice, outcome: None, polled_out: false };
        let log = &mut self.log.lock().unwrap()[self.cpu];
        let told = log.last().is_none_or(|before| before.outcome.is_some());
        assert!(told, "CPU {}: asked again before it was told", self.cpu);
        log.push(asked);
        choice
    }

    fn reflect(&mut self, device: &mut Device, outcome: &IdleOutcome) {
        let log = &mut self.log.lock().unwrap()[self.cpu];
        let asked = log.last_mut().expect("asked before it is told");
        assert!(asked.outcome.is_none(), "CPU {}: told twice", self.cpu);
        (asked.outcome, asked.polled_out) = (Some(*outcome), device.poll_timed_out);
        assert_eq!(device.last_residency, outcome.span);
        self.inner.reflect(device, outcome);
    }
}

/// A run of a governor that is listened to: its log by CPU, from the start of the machine.
fn listen(
    entry: &'static GovernorEntry,
    machine: &Machine,
    kernel: &Kernel,
    plan: &Plan,
) -> (Vec<Vec<Asked>>, Outcome) {
    let maker = Listening { entry, log: Log::default() };
    let run = Run {
        noise: 1.0,
        record: true,
        governors: Some(&maker),
        ..Run::new(machine, kernel, plan)
    };
    let outcome = run.go();
    let log = maker.log.lock().unwrap().clone();
    (log, outcome)
}

#[test]
fn the_engine_enters_what_the_governor_chose_and_tells_how_long_it_took() {
    let machine = preset("8x-SKYLAKE-UMA");
    let kernel = kernel("6.12");
    let plan = case("tbench", &machine, "2", 20 * MS);
    for entry in GOVERNORS {
        let (log, outcome) = listen(entry, &machine, &kernel, &plan);
        let mut periods = 0;
        for (cpu, asked) in log.iter().enumerate() {
            let (entered, spans) = entries(&outcome, cpu as u32);
            let chosen: Vec<u32> = asked.iter().map(|a| a.choice.state as u32).collect();
            assert!(chosen.ends_with(&entered), "{} on CPU {cpu}", entry.name);
            let told: Vec<i64> = asked.iter().filter_map(|a| a.outcome).map(|o| o.span).collect();
            assert!(told.ends_with(&spans), "{} on CPU {cpu}", entry.name);
            assert!(asked.iter().all(|a| a.outcome.is_none_or(|o| o.state == a.choice.state)));
            periods += entered.len();
        }
        assert!(periods > 100, "{}: {periods} periods only", entry.name);
    }
}

/// States entered on a CPU and lengths of the periods that began and ended, in the recording.
fn entries(outcome: &Outcome, of: u32) -> (Vec<u32>, Vec<i64>) {
    let (mut states, mut spans, mut since) = (Vec::new(), Vec::new(), None);
    for &(time, happening) in &outcome.recorder.as_ref().unwrap().records {
        match happening {
            Happening::IdleEnter { cpu, state } if cpu == of => {
                states.push(state);
                since = Some(time);
            }
            Happening::IdleExit { cpu } if cpu == of => {
                spans.extend(since.take().map(|since| time - since));
            }
            _ => {}
        }
    }
    (states, spans)
}

#[test]
fn the_governor_is_asked_with_what_the_kernel_would_know() {
    let machine = preset("8x-SKYLAKE-UMA");
    let plan = case("tbench", &machine, "2", 20 * MS);
    for kernel in [kernel("4.18-vanilla"), kernel("6.1"), kernel("6.12")] {
        let tick = 1_000_000_000 / kernel.hz;
        let entry = kernel.governor.unwrap();
        let (log, _) = listen(entry, &machine, &kernel, &plan);
        for (cpu, asked) in log.iter().enumerate() {
            let mut before: Option<&Asked> = None;
            for one in asked {
                let context = &one.context;
                let place = format!("{} on CPU {cpu}: {context:?}", kernel.name);
                assert!(0 <= context.delta_tick, "{place}");
                assert!(context.delta_tick <= context.sleep_length, "{place}");
                if context.tick_stopped {
                    assert_eq!(context.delta_tick, context.sleep_length, "{place}");
                    // Only a choice to stop it, with no timer within a tick, stops the tick.
                    let by = before.unwrap_or_else(|| panic!("{place}: nobody stopped the tick"));
                    let stopped = by.context.tick_stopped
                        || (by.choice.stop_tick && by.context.sleep_length > tick);
                    assert!(stopped, "{place}: after {by:?}");
                } else {
                    assert!(context.delta_tick <= tick, "{place}");
                }
                assert!(context.cpu_util <= 1024, "{place}");
                before = Some(one);
            }
        }
    }
}

#[test]
fn a_replay_of_the_periods_of_a_run_gives_the_same_choices() {
    let machine = preset("8x-SKYLAKE-UMA");
    let kernel = kernel("6.1");
    let plan = case("tbench", &machine, "2", 20 * MS);
    let table = &machine.classes[0].table;
    for entry in GOVERNORS {
        let (log, _) = listen(entry, &machine, &kernel, &plan);
        for (cpu, asked) in log.iter().enumerate() {
            let told: Vec<&Asked> = asked.iter().filter(|a| a.outcome.is_some()).collect();
            let column = |of: fn(&Asked) -> i64| told.iter().map(|a| of(a)).collect::<Vec<_>>();
            let flags =
                |of: fn(&Asked) -> bool| told.iter().map(|a| u8::from(of(a))).collect::<Vec<_>>();
            let words = |of: fn(&Asked) -> u32| told.iter().map(|a| of(a)).collect::<Vec<_>>();
            let sleep = column(|a| a.context.sleep_length);
            let wake = column(|a| a.outcome.map_or(0, |o| o.span));
            let delta = column(|a| a.context.delta_tick);
            let stopped = flags(|a| a.context.tick_stopped);
            let ticked = flags(|a| a.outcome.is_some_and(|o| o.got_tick));
            let polled_out = flags(|a| a.polled_out);
            let (iowait, util) = (words(|a| a.context.nr_iowait), words(|a| a.context.cpu_util));
            let load = words(|a| a.context.cpu_load);
            let periods = Periods::new(Columns {
                delta_tick: Some(Column::Slice(&delta)),
                tick_stopped: Column::Slice(&stopped),
                got_tick: Some(Column::Slice(&ticked)),
                poll_timeout: Column::Slice(&polled_out),
                nr_iowait: Column::Slice(&iowait),
                cpu_util: Column::Slice(&util),
                cpu_load: Column::Slice(&load),
                ..Columns::new(Column::Slice(&sleep), Column::Slice(&wake))
            })
            .unwrap();
            let options = Options {
                hz: kernel.hz as u32,
                add_exit_latency: false,
                recorded: None,
                trace: false,
                threads: Some(1),
            };
            let replayed =
                replay(&[Chosen::Entry(entry)], table, &periods, &options, &Watch::new()).unwrap();
            let chosen: Vec<u8> = told.iter().map(|a| a.choice.state as u8).collect();
            assert_eq!(replayed.state, chosen, "{} on CPU {cpu}", entry.name);
            let stops: Vec<bool> = told.iter().map(|a| a.choice.stop_tick).collect();
            assert_eq!(replayed.stop_tick, stops, "{} on CPU {cpu}", entry.name);
        }
    }
}
