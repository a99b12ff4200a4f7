//! Laws that every scheduling policy obeys, whatever the input.

use proptest::prelude::*;
use tickless::sched::{
    COLUMNS, Class, EventColumns, Loop, OPERATIONS, Outcome, POLICIES, PathCosts, Pick, Policy,
    Program, Rows, Scene, Settings, TaskSpec,
};
use tickless::watch::Watch;

const MS: i64 = 1_000_000;

/// Failing inputs are printed, not kept in a file.
fn cases(n: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(n) }
}

/// Longer than any test.
const ENDLESS: i64 = 1 << 60;

fn settings(policy: &Policy) -> Settings {
    policy.settings(8, 250).unwrap()
}

fn nices(list: &[i8]) -> Vec<TaskSpec> {
    list.iter().map(|&nice| TaskSpec { nice, ..TaskSpec::default() }).collect()
}

fn weight(spec: &TaskSpec) -> f64 {
    f64::from(spec.weight().weight)
}

/// The tasks with the classes the policy has; others become normal.
fn suited(policy: &Policy, tasks: &[TaskSpec]) -> Vec<TaskSpec> {
    let class = |c: Class| if policy.classes.contains(&c) { c } else { Class::Normal };
    tasks.iter().map(|task| TaskSpec { class: class(task.class), ..*task }).collect()
}

/// A closed loop under the policy's defaults; `until` in ns.
fn closed(
    policy: &'static Policy,
    settings: Settings,
    tasks: &[TaskSpec],
    programs: &[Program],
    until: i64,
    rows: bool,
) -> Outcome {
    let scene = Scene { policy, settings, tasks: suited(policy, tasks), rows };
    let parameters = Loop { until, tick0: MS, timer_latency: 1000, costs: PathCosts::default() };
    scene.run_programs(programs, parameters, &Watch::new()).unwrap()
}

fn hogs(n: usize) -> Vec<Program> {
    (0..n).map(|_| Program::bursts(0, &[(ENDLESS, 1)])).collect()
}

fn column(rows: &Rows, i: usize, name: &str) -> i64 {
    rows.row(i)[COLUMNS.iter().position(|&c| c == name).unwrap()]
}

/// A script of random operations; every operation of every policy may appear.
#[derive(Debug, Clone, Default)]
struct Script {
    t: Vec<i64>,
    op: Vec<u8>,
    task: Vec<i64>,
    value: Vec<i64>,
}

impl Script {
    fn run(&self, policy: &'static Policy, settings: Settings, tasks: &[TaskSpec]) -> Outcome {
        let scene = Scene { policy, settings, tasks: suited(policy, tasks), rows: true };
        let columns =
            EventColumns { t: &self.t, op: &self.op, task: &self.task, value: &self.value };
        scene.run_events(columns, None, &Watch::new()).unwrap()
    }

    fn shifted(&self, by: i64) -> Self {
        Self { t: self.t.iter().map(|t| t + by).collect(), ..self.clone() }
    }
}

/// Waiting times between events: mostly short, sometimes as long as a slice, a second, years.
fn gaps() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => 0..200_000i64,
        3 => 0..20 * MS,
        1 => 0..1_000 * MS,
    ]
}

fn script(ntasks: usize, gap: impl Strategy<Value = i64>) -> impl Strategy<Value = Script> {
    let task = 0..ntasks as i64;
    let event = (gap, 0u8..12, task, -20i64..=19, prop_oneof![Just(0), 50_000..200 * MS]);
    prop::collection::vec(event, 1..400).prop_map(move |events| {
        let mut script = Script::default();
        let mut now = 1;
        for (gap, code, task, nice, slice) in events {
            now += gap;
            let word = OPERATIONS[usize::from(code)];
            let running = matches!(word, "BLOCK" | "SBLOCK" | "YIELD" | "TICK" | "HRTICK");
            script.t.push(now);
            script.op.push(code);
            script.task.push(if running { -1 } else { task });
            script.value.push(match word {
                "NICE" => nice,
                "SLICE" => slice,
                _ => 0,
            });
        }
        script
    })
}

