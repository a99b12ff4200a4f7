"""How MMTests summarises each benchmark, by era, beyond what the results themselves say.

To add a benchmark that is no plain ``Multiops`` add a line to `BENCHMARKS`. Names match by their
longest prefix, so that ``netperf-udp`` finds ``netperf``; a sub-heading is written after a dot, as
in ``tbench.loadfile``.

Source: the tables of the public MMTests repository at b3726123, 103ee1c4 and 638401e0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Profile:
    """Summary of one benchmark (or of one sub-heading of it) in one era.

    Attributes
    ----------
    summary : str
        MMTests summary type: a key of `tickless.stats.mmtests.SUMMARIES`, or ``"Singleops"``.
    label : str
        Row label of a Singleops table.
    ratio : str
        Regular expression of the parameters of a ratio table; empty for all of them.
    averages : bool
        A Singleops value of era 2018 is the mean of the runs and not one run.
    step : float
        The tool rounds the numbers of the log to multiples of this; 0 for no rounding.
    """

    summary: str = "Multiops"
    label: str = "Ops"
    ratio: str = ""
    averages: bool = False
    step: float = 0.0


_LEFT_SKEW = "NormalisedLeftSkewops"
_NORMALISED = Profile("Normalisedops")
_COMMON = {
    "schbench": Profile("Singleops", label="Lat", ratio=r"^99\.00th"),
    "dbench4": Profile("Subselection"),
    "pipetest": Profile("Variabletime", step=0.5),
    "gitsource": Profile(ratio="^Elapsed$"),
}
BENCHMARKS: dict[str, dict[str, Profile]] = {
    "2018": {
        **_COMMON,
        "kernbench": Profile(ratio="^elsp$"),
        "stream": Profile("Singleops", label="MB/sec", averages=True),
    },
    "2023": {
        **_COMMON,
        "tbench4": Profile("Subselection"),
        "kernbench": Profile(ratio="^elsp-"),
        "stream": Profile("Singleops", label="GB/sec"),
        "sqlite": Profile("Variableops"),
    },
    "head": {
        "perfpipe": _NORMALISED,
        "schbench": _NORMALISED,
        **{
            f"{benchmark}.{heading}": how
            for benchmark in ("tbench", "dbench")
            for heading, how in (
                ("loadfile", Profile(_LEFT_SKEW)),
                ("tput", Profile(_LEFT_SKEW, ratio="^loadfile")),
                ("op", Profile("Singleops", ratio="^loadfile")),
            )
        },
    },
}
"""Era to benchmark prefix to profile; what is not listed is a plain ``Multiops`` table."""


@lru_cache(maxsize=256)
def profile(era: str, benchmark: str, heading: str = "") -> Profile:
    """Return the profile of a benchmark.

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
    return table[max(known, key=len)] if known else Profile()
