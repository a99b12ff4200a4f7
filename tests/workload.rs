//! Workloads: laws over every entry on every machine, and plans that must be refused.

use proptest::prelude::*;
use tickless::error::{Error, Result};
use tickless::machine::{Machine, presets};
use tickless::workload::{
    Amount, At, Barrier, Case, Channel, Device, End, Full, MAX_NESTING, Op, Parameters, Plan, Row,
    Spread, Task, WORKLOADS, WorkloadEntry, check, fits, workload,
};

fn machines() -> Vec<Machine> {
    presets::PRESETS.iter().map(|p| p.machine().unwrap()).collect()
}

fn skylake() -> Machine {
    presets::machine("8x-SKYLAKE-UMA").unwrap()
}

/// Every entry with every machine and every case of it.
fn all(mut law: impl FnMut(&WorkloadEntry, &Machine, &Case, Plan)) {
    for machine in machines() {
        for entry in WORKLOADS {
            let parameters = Parameters::fitted(entry, &machine).unwrap();
            for case in (entry.cases)(&machine) {
                let plan = entry.build(&machine, &case, &parameters).unwrap_or_else(|e| {
                    panic!("{} {:?} on {}: {e}", entry.name, case.label, machine.name)
                });
                law(entry, &machine, &case, plan);
            }
        }
    }
}

#[test]
fn every_case_of_every_workload_makes_a_plan_that_passes_the_checks() {
    let mut plans = 0;
    all(|_, _, _, _| plans += 1);
    assert!(plans > WORKLOADS.len() * machines().len(), "{plans} plans only");
}

#[test]
fn everything_that_is_reported_is_counted() {
    all(|entry, machine, case, plan| {
        for report in std::iter::once(&entry.report).chain(entry.more) {
            let counters = report.measure.counters();
            let latency = report.measure.latency();
            let place = format!("{} {:?} on {}", entry.name, case.label, machine.name);
            for counter in counters {
                let number = plan.counters.iter().position(|c| c == counter);
                let number = number.unwrap_or_else(|| panic!("{place}: no counter {counter}"));
                let counts = |op: &Op| *op == Op::Count(number as u32);
                let counted = plan.programs.iter().any(|p| p.ops.iter().any(counts));
                assert!(counted, "{place}: nobody counts {counter}");
            }
            if let Some(latency) = latency {
                let number = plan.latencies.iter().position(|l| l == latency);
                let number = number.unwrap_or_else(|| panic!("{place}: no latency {latency}"));
                let records = |op: &Op| *op == Op::Record(number as u32);
                assert!(plan.programs.iter().any(|p| p.ops.iter().any(records)), "{place}");
            }
        }
    });
}

#[test]
fn names_and_labels_are_unique() {
    let mut names: Vec<&str> = WORKLOADS
        .iter()
        .flat_map(|w| std::iter::once(w.name).chain(w.aliases.iter().copied()))
        .collect();
    let before = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), before);
    for machine in machines() {
        for entry in WORKLOADS {
            let cases = (entry.cases)(&machine);
            assert!(!cases.is_empty(), "{}: no case on {}", entry.name, machine.name);
            for (i, case) in cases.iter().enumerate() {
                assert!(
                    cases[..i].iter().all(|c| c.label != case.label),
                    "{}: {case:?}",
                    entry.name
                );
                assert_eq!(&entry.case(&machine, &case.label).unwrap(), case);
            }
        }
    }
}

#[test]
fn every_parameter_says_where_it_is_from_and_lies_in_its_range() {
    for entry in WORKLOADS {
        for (p, value) in Parameters::defaults(entry).iter() {
            assert!(!p.source.is_empty() && !p.summary.is_empty(), "{}: {}", entry.name, p.name);
            assert!((p.least..=p.most).contains(&value), "{}: {}", entry.name, p.name);
        }
    }
}

/// Parameters as they are, and with every switch between 0 and 1 thrown.
fn settings(entry: &WorkloadEntry) -> [Parameters; 2] {
    let plain = Parameters::defaults(entry);
    let mut thrown = plain.clone();
    for (p, value) in plain.iter().filter(|(p, _)| p.unit == "1" && p.most == 1.0) {
        thrown.set(p.name, 1.0 - value.round()).unwrap();
    }
    [plain, thrown]
}

