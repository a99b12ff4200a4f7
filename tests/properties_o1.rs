//! Laws of the O(1) scheduler: it has no golden rows, so its rules are checked one by one, and as a
//! whole against a slow second reading of them that keeps no lists and no bitmaps.

use proptest::prelude::*;
use tickless::sched::{
    Class, Enqueue, Entities, EventColumns, Interactivity, Loop, OPERATIONS, Operation, Outcome,
    PathCosts, Policy, Program, Resched, Runqueue, Scene, Sleep, TaskId, TaskSpec, bonus,
    effective_prio, is_interactive, timeslice,
};
use tickless::watch::Watch;

const MS: i64 = 1_000_000;
const S: i64 = 1_000_000_000;
const HZ: i64 = 1000;

fn o1() -> &'static Policy {
    Policy::find("o1").unwrap()
}

fn nice(nice: i8) -> TaskSpec {
    TaskSpec { nice, ..TaskSpec::default() }
}

fn run(specs: &[TaskSpec], programs: &[Program], until: i64, tick0: i64, rows: bool) -> Outcome {
    let settings = o1().settings(1, HZ).unwrap();
    let scene = Scene { policy: o1(), settings, tasks: specs.to_vec(), rows };
    let costs = PathCosts::default();
    let parameters = Loop { until, tick0, timer_latency: 0, costs };
    scene.run_programs(programs, parameters, &Watch::new()).unwrap()
}

/// A program that never sleeps.
fn hog() -> Program {
    Program { start: 0, ops: vec![tickless::sched::Op::Run(1000 * S)], repeat: 0 }
}

#[test]
fn slices_last_10_ms_to_300_ms_by_nice() {
    assert_eq!([-20, 0, 19].map(|n| timeslice(n, 1000)), [300, 151, 10]);
    assert_eq!([-20, 0, 19].map(|n| timeslice(n, 100)), [30, 15, 1]);
    for n in -20..19 {
        assert!(timeslice(n, 1000) > timeslice(n + 1, 1000), "nice {n}");
    }
}

#[test]
fn sleeping_is_worth_five_priorities_either_way() {
    assert_eq!([0, S, 2 * S].map(bonus), [-5, 0, 5]);
    assert_eq!(effective_prio(0, 0), 125);
    assert_eq!(effective_prio(0, 2 * S), 115);
    assert_eq!(effective_prio(-20, 2 * S), 100, "never better than the best");
    assert_eq!(effective_prio(19, 0), 139, "never worse than the worst");
}

#[test]
fn a_heavier_task_counts_as_interactive_sooner() {
    assert!(is_interactive(0, 118) && !is_interactive(0, 119));
    // A quarter of the nice value more, rounded towards zero, on top of the 2 of nice 0.
    assert!(is_interactive(19, 133) && !is_interactive(19, 134));
    assert!(is_interactive(-20, 103) && !is_interactive(-20, 104));
}

#[test]
fn classes_younger_than_the_scheduler_are_refused() {
    let specs = [TaskSpec { class: Class::Idle, ..TaskSpec::default() }];
    let settings = o1().settings(1, HZ).unwrap();
    let scene = Scene { policy: o1(), settings, tasks: specs.to_vec(), rows: false };
    let none = EventColumns { t: &[], op: &[], task: &[], value: &[] };
    let e = scene.run_events(none, None, &Watch::new()).unwrap_err().to_string();
    assert!(e.contains("tasks[0]") && e.contains("idle") && e.contains("normal"), "{e}");
}

#[test]
fn hogs_of_all_nice_levels_share_the_cpu_by_their_slices() {
    let specs: Vec<TaskSpec> = (-20..20).map(nice).collect();
    let got = run(&specs, &vec![hog(); 40], 400 * S, 0, false);
    let slices: Vec<f64> = (-20..20).map(|n| f64::from(timeslice(n, 1000))).collect();
    let total: f64 = slices.iter().sum();
    for (i, totals) in got.totals.iter().enumerate() {
        let (share, expected) = (totals.exec as f64 / (400 * S) as f64, slices[i] / total);
        assert!((share / expected - 1.0).abs() < 0.03, "task {i}: {share} for {expected}");
    }
}

