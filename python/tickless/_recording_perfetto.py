"""Recordings of simulated runs as Chrome trace-event JSON, which the Perfetto UI opens."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import numpy as np

from tickless._files import written
from tickless._perfetto import Event, named, span
from tickless.recording import Recording

CPUS, IDLE, TASKS = 1, 2, 3
"""Process numbers of the groups of tracks."""


def write(r: Recording, path: str | os.PathLike[str]) -> None:
    """Write `r` to `path`, whole or not at all; see `Recording.to_perfetto`."""
    with written(path) as f:
        f.write('{"displayTimeUnit":"ns","traceEvents":[\n')
        for i, event in enumerate(_events(r)):
            f.write(",\n" if i else "")
            f.write(json.dumps(event, separators=(",", ":")))
        f.write("\n]}\n")


def _events(r: Recording) -> Iterator[Event]:
    yield named("process_name", CPUS, 0, f"CPUs of {r.machine}, {r.kernel}")
    yield named("process_name", IDLE, 0, "idle states")
    yield named("process_name", TASKS, 0, "tasks")
    for cpu in np.unique(r.cpu).tolist():
        yield named("thread_name", CPUS, cpu, f"CPU {cpu}")
        yield named("thread_name", IDLE, cpu, f"CPU {cpu}")
    runs = r.runs()
    woken, _ = r.wakers()
    for task in np.union1d(runs["task"], r.a[woken]).tolist():
        yield named("thread_name", TASKS, task, r.task_name(task))
    for cpu, task, start, end in runs.tolist():
        yield span(r.task_name(task), start, end, CPUS, cpu)
        yield span(f"on CPU {cpu}", start, end, TASKS, task)
    for cpu, start, end, state in zip(
        *(v.tolist() for v in r.idle_periods().values()), strict=True
    ):
        yield span(r.states[state], start, end, IDLE, cpu)
    yield from _wakeups(r)
    if r.lost:
        yield {"name": f"recording cut: {r.lost} happenings lost", "ph": "i", "s": "g",
               "ts": int(r.t_ns[-1]) / 1000, "pid": CPUS, "tid": 0}  # fmt: skip


def _wakeups(r: Recording) -> Iterator[Event]:
    """Yield an instant for each wake-up, and an arrow to the run that follows it."""
    runs = r.runs()
    order = np.lexsort((runs["start_ns"], runs["task"]))
    tasks, starts = runs["task"][order], runs["start_ns"][order]
    for number, (i, by) in enumerate(zip(*(c.tolist() for c in r.wakers()), strict=True)):
        t, task, on = (int(column[i]) for column in (r.t_ns, r.a, r.b))
        yield {"name": "wake-up", "cat": "sched", "ph": "i", "s": "t", "ts": t / 1000,
               "pid": TASKS, "tid": task, "args": {"by CPU": by, "on CPU": on}}  # fmt: skip
        first, last = np.searchsorted(tasks, [task, task + 1])
        following = first + int(np.searchsorted(starts[first:last], t))
        if following < last:
            run = runs[order[following]]
            flow = {"name": "wake-up", "cat": "wake-up", "id": number}
            yield flow | {"ph": "s", "ts": t / 1000, "pid": CPUS, "tid": by}
            yield flow | {"ph": "f", "bp": "e", "ts": int(run["start_ns"]) / 1000,
                          "pid": CPUS, "tid": int(run["cpu"])}  # fmt: skip
