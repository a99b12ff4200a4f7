"""The samples in one folder of logs: rows of the benchmark's tables, repeats in numeric order."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tickless.errors import InputError
from tickless.readers.log import BLOCK, Log, LogNote
from tickless.readers.mmtests.extraction import read_extraction
from tickless.readers.mmtests.layout import Folder
from tickless.readers.mmtests.rules import HEAD, MID, OLD, Column, Rule, rules_for
from tickless.readers.reading import Reading

Floats = NDArray[np.float64]
Order = tuple[Any, ...]
Row = tuple[str, str, Order, Floats]
"""Table, case, place of the case in the table, values."""


def find_rule(benchmark: str, folders: Sequence[Folder]) -> tuple[str, Rule]:
    """Return the era of a benchmark's folders and the rule that fits their files."""
    rules = rules_for(benchmark)
    if folders[0].old:
        fitting = [r for r in rules if OLD in r.eras]
    else:
        names = {n for f in folders for n, _ in f.files}
        fitting = [
            r for r in rules if r.eras != (OLD,) and any(r.files.fullmatch(n) for n in names)
        ] or [r for r in rules if r.eras != (OLD,)]
        if len(fitting) > 1:
            fitting = [r for r in fitting if (HEAD in r.eras) == _prints_new(folders, fitting[0])]
    rule = (fitting or list(rules))[0]
    era = OLD if folders[0].old else HEAD if HEAD in rule.eras else MID
    return era, rule


def _prints_new(folders: Sequence[Folder], rule: Rule) -> bool:
    """Tell whether the logs are of a newer tool whose file names did not change (schbench)."""
    for folder in folders:
        for name, path in folder.files:
            if rule.files.fullmatch(name):
                try:
                    return "Latency percentiles" not in Log(path).head(4096)
                except InputError:
                    continue
    return False


def rows(
    folder: Folder, benchmark: str, rule: Rule, errors: str, notes: list[LogNote]
) -> Iterator[Row]:
    """Yield (table, case, order, values) of every result log, repeats in numeric order."""
    logs = []
    others = []
    for name, path in folder.files:
        if found := rule.files.fullmatch(name):
            groups = found.groups()
            key = tuple((0, int(g)) if g.isdecimal() else (1, g) for g in groups)
            logs.append((key, groups, path))
        else:
            others.append(path)
    if not logs:
        for path in others:
            yield from read_extraction(path, rule, errors, notes)
        return
    for _, groups, path in sorted(logs, key=lambda x: x[0]):
        log = Log(path, errors=errors)
        try:
            reading = rule.reader.read(log)
        except InputError as e:
            e = _other_tool(log, rule) or e
            if errors == "strict":
                raise e from None
            if errors == "report":
                notes.append(LogNote(e.code, str(e).removeprefix(f"{path}: "), path, (), 1))
            continue
        assert isinstance(reading, Reading)
        notes += reading.notes
        words = _label_words(folder, benchmark, reading)
        yield from _rows(rule, reading, groups, words)


def _other_tool(log: Log, rule: Rule) -> InputError | None:
    """Return an error that names the tool if a log without results is another tool's."""
    from tickless.readers import detect

    try:
        reader = detect(log.head(BLOCK))
    except InputError:
        return None
    if reader is None or reader is rule.reader:
        return None
    reason = f"output of {reader.name} among the logs of {rule.reader.name}"
    return log.error("mixed-benchmarks", reason, "move it to its own folder", whole=True)


def _label_words(folder: Folder, benchmark: str, reading: Reading) -> dict[str, str]:
    """Return what a row label may contain besides the file name's parts."""
    threads = str(reading.parameters.get("threads", ""))
    words = {"bench": benchmark, "threads": threads, "command": "unixbench"}
    commands = f"{folder.path}/commands.log"
    if benchmark == "unixbenchd" and os.path.isfile(commands):
        # One command per line, e.g. ``./pgms/syscall 10``; all of one folder run the same test.
        named = [line.split() for _, line in Log(commands) if line.strip()]
        tests = {Path(n[0]).name for n in named}
        if len(tests) == 1:
            words["command"] = tests.pop()
    return words


def _rows(
    rule: Rule, reading: Reading, groups: tuple[str, ...], words: Mapping[str, str]
) -> Iterator[Row]:
    parameters = groups[:-1] if rule.repeated and groups else groups
    numbers = tuple(int(g) for g in parameters if g.isdecimal())
    for index, column in enumerate(rule.columns):
        for rank, (case, values) in enumerate(_series(reading, column)):
            label = column.label.format(*groups, case=case, **words)
            place: Order = (index, case if column.by_name else 0)
            within = 0 if column.by_name else rank
            order = (*place, numbers, within) if rule.by_column else (numbers, *place, within)
            yield column.table, label, order, values / column.scale


def _series(reading: Reading, column: Column) -> Iterator[tuple[str, Floats]]:
    """Yield (case as printed, values); the same case of several series is joined."""
    by_case: dict[str, list[Floats]] = {}
    for s in reading.samples if column.sampled else reading.series:
        if s.metric == column.metric:
            # A case of its own in the log matters only where the row label shows it.
            case = column.case(s.case) if "{case}" in column.label else ""
            if case is not None:
                by_case.setdefault(case, []).append(s.values)
    for case, parts in by_case.items():
        yield case, parts[0] if len(parts) == 1 else np.concatenate(parts)
