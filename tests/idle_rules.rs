//! Rules of the idle governors that the recorded decisions do not reach, by hand.

use tickless::catalogue::find;
use tickless::idle::{Chosen, Decisions, GOVERNORS, Options, RULES, replay};
use tickless::machine::{IdleState, IdleTable};
use tickless::periods::{Column, Columns, Periods};
use tickless::watch::Watch;

fn table(states: &[(i64, i64)], polling: bool) -> IdleTable {
    let state = |(i, &(exit_latency, target_residency)): (usize, &(i64, i64))| IdleState {
        name: format!("S{i}"),
        exit_latency,
        target_residency,
        polling: polling && i == 0,
        disabled: false,
        power_mw: None,
    };
    IdleTable::new(states.iter().enumerate().map(state).collect()).unwrap()
}

/// POLL, C1, C1E, C6 of a desktop part, ns.
fn desktop() -> IdleTable {
    table(&[(0, 0), (2_000, 2_000), (10_000, 20_000), (85_000, 200_000)], true)
}

fn run(name: &str, table: &IdleTable, columns: Columns<'_>) -> Decisions {
    let entry = find("governor", GOVERNORS, name).unwrap();
    let options =
        Options { hz: 250, add_exit_latency: false, recorded: None, trace: true, threads: Some(1) };
    let periods = Periods::new(columns).unwrap();
    replay(&[Chosen::Entry(entry)], table, &periods, &options, &Watch::new()).unwrap()
}

fn rules(decisions: &Decisions) -> Vec<&'static str> {
    decisions.rule.iter().map(|&r| RULES[usize::from(r)]).collect()
}

#[test]
fn menu_takes_a_negative_sleep_length_for_a_timer_that_is_due_since_6_1() {
    for name in ["menu-6.1", "menu-6.12", "menu-7.2"] {
        let wake = [700_000, 3_000, 900_000, 5_000, 800_000, 40_000];
        let sleep = [5_000_000, -1, 5_000_000, -9_000_000, 5_000_000, 5_000_000];
        let due = sleep.map(|s: i64| s.max(0));
        let event = [3_000_000, 2_000_000, 3_000_000, 2_000_000, 3_000_000, 3_000_000];
        let due_event = [3_000_000, 0, 3_000_000, 0, 3_000_000, 3_000_000];
        let columns = |sleep, event| Columns {
            delta_tick: Some(Column::Slice(event)),
            ..Columns::new(Column::Slice(sleep), Column::Slice(&wake))
        };
        let negative = run(name, &desktop(), columns(&sleep, &event));
        let zero = run(name, &desktop(), columns(&due, &due_event));
        assert_eq!(negative, zero, "{name}");
    }
}

#[test]
fn menu_before_6_1_takes_a_negative_sleep_length_for_an_endless_one() {
    let columns = Columns {
        delta_tick: Some(Column::Scalar(i64::MAX)),
        ..Columns::new(Column::Slice(&[-1]), Column::Scalar(1))
    };
    // The timer is "far", so state 0 is not settled at once. But its product with the correction factor
    // wraps to -8192; half a unit added and divided, that is a prediction of 0 us, and the latency limit
    // of a busy system, the prediction over one, leaves nothing but state 0.
    let found = run("menu-5.10", &desktop(), columns);
    assert_eq!((found.state[0], found.predicted[0], rules(&found)[0]), (0, 0, "prediction"));
    assert_eq!(rules(&run("menu-6.1", &desktop(), columns))[0], "first-only");
}

#[test]
fn refused_entries_wipe_the_typical_interval_since_6_1() {
    let periods = 16 + 8 + 1;
    let sleep = vec![3_000_000; periods];
    let wake = vec![32_000; periods];
    let rejected: Vec<u8> = (0..periods).map(|i| u8::from((16..24).contains(&i))).collect();
    let columns = || Columns {
        rejected: Column::Slice(&rejected),
        ..Columns::new(Column::Slice(&sleep), Column::Slice(&wake))
    };
    // After sixteen periods of 32 us the ring agrees on what is left of them without exit latency.
    for name in ["menu-5.10", "menu-6.1", "menu-6.12", "menu-7.2"] {
        let found = run(name, &desktop(), columns());
        assert_eq!(found.predicted[15], 22_000, "{name}");
        // The first refusal is preceded by a period that was learned, so seven of the eight count.
        let last = found.predicted[periods - 1];
        assert_eq!(last == 22_000, name == "menu-5.10", "{name}: {last}");
    }
}

