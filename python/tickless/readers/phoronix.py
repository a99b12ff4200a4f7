"""Phoronix Test Suite: the trials of each test, or average and deviation alone.

The console log carries colour codes and PHP warnings; both are stripped. The unit is printed
after the average only, so the trials of a test are held until it is known.
"""

from __future__ import annotations

import re

from tickless.readers.log import Log
from tickless.readers.reader import Reader
from tickless.readers.reading import Gather, Reading
from tickless.readers.units import HIGHER, LOWER, unit

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PROFILE = re.compile(r"^[ \t]*((?:pts|local|system|git)/[\w.\-]+)(?:\s+\[(.*)\])?\s*$")
TRIAL = re.compile(r"^\s+([-+]?\d[\d.]*(?:[eE][-+]?\d+)?|nan|inf)\s*$", re.I)
HEADING = re.compile(r"^[ \t]*(\S.*?):\s*$")
AVERAGE = re.compile(r"^[ \t]*Average:\s+(\S+)\s+(\S.*?)\s*$")
DEVIATION = re.compile(r"^[ \t]*Deviation:\s+(\S+?)%")
BETTER = re.compile(r"(?:<|Lower|Higher)\s*(Lower|Higher)?\s*Is Better", re.I)
NO_HEADING = ("Test Results", "Results", "Started Run", "PHP Warning", "PHP Notice")


def read(log: Log) -> Reading:
    """Read a console log; one metric per unit, the test's own heading as case."""
    into, profile, heading, trials = Gather(log), "", "", list[str]()
    into.metric("deviation_pct", "%", "lower")
    for _, line in log:
        line = ESCAPE.sub("", line)
        if found := PROFILE.match(line):
            profile, heading = found[1], found[2] or ""
            into.parameters.setdefault("profile", profile)
        elif found := TRIAL.match(line):
            trials.append(found[1])
        elif found := AVERAGE.match(line):
            _result(into, heading or profile, trials or [found[1]], found[2])
            trials = []
        elif found := DEVIATION.match(line):
            into.add("deviation_pct", found[1], heading or profile)
        elif (found := HEADING.match(line)) and not found[1].startswith(NO_HEADING):
            heading, trials = found[1], []
    if trials:
        log.fault("no-average", "trials at the end have no average line, so no unit; left out")
    units = [k for k in into.metrics if k != "deviation_pct"]
    return into.reading("phoronix", units[0] if units else "deviation_pct")


def _result(into: Gather, case: str, trials: list[str], printed: str) -> None:
    direction = BETTER.search(printed)
    text = re.sub(r"\s*(?:\(?[<>]?\s*\w+ Is Better\)?)\s*", "", printed, flags=re.I)
    if not (known := unit(into.log, text)):
        return
    better = known[1]
    if direction:
        better = LOWER if "lower" in direction[0].lower() else HIGHER
    into.metric(known[0], known[0], better)
    for trial in trials:
        into.add(known[0], trial, case)


READER = Reader(
    "phoronix",
    "trials of every test, or average and deviation",
    re.compile(r"Phoronix Test Suite|^[ \t]*Average:\s+\S+ \S", re.M),
    read,
)
