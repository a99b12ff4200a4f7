//! Laws of the idle governors and their replay, for every entry of the catalogue.

use proptest::collection::vec;
use proptest::prelude::*;
use tickless::idle::foreign::CFunction;
use tickless::idle::{
    ABOVE, BELOW, Chosen, Decisions, GOVERNORS, GovernorEntry, HZ, Options, RULES, Rule, replay,
};
use tickless::machine::{IdleState, IdleTable};
use tickless::periods::{Column, Columns, Periods};
use tickless::watch::Watch;

/// Owned columns.
#[derive(Debug, Clone, Default)]
struct Stream {
    sleep_length: Vec<i64>,
    wake: Vec<i64>,
    delta_tick: Vec<i64>,
    latency_limit: Vec<i64>,
    overhead: Vec<i64>,
    nr_iowait: Vec<u32>,
    cpu_util: Vec<u32>,
    cpu_load: Vec<u32>,
    disabled: Vec<u16>,
    tick_stopped: Vec<u8>,
    got_tick: Vec<u8>,
    poll_timeout: Vec<u8>,
    rejected: Vec<u8>,
    cpu: Vec<u32>,
}

impl Stream {
    fn periods(&self) -> Periods<'_> {
        Periods::new(Columns {
            delta_tick: Some(Column::Slice(&self.delta_tick)),
            latency_limit: Column::Slice(&self.latency_limit),
            overhead: Column::Slice(&self.overhead),
            nr_iowait: Column::Slice(&self.nr_iowait),
            cpu_util: Column::Slice(&self.cpu_util),
            cpu_load: Column::Slice(&self.cpu_load),
            disabled: Column::Slice(&self.disabled),
            tick_stopped: Column::Slice(&self.tick_stopped),
            got_tick: Some(Column::Slice(&self.got_tick)),
            poll_timeout: Column::Slice(&self.poll_timeout),
            rejected: Column::Slice(&self.rejected),
            cpu: Column::Slice(&self.cpu),
            ..Columns::new(Column::Slice(&self.sleep_length), Column::Slice(&self.wake))
        })
        .unwrap()
    }

    fn pick(&self, index: &[usize]) -> Self {
        fn of<T: Copy>(column: &[T], index: &[usize]) -> Vec<T> {
            index.iter().map(|&i| column[i]).collect()
        }
        Self {
            sleep_length: of(&self.sleep_length, index),
            wake: of(&self.wake, index),
            delta_tick: of(&self.delta_tick, index),
            latency_limit: of(&self.latency_limit, index),
            overhead: of(&self.overhead, index),
            nr_iowait: of(&self.nr_iowait, index),
            cpu_util: of(&self.cpu_util, index),
            cpu_load: of(&self.cpu_load, index),
            disabled: of(&self.disabled, index),
            tick_stopped: of(&self.tick_stopped, index),
            got_tick: of(&self.got_tick, index),
            poll_timeout: of(&self.poll_timeout, index),
            rejected: of(&self.rejected, index),
            cpu: of(&self.cpu, index),
        }
    }
}

/// Times of every magnitude, and the ends of the range.
fn time() -> impl Strategy<Value = i64> {
    prop_oneof![
        8 => (0u32..40).prop_flat_map(|bits| 0i64..=(1 << bits)),
        1 => Just(0),
        1 => Just(i64::MAX),
        1 => (i64::MAX - 1_000_000)..i64::MAX,
        1 => 4_294_967_295_000i64..4_294_967_400_000,
    ]
}

fn signed() -> impl Strategy<Value = i64> {
    prop_oneof![6 => time(), 1 => Just(i64::MIN), 1 => -5_000_000i64..0, 1 => any::<i64>()]
}

fn flag(share: f64) -> impl Strategy<Value = u8> {
    prop::bool::weighted(share).prop_map(u8::from)
}

fn stream(n: usize) -> impl Strategy<Value = Stream> {
    let times =
        (vec(signed(), n), vec(time(), n), vec(signed(), n), vec(limit(), n), vec(time(), n));
    let numbers = (vec(number(), n), vec(number(), n), vec(number(), n));
    let disabled = vec(prop_oneof![4 => Just(0u16), 1 => any::<u16>()], n);
    let flags = (vec(flag(0.2), n), vec(flag(0.3), n), vec(flag(0.2), n), vec(flag(0.05), n));
    let cpu = vec(prop_oneof![Just(0u32), Just(7), Just(u32::MAX)], n);
    (times, numbers, disabled, flags, cpu).prop_map(|(t, k, disabled, f, cpu)| Stream {
        sleep_length: t.0,
        wake: t.1,
        delta_tick: t.2,
        latency_limit: t.3,
        overhead: t.4,
        nr_iowait: k.0,
        cpu_util: k.1,
        cpu_load: k.2,
        disabled,
        tick_stopped: f.0,
        got_tick: f.1,
        poll_timeout: f.2,
        rejected: f.3,
        cpu,
    })
}

