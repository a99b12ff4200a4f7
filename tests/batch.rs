//! Many runs at once: order, threads, refusals, shares, governors from outside.

use tickless::engine::{self, Batch, Cell, Column, Count, GovernorMaker, Row, Setup, Span};
use tickless::error::{Error, Result};
use tickless::idle::Governor;
use tickless::idle::foreign::{Failure, ForeignGovernor, checked, foreign};
use tickless::idle::{Device, IdleContext, IdleOutcome, Selection};
use tickless::kernel::Kernel;
use tickless::machine::{IdleTable, Machine, presets};
use tickless::rng::Seed;
use tickless::watch::Watch;
use tickless::workload::{Amount, At, Channel, End, Op, Parameters, Plan, Report, Task, workload};

const MS: i64 = 1_000_000;

fn machine() -> Machine {
    presets::machine("8x-SKYLAKE-UMA").unwrap()
}

fn kernels(names: &[&str]) -> Vec<Kernel> {
    names.iter().map(|n| Kernel::find(n).unwrap()).collect()
}

fn rows(name: &str, machine: &Machine, cases: &[&str]) -> (Vec<Row>, Vec<Report<String>>) {
    let entry = workload(name).unwrap();
    let parameters = Parameters::fitted(entry, machine).unwrap();
    let row = |label: &&str| {
        let case = entry.case(machine, label).unwrap();
        Row { plan: entry.build(machine, &case, &parameters).unwrap(), case }
    };
    (cases.iter().map(row).collect(), vec![entry.report.owned()])
}

fn seeds(n: u64) -> Vec<Seed> {
    (0..n).map(|i| Seed::new(&[i, 7, 7, 7])).collect()
}

fn columns(kernels: &[Kernel]) -> Vec<Column<'_>> {
    kernels.iter().map(|kernel| Column { kernel, governors: None }).collect()
}

/// A batch of short runs.
fn short<'a>(
    machine: &'a Machine,
    columns: &'a [Column<'a>],
    (rows, reports): &'a (Vec<Row>, Vec<Report<String>>),
    seeds: &'a [Seed],
) -> Batch<'a> {
    Batch {
        machine,
        columns,
        rows,
        reports,
        seeds,
        parts: 1,
        noise: 1.0,
        warmup: Some(2 * MS),
        window: Some(8 * MS),
        records: 0,
        threads: Some(1),
    }
}

/// Everything of a cell that must not depend on anything but its seed.
fn bits(cell: &Cell) -> (Vec<u64>, Vec<u64>, i64) {
    let floats = cell.reported.iter().chain(&cell.halves).chain(&cell.busy).chain([&cell.watts]);
    (floats.map(|v| v.to_bits()).collect(), cell.counts.to_vec(), cell.elapsed)
}

fn refusal(result: Result<Vec<Cell>>) -> String {
    match result {
        Err(error @ Error::InvalidParameter { .. }) => error.to_string(),
        other => panic!("not refused as an invalid parameter: {other:?}"),
    }
}

#[test]
fn every_run_is_what_it_is_alone_whatever_the_threads() {
    let (machine, kernels) = (machine(), kernels(&["4.18-vanilla", "4.18-teo-v5"]));
    let table = rows("tbench", &machine, &["1", "4"]);
    let (columns, seeds) = (columns(&kernels), seeds(12));
    let one = short(&machine, &columns, &table, &seeds);
    let serial = one.run(&Watch::new()).unwrap();
    let parallel = Batch { threads: Some(3), ..one }.run(&Watch::new()).unwrap();
    assert_eq!(serial.len(), 12);
    for (i, (a, b)) in serial.iter().zip(&parallel).enumerate() {
        assert_eq!(bits(a), bits(b), "run {i}");
        let (kernel, row) = (&kernels[i / 6], &table.0[i / 3 % 2]);
        let setup = Setup {
            machine: &machine,
            kernel,
            plan: &row.plan,
            noise: 1.0,
            record: false,
            governors: None,
        };
        let span = Span { warmup: 2 * MS, window: 8 * MS };
        let alone = engine::run_for(&setup, span, &seeds[i], &Watch::new()).unwrap();
        assert_eq!(a.counts[..], alone.metrics.counts[..], "run {i}");
    }
}

#[test]
fn the_watch_counts_all_simulated_time() {
    let (machine, kernels) = (machine(), kernels(&["6.12"]));
    let table = rows("pingpong", &machine, &["1", "2"]);
    let (columns, seeds, watch) = (columns(&kernels), seeds(4), Watch::new());
    let batch = short(&machine, &columns, &table, &seeds);
    batch.run(&watch).unwrap();
    assert_eq!(batch.simulated(), 4 * 10 * MS);
    assert_eq!(watch.done(), 4 * 10 * MS as u64);
}

