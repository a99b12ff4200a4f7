"""lmbench: latencies in microseconds and the two-column blocks of a results file.

Single lines such as ``Pipe latency: 3.4 microseconds`` become one value each. A quoted title
opens a block of two columns that ends at the next empty line or text; context switch blocks
(``"size=16k ovr=1.2``) give cases like ``2p/16K``. Compiler output and other noise before and
between is ignored.
"""

from __future__ import annotations

import re

from tickless.readers.log import Log
from tickless.readers.reader import Reader
from tickless.readers.reading import Gather, Reading
from tickless.readers.units import unit

LATENCY = re.compile(
    r"^((?:Simple|Select|Signal|Protection|Pipe|AF_UNIX|Process|UDP|TCP|RPC|Semaphore|Fcntl|File|"
    r"Pagefaults|integer|float|double)[^:]*):\s+(\S+)\s+(microseconds|nanoseconds)\s*(?::.*)?$"
)
BANDWIDTH = re.compile(r"^((?:AF_UNIX|Pipe|Socket)[^:]*bandwidth[^:]*):\s+(\S+)\s+(MB/sec)\s*$")
CONTEXT = re.compile(r'^"size=(\d+)k ovr=(\S+)')
TITLE = re.compile(r'^"(.+?)"?\s*$')
BLOCKS = {
    r"^stride=": ("ns", "lower"),
    r"^mappings": ("us", "lower"),
    r"bandwidth|bcopy|bzero|mem|read|write|open2close": ("MB/s", "higher"),
}
"""Title of a two-column block to the unit of its second column."""
PAIR = re.compile(r"^[ \t]*([0-9.]+)\s+([-+\w.]+)\s*$")


def read(log: Log) -> Reading:
    """Read an lmbench results file; metric ``ctxsw`` if there, else ``latency``."""
    into, block, size = Gather(log), "", ""
    into.metric("ctxsw", "us", "lower")
    into.metric("ctxsw_overhead", "us", "lower")
    for _, line in log:
        if found := CONTEXT.match(line):
            block, size = "ctxsw", found[1]
            into.add("ctxsw_overhead", found[2], f"{size}K")
        elif found := TITLE.match(line):
            block, size = _block(into, found[1]), ""
        elif found := PAIR.match(line):
            if block:
                into.add(block, found[2], f"{found[1]}p/{size}K" if size else found[1])
        elif found := LATENCY.match(line) or BANDWIDTH.match(line):
            block = ""
            if known := unit(log, found[3]):
                metric = {"us": "latency", "ns": "latency_ns"}.get(known[0], "bandwidth")
                into.metric(metric, *known)
                into.add(metric, found[2], re.sub(r" using \S+| latency", "", found[1]))
        else:
            block = ""
    return into.reading("lmbench", "ctxsw" if into.has("ctxsw") else "latency")


def _block(into: Gather, title: str) -> str:
    """Return the metric of a block; the unit is not printed, the title implies it."""
    for pattern, (unit_, better) in BLOCKS.items():
        if re.search(pattern, title, re.I):
            into.metric(title, unit_, better)
            return title
    into.log.fault("unknown-unit", f"block {title[:40]!r} is not known; it is left out")
    return ""


READER = Reader(
    "lmbench",
    "latencies, bandwidths and two-column blocks of a results file",
    re.compile(
        r'^\[?lmbench|^"size=\d+k ovr=|^(?:Simple syscall|Pipe latency|Process fork\+exit):', re.M
    ),
    read,
)
