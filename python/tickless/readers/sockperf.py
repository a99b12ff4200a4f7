"""sockperf: average latency, percentiles, message rate and bandwidth.

The figures in the parentheses after the average are the standard deviation alone or a long list,
depending on the version; only the standard deviation is kept, as a metric. Bandwidth is taken in
megabits: the number in parentheses, as MMTests does.
"""

from __future__ import annotations

import re

from tickless.readers.log import Log
from tickless.readers.reader import Reader
from tickless.readers.reading import Gather, Reading

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
AVERAGE = re.compile(r"====> avg-(?:latency|lat|rtt)=\s*(\S+?)(?:\s|$|\()")
DEVIATION = re.compile(r"\(std-dev=\s*([^,)\s]+)")
SUMMARY = re.compile(r"Summary: (?:Latency|Round trip) is (\S+) (\S+)")
PERCENTILE = re.compile(r"---> percentile\s+(\S+)\s*=\s*(\S+)")
EXTREME = re.compile(r"---> <(MIN|MAX)> observation\s*=\s*(\S+)")
RATE = re.compile(r"Summary: Message Rate is (\S+) \[msg/sec\]")
BANDWIDTH = re.compile(r"Summary: BandWidth is (\S+) (\S+) \((\S+) (\S+?)\)")
METRICS = {
    "bandwidth": ("Mbit/s", "higher"),
    "latency": ("us", "lower"),
    "message_rate": ("messages/s", "higher"),
    "latency_std_dev": ("us", "lower"),
    "percentile": ("us", "lower"),
}


def read(log: Log) -> Reading:
    """Read the output of sockperf; ``bandwidth`` or, for latency tests, ``latency``."""
    into, average = Gather(log), ""
    for name, (printed, better) in METRICS.items():
        into.metric(name, printed, better)
    for _, line in log:
        line = COLOUR.sub("", line) if "\x1b" in line else line
        if found := BANDWIDTH.search(line):
            if found[4].lower() == "mbps":
                into.add("bandwidth", found[3])
            else:
                log.fault("unknown-unit", f"unit {found[4]!r} is not known; the value is left out")
        elif found := RATE.search(line):
            into.add("message_rate", found[1])
        elif found := PERCENTILE.search(line):
            into.add("percentile", found[2], f"{found[1]}th")
        elif found := EXTREME.search(line):
            into.add("percentile", found[2], found[1].lower())
        elif found := AVERAGE.search(line):
            average = found[1]
            into.add("latency", average)
            if deviation := DEVIATION.search(line):
                into.add("latency_std_dev", deviation[1])
        elif found := SUMMARY.search(line):
            _summary(into, found, average)
    return into.reading("sockperf", "bandwidth" if into.has("bandwidth") else "latency")


def _summary(into: Gather, found: re.Match[str], average: str) -> None:
    if not found[2].startswith("usec"):
        into.log.fault("unknown-unit", f"unit {found[2][:20]!r} is not known")
    elif not average:
        # Older versions print the summary only.
        into.add("latency", found[1])


READER = Reader(
    "sockperf",
    "bandwidth and message rate, or average latency and percentiles",
    re.compile(r"^(?:\x1b\[[0-9;]*m)?sockperf(?:\[\w+\])?:? ", re.M),
    read,
)
