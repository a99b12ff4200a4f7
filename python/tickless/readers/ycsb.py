"""YCSB: overall throughput, latencies per operation, status lines as samples."""

from __future__ import annotations

import re

from tickless.readers.log import Log
from tickless.readers.reader import Reader
from tickless.readers.reading import Gather, Reading

ROW = re.compile(r"^\[([A-Z_\-]+)\],\s*(\S.*?),\s*(\S+)\s*$")
STATUS = re.compile(r"(\d+) sec: (\d+) operations; (\S+) current ops/sec")
RATE, RUNTIME = "Throughput(ops/sec)", "RunTime(ms)"
LATENCY = re.compile(r"^(.*Latency)\((us|ms)\)$")


def read(log: Log) -> Reading:
    """Read the output of YCSB; metric ``throughput``, latencies with the operation as case."""
    into = Gather(log)
    into.metric("throughput", "operations/s", "higher")
    into.metric("operations", "count", "higher")
    for _, line in log:
        if found := ROW.match(line):
            operation, item, text = found[1], found[2], found[3]
            if item == RATE and operation == "OVERALL":
                into.add("throughput", text)
            elif item == RUNTIME:
                value = log.number(text)
                if value is not None:
                    into.parameters["runtime_ms"] = value
            elif item == "Operations":
                into.add("operations", text, operation)
            elif kind := LATENCY.match(item):
                metric = f"{kind[1]}_{kind[2]}"
                into.metric(metric, kind[2], "lower")
                into.add(metric, text, operation)
        elif found := STATUS.search(line):
            into.sample("throughput", float(found[1]), found[3])
    return into.reading("ycsb", "throughput")


READER = Reader(
    "ycsb",
    "overall throughput, latencies per operation, status lines as samples",
    re.compile(r"^\[OVERALL\],|^\[(?:READ|UPDATE|INSERT|CLEANUP)\],| current ops/sec", re.M),
    read,
)
