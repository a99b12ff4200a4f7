//! Speed of the run queues beside `BTreeMap` remove + insert in the same run, and beside the real
//! kernel functions on comparable machines.
//!
//! `cargo bench --bench sched` prints nanoseconds per operation: the minimum over many short
//! batches, which a busy machine disturbs least; rates are those of the fastest of many runs.
//! Words after `--` select lines that contain one of them: `-- insert` or `-- timeline/cfs/hogs`.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use tickless::sched::{
    ByDeadline, ByVruntime, Class, Enqueue, Entities, EventColumns, Loop, Op, Order, PathCosts,
    Policy, Program, Runqueue, Scene, Settings, Sleep, Sorted, TaskId, TaskSpec, Tree,
};
use tickless::watch::Watch;

const SIZES: [usize; 3] = [10, 100, 1000];

/// Rounds over all competitors; the fastest batch of each counts.
const ROUNDS: usize = 600;

/// Operations of a batch: short enough to fall between two interruptions.
const BATCH: usize = 1000;

/// Runs of a timeline; the fastest counts.
const RUNS: usize = 25;

/// Carries out [`BATCH`] operations.
type Batch = Box<dyn FnMut()>;

/// Numbers that look random, the same in every run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let x = self.0 ^ (self.0 >> 29);
        x.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// Returns ns per operation of the fastest batch of each; all take turns, so that what disturbs the
/// machine disturbs all alike.
fn fastest(batches: &mut [Batch]) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; batches.len()];
    for _ in 0..ROUNDS {
        for (batch, best) in batches.iter_mut().zip(&mut best) {
            let start = Instant::now();
            batch();
            *best = best.min(start.elapsed().as_nanos() as f64 / BATCH as f64);
        }
    }
    best
}

/// Which entries to replace and by which keys, the same for all competitors; too long a sequence
/// for branch predictors to learn by heart.
struct Plan {
    list: Vec<(usize, i64)>,
    at: usize,
}

impl Plan {
    fn new(n: usize) -> Self {
        let mut noise = Noise(n as u64);
        let list = (0..64 * BATCH).map(|_| (noise.below(n), (noise.next() >> 12) as i64)).collect();
        Self { list, at: 0 }
    }

    fn batch(&mut self) -> &[(usize, i64)] {
        let from = self.at;
        self.at = (from + BATCH) % self.list.len();
        &self.list[from..from + BATCH]
    }
}

/// The yardstick: a map sorted by key and task number, as a scheduler in plain Rust would have it.
fn btree_map(n: usize) -> Batch {
    let mut plan = Plan::new(n);
    let mut keys: Vec<i64> = (0..n).map(|i| (i as i64) << 20).collect();
    let mut map: BTreeMap<(i64, u32), u32> =
        keys.iter().enumerate().map(|(i, &k)| ((k, i as u32), 1024)).collect();
    Box::new(move || {
        for &(i, key) in plan.batch() {
            let weight = map.remove(&(keys[i], i as u32));
            keys[i] = key;
            map.insert((key, i as u32), weight.unwrap_or(0));
        }
        black_box(map.first_key_value());
    })
}

/// The tree whose shape the picks of August 2023 depend on.
fn tree(n: usize) -> Batch {
    let mut plan = Plan::new(n);
    let mut tasks = Entities::new(&vec![TaskSpec::default(); n]);
    let mut tree = Tree::default();
    let set = |tasks: &mut Entities, id, key: i64| {
        tasks[id].vruntime = key;
        tasks[id].deadline = key ^ 0x5a5a5;
    };
    for i in 0..n {
        let id = TaskId(i as u32);
        set(&mut tasks, id, (i as i64) << 20);
        tree.insert(&mut tasks, id);
    }
    Box::new(move || {
        for &(i, key) in plan.batch() {
            let id = TaskId(i as u32);
            tree.remove(&mut tasks, id);
            set(&mut tasks, id, key);
            tree.insert(&mut tasks, id);
        }
        black_box(tree.leftmost());
    })
}

/// What the other policies have instead.
fn sorted<O: Order + 'static>(n: usize, set: fn(&mut Entities, TaskId, i64)) -> Batch {
    let mut plan = Plan::new(n);
    let mut tasks = Entities::new(&vec![TaskSpec::default(); n]);
    let mut waiting = Sorted::<O>::default();
    for i in 0..n {
        let id = TaskId(i as u32);
        set(&mut tasks, id, (i as i64) << 20);
        waiting.insert(&mut tasks, id);
    }
    Box::new(move || {
        for &(i, key) in plan.batch() {
            let id = TaskId(i as u32);
            waiting.remove(&mut tasks, id);
            set(&mut tasks, id, key);
            waiting.insert(&mut tasks, id);
        }
        black_box(waiting.first());
    })
}

