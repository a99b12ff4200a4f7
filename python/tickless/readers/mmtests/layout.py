"""Where the logs of an MMTests result directory are: three layouts, one per era.

* 2018: ``BENCH-KERNEL/noprofile/FILE``
* 2023 and head: ``KERNEL/iter-N/BENCH/logs/FILE``; older trees lack the ``BENCH`` level
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tickless.errors import InputError, InvalidParameterError
from tickless.readers.mmtests.rules import BENCHMARKS

ITERATION = re.compile(r"iter-(\d+)")
COMPRESSED = (".gz", ".xz")
NOT_RESULTS = (
    "not an MMTests result directory: it holds neither BENCH-KERNEL/noprofile/ (2018) nor "
    "KERNEL/iter-N/BENCH/logs/ (2023 on)"
)


@dataclass(frozen=True)
class Folder:
    """The logs of one benchmark, kernel and iteration.

    Attributes
    ----------
    kernel, benchmark : str
        The benchmark is empty in trees without its level.
    iteration : int
        0 where the layout has none.
    old : bool
        The layout of 2018.
    path : str
    """

    kernel: str
    benchmark: str
    iteration: int
    old: bool
    path: str

    @cached_property
    def files(self) -> tuple[tuple[str, str], ...]:
        """The files as (name without compression ending, path), in name order."""
        found = []
        with os.scandir(self.path) as entries:
            for entry in entries:
                if entry.is_file():
                    name = entry.name
                    for ending in COMPRESSED:
                        name = name.removesuffix(ending)
                    found.append((name, entry.path))
        return tuple(sorted(found))


def find(directory: Path, kernels: Sequence[str] | None) -> tuple[list[Folder], list[str]]:
    """Return the benchmark folders below a result directory, and notes on what is left out.

    Raises
    ------
    InputError
        If the directory is no result directory, mixes the layouts, or a folder's name fits
        neither the kernels given nor any reading of it.
    """
    if not directory.is_dir():
        raise InputError(f"{directory}: not a directory", str(directory), code="not-a-directory")
    names = _subdirectories(directory)
    notes: list[str] = []
    old = [n for n in names if (directory / n / "noprofile").is_dir()]
    new = [n for n in names if any(map(ITERATION.fullmatch, _subdirectories(directory / n)))]
    if old and new:
        raise InputError(
            f"{directory}: two layouts side by side ({old[0]}/noprofile and {new[0]}/iter-N); "
            "separate the runs of the two MMTests versions",
            str(directory),
            code="mixed-layouts",
        )
    if not old and not new:
        if any(map(ITERATION.fullmatch, names)):
            return _iterations(str(directory), directory.name), notes
        raise InputError(
            f"{directory}: {NOT_RESULTS}{_hint(directory, names)}",
            str(directory),
            code="not-mmtests",
        )
    left = [n for n in names if n not in old and n not in new]
    notes += [f"not-a-run: {n} holds no {'noprofile' if old else 'iter-N'}; left out" for n in left]
    folders = []
    for name in old:
        if (split := _split(directory, name, kernels)) is None:
            notes.append(f"unknown-benchmark: {name} begins with no known benchmark; left out")
        else:
            folders.append(Folder(split[1], split[0], 0, True, str(directory / name / "noprofile")))
    for name in new:
        folders += _iterations(str(directory / name), name)
    return _chosen(directory, folders, kernels), notes


def natural(text: str) -> tuple[tuple[int, int | str], ...]:
    """Return a sort key under which runs of digits count as numbers."""
    parts = re.findall(r"\d+|\D+", text)
    return tuple((0, int(p)) if p.isdecimal() else (1, p) for p in parts)


def _iterations(run: str, kernel: str) -> list[Folder]:
    out = []
    for name in _subdirectories(run):
        if not (found := ITERATION.fullmatch(name)):
            continue
        number, below = int(found[1]), f"{run}/{name}"
        for benchmark in _subdirectories(below):
            path = f"{below}/{benchmark}"
            if benchmark == "logs":
                out.append(Folder(kernel, "", number, False, path))
            elif os.path.isdir(f"{path}/logs"):
                out.append(Folder(kernel, benchmark, number, False, f"{path}/logs"))
            elif benchmark in BENCHMARKS:
                out.append(Folder(kernel, benchmark, number, False, path))
    return sorted(out, key=lambda f: (f.benchmark, f.iteration))


def _split(directory: Path, name: str, kernels: Sequence[str] | None) -> tuple[str, str] | None:
    """Return (benchmark, kernel) of a 2018 folder name, None if no reading of it is known."""
    prefix = max((b for b in BENCHMARKS if name.startswith(f"{b}-")), key=len, default="")
    by_prefix = (prefix, name[len(prefix) + 1 :]) if prefix else None
    suffix = max((k for k in kernels or () if name.endswith(f"-{k}")), key=len, default="")
    by_suffix = (name[: -len(suffix) - 1], suffix) if suffix else None
    if by_prefix and by_suffix and by_prefix != by_suffix:
        raise InputError(
            f"{directory / name}: by the known benchmarks this is {by_prefix[0]!r} of kernel "
            f"{by_prefix[1]!r}, by the kernels given {by_suffix[0]!r} of {by_suffix[1]!r}; "
            "correct kernels= or rename the folder",
            str(directory / name),
            code="ambiguous-folder",
        )
    return by_suffix or by_prefix


def _chosen(directory: Path, folders: list[Folder], kernels: Sequence[str] | None) -> list[Folder]:
    """Return the folders of the kernels asked for."""
    if kernels is None:
        return folders
    there = sorted({f.kernel for f in folders}, key=natural)
    for kernel in kernels:
        if kernel not in there:
            raise InvalidParameterError(
                f"kernels: {directory} has no run {kernel!r}; it has {', '.join(there)}"
            )
    return [f for f in folders if f.kernel in kernels]


def _subdirectories(path: Path | str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return sorted((e.name for e in entries if e.is_dir()), key=natural)
    except OSError as e:
        raise InputError(f"{path}: {e.strerror}", str(path), code="unreadable") from None


def _hint(directory: Path, names: list[str]) -> str:
    """Return a suggestion if a result directory lies one level up or down."""
    for name in names:
        below = _subdirectories(directory / name)
        if any((directory / name / n / "noprofile").is_dir() for n in below) or any(
            ITERATION.fullmatch(m) for n in below for m in _subdirectories(directory / name / n)
        ):
            return f"; did you mean {directory / name}?"
    if (directory / "noprofile").is_dir() or ITERATION.fullmatch(directory.name):
        return f"; did you mean {directory.parent}?"
    return ""
