"""Memory of reading: private bytes per kept event, and what a line without an end costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from trace_text import write_trace

MOST_PER_EVENT = 60
"""Bytes of private memory per kept event."""

PEAK = """
import resource, sys, tickless
tickless.read_trace({warm!r})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
trace = tickless.read_trace({path!r}, errors="ignore")
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) * 1024, trace.report.used)
"""
"""Growth of the peak over a process that has read a small trace; nothing is mapped from files."""


def peak(path: Path, warm: Path) -> tuple[int, int]:
    code = PEAK.format(path=str(path), warm=str(warm))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    grown, used = done.stdout.split()
    return int(grown), int(used)


def test_a_kept_event_needs_at_most_sixty_bytes(tmp_path: Path):
    small, large = tmp_path / "small", tmp_path / "large"
    write_trace(small, 1)
    events = write_trace(large, 120)
    grown, used = peak(large, small)
    assert used == events
    assert grown <= MOST_PER_EVENT * events, f"{grown / events:.1f} bytes per event"


def test_a_line_without_an_end_does_not_grow_memory(tmp_path: Path):
    small, large = tmp_path / "small", tmp_path / "large"
    events = write_trace(small, 1)
    with large.open("wb") as f:
        f.write(small.read_bytes())
        for _ in range(200):
            f.write(b"x" * 10**6)
    grown, used = peak(large, small)
    assert used == events
    assert grown < 32 * 10**6
