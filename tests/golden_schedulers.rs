//! Every policy agrees with the rows and totals of the real scheduler functions.
//!
//! `tests/data/schedulers` holds a cut of the golden set, `tests/data/cut_schedulers.py` made it;
//! the full set is checked when `../shared/data/schedulers` exists.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use tickless::sched::{
    COLUMNS, Class, EventColumns, Loop, OPERATIONS, Outcome, PathCosts, Policy, Program, Scene,
    TOTALS, TaskSpec, apply_rule,
};
use tickless::watch::Watch;

/// Golden file names and the policies they belong to.
const POLICIES: [(&str, &str); 6] = [
    ("cfs", "cfs"),
    ("cfs_uncapped", "cfs-uncapped"),
    ("eevdf", "eevdf"),
    ("eevdf_curb", "eevdf-curb"),
    ("eevdf_6_12", "eevdf-6.12"),
    ("eevdf_7_2", "eevdf-7.2"),
];

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![root.join("tests/data/schedulers")];
    let full = root.join("../shared/data/schedulers");
    if full.is_dir() {
        found.push(full);
    } else {
        let required = std::env::var_os("TICKLESS_REQUIRE_SHARED").is_some_and(|v| v == "1");
        assert!(!required, "../shared/data/schedulers is missing");
    }
    found
}

fn lines(path: &Path) -> impl Iterator<Item = String> + use<> {
    let file = std::fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    BufReader::new(flate2::read::MultiGzDecoder::new(file)).lines().map(|line| line.unwrap())
}

/// One case of the golden inputs.
#[derive(Default)]
struct Case {
    ncpus: i64,
    hz: i64,
    features: Vec<(String, bool)>,
    tasks: Vec<TaskSpec>,
    t: Vec<i64>,
    op: Vec<u8>,
    task: Vec<i64>,
    value: Vec<i64>,
    programs: Vec<Program>,
    /// End and first tick of a closed loop.
    run: Option<(i64, i64)>,
}

fn cases(folder: &Path) -> BTreeMap<String, Case> {
    let mut all = BTreeMap::new();
    let mut name = String::new();
    for file in ["cases.txt.gz", "cases_new.txt.gz"] {
        for line in lines(&folder.join(file)) {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |i: usize| words[i].parse::<i64>().unwrap();
            if words[0] == "case" {
                name = words[1].to_owned();
                let case = Case { ncpus: number(2), hz: number(3), ..Case::default() };
                all.insert(name.clone(), case);
                continue;
            }
            let case: &mut Case = all.get_mut(&name).unwrap();
            match words[0] {
                "feat" => case.features.push((words[1].to_owned(), words[2] == "1")),
                "task" => {
                    let class = match words[2] {
                        "0" => Class::Normal,
                        "3" => Class::Batch,
                        _ => Class::Idle,
                    };
                    let slice = if words.len() > 3 { number(3) } else { 0 };
                    case.tasks.push(TaskSpec { nice: number(1) as i8, class, slice });
                }
                "prog" => {
                    let pairs: Vec<(i64, i64)> = words[4..]
                        .iter()
                        .map(|pair| {
                            let (run, sleep) = pair.split_once(':').unwrap();
                            (run.parse().unwrap(), sleep.parse().unwrap())
                        })
                        .collect();
                    case.programs.resize(case.tasks.len(), Program::default());
                    case.programs[number(1) as usize] = Program::bursts(number(2), &pairs);
                }
                "run" => case.run = Some((number(1), number(2))),
                op => {
                    let code = OPERATIONS.iter().position(|&known| known == op).unwrap();
                    case.op.push(code as u8);
                    case.t.push(number(1));
                    case.task.push(number(2));
                    case.value.push(if words.len() > 3 { number(3) } else { 0 });
                }
            }
        }
    }
    all
}

