"""Recordings of simulated runs: as traces that read back, as pictures, and what they hold."""

import json
from collections import defaultdict

import numpy as np
import pytest

import tickless
from tickless.errors import InvalidParameterError
from tickless.recording import (
    IDLE_ENTER,
    IDLE_EXIT,
    IDLE_TASK,
    SWITCH,
    TICK,
    TOLD,
    WAKEUP,
    WAKING,
    Recording,
)

MACHINE = "8x-SKYLAKE-UMA"


def recorded(kernel, workload, case, **more):
    res = tickless.simulate(
        MACHINE, [kernel], workload, cases=[case], repeats=1, record=True, **more
    )
    return res.recording()


@pytest.fixture(scope="module")
def tbench():
    return recorded("6.12-teo", "tbench", 2, duration_s=0.1)


@pytest.fixture
def read(tmp_path):
    def export(r):
        r.to_ftrace(tmp_path / "run.txt")
        return tickless.read_trace(tmp_path / "run.txt")

    return export


def names(r, tasks):
    return ["<idle>" if t == IDLE_TASK else r.task_name(t)[:15] for t in tasks.tolist()]


@pytest.mark.parametrize(
    ("kernel", "workload", "case"),
    [("6.12-teo", "tbench", 2), ("4.18-vanilla", "hackbench", "1-groups"), ("7.2", "periodic", 8)],
)
def test_an_exported_trace_reads_back_event_for_event(kernel, workload, case, read):
    r = recorded(kernel, workload, case, duration_s=0.5 if workload == "periodic" else 0.05)
    trace = read(r)
    switch, wakeup, waking = (r.kind == k for k in (SWITCH, WAKEUP, WAKING))
    assert (trace.switches.time_ns == r.t_ns[switch]).all()
    assert (trace.switches.cpu == r.cpu[switch]).all()
    shown = [n for n in trace.switches.next_comm if not n.startswith("swapper/")]
    assert shown == [n for n in names(r, r.b[switch]) if n != "<idle>"]
    states = np.where(r.asleep()[switch], "S", "R")
    assert (np.asarray(trace.switches.prev_state) == states).all()
    assert len(trace.wakeups) == wakeup.sum() > 50
    assert (trace.wakeups.time_ns == r.t_ns[wakeup]).all()
    assert (trace.wakeups.target_cpu == r.b[wakeup]).all()
    assert list(trace.wakeups.comm) == names(r, r.a[wakeup])
    assert len(trace.wakings) == waking.sum()
    idle = trace.idle.to_frame()
    idle = idle[idle["end_ns"] >= 0].sort_values(["cpu", "start_ns"])
    for column, mine in r.idle_periods().items():
        assert (idle[column].to_numpy() == mine).all(), column


@pytest.mark.parametrize(
    ("kernel", "workload", "case", "share"),
    [
        ("6.12", "periodic", 8, 0.99),
        ("6.12-teo", "periodic", 8, 0.99),
        ("7.2", "tbench", 2, 0.999),
        ("4.18-vanilla", "tbench", 2, 0.999),
    ],
)
def test_the_governor_chooses_alike_when_its_exported_periods_are_replayed(
    kernel, workload, case, share, read
):
    r = recorded(kernel, workload, case, duration_s=2.0 if workload == "periodic" else 0.1)
    periods = read(r).idle_periods()
    assert set(periods.sleep_source) == {0}, "the probe tells every sleep length"
    made = tickless.Kernel(kernel)
    again = tickless.replay(periods, made.governor, machine=MACHINE, hz=made.hz, follow="recorded")
    assert len(periods.wake_ns) > 1500
    # The first periods differ: the governor had a history before the recording began.
    assert again.agreement[0] >= share


def test_ticks_lie_on_one_grid_per_cpu_and_sleep_lengths_are_whole():
    r = recorded("6.12", "recorded", "mix")
    for cpu in np.unique(r.cpu[r.kind == TICK]):
        ticks = r.t_ns[(r.kind == TICK) & (r.cpu == cpu)]
        assert (np.diff(ticks) % 4_000_000 == 0).all()
    told = r.kind == TOLD
    length = (r.a[told].astype(np.int64) | r.b[told].astype(np.int64) << 32).view(np.int64)
    assert (length >= 0).all()
    assert (length <= 2_000_000_000_000).all()


def test_the_text_begins_as_the_kernel_begins_it(tbench, tmp_path):
    tbench.to_ftrace(tmp_path / "run.txt")
    lines = (tmp_path / "run.txt").read_text().splitlines()
    events = [line for line in lines if not line.startswith("#")]
    assert lines[0] == "# tracer: nop"
    assert lines[2] == f"# entries-in-buffer/entries-written: {len(events)}/{len(events)}   #P:8"
    assert any("teo_select: " in line for line in events)


