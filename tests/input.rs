//! Reading damaged text: no panic, bounded time, and both ways of reading a line give the same.
//!
//! The mutations are drawn from a fixed stream, so a failure repeats. `TICKLESS_MUTATIONS` sets
//! their number per input file.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use tickless::input::batch::Batch;
use tickless::input::ftrace::{Layout, Style, read_block, read_block_general};
use tickless::input::report::Strictness;
use tickless::input::source::{Origin, Source};
use tickless::input::wrapping::Wrapping;
use tickless::input::{self, Options, Trace};
use tickless::watch::Watch;

/// Mutations per file in the normal run; some forty files make a few ten thousand.
const MUTATIONS: usize = 800;

/// Time that one small input may take.
const LIMIT: Duration = Duration::from_secs(1);

fn inputs() -> Vec<(PathBuf, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/inputs");
    let mut folders = vec![root];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_none_or(|e| e != "json" && e != "md") {
                found.push((path.clone(), fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    assert!(found.len() > 25, "tests/data/inputs is incomplete");
    found
}

fn mutations() -> usize {
    std::env::var("TICKLESS_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(MUTATIONS)
}

/// Changes some bytes: flips, cuts, copies, numbers that are too large, pieces of other lines.
fn mutate(text: &[u8], rng: &mut Pcg64Mcg) -> Vec<u8> {
    const PIECES: &[&[u8]] = &[
        b"\n",
        b"\r",
        b"\0",
        b" ",
        b"[",
        b"]",
        b":",
        b".",
        b"-",
        b"\xFF",
        b"99999999999999999999",
        b"4294967295",
        b" ==> ",
        b"[000]",
        b"CPU:0 [LOST EVENTS]\n",
        b" next_comm=",
        b" prev_pid=",
        b"cpu_idle: state=1 cpu_id=0",
        b"\t",
        b"#",
        b"> ",
        b"[FAILED TO PARSE]",
        b" 1.5: ",
    ];
    let mut out = text.to_vec();
    for _ in 0..1 + rng.next_u32() % 4 {
        let at = |rng: &mut Pcg64Mcg, n: usize| (rng.next_u64() % (n as u64 + 1)) as usize;
        let (i, j) = (at(rng, out.len()), at(rng, out.len()));
        let (i, j) = (i.min(j), i.max(j));
        match rng.next_u32() % 6 {
            0 if i < out.len() => out[i] = rng.next_u32() as u8,
            1 if i < out.len() => out[i] ^= 1 << (rng.next_u32() % 8),
            2 => drop(out.drain(i..j.min(i + 40))),
            3 => {
                let copy = out[i..j.min(i + 200)].to_vec();
                let to = at(rng, out.len());
                drop(out.splice(to..to, copy));
            }
            4 => out.truncate(j),
            _ => {
                let piece = PIECES[rng.next_u32() as usize % PIECES.len()];
                drop(out.splice(i..i, piece.iter().copied()));
            }
        }
    }
    out
}

fn read(text: &[u8], strictness: Strictness, unit: Option<u64>) -> Option<Trace> {
    let source = Source { name: "mutant".into(), origin: Origin::Bytes(text) };
    input::read_trace(vec![source], Options { strictness, unit }, &Watch::new()).ok()
}

#[test]
fn damaged_text_gives_a_result_or_an_error_in_time() {
    let mut rng = Pcg64Mcg::seed_from_u64(2018);
    for (path, text) in inputs() {
        for round in 0..mutations() {
            let mutant = mutate(&text, &mut rng);
            let start = Instant::now();
            let _ = input::detect(&mutant);
            let trace = read(&mutant, Strictness::Report, [None, Some(1)][round % 2]);
            let strict = read(&mutant, Strictness::Strict, [None, Some(1)][round % 2]);
            assert!(start.elapsed() < LIMIT, "{}: round {round}", path.display());
            let Some(trace) = trace else { continue };
            check(&trace);
            // What strict reading accepts is what report reading gives without remarks.
            assert_eq!(strict.is_some(), trace.batch.tally.first_refused().is_none());
        }
    }
}

/// Laws that hold for every trace, however damaged its text.
fn check(trace: &Trace) {
    let b = &trace.batch;
    assert!(b.used <= b.events && b.events <= b.lines);
    let skipped: u64 = b.tally.skipped().values().sum();
    assert!(skipped + b.used <= b.lines, "a line is counted once");
    let idle = &trace.idle.intervals;
    for i in 0..idle.len() {
        assert!(idle.end[i] == input::intervals::OPEN || idle.end[i] >= idle.start[i]);
    }
    for time in [&b.tables.switches.time, &b.tables.wakeups.time, &b.tables.marks.time, &idle.start]
    {
        assert!(time.is_sorted());
    }
    let names = b.tables.names.len() as u32;
    assert!(b.tables.switches.prev_comm.iter().chain(&b.tables.wakeups.comm).all(|&n| n < names));
}

/// A text long enough for the fixed places to be learnt and used, with every usual event.
fn usual_text() -> Vec<u8> {
    let mut text = String::new();
    for i in 0..12u64 {
        let (cpu, us) = (i % 3, 100 + i * 7);
        let task = ["          <idle>-0      ", "     kworker/0:1-57     "][i as usize % 2];
        let flags = ["d..1.", "dNh4.", "....."][i as usize % 3];
        let front = format!("{task} [{cpu:03}] {flags}    12.{us:06}: ");
        text += &front;
        text += &match i % 4 {
            0 => format!("cpu_idle: state={} cpu_id={cpu}\n", i % 5),
            1 => format!("sched_wakeup: comm=a-{i} pid={i} prio=120 target_cpu=00{cpu}\n"),
            2 => format!("cpu_idle: state=4294967295 cpu_id={cpu}\n"),
            _ => format!(
                "sched_switch: prev_comm=swapper/{cpu} prev_pid=0 prev_prio=120 prev_state=R ==> \
                 next_comm=task{i} next_pid={i} next_prio=120\n"
            ),
        };
    }
    // Beyond the window in which the last lines of a block are read the general way.
    text += &"\n".repeat(400);
    text.into_bytes()
}

#[test]
fn fixed_places_and_the_general_way_read_the_same() {
    let mut rng = Pcg64Mcg::seed_from_u64(7);
    let style = Style { layout: Layout::Ftrace, wrapping: Wrapping::Bare, unit: None };
    let mut texts: Vec<Vec<u8>> = inputs().into_iter().map(|(_, t)| t).collect();
    texts.extend((0..texts.len()).map(|_| usual_text()));
    for text in texts {
        for _ in 0..mutations() {
            let mutant = mutate(&text, &mut rng);
            let (mut fast, mut general) = (Batch::default(), Batch::default());
            read_block(&mutant, style, &mut fast);
            read_block_general(&mutant, style, &mut general);
            assert_eq!(
                format!("{fast:?}"),
                format!("{general:?}"),
                "text: {:?}",
                String::from_utf8_lossy(&mutant)
            );
        }
    }
}

#[test]
fn a_trace_does_not_depend_on_where_its_blocks_end() {
    let line = |i: u64| {
        format!(
            "          <idle>-0       [{:03}] d..1. {:>5}.{:06}: cpu_idle: state={} cpu_id={}\n",
            i % 4,
            i / 1_000_000,
            i % 1_000_000,
            if (i / 4).is_multiple_of(2) { "1".to_owned() } else { "4294967295".to_owned() },
            i % 4
        )
    };
    let mut text: String = (0..30_000).map(line).collect();
    text.insert_str(text.len() / 2 / 81 * 81, "CPU:2 [LOST 5 EVENTS]\nodd\n");
    let whole = read(text.as_bytes(), Strictness::Report, None).unwrap();
    let style = Style { layout: Layout::Ftrace, wrapping: Wrapping::Bare, unit: None };
    let mut joined = Batch::default();
    let mut rest = text.as_bytes();
    let mut step = 900;
    while !rest.is_empty() {
        let most = &rest[..rest.len().min(step)];
        let end = most.iter().rposition(|&b| b == b'\n').map_or(most.len(), |i| i + 1);
        let mut part = Batch::default();
        read_block(&rest[..end], style, &mut part);
        joined.append(&mut part);
        rest = &rest[end..];
        step = step % 7000 + 513;
    }
    let mut tally = joined.tally.clone();
    let idle = input::intervals::build(&joined.tables.idle, &mut tally);
    assert_eq!(idle.intervals, whole.idle.intervals);
    assert_eq!(idle.broken, whole.idle.broken);
    assert_eq!(tally.warnings(), whole.batch.tally.warnings());
    assert_eq!(joined.lost, whole.batch.lost);
}