#[test]
fn a_refused_entry_is_neither_a_hit_nor_a_miss_for_teo() {
    for name in GOVERNORS.iter().map(|g| g.name).filter(|n| n.starts_with("teo")) {
        let sleep = vec![400_000; 40];
        let wake: Vec<i64> = (0..40).map(|i| [390_000, 15_000, 5_000][i % 3]).collect();
        let plain =
            run(name, &desktop(), Columns::new(Column::Slice(&sleep), Column::Slice(&wake)));
        // The same periods with a refused one between any two.
        let doubled: Vec<i64> = wake.iter().flat_map(|&w| [w, 77_000]).collect();
        let rejected: Vec<u8> = (0..80).map(|i| u8::from(i % 2 == 1)).collect();
        let sleep = vec![400_000; 80];
        let columns = Columns {
            rejected: Column::Slice(&rejected),
            ..Columns::new(Column::Slice(&sleep), Column::Slice(&doubled))
        };
        let refused = run(name, &desktop(), columns);
        // Each update is made one select earlier; what is learned is the same.
        let kept: Vec<u8> = refused.state.iter().copied().step_by(2).collect();
        assert_eq!(kept, plain.state, "{name}");
        assert!((1..80).step_by(2).all(|i| refused.verdict[i] == 0), "{name}");
    }
}

#[test]
fn all_states_disabled_gives_state_0_from_whoever_scans_the_states() {
    for entry in
        GOVERNORS.iter().filter(|g| g.name.starts_with("menu") || g.name.starts_with("teo"))
    {
        let columns = Columns {
            disabled: Column::Scalar(0b1111),
            ..Columns::new(Column::Slice(&[9_000_000; 20]), Column::Scalar(500_000))
        };
        let found = run(entry.name, &desktop(), columns);
        assert!(found.state.iter().all(|&s| s == 0), "{}", entry.name);
        assert_eq!(rules(&found)[10], "all-disabled", "{}", entry.name);
    }
}

#[test]
fn teo_with_bins_books_the_first_select_as_a_hit_even_with_several_free_states() {
    // Nothing was slept before the first select: timer and sleep fall into the same bin, which is that
    // of the last state that pays off at once. No intercept, so the timer decides.
    let table = table(&[(0, 0), (1_000, 0), (2_000, 0), (50_000, 100_000)], true);
    let first = |name| {
        let found =
            run(name, &table, Columns::new(Column::Slice(&[50_000_000]), Column::Scalar(1)));
        (found.state[0], rules(&found)[0])
    };
    for name in ["teo-6.1", "teo-6.5", "teo-6.12"] {
        assert_eq!(first(name), (3, "timer"), "{name}");
    }
    // In 7.2 a hit has to end less than half an exit latency before the timer, which is impossible in
    // a state without latency: an intercept of that bin, and a short sleep.
    assert_eq!(first("teo-7.2"), (2, "short-idle"));
}

#[test]
fn a_poll_that_timed_out_sticks_in_v5_and_is_forgotten_in_v6() {
    // Period 0 polls and times out; then come short sleeps in C1 long before a far timer.
    let sleep: Vec<i64> = std::iter::once(1_000).chain(std::iter::repeat_n(900_000, 12)).collect();
    let wake = vec![8_000; 13];
    let columns = || Columns {
        poll_timeout: Column::Scalar(1),
        ..Columns::new(Column::Slice(&sleep), Column::Slice(&wake))
    };
    // In v5 every sleep counts as full, so the deepest state keeps its hits and is chosen for good.
    let v5 = run("teo-rfc-v5", &desktop(), columns());
    assert!(v5.state[1..].iter().all(|&s| s == 3));
    // In v6 eight short sleeps show a different picture.
    let v6 = run("teo-rfc-v6", &desktop(), columns());
    assert_eq!(v6.state[12], 1);
}

#[test]
fn the_second_reading_of_v1_polls_only_for_near_timers() {
    let wake = vec![1_000; 200];
    for (timer, polls) in [(20_000, true), (21_000, false), (5_000_000, false)] {
        let sleep = vec![timer; 200];
        let columns = || Columns::new(Column::Slice(&sleep), Column::Slice(&wake));
        let tolerant = run("teo-rfc-v1-tolerant", &desktop(), columns());
        let polled = tolerant.state.contains(&0);
        assert_eq!(polled, polls, "timer {timer}");
    }
}

#[test]
fn the_second_reading_of_v2_wants_intervals_within_an_eighth_of_their_mean() {
    // Intervals of 80 and 92 us have a mean of 86; 92 is within 86 + 10. 80 and 108 have 94, and 108 is
    // not within 94 + 11.
    for (long, agrees) in [(92_000i64, true), (108_000, false)] {
        // The exit latency of the entered state is taken off twice-as-long periods: add it here.
        let sleep = vec![3_000_000; 40];
        let wake: Vec<i64> = (0..40).map(|i| if i % 2 == 0 { 80_000 } else { long }).collect();
        let table = table(&[(0, 0), (0, 20_000), (0, 1_000_000)], false);
        let columns = Columns::new(Column::Slice(&sleep), Column::Slice(&wake));
        let found = run("teo-rfc-v2-strict", &table, columns);
        assert_eq!(rules(&found)[39] == "recent-intervals", agrees, "{long}: {:?}", found.state);
    }
}
