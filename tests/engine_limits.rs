//! Workloads that stand still, go on for ever, or are out of all proportion.

mod support;

use support::{MS, Run, free_machine, kernel, preset};
use tickless::engine::Count;
use tickless::kernel::{Kernel, KernelValue};
use tickless::machine::{Machine, Value};
use tickless::workload::{
    Amount, At, Barrier, Channel, End, Full, Mutex, Op, Plan, Task, TaskClass, check,
};

fn run(ns: i64) -> Op {
    Op::Run(Amount::ns(ns))
}

fn short() -> Plan {
    Plan { warmup: 0, window: 20 * MS, ..Plan::default() }
}

fn add(plan: &mut Plan, program: u32, tasks: u32) {
    (0..tasks).for_each(|_| plan.task(Task { program, ..Task::default() }, &[]));
}

fn cpus(n: i64) -> Machine {
    let shape = [("topology.cores_per_socket", n), ("topology.threads_per_core", 1)];
    let shape = shape.map(|(name, n)| (name.to_owned(), Value::Int(n)));
    preset("8x-SKYLAKE-UMA").replace(&shape).unwrap()
}

fn some_kernels() -> Vec<Kernel> {
    ["2.5.54", "4.18-vanilla", "6.1", "eevdf", "6.12", "7.2"].map(kernel).to_vec()
}

/// What a run that stands still says.
fn stands_still(machine: &Machine, plan: &Plan) -> String {
    let kernel = kernel("6.12");
    let said = Run::new(machine, &kernel, plan).watched().unwrap_err().to_string();
    assert!(said.contains("deadlock"), "{said}");
    said
}

/// Two tasks that take two locks in opposite order.
fn crossed(spin: bool) -> Plan {
    let mut plan = Plan { locks: vec![Mutex { spin }; 2], ..short() };
    for (name, [first, second]) in [("left", [0, 1]), ("right", [1, 0])] {
        let (first, second) = (At::Number(first), At::Number(second));
        let ops = [
            Op::Lock(first),
            run(100_000),
            Op::Lock(second),
            Op::Unlock(second),
            Op::Unlock(first),
        ];
        let program = plan.program(name, ops);
        add(&mut plan, program, 1);
    }
    plan
}

#[test]
fn locks_taken_in_opposite_order_are_a_deadlock_with_names() {
    for spin in [false, true] {
        let said = stands_still(&cpus(2), &crossed(spin));
        for words in ["task 0 (left) waits for lock 1", "task 1 (right) waits for lock 0"] {
            assert!(said.contains(words), "{said}");
        }
    }
}

#[test]
fn a_barrier_with_too_few_parties_is_a_deadlock() {
    for spin in [0, 5_000] {
        let mut plan = Plan { barriers: vec![Barrier { parties: 3, spin }], ..short() };
        let program = plan.program("party", [run(1000), Op::Barrier(At::Number(0))]);
        add(&mut plan, program, 2);
        let machine = cpus(2);
        assert!(check(&plan, &machine).is_err());
        assert!(stands_still(&machine, &plan).contains("task 1 (party) waits for the others at"));
    }
}

#[test]
fn a_receiver_of_what_nobody_sends_is_a_deadlock() {
    let mut plan = short();
    let channel = plan.channel(Channel::connection());
    let program = plan.program("reader", [Op::Receive(At::Number(channel))]);
    add(&mut plan, program, 1);
    let said = stands_still(&cpus(1), &plan);
    assert!(said.contains("task 0 (reader) waits for a message on channel 0"), "{said}");
}

#[test]
fn operations_that_never_take_time_are_an_error_and_not_a_hang() {
    let machine = free_machine(1);
    let nothing = Op::Run(Amount::ns(0).per(0, 5)); // the register is never set
    let mut plan = short();
    let program = plan.program("empty", [nothing]);
    add(&mut plan, program, 1);
    let kernel = kernel("6.12");
    let said = Run::new(&machine, &kernel, &plan).result().unwrap_err().to_string();
    assert!(
        said.contains("workload.programs[empty]") && said.contains("without any time"),
        "{said}"
    );
}

#[test]
fn bytes_of_the_nearest_cache_take_time() {
    for op in [Op::Touch(64), Op::Memory(1)] {
        let mut plan = Plan { window: MS, ..short() };
        let program = plan.program("reader", [op]);
        add(&mut plan, program, 1);
        let (machine, kernel) = (cpus(1), kernel("6.12"));
        Run::new(&machine, &kernel, &plan).watched().unwrap();
    }
}

