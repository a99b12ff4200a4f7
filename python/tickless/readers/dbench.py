"""dbench and its network counterpart tbench: the same text from two programs.

Taken: the final ``Throughput`` line, the once-a-second rows of the measured phase as samples
(warm-up and clean-up rows are none), completion times of the load file where they are printed
(MMTests), and the table of operations. The running figure is an average since the start of the
phase, so the samples are not independent.

Limits: nothing in the text tells dbench from tbench. The name of the log decides; without the
word ``dbench`` or ``tbench`` in it the benchmark is called dbench.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from tickless.readers.log import Log
from tickless.readers.reader import Reader
from tickless.readers.reading import Gather, Reading
from tickless.readers.units import unit

# Progress characters (^) may be glued to the front of any line, so none is anchored there.
SECOND = re.compile(
    r"(\d{1,9})\s{1,20}(\d{1,15})\s{1,20}(\S{1,30})\s(\S{1,30})\s{1,20}"
    r"(warmup|execute)\s{1,20}(\d+) sec"
    r"(?:\s+latency\s+(\S+)\s+(\S+))?"
)
THROUGHPUT = re.compile(r"Throughput\s+(\S+)\s+(\S+)(?:\s+\((NB=.*?)\))?(?:\s+(\d+) clients)?")
PROCS = re.compile(r"\s(\d+) procs")
MAX_LATENCY = re.compile(r"max_latency=(\S+)\s+(\S+)")
LOADFILE = re.compile(r"(\d{1,9}) completed in (\S+) ms at time (\d+) ms")
OPERATION = re.compile(r"^[ \t]*([A-Z][A-Za-z_]{2,15})\s+(\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s*$")
METRICS = {
    "throughput": ("MB/s", "higher"),
    "latency": ("ms", "lower"),
    "max_latency": ("ms", "lower"),
    "loadfile": ("ms", "lower"),
    "op_latency": ("ms", "lower"),
    "op_max_latency": ("ms", "lower"),
    "op_count": ("count", "higher"),
}


def read(log: Log) -> Reading:
    """Read the output of dbench or tbench; metric ``throughput``, case the client count."""
    into, warmup = Gather(log), 0
    for name, (printed, better) in METRICS.items():
        into.metric(name, printed, better)
    for _, line in log:
        if found := SECOND.search(line):
            warmup += found[5] == "warmup"
            if found[5] == "execute":
                _second(into, found)
        elif found := LOADFILE.search(line):
            into.add("loadfile", found[2])
            into.sample("loadfile", log.whole(found[3]) / 1000, found[2])
        elif found := OPERATION.match(line):
            into.add("op_count", found[2], found[1])
            into.add("op_latency", found[3], found[1])
            into.add("op_max_latency", found[4], found[1])
        elif found := THROUGHPUT.search(line):
            _summary(into, found, line)
    if warmup:
        into.parameters["warmup_samples"] = warmup
    return into.reading(_program(log.name), "throughput")


def _second(into: Gather, found: re.Match[str]) -> None:
    if unit(into.log, found[4]) == METRICS["throughput"]:
        into.sample("throughput", float(found[6]), found[3])
    if found[7] is not None and unit(into.log, found[8]) == METRICS["latency"]:
        into.sample("latency", float(found[6]), found[7])


def _summary(into: Gather, found: re.Match[str], line: str) -> None:
    clients = found[4] or ""
    if not clients and (procs := PROCS.search(line)):
        clients = procs[1]
    if clients:
        into.parameters["clients"] = into.log.whole(clients)
    if unit(into.log, found[2]) == METRICS["throughput"]:
        into.add("throughput", found[1], clients)
    if (worst := MAX_LATENCY.search(line)) and unit(into.log, worst[2]) == METRICS["latency"]:
        into.add("max_latency", worst[1], clients)


def _program(name: str) -> str:
    words = PurePath(name).name.lower()
    return "tbench" if "tbench" in words and "dbench" not in words else "dbench"


READER = Reader(
    "dbench and tbench",
    "throughput, its once-a-second figures, load file times and latencies of operations",
    re.compile(
        r"^dbench version|\sclients started|(?:warmup|execute)\s+\d+ sec"
        r"|completed in \S+ ms at time \d+ ms|^Throughput\s+\S+\s+MB/sec|^ ?NTCreateX\s+\d+",
        re.M,
    ),
    read,
)
