"""Reading a result directory: every log once, iterations pooled in the tool's own order."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tickless.errors import InputError
from tickless.readers.convert import padded
from tickless.readers.log import BLOCK, Log, LogNote
from tickless.readers.mmtests.extraction import read_extraction
from tickless.readers.mmtests.layout import Folder, find, natural
from tickless.readers.mmtests.rules import HEAD, MID, OLD, RULES, Column, Rule, rules_for
from tickless.readers.reading import Reading
from tickless.results import Results, ResultSet

Floats = NDArray[np.float64]
Order = tuple[Any, ...]


@dataclass
class _Table:
    """Samples of one table while they are gathered: by case and kernel."""

    values: dict[str, dict[str, list[Floats]]] = field(default_factory=dict)
    order: dict[str, Order] = field(default_factory=dict)

    def add(self, case: str, order: Order, kernel: str, values: Floats) -> None:
        self.order.setdefault(case, order)
        self.values.setdefault(case, {}).setdefault(kernel, []).append(values)

    def samples(self, case: str, kernel: str) -> Floats:
        parts = self.values[case].get(kernel, ())
        return np.concatenate(parts) if parts else np.empty(0)


def read_mmtests(
    directory: str | os.PathLike[str],
    *,
    kernels: Sequence[str] | None = None,
    benchmarks: Sequence[str] | None = None,
    machine: str = "",
    errors: str = "report",
) -> ResultSet:
    """Read an MMTests result directory of any of the three eras.

    Parameters
    ----------
    directory : path
        The directory that holds the runs: ``BENCH-KERNEL/noprofile`` (2018) or
        ``KERNEL/iter-N/BENCH/logs`` (2023 and later); logs plain, ``.gz`` or ``.xz``.
    kernels : sequence of str, optional
        Runs to read, in column order; all in version order if None.
    benchmarks : sequence of str, optional
        Benchmarks to read; all if None.
    machine : str
        Name of the machine, which the directory does not say.
    errors : {"report", "strict", "ignore"}
        A damaged log or value is left out and noted, raises, or is left out silently.

    Returns
    -------
    ResultSet
        One `Results` per benchmark, or per ``benchmark.sub-heading`` where the tool's newest
        version splits its rows. Samples of all iterations are pooled in their order. What is
        missing or unequal is in `notes` and, for programs, in ``attrs["warnings"]``.

    Raises
    ------
    InputError
        If the directory is no result directory, mixes layouts or holds no readable benchmark.
    """
    root = Path(directory)
    folders, notes = find(root, kernels)
    columns = tuple(kernels or sorted({f.kernel for f in folders}, key=natural))
    entries: dict[str, Results] = {}
    for benchmark, group in _by_benchmark(folders).items():
        if benchmarks is not None and benchmark not in benchmarks:
            continue
        if not rules_for(benchmark):
            notes.append(f"unknown-benchmark: {benchmark} has no reader; left out")
            continue
        entries.update(_benchmark(root, benchmark, group, columns, machine, errors, notes))
    if not entries:
        raise InputError(
            f"{root}: no benchmark that can be read"
            + (f" ({'; '.join(notes[:3])})" if notes else ""),
            str(root),
            code="no-benchmark",
        )
    return ResultSet(entries, notes=notes, name=str(root))


def _by_benchmark(folders: Sequence[Folder]) -> dict[str, list[Folder]]:
    groups: dict[str, list[Folder]] = {}
    for f in folders:
        groups.setdefault(f.benchmark or _guess(f), []).append(f)
    return groups


def _guess(folder: Folder) -> str:
    """Return the benchmark of a folder whose path does not name it: whose files these are."""
    names = [n for n, _ in folder.files]
    scores = {r.benchmarks[0]: sum(bool(r.files.fullmatch(n)) for n in names) for r in RULES}
    best = max(scores, key=lambda b: scores[b])
    return best if scores[best] else Path(folder.path).parent.parent.name


def _benchmark(
    root: Path,
    benchmark: str,
    folders: Sequence[Folder],
    kernels: tuple[str, ...],
    machine: str,
    errors: str,
    notes: list[str],
) -> Iterator[tuple[str, Results]]:
    """Yield the results of one benchmark, one per table."""
    era, rule = _era(benchmark, folders)
    tables: dict[str, _Table] = {}
    log_notes: list[LogNote] = []
    for folder in sorted(folders, key=lambda f: (kernels.index(f.kernel), f.iteration)):
        for table, case, order, values in _folder(folder, benchmark, rule, errors, log_notes):
            tables.setdefault(table, _Table()).add(case, order, folder.kernel, values)
    if not tables:
        notes.append(f"no-values: {benchmark} has no log with a result; left out")
        notes += map(str, log_notes)
        return
    gaps = _iteration_gaps(folders, kernels)
    for table in rule.tables:
        if table not in tables:
            continue
        gathered = tables[table]
        cases = sorted(gathered.order, key=gathered.order.__getitem__)
        arrays = [[gathered.samples(c, k) for c in cases] for k in kernels]
        warnings = gaps + _count_gaps(arrays, kernels, cases)
        metric, info = rule.tables[table]
        yield (
            f"{benchmark}.{table}" if table else benchmark,
            Results(
                benchmark=benchmark,
                machine=machine,
                kernels=kernels,
                cases=tuple(cases),
                metrics={metric: padded(arrays)},
                metric_info={metric: info},
                primary=metric,
                notes=tuple([_sentence(w) for w in warnings] + [str(n) for n in log_notes]),
                attrs={
                    "source": str(root),
                    "mmtests_era": era,
                    "mmtests_benchmark": benchmark,
                    "sub_heading": table,
                    "warnings": warnings,
                },
            ),
        )


def _era(benchmark: str, folders: Sequence[Folder]) -> tuple[str, Rule]:
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


def _folder(
    folder: Folder, benchmark: str, rule: Rule, errors: str, notes: list[LogNote]
) -> Iterator[tuple[str, str, Order, Floats]]:
    """Yield (table, case, order, values) of every result log, repeats in numeric order."""
    logs = []
    others = []
    for name, path in folder.files:
        if found := rule.files.fullmatch(name):
            groups = found.groups()
            key = tuple((0, int(g)) if g.isdigit() else (1, g) for g in groups)
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
        words = _words(folder, benchmark, reading)
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


def _words(folder: Folder, benchmark: str, reading: Reading) -> dict[str, str]:
    """Return what a row label may contain besides the file name's parts."""
    words = {"bench": benchmark, "threads": str(reading.parameters.get("threads", ""))}
    commands = f"{folder.path}/commands.log"
    if benchmark == "unixbenchd" and os.path.isfile(commands):
        # One command per line, e.g. ``./pgms/syscall 10``; all of one folder run the same test.
        named = [line.split() for _, line in Log(commands) if line.strip()]
        tests = {Path(n[0]).name for n in named}
        words["command"] = tests.pop() if len(tests) == 1 else "unixbench"
    return words