#[test]
fn an_answer_without_a_request_is_an_error() {
    let mut plan = short();
    let channel = plan.channel(Channel::connection());
    let sender =
        plan.program("sender", [Op::Send { to: At::Number(channel), reply: None }, run(10)]);
    let answer = [Op::Receive(At::Number(channel)), Op::Send { to: At::Caller, reply: None }];
    let server = plan.program("server", answer);
    add(&mut plan, sender, 1);
    add(&mut plan, server, 1);
    let (machine, kernel) = (cpus(2), kernel("6.12"));
    let said = Run::new(&machine, &kernel, &plan).watched().unwrap_err().to_string();
    assert!(said.contains("workload.programs[server].ops[1]"), "{said}");
}

#[test]
fn a_run_that_ends_by_itself_took_as_long_as_its_work() {
    let machine = free_machine(1);
    for kernel in some_kernels() {
        // Before and after the middle of the window, which the run looks at.
        for work in [3 * MS, 14 * MS] {
            let mut plan = Plan { end: End::AllExit(20 * MS), ..short() };
            let program = plan.program("job", [run(work), Op::Exit]);
            add(&mut plan, program, 1);
            let outcome = Run::new(&machine, &kernel, &plan).watched().unwrap();
            assert!(outcome.finished);
            assert_eq!(outcome.elapsed, work, "{}", kernel.name);
        }
    }
}

#[test]
fn more_children_than_places_wait_for_places() {
    for kernel in some_kernels() {
        let mut plan = Plan { spare: 2, end: End::AllExit(20_000 * MS), ..short() };
        let born = plan.counter("born");
        let child = plan.program("child", [run(50_000), Op::Count(born), Op::Exit]);
        let parent = plan.program(
            "parent",
            [
                Op::Repeat(20),
                Op::Fork(child),
                Op::Next,
                Op::Repeat(20),
                Op::Wait,
                Op::Next,
                Op::Exit,
            ],
        );
        add(&mut plan, parent, 1);
        let machine = cpus(1);
        let run = Run::new(&machine, &kernel, &plan);
        let outcome = run.watched().unwrap();
        assert!(outcome.finished, "{run}: {} born", outcome.metrics.counters[0]);
        assert_eq!(outcome.metrics.counters[0], 20, "{run}");
    }
}

#[test]
fn grandchildren_do_not_report_to_whoever_has_the_place_of_their_parent() {
    // Each son leaves before the grandson does, and his place is given to the next son.
    let mut plan = Plan { spare: 2, end: End::AllExit(200 * MS), ..short() };
    let done = plan.counter("rounds");
    let grandson = plan.program("grandson", [run(3 * MS), Op::Exit]);
    let son = plan.program("son", [run(1000), Op::Fork(grandson), Op::Exit]);
    let waiter = plan.program("waiter", [Op::Fork(grandson), Op::Wait, Op::Count(done), Op::Exit]);
    let first =
        plan.program("first", [Op::Fork(son), Op::Wait, Op::Fork(waiter), Op::Wait, Op::Exit]);
    add(&mut plan, first, 1);
    let (machine, kernel) = (free_machine(4), kernel("6.12"));
    let outcome = Run::new(&machine, &kernel, &plan).watched().unwrap();
    // Son 1 us, then both grandsons one after the other: one place is free at a time.
    assert!(outcome.finished);
    assert!(outcome.elapsed >= 6 * MS, "{} ns", outcome.elapsed);
    assert_eq!(outcome.metrics.counters[0], 1);
}

#[test]
fn a_hundred_thousand_tasks_on_one_cpu_share_it() {
    let mut plan = Plan { window: 30 * MS, ..short() };
    let program = plan.program("hog", [run(1_000_000)]);
    add(&mut plan, program, 100_000);
    let machine = cpus(1);
    for kernel in some_kernels() {
        let outcome = Run::new(&machine, &kernel, &plan).go();
        assert!(outcome.metrics.get(Count::Switches) > 0, "{}", kernel.name);
    }
}