#[test]
fn among_thousands_of_hogs_each_runs_once_per_round() {
    let n = 3000;
    let specs: Vec<TaskSpec> = (0..n).map(|i| nice((i % 40) as i8 - 20)).collect();
    let round: i64 = specs.iter().map(|s| i64::from(timeslice(s.nice, 1000)) * MS).sum();
    let got = run(&specs, &vec![hog(); n], 3 * round, 0, false);
    for (i, totals) in got.totals.iter().enumerate() {
        assert!(totals.switch_ins >= 2, "task {i} ran {} times in 3 rounds", totals.switch_ins);
        assert!(totals.max_wait <= 2 * round, "task {i} waited {} ns", totals.max_wait);
    }
}

#[test]
fn a_task_that_mostly_sleeps_preempts_a_hog_at_every_wakeup() {
    let specs = [nice(0), nice(0)];
    let editor = Program::bursts(0, &[(MS, 100 * MS)]);
    let got = run(&specs, &[hog(), editor], 60 * S, 500_000, false);
    let editor = got.totals[1];
    assert!(editor.wakeups > 500);
    // The first sleeps are still short of the credit that lifts it above the hog.
    assert!(editor.wakeup_preempts > editor.wakeups - 30, "{editor:?}");
    assert!(editor.wait / editor.wakeups < 20 * MS);
}

#[test]
fn without_a_bonus_the_wakee_waits_for_the_runner_s_slice() {
    // Awake too often to earn credit: both stay at the worst bonus and never preempt each other.
    let specs = [nice(0), nice(0)];
    let busy = Program::bursts(0, &[(50 * MS, MS)]);
    let got = run(&specs, &[hog(), busy], 60 * S, 0, false);
    assert_eq!(got.totals[1].wakeup_preempts, 0, "{:?}", got.totals[1]);
    assert!(got.totals[1].max_wait > 100 * MS);
}

#[test]
fn an_expired_hog_comes_back_although_interactive_tasks_keep_the_cpu_busy() {
    // Each of the twenty wants a tenth of the CPU: together twice what there is. Their bonus keeps
    // them in the active array, where the hog's slice ended.
    let specs = vec![nice(0); 21];
    let mut programs = vec![hog()];
    programs.extend((0..20).map(|i| Program::bursts(S + i * MS, &[(3 * MS, 27 * MS)])));
    let got = run(&specs, &programs, 300 * S, 500_000, true);
    let rows = got.rows.unwrap();
    let hog_switch_ins =
        (0..rows.len()).filter(|&i| rows.row(i)[7] == 0 && rows.row(i)[5] != 0).count();
    assert!(hog_switch_ins >= 2, "the hog ran {hog_switch_ins} times");
}

/// A slow second reading of the rules: all tasks in one list, looked through at each pick.
struct Reading {
    tasks: Vec<ReadTask>,
    curr: Option<usize>,
    /// Rises with each append: order of arrival within a list.
    arrivals: u64,
    expired_since: Option<i64>,
    tick: i64,
}

#[derive(Clone, Copy, Default)]
struct ReadTask {
    nice: i64,
    /// 2 s are 10^9 * 2.
    sleep_avg: i64,
    slept_since: i64,
    slice: i64,
    prio: i64,
    queued: bool,
    expired: bool,
    arrival: u64,
}

impl ReadTask {
    /// Bonus from the sleep average in steps of 200 ms, not from the formula of the scheduler.
    fn new_prio(&self) -> i64 {
        let bonus = self.sleep_avg / (200 * MS) - 5;
        (120 + self.nice - bonus).clamp(100, 139)
    }

    fn full_slice(&self) -> i64 {
        10 + 290 * (19 - self.nice) / 39
    }

    fn interactive(&self) -> bool {
        120 + self.nice - self.prio >= self.nice / 4 + 2
    }
}

impl Reading {
    fn new(specs: &[TaskSpec]) -> Self {
        let task = |s: &TaskSpec| ReadTask { nice: i64::from(s.nice), ..ReadTask::default() };
        let tasks = specs.iter().map(task).collect();
        Self { tasks, curr: None, arrivals: 0, expired_since: None, tick: MS }
    }

    fn put(&mut self, i: usize, expired: bool, now: i64) {
        self.arrivals += 1;
        let task = &mut self.tasks[i];
        (task.queued, task.expired, task.arrival) = (true, expired, self.arrivals);
        if expired && self.expired_since.is_none() {
            self.expired_since = Some(now);
        }
    }

    fn slice_over(&mut self, i: usize, now: i64) {
        let nr = self.tasks.iter().filter(|t| t.queued).count() as i64;
        let starving = self.expired_since.is_some_and(|s| now - s >= 2 * S * nr + self.tick);
        let task = &mut self.tasks[i];
        task.prio = task.new_prio();
        task.slice = task.full_slice();
        let expires = starving || !task.interactive();
        self.put(i, expires, now);
    }