/// A run queue in which one task runs and `n` wait.
struct Busy {
    rq: Box<dyn Runqueue>,
    tasks: Entities,
    now: i64,
    tick: i64,
}

impl Busy {
    fn new(policy: &Policy, settings: &Settings, n: usize, seed: u64) -> Self {
        let mut noise = Noise(seed);
        let specs: Vec<TaskSpec> = (0..=n)
            .map(|_| TaskSpec { nice: noise.below(8) as i8 - 4, ..TaskSpec::default() })
            .collect();
        let mut busy = Self::with(policy, settings, &specs);
        for _ in 0..3 * n + noise.below(50) {
            let ran = 1_000_000 + noise.below(4_000_000) as i64;
            busy.run(ran);
        }
        busy
    }

    /// All tasks have been forked, in order.
    fn with(policy: &Policy, settings: &Settings, specs: &[TaskSpec]) -> Self {
        let mut tasks = Entities::new(specs);
        let mut rq = (policy.build)(settings);
        for i in 0..specs.len() {
            let id = TaskId(i as u32);
            rq.set_slice(&mut tasks, id, 0, 0);
            rq.enqueue(&mut tasks, id, Enqueue::Fork, 1 + i as i64);
        }
        rq.pick_next(&mut tasks, specs.len() as i64);
        Self { rq, tasks, now: specs.len() as i64, tick: settings.tick }
    }

    /// Runs for a while, ticks and picks: charge, put back, pick, switch in.
    fn run(&mut self, ns: i64) {
        self.now += ns;
        self.rq.tick(&mut self.tasks, self.now);
        self.rq.pick_next(&mut self.tasks, self.now);
    }
}

/// Pick in states where the running task wins, so that nothing but the pick happens.
fn pick(policy: &Policy, settings: &Settings, n: usize) -> Batch {
    let mut states: Vec<Busy> =
        (0..8).map(|seed| Busy::new(policy, settings, n, 1000 * seed + n as u64)).collect();
    states.iter_mut().for_each(|s| while !stays(s) {});
    Box::new(move || {
        for state in &mut states {
            for _ in 0..BATCH / 8 {
                black_box(state.rq.pick_next(&mut state.tasks, state.now));
            }
        }
    })
}

/// Moves on until a second pick changes nothing.
fn stays(state: &mut Busy) -> bool {
    let first = state.rq.pick_next(&mut state.tasks, state.now);
    let again = state.rq.pick_next(&mut state.tasks, state.now);
    if first != again {
        state.run(state.tick);
    }
    first == again
}

/// Charge, put back, pick, switch in: the running task has used up its slice each time.
fn switch(policy: &Policy, settings: &Settings, n: usize) -> Batch {
    let mut busy = Busy::new(policy, settings, n, n as u64);
    Box::new(move || {
        for _ in 0..BATCH {
            busy.run(black_box(30_000_000));
        }
    })
}

/// The same between two heavy tasks while `n` light ones wait: what is put back stays in front.
fn alternate(policy: &Policy, settings: &Settings, n: usize) -> Batch {
    let mut specs = vec![TaskSpec { nice: 19, ..TaskSpec::default() }; n - 1];
    specs.extend([TaskSpec { nice: -20, ..TaskSpec::default() }; 2]);
    let mut busy = Busy::with(policy, settings, &specs);
    for _ in 0..4 * n {
        busy.run(4_000_000);
    }
    Box::new(move || {
        for _ in 0..BATCH {
            busy.run(black_box(4_000_000));
        }
    })
}

/// A queued task leaves and is woken again.
fn sleep_and_wake(policy: &Policy, settings: &Settings, n: usize) -> Batch {
    let mut busy = Busy::new(policy, settings, n, n as u64);
    let mut noise = Noise(5);
    let order: Vec<u32> = (0..BATCH).map(|_| noise.below(n + 1) as u32).collect();
    Box::new(move || {
        for &i in &order {
            let (id, now) = (TaskId(i), busy.now);
            if busy.rq.common().curr != Some(id) {
                busy.rq.leave(&mut busy.tasks, id, now);
                busy.rq.enqueue(&mut busy.tasks, id, Enqueue::Wake { sync: false }, now);
            }
        }
    })
}

/// The running task blocks, another is picked, and the blocked one is woken.
fn block_and_wake(policy: &Policy, settings: &Settings, n: usize) -> Batch {
    let mut busy = Busy::new(policy, settings, n, n as u64);
    Box::new(move || {
        for _ in 0..BATCH {
            busy.now += black_box(100_000);
            let Some(id) = busy.rq.common().curr else { break };
            busy.rq.block(&mut busy.tasks, Sleep::Normal, busy.now);
            busy.rq.pick_next(&mut busy.tasks, busy.now);
            let how = Enqueue::Wake { sync: false };
            busy.rq.enqueue(&mut busy.tasks, id, how, busy.now);
            busy.rq.wakeup_preempt(&mut busy.tasks, id, how, busy.now);
        }
    })
}