#[test]
fn halves_agree_with_the_whole_and_idle_time_with_the_clock() {
    let (machine, kernels) = (machine(), kernels(&["6.12"]));
    let table = rows("tbench", &machine, &["2"]);
    let (columns, seeds) = (columns(&kernels), seeds(1));
    let cell = short(&machine, &columns, &table, &seeds).run(&Watch::new()).unwrap().remove(0);
    let mean = (cell.halves[0] + cell.halves[1]) / 2.0;
    assert!((mean / cell.reported[0] - 1.0).abs() < 1e-9, "{:?} {}", cell.halves, cell.reported[0]);
    // Six CPUs sleep through the window: their time counts although no idle period ends.
    let idle: i64 = cell.states.iter().map(|s| s.time).sum();
    let wall = 8 * 8 * MS;
    let busy: f64 = cell.busy.iter().sum::<f64>() * 8.0 * MS as f64;
    assert!(idle as f64 + busy <= wall as f64 * 1.0001, "{idle} + {busy} > {wall}");
    assert!(idle as f64 + busy > wall as f64 * 0.98, "{idle} + {busy} < {wall}");
}

#[test]
fn warm_up_belongs_to_kernel_and_workload() {
    let (machine, kernels) = (machine(), kernels(&["base", "eevdf"]));
    let (table, _) = rows("tbench", &machine, &["4", "8"]);
    let warmup = |k: usize, r: usize| Span::of(&machine, &kernels[k], &table[r].plan).warmup;
    assert_eq!(warmup(0, 1), 1000 * MS, "CFS with 16 tasks on 8 CPUs");
    assert!(warmup(1, 1) < 1000 * MS && warmup(1, 1) > warmup(1, 0));
    assert_eq!(warmup(0, 0), warmup(1, 0), "8 tasks on 8 CPUs");
}

#[test]
fn a_workload_that_ends_by_itself_is_counted_from_its_first_task_to_its_last() {
    let (machine, kernels) = (machine(), kernels(&["6.1"]));
    let (mut table, reports) = rows("tbench", &machine, &["1"]);
    let mut plan = Plan { end: End::AllExit(1000 * MS), ..Plan::default() };
    let once = plan.program("once", [Op::Run(Amount::ns(3 * MS)), Op::Exit]);
    plan.task(Task { program: once, ..Task::default() }, &[]);
    table[0].plan = plan;
    let (columns, seeds, table) = (columns(&kernels), seeds(2), (table, reports));
    for window in [None, Some(MS)] {
        let batch = Batch { window, noise: 0.0, ..short(&machine, &columns, &table, &seeds) };
        for cell in batch.run(&Watch::new()).unwrap() {
            assert_eq!((cell.cut, cell.warmup), (window.is_some(), 0));
            let expected = if cell.cut { MS } else { 3 * MS };
            let late = cell.elapsed - expected;
            assert!((0..MS / 10).contains(&late), "{} ns", cell.elapsed);
        }
    }
}

#[test]
fn what_cannot_run_is_refused_before_anything_runs() {
    let (machine, kernels) = (machine(), kernels(&["6.12"]));
    let table = rows("tbench", &machine, &["1"]);
    let (columns, seeds) = (columns(&kernels), seeds(2));
    let batch = || short(&machine, &columns, &table, &seeds);
    let watch = Watch::new();
    for noise in [f64::NAN, -0.1, f64::INFINITY, 101.0] {
        assert!(refusal(Batch { noise, ..batch() }.run(&watch)).starts_with("noise"), "{noise}");
    }
    assert!(refusal(Batch { threads: Some(0), ..batch() }.run(&watch)).contains("thread"));
    assert!(refusal(Batch { seeds: &[], ..batch() }.run(&watch)).contains("0 seeds"));
    let mut plan = table.0[0].plan.clone();
    plan.tasks = vec![plan.tasks[0]; engine::MAX_TASKS + 1];
    let large = (vec![Row { plan, case: table.0[0].case.clone() }], table.1.clone());
    let said = refusal(short(&machine, &columns, &large, &seeds).run(&watch));
    assert!(said.contains("2000001 tasks need about 2.0 GB"), "{said}");
    assert_eq!(watch.done(), 0);
}

