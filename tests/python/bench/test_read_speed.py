"""Speed of reading ftrace text beside counting newlines and beside a Python regex reader.

Run with ``pytest tests/python/bench/test_read_speed.py --benchmark-only``. All ways read the same
bytes; the three event readers find the same events, which is checked.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tickless
from trace_text import LINES_PER_SECOND, trace_text

SECONDS = 50

LINE = re.compile(
    rb"^ *(?P<task>.{1,16})-(?P<pid>\d+) +\[(?P<cpu>\d+)\] (?P<flags>\S+) +"
    rb"(?P<s>\d+)\.(?P<us>\d{6}): (?P<event>\w+): (?P<body>.*)$",
    re.MULTILINE,
)
IDLE = re.compile(rb"state=(\d+) cpu_id=(\d+)")
SWITCH = re.compile(
    rb"prev_comm=(.*) prev_pid=(\d+) prev_prio=\d+ prev_state=(\S+) ==> "
    rb"next_comm=(.*) next_pid=(\d+)"
)
WAKEUP = re.compile(rb"comm=(.*) pid=(\d+) prio=\d+ target_cpu=(\d+)")


def regex_reader(text: bytes) -> int:
    """Read the columns of `read_trace` the way a careful script does."""
    idle, switches, wakeups = [], [], []
    for m in LINE.finditer(text):
        time = int(m["s"]) * 10**9 + int(m["us"]) * 1000
        cpu, event, body = int(m["cpu"]), m["event"], m["body"]
        if event == b"cpu_idle":
            state, idle_cpu = IDLE.match(body).groups()
            idle.append((time, int(idle_cpu), int(state)))
        elif event == b"sched_switch":
            prev, prev_pid, state, following, next_pid = SWITCH.match(body).groups()
            switches.append((time, cpu, int(prev_pid), prev, state, int(next_pid), following))
        elif event == b"sched_wakeup":
            comm, pid, target = WAKEUP.match(body).groups()
            wakeups.append((time, cpu, int(m["pid"]), m["task"], int(pid), comm, int(target)))
    for rows in (idle, switches, wakeups):
        [np.array(c) for c in zip(*rows, strict=True)]
    return len(idle) + len(switches) + len(wakeups)


@pytest.fixture(scope="module")
def text() -> bytes:
    return trace_text(SECONDS)


@pytest.fixture(scope="module")
def file(text: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("read") / "trace.txt"
    path.write_bytes(text)
    return path


def events_of(trace: tickless.Trace) -> int:
    return 2 * len(trace.idle) + len(trace.switches) + len(trace.wakeups)


@pytest.mark.benchmark(group="read")
def test_newlines_counted_by_numpy(benchmark, text: bytes):
    array = np.frombuffer(text, np.uint8)
    n = benchmark(lambda: int(np.count_nonzero(array == 10)))
    assert n == SECONDS * LINES_PER_SECOND


@pytest.mark.benchmark(group="read")
def test_newlines_counted_by_bytes(benchmark, text: bytes):
    assert benchmark(lambda: text.count(b"\n")) == SECONDS * LINES_PER_SECOND


@pytest.mark.benchmark(group="read")
def test_read_trace_from_memory(benchmark, text: bytes):
    assert events_of(benchmark(tickless.read_trace, text)) == SECONDS * LINES_PER_SECOND


@pytest.mark.benchmark(group="read")
def test_read_trace_from_a_file(benchmark, file: Path):
    assert events_of(benchmark(tickless.read_trace, file)) == SECONDS * LINES_PER_SECOND


@pytest.mark.benchmark(group="read")
def test_python_regex_reader(benchmark, text: bytes):
    n = benchmark.pedantic(regex_reader, args=(text,), rounds=1, iterations=1)
    assert n == SECONDS * LINES_PER_SECOND
