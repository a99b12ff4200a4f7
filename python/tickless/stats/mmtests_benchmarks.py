"""How MMTests summarises each benchmark, by era: facts for its tables and for the readers.

To add a benchmark add a line to `BENCHMARKS`. Names match by their longest prefix, so that
``hackbench-process-pipes`` finds ``hackbench``; a sub-heading is written after a dot, as in
``tbench.loadfile``.

Source: the tables of the public MMTests repository at b3726123, 103ee1c4 and 638401e0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Profile:
    """Summary of one benchmark (or of one sub-heading of it) in one era.

    Attributes
    ----------
    summary : str
        MMTests summary type: a key of `tickless.stats.mmtests.SUMMARIES`, or ``"Singleops"``.
    better : {"higher", "lower"}
        Direction as the tool takes it.
    unit : str
        Unit of the printed values.
    decimals : int
        Decimals of a printed value.
    order : {"file", "group", "sorted"}
        Order of the parameters: as read; all of the first word, then all of the next; or words
        in alphabetical order and numbers below each.
    label : str
        Row label of a Singleops table.
    ratio : str
        Regular expression of the parameters of a ratio table; empty for all of them.
    averages : bool
        A Singleops value is the mean of the runs and not the first run.
    divide : float
        The tool divides the numbers of the log by this.
    step : float
        The tool rounds the numbers of the log to multiples of this; 0 for no rounding.
    """

    summary: str
    better: str
    unit: str
    decimals: int = 2
    order: str = "file"
    label: str = "Ops"
    ratio: str = ""
    averages: bool = False
    divide: float = 1.0
    step: float = 0.0


def _rate(unit: str, summary: str = "Multiops", **more: object) -> Profile:
    return Profile(summary, "higher", unit, **more)  # type: ignore[arg-type]


def _time(unit: str, summary: str = "Multiops", **more: object) -> Profile:
    return Profile(summary, "lower", unit, **more)  # type: ignore[arg-type]


_SKEW = "NormalisedLeftSkewops"
_COMMON = {
    "hackbench": _time("seconds", decimals=4),
    "netperf-udp": _rate("Mbit/sec", order="group"),
    "netperf-tcp": _rate("Mbit/sec"),
    "sockperf-udp-throughput": _rate("Mbit/sec"),
    "sockperf-tcp-throughput": _rate("Mbit/sec"),
    "schbench": _time("usecs", "Singleops", label="Lat", ratio=r"^99\.00th"),
    "dbench4": _time("msecs", "Subselection"),
    # The tool takes the loops per second of this one for a time.
    "unixbench-syscall": _time("lps"),
    "unixbench": _rate("lps"),
    "gitsource": _time("seconds", ratio="^Elapsed$"),
}
BENCHMARKS: dict[str, dict[str, Profile]] = {
    "2018": {
        **_COMMON,
        "tbench4": _rate("MB/sec"),
        "kernbench": _time("seconds", order="group", ratio="^elsp$"),
        "pipetest": _time("usecs", "Variabletime", step=0.5),
        "stream": _rate("MB/sec", "Singleops", label="MB/sec", averages=True),
        "sqlite": _rate("trans/sec"),
    },
    "2023": {
        **_COMMON,
        "tbench4": _time("msecs", "Subselection"),
        "kernbench": _time("seconds", ratio="^elsp-"),
        "pipetest": _time("usecs", "Variabletime", step=0.5),
        "stream": _rate("GB/sec", "Singleops", label="GB/sec", averages=True, divide=1024.0),
        "sqlite": _rate("trans/sec", "Variableops"),
    },
    "head": {
        "hackbench": _time("seconds", decimals=4),
        "netperf": _rate("Mbit/sec"),
        "kernbench": _time("seconds", order="sorted"),
        "gitsource": _time("seconds", order="sorted"),
        "stream": _rate("MB/sec"),
        "unixbenchd": _rate("lps"),
        "sqlite": _rate("trans/sec"),
        "perfpipe": _time("usecs/op", "Normalisedops", decimals=4),
        "schbench.Wakeup": _time("usecs", "Normalisedops"),
        "schbench.Request": _time("usecs", "Normalisedops"),
        "schbench.RPS": _rate("requests/sec", "Normalisedops"),
        **{
            f"{b}.{heading}": profile
            for b in ("tbench", "dbench")
            for heading, profile in (
                ("loadfile", _time("msecs", _SKEW, decimals=4, order="sorted")),
                ("tput", _rate("MB/sec", _SKEW, decimals=4, order="sorted", ratio="^loadfile")),
                (
                    "op",
                    _time("msecs", "Singleops", decimals=4, order="sorted", ratio="^loadfile"),
                ),
            )
        },
    },
}
"""Era to benchmark prefix to profile."""


@lru_cache(maxsize=256)
def profile(era: str, benchmark: str, heading: str = "") -> Profile | None:
    """Return the profile of a benchmark, or None if the era's table does not list it.

    Parameters
    ----------
    era : str
        ``"2018"``, ``"2023"`` or ``"head"``.
    benchmark : str
        MMTests name, e.g. ``"netperf-udp"``.
    heading : str
        Sub-heading, e.g. ``"loadfile"``; empty for none.
    """
    table = BENCHMARKS[era]
    name = f"{benchmark}.{heading}" if heading else benchmark
    known = [p for p in table if name == p or name.startswith((f"{p}-", f"{p}."))]
    return table[max(known, key=len)] if known else None


def headings(era: str, benchmark: str) -> tuple[str, ...]:
    """Return the sub-headings of a benchmark: parts with a direction of their own."""
    return tuple(n.partition(".")[2] for n in BENCHMARKS[era] if n.startswith(f"{benchmark}."))


def ordered(order: str, cases: Sequence[str]) -> list[str]:
    """Return parameters in the order of a `Profile`.

    Examples
    --------
    >>> ordered("group", ["send-1", "recv-1", "send-2", "recv-2"])
    ['send-1', 'send-2', 'recv-1', 'recv-2']
    >>> ordered("sorted", ["User-16", "User-2", "Elapsed-2"])
    ['Elapsed-2', 'User-2', 'User-16']
    """
    if order == "group":
        words = list(dict.fromkeys(c.partition("-")[0] for c in cases))
        return sorted(cases, key=lambda c: words.index(c.partition("-")[0]))
    if order == "sorted":
        return sorted(cases, key=_natural)
    return list(cases)


def _natural(case: str) -> list[tuple[int, int, str]]:
    parts = re.split(r"(\d+)", case)
    return [(1, int(p), "") if p.isdigit() else (0, 0, p) for p in parts]
