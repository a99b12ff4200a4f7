"""Rates printed per interval in a warm-up and a measured phase (MMTests' sqlite log).

Older logs have the rate alone behind the word, newer ones time, interval and count before it; the
last column is always the rate.
"""

from __future__ import annotations

import re

from tickless.readers.log import Log
from tickless.readers.reader import Reader
from tickless.readers.reading import Gather, Reading

ROW = re.compile(r"^(warmup|execute)\s+(?:(\d\S*)\s+\S+\s+(?:\d+\s+)?)?(\S+)\s*$")


def read(log: Log) -> Reading:
    """Read phase rows; metric ``rate``, rows of the measured phase only."""
    into, warmup = Gather(log), 0
    into.metric("rate", "transactions/s", "higher")
    for _, line in log:
        if found := ROW.match(line):
            if found[1] == "warmup":
                warmup += 1
            else:
                into.add("rate", found[3])
    into.parameters["warmup_samples"] = warmup
    return into.reading("sqlite", "rate")


READER = Reader(
    "phases",
    "rates of the measured phase of an MMTests database log",
    re.compile(r"^(?:warmup|execute)\s+\d+\.\d+", re.M),
    read,
)