#[test]
fn a_deadlock_names_kernel_case_and_who_waits_for_what() {
    let (machine, kernels) = (machine(), kernels(&["6.12"]));
    let mut plan = Plan::default();
    let channels = [plan.channel(Channel::connection()), plan.channel(Channel::connection())];
    let (first, second) = (At::Handle(0), At::Handle(1));
    let waiter = plan.program("waiter", [Op::Receive(first), Op::Send { to: second, reply: None }]);
    plan.task(Task { program: waiter, ..Task::default() }, &channels);
    plan.task(Task { program: waiter, ..Task::default() }, &[channels[1], channels[0]]);
    let (mut table, reports) = rows("tbench", &machine, &["1"]);
    table[0].plan = plan;
    let (columns, seeds) = (columns(&kernels), seeds(3));
    let said = refusal(short(&machine, &columns, &(table, reports), &seeds).run(&Watch::new()));
    for word in
        ["kernel 6.12, case 1", "deadlock", "task 0 (waiter) waits for a message on channel"]
    {
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn a_stopped_watch_interrupts() {
    let (machine, kernels) = (machine(), kernels(&["6.12"]));
    let table = rows("tbench", &machine, &["1"]);
    let (columns, seeds, watch) = (columns(&kernels), seeds(2), Watch::new());
    watch.stop();
    let result = short(&machine, &columns, &table, &seeds).run(&watch);
    assert!(matches!(result, Err(Error::Interrupted)));
}

#[test]
fn a_share_counts_for_the_whole() {
    let whole = presets::machine("epyc-2x64-nps1").unwrap();
    let (part, kernels) = (whole.slice_llc().unwrap(), kernels(&["eevdf"]));
    let parts = whole.topology.nllcs() as u32;
    let table = rows("tbench", &part, &["2"]);
    let (columns, seeds) = (columns(&kernels), seeds(1));
    let one = short(&part, &columns, &table, &seeds);
    let alone = one.run(&Watch::new()).unwrap().remove(0);
    let all = Batch { parts, ..one }.run(&Watch::new()).unwrap().remove(0);
    assert_eq!(all.reported[0], alone.reported[0] * f64::from(parts));
    assert_eq!(all.wakeup_latency, alone.wakeup_latency);
    let count = |cell: &Cell, what: Count| cell.counts[what as usize];
    assert_eq!(count(&all, Count::Wakeups), count(&alone, Count::Wakeups) * u64::from(parts));
    assert_eq!(count(&all, Count::Events), count(&alone, Count::Events));
}

/// Chooses state 1 until it has had enough.
struct Picky(u32, u32);
impl ForeignGovernor for Picky {
    fn select(&mut self, index: usize, _: &Device, _: &IdleContext) -> Result<Selection> {
        self.0 += 1;
        let state = if self.0 > self.1 { 99 } else { 1 };
        checked(state, 3, index).map(|state| foreign(state, false))
    }
    fn reflect(&mut self, _: usize, _: &Device, _: &IdleOutcome) -> Result<()> {
        Ok(())
    }
}

struct Maker(Failure, u32);
impl GovernorMaker for Maker {
    fn make(&self, _: u32, _: &IdleTable, _: u32) -> Result<Box<dyn Governor>> {
        Ok(self.0.object(Box::new(Picky(0, self.1))))
    }
}

#[test]
fn a_governor_from_outside_decides_and_its_error_ends_the_call() {
    let (machine, kernels) = (machine(), kernels(&["6.12"]));
    let table = rows("tbench", &machine, &["1"]);
    let seeds = seeds(2);
    let run = |most: u32| {
        let watch = Watch::new();
        let maker = Maker(Failure::new(&watch), most);
        let columns = [Column { kernel: &kernels[0], governors: Some(&maker) }];
        let result = short(&machine, &columns, &table, &seeds).run(&watch);
        (result, maker.0.take())
    };
    let (result, failure) = run(u32::MAX);
    assert_eq!(failure, None);
    for cell in result.unwrap() {
        let usage: Vec<u64> = cell.states.iter().map(|s| s.usage).collect();
        assert!(usage[1] > 1000 && usage.iter().sum::<u64>() == usage[1], "{usage:?}");
    }
    let (_, failure) = run(50);
    let said = failure.unwrap().to_string();
    assert!(said.contains("chose state 99 in period 50"), "{said}");
}

#[test]
fn a_recording_is_kept_of_the_first_repeat_and_cut_at_the_limit() {
    let (machine, kernels) = (machine(), kernels(&["6.12"]));
    let table = rows("pingpong", &machine, &["1"]);
    let (columns, seeds) = (columns(&kernels), seeds(2));
    let batch = Batch { records: 100, ..short(&machine, &columns, &table, &seeds) };
    let cells = batch.run(&Watch::new()).unwrap();
    let first = cells[0].recorder.as_ref().unwrap();
    assert_eq!(first.records.len(), 100);
    assert!(first.lost > 0);
    assert!(cells[1].recorder.is_none());
}