fn limit() -> impl Strategy<Value = i64> {
    prop_oneof![4 => Just(2_000_000_000_000i64), 2 => time(), 1 => Just(0)]
}

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![4 => Just(0u32), 4 => 0u32..3_000, 1 => any::<u32>(), 1 => Just(u32::MAX)]
}

fn state(exit_latency: i64, target_residency: i64, polling: bool, disabled: bool) -> IdleState {
    let name = "S".to_owned();
    IdleState { name, exit_latency, target_residency, polling, disabled, power_mw: None }
}

/// Any table that is accepted: 1 to 10 states, ordered or not.
fn any_table() -> impl Strategy<Value = IdleTable> {
    (vec((time(), time(), prop::bool::weighted(0.1)), 1..=10), any::<bool>(), any::<bool>())
        .prop_map(|(mut states, polling, ordered)| {
            if ordered {
                let mut exit: Vec<i64> = states.iter().map(|s| s.0).collect();
                let mut target: Vec<i64> = states.iter().map(|s| s.1).collect();
                exit.sort_unstable();
                target.sort_unstable();
                for (i, s) in states.iter_mut().enumerate() {
                    (s.0, s.1) = (exit[i], target[i]);
                }
            }
            let states = states.iter().enumerate();
            IdleTable::new(states.map(|(i, s)| state(s.0, s.1, polling && i == 0, s.2)).collect())
                .unwrap()
        })
}

/// Tables as machines have them: shallow to deep, whole microseconds, a free polling state or none.
fn real_table() -> impl Strategy<Value = IdleTable> {
    (vec((1i64..300, prop_oneof![0i64..900, 0i64..9_000]), 2..=7), any::<bool>()).prop_map(
        |(mut steps, polling)| {
            if polling {
                steps[0] = (0, 0);
            }
            let (mut exit, mut target) = (0, 0);
            let states = steps.iter().enumerate().map(|(i, &(e, t))| {
                exit += e;
                target = (target + t).max(exit);
                state(exit * 1000, target * 1000, polling && i == 0, false)
            });
            IdleTable::new(states.collect()).unwrap()
        },
    )
}

fn options(hz: u32, add: bool) -> Options<'static> {
    Options { hz, add_exit_latency: add, recorded: None, trace: true, threads: Some(1) }
}

fn everyone() -> Vec<Chosen<'static>> {
    GOVERNORS.iter().map(Chosen::Entry).collect()
}

