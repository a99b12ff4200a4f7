//! Random small programs of all operations on one to eight CPUs: they run or fail with words, and
//! every law of the engine holds.

mod support;

use proptest::prelude::*;
use support::{MS, Run, fingerprint, free_machine, preset};
use tickless::kernel::{Kernel, kernels};
use tickless::machine::{Machine, Value};
use tickless::workload::{
    Amount, At, Barrier, Channel, Device, Full, Guard, Mutex, Op, Plan, Row, Spread, Task,
    TaskClass, check,
};

const CHANNELS: u32 = 3;
const LOCKS: u32 = 3;
const PARTIES: u32 = 2;

/// A piece of a program that is in balance by itself.
#[derive(Debug, Clone)]
enum Piece {
    One(Op),
    Locked(At, Box<Piece>),
    Loop(u32, Vec<Piece>),
    Sometimes(u16, Vec<Piece>),
    Serve,
    Answer(u32),
    Ask(u32),
    Children(u32),
}

impl Piece {
    fn write(&self, ops: &mut Vec<Op>) {
        match self {
            Self::One(op) => ops.push(*op),
            Self::Locked(lock, inner) => {
                ops.push(Op::Lock(*lock));
                inner.write(ops);
                ops.push(Op::Unlock(*lock));
            }
            Self::Loop(times, inner) => {
                ops.push(Op::Repeat(*times));
                inner.iter().for_each(|piece| piece.write(ops));
                ops.push(Op::Next);
            }
            Self::Sometimes(permille, inner) => {
                let mut part = Vec::new();
                inner.iter().for_each(|piece| piece.write(&mut part));
                ops.push(Op::Unless { permille: *permille, skip: part.len() as u16 });
                ops.extend(part);
            }
            Self::Serve => ops.extend([
                Op::Receive(At::Number(0)),
                Op::Release { board: At::Number(0), each: Amount::ns(300) },
            ]),
            Self::Answer(from) => ops.extend([
                Op::Receive(At::Number(*from)),
                Op::Run(Amount::ns(10).per(0, 500)),
                Op::Send { to: At::Caller, reply: None },
            ]),
            Self::Ask(to) => ops.extend([
                Op::Send { to: At::Number(*to), reply: Some(At::Handle(0)) },
                Op::Receive(At::Handle(0)),
            ]),
            Self::Children(n) => {
                (0..*n).for_each(|_| ops.push(Op::Fork(0)));
                (0..*n).for_each(|_| ops.push(Op::Wait));
            }
        }
    }
}

fn amount() -> impl Strategy<Value = Amount> {
    let spread = prop_oneof![
        Just(Spread::Fixed),
        Just(Spread::Uniform(300)),
        Just(Spread::Exponential),
        Just(Spread::LogNormal(500)),
    ];
    (prop_oneof![Just(1), Just(80), Just(900), Just(30_000), Just(2_500_000)], spread)
        .prop_map(|(ns, spread)| Amount::ns(ns).spread(spread))
}

fn one() -> impl Strategy<Value = Op> {
    let channel = || prop_oneof![(0..CHANNELS).prop_map(At::Number), Just(At::Handle(0))];
    let work = prop_oneof![
        3 => amount().prop_map(Op::Run),
        3 => amount().prop_map(Op::Kernel),
        1 => amount().prop_map(Op::Spin),
        2 => amount().prop_map(Op::Sleep),
        1 => prop_oneof![Just(1), Just(40_000), Just(3_000_000)].prop_map(Op::Every),
        1 => (1_u64..200_000).prop_map(Op::Memory),
        1 => (1_u32..100_000).prop_map(Op::Touch),
        1 => Just(Op::Io(At::Number(0))),
    ];
    let rest = prop_oneof![
        4 => channel().prop_map(|to| Op::Send { to, reply: None }),
        4 => channel().prop_map(Op::Receive),
        1 => Just(Op::Post(At::Number(0))),
        1 => Just(Op::Line(At::Number(0))),
        2 => (0_u32..2).prop_map(|b| Op::Barrier(At::Number(b))),
        1 => Just(Op::Yield),
        1 => Just(Op::Draw(0)),
        1 => Just(Op::Count(0)),
        1 => Just(Op::Stamp),
        1 => Just(Op::Record(0)),
        1 => Just(Op::Fork(0)),
    ];
    prop_oneof![work, rest]
}

