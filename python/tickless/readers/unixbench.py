"""UnixBench: results with their unit, index values, raw COUNT lines.

A full run prints each result twice, with its unit and again in the index table; a run of one test
prints a partial index only. Results with a unit come first; where there is none the RESULT column
is taken. Runs with one copy and with many copies in one log are told apart by the banner.
"""

from __future__ import annotations

import re

from tickless.readers.log import Log
from tickless.readers.reader import Reader
from tickless.readers.reading import Gather, Reading

TESTS = {
    "Dhrystone 2 using register variables": "dhry2reg",
    "Double-Precision Whetstone": "whetstone-double",
    "Execl Throughput": "execl",
    "File Copy 1024 bufsize 2000 maxblocks": "fstime",
    "File Copy 256 bufsize 500 maxblocks": "fsbuffer",
    "File Copy 4096 bufsize 8000 maxblocks": "fsdisk",
    "Pipe Throughput": "pipe",
    "Pipe-based Context Switching": "context1",
    "Process Creation": "spawn",
    "Shell Scripts (1 concurrent)": "shell1",
    "Shell Scripts (8 concurrent)": "shell8",
    "Shell Scripts (16 concurrent)": "shell16",
    "System Call Overhead": "syscall",
}
"""Printed title to the short name the test is run by."""

UNITS = {
    "lps": "loops/s",
    "lpm": "loops/min",
    "kbps": "kB/s",
    "mwips": "MWIPS",
    "mflops": "MFLOPS",
    "fps": "frames/s",
}
RESULT = re.compile(r"^(\S.*?\S)\s{2,}(\S+) (\w+)\s+\(\S+ s, (\d+) samples\)")
INDEX = re.compile(r"^(\S.*?\S)\s{2,}(\d+\.\d)\s+(\S+)\s+(\S+)\s*$")
SCORE = re.compile(r"^System Benchmarks Index Score(?: \(Partial Only\))?\s+(\S+)\s*$")
COPIES = re.compile(r"running (\d+) parallel cop(?:y|ies) of tests")
COUNT = re.compile(r"^COUNT\|(\S+?)\|(\S+?)\|(\w+)\s*$")


def read(log: Log) -> Reading:
    """Read the output of UnixBench; metrics ``result`` and ``index``, case test[-copies]."""
    into, copies, with_unit = Gather(log), "", set()
    into.metric("result", "loops/s", "higher")
    into.metric("index", "index", "higher")
    into.metric("score", "index", "higher")
    for _, line in log:
        if found := RESULT.match(line):
            name = TESTS.get(found[1], found[1]) + copies
            with_unit.add(name)
            if metric := _metric(into, found[3]):
                into.add(metric, found[2], name)
        elif found := COUNT.match(line):
            if metric := _metric(into, found[3]):
                into.add(metric, found[1])
        elif found := INDEX.match(line):
            name = TESTS.get(found[1], found[1]) + copies
            if name not in with_unit:
                into.add("result", found[3], name)
            if found[4] != "---":
                into.add("index", found[4], name)
        elif found := SCORE.match(line):
            into.add("score", found[1], copies.lstrip("-"))
        elif found := COPIES.search(line):
            copies = f"-{found[1]}"
    return into.reading("unixbench", "result")


def _metric(into: Gather, printed: str) -> str:
    """Return the metric for a printed unit: ``result`` for loops, one per other unit."""
    known = UNITS.get(printed.lower())
    if known is None:
        into.log.fault("unknown-unit", f"unit {printed[:20]!r} is not known; the value is left out")
        return ""
    name = "result" if known == "loops/s" else f"result_{printed.lower()}"
    into.metric(name, known, "higher")
    return name


READER = Reader(
    "unixbench",
    "results, index values and scores of every test",
    re.compile(r"System Benchmarks (?:Partial )?Index|^COUNT\||BYTE UNIX Benchmarks", re.M),
    read,
)
