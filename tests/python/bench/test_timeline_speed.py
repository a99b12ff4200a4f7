"""Speed of a timeline beside the loop a Python programmer would write with ``heapq``.

Run with ``pytest tests/python/bench/test_timeline_speed.py --benchmark-only``. Both ways let the
same equal hogs share one CPU: at each tick the running one is charged, and the one with the least
run time goes on. The peer knows no weights, lags or deadlines; that both give every hog the same
CPU time, to within the slices, is checked.
"""

from __future__ import annotations

import heapq

import numpy as np
import pytest

import tickless

HOGS = 8
HZ = 250
TICK = 1_000_000_000 // HZ
SECONDS = 400
UNTIL = SECONDS * 1_000_000_000
TICKS = SECONDS * HZ
FOREVER = [("run", 1_000_000_000_000)]


def shares(hogs: int, until: int) -> list[int]:
    """Return the CPU time of each hog under "least run time first, looked at by the tick"."""
    queue = [(0, hog) for hog in range(1, hogs)]
    heapq.heapify(queue)
    used = [0] * hogs
    running, now = 0, 0
    while now < until:
        now += TICK
        used[running] += TICK
        if queue[0][0] < used[running]:
            _, running = heapq.heapreplace(queue, (used[running], running))
    return used


def hogs(policy: str, *, rows: bool, until: int = UNTIL) -> tickless.Timeline:
    programs = [(0, FOREVER)] * HOGS
    return tickless.timeline(
        [0] * HOGS, policy=policy, programs=programs, until_ns=until, hz=HZ, rows=rows
    )


def test_a_python_loop_with_heapq(benchmark):
    benchmark.extra_info["ticks"] = TICKS
    used = benchmark(lambda: shares(HOGS, UNTIL))
    assert max(used) - min(used) <= TICK


@pytest.mark.parametrize("policy", ["cfs", "eevdf", "eevdf-6.12", "eevdf-7.2"])
def test_the_same_hogs_without_rows(benchmark, policy):
    run = benchmark(lambda: hogs(policy, rows=False))
    used = run.totals["exec_ns"]
    assert used.sum() == UNTIL
    assert np.ptp(used) <= 4 * TICK
    benchmark.extra_info["ticks"] = TICKS


def test_the_same_hogs_with_a_row_per_operation(benchmark):
    run = benchmark(lambda: hogs("eevdf-7.2", rows=True))
    benchmark.extra_info["operations"] = len(run.rows)
    assert len(run.rows) >= TICKS