#[test]
fn every_parameter_changes_some_plan() {
    let machines = [skylake(), presets::machine("epyc-2x64-nps1").unwrap()];
    for entry in WORKLOADS {
        for (p, _) in Parameters::defaults(entry).iter() {
            let differs = machines.iter().any(|machine| {
                (entry.cases)(machine).iter().any(|case| {
                    settings(entry).iter().any(|base| {
                        let value = base.get(p.name).unwrap();
                        let other =
                            if value * 2.0 + 2.0 <= p.most { value * 2.0 + 2.0 } else { p.least };
                        let mut changed = base.clone();
                        changed.set(p.name, other).unwrap();
                        let plan = |q: &Parameters| (entry.plan)(machine, case, q).ok();
                        plan(&changed) != plan(base)
                    })
                })
            });
            // Pace is that of kernel paths: what only computes, or streams, does not have it.
            let no_kernel = p.name == "pace" && entry.name == "unixbench-dhry2reg";
            assert!(differs || no_kernel, "{}: {} has no effect", entry.name, p.name);
        }
    }
}

#[test]
fn every_row_of_the_calibration_table_names_a_machine_a_workload_and_parameters() {
    for fit in fits().unwrap() {
        let machine = presets::machine(&fit.machine).unwrap();
        assert_eq!(machine.name, fit.machine, "aliases are not used in the table");
        assert!(!fit.source.is_empty());
        assert!(fit.set.len() <= 2, "{fit:?}: at most two numbers");
        let entry = workload(&fit.workload).unwrap();
        assert_eq!(entry.name, fit.workload, "aliases are not used in the table");
        let fitted = Parameters::fitted(entry, &machine).unwrap();
        for (name, &value) in &fit.set {
            assert_eq!(fitted.get(name).unwrap(), value);
        }
    }
}

#[test]
fn the_pace_of_a_machine_scales_the_work_of_a_client() {
    let machine = skylake();
    let entry = workload("tbench").unwrap();
    let mut parameters = Parameters::defaults(entry);
    let work = |p: &Parameters| -> i64 {
        let plan = entry.build(&machine, &Case::number(1), p).unwrap();
        let base = |op: &Op| match op {
            Op::Run(a) | Op::Kernel(a) => a.base,
            _ => 0,
        };
        plan.programs[0].ops.iter().map(base).sum()
    };
    let before = work(&parameters);
    parameters.set("pace", 3.0).unwrap();
    assert!((work(&parameters) - 3 * before).abs() <= 5, "{before} -> {}", work(&parameters));
}

#[test]
fn published_rows_are_the_cases() {
    let labels = |name: &str, machine: &str| -> Vec<String> {
        let machine = presets::machine(machine).unwrap();
        (workload(name).unwrap().cases)(&machine).into_iter().map(|c| c.label).collect()
    };
    assert_eq!(labels("tbench", "8x-SKYLAKE-UMA"), ["1", "2", "4", "8", "16", "32"]);
    let epyc = labels("tbench", "epyc-2x64-nps1");
    assert_eq!((epyc.len(), epyc[10].as_str()), (11, "1024"));
    assert_eq!(
        labels("hackbench", "epyc-2x64-nps1"),
        ["1-groups", "2-groups", "4-groups", "8-groups", "16-groups"]
    );
    let netperf = labels("netperf-tcp-rr", "epyc-2x64-nps1");
    assert_eq!((netperf.len(), netperf[9].as_str()), (10, "512-clients"));
    assert_eq!(labels("DeathStarBench", "epyc-2x64-nps1"), ["1CCD", "2CCD", "4CCD", "8CCD"]);
    assert_eq!(labels("stream-100", "epyc-2x64-nps1"), ["Copy", "Scale", "Add", "Triad"]);
    assert_eq!(labels("dbench", "48x-HASWELL-NUMA"), ["1", "2", "4", "8", "16", "32", "64"]);
    let sizes = ["64", "128", "256", "1024", "2048", "3312", "4096", "8192", "16384"];
    assert_eq!(labels("netperf-udp", "8x-SKYLAKE-UMA"), sizes);
    assert_eq!(labels("sockperf", "48x-HASWELL-NUMA"), ["14", "100", "300", "500", "850"]);
    let columns = ["2p/0K", "2p/16K", "2p/64K", "8p/16K", "8p/64K", "16p/16K", "16p/64K"];
    assert_eq!(labels("lmbench-ctxsw", "dual-p4-1700"), columns);
    assert_eq!(labels("pollbench", "dual-p4-1700"), ["1 100 5000", "2 100 2000", "5 100 2000"]);
    let unixbench = labels("unixbench", "epyc-2x64-nps1");
    assert_eq!(unixbench.len(), 10);
    assert_eq!(unixbench[3], "unixbench-syscall-512");
    let schbench = labels("schbench", "epyc-2x64-nps1");
    assert_eq!((schbench.len(), schbench[9].as_str()), (10, "512"));
}

