"""Readers of raw benchmark output: one file per tool, listed in `READERS`.

A reader gives a `Reading` (series of values by metric and case); `read_benchmark` finds the
reader by what the log says, never by its name, and returns `Results`. To add a tool write one
module with a ``READER`` and add its line here.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path

from tickless.errors import InputError, InvalidParameterError, TicklessWarning, UnknownNameError
from tickless.readers import (
    dbench,
    gnu_time,
    hackbench,
    lmbench,
    netperf,
    own,
    perf_bench,
    phases,
    phoronix,
    schbench,
    sockperf,
    stream,
    unixbench,
    ycsb,
)
from tickless.readers.convert import results
from tickless.readers.log import Log, Source
from tickless.readers.mmtests import read_mmtests
from tickless.readers.posted import read_comparison
from tickless.readers.reader import Reader
from tickless.readers.reading import Reading
from tickless.results import Results

__all__ = [
    "READERS",
    "detect",
    "read_benchmark",
    "read_comparison",
    "read_log",
    "read_mmtests",
    "recognise",
]

READERS: tuple[Reader, ...] = (
    own.READER,
    phoronix.READER,
    perf_bench.READER,
    schbench.READER,
    hackbench.READER,
    dbench.READER,
    netperf.READER,
    sockperf.READER,
    stream.READER,
    unixbench.READER,
    lmbench.READER,
    ycsb.READER,
    gnu_time.READER,
    phases.READER,
)
"""In the order they are tried: the first whose signature occurs in the head of the log reads it."""

HEAD = 1 << 20
"""Bytes looked at: compiler output and banners can be long before the first result."""

DAMAGED_SHARE = 0.1
"""Above this share of damaged places among results a warning is raised as well."""


def detect(head: str) -> Reader | None:
    """Return the reader for a log that begins with this text, or None."""
    return next((r for r in READERS if r.signature.search(head)), None)


def recognise(source: Source) -> Reader | None:
    """Return the reader for a log by its first MiB, or None; binary and empty files have none."""
    try:
        return detect(Log(source).head(HEAD))
    except InputError:
        return None


def read_log(
    source: Source, *, errors: str = "report", tool: str | None = None, name: str = ""
) -> Reading | Results:
    """Read one log as its tool's reader gives it, without making `Results` of it.

    Parameters
    ----------
    source : path, bytes or open binary file
    errors, tool
        As in `read_benchmark`.
    name : str
        Name used in messages; the path if empty.

    Raises
    ------
    InputError
        If the log is empty, binary, of no known tool, or has no result.
    """
    log = Log(source, name=name, errors=errors)
    head = log.head(HEAD)
    reader = detect(head) if tool is None else _named(tool)
    if reader is None:
        tools = ", ".join(r.name for r in READERS)
        raise log.error(
            "unknown-format",
            f"not the output of a known benchmark ({tools})",
            "name it with tool=, or read a posted table with read_comparison",
            whole=True,
        )
    reading = reader.read(log)
    if errors == "report" and log.faults > DAMAGED_SHARE * (log.values + log.faults):
        warnings.warn(
            f"{log.name}: {log.faults} damaged places beside {log.values} values; "
            + "; ".join(n.code for n in log.notes),
            TicklessWarning,
            stacklevel=3,
        )
    return reading


def read_benchmark(
    path: Source | Sequence[Source],
    *,
    kernel: str | None = None,
    machine: str = "",
    errors: str = "report",
    tool: str | None = None,
) -> Results:
    r"""Read the raw output of a benchmark.

    Parameters
    ----------
    path : path, bytes, open binary file, or a sequence of them
        The log as the tool printed it, plain, ``.gz`` or ``.xz``. Several logs are repeats of one
        benchmark.
    kernel : str, optional
        Name of the kernel that ran; the file's name without its ending if None.
    machine : str
        Name of the machine.
    errors : {"report", "strict", "ignore"}
        A damaged value is left out and noted, raises, or is left out silently.
    tool : str, optional
        Name of the reader instead of detection.

    Returns
    -------
    Results
        One kernel; per-second figures as metrics ``NAME_samples`` with their times in seconds as
        ``NAME_samples_at``; what the log says of the run in ``attrs["parameters"]``.

    Raises
    ------
    InputError
        If the log is empty, binary, of no known tool, or holds no result; with ``errors="strict"``
        at the first damaged line.

    Examples
    --------
    >>> from tickless import read_benchmark
    >>> res = read_benchmark(b"Time: 0.541\nTime: 0.618\n", kernel="6.12")
    >>> res.benchmark, res["time"][0, 0].tolist()
    ('hackbench', [0.541, 0.618])
    """
    if isinstance(path, (list, tuple)):
        sources: list[Source] = list(path)
    else:
        sources = [path]  # type: ignore[list-item]
    if not sources:
        raise InvalidParameterError("path: an empty list; give at least one log")
    readings = [read_log(s, errors=errors, tool=tool) for s in sources]
    first = readings[0]
    if isinstance(first, Results):
        if len(readings) > 1:
            raise InvalidParameterError("path: result files of our own are read one at a time")
        return first
    logs = [r for r in readings if isinstance(r, Reading)]
    names = [Log(s).name for s in sources]
    for name, log in zip(names, readings, strict=True):
        if isinstance(log, Results) or log.benchmark != first.benchmark:
            raise InputError(
                f"{name}: output of {log.benchmark}, but {names[0]} is of {first.benchmark}; "
                "read them one by one",
                name,
                code="mixed-benchmarks",
            )
    return results(logs, kernel or _stem(sources[0]), machine, names)


def _named(tool: str) -> Reader:
    for reader in READERS:
        if tool == reader.name:
            return reader
    known = ", ".join(r.name for r in READERS)
    raise UnknownNameError(f"unknown tool {tool!r}; known: {known}")


def _stem(source: Source) -> str:
    if isinstance(source, bytes):
        return "kernel"
    name = Path(os.fspath(source) if isinstance(source, (str, os.PathLike)) else Log(source).name)
    stem = name.name
    for ending in (".gz", ".xz", ".txt", ".log", ".out", ".stdout"):
        stem = stem.removesuffix(ending)
    return stem or "kernel"