fn lock() -> impl Strategy<Value = At> {
    prop_oneof![(0..LOCKS).prop_map(At::Number), Just(At::Handle(1))]
}

fn piece() -> impl Strategy<Value = Piece> {
    let leaf = prop_oneof![
        10 => one().prop_map(Piece::One),
        1 => Just(Piece::Serve),
        1 => (0..CHANNELS).prop_map(Piece::Answer),
        1 => (0..CHANNELS).prop_map(Piece::Ask),
        1 => (1_u32..4).prop_map(Piece::Children),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let some = || prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            (lock(), inner.clone()).prop_map(|(lock, piece)| Piece::Locked(lock, Box::new(piece))),
            (1_u32..5, some()).prop_map(|(times, pieces)| Piece::Loop(times, pieces)),
            (0_u16..=1000, some())
                .prop_map(|(permille, pieces)| Piece::Sometimes(permille, pieces)),
        ]
    })
}

fn channel() -> impl Strategy<Value = Channel> {
    (1_u32..5, any::<bool>(), any::<bool>(), 1_u32..3, any::<bool>()).prop_map(
        |(capacity, drops, sync, drain, guarded)| Channel {
            capacity,
            full: if drops { Full::Drop } else { Full::Block },
            sync,
            drain: drain.min(capacity),
            guard: guarded.then_some(Guard { hold: 150, lines_permille: 2500 }),
        },
    )
}

fn task(programs: u32) -> impl Strategy<Value = (Task, [u32; 2])> {
    let class = prop_oneof![
        4 => Just(TaskClass::Normal),
        1 => Just(TaskClass::Batch),
        1 => Just(TaskClass::Idle),
    ];
    let slice = prop_oneof![3 => Just(0), 1 => 100_000_i64..10_000_000];
    let start = prop_oneof![2 => Just(0), 1 => 0..12 * MS];
    let affinity = prop_oneof![3 => Just(None), 1 => (0_u32..2).prop_map(Some)];
    ((1..=programs, -20_i8..20, class), (slice, start, affinity), (0..CHANNELS, 0..LOCKS)).prop_map(
        |((program, nice, class), (slice, start, affinity), (channel, lock))| {
            let task = Task { program, nice, class, slice, start, affinity, ..Task::default() };
            (task, [channel, lock])
        },
    )
}

/// A plan that shows only what differs from one to the next.
#[derive(Clone)]
struct Random(Plan);

impl std::fmt::Debug for Random {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(plan) = self;
        for program in &plan.programs {
            writeln!(f, "{} {:?}", program.name, program.ops)?;
        }
        for task in &plan.tasks {
            writeln!(f, "{task:?}")?;
        }
        writeln!(f, "{:?} {:?} {:?}", plan.handles, plan.channels, plan.locks)
    }
}

