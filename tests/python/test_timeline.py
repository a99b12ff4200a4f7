"""What `timeline` returns, and what it says to input that makes no sense."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tickless
from tickless import InvalidParameterError, ShapeError, UnknownNameError, timeline
from tickless.timeline import OPERATIONS

HOG = [("run", 2**60)]
SCRIPT = [
    (10, "FORK", 0),
    (20, "FORK", 1),
    (30, "WAKE", 1),
    (5_000_000, "TICK"),
    (6_000_000, "BLOCK", -1),
    (7_000_000, "WAKE", 0),
]
POLICIES = [p.name for p in tickless.policies()]


@pytest.fixture
def short() -> tickless.Timeline:
    return timeline([0, (5, "batch", 0)], policy="cfs", events=SCRIPT)


@pytest.fixture
def latest() -> tickless.Timeline:
    return timeline([0, (5, "batch", 0)], policy="eevdf-latest", events=SCRIPT)


def test_the_registered_policies_are_listed_with_features_and_tunables():
    for name in ("cfs", "cfs-uncapped", "eevdf", "eevdf-curb", "eevdf-6.12", "eevdf-7.2"):
        entry = tickless.policies()[name]
        assert entry.source.startswith("Linux")
        assert entry.features["WAKEUP_PREEMPTION"] is True
    assert tickless.policies()["eevdf-latest"].name == "eevdf-7.2"
    assert tickless.policies()["eevdf-6.12"].tunables == {"base_slice_ns": (700_000, True)}
    assert tickless.policies()["eevdf-6.12"].features["HRTICK"] is False


def test_rows_are_structured_int64_and_masked_where_ignored(short):
    assert all(short.rows.dtype[name] == np.int64 for name in short.rows.dtype.names)
    assert len(short) == len(SCRIPT)
    assert short["valid"].tolist() == [1, 1, 0, 1, 1, 1]
    assert short["next"].mask.tolist() == [False, False, True, False, False, False]
    assert short["t_ns"].mask.tolist() == [False] * 6
    assert [OPERATIONS[code] for code in short["op"]] == [word for _, word, *_ in SCRIPT]
    assert (short.ignored, short.carried_out, short.end_ns) == (1, 5, 7_000_000)


def test_columns_of_other_versions_are_masked_throughout(short, latest):
    assert short["arg_slice"].mask.all()
    assert not short["nr_running"].mask[0]
    assert latest["nr_running"].mask.all()
    assert not latest["arg_slice"].mask[0]
    assert "min_vruntime" in short.columns
    assert "min_vruntime" not in latest.columns
    with pytest.raises(UnknownNameError, match="zero_vruntime"):
        latest["vruntime"]


def test_results_are_frozen(short):
    with pytest.raises(ValueError, match="read-only"):
        short.rows.data["next"][0] = 7
    with pytest.raises(ValueError, match="read-only"):
        short.totals["exec_ns"][0] = 7
    with pytest.raises(AttributeError):
        short.policy = "eevdf"


def test_the_frame_has_words_and_missing_values(short):
    frame = short.to_frame()
    assert list(frame.columns) == list(short.columns)
    assert frame["op"].tolist() == [word for _, word, *_ in SCRIPT]
    assert pd.isna(frame.loc[2, "next"])
    assert frame["next"].dtype == "Int64"


def test_segments_say_who_ran_when(short):
    found = short.segments()
    assert found["start_ns"][0] == 10
    assert found["end_ns"][-1] == short.end_ns
    assert (found["end_ns"][:-1] == found["start_ns"][1:]).all()
    ran = [
        int((found["end_ns"] - found["start_ns"])[found["task"] == task].sum()) for task in (0, 1)
    ]
    assert ran == short.totals["exec_ns"].tolist()


def test_text_and_html_show_the_same_numbers(short):
    html = short._repr_html_()
    for name in ("exec_ns", "switch_ins", "max_wait_ns"):
        for value in short.totals[name]:
            assert str(value) in str(short)
            assert str(value) in html


def test_events_may_be_tuples_columns_a_frame_or_a_structured_array(short):
    columns = {
        "t_ns": [e[0] for e in SCRIPT],
        "op": [e[1] for e in SCRIPT],
        "task": [e[2] if len(e) > 2 else -1 for e in SCRIPT],
    }
    structured = np.empty(
        len(SCRIPT), [("t_ns", np.int64), ("op", np.uint8), ("task", np.int32), ("value", np.int64)]
    )
    structured["t_ns"], structured["task"] = columns["t_ns"], columns["task"]
    structured["op"] = [OPERATIONS.index(word) for word in columns["op"]]
    structured["value"] = 0
    for events in (columns, pd.DataFrame(columns), structured):
        again = timeline([0, (5, "batch", 0)], policy="cfs", events=events)
        np.testing.assert_array_equal(again.rows.data, short.rows.data)


def test_tasks_may_be_a_structured_array():
    tasks = np.array([(0, "normal", 0), (3, "idle", 0)], "i8,U6,i8")
    t = timeline(tasks, policy="eevdf", events=[(0, "FORK", 1)])
    assert t.tasks["nice"].tolist() == [0, 3]
    assert t.tasks["class"].tolist() == [0, 2]


@pytest.mark.parametrize("policy", POLICIES)
def test_equal_hogs_share_equally_and_the_cpu_is_never_idle(policy):
    t = timeline([0] * 4, policy=policy, programs=[(0, HOG)] * 4, until_ns=2_000_000_000)
    got = t.totals["exec_ns"]
    assert got.sum() == 2_000_000_000
    assert np.ptp(got) < 700_000_000 if policy == "o1" else np.ptp(got) < 40_000_000


@pytest.mark.parametrize("policy", POLICIES)
def test_rows_off_gives_the_same_totals(policy):
    programs = [(0, [(1_000_000, 500_000)]), (10, [(300_000, 2_000_000), (50_000, 10_000)])]
    with_rows = timeline([0, 3], policy=policy, programs=programs, until_ns=300_000_000)
    without = timeline([0, 3], policy=policy, programs=programs, until_ns=300_000_000, rows=False)
    np.testing.assert_array_equal(with_rows.totals, without.totals)
    assert len(without) == 0
    assert len(with_rows) > 100


def test_a_message_to_a_task_that_does_not_wait_wakes_nobody():
    programs = [
        (0, [("run", 1000), ("send", 1), ("run", 1_000_000), ("exit",)]),
        (500, [("run", 3_000_000), ("receive",), ("run", 1000)], 1),
    ]
    t = timeline([0, 0], policy="eevdf-6.12", programs=programs, until_ns=50_000_000)
    assert t.totals["wakeups"].tolist() == [1, 1]
    assert t.totals["blocks"].tolist() == [1, 1]  # their exits
    assert t.totals["exec_ns"].tolist() == [1_001_000, 3_001_000]


def test_a_message_to_a_waiting_task_wakes_it_and_both_pay_their_paths():
    programs = [
        (0, [("receive",), ("run", 1000)], 1),
        (10, [("run", 1000), ("send-sync", 0), ("run", 1000)], 1),
    ]
    costs = {"switch_ns": 100, "block_ns": 20, "wake_ns": 3}
    t = timeline([0, 0], policy="cfs", programs=programs, until_ns=1_000_000, costs=costs)
    words = [OPERATIONS[code] for code in t["op"]]
    assert "SWAKE" in words
    # Task 1 is forked one slice later than task 0, which therefore preempts it when woken: both
    # are switched in twice. Task 0 pays its one block, task 1 the wake-up, nobody the exit.
    assert t.totals["exec_ns"].tolist() == [2 * 100 + 20 + 1000, 2 * 100 + 3 + 2000]


def test_a_reschedule_in_kernel_mode_waits_for_the_return_to_user_mode():
    # Under CFS the long sleeper preempts; here it is woken by a timer while the other is in the
    # kernel, and runs when that returns to user mode.
    programs = [
        (2000, [("kernel", 40_000_000), ("run", 1_000_000)]),
        (0, [("run", 1000), ("sleep", 20_000_000)]),
    ]
    t = timeline([0, 0], policy="cfs", ncpus=1, hz=100, programs=programs, until_ns=41_500_000)
    frame = t.to_frame()
    waiting = frame[(frame["op"] == "WAKE") & (frame["arg"] == 1)].iloc[0]
    assert (waiting["resched"], waiting["next"]) == (1, 0)
    returned = frame[frame["op"] == "RESCHED"].iloc[0]
    assert (returned["prev"], returned["next"]) == (0, 1)
    assert returned["t_ns"] > waiting["t_ns"] + 1_000_000


def test_programs_repeat_as_often_as_they_say():
    t = timeline(
        [0], policy="eevdf", until_ns=10**9, programs=[(0, [("run", 10), ("sleep", 5)], 7)]
    )
    assert t.totals["rounds"].tolist() == [7]
    assert t.totals["exec_ns"].tolist() == [70]


def test_an_idle_cpu_costs_no_steps():
    # Seventy years of ticks pass by at once.
    t = timeline([0], policy="eevdf", programs=[(2**61, [(1000, 2**60)])], until_ns=2**61 + 5000)
    assert t.totals["exec_ns"].tolist() == [1000]


def test_features_and_tunables_change_the_outcome():
    programs = [(0, HOG)] * 3
    known = {"policy": "eevdf-7.2", "programs": programs, "until_ns": 10**9, "rows": False}
    plain = timeline([0] * 3, **known)
    coarse = timeline([0] * 3, **known, tunables={"base_slice_ns": 20_000_000})
    ticks = timeline([0] * 3, **known, features={"HRTICK": False})
    switches = [int(t.totals["switch_ins"].sum()) for t in (plain, coarse, ticks)]
    assert switches[1] < switches[2] < switches[0]


def test_defaults_grow_with_the_cpu_count_and_set_values_do_not():
    programs = [(0, HOG)] * 2
    known = {"policy": "eevdf-7.2", "programs": programs, "until_ns": 10**9, "rows": False}
    switches = [
        int(timeline([0] * 2, **known, ncpus=n, tunables=t).totals["switch_ins"].sum())
        for n, t in ((1, {}), (8, {}), (1, {"base_slice_ns": 2_800_000}))
    ]
    assert switches[0] > 3 * switches[1]
    assert switches[2] == switches[1]


def test_the_ideal_pick_differs_from_the_walk_sooner_or_later():
    rng = np.random.default_rng(3)
    programs = [
        (int(rng.integers(0, 10**6)), rng.integers(10_000, 3_000_000, (6, 2))) for _ in range(24)
    ]
    nice = rng.integers(-10, 11, 24).tolist()
    known = {"policy": "eevdf", "programs": programs, "until_ns": 2 * 10**9}
    walk, ideal = timeline(nice, **known), timeline(nice, **known, pick="ideal")
    assert len(walk) != len(ideal) or (walk["next"] != ideal["next"]).any()


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ((5, "TICK"), r"events\[1\]: time 5 ns is before the previous event's 10 ns"),
        ((20, "WAKE", 2), r"events\[1\]: WAKE of task 2, but there are 2 tasks"),
        ((20, "WAKE", -1), r"events\[1\]: WAKE of task -1"),
        ((20, "WAKE", 2**40), r"events\[1\]: WAKE of task 1099511627776"),
        ((20, "BLOCK", 0), r"events\[1\]: BLOCK concerns the running task: give -1, not 0"),
        ((20, "NICE", 0, 20), r"events\[1\]: nice 20 is outside -20 to 19"),
        ((20, "NICE", 0, -21), r"events\[1\]: nice -21 is outside"),
        ((20, "SLICE", 0, -5), r"events\[1\]: slice -5 ns is negative"),
        ((2**62, "TICK"), r"events\[1\]: time 4611686018427387904 ns is outside"),
        ((20, "RESCHED"), r"events\[1\]"),
        ((20,), r"events\[1\]: expected"),
    ],
)
def test_a_wrong_event_is_named_by_its_index(event, message):
    with pytest.raises(InvalidParameterError, match=message):
        timeline([0, 0], policy="eevdf-7.2", events=[(10, "FORK", 0), event])


def test_a_negative_first_time_is_refused():
    with pytest.raises(InvalidParameterError, match=r"events\[0\]: time -1 ns"):
        timeline([0], policy="cfs", events=[(-1, "FORK", 0)])


def test_an_unknown_operation_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"events\[0\]: unknown operation 'SPAWN'.*FORK"):
        timeline([0], policy="cfs", events=[(0, "SPAWN", 0)])


@pytest.mark.parametrize(
    ("tasks", "error", "message"),
    [
        ([0, 20], InvalidParameterError, r"tasks\[1\]: nice 20 is outside -20 to 19"),
        ([-21], InvalidParameterError, r"tasks\[0\]: nice -21"),
        ([(0, "realtime", 0)], UnknownNameError, r"tasks\[0\].class: unknown class 'realtime'"),
        ([(0, "normal", -1)], InvalidParameterError, r"tasks\[0\]: slice -1 ns is negative"),
        ([(0, "normal", 5)], InvalidParameterError, r"policy \"cfs\" has no custom slices"),
        ([1.5], TypeError, r"tasks\[0\]: expected an integer, found float 1.5"),
        ([(0, "normal", 0, 1)], InvalidParameterError, r"tasks\[0\]: expected \(nice"),
        ([2**70], InvalidParameterError, "does not fit 64 bits"),
        (7, TypeError, "tasks: expected a sequence"),
    ],
)
def test_a_wrong_task_is_named_by_its_index(tasks, error, message):
    with pytest.raises(error, match=message):
        timeline(tasks, policy="cfs", events=[])


def test_too_many_tasks_are_refused_before_anything_is_allocated():
    many = np.broadcast_to(np.int64(0), 2**40)
    with pytest.raises(InvalidParameterError, match="tasks: 1099511627776 tasks; at most 4194304"):
        timeline(many, policy="cfs", events=[])
    with pytest.raises(InvalidParameterError, match="1099511627776 tasks"):
        timeline(range(2**40), policy="cfs", programs=[], until_ns=1)


@pytest.mark.parametrize(
    ("programs", "error", "message"),
    [
        ([(0, [(0, 5)])], InvalidParameterError, r"programs\[0\].ops\[0\]: 0 ns is outside 1"),
        ([(0, [(5, -1)])], InvalidParameterError, r"programs\[0\].ops\[1\]: -1 ns is outside"),
        ([(-1, [(5, 5)])], InvalidParameterError, r"programs\[0\].start_ns: -1 ns"),
        ([(0, [("run", 0)])], InvalidParameterError, r"programs\[0\].ops\[0\]: 0 ns"),
        ([(0, [("fly", 1)])], UnknownNameError, r"programs\[0\].ops\[0\]: unknown operation 'fly'"),
        ([(0, [("run",)])], InvalidParameterError, r"programs\[0\].ops\[0\]: 'run' takes 1"),
        ([(0, [("send", 1), ("run", 1)])], InvalidParameterError, "message to task 1"),
        ([(0, [("send", -1), ("run", 1)])], InvalidParameterError, "message to task -1"),
        ([(0, [("receive",)])], InvalidParameterError, "repeats without ever taking time"),
        ([(0, [("run", 5)], -2)], InvalidParameterError, r"programs\[0\]: repeat is negative"),
        ([(0, [(1.5, 2.0)])], TypeError, "bursts must be integers"),
        ([(0, [1, 2, 3])], ShapeError, r"programs\[0\]: bursts must have shape \(n, 2\)"),
        ([(0, HOG)] * 2, ShapeError, "programs: expected length 1, found 2"),
        ([5], InvalidParameterError, r"programs\[0\]: expected \(start_ns"),
    ],
)
def test_a_wrong_program_is_named_by_its_place(programs, error, message):
    with pytest.raises(error, match=message):
        timeline([0], policy="cfs", programs=programs, until_ns=10**6)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"policy": "eevdf-6.13"}, UnknownNameError, "unknown policy .*eevdf-6.12"),
        ({"features": {"HRTICK": True}}, UnknownNameError, "GENTLE_FAIR_SLEEPERS, START_DEBIT"),
        ({"features": {"START_DEBIT": 1}}, TypeError, "expected True or False"),
        ({"features": ["START_DEBIT"]}, TypeError, "features: expected a mapping"),
        ({"tunables": {"base_slice_ns": 10**6}}, UnknownNameError, "latency_ns"),
        ({"tunables": {"latency_ns": 0}}, InvalidParameterError, "latency_ns"),
        ({"tunables": {"latency_ns": 1e6}}, TypeError, "expected an integer"),
        ({"hz": 60}, InvalidParameterError, "hz: 60 is not one of 100, 250, 300, 1000"),
        ({"hz": 0}, InvalidParameterError, "hz: 0 is not one of"),
        ({"ncpus": 0}, InvalidParameterError, "ncpus: 0 is outside 1 to 8192"),
        ({"pick": "best"}, UnknownNameError, "known: walk, ideal"),
        ({"until_ns": -1}, InvalidParameterError, "until_ns: -1"),
        ({"events": None}, InvalidParameterError, "exactly one"),
        ({"programs": [(0, HOG)]}, InvalidParameterError, "exactly one"),
    ],
)
def test_a_wrong_argument_is_named(arguments, error, message):
    known = {"policy": "cfs", "events": [(0, "FORK", 0)]}
    with pytest.raises(error, match=message):
        timeline([0], **{**known, **arguments})


@pytest.mark.parametrize(
    ("costs", "error", "message"),
    [
        ({"switch_ns": -1}, InvalidParameterError, r'costs\["switch_ns"\]: -1 ns'),
        ({"coffee_ns": 1}, UnknownNameError, "unknown cost 'coffee_ns'; known: switch_ns"),
    ],
)
def test_a_wrong_cost_is_named(costs, error, message):
    with pytest.raises(error, match=message):
        timeline([0], policy="cfs", programs=[(0, HOG)], until_ns=1000, costs=costs)


def test_programs_need_an_end():
    with pytest.raises(InvalidParameterError, match="until_ns: programs need an end"):
        timeline([0], policy="cfs", programs=[(0, HOG)])


def test_features_that_are_not_modelled_are_refused_with_the_reason():
    with pytest.raises(InvalidParameterError, match=r"slice timer of 6\.12"):
        timeline([0], policy="eevdf-6.12", events=[], features={"HRTICK": True})


@pytest.mark.parametrize("missing", ["t_ns", "op", "task"])
def test_a_missing_column_is_named(missing):
    columns = {"t_ns": [0], "op": ["FORK"], "task": [0]}
    del columns[missing]
    with pytest.raises(InvalidParameterError, match=f"events: column '{missing}' is missing"):
        timeline([0], policy="cfs", events=columns)


def test_columns_of_unequal_length_and_float_times_are_refused():
    with pytest.raises(ShapeError, match=r"events\.op: expected length 2, found 1"):
        timeline([0], policy="cfs", events={"t_ns": [0, 1], "op": ["FORK"], "task": [0, 0]})
    with pytest.raises(TypeError, match=r"events\.t_ns: expected integers"):
        timeline([0], policy="cfs", events={"t_ns": [0.5], "op": ["FORK"], "task": [0]})


def test_nothing_happens_without_events_or_tasks():
    for policy in POLICIES:
        t = timeline([], policy=policy, events=[])
        assert len(t) == len(t.totals) == len(t.segments()) == 0
        assert t.to_frame().empty
        assert timeline([0], policy=policy, programs=[None], until_ns=10**9).carried_out == 0
