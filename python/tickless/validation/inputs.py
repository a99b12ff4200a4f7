"""Small example inputs against the installed readers: one group per folder.

Every entry of ``expected.json`` that is not null counts: one per row of a list, one per key of a
mapping, one for a number or word; errors count by code, line and parts of their message.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from tickless.errors import InputError, TicklessWarning
from tickless.idle_counters import difference
from tickless.idle_dump import read_idle_dump
from tickless.trace import read_trace
from tickless.validation import Group

SHOWN = 3
"""Differences that a group shows."""

NOT_COMPARED = frozenset({"note", "files", "with_options", "error", "strict_error", "format"})
"""Keys that are no value of a result; the format is compared where it is no ``detect``."""

TRACE_FORMATS = frozenset(
    {"ftrace-text", "trace-cmd-text", "ftrace-latency", "perf-script", "detect"}
)
TABLE_FORMATS = frozenset({"sysfs-cpuidle", "cpupower-idle-info"})

RESULTS = "tickless.validation.inputs_results"
"""Checks folders of benchmark output: ``check(folder) -> (equal, total, differences)``."""


class Tally:
    """Entries compared so far."""

    def __init__(self) -> None:
        self.equal = 0
        self.total = 0
        self.differences: list[str] = []

    def compare(self, place: str, expected: Any, found: Any) -> None:
        """Compare one value, row by row and key by key."""
        if isinstance(expected, dict) and isinstance(found, dict) and expected:
            for key, value in expected.items():
                self.compare(f"{place}.{key}", value, found.get(key, _MISSING))
        elif isinstance(expected, list) and isinstance(found, list) and expected:
            for i, value in enumerate(expected):
                self._count(f"{place}[{i}]", value, found[i] if i < len(found) else _MISSING)
            if len(found) > len(expected):
                self._count(f"{place}: number of rows", len(expected), len(found))
        else:
            self._count(place, expected, found)

    def _count(self, place: str, expected: Any, found: Any) -> None:
        # A row may be a mapping of which only some keys are given.
        if isinstance(expected, dict) and isinstance(found, dict) and expected:
            found = {key: found.get(key, _MISSING) for key in expected}
        self.total += 1
        if expected == found:
            self.equal += 1
        elif len(self.differences) < SHOWN:
            shown = "missing" if found is _MISSING else _short(found)
            self.differences.append(f"{place}: expected {_short(expected)}, found {shown}")


_MISSING = object()


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."


def groups(directory: Path) -> Iterator[Group]:
    """Compare every folder that holds an ``expected.json``."""
    folders = sorted(d for d in directory.iterdir() if (d / "expected.json").is_file())
    if not folders:
        raise InputError(
            f"{directory}: no folder with an expected.json", str(directory), None, "no-groups"
        )
    for folder in folders:
        yield check(folder)


def check(folder: Path) -> Group:
    """Compare one folder."""
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    if expected["format"] in TRACE_FORMATS | TABLE_FORMATS:
        tally = Tally()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TicklessWarning)
            (_traces if expected["format"] in TRACE_FORMATS else _tables)(folder, expected, tally)
        return Group(folder.name, tally.equal, tally.total, True, tuple(tally.differences), "")
    try:
        results = import_module(RESULTS)
    except ModuleNotFoundError:
        return Group(folder.name, 0, 0, True, (), "not read by this version")
    equal, total, differences = results.check(folder)
    return Group(folder.name, equal, total, True, tuple(differences[:SHOWN]), "")


def _files(folder: Path, expected: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(folder.iterdir()):
        if path.name != "expected.json":
            yield path, expected | (expected.get("files") or {}).get(path.name, {})


def _traces(folder: Path, expected: dict[str, Any], tally: Tally) -> None:
    for path, wanted in _files(folder, expected):
        error, strict = wanted.get("error"), wanted.get("strict_error") or wanted.get("error")
        trace = _attempt(partial(read_trace, path), path.name, error, tally)
        strictly = partial(read_trace, path, errors="strict")
        _attempt(strictly, f"{path.name} strict", strict, tally)
        if trace is not None:
            _compare(path.name, wanted, trace, tally)
        options = wanted.get("with_options")
        if options:
            unit = options["time_unit"]
            again = read_trace(path, time_unit=unit)
            rest = {k: v for k, v in options.items() if k != "time_unit"}
            _compare(f"{path.name} time_unit={unit}", rest, again, tally)


def _attempt(
    call: Callable[[], Any], place: str, expected: dict[str, Any] | None, tally: Tally
) -> Any:
    """Return the result, or None after an error; compare the error with the expected one."""
    try:
        result = call()
    except InputError as e:
        wanted = expected or {"code": None}
        found = {"code": e.code, "line": e.line}
        tally.compare(f"{place} error", {k: wanted[k] for k in found if k in wanted}, found)
        for part in wanted.get("message_contains", []):
            tally.compare(f"{place} message", True, part in str(e) or part)
        return None
    tally.compare(f"{place} error", expected, None)
    return result


def _compare(place: str, expected: dict[str, Any], found: Any, tally: Tally) -> None:
    wanted = {k: v for k, v in expected.items() if v is not None and k not in NOT_COMPARED}
    if expected.get("format") not in (None, "detect"):
        wanted["format"] = expected["format"]
    for key, value in wanted.items():
        tally.compare(f"{place} {key}", value, _plain(getattr(found, key, _MISSING)))


def _plain(value: Any) -> Any:
    """Return a value the way JSON spells it."""
    if value is _MISSING:
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    return json.loads(json.dumps(value))


def _tables(folder: Path, expected: dict[str, Any], tally: Tally) -> None:
    files = dict(_files(folder, expected))
    if expected.get("delta") is not None:
        dumps = {path.stem: read_idle_dump(path) for path in files}
        _compare("pair", expected, difference(dumps["before"], dumps["after"]), tally)
        return
    dumps_of = {path: read_idle_dump(path) for path in files}
    shared = expected.get("warnings")
    for path, wanted in files.items():
        own = wanted if len(files) == 1 else wanted | {"warnings": None}
        _compare_states(path.name, own, dumps_of[path], tally)
    if len(files) > 1 and shared is not None:
        # The folder's warnings are those of all its files together.
        found = [w for dump in dumps_of.values() for w in dump.warnings]
        tally.compare("warnings", shared, found)


def _compare_states(place: str, expected: dict[str, Any], found: Any, tally: Tally) -> None:
    """Compare, with the states of a CPU found by their index where the expected ones have one."""
    states = expected.get("states") or {}
    for cpu, rows in states.items():
        by_index = {s["index"]: s for s in found.states.get(cpu, [])}
        for row in rows:
            name = f"{place} {cpu} state{row['index']}"
            tally.compare(name, row, _plain(by_index.get(row["index"], _MISSING)))
    _compare(place, expected | {"states": None}, found, tally)
