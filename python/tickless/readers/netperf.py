"""netperf: classic tables, omni tables, key=value output and interim results.

One log may hold many runs and, with parallel streams, many tables interleaved. Each table is one
value; streams that ran together are summed and counted (`parameters["streams"]`). Which tables
ran together is not printed: tables follow one after another unless a new banner comes before the
previous table is complete.

Taken from a classic UDP table: the send row and the receive row, as ``send`` and ``recv``. For
UDP the receive side is what arrived and is the primary metric. All other tests have one metric,
``throughput``.
"""

from __future__ import annotations

import re

from tickless.readers.log import Log
from tickless.readers.reader import Reader
from tickless.readers.reading import Gather, Reading
from tickless.readers.units import unit

BANNER = re.compile(
    r"^(?:MIGRATED )?((?:OMNI )?[A-Za-z_/ ]{0,60}?) ?TEST(?: \(.{0,99}?\))? from \S+"
)
UNITS_LINE = re.compile(r"(10\^[369]bits/s(?:ec)?|[KMG]?[Bb]ytes/s(?:ec)?|per sec\.?|Trans/s)")
DIGITS = re.compile(r"^[ \t]*\d[\d.eE+\-naif ]*\s*$", re.I)
INTERIM = re.compile(r"^Interim result:\s*(\S+)\s+(\S+) over (\S+) seconds(?: ending at (\S+))?")
KEYVAL = re.compile(r"^(THROUGHPUT|THROUGHPUT_UNITS|LOCAL_SEND_THROUGHPUT|REMOTE_RECV_THROUGHPUT"
                    r"|LOCAL_SEND_SIZE|PROTOCOL|DIRECTION)=(.*)$")  # fmt: skip
OMNI_UNIT = re.compile(r"\s(\S+)\s+(10\^[369]bits/s|[KMG]?Bytes/s|Trans/s)(?:\s|$)")
RATE = ("transactions/s", "higher")


class _Tables:
    """The state of the table being read: which test it is and how many streams are open."""

    def __init__(self, into: Gather) -> None:
        self.into = into
        self.test = ""
        self.unit: tuple[str, str] | None = None
        self.open = 0
        self.streams = 0
        self.size = ""
        self.group: dict[tuple[str, str], list[float]] = {}

    def banner(self, name: str) -> None:
        """Open a table: the line that names its test."""
        self.test = re.sub(r"[ /]+", "_", name.strip()).upper()
        self.unit = None
        self.open += 1
        self.streams = max(self.streams, self.open)
        self.into.parameters.setdefault("test", self.test)

    def row(self, fields: list[str]) -> None:
        """Take the value of one row of figures."""
        if "UDP" in self.test and "REQUEST" not in self.test and "OMNI" not in self.test:
            self._udp(fields)
        elif len(fields) >= 5:
            # The second row of a request/response table repeats two socket sizes only.
            self.result("throughput", fields[-1], _size(self.test, fields))

    def _udp(self, fields: list[str]) -> None:
        if len(fields) == 6:
            self.size = fields[1]
            self.result("send", fields[-1], self.size, last=False)
        elif len(fields) == 4:
            self.result("recv", fields[-1], self.size)

    def result(self, metric: str, text: str, case: str, last: bool = True) -> None:
        """Take one value; the `last` one of a table closes it."""
        known = self.unit or (RATE if "REQUEST" in self.test else ("Mbit/s", "higher"))
        self.into.metric(metric, *known)
        value = self.into.log.number(text)
        if value is not None:
            self.group.setdefault((metric, case), []).append(value)
        if last:
            self.open = max(self.open - 1, 0)
            if self.open == 0:
                self.flush()

    def flush(self) -> None:
        """Sum the streams that ran together."""
        for (metric, case), values in self.group.items():
            self.into.append(metric, sum(values), case)
        self.group.clear()


def read(log: Log) -> Reading:
    """Read the output of netperf; metric ``throughput``, or ``send`` and ``recv`` for UDP."""
    into = Gather(log)
    tables, keys, clock = _Tables(into), {}, 0.0
    for _, line in log:
        if found := KEYVAL.match(line):
            keys[found[1]] = found[2].strip()
            _keyval(into, keys, found[1])
        elif found := INTERIM.match(line):
            known = unit(log, found[2])
            seconds = log.number(found[3])
            if known and seconds is not None:
                clock += seconds
                into.metric("interim", *known)
                into.sample("interim", clock, found[1])
        elif found := OMNI_UNIT.search(line):
            if known := unit(log, found[2]):
                into.metric("throughput", *known)
                tables.unit = known
                tables.result("throughput", found[1], "")
        elif found := BANNER.match(line):
            tables.banner(found[1])
        elif found := UNITS_LINE.search(line):
            if not found[1].startswith("per sec"):
                tables.unit = unit(log, found[1])
        elif DIGITS.match(line):
            tables.row(line.split())
    if tables.group:
        log.fault("open-table", "a table at the end of the log is not complete")
        tables.flush()
    if tables.streams > 1:
        into.parameters["streams"] = tables.streams
    return into.reading("netperf", "recv" if into.has("recv") else "throughput")


def _size(test: str, fields: list[str]) -> str:
    """Return the message size of a stream table; request tables have it in two columns."""
    if "STREAM" in test and len(fields) == 5:
        return fields[2]
    if "REQUEST" in test and len(fields) >= 6:
        return "/".join(fields[2:4])
    return ""


def _keyval(into: Gather, keys: dict[str, str], name: str) -> None:
    """Take key=value results; the unit of one run comes after its throughput."""
    if name == "THROUGHPUT_UNITS" and "THROUGHPUT" in keys:
        if known := unit(into.log, keys[name]):
            into.metric("throughput", *known)
            into.add("throughput", keys.pop("THROUGHPUT"))
    elif name in ("PROTOCOL", "DIRECTION", "LOCAL_SEND_SIZE"):
        into.parameters[name.lower()] = keys[name]


READER = Reader(
    "netperf",
    "throughput or rate of classic and omni tables; send and receive side for UDP",
    re.compile(
        r"^(?:MIGRATED )?(?:OMNI )?[A-Za-z_/ ]{0,60}? ?TEST(?: \(.{0,99}?\))? from \S"
        r"|^Interim result:|^THROUGHPUT=",
        re.M,
    ),
    read,
)
