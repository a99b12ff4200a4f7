"""GNU time lines, as MMTests keeps them for kernel builds and shell workloads."""

from __future__ import annotations

import re

from tickless.readers.log import Log
from tickless.readers.reader import Reader
from tickless.readers.reading import Gather, Reading

LINE = re.compile(r"^(\S+?)user (\S+?)system (?:(\d{1,6}):)?(\d{1,6}):(\S+?)elapsed (\d+)%CPU")


def read(log: Log) -> Reading:
    """Read GNU time lines; metrics ``elapsed``, ``user``, ``system`` in s and ``cpu`` in %."""
    into = Gather(log)
    for name in ("elapsed", "user", "system"):
        into.metric(name, "s", "lower")
    into.metric("cpu", "%", "lower")
    for _, line in log:
        if found := LINE.match(line):
            seconds = log.number(found[5])
            into.add("user", found[1])
            into.add("system", found[2])
            if seconds is not None:
                whole = log.whole(found[3] or "0") * 3600 + log.whole(found[4]) * 60
                # Rounded as printed, so that 2:56.67 is the same number as 176.67.
                decimals = len(found[5].partition(".")[2])
                into.append("elapsed", round(whole + seconds, decimals))
            into.add("cpu", found[6])
    return into.reading("time", "elapsed")


READER = Reader(
    "time",
    "user, system and elapsed time, share of a CPU",
    re.compile(r"^\S+user \S+system \S+elapsed \d+%CPU", re.M),
    read,
)
