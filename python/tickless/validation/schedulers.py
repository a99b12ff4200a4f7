"""Golden rows, totals and function vectors of scheduling policies: one group per file.

The inputs are ``cases*.txt.gz``; ``seq_*`` holds a row per operation, ``stats_*`` the totals per
task of the closed-loop cases, ``func_*`` single rules.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tickless import _core
from tickless.errors import InputError, TicklessError
from tickless.timeline import OPERATIONS, Timeline, timeline
from tickless.validation import Group

RESULTS = {
    "calc_delta": ("cfs", 1),
    "calc_delta_fair": ("cfs", 1),
    "place_cfs": ("cfs", 1),
    "preempt_tick": ("cfs", 1),
    "sched_slice": ("cfs", 1),
    "wakeup_preempt": ("cfs", 1),
    "update_deadline": ("eevdf", 2),
    "snapshot": ("eevdf", 10),
    "vlen_6_12": ("eevdf-6.12", 1),
    "snapshot_6_12": ("eevdf-6.12", 12),
    "vlen_7_2": ("eevdf-7.2", 1),
    "snapshot_7_2": ("eevdf-7.2", 12),
}
"""Rule to its policy and how many of its file's columns are results."""

CLASSES = {"0": "normal", "3": "batch", "5": "idle"}
"""Class numbers of the inputs."""

SHOWN = 3
"""Differences shown per group."""


@dataclass
class _Case:
    """One case of the inputs, as arguments of `timeline`."""

    ncpus: int
    hz: int
    features: dict[str, bool] = field(default_factory=dict)
    tasks: list[tuple[int, str, int]] = field(default_factory=list)
    events: list[tuple[int, str, int, int]] = field(default_factory=list)
    programs: dict[int, tuple[int, list[tuple[int, int]]]] = field(default_factory=dict)
    run: tuple[int, int] | None = None

    def timeline(self, policy: str) -> Timeline:
        """Run the case under a policy."""
        known: dict[str, Any] = {
            "policy": policy,
            "ncpus": self.ncpus,
            "hz": self.hz,
            "features": self.features,
        }
        if self.run is None:
            return timeline(self.tasks, events=self.events, **known)
        programs = [self.programs.get(i) for i in range(len(self.tasks))]
        until, tick0 = self.run
        return timeline(self.tasks, programs=programs, until_ns=until, tick0_ns=tick0, **known)

    def read(self, words: Sequence[str]) -> None:
        """Take one line of the inputs."""
        kind, *rest = words
        if kind == "feat":
            self.features[rest[0]] = rest[1] == "1"
        elif kind == "task":
            slice_ns = int(rest[2]) if len(rest) > 2 else 0
            self.tasks.append((int(rest[0]), CLASSES[rest[1]], slice_ns))
        elif kind == "prog":
            bursts = [tuple(map(int, pair.split(":"))) for pair in rest[3:]]
            self.programs[int(rest[0])] = (int(rest[1]), bursts)  # type: ignore[assignment]
        elif kind == "run":
            self.run = (int(rest[0]), int(rest[1]))
        else:
            value = int(rest[2]) if len(rest) > 2 else 0
            self.events.append((int(rest[0]), kind, int(rest[1]), value))


def groups(directory: Path) -> Iterator[Group]:
    """Compare every policy with the golden files of a folder.

    Parameters
    ----------
    directory : path
        Folder in the layout of the golden scheduler data.

    Yields
    ------
    Group
        One per file: rows and totals by policy, then function vectors.

    Raises
    ------
    InputError
        For a folder without such files, or a damaged file, with its line.
    """
    files = [*directory.glob("seq_*.csv.gz"), *directory.glob("func_*.csv.gz")]
    if not files:
        raise InputError(
            f"{directory}: no seq_*.csv.gz or func_*.csv.gz of golden scheduler data here",
            str(directory),
            code="no-golden-files",
        )
    cases: dict[str, _Case] = {}
    for path in sorted(directory.glob("cases*.txt.gz")):
        cases.update(_read_cases(path))
    for policy in (str(p["name"]) for p in _core.policies()):
        name = policy.replace("-", "_").replace(".", "_")
        rows = directory / f"seq_{name}.csv.gz"
        if rows.exists():
            totals: dict[str, Timeline] = {}
            yield _rows(rows, policy, cases, totals)
            yield from _totals(directory / f"stats_{name}.csv.gz", policy, totals)
    for rule, (policy, results) in RESULTS.items():
        vectors = directory / f"func_{rule}.csv.gz"
        if vectors.exists():
            yield _vectors(vectors, rule, policy, results)


def _lines(path: Path) -> list[str]:
    try:
        with gzip.open(path, "rt", encoding="ascii") as f:
            return f.read().splitlines()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as e:
        raise InputError(f"{path}: not a readable gzip text: {e}", str(path)) from e


def _title(policy: str, path: Path) -> str:
    return f"{policy} {path.name.removesuffix('.csv.gz')}"


def _damaged(path: Path, line: int, reason: object) -> InputError:
    return InputError(f"{path}, line {line}: {reason}", str(path), line, "damaged-line")