def _rows(
    rule: Rule, reading: Reading, groups: tuple[str, ...], words: Mapping[str, str]
) -> Iterator[tuple[str, str, Order, Floats]]:
    parameters = groups[:-1] if rule.repeated and groups else groups
    numbers = tuple(int(g) for g in parameters if g.isdigit())
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


def _iteration_gaps(folders: Sequence[Folder], kernels: Sequence[str]) -> list[dict[str, Any]]:
    """Return a warning per kernel that lacks an iteration another kernel has."""
    by_kernel = {k: {f.iteration for f in folders if f.kernel == k} for k in kernels}
    every = set().union(*by_kernel.values())
    return [
        {"code": "missing-iteration", "key": f"iter-{i}", "kernel": k}
        for k, there in by_kernel.items()
        if there
        for i in sorted(every - there)
    ] + [{"code": "missing-kernel", "key": k} for k, there in by_kernel.items() if not there]


def _count_gaps(
    arrays: Sequence[Sequence[Floats]], kernels: Sequence[str], cases: Sequence[str]
) -> list[dict[str, Any]]:
    """Return a warning per case whose kernels differ in their number of samples."""
    out: list[dict[str, Any]] = []
    for j, case in enumerate(cases):
        counts = {k: len(arrays[i][j]) for i, k in enumerate(kernels)}
        if len(set(counts.values())) > 1:
            code = "missing-case" if 0 in counts.values() else "unequal-counts"
            out.append({"code": code, "key": case, **counts})
    return out


def _sentence(warning: Mapping[str, Any]) -> str:
    code, key = warning["code"], warning["key"]
    if code == "missing-iteration":
        return f"{code}: {warning['kernel']} has no {key}"
    if code == "missing-kernel":
        return f"{code}: {key} has no run of this benchmark"
    counts = ", ".join(f"{k} {n}" for k, n in warning.items() if k not in ("code", "key"))
    return f"{code}: {key}: samples of {counts}"