fn plan() -> impl Strategy<Value = Random> {
    let programs = prop::collection::vec((prop::collection::vec(piece(), 1..6), 0_u8..6), 1..4);
    let programs = programs.prop_flat_map(|list| {
        let tasks = prop::collection::vec(task(list.len() as u32), 1..9);
        (Just(list), tasks)
    });
    let channels = prop::collection::vec(channel(), CHANNELS as usize);
    (programs, channels, prop::collection::vec(any::<bool>(), LOCKS as usize)).prop_map(
        |((programs, tasks), channels, locks)| {
            let mut plan = Plan {
                channels,
                locks: locks.into_iter().map(|spin| Mutex { spin }).collect(),
                lines: 1,
                barriers: vec![
                    Barrier { parties: PARTIES, spin: 0 },
                    Barrier { parties: PARTIES, spin: 5_000 },
                ],
                boards: vec![0],
                devices: vec![Device { service: Amount::ns(70_000), parallel: 2 }],
                tables: vec![vec![
                    Row { weight: 2, registers: [0, 7] },
                    Row { weight: 1, registers: [9000, 3] },
                ]],
                affinities: vec![vec![0], vec![0]],
                spare: 3,
                warmup: 2 * MS,
                window: 15 * MS,
                ..Plan::default()
            };
            plan.counter("count");
            plan.latency("latency");
            plan.program("child", [Op::Run(Amount::ns(5000)), Op::Exit]);
            for (pieces, end) in programs {
                let mut ops = Vec::new();
                pieces.iter().for_each(|piece| piece.write(&mut ops));
                // One in six ends, the others go round.
                if end == 0 {
                    ops.push(Op::Exit);
                } else {
                    ops.push(Op::Run(Amount::ns(1000)));
                }
                plan.program("fuzz", ops);
            }
            for (task, handles) in tasks {
                plan.task(task, &handles);
            }
            Random(plan)
        },
    )
}

fn shaped(name: &str, sockets: i64, cores: i64, threads: i64) -> Machine {
    let shape = [
        ("topology.sockets", Value::Int(sockets)),
        ("topology.numa_nodes", Value::Int(sockets)),
        ("topology.llcs_per_socket", Value::Int(1)),
        ("topology.cores_per_socket", Value::Int(cores)),
        ("topology.threads_per_core", Value::Int(threads)),
    ];
    let shape = shape.map(|(name, value)| (name.to_owned(), value));
    preset(name).replace(&shape).unwrap()
}

fn machines() -> Vec<Machine> {
    vec![
        shaped("8x-SKYLAKE-UMA", 1, 1, 1),
        shaped("8x-SKYLAKE-UMA", 1, 1, 2),
        shaped("8x-SKYLAKE-UMA", 2, 2, 1),
        shaped("8x-SKYLAKE-UMA", 1, 4, 2),
        free_machine(1),
        free_machine(3),
    ]
}

/// Lets a plan fit a machine: the second set of CPUs is its last one, or its last two.
fn fit(plan: &Plan, machine: &Machine) -> Plan {
    let mut plan = plan.clone();
    let last = machine.ncpus - 1;
    plan.affinities = vec![vec![0], vec![last.saturating_sub(1), last]];
    plan.affinities[1].dedup();
    plan
}

fn try_plan(plan: &Plan, machine: &Machine, kernel: &Kernel, noise: f64) -> bool {
    let plan = fit(plan, machine);
    if check(&plan, machine).is_err() {
        return false;
    }
    let run = Run { noise, ..Run::new(machine, kernel, &plan) };
    if let Ok(file) = std::env::var("FUZZ_LAST") {
        std::fs::write(file, format!("{run}\n{:?}", Random(plan.clone()))).unwrap();
    }
    let first = run.watched();
    let again = Run { record: true, ..run }.result();
    match (first, again) {
        (Ok(first), Ok(again)) => assert_eq!(fingerprint(&first), fingerprint(&again), "{run}"),
        (Err(first), Err(again)) => {
            let said = first.to_string();
            assert_eq!(said, again.to_string(), "{run}");
            let known = ["deadlock", "without any time", "answers a caller"];
            assert!(known.iter().any(|words| said.contains(words)), "{run}: {said}");
        }
        (first, again) => panic!("{run}: {:?} and {:?}", first.is_ok(), again.is_ok()),
    }
    true
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 150,
        max_global_rejects: 5000, // four in five are refused before they run
        max_shrink_time: 20_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]
    #[test]
    fn random_programs_run_or_fail_with_words_and_keep_every_law(
        plan in plan(),
        machine in 0_usize..6,
        kernel in any::<prop::sample::Index>(),
        noisy in any::<bool>(),
    ) {
        let machine = &machines()[machine];
        let noise = if noisy { 1.0 } else { 0.0 };
        let taken = try_plan(&plan.0, machine, kernel.get(kernels()), noise);
        prop_assume!(taken);
    }
}