#[test]
fn one_task_takes_the_messages_of_a_hundred_thousand_others_at_once() {
    let tasks = 100_000;
    let mut plan = Plan { end: End::AllExit(1_000_000 * MS), ..short() };
    let channel = plan.channel(Channel::connection());
    let last = plan.channel(Channel::connection());
    let send = |to| Op::Send { to: At::Number(to), reply: None };
    let ops = [Op::Receive(At::Number(last)), Op::Repeat(tasks)];
    let main = [&ops[..], &[Op::Receive(At::Number(channel)), Op::Next, Op::Exit]].concat();
    let main = plan.program("main", main);
    let post = plan.program("post", [run(1), send(channel), Op::Exit]);
    let wake = plan.program("wake", [run(1_000_000_000), send(last), Op::Exit]);
    add(&mut plan, main, 1);
    add(&mut plan, post, tasks);
    add(&mut plan, wake, 1);
    let kernel = kernel("6.12");
    Run::new(&cpus(2), &kernel, &plan).watched().unwrap();
}

#[test]
fn segments_of_one_nanosecond_run() {
    let mut plan = Plan { window: MS / 10, ..short() };
    let rounds = plan.counter("rounds");
    let program = plan.program("tiny", [run(1), Op::Kernel(Amount::ns(1)), Op::Count(rounds)]);
    add(&mut plan, program, 2);
    let (machine, kernel) = (free_machine(1), kernel("6.12"));
    let outcome = Run::new(&machine, &kernel, &plan).watched().unwrap();
    assert!(
        outcome.metrics.counters[0].abs_diff(MS as u64 / 20) <= 2,
        "{:?}",
        outcome.metrics.counters
    );
}

#[test]
fn a_task_that_is_always_late_runs_all_the_time() {
    let mut plan = short();
    let rounds = plan.counter("rounds");
    let program = plan.program("late", [Op::Every(1000), run(2000), Op::Count(rounds)]);
    add(&mut plan, program, 1);
    let (machine, kernel) = (free_machine(1), kernel("6.12"));
    let outcome = Run::new(&machine, &kernel, &plan).watched().unwrap();
    assert!(outcome.metrics.counters[0].abs_diff(10_000) <= 1, "{:?}", outcome.metrics.counters);
}

#[test]
fn periods_keep_their_phase_whatever_else_the_task_waits_for() {
    // Sleeping, spinning and streaming in between do not move the beat.
    for other in [Op::Sleep(Amount::ns(70_000)), Op::Spin(Amount::ns(70_000)), Op::Memory(100_000)]
    {
        let mut plan = short();
        let beats = plan.counter("beats");
        let program = plan.program("beat", [Op::Every(1_000_000), Op::Count(beats), other]);
        add(&mut plan, program, 1);
        let (machine, kernel) = (free_machine(1), kernel("6.12"));
        let outcome = Run::new(&machine, &kernel, &plan).watched().unwrap();
        assert!(
            outcome.metrics.counters[0].abs_diff(20) <= 1,
            "{other:?}: {:?}",
            outcome.metrics.counters
        );
    }
}

#[test]
fn four_nested_loops_multiply_and_a_skip_to_the_end_begins_anew() {
    let mut plan = Plan { end: End::AllExit(20 * MS), ..short() };
    let turns = plan.counter("turns");
    let mut ops = vec![Op::Repeat(3); 4];
    ops.extend([run(10), Op::Count(turns)]);
    ops.extend([Op::Next; 4]);
    ops.push(Op::Exit);
    let program = plan.program("nest", ops);
    add(&mut plan, program, 1);
    let (machine, kernel) = (free_machine(1), kernel("6.12"));
    let outcome = Run::new(&machine, &kernel, &plan).watched().unwrap();
    assert_eq!((outcome.metrics.counters[0], outcome.elapsed), (81, 810));

    let mut plan = short();
    let never = plan.counter("never");
    let program =
        plan.program("skip", [run(1000), Op::Unless { permille: 0, skip: 1 }, Op::Count(never)]);
    add(&mut plan, program, 1);
    let outcome = Run::new(&machine, &kernel, &plan).watched().unwrap();
    assert_eq!(outcome.metrics.counters[0], 0);
}

