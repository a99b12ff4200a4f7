//! Nanoseconds per idle period of every governor, beside a plain governor loop in Rust.
//!
//! `cargo bench --bench replay [FILTER]`. All rows replay the same periods on one thread and write
//! state, tick decision and verdict. Loop and governor take turns, many short ones, and the best of each
//! counts: their ratio is what to look at.

use std::hint::black_box;
use std::time::Instant;

use tickless::idle::{Chosen, GOVERNORS, Options, replay};
use tickless::machine::{IdleState, IdleTable};
use tickless::periods::{Column, Columns, Periods};
use tickless::watch::Watch;

const N: usize = 20_000;
const TURNS: usize = 200;
const TICK: i64 = 4_000_000;
const EXIT: [i64; 5] = [0, 2_000, 10_000, 33_000, 133_000];
const TARGET: [i64; 5] = [0, 2_000, 20_000, 100_000, 400_000];

struct Stream {
    timer: Vec<i64>,
    next_event: Vec<i64>,
    wake: Vec<i64>,
}

/// Timers from 4 us to 1 s; two thirds of the wakeups come before them.
fn stream() -> Stream {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |bound: u64| {
        // Marsaglia's xorshift64: any generator does here.
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % bound
    };
    let mut s = Stream { timer: vec![], next_event: vec![], wake: vec![] };
    for _ in 0..N {
        let magnitude = 1u64 << (12 + next(18));
        let timer = (magnitude + next(magnitude)) as i64;
        let early = (1_000 + next(400_000)) as i64;
        s.timer.push(timer);
        s.next_event.push(timer.min(TICK));
        s.wake.push(if next(3) > 0 { early.min(timer) } else { timer });
    }
    s
}

fn table() -> IdleTable {
    let state = |i: usize| IdleState {
        name: format!("state {i}"),
        exit_latency: EXIT[i],
        target_residency: TARGET[i],
        polling: i == 0,
        disabled: false,
        power_mw: None,
    };
    IdleTable::new((0..5).map(state).collect()).expect("an ordered table of five states is valid")
}

/// A simple governor: hits and intercepts per bin, fading by an eighth; the kernel's verdicts.
fn toy(s: &Stream, state: &mut [u8], stop: &mut [bool], verdict: &mut [u8]) {
    let (mut hits, mut intercepts) = ([0i64; 5], [0i64; 5]);
    for e in 0..s.timer.len() {
        let (timer, slept) = (s.timer[e], s.wake[e]);
        let mut idx = (1..5).rfind(|&i| TARGET[i] <= timer).unwrap_or(0);
        let total: i64 = hits.iter().chain(&intercepts).sum();
        let below: i64 = intercepts[..idx].iter().sum();
        if 2 * below > total {
            let mut seen = 0;
            for i in (0..idx).rev() {
                seen += intercepts[i];
                if 2 * seen > below {
                    idx = i;
                    break;
                }
            }
        }
        let keep = idx == 0 || timer < TICK;
        while keep && idx > 0 && TARGET[idx] > s.next_event[e] {
            idx -= 1;
        }
        state[e] = idx as u8;
        stop[e] = !keep;
        verdict[e] = if slept < TARGET[idx] {
            1
        } else if idx < 4 && slept - EXIT[idx] >= TARGET[idx + 1] {
            2
        } else {
            0
        };
        let (mut timer_bin, mut slept_bin) = (0, 0);
        for i in 0..5 {
            hits[i] -= hits[i] >> 3;
            intercepts[i] -= intercepts[i] >> 3;
            if TARGET[i] <= timer {
                timer_bin = i;
                if TARGET[i] <= slept {
                    slept_bin = i;
                }
            }
        }
        if timer_bin == slept_bin {
            hits[timer_bin] += 1024;
        } else {
            intercepts[slept_bin] += 1024;
        }
    }
}

/// The best turn of each of two loops that take turns, ns per period.
fn compare(mut one: impl FnMut(), mut other: impl FnMut()) -> (f64, f64) {
    let turn = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed().as_nanos() as f64 / N as f64
    };
    (0..TURNS).fold((f64::INFINITY, f64::INFINITY), |(a, b), _| {
        (a.min(turn(&mut one)), b.min(turn(&mut other)))
    })
}

fn main() {
    let filter = std::env::args().skip(1).find(|a| !a.starts_with('-')).unwrap_or_default();
    let (s, table) = (stream(), table());
    let (mut state, mut stop, mut verdict) = (vec![0; N], vec![false; N], vec![0; N]);
    let columns = Columns {
        delta_tick: Some(Column::Slice(&s.next_event)),
        ..Columns::new(Column::Slice(&s.timer), Column::Slice(&s.wake))
    };
    let periods = Periods::new(columns).expect("the stream has no negative times");
    let options = Options {
        hz: 250,
        add_exit_latency: false,
        recorded: None,
        trace: false,
        threads: Some(1),
    };
    println!("{:<22} {:>12} {:>12} {:>8}", "governor", "ns/period", "toy loop", "ratio");
    for entry in GOVERNORS.iter().filter(|g| g.name.contains(&filter)) {
        let chosen = [Chosen::Entry(entry)];
        let (toy, governor) = compare(
            || {
                toy(black_box(&s), &mut state, &mut stop, &mut verdict);
                black_box(&state);
            },
            || {
                let done = replay(&chosen, &table, &periods, &options, &Watch::new());
                black_box(&done.expect("the arguments are valid"));
            },
        );
        println!("{:<22} {governor:12.1} {toy:12.1} {:8.2}", entry.name, governor / toy);
    }
}