    fn fork(&mut self, i: usize, now: i64) -> bool {
        if let Some(p) = self.curr {
            let slice = self.tasks[p].slice;
            self.tasks[i].slice = slice - slice / 2;
            self.tasks[i].sleep_avg = self.tasks[p].sleep_avg * 95 / 100;
            self.tasks[p].slice = slice / 2;
        } else {
            self.tasks[i].slice = self.tasks[i].full_slice();
        }
        let ended = self.curr.filter(|&p| self.tasks[p].slice == 0);
        if let Some(p) = ended {
            self.slice_over(p, now);
        }
        self.tasks[i].prio = self.tasks[i].new_prio();
        self.put(i, false, now);
        self.beats_runner(i) || ended.is_some()
    }

    fn wake(&mut self, i: usize, now: i64) -> bool {
        let task = &mut self.tasks[i];
        task.sleep_avg = (task.sleep_avg + now - task.slept_since).min(2 * S);
        task.prio = task.new_prio();
        self.put(i, false, now);
        self.beats_runner(i)
    }

    fn beats_runner(&self, i: usize) -> bool {
        self.curr.is_none_or(|c| self.tasks[i].prio < self.tasks[c].prio)
    }

    fn tick(&mut self, now: i64) -> bool {
        let Some(c) = self.curr else { return false };
        let task = &mut self.tasks[c];
        if task.expired {
            return true;
        }
        task.sleep_avg = (task.sleep_avg - self.tick).max(0);
        task.slice -= 1;
        let over = task.slice == 0;
        if over {
            self.slice_over(c, now);
        }
        over
    }

    fn block(&mut self, now: i64) {
        if let Some(c) = self.curr {
            self.tasks[c].queued = false;
            self.tasks[c].slept_since = now;
        }
    }

    fn pick(&mut self) -> Option<usize> {
        if !self.tasks.iter().any(|t| t.queued && !t.expired) {
            self.tasks.iter_mut().for_each(|t| t.expired = false);
            self.expired_since = None;
        }
        let waiting = (0..self.tasks.len())
            .filter(|&i| self.tasks[i].queued && !self.tasks[i].expired)
            .min_by_key(|&i| (self.tasks[i].prio, self.tasks[i].arrival));
        self.curr = waiting;
        waiting
    }
}

/// One step of a random script: what, of whom, after how long.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Forks or wakes the task, whichever applies.
    Rouse(usize),
    Block,
    Yield,
    Ticks(u32),
    Nice(usize, i8),
}

fn steps(tasks: usize) -> impl Strategy<Value = Vec<(Step, i64)>> {
    let step = prop_oneof![
        5 => (0..tasks).prop_map(Step::Rouse),
        4 => Just(Step::Block),
        1 => Just(Step::Yield),
        5 => (1u32..200).prop_map(Step::Ticks),
        1 => ((0..tasks), -20i8..20).prop_map(|(i, n)| Step::Nice(i, n)),
    ];
    prop::collection::vec((step, prop_oneof![0..MS, 0..3 * S]), 1..400)
}

/// The scheduler and its second reading, side by side.
struct Pair {
    rq: Box<dyn Runqueue>,
    tasks: Entities,
    read: Reading,
    born: Vec<bool>,
}

impl Pair {
    fn new(specs: &[TaskSpec]) -> Self {
        let rq = (o1().build)(&o1().settings(1, HZ).unwrap());
        let born = vec![false; specs.len()];
        Self { rq, tasks: Entities::new(specs), read: Reading::new(specs), born }
    }

