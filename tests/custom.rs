//! Workloads of one's own: definitions in TOML and JSON, rt-app files, and the graph of a plan.

use proptest::prelude::*;
use tickless::engine::{Batch, Column, Row};
use tickless::error::Error;
use tickless::kernel::Kernel;
use tickless::machine::{Machine, presets};
use tickless::rng::Seed;
use tickless::watch::Watch;
use tickless::workload::{
    At, Better, Case, Definition, EdgeKind, End, Full, Mean, Measure, Op, Parameters, RtApp,
    TaskClass, WORKLOADS, graph, workload,
};

fn machine() -> Machine {
    presets::machine("8x-SKYLAKE-UMA").unwrap()
}

const ECHO: &str = r#"
name = "echo"
summary = "a server that answers"
cases = [1, 2, 4]
report = { rate = "answers", unit = "1/s", decimals = 1 }
window = "100 ms"

[channels]
request = { per = "group" }
answer = { per = "group", sync = false }

[tables]
sizes = [[3, "4 KiB", 100], [1, 64, 100]]

[programs]
client = [
    { draw = "sizes" },
    { run = "2 us" },
    { send = "request" },
    { receive = "answer" },
    { count = "answers" },
]
server = [
    { receive = "request" },
    { kernel = "1 us", per = [0.08], uniform = 0.1 },
    { chance = 0.25, do = [{ sleep = "50 us" }] },
    { send = "answer" },
]

[[tasks]]
program = "client"
groups = "2*case"

[[tasks]]
program = "server"
groups = "2*case"
nice = -5
"#;

#[test]
fn a_definition_becomes_the_plan_it_describes() {
    let echo = Definition::from_toml(ECHO, "echo.toml").unwrap();
    assert_eq!((echo.name.as_str(), echo.cases.len()), ("echo", 3));
    assert_eq!(echo.report.better, Better::Higher);
    assert_eq!(echo.report.mean, Mean::Harmonic);
    assert_eq!(*echo.measure(), Measure::Rate { counter: "answers".into(), scale: 1.0 });
    let plan = echo.plan(&machine(), &Case::number(2)).unwrap();
    assert_eq!((plan.tasks.len(), plan.channels.len(), plan.window), (8, 8, 100_000_000));
    let server = &plan.programs[1];
    assert_eq!(server.ops[0], Op::Receive(At::Handle(0)));
    assert_eq!(server.ops[2], Op::Unless { permille: 250, skip: 1 });
    let Op::Kernel(work) = server.ops[1] else { panic!("{server:?}") };
    assert_eq!((work.base, work.per[0]), (1000, 80));
    assert_eq!(plan.tables[0][0].registers, [4096, 100]);
    // The client and the server of one group share their channels, those of two groups do not.
    let handles = |task: usize| {
        let t = plan.tasks[task];
        &plan.handles[t.handles as usize..(t.handles + t.handle_count) as usize]
    };
    assert_eq!(handles(0), handles(4));
    assert!(handles(0).iter().all(|h| !handles(1).contains(h)));
    assert_eq!(plan.tasks[4].nice, -5);
}

#[test]
fn json_and_toml_say_the_same() {
    let toml = r#"
        [programs]
        hog = [{ run = 1000 }, { count = "turns" }]
        [[tasks]]
        program = "hog"
        count = "ncpus"
        class = "batch"
    "#;
    let json = r#"{"programs": {"hog": [{"run": "1 us"}, {"count": "turns"}]},
                   "tasks": [{"program": "hog", "count": "ncpus", "class": "batch"}]}"#;
    let plan = |d: Definition| d.plan(&machine(), &d.cases[0].clone()).unwrap();
    let first = plan(Definition::from_toml(toml, "x").unwrap());
    assert_eq!(first, plan(Definition::from_json(json, "x").unwrap()));
    assert_eq!((first.tasks.len(), first.tasks[0].class), (8, TaskClass::Batch));
}

