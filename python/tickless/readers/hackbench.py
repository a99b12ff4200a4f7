"""hackbench: ``Time:`` or ``Total time:`` in seconds, one per run.

The banner before a run gives mode, groups and tasks; everything else between runs (iteration
lines, version lines, warnings) is ignored. Runs with different group counts in one log become
cases of their own.
"""

from __future__ import annotations

import re

from tickless.readers.log import Log
from tickless.readers.reader import Reader
from tickless.readers.reading import Gather, Reading
from tickless.readers.units import unit

BANNER = re.compile(
    r"Running in (process|threaded|thread) mode with (\d+) groups? using (\d+) file descriptors"
    r" each \(== (\d+) tasks\)"
)
MESSAGES = re.compile(r"Each sender will pass (\d+) messages of (\d+) bytes")
TIME = re.compile(r"^[ \t]*(?:Total time|Time):\s*(\S+)(?:\s*\[(.+?)\])?\s*$")


def read(log: Log) -> Reading:
    """Read the output of hackbench; metric ``time``, one case per group count."""
    into, case, groups = Gather(log), "", set()
    into.metric("time", "s", "lower")
    for _, line in log:
        if found := TIME.match(line):
            if found[2] is None or unit(log, found[2]) == ("s", "lower"):
                into.add("time", found[1], case)
            elif found[2].lower() not in ("sec", "secs", "s"):
                log.fault("unknown-unit", f"hackbench prints seconds, not {found[2][:20]!r}")
        elif found := BANNER.search(line):
            case = found[2]
            groups.add(case)
            into.parameters |= {
                "mode": "thread" if found[1].startswith("thread") else "process",
                "groups": log.whole(found[2]),
                "file_descriptors": log.whole(found[3]),
                "tasks": log.whole(found[4]),
            }
        elif found := MESSAGES.search(line):
            into.parameters |= {"messages": log.whole(found[1]), "bytes": log.whole(found[2])}
    if len(groups) > 1:
        for name in ("groups", "tasks", "file_descriptors"):
            del into.parameters[name]
    return into.reading("hackbench", "time")


READER = Reader(
    "hackbench",
    "time of each run, with groups, tasks and mode",
    re.compile(BANNER.pattern + r"|^[ \t]*(?:Total time|Time):[ \t]*(?:[-+]?\d|nan|inf)", re.M),
    read,
)
