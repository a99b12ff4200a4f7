"""Reading a result directory: every log once, iterations pooled in the tool's own order."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tickless._arrays import place, text, texts
from tickless.errors import InputError, unknown_name
from tickless.readers.convert import padded
from tickless.readers.log import LogNote
from tickless.readers.mmtests.gaps import Gap, count_gaps, iteration_gaps, sentence
from tickless.readers.mmtests.layout import Folder, find, natural
from tickless.readers.mmtests.rules import RULES, rules_for
from tickless.readers.mmtests.samples import Floats, Order, find_rule, rows
from tickless.results import Metric, Results, ResultSet


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


@dataclass(frozen=True)
class _Request:
    """What was asked for."""

    root: Path
    kernels: tuple[str, ...]
    machine: str
    errors: str


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
    UnknownNameError
        For one of `benchmarks` that is not there; lists the nearest.
    """
    root = place("directory", directory)
    kernels = None if kernels is None else texts("kernels", kernels)
    benchmarks = None if benchmarks is None else texts("benchmarks", benchmarks)
    folders, notes = find(root, kernels)
    columns = tuple(kernels or sorted({f.kernel for f in folders}, key=natural))
    request = _Request(root, columns, text("machine", machine), errors)
    entries: dict[str, Results] = {}
    groups = _by_benchmark(folders)
    for name in benchmarks or ():
        if name not in groups:
            raise unknown_name(f"benchmark of {root}", name, groups)
    for benchmark, group in groups.items():
        if benchmarks is not None and benchmark not in benchmarks:
            continue
        if not rules_for(benchmark):
            notes.append(f"unknown-benchmark: {benchmark} has no reader; left out")
            continue
        entries.update(_benchmark(request, benchmark, group, notes))
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
    request: _Request, benchmark: str, folders: Sequence[Folder], notes: list[str]
) -> Iterator[tuple[str, Results]]:
    """Yield the results of one benchmark, one per table."""
    era, rule = find_rule(benchmark, folders)
    kernels = request.kernels
    tables: dict[str, _Table] = {}
    log_notes: list[LogNote] = []
    for folder in sorted(folders, key=lambda f: (kernels.index(f.kernel), f.iteration)):
        for table, case, order, values in rows(folder, benchmark, rule, request.errors, log_notes):
            tables.setdefault(table, _Table()).add(case, order, folder.kernel, values)
    if not tables:
        notes.append(f"no-values: {benchmark} has no log with a result; left out")
        notes += map(str, log_notes)
        return
    gaps = iteration_gaps(folders, kernels)
    said = [str(n) for n in log_notes]
    for table in (t for t in rule.tables if t in tables):
        res = _results(request, benchmark, tables[table], rule.tables[table], gaps)
        facts = {"mmtests_era": era, "mmtests_benchmark": benchmark, "sub_heading": table}
        key = f"{benchmark}.{table}" if table else benchmark
        yield key, res.replace(notes=(*res.notes, *said), attrs={**facts, **res.attrs})


def _results(
    request: _Request,
    benchmark: str,
    table: _Table,
    metric: tuple[str, Metric],
    gaps: list[Gap],
) -> Results:
    name, info = metric
    cases = sorted(table.order, key=table.order.__getitem__)
    arrays = [[table.samples(c, k) for c in cases] for k in request.kernels]
    warnings = gaps + count_gaps(arrays, request.kernels, cases)
    return Results(
        benchmark=benchmark,
        machine=request.machine,
        kernels=request.kernels,
        cases=tuple(cases),
        metrics={name: padded(arrays)},
        metric_info={name: info},
        primary=name,
        notes=tuple(sentence(w) for w in warnings),
        attrs={"source": str(request.root), "warnings": warnings},
    )
