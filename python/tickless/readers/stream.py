"""stream: best rate of the four kernels.

Case is the kernel's name; several runs in one log are repeats.
"""

from __future__ import annotations

import re

from tickless.readers.log import Log
from tickless.readers.reader import Reader
from tickless.readers.reading import Gather, Reading

ROW = re.compile(r"^(Copy|Scale|Add|Triad):\s+(\S+)\s+\S+\s+\S+\s+\S+\s*$")
THREADS = re.compile(r"^Number of Threads (?:counted|requested) = (\d+)")
SIZE = re.compile(r"^Array size = (\d+)")
HEADER = re.compile(r"^Function\s+(?:Best )?Rate\s+\(?(MB/s)\)?")


def read(log: Log) -> Reading:
    """Read the output of stream; metric ``rate`` in MB/s, cases Copy, Scale, Add, Triad."""
    into = Gather(log)
    into.metric("rate", "MB/s", "higher")
    for _, line in log:
        if found := ROW.match(line):
            into.add("rate", found[2], found[1])
        elif found := THREADS.match(line):
            into.parameters["threads"] = log.whole(found[1])
        elif found := SIZE.match(line):
            into.parameters["elements"] = log.whole(found[1])
        elif line.startswith("Function") and not HEADER.match(line):
            log.fault("unknown-unit", "the heading does not say MB/s; the rates may be wrong")
    return into.reading("stream", "rate")


READER = Reader(
    "stream",
    "best rate of Copy, Scale, Add and Triad",
    re.compile(r"^Function\s+(?:Best )?Rate|^(?:Copy|Triad):\s+\d", re.M),
    read,
)
