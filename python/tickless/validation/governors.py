"""Golden decisions of idle governors: one group per governor, over all files of the folder.

A file holds one stream of idle periods, a state table, and the state, the tick decision and the
verdict of every governor for every period.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tickless import _core
from tickless.errors import InputError
from tickless.validation import Group

COLUMNS = {
    "sleep_length_ns": "delta_next",
    "delta_tick_ns": "delta_tick",
    "wake_ns": "wake",
    "overhead_ns": "overhead",
    "latency_limit_ns": "latency",
    "nr_iowait": "nr_iowait",
    "cpu_util": "cpu_util",
    "cpu_load": "cpu_load",
    "disabled": "disabled",
    "tick_stopped": "tick_stopped",
    "got_tick": "got_tick",
    "poll_timeout": "poll_timeout",
}
"""Column of a replay to array of a file."""

DECISIONS = {"state": "sel", "stop_tick": "stop", "verdict": "verdict"}
"""Result of a replay to prefix of the arrays of a file."""

SHOWN = 3
"""Differences shown per group."""


def groups(directory: Path) -> Iterator[Group]:
    """Compare every governor over all files of a folder.

    Parameters
    ----------
    directory : path
        Folder of ``*.npz`` files in the layout of the golden governor data.

    Yields
    ------
    Group
        One per governor, in the order of the catalogue.

    Raises
    ------
    InputError
        For a folder without such files, a damaged file, a missing array, or an unknown governor.
    """
    files = [_Golden(path) for path in sorted(directory.glob("*.npz"))]
    if not files:
        raise InputError(
            f"{directory}: no .npz files of golden governor decisions here",
            str(directory),
            code="no-golden-files",
        )
    entries = {_identifier(str(g["name"])): g for g in _core.governors()}
    for file in files:
        for unknown in sorted(file.governors - entries.keys()):
            file.refuse(f"decisions of an unknown governor {unknown!r}", "unknown-governor")
    for identifier, entry in entries.items():
        with_it = [file for file in files if identifier in file.governors]
        if with_it:
            yield _compare(identifier, entry, with_it)


def _identifier(name: str) -> str:
    return name.replace("-", "_").replace(".", "_")


def _compare(identifier: str, entry: dict[str, Any], files: list[_Golden]) -> Group:
    equal = total = 0
    differences: list[str] = []
    for file in files:
        found = file.replay(str(entry["name"]))
        for result, prefix in DECISIONS.items():
            expected = file.array(f"{prefix}__{identifier}", file.n_periods)
            wrong = np.flatnonzero(expected != found[result][0])
            total += len(expected)
            equal += len(expected) - len(wrong)
            differences += [
                f"{file.path.name}, period {i}: {result} is {int(found[result][0, i])}, "
                f"expected {int(expected[i])}"
                for i in wrong[: max(0, SHOWN - len(differences))]
            ]
    exact = entry["text"] == "exact"
    note = "" if exact else f"{entry['text']}, {entry['confidence']} confidence"
    return Group(str(entry["name"]), equal, total, exact, tuple(differences), note)


class _Golden:
    """One file of golden decisions."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            # Every member is read here, so that a damaged file is found before any comparison.
            with np.load(path, allow_pickle=False) as npz:
                self.arrays: dict[str, NDArray[Any]] = {name: npz[name] for name in npz.files}
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as e:
            self.refuse(f"not a readable .npz file: {e}", "damaged")
        self.governors = {n.removeprefix("sel__") for n in self.arrays if n.startswith("sel__")}
        self.n_periods = len(self.array("wake"))
        self.table = self._table()
        self.columns = {
            column: np.ascontiguousarray(self.array(name, self.n_periods))
            for column, name in COLUMNS.items()
        }

    def refuse(self, reason: str, code: str) -> NoReturn:
        raise InputError(f"{self.path}: {reason}", str(self.path), code=code)

    def array(self, name: str, length: int | None = None) -> NDArray[Any]:
        if name not in self.arrays:
            self.refuse(f"array {name!r} is missing", "missing-array")
        array = self.arrays[name]
        if array.ndim != 1 or length not in (None, len(array)):
            wanted = "1-D" if length is None else f"1-D of length {length}"
            self.refuse(f"array {name!r} has shape {array.shape}, expected {wanted}", "shape")
        return array

    def scalar(self, name: str) -> int:
        if name not in self.arrays:
            self.refuse(f"array {name!r} is missing", "missing-array")
        if self.arrays[name].size != 1:
            self.refuse(f"array {name!r} should be one number", "shape")
        return int(self.arrays[name].item())

    def _table(self) -> _core.IdleTable:
        exit_latency = self.array("exit_latency_ns")
        n = len(exit_latency)
        return _core.IdleTable(
            [str(name) for name in self.array("state_names", n)],
            exit_latency.tolist(),
            self.array("target_residency_ns", n).tolist(),
            [bool(p) for p in self.array("polling", n)],
            [False] * n,
            [None] * n,
        )

    def replay(self, governor: str) -> dict[str, Any]:
        return _core.replay(
            [governor],
            self.table,
            self.columns,
            hz=self.scalar("hz"),
            add_exit_latency=bool(self.scalar("add_exit_latency")),
        )