/// Million operations per second of a closed loop without rows.
fn closed_loop(policy: &'static Policy, programs: &[Program], until: i64) -> f64 {
    let scene = Scene {
        policy,
        settings: settings(policy, &[]),
        tasks: vec![TaskSpec::default(); programs.len()],
        rows: false,
    };
    let parameters =
        Loop { until, tick0: 1_000_000, timer_latency: 1000, costs: PathCosts::default() };
    rate(|| match scene.run_programs(programs, parameters, &Watch::new()) {
        Ok(outcome) => outcome.carried_out + outcome.ignored,
        Err(e) => panic!("{e}"),
    })
}

/// Million operations per second of a script without rows.
fn open_loop(policy: &'static Policy) -> f64 {
    let mut noise = Noise(9);
    let n = 400_000;
    let (mut t, mut op, mut task) = (vec![], vec![], vec![]);
    for i in 0..n {
        t.push(i as i64 * 50_000);
        let (code, id) = match noise.below(8) {
            0..=3 if i >= 64 => (1, noise.below(64) as i64),
            0..=3 => (0, i as i64),
            4..=5 => (3, -1),
            _ => (6, -1),
        };
        op.push(code as u8);
        task.push(id);
    }
    let value = vec![0; n];
    let scene = Scene {
        policy,
        settings: settings(policy, &[]),
        tasks: vec![TaskSpec { class: Class::Normal, ..TaskSpec::default() }; 64],
        rows: false,
    };
    let columns = EventColumns { t: &t, op: &op, task: &task, value: &value };
    rate(|| match scene.run_events(columns, None, &Watch::new()) {
        Ok(outcome) => outcome.carried_out + outcome.ignored,
        Err(e) => panic!("{e}"),
    })
}

/// Million operations per second of the fastest run: short ones, so that some are not disturbed.
fn rate(mut run: impl FnMut() -> u64) -> f64 {
    let mut best = 0.0f64;
    for _ in 0..RUNS {
        let start = Instant::now();
        let done = run();
        best = best.max(done as f64 / start.elapsed().as_secs_f64() / 1e6);
    }
    best
}

fn settings(policy: &Policy, features: &[(&str, bool)]) -> Settings {
    let settings = policy.settings(8, 250).and_then(|s| {
        let known = |name: &str| policy.features.iter().any(|(f, _)| f.name() == name);
        let changes: Vec<_> = features.iter().copied().filter(|(f, _)| known(f)).collect();
        policy.with_features(s, changes)
    });
    settings.unwrap_or_else(|e| panic!("{e}"))
}

fn find(name: &str) -> &'static Policy {
    Policy::find(name).unwrap_or_else(|e| panic!("{e}"))
}