#[test]
fn spin_locks_and_barriers_go_on_with_more_tasks_than_cpus() {
    for kernel in some_kernels() {
        for spin in [0, 30_000, 50 * MS] {
            // A slice of the O(1) scheduler is 25 to 50 times as long as those that came later.
            let slices = if kernel.policy.name == "o1" { 20 } else { 1 };
            let mut plan = Plan {
                window: slices * 200 * MS,
                locks: vec![Mutex { spin: true }],
                barriers: vec![Barrier { parties: 5, spin }],
                ..short()
            };
            let rounds = plan.counter("rounds");
            let lock = At::Number(0);
            let ops = [
                Op::Lock(lock),
                run(20_000),
                Op::Unlock(lock),
                run(5000),
                Op::Barrier(At::Number(0)),
                Op::Count(rounds),
            ];
            let program = plan.program("party", ops);
            add(&mut plan, program, 5);
            let machine = cpus(2);
            let run = Run::new(&machine, &kernel, &plan);
            let outcome = run.watched().unwrap();
            assert!(outcome.metrics.counters[0] >= 10, "{run}: {:?}", outcome.metrics.counters);
        }
    }
}

#[test]
fn many_writers_of_a_pipe_with_one_place_all_get_their_turn() {
    for kernel in some_kernels() {
        let mut plan = Plan { window: 100 * MS, ..short() };
        let counters: Vec<u32> = (0..6).map(|i| plan.counter(&format!("writer {i}"))).collect();
        let pipe = Channel { capacity: 1, full: Full::Block, sync: false, drain: 1, guard: None };
        let pipe = At::Number(plan.channel(pipe));
        for &counter in &counters {
            let ops = [Op::Send { to: pipe, reply: None }, Op::Count(counter), run(500)];
            let writer = plan.program("writer", ops);
            add(&mut plan, writer, 1);
        }
        let reader = plan.program("reader", [Op::Receive(pipe), run(1500)]);
        add(&mut plan, reader, 1);
        let machine = cpus(3);
        let run = Run::new(&machine, &kernel, &plan);
        let outcome = run.watched().unwrap();
        assert!(
            outcome.metrics.counters.iter().all(|&n| n > 0),
            "{run}: {:?}",
            outcome.metrics.counters
        );
    }
}

#[test]
fn one_lock_under_two_handles_is_free_when_both_are_given_back() {
    let mut plan = Plan { locks: vec![Mutex { spin: false }], ..short() };
    let rounds = plan.counter("rounds");
    let (outer, inner) = (At::Handle(0), At::Handle(1));
    let ops = [
        Op::Lock(outer),
        Op::Lock(inner),
        run(300),
        Op::Unlock(inner),
        run(700),
        Op::Unlock(outer),
        Op::Count(rounds),
    ];
    let program = plan.program("twice", ops);
    (0..3).for_each(|_| plan.task(Task { program, ..Task::default() }, &[0, 0]));
    let (machine, kernel) = (free_machine(3), kernel("6.12"));
    let outcome = Run::new(&machine, &kernel, &plan).watched().unwrap();
    // A thousand ns under the lock each time: nobody gets in while it is held once.
    assert!(outcome.metrics.counters[0] <= 20_001, "{:?}", outcome.metrics.counters);
    assert!(outcome.metrics.counters[0] >= 19_000, "{:?}", outcome.metrics.counters);
}

#[test]
fn confined_tasks_find_the_idle_cpu_that_they_may_use() {
    // Three tasks may use CPUs 0 and 7 only; the other CPUs idle beside them.
    let machine = preset("8x-SKYLAKE-UMA");
    for kernel in some_kernels() {
        let mut plan = Plan { window: 300 * MS, affinities: vec![vec![0, 7], vec![0]], ..short() };
        let hog = plan.program("hog", [run(100_000)]);
        for affinity in [1, 0, 0] {
            plan.task(Task { program: hog, affinity: Some(affinity), ..Task::default() }, &[]);
        }
        let run = Run::new(&machine, &kernel, &plan);
        let outcome = run.watched().unwrap();
        for cpu in [0, 7] {
            assert!(outcome.spent[cpu].idle < 30 * MS, "{run}: {:?}", outcome.spent[cpu]);
        }
    }
}

#[test]
fn idle_class_and_late_tasks_get_the_cpu_that_nobody_else_wants() {
    let machine = cpus(1);
    for kernel in some_kernels() {
        let mut plan = short();
        let program = plan.program("hog", [run(100_000)]);
        let (class, start) = (TaskClass::Idle, 7 * MS);
        plan.task(Task { program, class, start, ..Task::default() }, &[]);
        let outcome = Run::new(&machine, &kernel, &plan).watched().unwrap();
        let spent = outcome.spent[0];
        assert!(spent.busy > 12 * MS && spent.busy <= 13 * MS, "{}: {spent:?}", kernel.name);
    }
}

