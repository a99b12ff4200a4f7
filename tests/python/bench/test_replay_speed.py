"""Speed of the replay beside a governor loop that a data scientist would compile with numba.

Run with ``pytest tests/python/bench/test_replay_speed.py --benchmark-only``; what to look at are
ratios between rows of one run. Every row writes state, tick decision and verdict of every period.
"""

from __future__ import annotations

import numpy as np
import pytest

from tickless import _core

N = 1_000_000
TICK = 4_000_000
EXIT = np.array([0, 2_000, 10_000, 33_000, 133_000], np.int64)
TARGET = np.array([0, 2_000, 20_000, 100_000, 400_000], np.int64)
TABLE = _core.IdleTable(
    ["POLL", "C1", "C1E", "C3", "C6"],
    EXIT.tolist(),
    TARGET.tolist(),
    [True, False, False, False, False],
    [False] * 5,
    [None] * 5,
)


@pytest.fixture(scope="module")
def stream():
    """Exponential times to the timer, log-normal times to the wakeup, whichever comes first."""
    rng = np.random.default_rng(7)
    timer = rng.exponential(2e6, N).astype(np.int64)
    wake = np.minimum(timer, rng.lognormal(np.log(1e5), 1.5, N).astype(np.int64))
    return timer, np.minimum(timer, TICK), wake


@pytest.fixture(scope="module")
def toy():
    """Return a simple governor of hits and intercepts per bin that fade by an eighth."""
    numba = pytest.importorskip("numba")

    @numba.njit
    def run(timer, next_event, wake, target, exit_latency, tick, state, stop, verdict):
        n = len(target)
        hits = np.zeros(n, np.int64)
        intercepts = np.zeros(n, np.int64)
        for e in range(len(timer)):
            idx = 0
            for i in range(1, n):
                if target[i] <= timer[e]:
                    idx = i
            below, total = 0, 0
            for i in range(n):
                total += hits[i] + intercepts[i]
                if i < idx:
                    below += intercepts[i]
            if 2 * below > total:
                seen = 0
                for i in range(idx - 1, -1, -1):
                    seen += intercepts[i]
                    if 2 * seen > below:
                        idx = i
                        break
            keep = idx == 0 or timer[e] < tick
            if keep:
                while idx > 0 and target[idx] > next_event[e]:
                    idx -= 1
            state[e] = idx
            stop[e] = not keep
            slept = wake[e]
            verdict[e] = 0
            if slept < target[idx]:
                verdict[e] = 1
            elif idx + 1 < n and slept - exit_latency[idx] >= target[idx + 1]:
                verdict[e] = 2
            timer_bin, slept_bin = 0, 0
            for i in range(n):
                hits[i] -= hits[i] >> 3
                intercepts[i] -= intercepts[i] >> 3
                if target[i] <= timer[e]:
                    timer_bin = i
                    if target[i] <= slept:
                        slept_bin = i
            if timer_bin == slept_bin:
                hits[timer_bin] += 1024
            else:
                intercepts[slept_bin] += 1024

    return run


def test_toy_loop_compiled_by_numba(benchmark, stream, toy):
    out = np.zeros(N, np.uint8), np.zeros(N, np.bool_), np.zeros(N, np.uint8)
    toy(*stream, TARGET, EXIT, TICK, *out)  # compile
    benchmark.extra_info["events"] = N
    benchmark(lambda: toy(*stream, TARGET, EXIT, TICK, *out))


def replay(stream, governors, threads, cpu=None):
    timer, next_event, wake = stream
    columns = {"sleep_length_ns": timer, "delta_tick_ns": next_event, "wake_ns": wake}
    if cpu is not None:
        columns["cpu"] = cpu
    return _core.replay(governors, TABLE, columns, hz=250, threads=threads)


@pytest.mark.parametrize(
    "governor",
    ["teo-6.12", "menu-6.12", "teo-7.2", "menu-7.2", "teo-rfc-v5", "teo-5.10", "menu-6.1"],
)
def test_one_governor_on_one_core(benchmark, stream, governor):
    benchmark.extra_info["events"] = N
    benchmark(lambda: replay(stream, [governor], 1))


@pytest.mark.parametrize("threads", [1, 2])
def test_two_governors(benchmark, stream, threads):
    """Two pairs of governor and CPU: two threads take half of the time of one."""
    benchmark.extra_info["events"] = 2 * N
    benchmark(lambda: replay(stream, ["teo-6.12", "teo-6.12"], threads))


@pytest.mark.parametrize("threads", [1, 2])
def test_two_interleaved_cpus(benchmark, stream, threads):
    cpu = np.arange(N, dtype=np.uint32) % 2
    benchmark.extra_info["events"] = N
    benchmark(lambda: replay(stream, ["menu-6.12"], threads, cpu))


def test_a_governor_in_numba_called_by_pointer(benchmark, stream):
    numba = pytest.importorskip("numba")
    numbers = numba.types.CPointer(numba.types.int64)

    @numba.cfunc(numba.types.int64(numbers, numbers, numbers))
    def deepest(memory, context, table):
        best = 0
        for i in range(context[0]):
            if table[10 + i] <= context[1]:
                best = i
        return best

    benchmark.extra_info["events"] = N
    benchmark(lambda: replay(stream, [("cfunc", deepest.address)], 1))


def test_a_governor_in_python(benchmark, stream):
    class First:
        def select(self, ctx):
            return 1

        def reflect(self, ctx, outcome):
            pass

    short = tuple(column[:20_000] for column in stream)
    benchmark.extra_info["events"] = 20_000
    benchmark(lambda: replay(short, [First()], 1))