/// One line of the table: its name, its bar, and what the kernel needs at each size.
struct Line {
    what: String,
    bar: &'static str,
    kernel: [&'static str; 3],
    build: Box<dyn Fn(usize) -> Batch>,
}

fn lines() -> Vec<Line> {
    let mut all = vec![];
    let mut add = |policy: &str, what: &str, bar, kernel, build: Box<dyn Fn(usize) -> Batch>| {
        all.push(Line { what: format!("{policy:<11} {what}"), bar, kernel, build });
    };
    add("BTreeMap", "remove + insert", "", [""; 3], Box::new(btree_map));
    let cut = "remove + insert";
    add(
        "cfs",
        cut,
        "1.0",
        ["36", "74", "111"],
        Box::new(|n| sorted::<ByVruntime>(n, |t, id, key| t[id].vruntime = key)),
    );
    add("eevdf", "remove + insert, tree", "1.0", ["50", "98", "136"], Box::new(tree));
    add(
        "eevdf-7.2",
        cut,
        "1.0",
        ["53", "101", "139"],
        Box::new(|n| {
            sorted::<ByDeadline>(n, |t, id, key| {
                t[id].deadline = key;
                t[id].vruntime = key ^ 0x5a5a5;
            })
        }),
    );
    for (name, picks, sleeps, switches) in POLICIES {
        let p = find(name);
        let by = |f: fn(&Policy, &Settings, usize) -> Batch| -> Box<dyn Fn(usize) -> Batch> {
            let s = settings(p, &[]);
            Box::new(move |n| f(p, &s, n))
        };
        add(name, "pick", "0.3", picks, by(pick));
        add(name, "charge, put back, pick, switch in", "1.0", switches, by(alternate));
        add(name, "the same, put back at the far end", "", [""; 3], by(switch));
        add(name, "leave + wake a queued task", "", sleeps, by(sleep_and_wake));
        add(name, "block, pick, wake, preemption test", "", [""; 3], by(block_and_wake));
    }
    let p = find("eevdf-6.12");
    let s = settings(p, &[("RUN_TO_PARITY", false)]);
    add(
        "eevdf-6.12",
        "pick without protection",
        "0.3",
        ["6"; 3],
        Box::new(move |n| pick(p, &s, n)),
    );
    all
}

/// The kernel's figures at the three sizes.
type Kernel = [&'static str; 3];

/// Policies with the kernel's figures for pick, sleep + wake, and switch.
const POLICIES: [(&str, Kernel, Kernel, Kernel); 5] = [
    ("cfs", ["2", "2", "2"], ["54", "88", "124"], ["26", "29", "46"]),
    ("eevdf", ["8", "13", "17"], ["74", "119", "154"], ["45", "61", "93"]),
    ("eevdf-curb", ["4", "3", "4"], ["74", "119", "152"], ["44", "63", "92"]),
    ("eevdf-6.12", ["4", "4", "4"], ["85", "128", "164"], ["49", "67", "96"]),
    ("eevdf-7.2", ["5", "5", "5"], ["84", "127", "163"], ["57", "72", "107"]),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` runs this too; there is nothing to check then.
    if words.iter().any(|word| word == "--test") {
        return;
    }
    let words: Vec<_> = words.into_iter().filter(|word| !word.starts_with("--")).collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|w| name.contains(w.as_str()));
    run_queues(wanted);
    timelines(wanted);
}

fn run_queues(wanted: impl Fn(&str) -> bool) {
    let mut lines = lines();
    let yardstick = lines.remove(0);
    lines.retain(|line| wanted(&line.what));
    if lines.is_empty() {
        return;
    }
    lines.insert(0, yardstick);
    let figures = SIZES.map(|n| {
        let mut batches: Vec<Batch> = lines.iter().map(|line| (line.build)(n)).collect();
        fastest(&mut batches)
    });
    println!("ns per operation, ratio to BTreeMap, (real kernel function) at 10, 100, 1000 queued");
    for (i, line) in lines.iter().enumerate() {
        print!("{:<46}", line.what);
        for (figures, kernel) in figures.iter().zip(line.kernel) {
            print!("  {:6.1} {:4.2}x ({kernel:>3})", figures[i], figures[i] / figures[0]);
        }
        println!("  {}", line.bar);
    }
}

/// The programs of the closed loops and how long each runs, ns.
fn closed_loops() -> [(Vec<Program>, i64); 4] {
    let hogs = (0..8).map(|i| Program::bursts(i * 1000, &[(1 << 60, 1)])).collect();
    let short = (0..16)
        .map(|i| Program::bursts(i * 1000, &[(9_000 + i * 500, 40_000), (21_000, 90_000 + i)]))
        .collect();
    let many = (0..2000)
        .map(|i| Program::bursts(i * 1000, &[(9_000 + i * 5, 18_000_000), (21_000, 40_000_000)]))
        .collect();
    let pair = |other: u32, first: bool, start: i64| {
        let work = [Op::Run(17_600), Op::Send { to: other, sync: true }, Op::Kernel(3_000)];
        let ops = if first {
            [work.as_slice(), &[Op::Run(100), Op::Receive]].concat()
        } else {
            [&[Op::Receive], work.as_slice()].concat()
        };
        Program { start, ops, repeat: 0 }
    };
    let messages = (0..4).map(|i| pair(i ^ 1, i % 2 == 0, i64::from(i) * 1000)).collect();
    [
        (hogs, 1_000_000_000_000),
        (short, 2_000_000_000),
        (many, 1_000_000_000),
        (messages, 5_000_000_000),
    ]
}

fn timelines(wanted: impl Fn(&str) -> bool) {
    let cases = ["script", "hogs", "bursts", "2000", "pairs"];
    let asked = |policy: &str, case: &str| wanted(&format!("timeline/{policy}/{case}"));
    let mut chosen = POLICIES.map(|(policy, ..)| policy).to_vec();
    chosen.retain(|policy| cases.iter().any(|case| asked(policy, case)));
    if chosen.is_empty() {
        return;
    }
    println!("\nmillion operations per second, one thread, no rows; bar 10");
    println!("{:<12}{}", "", cases.map(|case| format!(" {case:>8}")).concat());
    let loops = closed_loops();
    for policy in chosen {
        print!("{policy:<12}");
        for (i, case) in cases.iter().enumerate() {
            let rate = match i.checked_sub(1).map(|i| &loops[i]) {
                _ if !asked(policy, case) => f64::NAN,
                None => open_loop(find(policy)),
                Some((programs, until)) => closed_loop(find(policy), programs, *until),
            };
            print!(" {rate:>8.1}");
        }
        println!();
    }
}