#[test]
fn tasks_with_slices_and_nice_values_of_their_own_run_alike_on_every_cpu() {
    let machine = free_machine(3);
    for kernel in some_kernels() {
        let books = |cpu: u32| {
            let mut plan = Plan { window: 400 * MS, affinities: vec![vec![cpu]], ..short() };
            let hog = plan.program("hog", [run(3_000_000)]);
            let beat = plan.program("beat", [Op::Every(7_000_000), run(2_000_000)]);
            let tasks =
                [(hog, 0, 0), (hog, 0, 1_000_000), (beat, -3, 300_000), (hog, 5, 20_000_000)];
            for (program, nice, slice) in tasks {
                let task = Task { program, nice, slice, affinity: Some(0), ..Task::default() };
                plan.task(task, &[]);
            }
            Run::new(&machine, &kernel, &plan).watched().unwrap().tasks
        };
        let first = books(0);
        assert_eq!(first, books(1), "{}", kernel.name);
        assert_eq!(first, books(2), "{}", kernel.name);
    }
}

#[test]
fn slice_timers_end_slices_between_ticks() {
    let machine = free_machine(1);
    let mut plan = Plan { window: 2000 * MS, ..short() };
    let hog = plan.program("hog", [run(1_000_000_000)]);
    add(&mut plan, hog, 2);
    let base = kernel("7.2");
    let changes = |slice_timer| {
        [
            ("features.HRTICK".to_owned(), KernelValue::Flag(slice_timer)),
            ("base_slice_ns".to_owned(), KernelValue::Integer(2_500_000)),
            ("hz".to_owned(), KernelValue::Integer(250)),
        ]
    };
    let typical = |slice_timer| {
        let kernel = base.replace(&changes(slice_timer)).unwrap();
        let outcome = Run::new(&machine, &kernel, &plan).watched().unwrap();
        outcome.metrics.slices.value_at_quantile(0.5)
    };
    // With it a slice ends when it is used up, without it at the next tick, every 4 ms.
    assert!((2_450_000..2_600_000).contains(&typical(true)), "{}", typical(true));
    assert!((3_900_000..4_100_000).contains(&typical(false)), "{}", typical(false));
}

#[test]
fn a_lazy_wish_to_preempt_waits_for_the_tick_and_an_urgent_one_for_an_interrupt() {
    // A hog on CPU 0 is to give way to a reader that CPU 1 wakes.
    let machine = free_machine(2);
    let typical = |kernel: &Kernel| {
        let mut plan = Plan { window: 4000 * MS, affinities: vec![vec![0], vec![1]], ..short() };
        let late = plan.latency("late");
        let pipe = At::Number(plan.channel(Channel { sync: false, ..Channel::connection() }));
        let hog = plan.program("hog", [run(1_000_000_000)]);
        let reader = plan.program("reader", [Op::Receive(pipe), Op::Record(late), run(10_000)]);
        // 13 and 4 have no common divisor: every phase of the tick comes up.
        let ops = [Op::Every(13_100_000), Op::Stamp, Op::Send { to: pipe, reply: None }];
        let writer = plan.program("writer", ops);
        for (program, cpu) in [(hog, 0), (reader, 0), (writer, 1)] {
            plan.task(Task { program, affinity: Some(cpu), ..Task::default() }, &[]);
        }
        let outcome = Run::new(&machine, kernel, &plan).watched().unwrap();
        outcome.metrics.latencies[0].value_at_quantile(0.5)
    };
    let changes = [
        ("features.HRTICK".to_owned(), KernelValue::Flag(false)),
        ("hz".to_owned(), KernelValue::Integer(250)),
    ];
    let (urgent, lazy) = (kernel("6.1"), kernel("7.2").replace(&changes).unwrap());
    let (urgent, lazy) = (typical(&urgent), typical(&lazy));
    assert!(urgent < 10_000, "{urgent} ns");
    // Half a tick, give or take what the pick thinks of the reader.
    assert!((1_500_000..2_500_000).contains(&lazy), "{lazy} ns");
}