def cut():
    whole = recorded("6.12", "tbench", 1, duration_s=0.01)
    few = {n: getattr(whole, n)[:400] for n in ("t_ns", "kind", "cpu", "a", "b")}
    plain = {n: getattr(whole, n) for n in ("kernel", "case", "machine", "states", "tasks")}
    return Recording(**plain, **few, lost=77)


def test_a_cut_recording_says_so_everywhere(tmp_path):
    r = cut()
    assert "77 lost" in repr(r)
    r.to_ftrace(tmp_path / "run.txt")
    assert "400/477" in (tmp_path / "run.txt").read_text().splitlines()[2]
    r.to_perfetto(tmp_path / "run.json")
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    assert [e["s"] for e in events if "77 happenings lost" in e["name"]] == ["g"]
    assert "77 happenings lost" in r.plot().axes[0].get_title(loc="left")


NEEDED = {
    "X": {"name", "ph", "ts", "dur", "pid", "tid"},
    "i": {"name", "ph", "ts", "pid", "tid", "s"},
    "s": {"name", "cat", "id", "ph", "ts", "pid", "tid"},
    "f": {"name", "cat", "id", "ph", "bp", "ts", "pid", "tid"},
    "M": {"name", "ph", "pid", "args"},
}
"""Fields that the trace-event format wants of each phase."""


def test_the_perfetto_file_obeys_the_trace_event_format_and_holds_the_run(tbench, tmp_path):
    tbench.to_perfetto(tmp_path / "run.json")
    document = json.loads((tmp_path / "run.json").read_text())
    assert set(document) == {"displayTimeUnit", "traceEvents"}
    ends, flows, ran = defaultdict(float), defaultdict(list), defaultdict(float)
    for e in document["traceEvents"]:
        assert NEEDED[e["ph"]] <= set(e), e
        if e["ph"] == "X":
            track = e["pid"], e["tid"]
            # Slices of one track follow one another.
            assert e["dur"] >= 0
            assert e["ts"] >= ends[track] - 1e-6
            ends[track] = e["ts"] + e["dur"]
            ran[track] += e["dur"]
        elif e["ph"] in "sf":
            flows[e["id"]].append((e["ph"], e["ts"]))
    for cpu in range(4):
        own = tbench.runs()[tbench.runs()["cpu"] == cpu]
        assert ran[1, cpu] == pytest.approx((own["end_ns"] - own["start_ns"]).sum() / 1000)
    assert len(flows) >= (tbench.kind == WAKEUP).sum() - 8
    for start, end in flows.values():
        assert (start[0], end[0]) == ("s", "f")
        assert start[1] <= end[1]


def test_runs_and_idle_periods_of_a_cpu_never_overlap(tbench):
    runs, idle = tbench.runs(), tbench.idle_periods()
    for cpu in range(8):
        own, here = runs[runs["cpu"] == cpu], idle["cpu"] == cpu
        start = np.concatenate([own["start_ns"], idle["start_ns"][here]])
        end = np.concatenate([own["end_ns"], idle["end_ns"][here]])
        order = np.argsort(start, kind="stable")
        assert (start[order][1:] >= end[order][:-1]).all()


def test_a_picture_names_what_it_shows(tbench):
    # Not from the very beginning, where a wake-up may have begun before the recording.
    first = int(tbench.t_ns[0]) + 50_000
    ax = tbench.plot(first, first + 100_000).axes[0]
    labels = ax.get_legend_handles_labels()[1]
    assert {"client-0", "server-1", "client-2", "server-3"} <= set(labels)
    assert any(label.startswith("idle: ") for label in labels)
    # Two pairs send one message in some 4 us, each to another CPU.
    inside = (tbench.kind == WAKEUP) & (abs(tbench.t_ns - first - 50_000) <= 50_000)
    assert len([t for t in ax.texts if t.arrow_patch]) == inside.sum() > 20
    assert "too many wake-ups" in tbench.plot().axes[0].get_title(loc="left")


@pytest.mark.parametrize("limits", [(5, 5), (10**12, None)])
def test_an_empty_part_is_refused(tbench, limits):
    with pytest.raises(InvalidParameterError, match="nothing lies between"):
        tbench.plot(*limits)


def test_a_recording_of_nothing_is_refused():
    r = cut()
    none = {n: getattr(r, n)[:0] for n in ("t_ns", "kind", "cpu", "a", "b")}
    empty = Recording(r.kernel, r.case, r.machine, r.states, r.tasks, **none)
    assert len(empty.runs()) == 0
    with pytest.raises(InvalidParameterError, match="nothing happened"):
        empty.plot()


def test_entries_and_exits_of_idle_states_alternate(tbench):
    for cpu in range(8):
        own = tbench.kind[(tbench.cpu == cpu) & np.isin(tbench.kind, (IDLE_ENTER, IDLE_EXIT))]
        assert (np.diff(own.astype(int)) != 0).all()