fn run(policy: &'static Policy, case: &Case) -> Outcome {
    let settings = policy.settings(case.ncpus, case.hz).unwrap();
    let changes = case.features.iter().map(|(name, on)| (name.as_str(), *on));
    let settings = policy.with_features(settings, changes).unwrap();
    let scene = Scene { policy, settings, tasks: case.tasks.clone(), rows: true };
    let outcome = match case.run {
        Some((until, tick0)) => {
            let parameters =
                Loop { until, tick0, timer_latency: 1000, costs: PathCosts::default() };
            scene.run_programs(&case.programs, parameters, &Watch::new())
        }
        None => {
            let columns =
                EventColumns { t: &case.t, op: &case.op, task: &case.task, value: &case.value };
            scene.run_events(columns, None, &Watch::new())
        }
    };
    outcome.unwrap()
}

/// Columns of one of our rows that a golden row of these names has, as it would print them.
fn as_golden(names: &[String], row: &[i64]) -> Vec<String> {
    let get = |name: &str| row[COLUMNS.iter().position(|&c| c == name).unwrap()];
    let ignored = get("valid") == 0;
    names
        .iter()
        .enumerate()
        .map(|(i, name)| match name.as_str() {
            _ if ignored && i > 4 => String::new(),
            "op" => OPERATIONS[get("op") as usize].to_owned(),
            "buddies" => {
                format!("{}:{}:{}", get("next_buddy"), get("last_buddy"), get("skip_buddy"))
            }
            other => get(other).to_string(),
        })
        .collect()
}

/// Differences, each as a line to print.
#[derive(Default)]
struct Score {
    total: usize,
    wrong: usize,
    first: Vec<String>,
}

impl Score {
    fn compare(&mut self, place: &str, names: &[String], expected: &[&str], found: &[String]) {
        self.total += 1;
        if expected.iter().zip(found).all(|(e, f)| e == f) && expected.len() == found.len() {
            return;
        }
        self.wrong += 1;
        if self.first.len() < 12 {
            let columns: Vec<String> = (0..names.len())
                .filter(|&i| expected[i] != found[i])
                .map(|i| format!("{} {} not {}", names[i], found[i], expected[i]))
                .collect();
            self.first.push(format!("{place}: {}", columns.join(", ")));
        }
    }

    fn finish(self, what: &str) {
        println!("{what}: {} of {} equal", self.total - self.wrong, self.total);
        assert!(self.total > 0, "{what}: nothing was compared");
        assert_eq!(self.wrong, 0, "{what}:\n{}", self.first.join("\n"));
    }
}

fn header(lines: &mut impl Iterator<Item = String>) -> Vec<String> {
    let names = lines.next().expect("a header");
    names.split(',').skip(1).map(str::to_owned).collect()
}

fn rows_agree(folder: &Path, file: &str, policy: &str) {
    // The cut holds the first rows of each case.
    let cut = folder.ends_with("tests/data/schedulers");
    let cases = cases(folder);
    let policy = Policy::find(policy).unwrap();
    let mut golden = lines(&folder.join(format!("seq_{file}.csv.gz")));
    let names = header(&mut golden);
    let mut outcomes: BTreeMap<String, Outcome> = BTreeMap::new();
    let (mut current, mut at) = (String::new(), 0);
    let mut score = Score::default();
    for line in golden {
        let fields: Vec<&str> = line.split(',').collect();
        if fields[0] != current {
            if let Some(done) = outcomes.get(&current) {
                let ours = done.rows.as_ref().unwrap().len();
                assert!(at == ours || cut && at < ours, "{current}: {ours} rows, not {at}");
            }
            current = fields[0].to_owned();
            outcomes.insert(current.clone(), run(policy, &cases[&current]));
            at = 0;
        }
        let rows = outcomes[&current].rows.as_ref().unwrap();
        let found = if at < rows.len() { as_golden(&names, rows.row(at)) } else { vec![] };
        score.compare(&format!("{current} {}", fields[1]), &names, &fields[1..], &found);
        at += 1;
    }
    score.finish(&format!("seq_{file}"));
    totals_agree(folder, file, &outcomes);
}

