"""What MMTests takes from the logs of each benchmark, by era: the list to add to.

A rule says which files of a benchmark's folder hold results, which reader reads them, and which
of its series become which rows of the table, named as the comparison tool of that era names them.

Source: file names, formats and row orders of three MMTests revisions (2018-11, 2023-08, 2026-06) as
in the reference trees of the golden data.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tickless.readers import (
    dbench,
    gnu_time,
    hackbench,
    netperf,
    perf_bench,
    phases,
    schbench,
    sockperf,
    stream,
    unixbench,
)
from tickless.readers.convert import metric_of
from tickless.readers.reader import Reader
from tickless.results import Metric

OLD, MID, HEAD = "2018", "2023", "head"
BOTH_OLD = (OLD, MID)


@dataclass(frozen=True)
class Column:
    """One series of a log and the row it becomes.

    Attributes
    ----------
    metric : str
        Metric of the reading.
    label : str
        Row label; ``{0}``, ``{1}`` are the groups of the file name, ``{case}`` the reading's case
        and ``{bench}`` the benchmark.
    table : str
        Sub-heading the row belongs to; empty if the benchmark has one table.
    sampled : bool
        Take the periodic figures instead of the results.
    scale : float
        The tool divides the values of the log by this.
    case : callable
        Reading's case to its printed form, or None to leave the case out.
    by_name : bool
        Order the reading's cases by name, not as printed.
    """

    metric: str
    label: str
    table: str = ""
    sampled: bool = False
    scale: float = 1.0
    case: Callable[[str], str | None] = str
    by_name: bool = False


@dataclass(frozen=True)
class Rule:
    """How one benchmark's folder is read in some eras.

    Attributes
    ----------
    benchmarks : tuple of str
        Names of the folder.
    eras : tuple of str
        ``"2018"``, ``"2023"``, ``"head"``.
    files : compiled pattern
        Names of result files, without a compression ending; groups: parameters, the repeat last
        if the name has one.
    reader : Reader
    columns : tuple of Column
    tables : dict
        Sub-heading to the name and the description of its metric.
    repeated : bool
        The last group of `files` is the repeat.
    by_column : bool
        All rows of the first column come first; else all columns of one parameter.
    """

    benchmarks: tuple[str, ...]
    eras: tuple[str, ...]
    files: re.Pattern[str]
    reader: Reader
    columns: tuple[Column, ...]
    tables: dict[str, tuple[str, Metric]]
    repeated: bool = True
    by_column: bool = False


def _one(metric: str, unit: str, better: str, decimals: int = 2) -> dict[str, tuple[str, Metric]]:
    return {"": (metric, metric_of(unit, better, decimals=decimals))}


def _percentile(case: str) -> str | None:
    """Return ``50.00th`` of ``50.0000th``; the extremes are no rows of the table."""
    return f"{float(case[:-2]):.2f}th" if case.endswith("th") else None


def _no_extremes(case: str) -> str | None:
    return case if case.endswith("th") else None


HACKBENCH = tuple(
    f"hackbench-{mode}-{by}" for mode in ("process", "thread") for by in ("pipes", "sockets")
)
UNIXBENCH = tuple(f"unixbench-{t}" for t in unixbench.TESTS.values())
SOCKPERF = tuple(f"sockperf-{p}-throughput" for p in ("udp", "tcp"))
_TIMES = {"user": "user-{0}", "system": "syst-{0}", "elapsed": "elsp-{0}"}
_UDP = (Column("send", "send-{0}"), Column("recv", "recv-{0}"))
# The newest tool takes the send figure twice: its receive rows repeat it.
_UDP_HEAD = (Column("send", "udpstream-send-{0}"), Column("send", "udpstream-recv-{0}"))
_KERNBENCH = tuple(Column(m, label) for m, label in _TIMES.items())
_SORTED = (("elapsed", "Elapsed"), ("system", "System"), ("user", "User"))
_GITSOURCE = (Column("user", "User"), Column("system", "System"), Column("elapsed", "Elapsed"))
_BENCHLOGS = (
    Column("loadfile", "loadfile-{1}", "loadfile"),
    Column("throughput", "tput-{1}", "tput", sampled=True),
    Column("op_latency", "op-{case}-{1}", "op", by_name=True),
)
_BENCHLOG_TABLES = {
    "loadfile": ("loadfile", metric_of("ms", "lower", decimals=4)),
    "tput": ("tput", metric_of("MB/sec", "higher", decimals=4)),
    "op": ("op", metric_of("ms", "lower", decimals=4)),
}
_SCHBENCH = tuple(
    Column(m, f"{name}-{{case}}-{{0}}", name, sampled=True, case=_no_extremes)
    for m, name in (("wakeup", "Wakeup"), ("request", "Request"), ("rps", "RPS"))
)
_SCHBENCH_TABLES = {
    "Wakeup": ("Wakeup", metric_of("usec", "lower")),
    "Request": ("Request", metric_of("usec", "lower")),
    "RPS": ("RPS", metric_of("requests/sec", "higher")),
}
_MB = _one("throughput", "MB/sec", "higher")
_MBIT = _one("throughput", "MBits/sec", "higher")
_MS = _one("latency", "ms", "lower")
_SECONDS = _one("time", "seconds", "lower")
_SECONDS_4 = _one("time", "seconds", "lower", 4)
_RATE = _one("rate", "trans/sec", "higher")


def _files(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


RULES: tuple[Rule, ...] = (
    Rule(("tbench4",), (OLD,), _files(r"tbench-(\d+)\.log"), dbench.READER,
         (Column("throughput", "mb/sec-{0}", sampled=True),), _MB, repeated=False),
    Rule(("tbench4",), (MID,), _files(r"tbench-(\d+)\.log"), dbench.READER,
         (Column("loadfile", "{0}"),), _MS, repeated=False),
    Rule(("dbench4",), BOTH_OLD, _files(r"dbench-(\d+)\.log"), dbench.READER,
         (Column("loadfile", "{0}"),), _MS, repeated=False),
    Rule(("tbench", "dbench"), (HEAD,), _files(r"benchlog-(tput|loadfile|op)-(\d+)"),
         dbench.READER, _BENCHLOGS, _BENCHLOG_TABLES, repeated=False, by_column=True),
    Rule(("netperf-udp",), BOTH_OLD, _files(r"UDP_STREAM-(\d+)\.(\d+)"), netperf.READER,
         _UDP, _MBIT, by_column=True),
    Rule(("netperf-tcp",), BOTH_OLD, _files(r"TCP_STREAM-(\d+)\.(\d+)"), netperf.READER,
         (Column("throughput", "{0}"),), _MBIT),
    Rule(("netperf-ipv4-udp", "netperf-ipv6-udp"), (HEAD,), _files(r"UDP_STREAM-(\d+)\.(\d+)"),
         netperf.READER, _UDP_HEAD, _MBIT),
    Rule(SOCKPERF, BOTH_OLD, _files(r"(?:udp|tcp)-(\d+)-max-(\d+)\.stdout"), sockperf.READER,
         (Column("bandwidth", "{0}"),), _MBIT),
    Rule(HACKBENCH, BOTH_OLD, _files(r"hackbench-(\d+)-(\d+)"), hackbench.READER,
         (Column("time", "{0}"),), _SECONDS_4),
    Rule(HACKBENCH, (HEAD,), _files(r"hackbench-(\d+)"), hackbench.READER,
         (Column("time", "time-{0}"),), _SECONDS_4, repeated=False),
    Rule(("schbench",), BOTH_OLD, _files(r"schbench-(\d+)\.log"), schbench.READER,
         (Column("wakeup", "{case}-qrtle-{0}", case=_percentile),),
         _one("latency", "usec", "lower"), repeated=False),
    Rule(("schbench",), (HEAD,), _files(r"schbench-(\d+)\.log"), schbench.READER,
         _SCHBENCH, _SCHBENCH_TABLES, repeated=False),
    Rule(("kernbench",), (OLD,), _files(r"kernbench-(\d+)-(\d+)\.time"), gnu_time.READER,
         _KERNBENCH, _SECONDS, by_column=True),
    Rule(("kernbench",), (MID,), _files(r"kernbench-(\d+)-(\d+)\.time"), gnu_time.READER,
         _KERNBENCH, _SECONDS),
    Rule(("kernbench",), (HEAD,), _files(r"time-(\d+)-(\d+)"), gnu_time.READER,
         tuple(Column(m, f"{n}-{{0}}") for m, n in _SORTED), _SECONDS, by_column=True),
    Rule(("gitsource",), BOTH_OLD, _files(r"time"), gnu_time.READER,
         (*_GITSOURCE, Column("cpu", "CPU")), _SECONDS, repeated=False),
    Rule(("gitsource",), (HEAD,), _files(r"time-_-(\d+)"), gnu_time.READER,
         tuple(Column(m, n) for m, n in _SORTED), _SECONDS),
    Rule(("stream",), (OLD,), _files(r"stream-(\d+)\.log"), stream.READER,
         (Column("rate", "{case}", case=str.lower),), _one("rate", "MB/sec", "higher")),
    Rule(("stream",), (MID,), _files(r"stream-(\d+)\.log"), stream.READER,
         (Column("rate", "{case}-{threads}", scale=1024, case=str.lower),),
         _one("rate", "GB/sec", "higher")),
    Rule(("stream",), (HEAD,), _files(r"benchlog-(\d+)-_-(\d+)"), stream.READER,
         (Column("rate", "{case}-{0}"),), _one("rate", "MB/sec", "higher")),
    Rule(("unixbench-syscall",), BOTH_OLD, _files(r"syscall-(\d+)-(\d+)\.log"), unixbench.READER,
         (Column("result", "{bench}-{0}"),),
         _one("result", "ns", "lower")),
    Rule(tuple(n for n in UNIXBENCH if n != "unixbench-syscall"), BOTH_OLD,
         _files(r"[a-z0-9-]+?-(\d+)-(\d+)\.log"), unixbench.READER,
         (Column("result", "{bench}-{0}"),),
         _one("result", "ops/sec", "higher")),
    Rule(("unixbenchd",), (HEAD,), _files(r"unixbenchd\.log"), unixbench.READER,
         (Column("result", "{command}"),), _one("result", "ops/sec", "higher"), repeated=False),
    Rule(("pipetest",), (OLD, MID), _files(r"pipetest\.log"), perf_bench.READER,
         (Column("usecs-op", "Time"),), _one("time", "usecs/op", "lower"), repeated=False),
    Rule(("perfpipe",), (HEAD,), _files(r"benchlog-_-_-(\d+)"), perf_bench.READER,
         (Column("usecs-op", "usecs-op"),), _one("time", "usecs/op", "lower", 4)),
    Rule(("sqlite",), BOTH_OLD, _files(r"sqlite\.log"), phases.READER,
         (Column("rate", "Trans"),), _RATE, repeated=False),
    Rule(("sqlite",), (HEAD,), _files(r"benchlog-_-_-(\d+)"), phases.READER,
         (Column("rate", "txn/sec"),), _RATE),
)  # fmt: skip

BENCHMARKS: tuple[str, ...] = tuple(dict.fromkeys(b for r in RULES for b in r.benchmarks))
"""Every benchmark name a folder may have."""


def rules_for(benchmark: str) -> tuple[Rule, ...]:
    """Return the rules of a benchmark, empty if it is not known."""
    return tuple(r for r in RULES if benchmark in r.benchmarks)