fn run(
    governors: &[Chosen<'_>],
    table: &IdleTable,
    s: &Stream,
    options: &Options<'_>,
) -> Decisions {
    replay(governors, table, &s.periods(), options, &Watch::new()).unwrap()
}

fn hz() -> impl Strategy<Value = u32> {
    prop::sample::select(HZ.to_vec())
}

fn row<T>(values: &[T], governor: usize, n: usize) -> &[T] {
    &values[governor * n..][..n]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_input_makes_a_governor_panic_or_leave_the_table(
        table in any_table(), s in stream(40), hz in hz(), add in any::<bool>()
    ) {
        let found = run(&everyone(), &table, &s, &options(hz, add));
        prop_assert!(found.state.iter().all(|&state| usize::from(state) < table.len()));
        prop_assert!(found.verdict.iter().all(|&v| v <= BELOW));
        prop_assert!(found.rule.iter().all(|&r| usize::from(r) < RULES.len()));
    }

    #[test]
    fn tracing_and_threads_change_nothing(
        table in any_table(), s in stream(60), hz in hz(), add in any::<bool>()
    ) {
        let one = run(&everyone(), &table, &s, &options(hz, add));
        let again = run(&everyone(), &table, &s, &options(hz, add));
        let three =
            run(&everyone(), &table, &s, &Options { threads: Some(3), ..options(hz, add) });
        prop_assert_eq!(&one, &again);
        prop_assert_eq!(&one, &three);
        let plain = run(&everyone(), &table, &s, &Options { trace: false, ..options(hz, add) });
        prop_assert_eq!(&one.state, &plain.state);
        prop_assert_eq!(&one.stop_tick, &plain.stop_tick);
        prop_assert_eq!(&one.verdict, &plain.verdict);
        prop_assert!(plain.rule.is_empty() && plain.predicted.is_empty());
    }

    #[test]
    fn a_prefix_of_the_periods_gives_a_prefix_of_the_decisions(
        table in any_table(), s in stream(50), cut in 0usize..50
    ) {
        let whole = run(&everyone(), &table, &s, &options(250, false));
        let index: Vec<usize> = (0..cut).collect();
        let part = run(&everyone(), &table, &s.pick(&index), &options(250, false));
        for g in 0..GOVERNORS.len() {
            prop_assert_eq!(&row(&whole.state, g, 50)[..cut], row(&part.state, g, cut));
            prop_assert_eq!(&row(&whole.stop_tick, g, 50)[..cut], row(&part.stop_tick, g, cut));
            prop_assert_eq!(&row(&whole.verdict, g, 50)[..cut], row(&part.verdict, g, cut));
            prop_assert_eq!(&row(&whole.predicted, g, 50)[..cut], row(&part.predicted, g, cut));
        }
    }

    #[test]
    fn a_cpu_knows_nothing_of_the_others(table in any_table(), s in stream(60)) {
        let all = run(&everyone(), &table, &s, &options(1000, true));
        for cpu in [0, 7, u32::MAX] {
            let index: Vec<usize> = (0..60).filter(|&i| s.cpu[i] == cpu).collect();
            let alone = run(&everyone(), &table, &s.pick(&index), &options(1000, true));
            for g in 0..GOVERNORS.len() {
                let expected: Vec<u8> = index.iter().map(|&i| row(&all.state, g, 60)[i]).collect();
                prop_assert_eq!(&expected[..], row(&alone.state, g, index.len()));
                let expected: Vec<u8> = index.iter().map(|&i| row(&all.rule, g, 60)[i]).collect();
                prop_assert_eq!(&expected[..], row(&alone.rule, g, index.len()));
            }
        }
    }

    #[test]
    fn the_number_of_a_cpu_means_nothing(table in any_table(), s in stream(40)) {
        let mut renamed = s.clone();
        for cpu in &mut renamed.cpu {
            *cpu = match *cpu { 0 => 5, 7 => 0, _ => 7 };
        }
        prop_assert_eq!(
            run(&everyone(), &table, &s, &options(100, false)),
            run(&everyone(), &table, &renamed, &options(100, false))
        );
    }

    #[test]
    fn a_disabled_state_of_the_table_is_as_good_as_one_disabled_in_every_period(
        table in any_table(), s in stream(40)
    ) {
        let mut states = table.states().to_vec();
        let mask = table.disabled_mask();
        states.iter_mut().for_each(|s| s.disabled = false);
        let mut masked = s.clone();
        masked.disabled.iter_mut().for_each(|m| *m |= mask);
        prop_assert_eq!(
            run(&everyone(), &table, &s, &options(250, false)),
            run(&everyone(), &IdleTable::new(states).unwrap(), &masked, &options(250, false))
        );
    }

    #[test]
    fn following_ones_own_choices_is_the_default(table in any_table(), s in stream(40)) {
        for entry in GOVERNORS {
            let chosen = [Chosen::Entry(entry)];
            let own = run(&chosen, &table, &s, &options(250, true));
            let recorded = Options { recorded: Some(&own.state), ..options(250, true) };
            prop_assert_eq!(&own, &run(&chosen, &table, &s, &recorded), "{}", entry.name);
        }
    }

    #[test]
    fn a_single_state_asks_nobody(s in stream(30), exit in time(), polling in any::<bool>()) {
        let table = IdleTable::new(vec![state(exit, exit, polling, false)]).unwrap();
        let found = run(&everyone(), &table, &s, &options(250, false));
        prop_assert!(found.state.iter().chain(&found.verdict).all(|&x| x == 0));
        prop_assert!(found.stop_tick.iter().all(|&stop| !stop));
        prop_assert!(found.rule.iter().all(|&r| r == Rule::SingleState as u8));
    }

    #[test]
    fn verdicts_follow_the_definition(table in any_table(), s in stream(40), add in any::<bool>()) {
        let found = run(&everyone(), &table, &s, &options(250, add));
        let states = table.states();
        for (g, entry) in GOVERNORS.iter().enumerate() {
            for i in 0..40 {
                let chosen = usize::from(row(&found.state, g, 40)[i]);
                let exit = states[chosen].exit_latency;
                let slept = s.wake[i].wrapping_add(if add { exit } else { 0 });
                let off = |k: &usize| (s.disabled[i] | table.disabled_mask()) >> k & 1 != 0;
                let expected = if s.rejected[i] != 0 {
                    0
                } else if slept < states[chosen].target_residency {
                    ABOVE * u8::from((0..chosen).any(|k| !off(&k)))
                } else {
                    let deeper = (chosen + 1..states.len()).find(|k| !off(k));
                    let pays = |k: usize| {
                        slept > exit && slept.wrapping_sub(exit) >= states[k].target_residency
                    };
                    BELOW * u8::from(deeper.is_some_and(pays))
                };
                prop_assert_eq!(row(&found.verdict, g, 40)[i], expected, "{}", entry.name);
            }
        }
    }
}

/// Periods on which the laws about limits and disabled states are judged: real machines, whole
/// microseconds.
fn constrained(n: usize) -> impl Strategy<Value = Stream> {
    let limits = vec(
        prop_oneof![2 => Just(2_000_000_000_000i64), 3 => (0i64..600).prop_map(|us| us * 1000)],
        n,
    );
    let masks = vec(prop_oneof![2 => Just(0u16), 3 => 0u16..128], n);
    let sleeps = vec(prop_oneof![0i64..6_000_000, 0i64..60_000_000], n);
    let wakes = vec(prop_oneof![0i64..400_000, 0i64..60_000_000], n);
    (stream(n), limits, masks, sleeps, wakes).prop_map(|(s, limits, masks, sleeps, wakes)| {
        let next = |(&sl, &stopped): (&i64, &u8)| if stopped != 0 { sl } else { sl.min(1_700_000) };
        let delta_tick = sleeps.iter().zip(&s.tick_stopped).map(next).collect();
        Stream {
            latency_limit: limits,
            disabled: masks,
            sleep_length: sleeps,
            delta_tick,
            wake: wakes,
            cpu: vec![0; s.cpu.len()],
            ..s
        }
    })
}

/// Periods in which `entry` chose a state that wakes too slowly although an enabled one is fast enough,
/// and in which it chose a disabled state although one is enabled.
fn violations(entry: &'static GovernorEntry, table: &IdleTable, s: &Stream) -> (usize, usize) {
    let found = run(&[Chosen::Entry(entry)], table, s, &options(250, false));
    let states = table.states();
    let (mut slow, mut off) = (0, 0);
    for (i, &chosen) in found.state.iter().enumerate() {
        let enabled = |k: &usize| s.disabled[i] >> k & 1 == 0;
        let fast = |k: &usize| states[*k].exit_latency <= s.latency_limit[i];
        let any = |law: &dyn Fn(&usize) -> bool| (0..states.len()).any(|k| law(&k));
        slow += usize::from(!fast(&chosen.into()) && any(&|k| enabled(k) && fast(k)));
        off += usize::from(!enabled(&chosen.into()) && any(&enabled));
    }
    (slow, off)
}

#[test]
fn limits_and_disabled_states_are_respected_exactly_where_the_catalogue_says_so() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let input = (real_table(), constrained(200));
    let cases: Vec<(IdleTable, Stream)> =
        (0..150).map(|_| input.new_tree(&mut runner).unwrap().current()).collect();
    let mut wrong = Vec::new();
    for entry in GOVERNORS {
        let (mut slow, mut off) = (0, 0);
        for (table, s) in &cases {
            let (s, o) = violations(entry, table, s);
            slow += s;
            off += o;
        }
        if entry.respects_limits != (slow == 0) || entry.respects_disabled != (off == 0) {
            wrong.push(format!("{}: {slow} too slow, {off} disabled", entry.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

extern "C" fn deepest_fitting(memory: *mut i64, context: *const i64, table: *const i64) -> i64 {
    // SAFETY: the replay hands in arrays of the documented lengths.
    #[allow(unsafe_code)]
    let (memory, context, table) = unsafe {
        (
            std::slice::from_raw_parts_mut(memory, 64),
            std::slice::from_raw_parts(context, 16),
            std::slice::from_raw_parts(table, 30),
        )
    };
    memory[0] += 1;
    let fits = (0..context[0]).filter(|&i| table[10 + i as usize] <= context[1]).max();
    let keep_tick = if memory[0] % 2 == 0 { 256 } else { 0 };
    fits.unwrap_or(0) + keep_tick
}

extern "C" fn outside(_: *mut i64, _: *const i64, _: *const i64) -> i64 {
    99
}

fn address(f: extern "C" fn(*mut i64, *const i64, *const i64) -> i64) -> usize {
    f as usize
}

proptest! {
    #[test]
    fn a_c_governor_sees_table_and_timer_and_keeps_its_own_memory_per_cpu(
        table in any_table().prop_filter("asks", |t| t.len() > 1), s in stream(50)
    ) {
        let c = [Chosen::C(CFunction::new(address(deepest_fitting)).unwrap())];
        let found = run(&c, &table, &s, &options(250, false));
        let mut asked = std::collections::HashMap::new();
        for i in 0..50 {
            let fits = |k: &usize| table.states()[*k].target_residency <= s.sleep_length[i];
            let expected = (0..table.len()).filter(fits).max().unwrap_or(0);
            prop_assert_eq!(usize::from(found.state[i]), expected);
            let times: &mut u32 = asked.entry(s.cpu[i]).or_default();
            *times += 1;
            prop_assert_eq!(found.stop_tick[i], *times % 2 == 1);
        }
    }
}

#[test]
fn a_state_outside_the_table_from_a_c_governor_names_the_period() {
    let table =
        IdleTable::new(vec![state(0, 0, true, false), state(10, 10, false, false)]).unwrap();
    let c = [Chosen::C(CFunction::new(address(outside)).unwrap())];
    let periods = Periods::new(Columns::new(Column::Slice(&[5, 5]), Column::Scalar(1))).unwrap();
    let error = replay(&c, &table, &periods, &options(250, false), &Watch::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "governors: the governor chose state 99 in period 0; the table has states 0 to 1"
    );
    assert!(CFunction::new(0).is_err());
}

#[test]
fn recorded_states_are_checked_where_they_are_used() {
    let table =
        IdleTable::new(vec![state(0, 0, true, false), state(10, 10, false, false)]).unwrap();
    let columns = Columns::new(Column::Slice(&[5, 5]), Column::Scalar(1));
    let run = |columns, recorded: &[u8]| {
        let periods = Periods::new(columns).unwrap();
        let options = Options { recorded: Some(recorded), ..options(250, false) };
        replay(&everyone(), &table, &periods, &options, &Watch::new()).map_err(|e| e.to_string())
    };
    assert!(run(columns, &[1, 2]).unwrap_err().starts_with("recorded_state[1]: state 2 is not in"));
    assert!(run(columns, &[1]).unwrap_err().contains("expected length 2, found 1"));
    let refused = Columns { rejected: Column::Slice(&[0, 1]), ..columns };
    assert!(run(refused, &[1, 255]).is_ok());
}

#[test]
fn a_stop_is_heard_and_odd_options_are_refused() {
    let table =
        IdleTable::new(vec![state(0, 0, true, false), state(10, 10, false, false)]).unwrap();
    let periods = Periods::new(Columns::new(Column::Slice(&[5; 1000]), Column::Scalar(1))).unwrap();
    let watch = Watch::new();
    watch.stop();
    let stopped = replay(&everyone(), &table, &periods, &options(250, false), &watch);
    assert_eq!(stopped, Err(tickless::error::Error::Interrupted));
    let odd = [options(999, false), Options { threads: Some(0), ..options(250, false) }];
    for options in odd {
        assert!(replay(&everyone(), &table, &periods, &options, &Watch::new()).is_err());
    }
}

#[test]
fn no_periods_and_no_governors_give_empty_decisions() {
    let table =
        IdleTable::new(vec![state(0, 0, true, false), state(10, 10, false, false)]).unwrap();
    let none = Periods::new(Columns::new(Column::Slice(&[]), Column::Slice(&[]))).unwrap();
    assert!(run(&everyone(), &table, &Stream::default(), &options(250, false)).state.is_empty());
    assert!(
        replay(&[], &table, &none, &options(250, false), &Watch::new()).unwrap().rule.is_empty()
    );
}

#[test]
fn names_and_aliases_are_unique() {
    let mut names: Vec<&str> =
        GOVERNORS.iter().flat_map(|g| g.aliases.iter().copied().chain([g.name])).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert_eq!(GOVERNORS.len(), 32);
    assert!(GOVERNORS.iter().all(|g| !g.summary.is_empty() && !g.source.is_empty()));
}
