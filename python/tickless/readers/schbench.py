"""schbench, old and new.

The new version repeats its blocks during the run and each block covers everything since the
start, so the last block of each kind is the result; earlier ones are kept as samples. The old
version prints one block of wakeup latencies without a runtime. The star on a row marks the
percentile schbench itself looks at and means nothing here.
"""

from __future__ import annotations

import re

from tickless.readers.log import Log
from tickless.readers.reader import Reader
from tickless.readers.reading import Gather, Reading

OLD = "Latency percentiles (usec)"
BLOCK = re.compile(
    r"^[ \t]*(?:(Wakeup|Request) Latenc(?:y|ies) percentiles \((usec)\)|(RPS) percentiles"
    r" \((requests)\)|(Latency) percentiles \((usec)\))"
    r"(?: runtime (\d+) \(s\))?"
)
ROW = re.compile(r"^[ \t]*\*?\s*(\d+(?:\.\d+)?)th:\s+(\S+)")
ENDS = re.compile(r"^[ \t]*min=(\S+?),\s*max=(\S+)")
AVERAGE = re.compile(r"^[ \t]*average rps:\s*(\S+)")
CURRENT = re.compile(r"^[ \t]*current rps:\s*(\S+)")
METRICS = {
    "wakeup": ("us", "lower"),
    "request": ("us", "lower"),
    "rps": ("requests/s", "higher"),
    "current_rps": ("requests/s", "higher"),
}


def read(log: Log) -> Reading:
    """Read the output of schbench: metrics ``wakeup``, ``request`` and ``rps``.

    Cases are the percentiles as printed (``"99.0th"``) and, for the result, ``min``, ``max`` and
    the ``average`` rate.
    """
    into, metric, runtime, blocks = Gather(log), "", 0, dict.fromkeys(METRICS, 0)
    for name, (printed, better) in METRICS.items():
        into.metric(name, printed, better)
    for _, line in log:
        if metric and (found := ROW.match(line)):
            case = f"{found[1]}th"
            into.put(metric, found[2], case)
            into.sample(metric, runtime, found[2], case)
        elif found := BLOCK.match(line):
            metric = {"RPS": "rps", "Request": "request"}.get(found[1] or found[3] or "", "wakeup")
            runtime = log.whole(found[7] or "0")
            into.forget(metric)
            blocks[metric] += 1
        elif metric and (found := ENDS.match(line)):
            into.put(metric, found[1], "min")
            into.put(metric, found[2], "max")
            metric = ""
        elif found := AVERAGE.match(line):
            into.put("rps", found[1], "average")
        elif found := CURRENT.match(line):
            into.sample("current_rps", runtime, found[1])
    into.parameters["blocks"] = max(blocks.values())
    if runtime:
        into.parameters["runtime_s"] = runtime
    return into.reading("schbench", "wakeup")


READER = Reader(
    "schbench",
    "last block of wakeup, request and requests-per-second percentiles",
    re.compile(r"(?:Latency|Latencies|RPS) percentiles \(\w+\)"),
    read,
)
