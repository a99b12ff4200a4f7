"""Pictures and exports of a timeline: what they show, and what they refuse."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

import tickless
from conftest import ROOT
from tickless import InvalidParameterError
from tickless import _timeline_views as views

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

MS = 1_000_000
POLICIES = tickless.policies().names


def script():
    """Three tasks by hand: 0 runs, 1 waits, 0 blocks, 1 runs, 0 wakes and waits until 1 blocks."""
    events = [
        (0, "FORK", 0),
        (1 * MS, "FORK", 1),
        (2 * MS, "TICK", -1),
        (3 * MS, "BLOCK", -1),
        (4 * MS, "WAKE", 1),  # ignored: it runs
        (5 * MS, "WAKE", 0),
        (6 * MS, "BLOCK", -1),
    ]
    off = {"WAKEUP_PREEMPTION": False}
    return tickless.timeline([0, 0, 0], policy="cfs", events=events, until_ns=10 * MS, features=off)


def mixed(policy, **kwargs):
    """Two hogs, a periodic task and a pair that exchanges messages."""
    programs = [
        (0, [("run", 10**9)]),
        (1 * MS, [("run", 2 * MS), ("sleep", 5 * MS)]),
        (0, [("run", 10**9)]),
        (0, [("run", 300_000), ("send-sync", 4), ("kernel", 40_000), ("receive",)]),
        (0, [("receive",), ("run", 200_000), ("send", 3)]),
    ]
    return tickless.timeline(
        [0, 0, 5, 0, 0], policy=policy, ncpus=1, programs=programs, until_ns=200 * MS, **kwargs
    )


def spans_of(spans, task):
    return [(int(s["start_ns"]), int(s["end_ns"])) for s in spans if s["task"] == task]


def test_runs_and_waits_of_a_small_script_are_those_read_off_by_hand():
    t = script()
    assert spans_of(t.segments(), 0) == [(0, 3 * MS), (6 * MS, 10 * MS)]
    assert spans_of(t.segments(), 1) == [(3 * MS, 6 * MS)]
    assert spans_of(views.waits(t), 1) == [(1 * MS, 3 * MS)]
    assert spans_of(views.waits(t), 0) == [(5 * MS, 6 * MS)]
    assert len(views.preemptions(t)) == 0
    woken = views.wakeups(t)
    assert woken["t_ns"].tolist() == [0, 1 * MS, 5 * MS]
    assert not woken["preempts"].any(), "nobody was taken off the CPU"


@pytest.mark.parametrize("policy", POLICIES)
def test_waits_and_runs_add_up_to_the_totals(policy):
    t = mixed(policy)
    for task, total in enumerate(t.totals):
        ran = sum(end - start for start, end in spans_of(t.segments(), task))
        assert ran == total["exec_ns"], task
        waits = spans_of(views.waits(t), task)
        # The totals count a wait when it ends.
        waited = sum(end - start for start, end in waits if end < t.end_ns)
        still = [end - start for start, end in waits if end == t.end_ns]
        assert total["wait_ns"] in (waited, waited + sum(still)), task
        assert (views.wakeups(t)["task"] == task).sum() == total["wakeups"]
        assert (views.preemptions(t)["task"] == task).sum() == total["preempted"]


@pytest.mark.parametrize("policy", POLICIES)
def test_nobody_runs_and_waits_at_the_same_time(policy):
    t = mixed(policy)
    for task in range(len(t.tasks)):
        both = sorted(spans_of(t.segments(), task) + spans_of(views.waits(t), task))
        assert all(a[1] <= b[0] for a, b in pairwise(both)), task


def test_a_wakeup_in_kernel_mode_that_preempts_later_is_still_marked():
    ask = [("run", 20_000), ("send-sync", 1), ("run", 5_000), ("receive",)]
    answer = [("receive",), ("run", 10_000), ("send-sync", 0)]
    t = tickless.timeline(
        [0, 0],
        policy="cfs-uncapped",
        ncpus=1,
        programs=[(0, ask), (0, answer)],
        until_ns=50 * MS,
        costs={"wake_ns": 2_000},
    )
    woken = views.wakeups(t)
    late = woken[(woken["task"] == 1) & (woken["t_ns"] > 40 * MS)]
    assert len(late) > 100
    assert late["preempts"].all()


def test_a_yield_is_not_a_preemption():
    t = tickless.timeline(
        [0, 0],
        policy="cfs",
        events=[(0, "FORK", 0), (0, "FORK", 1), (9 * MS, "YIELD", -1)],
        until_ns=20 * MS,
    )
    assert len(views.preemptions(t)) == 0
    assert spans_of(views.waits(t), 0) == [(9 * MS, 20 * MS)]


@pytest.mark.parametrize("policy", [p for p in POLICIES if p.startswith("eevdf")])
def test_the_weighted_lags_of_the_competitors_cancel(policy):
    t = mixed(policy)
    lags = np.array([views.lag(t, i)[1] for i in range(5)])
    weights = np.array([1024, 1024, 335, 1024, 1024])
    rows = t.rows.data[t.rows["valid"].data == 1]
    # Rows at which nobody leaves or stays queued while asleep: everyone who counts is drawn.
    queued = "nr_queued" if "nr_queued" in t.columns else "nr_running"
    known = (~np.isnan(lags)).sum(axis=0) == rows[queued]
    plain = known & ~np.isin(rows["op"], [3, 4])
    assert plain.sum() > 50
    total = np.nansum(lags * weights[:, None], axis=0)[plain]
    # V is a rounded quotient: each lag is off by less than 1, so is the sum by the weights' sum.
    assert np.abs(total).max() <= weights.sum() + 1024


def test_the_lag_of_a_waiting_task_rises_and_of_the_running_one_falls():
    t = tickless.timeline(
        [0, 0],
        policy="eevdf-6.12",
        ncpus=1,
        events=[(0, "FORK", 0), (0, "FORK", 1), *((k * 100_000, "TICK", -1) for k in range(1, 4))],
    )
    time, waiting = views.lag(t, 1)
    _, running = views.lag(t, 0)
    assert time.tolist() == [0, 0, 100_000, 200_000, 300_000]
    assert np.isnan(waiting[0])
    assert waiting[2:].tolist() == [50_000, 100_000, 150_000]
    assert running[2:].tolist() == [-50_000, -100_000, -150_000]


def test_the_picture_has_a_row_per_task_and_a_panel_for_virtual_time():
    figure = mixed("eevdf-7.2").plot(names=list("abcde"))
    gantt, lag = figure.axes
    assert [label.get_text() for label in gantt.get_yticklabels()] == list("abcde")
    assert gantt.get_title(loc="left").startswith("eevdf-7.2")
    assert len(lag.lines) >= 5
    assert len(mixed("o1").plot().axes) == 1, "no virtual time under o1"
    matplotlib.pyplot.close("all")


def test_the_shares_written_beside_the_rows_are_those_of_the_totals():
    t = mixed("cfs")
    figure = t.plot()
    written = [text.get_text() for text in figure.axes[0].texts if text.get_text().endswith("%")]
    assert written == [f"{100 * e / t.end_ns:.1f} %" for e in t.totals["exec_ns"]]
    matplotlib.pyplot.close("all")


def test_part_of_a_run_can_be_drawn_and_an_empty_part_is_refused():
    t = mixed("eevdf")
    figure = t.plot(20 * MS, 40 * MS)
    assert figure.axes[0].get_xlim() == (20, 40)
    matplotlib.pyplot.close("all")
    with pytest.raises(InvalidParameterError, match="start_ns, end_ns"):
        t.plot(40 * MS, 40 * MS)


def test_what_cannot_be_drawn_says_why(tmp_path):
    without = mixed("cfs", rows=False)
    with pytest.raises(InvalidParameterError, match="rows=True"):
        without.plot()
    with pytest.raises(InvalidParameterError, match="rows=True"):
        without.to_perfetto(tmp_path / "t.json")
    with pytest.raises(InvalidParameterError, match="4 names for 5 tasks"):
        mixed("cfs").plot(names=list("abcd"))
    many = tickless.timeline([0] * 61, policy="cfs", events=[(0, "FORK", i) for i in range(61)])
    with pytest.raises(InvalidParameterError, match="61 are too many"):
        many.plot()


def test_many_tasks_are_drawn_with_the_range_of_their_lags():
    programs = [(0, [("run", 10**9)])] * 30
    t = tickless.timeline([0] * 30, policy="eevdf-7.2", programs=programs, until_ns=100 * MS)
    figure = t.plot()
    assert len(figure.axes[1].collections) == 1
    matplotlib.pyplot.close("all")


NEEDED = {
    "X": {"name", "ph", "ts", "dur", "pid", "tid"},
    "i": {"name", "ph", "ts", "pid", "tid", "s"},
    "C": {"name", "ph", "ts", "pid", "args"},
    "M": {"name", "ph", "pid", "args"},
}
"""Fields that the trace-event format wants of each phase."""


@pytest.mark.parametrize("policy", POLICIES)
def test_the_perfetto_file_obeys_the_trace_event_format(policy, tmp_path):
    path = tmp_path / "t.json"
    mixed(policy).to_perfetto(path)
    document = json.loads(path.read_text())
    assert set(document) == {"displayTimeUnit", "traceEvents"}
    assert document["displayTimeUnit"] in ("ms", "ns")
    ends = defaultdict(float)
    for event in document["traceEvents"]:
        assert NEEDED[event["ph"]] <= set(event), event
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name", "thread_sort_index")
            continue
        assert event["ts"] >= 0
        if event["ph"] == "i":
            assert event["s"] in ("g", "p", "t")
        if event["ph"] == "C":
            assert all(isinstance(v, (int, float)) for v in event["args"].values())
        if event["ph"] == "X" and event["pid"] == 1:
            # Slices of one track must nest; those of the CPU follow one another.
            assert event["dur"] > 0
            assert event["ts"] >= ends[event["tid"]] - 1e-6
            ends[event["tid"]] = event["ts"] + event["dur"]


def test_the_perfetto_file_holds_the_run(tmp_path):
    t = mixed("eevdf-7.2")
    path = tmp_path / "t.json"
    t.to_perfetto(path, names=list("abcde"))
    events = json.loads(path.read_text())["traceEvents"]
    ran = defaultdict(float)
    for event in events:
        if event["ph"] == "X" and event["name"] == "running":
            ran[event["tid"]] += event["dur"]
    for task, total in enumerate(t.totals):
        assert round(ran[task] * 1000) == total["exec_ns"]
    threads = [e["args"]["name"] for e in events if e["name"] == "thread_name" and e["pid"] == 2]
    assert threads == [
        f"{n} (nice {nice})" for n, nice in zip("abcde", t.tasks["nice"], strict=True)
    ]
    assert sum(e["name"].startswith("wake-up") for e in events) == t.totals["wakeups"].sum()


def test_a_perfetto_file_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    t = mixed("cfs")
    with pytest.raises(OSError):
        t.to_perfetto(tmp_path / "missing" / "t.json")
    with pytest.raises(InvalidParameterError):
        t.to_perfetto(tmp_path / "t.json", names=["one"])
    assert list(tmp_path.iterdir()) == []


def test_jupyter_shows_the_totals_escaped():
    html = mixed("eevdf-7.2")._repr_html_()
    assert html.count("<tr>") == 6
    assert "eevdf-7.2" in html


def test_the_manual_shows_the_recorded_output_of_the_tbench_example():
    recorded = (ROOT / "examples" / "tbench_preemption.out").read_text().rstrip()
    assert recorded in (ROOT / "docs" / "timeline.md").read_text()