/// The script without custom slices where the policy has none.
fn allowed(policy: &Policy, script: &Script) -> Script {
    let mut script = script.clone();
    for (op, value) in script.op.iter().zip(&mut script.value) {
        if OPERATIONS[usize::from(*op)] == "SLICE" && !policy.custom_slices {
            *value = 0;
        }
    }
    script
}

fn any_tasks(n: std::ops::Range<usize>) -> impl Strategy<Value = Vec<TaskSpec>> {
    let class = prop_oneof![
        6 => Just(Class::Normal), 1 => Just(Class::Batch), 1 => Just(Class::Idle)
    ];
    let task = (-20i8..=19, class).prop_map(|(nice, class)| TaskSpec { nice, class, slice: 0 });
    prop::collection::vec(task, n)
}

/// A way of switching the features: each policy turns off those whose bit is set.
fn with_some_features(policy: &Policy, settings: Settings, bits: u32) -> Settings {
    let flips = policy.features.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1);
    let free = flips.filter(|(_, (f, _))| !policy.fixed_off.iter().any(|(off, _)| off == f));
    let changes: Vec<_> = free.map(|(_, (f, on))| (f.name(), !on)).collect();
    policy.with_features(settings, changes).unwrap()
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn weights_give_shares(list in prop::collection::vec(-6i8..=6, 2..7)) {
        let tasks = nices(&list);
        let total: f64 = tasks.iter().map(weight).sum();
        let until = 20_000 * MS;
        for policy in POLICIES.iter().filter(|p| p.name != "o1") {
            let out = closed(policy, settings(policy), &tasks, &hogs(tasks.len()), until, false);
            for (spec, got) in tasks.iter().zip(&out.totals) {
                let due = until as f64 * weight(spec) / total;
                // A slice of the heaviest task or a latency period, and two ticks of quantisation.
                let slack = 24e6 + 8e6 + 3e6 * tasks.len() as f64;
                prop_assert!((got.exec as f64 - due).abs() <= slack,
                    "{}: nice {} got {} of {due}", policy.name, spec.nice, got.exec);
            }
        }
    }

    #[test]
    fn cpu_time_adds_up_to_the_time_somebody_ran(
        tasks in any_tasks(1..8), bursts in prop::collection::vec((1..5 * MS, 1..5 * MS), 8)
    ) {
        let programs: Vec<Program> = (0..tasks.len())
            .map(|i| Program::bursts(1000 * i as i64, &[bursts[i % bursts.len()]]))
            .collect();
        let until = 400 * MS;
        for policy in POLICIES {
            let out = closed(policy, settings(policy), &tasks, &programs, until, true);
            let rows = out.rows.as_ref().unwrap();
            let mut busy = 0;
            for i in 0..rows.len() {
                let end = if i + 1 < rows.len() { column(rows, i + 1, "t_ns") } else { until };
                if column(rows, i, "next") >= 0 {
                    busy += end - column(rows, i, "t_ns");
                } else {
                    prop_assert_eq!(column(rows, i, "hrtick_at"), 0);
                }
            }
            prop_assert_eq!(busy, out.totals.iter().map(|t| t.exec).sum::<i64>());
        }
    }

    #[test]
    fn nobody_starves(tasks in any_tasks(2..9), first_sleep in 1..10 * MS) {
        let mut programs = hogs(tasks.len());
        programs[0] = Program::bursts(0, &[(MS, first_sleep)]);
        let total: f64 = tasks.iter().map(weight).sum();
        for policy in POLICIES.iter().filter(|p| p.name != "o1") {
            let until = 60_000 * MS;
            let out = closed(policy, settings(policy), &tasks, &programs, until, false);
            let lightest = tasks.iter().map(weight).fold(f64::INFINITY, f64::min);
            for (spec, got) in tasks.iter().zip(&out.totals) {
                // The others run until their virtual time has passed the waiting task's: a few
                // slices, stretched by its share. Under CFS the hint to return to a preempted task
                // may run it ahead by the wake-up granularity of the lightest.
                let eevdf = policy.name.starts_with("eevdf");
                let stretch = total / if eevdf { weight(spec) } else { lightest };
                let bound = 3.0 * (24e6 + 8e6) * (stretch + tasks.len() as f64);
                if bound < until as f64 {
                    prop_assert!(got.switch_ins > 0, "{}: never ran", policy.name);
                    prop_assert!((got.max_wait as f64) < bound,
                        "{}: nice {} waited {} > {bound}", policy.name, spec.nice, got.max_wait);
                }
            }
        }
    }

    #[test]
    fn a_shift_in_time_shifts_nothing_but_time(
        tasks in any_tasks(1..8), script in script(7, gaps()), by in 1..1_000_000 * MS
    ) {
        let tasks: Vec<TaskSpec> = tasks.iter().cycle().take(7).copied().collect();
        for policy in POLICIES {
            let script = allowed(policy, &script);
            let early = script.run(policy, settings(policy), &tasks);
            let late = script.shifted(by).run(policy, settings(policy), &tasks);
            prop_assert_eq!(&early.totals, &late.totals);
            let (early, late) = (early.rows.unwrap(), late.rows.unwrap());
            for i in 0..early.len() {
                for (j, name) in COLUMNS.iter().enumerate() {
                    let moves = *name == "t_ns" || *name == "hrtick_at" && early.row(i)[j] != 0;
                    let expected = early.row(i)[j] + if moves { by } else { 0 };
                    prop_assert_eq!(late.row(i)[j], expected, "{}: {} {}", policy.name, i, name);
                }
            }
        }
    }

    #[test]
    fn same_input_same_bits_with_and_without_rows(
        tasks in any_tasks(7..8), script in script(7, gaps()), bits in any::<u32>()
    ) {
        for policy in POLICIES {
            let script = allowed(policy, &script);
            let chosen = with_some_features(policy, settings(policy), bits);
            let once = script.run(policy, chosen.clone(), &tasks);
            prop_assert_eq!(&once, &script.run(policy, chosen, &tasks));
            prop_assert_eq!(once.carried_out + once.ignored, script.t.len() as u64);
        }
    }

    #[test]
    fn virtual_time_may_wrap_around(
        others in prop::collection::vec((0i8..=19, 1..4 * MS, 1..30 * MS), 1..6)
    ) {
        // The first task keeps the CPU busy, so that the others are never forked on an idle CPU,
        // where CFS starts at virtual time 0.
        let list: Vec<i8> = [0].into_iter().chain(others.iter().map(|o| o.0)).collect();
        let tasks = nices(&list);
        let bursts = others.iter().map(|&(_, run, sleep)| Program::bursts(MS, &[(run, sleep)]));
        let programs: Vec<Program> = hogs(1).into_iter().chain(bursts).collect();
        for policy in POLICIES {
            let run = |first: i64| {
                let chosen = Settings { first_vruntime: first, ..settings(policy) };
                closed(policy, chosen, &tasks, &programs, 3_000 * MS, true)
            };
            let (far, wrapped) = (run(1 << 40), run(i64::MAX - 2_000 * MS));
            prop_assert_eq!(&far.totals, &wrapped.totals, "{}", policy.name);
            let (far, wrapped) = (far.rows.unwrap(), wrapped.rows.unwrap());
            prop_assert_eq!(far.len(), wrapped.len());
            for i in 0..far.len() {
                for name in ["t_ns", "op", "arg", "prev", "resched", "next", "nr_queued",
                    "sum_key_weight", "sum_weight", "arg_eligible", "hrtick_at"] {
                    let pair = (column(&far, i, name), column(&wrapped, i, name));
                    prop_assert_eq!(pair.0, pair.1, "{}: row {} {}", policy.name, i, name);
                }
            }
        }
    }

    #[test]
    fn nothing_overflows_over_years_and_extreme_weights(
        tasks in any_tasks(5..6),
        script in script(5, prop_oneof![3 => 0..MS, 1 => 0..1i64 << 52]),
        bits in any::<u32>(),
        ideal in any::<bool>()
    ) {
        for policy in POLICIES {
            let mut chosen = with_some_features(policy, settings(policy), bits);
            chosen.pick = if ideal { Pick::Ideal } else { Pick::Walk };
            let out = allowed(policy, &script).run(policy, chosen, &tasks);
            let rows = out.rows.unwrap();
            for i in (0..rows.len()).filter(|&i| column(&rows, i, "valid") == 1) {
                // Nobody runs only if nobody was left, delayed tasks apart.
                let (next, nr) = (column(&rows, i, "next"), column(&rows, i, "nr_queued"));
                prop_assert!(next >= 0 || nr == 0 || policy.custom_slices, "{}", policy.name);
                prop_assert!(next == -1 || nr > 0, "{}", policy.name);
            }
        }
    }
}