#[test]
fn a_number_is_a_case_and_nonsense_is_not() {
    let machine = skylake();
    let entry = workload("tbench").unwrap();
    assert_eq!(entry.case(&machine, "3").unwrap(), Case::number(3));
    assert!(matches!(entry.case(&machine, "many"), Err(Error::UnknownName { kind: "case", .. })));
    for bad in [0, -1, 10_000_000] {
        let error = entry.build(&machine, &Case::number(bad), &Parameters::defaults(entry));
        assert!(error.is_err(), "{bad} clients");
    }
}

#[test]
fn an_unknown_parameter_lists_the_nearest_and_a_wild_value_is_refused() {
    let mut p = Parameters::defaults(workload("tbench").unwrap());
    let Err(Error::UnknownName { nearest, .. }) = p.set("client_sent", 1.0) else { panic!() };
    assert_eq!(nearest[0], "client_send");
    for wild in [f64::NAN, f64::INFINITY, -1.0, 1e12] {
        assert!(
            matches!(p.set("client_send", wild), Err(Error::InvalidParameter { .. })),
            "{wild}"
        );
    }
}

// ---------------------------------------------------------------------------------------------
// Plans that must be refused
// ---------------------------------------------------------------------------------------------

/// One task that runs these operations, with two channels as handles.
fn one(ops: &[Op]) -> Plan {
    let mut plan = Plan::default();
    plan.counter("done");
    let program = plan.program("only", ops.to_vec());
    let handles = [plan.channel(Channel::connection()), plan.channel(Channel::connection())];
    plan.task(Task { program, ..Task::default() }, &handles);
    plan
}

fn refusal(plan: &Plan) -> String {
    match check(plan, &skylake()) {
        Ok(()) => panic!("accepted"),
        Err(e) => e.to_string(),
    }
}

const WORK: Op = Op::Run(Amount::ns(1000));

#[test]
fn a_message_that_nobody_sends_is_a_deadlock_that_names_the_task() {
    let text = refusal(&one(&[WORK, Op::Receive(At::Handle(1))]));
    assert!(text.contains("deadlock: task 0 waits in workload.programs[only].ops[1]"), "{text}");
}

#[test]
fn two_tasks_that_both_wait_first_are_a_deadlock() {
    let mut plan = Plan::default();
    let ops = |from, to| {
        [Op::Receive(At::Handle(from)), WORK, Op::Send { to: At::Handle(to), reply: None }]
    };
    let programs = [plan.program("a", ops(0, 1)), plan.program("b", ops(1, 0))];
    let handles = [plan.channel(Channel::connection()), plan.channel(Channel::connection())];
    for program in programs {
        plan.task(Task { program, ..Task::default() }, &handles);
    }
    let text = refusal(&plan);
    assert!(text.contains("task 0") && text.contains("task 1"), "{text}");
}

#[test]
fn messages_that_nobody_takes_are_refused_unless_they_are_dropped() {
    let mut plan = one(&[WORK, Op::Send { to: At::Handle(0), reply: None }]);
    assert!(refusal(&plan).contains("nobody receives"));
    plan.channels[0].full = Full::Drop;
    check(&plan, &skylake()).unwrap();
}

