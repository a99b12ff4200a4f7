"""Timelines as Chrome trace-event JSON, which the Perfetto UI opens.

The format has events with a phase ``ph``: ``X`` is a slice with a duration, ``i`` an instant, ``C``
a counter, ``M`` names a process or thread. Times are microseconds, fractions allowed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tickless import _timeline_views as views
from tickless._files import written
from tickless.errors import InvalidParameterError

if TYPE_CHECKING:
    from tickless.timeline import Timeline

CPU, TASKS = 1, 2
"""Process numbers of the two groups of tracks; 0 is the idle task's in the UI."""

Event = dict[str, Any]


def write(t: Timeline, path: str | Path, names: Sequence[str] | None) -> None:
    """Write `t` to `path`, whole or not at all; see `Timeline.to_perfetto`."""
    n = len(t.tasks)
    if not len(t):
        raise InvalidParameterError("rows: nothing to export; run the timeline with rows=True")
    labels = [f"task {i}" for i in range(n)] if names is None else views.task_names(names, n)
    with written(path) as f:
        f.write('{"displayTimeUnit":"ns","traceEvents":[\n')
        for i, event in enumerate(_events(t, labels)):
            f.write(",\n" if i else "")
            f.write(json.dumps(event, separators=(",", ":")))
        f.write("\n]}\n")


def _events(t: Timeline, labels: Sequence[str]) -> Iterator[Event]:
    yield named("process_name", CPU, 0, f"CPU under {t.policy}")
    yield named("thread_name", CPU, 0, "run queue")
    yield named("process_name", TASKS, 0, "tasks")
    for i, label in enumerate(labels):
        yield named("thread_name", TASKS, i, f"{label} (nice {t.tasks[i]['nice']})")
        yield _metadata("thread_sort_index", TASKS, i, {"sort_index": i})
    yield from _slices(t, labels)
    yield from _instants(t)
    yield from _counters(t, labels)


def _metadata(kind: str, pid: int, tid: int, args: Event) -> Event:
    return {"name": kind, "ph": "M", "ts": 0, "pid": pid, "tid": tid, "args": args}


def named(kind: str, pid: int, tid: int, name: str) -> Event:
    """Return the event that names a process or thread."""
    return _metadata(kind, pid, tid, {"name": name})


def _us(ns: Any) -> float:
    return int(ns) / 1000


def _slice(name: str, of: Any, pid: int, tid: int) -> Event:
    return span(name, of["start_ns"], of["end_ns"], pid, tid)


def span(name: str, start: Any, end: Any, pid: int, tid: int) -> Event:
    """Return a slice of a track from `start` to `end`, ns."""
    timing = {"ts": _us(start), "dur": _us(end - start)}
    return {"name": name, "cat": "sched", "ph": "X", **timing, "pid": pid, "tid": tid}


def _slices(t: Timeline, labels: Sequence[str]) -> Iterator[Event]:
    for run in t.segments():
        task = int(run["task"])
        if task >= 0:
            yield _slice(labels[task], run, CPU, 0)
            yield _slice("running", run, TASKS, task)
    for wait in views.waits(t):
        yield _slice("ready", wait, TASKS, int(wait["task"]))


def _instants(t: Timeline) -> Iterator[Event]:
    for mark in views.wakeups(t):
        name = "wake-up that preempts" if mark["preempts"] else "wake-up"
        yield _instant(name, mark)
    for mark in views.preemptions(t):
        yield _instant("preempted", mark)


def _instant(name: str, mark: Any) -> Event:
    where = {"ts": _us(mark["t_ns"]), "pid": TASKS, "tid": int(mark["task"])}
    return {"name": name, "cat": "sched", "ph": "i", "s": "t", **where}


def _counters(t: Timeline, labels: Sequence[str]) -> Iterator[Event]:
    queued = "nr_running" if "nr_running" in t.columns else "nr_queued"
    rows = t.rows.data[t.rows["valid"].data == 1]
    changes = np.flatnonzero(np.diff(rows[queued], prepend=-1))
    for row in rows[changes]:
        yield _counter(queued, row["t_ns"], int(row[queued]))
    for i, label in enumerate(labels):
        times, lag = views.lag(t, i)
        if len(lag):
            # Where the task is concerned; in between the value moves by the clock alone.
            shown = ((rows["arg"] == i) | (rows["next"] == i)) & ~np.isnan(lag)
            for time, value in zip(times[shown], lag[shown], strict=True):
                yield _counter(f"lag of {label}, virtual us", time, float(value) / 1000)


def _counter(name: str, time: Any, value: float) -> Event:
    return {
        "name": name,
        "ph": "C",
        "ts": _us(time),
        "pid": CPU,
        "tid": 0,
        "args": {"value": value},
    }