/// Eevdf policies with the name of their tunable.
fn eevdf() -> impl Iterator<Item = &'static Policy> {
    POLICIES.iter().filter(|p| p.name.starts_with("eevdf"))
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn lag_stays_within_two_slices_stretched_by_a_tick(list in prop::collection::vec(-20i8..=19, 2..12)) {
        let tasks = nices(&list);
        for policy in eevdf() {
            let out =
                closed(policy, settings(policy), &tasks, &hogs(list.len()), 4_000 * MS, true);
            let rows = out.rows.unwrap();
            for i in (0..rows.len()).filter(|&i| column(&rows, i, "op") == 6) {
                let spec = &tasks[column(&rows, i, "arg") as usize];
                let lag = column(&rows, i, "avg_vruntime") - column(&rows, i, "arg_vruntime");
                let service = lag as f64 * weight(spec) / 1024.0;
                // The base slice is at most 3 ms, and the tick of 4 ms may stretch it.
                prop_assert!(service.abs() <= 2.0 * (3e6 + 4e6),
                    "{}: nice {} is {service} ns off", policy.name, spec.nice);
            }
        }
    }

    #[test]
    fn a_hog_and_its_equal_never_differ_by_more_than_a_slice_and_a_tick(n in 2usize..20) {
        let tasks = nices(&vec![0; n]);
        for policy in eevdf() {
            let out = closed(policy, settings(policy), &tasks, &hogs(n), 2_000 * MS, false);
            let got: Vec<i64> = out.totals.iter().map(|t| t.exec).collect();
            let spread = got.iter().max().unwrap() - got.iter().min().unwrap();
            prop_assert!(spread <= 2 * (3 + 4) * MS, "{}: {got:?}", policy.name);
        }
    }
}

#[test]
fn thousands_of_tasks_of_every_nice_level_all_run_by_weight() {
    let tasks: Vec<TaskSpec> =
        (0..4000).map(|i| TaskSpec { nice: (i % 40) as i8 - 20, ..TaskSpec::default() }).collect();
    let programs: Vec<Program> =
        (0..4000).map(|i| Program::bursts(i * 10_000, &[(ENDLESS, 1)])).collect();
    let total: f64 = tasks.iter().map(weight).sum();
    let until = 400_000 * MS;
    for policy in POLICIES.iter().filter(|p| p.name != "o1") {
        let out = closed(policy, settings(policy), &tasks, &programs, until, false);
        for (spec, got) in tasks.iter().zip(&out.totals).filter(|(spec, _)| spec.nice <= -10) {
            let due = until as f64 * weight(spec) / total;
            assert!(
                (got.exec as f64 - due).abs() < 0.25 * due + 32e6,
                "{}: nice {} got {} of {due}",
                policy.name,
                spec.nice,
                got.exec
            );
        }
        let all: i64 = out.totals.iter().map(|t| t.exec).sum();
        assert_eq!(all, until, "{}", policy.name);
    }
}