fn totals_agree(folder: &Path, file: &str, outcomes: &BTreeMap<String, Outcome>) {
    let mut golden = lines(&folder.join(format!("stats_{file}.csv.gz")));
    let names = header(&mut golden);
    let mut score = Score::default();
    for line in golden {
        let fields: Vec<&str> = line.split(',').collect();
        let task: usize = fields[1].parse().unwrap();
        let totals = outcomes[fields[0]].totals[task].values(task);
        let found: Vec<String> = (0..names.len())
            .map(|i| {
                assert_eq!(TOTALS[i], names[i]);
                totals[i].to_string()
            })
            .collect();
        score.compare(&format!("{} task {task}", fields[0]), &names, &fields[1..], &found);
    }
    score.finish(&format!("stats_{file}"));
}

fn check(policy: &str) {
    let (file, _) = POLICIES.iter().find(|(_, p)| *p == policy).unwrap();
    for folder in folders() {
        rows_agree(&folder, file, policy);
    }
}

#[test]
fn cfs_agrees_with_every_golden_row_and_total() {
    check("cfs");
}

#[test]
fn uncapped_cfs_agrees_with_every_golden_row_and_total() {
    check("cfs-uncapped");
}

#[test]
fn eevdf_of_august_2023_agrees_with_every_golden_row_and_total() {
    check("eevdf");
}

#[test]
fn eevdf_with_the_curb_agrees_with_every_golden_row_and_total() {
    check("eevdf-curb");
}

#[test]
fn eevdf_of_6_12_agrees_with_every_golden_row_and_total() {
    check("eevdf-6.12");
}

#[test]
fn eevdf_of_7_2_agrees_with_every_golden_row_and_total() {
    check("eevdf-7.2");
}

/// Splits a golden line into integers; a string of 0 and 1 counts as one integer per character.
fn integers(names: &[&str], fields: &[&str]) -> Vec<i64> {
    let mut all = vec![];
    for (name, field) in names.iter().zip(fields) {
        if *name == "eligible" {
            all.extend(field.chars().map(|c| i64::from(c == '1')));
        } else {
            all.extend(field.split([':', ';']).map(|n| n.parse::<i64>().unwrap()));
        }
    }
    all
}

/// Function vectors and how many of their columns are results.
const VECTORS: [(&str, usize); 12] = [
    ("calc_delta", 1),
    ("calc_delta_fair", 1),
    ("place_cfs", 1),
    ("preempt_tick", 1),
    ("sched_slice", 1),
    ("wakeup_preempt", 1),
    ("update_deadline", 2),
    ("snapshot", 10),
    ("vlen_6_12", 1),
    ("vlen_7_2", 1),
    ("snapshot_6_12", 12),
    ("snapshot_7_2", 12),
];

#[test]
fn every_function_vector_agrees() {
    for folder in folders() {
        for (rule, results) in VECTORS {
            let mut golden = lines(&folder.join(format!("func_{rule}.csv.gz")));
            let header = golden.next().unwrap();
            let names: Vec<&str> = header.split(',').collect();
            let inputs = names.len() - results;
            let mut score = Score::default();
            for (i, line) in golden.enumerate() {
                let fields: Vec<&str> = line.split(',').collect();
                let vector = integers(&names[..inputs], &fields[..inputs]);
                let expected = integers(&names[inputs..], &fields[inputs..]);
                let (found, _) = apply_rule(rule, &vector, &[vector.len() as i64]).unwrap();
                score.total += 1;
                if found != expected {
                    score.wrong += 1;
                    score.first.push(format!("vector {i}: {found:?} not {expected:?}"));
                }
            }
            score.first.truncate(5);
            score.finish(&format!("func_{rule}"));
        }
    }
}
