"""perf bench sched messaging and perf bench sched pipe.

``messaging`` is hackbench in another wrapper: one total time. ``pipe`` (and the older stand-alone
pipetest, which prints nothing else) gives microseconds per operation.
"""

from __future__ import annotations

import re

from tickless.readers.log import Log
from tickless.readers.reader import Reader
from tickless.readers.reading import Gather, Reading
from tickless.readers.units import unit

RUNNING = re.compile(r"# Running '?sched/(messaging|pipe)'? benchmark")
GROUPS = re.compile(r"^#\s*(\d+) groups? == (\d+) (processes|threads) run")
SENDERS = re.compile(r"^#\s*(\d+) sender and receiver (process|thread)\w* per group")
EXECUTED = re.compile(r"^#\s*Executed (\d+) pipe operations")
TOTAL = re.compile(r"^[ \t]*Total time:\s*(\S+)\s*\[(.+?)\]")
PER_OPERATION = re.compile(r"^[ \t]*(\S+)\s+usecs/op\s*$")
RATE = re.compile(r"^[ \t]*(\S+)\s+ops/sec\s*$")


def read(log: Log) -> Reading:
    """Read one or more perf bench runs; metric ``time`` or, for pipe, ``usecs-op`` first."""
    into, kind, case = Gather(log), "", ""
    into.metric("time", "s", "lower")
    into.metric("usecs-op", "us", "lower")
    into.metric("ops-sec", "operations/s", "higher")
    for _, line in log:
        if found := PER_OPERATION.match(line):
            into.add("usecs-op", found[1])
            kind = kind or "pipe"
        elif found := RATE.match(line):
            into.add("ops-sec", found[1])
        elif found := TOTAL.match(line):
            if unit(log, found[2]) == ("s", "lower"):
                into.add("time", found[1], case)
        elif found := RUNNING.search(line):
            kind = found[1]
        elif found := GROUPS.match(line):
            case = found[1]
            into.parameters |= {
                "groups": log.whole(found[1]),
                "tasks": log.whole(found[2]),
                "mode": "process" if found[3] == "processes" else "thread",
            }
        elif found := SENDERS.match(line):
            into.parameters["senders"] = log.whole(found[1])
        elif found := EXECUTED.match(line):
            into.parameters["operations"] = log.whole(found[1])
    benchmark = f"perf-bench-sched-{kind or 'messaging'}"
    return into.reading(benchmark, "usecs-op" if kind == "pipe" else "time")


READER = Reader(
    "perf bench sched",
    "total time of messaging, microseconds per operation of pipe",
    re.compile(RUNNING.pattern + "|" + PER_OPERATION.pattern, re.M),
    read,
)