#[test]
fn everything_of_the_language_can_be_written() {
    let text = r#"
        cases = [3]
        report = { quantile = "late", q = 0.5, scale = 1e-3, better = "lower", mean = "median" }
        warmup = "1 ms"
        limit = "2 s"
        layout = "packed"
        spare = 4
        paths = { block = "300 ns" }
        lines = ["counter"]
        [channels]
        own = { per = "task" }
        wake = { capacity = 1, full = "drop", hold = "100 ns", lines = 2.5 }
        queue = {}
        [locks]
        log = { spin = true }
        [barriers]
        start = { parties = "case", spin = "5 us" }
        [boards]
        list = { wakes = "wake" }
        [devices]
        disk = { service = "100 us", exponential = true, parallel = 2 }
        [programs]
        worker = [
            { barrier = "start" },
            { repeat = 10, do = [
                { spin = "30 us" },
                { lock = "log" }, { line = "counter" }, { unlock = "log" },
                { io = "disk" }, { memory = "1 MiB" }, { touch = "64 KiB" },
                { send = "queue", reply = "own" }, { receive = "own" },
                { post = "list", on = "own" }, { receive = "own" }, { record = "late" },
                { fork = "child" }, "wait", "yield",
            ] },
            "exit",
        ]
        child = [{ run = "5 us", lognormal = 0.4 }, "exit"]
        server = [
            { repeat = 30, do = [{ receive = "queue" }, { kernel = 500 }, { send = "caller" }] }, "exit",
        ]
        waker = [
            { repeat = 5, do = [
                { receive = "wake" }, { every = "1 ms" }, "stamp", { release = "list", each = "1 us" },
            ] },
            "exit",
        ]
        [[tasks]]
        program = "worker"
        count = "case"
        cpus = [0, 1, 2]
        [[tasks]]
        program = "server"
        start = "1 us"
        slice = "2 ms"
        [[tasks]]
        program = "waker"
    "#;
    let definition = Definition::from_toml(text, "all.toml").unwrap();
    let plan = definition.plan(&machine(), &definition.cases[0]).unwrap();
    assert_eq!(plan.end, End::AllExit(2_000_000_000));
    assert_eq!(plan.barriers[0].parties, 3);
    let worker = &plan.programs[0].ops;
    assert!(
        worker.contains(&Op::Post(At::Number(0))) && worker.contains(&Op::Receive(At::Handle(0)))
    );
    assert_eq!(plan.channels[0].full, Full::Drop);
    let text = graph(&plan).to_string();
    for line in [
        "worker (tasks: 3)",
        "asks --> server",
        "answers --> worker (channels: 3)",
        "releases --> worker",
        "forks --> child",
        "uses --> device disk",
        "uses --> lock log",
        "barrier start (parties: 3)",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

#[test]
fn every_mistake_names_its_field() {
    let echo = |from: &str, to: &str| {
        assert!(ECHO.contains(from), "{from}");
        let text = ECHO.replacen(from, to, 1);
        let error = Definition::from_toml(&text, "echo.toml")
            .and_then(|d| d.plan(&machine(), &Case::number(1)))
            .expect_err(to);
        error.to_string()
    };
    for (from, to, expected) in [
        ("summary", "sumary", "workload.sumary: is not known here"),
        ("cases = [1, 2, 4]", "cases = [1, \"x\"]", "workload.cases[1]: expected an integer"),
        ("rate = \"answers\"", "rate = \"x\"", "workload.report: no program counts \"x\""),
        ("rate = \"answers\",", "", "workload.report: needs exactly one of rate"),
        ("\"100 ms\"", "\"100 parsecs\"", "workload.window: \"100 parsecs\" is not a time"),
        ("\"100 ms\"", "0", "workload.window: 0 ns"),
        ("per = \"group\" }", "per = \"gruop\" }", "workload.channels.request.per: \"gruop\""),
        ("sync = false", "sync = 3", "workload.channels.answer.sync: expected true or false"),
        ("[3, \"4 KiB\", 100]", "[3, \"1024 GB\", 100]", "workload.tables.sizes[0][1]"),
        ("[3, \"4 KiB\", 100], [1, 64, 100]", "[0, 1, 1]", "weights add up to 0"),
        (
            "send = \"request\"",
            "send = \"requests\"",
            "workload.programs.client[2].send: no channel",
        ),
        ("run = \"2 us\"", "run = \"0 us\"", "workload.programs[client].ops[1]: takes 0 ns"),
        ("run = \"2 us\"", "run = \"2 us\", sleep = 3", "needs exactly one of run"),
        ("run = \"2 us\"", "walk = 3", "workload.programs.client[1]: needs exactly one of run"),
        ("run = \"2 us\"", "run = \"2 us\", color = 1", "workload.programs.client[1].color"),
        ("uniform = 0.1", "uniform = 1.5", "workload.programs.server[1].uniform"),
        ("per = [0.08]", "per = [1, 2, 3]", "workload.programs.server[1].per: at most 2"),
        ("chance = 0.25", "chance = 2", "workload.programs.server[2].chance: 2"),
        ("groups = \"2*case\"", "groups = 0", "workload.tasks[0].groups: is 0"),
        ("groups = \"2*case\"", "groups = 10000000", "10000000 tasks need about 10.0 GB"),
        ("program = \"client\"", "program = \"klient\"", "workload.tasks[0].program: no program"),
        ("nice = -5", "nice = -50", "workload.tasks[1].nice: -50"),
        ("nice = -5", "cpus = [99]", "CPU 99 does not exist"),
        ("{ send = \"answer\" },", "", "deadlock"),
    ] {
        let text = echo(from, to);
        assert!(text.contains(expected), "{to}: {text}");
    }
    let Err(Error::Input(e)) = Definition::from_toml("a = 1\nb = [", "bad.toml") else { panic!() };
    assert_eq!((e.path.as_str(), e.line, e.code), ("bad.toml", Some(2), "toml-syntax"));
    let Err(Error::Input(e)) = Definition::from_json("{\n\"a\" 1}", "bad.json") else { panic!() };
    assert_eq!((e.line, e.code), (Some(2), "json-syntax"));
}

#[test]
fn posts_need_one_channel_of_the_tasks_own() {
    let text = |on: &str, more: &str| {
        format!(
            r#"
            [channels]
            a = {{ per = "task" }}
            b = {{ per = "task" }}
            wake = {{ capacity = 1, full = "drop" }}
            [boards]
            list = {{ wakes = "wake" }}
            [programs]
            p = [{{ run = 5 }}, {{ post = "list"{on} }}{more}]
            [[tasks]]
            program = "p"
            "#
        )
    };
    let plan = |text: String| {
        Definition::from_toml(&text, "x").and_then(|d| d.plan(&machine(), &Case::number(1)))
    };
    plan(text(", on = \"b\"", "")).unwrap();
    for (on, more, expected) in [
        ("", "", "on is missing"),
        (", on = \"wake\"", "", "of its own"),
        (", on = \"a\"", ", { post = \"list\", on = \"b\" }", "same channel"),
    ] {
        let error = plan(text(on, more)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

// ---------------------------------------------------------------------------------------------
// The graph of a plan
// ---------------------------------------------------------------------------------------------

#[test]
fn the_graph_of_tbench_is_pairs_that_send_to_each_other() {
    let entry = workload("tbench").unwrap();
    let plan = entry.build(&machine(), &Case::number(4), &Parameters::defaults(entry)).unwrap();
    let graph = graph(&plan);
    let edges: Vec<_> = graph.edges.iter().map(|e| (e.from, e.to, e.kind, e.count)).collect();
    assert_eq!(edges, [(0, 1, EdgeKind::Sends, 4), (1, 0, EdgeKind::Sends, 4)]);
    assert_eq!(
        graph.to_string(),
        "client (tasks: 4)\n  sends --> server (channels: 4)\n\
                                   server (tasks: 4)\n  sends --> client (channels: 4)\n"
    );
}

#[test]
fn every_program_that_receives_has_an_edge_to_it() {
    let machine = machine();
    for entry in WORKLOADS {
        let case = &(entry.cases)(&machine)[0];
        let plan = entry.build(&machine, case, &Parameters::defaults(entry)).unwrap();
        let graph = graph(&plan);
        for (i, program) in plan.programs.iter().enumerate() {
            let receives = program.ops.iter().any(|op| matches!(op, Op::Receive(_)));
            let reached = graph.edges.iter().any(|e| e.to == i && e.kind != EdgeKind::Forks);
            assert_eq!(receives, reached, "{}: {}", entry.name, program.name);
        }
        assert!(graph.edges.iter().all(|e| e.from < graph.nodes.len() && e.to < graph.nodes.len()));
    }
}

// ---------------------------------------------------------------------------------------------
// rt-app
// ---------------------------------------------------------------------------------------------

/// A player: a tick wakes an output thread, which wakes a decoder; the decoder talks to a helper.
const PLAYER: &str = r#"{
    /* files have comments, */
    "tasks" : {
        "tick" : {
            "priority" : -19, "cpus" : [0],
            "phases" : {
                "first" : { "resume" : "out", "timer" : { "ref" : "t", "period" : 5000 } },
                "rest" : { "loop" : 3, "timer" : { "ref" : "t", "period" : 5000, "mode" : "absolute" } },
            }
        },
        "out" : { "loop" : -1, "suspend", "run" : 300, "resume" : "decoder", "run" : 2000 },
        "decoder" : {
            "suspend" : "decoder",
            "run0" : 900,
            "lock" : "m", "sync" : { "ref" : "q", "mutex" : "m" }, "unlock" : "m",
        },
        "helper" : {
            "lock" : "m", "wait" : { "ref" : "q", "mutex" : "m" }, "unlock" : "m",
            "runtime" : 100, "sleep" : 0,
            "lock" : "m", "signal" : "q", "unlock" : "m"
        },
        "load" : {
            "instance" : 2, "delay" : 500, "policy" : "SCHED_IDLE", "dl-runtime" : 4000,
            "loop" : 7, "mem" : 4096, "iorun" : 2000, "barrier" : "b", "yield" : "", "fork" : "job",
        },
        "job" : { "instance" : 0, "loop" : 1, "run" : 50 },
    },
    "global" : { "duration" : 3, "default_policy" : "SCHED_OTHER", "gnuplot" : true, "ftrace" : "none" },
}"#;

#[test]
fn an_rtapp_file_becomes_threads_that_wake_each_other() {
    let file = RtApp::from_json(PLAYER, "player.json").unwrap();
    assert_eq!(file.unsupported(), []);
    let plan = file.plan(&machine(), true).unwrap();
    assert_eq!((plan.tasks.len(), plan.window, plan.warmup), (6, 3_000_000_000, 0));
    let ops = |name: &str| &plan.programs.iter().find(|p| p.name == name).unwrap().ops;
    assert_eq!(ops("tick")[1], Op::Every(5_000_000));
    assert_eq!(ops("tick")[2], Op::Repeat(3));
    assert!(matches!(ops("out")[..2], [Op::Post(_), Op::Receive(At::Handle(0))]));
    assert_eq!(ops("load").first(), Some(&Op::Repeat(7)));
    assert_eq!(ops("load").last(), Some(&Op::Exit));
    assert!(!ops("helper").iter().any(|op| matches!(op, Op::Sleep(_))), "sleep 0 does nothing");
    let load = &plan.tasks[4];
    assert_eq!((load.class, load.slice, load.start), (TaskClass::Idle, 4_000_000, 500_000));
    assert_eq!((plan.tasks[0].nice, plan.affinities[0].as_slice()), (-19, &[0][..]));
    assert_eq!(plan.barriers[0].parties, 2);
    assert!(plan.spare > 0);
    assert!(file.notes().iter().any(|n| n.contains("\"q\"")), "{:?}", file.notes());
}

#[test]
fn all_unsupported_keys_are_listed_in_one_error() {
    let text = r#"{
        "tasks" : {
            "a" : { "policy" : "SCHED_FIFO", "run" : 10, "sleep" : 10, "util_min" : 3,
                    "taskgroup" : "/tg", "timer" : { "ref" : "x", "period" : 5, "colour" : 1 } },
            "b" : { "phases" : { "p" : { "cpus" : [1], "run" : 5 } }, "run" : 9 },
            "c" : { "exec" : 5, "lock_order" : ["m"], "run" : 1, "fork" : "nobody" }
        },
        "extra" : 1,
        "global" : { "pi_enabled" : true, "warp" : 9, "default_policy" : "SCHED_DEADLINE" }
    }"#;
    let file = RtApp::from_json(text, "odd.json").unwrap();
    let keys: Vec<&str> = file.unsupported().iter().map(|u| u.key.as_str()).collect();
    for key in [
        "tasks.a.policy",
        "tasks.a.util_min",
        "tasks.a.taskgroup",
        "tasks.a.timer.colour",
        "tasks.b.phases.p.cpus",
        "tasks.b.run",
        "tasks.c.exec",
        "tasks.c.lock_order",
        "tasks.c.fork",
        "extra",
        "global.pi_enabled",
        "global.warp",
        "global.default_policy",
    ] {
        assert!(keys.contains(&key), "{key} is not in {keys:?}");
    }
    assert_eq!(keys.len(), 13);
    let Err(Error::Input(e)) = file.plan(&machine(), true) else { panic!() };
    assert_eq!(e.code, "rtapp-unsupported");
    assert!(keys.iter().all(|key| e.reason.contains(key)), "{}", e.reason);
}

#[test]
fn bad_rtapp_values_name_their_key() {
    for (text, expected) in [
        ("{}", "tasks: is missing"),
        (r#"{"tasks": 3}"#, "tasks: expected an object, found an integer"),
        (r#"{"tasks": {"a": {"run": "x"}}}"#, "tasks.a.run: expected an integer"),
        (r#"{"tasks": {"a": {"run": -1}}}"#, "tasks.a.run: -1"),
        (r#"{"tasks": {"a": {"run": 1e40}}}"#, "tasks.a.run"),
        (r#"{"tasks": {"a": {"lock": 5}}}"#, "tasks.a.lock: expected a text"),
        (r#"{"tasks": {"a": {"wait": {"ref": "q"}}}}"#, "tasks.a.wait.mutex: is missing"),
        (r#"{"tasks": {"a": {"timer": {"ref": "t"}}}}"#, "tasks.a.timer.period: is missing"),
        (r#"{"tasks": {"a": {"mem": 1099511627776}}}"#, "tasks.a.mem: 1099511627776"),
        (r#"{"tasks": {"a": {"run": 5, "cpus": [77]}}}"#, "tasks.a.cpus: CPU 77"),
        (r#"{"tasks": {"a": {"run": 5, "instance": 0}}}"#, "no task"),
        (r#"{"tasks": {"a": {"run": 5, "suspend": "x"}}}"#, "deadlock"),
        (r#"{"tasks": {"a": {"lock": "m", "unlock": "m"}}}"#, "without time passing"),
        (r#"{"tasks": {"a": {"run": 1, "lock": "m"}}}"#, "lock held"),
    ] {
        let error = RtApp::from_json(text, "x").and_then(|f| f.plan(&machine(), true)).unwrap_err();
        assert!(error.to_string().contains(expected), "{text}: {error}");
    }
    let Err(Error::Input(e)) = RtApp::from_json("{\n\"tasks\" {}\n}", "x.json") else { panic!() };
    assert_eq!((e.line, e.code), (Some(2), "json-syntax"));
}

#[test]
fn files_end_as_they_say() {
    let end = |tail: &str| {
        let text = format!(r#"{{"tasks": {{"a": {{"run": 5, {tail}"#);
        RtApp::from_json(&text, "x").unwrap().plan(&machine(), true).unwrap().end
    };
    assert_eq!(end(r#""loop": 3}}, "global": {"duration": 2}}"#), End::AllExit(2_000_000_000));
    assert!(matches!(end(r#""loop": 3}}}"#), End::AllExit(_)));
    assert_eq!(end(r#""loop": -1}}, "global": {"duration": 2}}"#), End::Window);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_are_read_or_refused_but_never_panic(
        place in any::<prop::sample::Index>(),
        length in 0_usize..20,
        with in prop_oneof![
            Just(String::new()), Just("-1".into()), Just("\"x\"".into()), Just("{".into()),
            Just("]".into()), Just("1e300".into()), Just("/*".into()), Just("\\".into()), ".{0,6}",
        ],
    ) {
        let damage = |text: &str| {
            let chars: Vec<char> = text.chars().collect();
            let at = place.index(chars.len());
            let head: String = chars[..at].iter().collect();
            let tail: String = chars[(at + length).min(chars.len())..].iter().collect();
            head + &with + &tail
        };
        if let Ok(file) = RtApp::from_json(&damage(PLAYER), "x") {
            let _ = file.plan(&machine(), false);
        }
        if let Ok(definition) = Definition::from_toml(&damage(ECHO), "x") {
            let _ = definition.plan(&machine(), &Case::number(1));
        }
    }
}

// ---------------------------------------------------------------------------------------------
// Runs
// ---------------------------------------------------------------------------------------------

/// Clients ask workers, which sometimes need a disk.
const WEB: &str = r#"
    cases = [2, 4, 8]
    report = { rate = "pages" }
    warmup = "50 ms"
    window = "100 ms"
    [channels]
    request = {}
    answer = { per = "task" }
    [devices]
    disk = { service = "80 us", parallel = 4 }
    [programs]
    client = [
        { run = "20 us" }, "stamp", { send = "request", reply = "answer" }, { receive = "answer" },
        { record = "wait" }, { count = "pages" },
    ]
    worker = [
        { receive = "request" }, { run = "60 us", uniform = 0.2 },
        { chance = 0.05, do = [{ io = "disk" }] }, { send = "caller" },
    ]
    [[tasks]]
    program = "client"
    groups = "2*case"
    [[tasks]]
    program = "worker"
    groups = 8
"#;

#[test]
fn clients_and_workers_with_a_disk_run_on_every_policy() {
    let machine = machine();
    let web = Definition::from_toml(WEB, "web.toml").unwrap();
    let row = |case: &Case| Row { plan: web.plan(&machine, case).unwrap(), case: case.clone() };
    let rows: Vec<Row> = web.cases.iter().map(row).collect();
    let kernels = ["6.1", "6.12", "7.2"].map(|n| Kernel::find(n).unwrap());
    let columns: Vec<Column<'_>> =
        kernels.iter().map(|kernel| Column { kernel, governors: None }).collect();
    let seeds: Vec<Seed> = (0..27).map(|i| Seed::new(&[i, 1, 2, 3])).collect();
    let batch = Batch {
        machine: &machine,
        columns: &columns,
        rows: &rows,
        reports: std::slice::from_ref(&web.report),
        seeds: &seeds,
        parts: 1,
        noise: 1.0,
        warmup: None,
        window: None,
        records: 0,
        threads: Some(1),
    };
    for cell in batch.run(&Watch::new()).unwrap() {
        // Eight CPUs, 80 us of work a page.
        assert!(cell.reported[0] > 1e4 && cell.reported[0] < 1e5, "{}", cell.reported[0]);
    }
}