    /// Picks if one of the two was asked to; the wishes must agree.
    fn settle(&mut self, wanted: bool, must: bool, now: i64) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.rq.common().resched != Resched::No, wanted);
        if wanted || must {
            let next = self.rq.pick_next(&mut self.tasks, now).map(|id| id.0 as usize);
            prop_assert_eq!(next, self.read.pick());
        }
        for (i, read) in self.read.tasks.iter().enumerate() {
            let Interactivity { sleep_avg, slice, prio, .. } =
                *self.tasks.interactivity(TaskId(i as u32));
            if self.born[i] {
                let found = (sleep_avg, i64::from(slice), i64::from(prio));
                prop_assert_eq!(found, (read.sleep_avg, read.slice, read.prio), "task {}", i);
            }
        }
        Ok(())
    }

    fn rouse(&mut self, i: usize, now: i64) -> Result<(), TestCaseError> {
        if self.read.tasks[i].queued {
            return Ok(());
        }
        let id = TaskId(i as u32);
        let how = if self.born[i] { Enqueue::Wake { sync: false } } else { Enqueue::Fork };
        self.rq.enqueue(&mut self.tasks, id, how, now);
        self.rq.wakeup_preempt(&mut self.tasks, id, how, now);
        let wanted = if self.born[i] { self.read.wake(i, now) } else { self.read.fork(i, now) };
        self.born[i] = true;
        self.settle(wanted, false, now)
    }

    fn set_nice(&mut self, i: usize, nice: i8, now: i64) -> Result<(), TestCaseError> {
        if !self.born[i] {
            return Ok(());
        }
        self.rq.set_nice(&mut self.tasks, TaskId(i as u32), nice, now);
        let read = &mut self.read;
        read.tasks[i].nice = i64::from(nice);
        if !read.tasks[i].queued {
            return self.settle(false, false, now);
        }
        read.tasks[i].prio = read.tasks[i].new_prio();
        read.arrivals += 1;
        read.tasks[i].arrival = read.arrivals;
        let wanted = read.curr == Some(i) || read.beats_runner(i);
        self.settle(wanted, false, now)
    }

    fn step(&mut self, step: Step, now: &mut i64) -> Result<(), TestCaseError> {
        match step {
            Step::Rouse(i) => self.rouse(i, *now),
            Step::Nice(i, nice) => self.set_nice(i, nice, *now),
            Step::Ticks(n) => {
                for _ in 0..n {
                    *now += MS;
                    self.rq.tick(&mut self.tasks, *now);
                    let wanted = self.read.tick(*now);
                    self.settle(wanted, false, *now)?;
                }
                Ok(())
            }
            Step::Block | Step::Yield => {
                let Some(c) = self.read.curr else { return Ok(()) };
                if matches!(step, Step::Block) {
                    self.rq.block(&mut self.tasks, Sleep::Normal, *now);
                    self.read.block(*now);
                } else {
                    self.rq.yield_now(&mut self.tasks, *now);
                    self.read.put(c, true, *now);
                }
                self.settle(false, true, *now)
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..Default::default() })]

    #[test]
    fn lists_and_bitmaps_pick_what_a_look_through_all_tasks_picks(
        levels in prop::collection::vec(-20i8..20, 1..12),
        script in steps(12),
    ) {
        let specs: Vec<TaskSpec> = levels.iter().map(|&n| nice(n)).collect();
        let mut pair = Pair::new(&specs);
        let mut now = 0;
        for (step, gap) in script {
            now += gap;
            let step = match step {
                Step::Rouse(i) => Step::Rouse(i % specs.len()),
                Step::Nice(i, n) => Step::Nice(i % specs.len(), n),
                other => other,
            };
            pair.step(step, &mut now)?;
        }
    }

    #[test]
    fn whoever_runs_has_the_best_priority_of_the_active_array(
        levels in prop::collection::vec(-20i8..20, 1..30),
        script in steps(30),
    ) {
        let specs: Vec<TaskSpec> = levels.iter().map(|&n| nice(n)).collect();
        let mut pair = Pair::new(&specs);
        let mut now = 0;
        for (step, gap) in script {
            now += gap;
            match step {
                Step::Rouse(i) => pair.rouse(i % specs.len(), now)?,
                Step::Nice(..) => {}
                other => pair.step(other, &mut now)?,
            }
            let active: Vec<u8> = (0..specs.len() as u32)
                .map(TaskId)
                .filter(|&id| pair.rq.observe(&pair.tasks, Some(id)).eligible == Some(true))
                .map(|id| pair.tasks.interactivity(id).prio)
                .collect();
            if let Some(curr) = pair.rq.common().curr {
                let prio = pair.tasks.interactivity(curr).prio;
                prop_assert_eq!(active.iter().min(), Some(&prio));
            }
        }
    }

    #[test]
    fn a_run_shifted_in_time_is_the_same_run(
        bursts in prop::collection::vec((1..20 * MS, 1..400 * MS, -20i8..20), 1..10),
        shift in prop_oneof![Just(1), Just(MS), 1..1_000_000 * S],
    ) {
        let specs: Vec<TaskSpec> = bursts.iter().map(|b| nice(b.2)).collect();
        let programs = |start| -> Vec<Program> {
            bursts.iter().map(|&(run, sleep, _)| Program::bursts(start, &[(run, sleep)])).collect()
        };
        let here = run(&specs, &programs(0), 3 * S, MS, true);
        let there = run(&specs, &programs(shift), 3 * S + shift, MS + shift, true);
        prop_assert_eq!(&here.totals, &there.totals);
        let (here, there) = (here.rows.unwrap(), there.rows.unwrap());
        prop_assert_eq!(here.len(), there.len());
        for i in 0..here.len() {
            let (a, b) = (here.row(i), there.row(i));
            prop_assert_eq!(a[1] + shift, b[1]);
            prop_assert_eq!((&a[2..], a[0]), (&b[2..], b[0]));
        }
    }

    #[test]
    fn the_same_script_gives_the_same_bits_and_never_more_time_than_there_is(
        raw in prop::collection::vec((0..50 * MS, 0u8..8, 0i64..8), 0..300),
    ) {
        let specs: Vec<TaskSpec> = (0..8).map(|i| nice(i * 5 - 20)).collect();
        let mut now = 0;
        let (mut t, mut op, mut task) = (vec![], vec![], vec![]);
        for (gap, code, who) in raw {
            now += gap;
            let about_runner =
                [Operation::Block, Operation::Sblock, Operation::Yield, Operation::Tick, Operation::Hrtick]
                    .iter()
                    .any(|&o| o as u8 == code);
            t.push(now);
            op.push(code);
            task.push(if about_runner { -1 } else { who });
        }
        prop_assert!(op.iter().all(|&o| usize::from(o) < OPERATIONS.len()));
        let value = vec![0; t.len()];
        let columns = EventColumns { t: &t, op: &op, task: &task, value: &value };
        let once = || {
            let settings = o1().settings(1, HZ).unwrap();
            let scene = Scene { policy: o1(), settings, tasks: specs.clone(), rows: true };
            scene.run_events(columns, Some(now + S), &Watch::new()).unwrap()
        };
        let first = once();
        prop_assert_eq!(&first, &once());
        let used: i64 = first.totals.iter().map(|total| total.exec).sum();
        prop_assert!(used <= now + S);
        prop_assert_eq!(first.ignored + first.carried_out, t.len() as u64);
    }

    #[test]
    fn an_expired_task_is_back_in_the_active_array_within_the_limit(
        sleepers in prop::collection::vec((1u32..6, 1u32..60, -20i8..20), 1..6),
        hog_nice in -20i8..20,
    ) {
        let mut specs = vec![nice(hog_nice)];
        specs.extend(sleepers.iter().map(|s| nice(s.2)));
        let mut rq = (o1().build)(&o1().settings(1, HZ).unwrap());
        let mut tasks = Entities::new(&specs);
        let n = specs.len();
        // From the limit on, each task may use up one slice, and the longest lasts 300 ms.
        let bound = n as i64 * (2 * S + 300 * MS) + MS;
        let mut left: Vec<u32> = vec![u32::MAX];
        left.extend(sleepers.iter().map(|s| s.0));
        let mut wakes_at: Vec<Option<i64>> = vec![Some(0); n];
        let mut expired_since: Vec<Option<i64>> = vec![None; n];
        for now in (0..2 * bound).step_by(MS as usize) {
            rq.tick(&mut tasks, now);
            if rq.common().resched != Resched::No {
                rq.pick_next(&mut tasks, now);
            }
            if let Some(curr) = rq.common().curr {
                let i = curr.0 as usize;
                left[i] -= 1;
                if i > 0 && left[i] == 0 {
                    rq.block(&mut tasks, Sleep::Normal, now);
                    rq.pick_next(&mut tasks, now);
                    let (run, sleep, _) = sleepers[i - 1];
                    left[i] = run;
                    wakes_at[i] = Some(now + i64::from(sleep) * MS);
                }
            }
            for i in 0..n {
                if wakes_at[i].is_some_and(|at| at <= now) {
                    wakes_at[i] = None;
                    let how = if now == 0 { Enqueue::Fork } else { Enqueue::Wake { sync: false } };
                    rq.enqueue(&mut tasks, TaskId(i as u32), how, now);
                    rq.wakeup_preempt(&mut tasks, TaskId(i as u32), how, now);
                    if rq.common().resched != Resched::No {
                        rq.pick_next(&mut tasks, now);
                    }
                }
                let eligible = rq.observe(&tasks, Some(TaskId(i as u32))).eligible;
                expired_since[i] = match eligible {
                    Some(false) => expired_since[i].or(Some(now)),
                    _ => None,
                };
                if let Some(since) = expired_since[i] {
                    prop_assert!(now - since <= bound, "task {} expired for {} ns", i, now - since);
                }
            }
        }
    }
}