#[test]
fn a_program_without_time_is_refused() {
    for ops in [
        vec![Op::Count(0)],
        vec![Op::Yield],
        vec![WORK, Op::Repeat(0), Op::Count(0), Op::Next],
        vec![WORK, Op::Repeat(2000), Op::Repeat(2000), Op::Count(0), Op::Next, Op::Next],
        vec![Op::Send { to: At::Handle(0), reply: None }, Op::Receive(At::Handle(0))],
    ] {
        assert!(refusal(&one(&ops)).contains("without time passing"), "{ops:?}");
    }
    let inner = [Op::Repeat(2000), Op::Repeat(2000), Op::Count(0), Op::Next, WORK, Op::Next];
    check(&one(&inner), &skylake()).unwrap();
}

#[test]
fn each_bad_program_is_refused_with_the_place() {
    let deep: Vec<Op> = std::iter::repeat_n(Op::Repeat(2), MAX_NESTING + 1)
        .chain([WORK])
        .chain(std::iter::repeat_n(Op::Next, MAX_NESTING + 1))
        .collect();
    let lock = At::Number(0);
    let cases: Vec<(Vec<Op>, &str)> = vec![
        (vec![], "has no operations"),
        (vec![Op::Run(Amount::ns(0))], "ops[0]: takes 0 ns"),
        (vec![WORK, Op::Sleep(Amount::ns(-5))], "ops[1]: -5 ns"),
        (vec![Op::Kernel(Amount::ns(i64::MAX))], "ops[0]"),
        (vec![Op::Run(Amount::ns(5).per(0, -1))], "negative"),
        (vec![Op::Run(Amount::ns(5).spread(Spread::Uniform(1001)))], "uniform"),
        (vec![Op::Every(0)], "period"),
        (vec![WORK, Op::Memory(0)], "no bytes"),
        (vec![WORK, Op::Memory(1 << 40)], "ops[1]: moves 1099511627776 bytes"),
        (vec![WORK, Op::Touch(0)], "no bytes"),
        (vec![WORK, Op::Repeat(2), WORK], "ops[1]: this loop has no Next"),
        (vec![WORK, Op::Next], "ops[1]: Next without"),
        (deep, "nested"),
        (vec![WORK, Op::Unless { permille: 5, skip: 0 }], "skips 0"),
        (vec![WORK, Op::Unless { permille: 5, skip: 9 }], "skips 9"),
        (vec![WORK, Op::Unless { permille: 1001, skip: 1 }, WORK], "probability"),
        (vec![WORK, Op::Unless { permille: 5, skip: 1 }, Op::Repeat(2), WORK, Op::Next], "part of"),
        (vec![WORK, Op::Receive(At::Number(9))], "ops[1]: channel 9 does not exist; there are 2"),
        (vec![WORK, Op::Receive(At::Handle(2))], "ops[1]: handle 2 does not exist"),
        (vec![WORK, Op::Receive(At::Caller)], "caller"),
        (vec![WORK, Op::Send { to: At::Caller, reply: None }], "asks for an answer"),
        (vec![WORK, Op::Lock(At::Number(7))], "lock 7"),
        (vec![WORK, Op::Lock(lock), Op::Lock(lock)], "already holds"),
        (vec![WORK, Op::Unlock(lock)], "does not hold"),
        (vec![WORK, Op::Lock(lock)], "begins anew with a lock held"),
        (vec![WORK, Op::Lock(lock), Op::Exit], "exits with a lock"),
        (vec![WORK, Op::Repeat(2), Op::Lock(lock), Op::Next, Op::Unlock(lock)], "other locks"),
        (vec![WORK, Op::Line(At::Number(0))], "line 0"),
        (vec![WORK, Op::Io(At::Number(0))], "device 0"),
        (vec![WORK, Op::Post(At::Number(0))], "board 0"),
        (vec![WORK, Op::Draw(0)], "table 0"),
        (vec![WORK, Op::Count(1)], "counter 1 does not exist; there are 1"),
        (vec![WORK, Op::Record(0)], "latency 0"),
        (vec![WORK, Op::Fork(3)], "program 3"),
        (vec![WORK, Op::Fork(0)], "spare"),
        (vec![WORK, Op::Wait], "forks none"),
        (vec![WORK, Op::Barrier(At::Number(0))], "3 parties are awaited, only 1"),
    ];
    for (ops, expected) in cases {
        let mut plan = one(&ops);
        plan.locks.push(tickless::workload::Mutex { spin: true });
        plan.barriers.push(Barrier { parties: 3, spin: 0 });
        let text = refusal(&plan);
        assert!(text.contains(expected), "{ops:?}: {text}");
    }
}

