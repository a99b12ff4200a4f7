"""Speed of the closed loop beside SimPy doing the same ping-pong.

Run with ``pytest tests/python/bench/test_simulate_speed.py --benchmark-only``. Pairs of tasks send
one token to and fro, each task on a CPU of its own. The peer has a SimPy process per CPU that goes
through the states the engine goes through: work in kernel and user mode, the waker's part of a
wake-up, the way to sleep with a last look, the switch, the idle task, entry, idle, exit. It has no
governor, no run queue, no tick, no choice of a CPU and no randomness. Speeds are compared per
simulated round trip (``ns per round trip`` of the extra info); that both simulate about the same
round trip is checked.
"""

from __future__ import annotations

from collections import deque

import pytest

import tickless

PAIRS = 4
#: Simulated time of the peer, s; the engine gets fifty times as much.
WINDOW = 0.02
#: Prices in us, those of the machine and the workload.
RECEIVE, USER, SEND, WAKE, TAIL, BLOCK = 0.2, 0.1, 0.2, 0.7, 0.2, 0.3
SWITCH, PREPARE, ENTRY, EXIT = 0.4, 0.5, 0.0, 0.15


class Cpu:
    """One CPU with one task: takes a token, works, passes it on, and idles until it is back."""

    def __init__(self, env, starts: bool) -> None:
        self.env = env
        self.tokens = deque([None] if starts else [])
        self.wake = None
        self.trips = 0
        self.peer: Cpu

    def run(self):
        wait = self.env.timeout
        while True:
            if self.tokens:
                self.tokens.popleft()
                self.trips += 1
                yield wait(RECEIVE)
                yield wait(USER)
                yield wait(SEND)
                self.peer.tokens.append(None)
                if self.peer.wake is not None:
                    yield wait(WAKE)
                    self.peer.wake.succeed()
                    self.peer.wake = None
                yield wait(TAIL)
                yield wait(USER)
                continue
            yield wait(BLOCK)
            if self.tokens:
                continue
            self.wake = self.env.event()
            woken = self.wake
            yield wait(SWITCH)
            yield wait(PREPARE)
            yield wait(ENTRY)
            if not woken.triggered:
                yield woken
            yield wait(EXIT)
            yield wait(SWITCH)


def simpy_trips(pairs: int, until_us: float) -> int:
    """Return the round trips of pairs of CPUs."""
    simpy = pytest.importorskip("simpy")
    env = simpy.Environment()
    clients = []
    for _ in range(pairs):
        client, server = Cpu(env, True), Cpu(env, False)
        client.peer, server.peer = server, client
        env.process(client.run())
        env.process(server.run())
        clients.append(client)
    env.run(until=until_us)
    return sum(client.trips for client in clients)


def run(seconds: float, *, repeats: int = 1, threads: int = 1) -> tickless.Results:
    return tickless.simulate(
        "8x-SKYLAKE-UMA",
        ["6.12"],
        "pingpong",
        cases=[str(PAIRS)],
        repeats=repeats,
        duration_s=seconds,
        warmup_s=0.0,
        threads=threads,
    )


def per_trip_us(result: tickless.Results) -> float:
    return float(result[result.primary][0, 0, 0])


def test_simpy(benchmark):
    trips = benchmark(lambda: simpy_trips(PAIRS, WINDOW * 1e6))
    assert PAIRS * WINDOW * 1e6 / trips == pytest.approx(per_trip_us(run(WINDOW)), rel=0.35)
    benchmark.extra_info["ns per round trip"] = benchmark.stats["min"] / trips * 1e9


def test_the_engine(benchmark):
    seconds = 50 * WINDOW
    result = benchmark(lambda: run(seconds))
    trips = PAIRS * seconds * 1e6 / per_trip_us(result)
    benchmark.extra_info["ns per round trip"] = benchmark.stats["min"] / trips * 1e9
    benchmark.extra_info["events per s"] = (
        float(result["events_total"][0, 0, 0]) / benchmark.stats["min"]
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_independent_runs(benchmark, threads):
    result = benchmark.pedantic(lambda: run(0.3, repeats=4, threads=threads), rounds=5)
    assert result[result.primary].shape == (1, 1, 4)