def _read_cases(path: Path) -> dict[str, _Case]:
    cases: dict[str, _Case] = {}
    case = _Case(0, 0)
    for number, line in enumerate(_lines(path), 1):
        words = line.split()
        try:
            if words[0] == "case":
                case = cases[words[1]] = _Case(int(words[2]), int(words[3]))
            else:
                case.read(words)
        except (IndexError, KeyError, ValueError) as e:
            raise _damaged(path, number, f"not a line of a case: {line[:60]!r}") from e
    return cases


class _Score:
    """Counts equal lines and keeps the first differences."""

    def __init__(self) -> None:
        self.equal = self.total = 0
        self.differences: list[str] = []

    def compare(self, place: str, names: Sequence[str], expected: str, found: str) -> None:
        self.total += 1
        if expected == found:
            self.equal += 1
        elif len(self.differences) < SHOWN:
            pairs = zip(names, expected.split(","), found.split(","), strict=False)
            wrong = [f"{name} is {f}, expected {e}" for name, e, f in pairs if e != f]
            self.differences.append(f"{place}: {'; '.join(wrong[:4]) or 'row missing'}")

    def group(self, name: str, note: str = "") -> Group:
        return Group(name, self.equal, self.total, True, tuple(self.differences), note)


def _rows(path: Path, policy: str, cases: dict[str, _Case], done: dict[str, Timeline]) -> Group:
    head, *lines = _lines(path)
    names = head.split(",")[1:]
    score, longer = _Score(), 0
    ours: list[str] = []
    at = 0
    current = ""
    for number, line in enumerate(lines, 2):
        case, _, rest = line.partition(",")
        if case != current:
            longer += at < len(ours)
            current, at = case, 0
            if case not in cases:
                raise _damaged(path, number, f"case {case!r} is in no cases*.txt.gz here")
            try:
                done[case] = cases[case].timeline(policy)
            except TicklessError as e:
                raise _damaged(path, number, f"case {case!r}: {e}") from e
            ours = _as_lines(path, done[case], names)
        found = ours[at] if at < len(ours) else ""
        score.compare(f"{case}, row {at}", names, rest, found)
        at += 1
    longer += at < len(ours)
    note = f"of {longer} cases only the first rows" if longer else ""
    return score.group(_title(policy, path), note)


def _as_lines(path: Path, result: Timeline, names: Sequence[str]) -> list[str]:
    """Return our rows as the golden file would print them."""
    table = []
    for name in names:
        if name == "buddies":
            hints = [result.rows[f"{kind}_buddy"].data for kind in ("next", "last", "skip")]
            table.append([":".join(map(str, row)) for row in zip(*hints, strict=True)])
        elif name not in result.rows.dtype.names:  # type: ignore[operator]
            raise _damaged(path, 1, f"unknown column {name!r}")
        elif name == "op":
            table.append([OPERATIONS[code] for code in result.rows["op"].data])
        else:
            table.append(list(map(str, result.rows[name].data.tolist())))
    valid = result.rows["valid"].data
    blank = "," * (len(names) - 5)
    whole = zip(*table, strict=True)
    pairs = zip(whole, valid, strict=True)
    return [",".join(row if v else row[:5]) + ("" if v else blank) for row, v in pairs]


def _totals(path: Path, policy: str, done: dict[str, Timeline]) -> Iterator[Group]:
    if not path.exists():
        return
    head, *lines = _lines(path)
    names = head.split(",")[1:]
    score = _Score()
    for number, line in enumerate(lines, 2):
        case, _, rest = line.partition(",")
        try:
            total = done[case].totals[int(rest.partition(",")[0])]
            found = ",".join(str(total[name]) for name in names)
        except (KeyError, ValueError, IndexError) as e:
            raise _damaged(path, number, f"no such case, task or total: {e}") from e
        score.compare(f"{case}, task {rest.partition(',')[0]}", names, rest, found)
    yield score.group(_title(policy, path))


def _vectors(path: Path, rule: str, policy: str, results: int) -> Group:
    head, *lines = _lines(path)
    names = head.split(",")
    inputs = len(names) - results
    values: list[int] = []
    ends = []
    expected = []
    for number, line in enumerate(lines, 2):
        fields = line.split(",")
        try:
            values += map(
                int, ",".join(fields[:inputs]).replace(";", ",").replace(":", ",").split(",")
            )
        except ValueError as e:
            raise _damaged(path, number, e) from e
        ends.append(len(values))
        expected.append(fields[inputs:])
    found, cuts = _core.scheduling_vectors(
        rule, np.array(values, np.int64), np.array(ends, np.int64)
    )
    score = _Score()
    for i, want in enumerate(expected):
        got = found[cuts[i - 1] if i else 0 : cuts[i]].tolist()
        score.compare(f"vector {i}", names[inputs:], ",".join(want), _join(names[inputs:], got))
    return score.group(_title(policy, path))


def _join(names: Sequence[str], values: list[int]) -> str:
    """Return the results as the file prints them: eligibility is one digit per entity."""
    if "eligible" not in names:
        return ",".join(map(str, values))
    at = names.index("eligible")
    width = len(values) - len(names) + 1
    digits = "".join(map(str, values[at : at + width]))
    return ",".join([*map(str, values[:at]), digits, *map(str, values[at + width :])])