#[test]
fn each_bad_thing_is_refused_with_its_name() {
    type Spoil = fn(&mut Plan);
    let mut cases: Vec<(Spoil, &str)> = Vec::new();
    let mut bad = |change: fn(&mut Plan), expected| cases.push((change, expected));
    bad(|p| p.tasks.clear(), "workload.tasks: no task");
    bad(|p| p.spare = 10_000_000, "10000001 tasks need about 10.2 GB");
    bad(|p| p.window = 0, "workload.window");
    bad(|p| p.warmup = -1, "workload.warmup");
    bad(|p| p.end = End::AllExit(0), "workload.end");
    bad(|p| p.end = End::AllExit(1_000_000), "never exits");
    bad(|p| p.paths.block = Some(-3), "workload.paths.block");
    bad(|p| p.channels[1].capacity = 0, "workload.channels[1]");
    bad(|p| p.channels[1].drain = 0, "workload.channels[1]");
    bad(|p| p.channels[1] = Channel { capacity: 2, drain: 3, ..Channel::connection() }, "drain 3");
    bad(|p| p.barriers.push(Barrier { parties: 0, spin: 0 }), "workload.barriers[0]");
    bad(|p| p.boards.push(9), "workload.boards[0]: channel 9");
    bad(|p| p.devices.push(Device { service: Amount::ns(0), parallel: 1 }), "some time");
    bad(|p| p.devices.push(Device { service: Amount::ns(5), parallel: 0 }), "at least 1 request");
    bad(|p| p.tables.push(vec![]), "workload.tables[0]: the weights add up to 0");
    bad(|p| p.tables.push(vec![Row { weight: 0, registers: [1, 1] }]), "add up to 0");
    bad(|p| p.tables.push(vec![Row { weight: 1, registers: [u32::MAX, 1] }]), "workload.tables[0]");
    bad(|p| p.affinities.push(vec![]), "workload.affinities[0]: no CPU");
    bad(|p| p.affinities.push(vec![3, 8]), "CPU 8 does not exist; 8x-SKYLAKE-UMA has 8");
    bad(|p| p.tasks[0].nice = 20, "nice 20");
    bad(|p| p.tasks[0].program = 4, "program 4");
    bad(|p| p.tasks[0].slice = -1, "slice");
    bad(|p| p.tasks[0].affinity = Some(0), "affinity 0");
    bad(|p| p.tasks[0].handle_count = 99, "handles end at 99");
    for (change, expected) in cases {
        let mut plan = one(&[WORK]);
        change(&mut plan);
        let text = refusal(&plan);
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn a_request_is_answered_through_the_caller() {
    let mut plan = Plan::default();
    let (queue, own) = (At::Handle(0), At::Handle(1));
    let client =
        plan.program("client", [WORK, Op::Send { to: queue, reply: Some(own) }, Op::Receive(own)]);
    let server = plan
        .program("server", [Op::Receive(queue), WORK, Op::Send { to: At::Caller, reply: None }]);
    let queue = plan.channel(Channel::connection());
    for program in [client, client, server] {
        let own = plan.channel(Channel::connection());
        plan.task(Task { program, ..Task::default() }, &[queue, own]);
    }
    check(&plan, &skylake()).unwrap();
    plan.programs[1].ops.pop();
    assert!(refusal(&plan).contains("nobody can send"));
}

// ---------------------------------------------------------------------------------------------
// Properties
// ---------------------------------------------------------------------------------------------

fn any_at() -> impl Strategy<Value = At> {
    prop_oneof![
        (0_u32..5).prop_map(At::Number),
        (0_u32..5).prop_map(At::Handle),
        any::<u32>().prop_map(At::Number),
        Just(At::Caller)
    ]
}

fn any_amount() -> impl Strategy<Value = Amount> {
    (prop_oneof![0_i64..5, any::<i64>()], any::<i32>(), any::<u16>()).prop_map(|(base, per, n)| {
        let spread = [Spread::Fixed, Spread::Uniform(n), Spread::Exponential, Spread::LogNormal(n)];
        Amount::ns(base).per(0, per).spread(spread[usize::from(n) % 4])
    })
}

fn any_op() -> impl Strategy<Value = Op> {
    let small = || prop_oneof![0_u32..4, any::<u32>()];
    prop_oneof![
        any_amount().prop_map(Op::Run),
        any_amount().prop_map(Op::Kernel),
        any_amount().prop_map(Op::Sleep),
        any::<i64>().prop_map(Op::Every),
        (any_at(), proptest::option::of(any_at())).prop_map(|(to, reply)| Op::Send { to, reply }),
        any_at().prop_map(Op::Receive),
        any_at().prop_map(Op::Post),
        (any_at(), any_amount()).prop_map(|(board, each)| Op::Release { board, each }),
        any_at().prop_map(Op::Lock),
        any_at().prop_map(Op::Unlock),
        any_at().prop_map(Op::Line),
        any_at().prop_map(Op::Barrier),
        any_at().prop_map(Op::Io),
        any::<u64>().prop_map(Op::Memory),
        small().prop_map(Op::Draw),
        (any::<u16>(), 0_u16..4).prop_map(|(permille, skip)| Op::Unless { permille, skip }),
        small().prop_map(Op::Repeat),
        Just(Op::Next),
        small().prop_map(Op::Fork),
        Just(Op::Wait),
        Just(Op::Exit),
        Just(Op::Yield),
        small().prop_map(Op::Count),
    ]
}

/// One change to a plan: where, which operation, which numbers.
type Change = (usize, usize, Op, u8, u32);

fn change(plan: &mut Plan, (program, place, op, what, number): Change) {
    let programs = plan.programs.len();
    let ops = &mut plan.programs[program % programs].ops;
    let place = place % (ops.len() + 1);
    match what % 9 {
        0 | 1 => ops.insert(place, op),
        2 if place < ops.len() => ops[place] = op,
        3 if place < ops.len() => drop(ops.remove(place)),
        4 => plan.spare = number,
        5 => {
            let i = place % plan.tasks.len();
            plan.tasks[i].handles = number % 9;
        }
        6 if !plan.handles.is_empty() => {
            let i = place % plan.handles.len();
            plan.handles[i] = number % 9;
        }
        7 => plan.barriers.push(Barrier { parties: number % 5, spin: i64::from(number) - 5 }),
        8 if !plan.channels.is_empty() => {
            let i = place % plan.channels.len();
            plan.channels[i].capacity = number;
        }
        _ => {}
    }
}

fn small_plan(entry: usize) -> Result<Plan> {
    let machine = presets::machine("vm-2cpu")?;
    let entry = &WORKLOADS[entry % WORKLOADS.len()];
    let cases = (entry.cases)(&machine);
    entry.build(&machine, &cases[0], &Parameters::defaults(entry))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_that_was_tampered_with_is_accepted_or_refused_but_never_panics(
        entry in any::<usize>(),
        changes in proptest::collection::vec(
            (any::<usize>(), any::<usize>(), any_op(), any::<u8>(), prop_oneof![0_u32..6, any::<u32>()]),
            1..6,
        ),
    ) {
        let mut plan = small_plan(entry).unwrap();
        for c in changes {
            change(&mut plan, c);
        }
        let machine = presets::machine("vm-2cpu").unwrap();
        let first = check(&plan, &machine);
        prop_assert_eq!(first, check(&plan, &machine));
    }

    #[test]
    fn what_passes_refers_only_to_what_exists(
        ops in proptest::collection::vec(any_op(), 1..8),
    ) {
        let plan = one(&ops);
        if check(&plan, &skylake()).is_ok() {
            for op in &ops {
                let at = match *op {
                    Op::Send { to, .. } => Some(to),
                    Op::Receive(at) => Some(at),
                    _ => None,
                };
                match at {
                    Some(At::Number(n) | At::Handle(n)) => prop_assert!(n < 2),
                    // Nobody asks; it stands where no task ever comes.
                    Some(At::Caller) => {
                        prop_assert!(ops.contains(&Op::Exit) || ops.contains(&Op::Repeat(0)));
                    }
                    None => {}
                }
                prop_assert!(!matches!(op, Op::Lock(_) | Op::Io(_) | Op::Fork(_) | Op::Post(_)));
            }
        }
    }
}
