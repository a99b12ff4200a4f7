"""`read`: find out what a file is, and read it."""

from __future__ import annotations

import gzip
import lzma
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tickless import _core
from tickless._arrays import place
from tickless.errors import InputError, InvalidTypeError, MissingFileError, unreadable
from tickless.idle_csv import COLUMNS
from tickless.idle_dump import read_idle_dump

HEAD = 4096
"""Bytes that tell what a file is."""


def _read_trace(path: Any, errors: str, time_unit: str | None) -> Any:
    from tickless.trace import read_trace

    return read_trace(path, errors=errors, time_unit=time_unit)


def _read_dump(path: Any, errors: str, time_unit: str | None) -> Any:
    return read_idle_dump(path)


def _read_csv(path: Any, errors: str, time_unit: str | None) -> Any:
    from tickless.idle_csv import read_idle_csv

    return read_idle_csv(path)


def _read_mmtests(path: Any, errors: str, time_unit: str | None) -> Any:
    from tickless.readers import read_mmtests

    return read_mmtests(path)


def _read_benchmark(path: Any, errors: str, time_unit: str | None) -> Any:
    from tickless.readers import read_benchmark

    return read_benchmark(path, errors=errors)


def _read_posted(path: Any, errors: str, time_unit: str | None) -> Any:
    from tickless.readers import read_comparison

    return read_comparison(path)


def _is_directory(path: Path | None, head: bytes) -> bool:
    return path is not None and path.is_dir()


def _is_benchmark(path: Path | None, head: bytes) -> bool:
    from tickless.readers import recognise

    return recognise(head if path is None else path) is not None


def _is_posted(path: Path | None, head: bytes) -> bool:
    from tickless.readers import read_comparison

    try:
        read_comparison(head if path is None else path)
    except InputError:
        return False
    return True


def _is_idle_csv(path: Path | None, head: bytes) -> bool:
    return head.startswith(",".join(COLUMNS[:5]).encode())


def _is_core(*words: str) -> Callable[[Path | None, bytes], bool]:
    return lambda path, head: _core.detect_format(head) in words


def _is_cpuidle_tree(path: Path | None, head: bytes) -> bool:
    if path is None or not path.is_dir():
        return False
    places = ("sys/devices/system/cpu", "devices/system/cpu", ".")
    return any(next((path / p).glob("cpu[0-9]*/cpuidle"), None) is not None for p in places)


Reader = tuple[str, Callable[[Path | None, bytes], bool], Callable[[Any, str, str | None], Any]]
"""Name, test of a path (None for bytes, then whole) and its first 4 KiB, reader."""

READERS: list[Reader] = [
    ("cpuidle tree", _is_cpuidle_tree, _read_dump),
    ("idle CSV", _is_idle_csv, _read_csv),
    ("idle table", _is_core("sysfs-cpuidle", "cpupower-idle-info"), _read_dump),
    ("trace", _is_core("trace", "systrace-html"), _read_trace),
    ("MMTests directory", _is_directory, _read_mmtests),
    ("benchmark log", _is_benchmark, _read_benchmark),
    ("posted table", _is_posted, _read_posted),
]
"""Formats in the order in which they are tried."""


def read(path: Any, *, errors: str = "report", time_unit: str | None = None) -> Any:
    """Find out what a file is by its content, and read it.

    Parameters
    ----------
    path : path, bytes, or list of paths
        Where it is; a directory for a copy of sysfs or for results of MMTests. A list is one trace
        in several parts.
    errors, time_unit : str
        As for `tickless.read_trace`; benchmark logs know `errors`, other formats ignore both.

    Returns
    -------
    Trace, CpuidleDump, IdlePeriods, Results, or ResultSet
        A trace, idle states, idle periods as csv, a benchmark log, or several tables: a directory
        of MMTests or a posted comparison.

    Raises
    ------
    InputError
        If no reader knows the content, with what was looked at; for a file that cannot be read. One
        that is not there is a `FileNotFoundError` too.
    InvalidTypeError
        For an open file: what it is could be found out only by reading it twice.

    Examples
    --------
    >>> import tickless
    >>> type(tickless.read(tickless.example_trace(), time_unit="ns")).__name__
    'Trace'
    """
    if isinstance(path, list | tuple):
        return _read_trace(list(path), errors, time_unit)
    if hasattr(path, "read"):
        raise InvalidTypeError(
            f"path: expected a path or bytes, found {type(path).__name__}, an open file; give "
            "path.read(), or the reader of what it holds: read_trace, read_benchmark ..."
        )
    file = None if isinstance(path, bytes) else place("path", path)
    head = path if isinstance(path, bytes) else _head(file)
    if file is not None and not file.is_file() and not file.is_dir():
        return _read_trace(path, errors, time_unit)  # a pipe can be read once only
    for _, knows, reader in READERS:
        if knows(file, head):
            return reader(path, errors, time_unit)
    try:
        # The trace reader has the most to say about what a file is instead.
        return _read_trace(path, errors, time_unit)
    except InputError as e:
        if e.code != "not-a-trace":
            raise
        name, known = e.path, ", ".join(name for name, _, _ in READERS)
        raise InputError(
            f"{name}: nothing that can be read; known are: {known}", name, code="unknown-format"
        ) from None


def _head(path: Path | None) -> bytes:
    """Return the first bytes of a file, unpacked; nothing for directories and pipes."""
    if path is None or not path.exists():
        name = os.fspath(path or "")
        raise MissingFileError(f"{name}: no such file; check the path", name)
    if not path.is_file():
        return b""
    try:
        with path.open("rb") as f:
            head = f.read(HEAD)
    except OSError as e:
        raise unreadable(path, e) from None
    try:
        if head.startswith(b"\x1f\x8b"):
            with gzip.open(path) as f:
                return f.read(HEAD)
        if head.startswith(b"\xfd7zXZ\0"):
            with lzma.open(path) as f:
                return f.read(HEAD)
    except (OSError, EOFError, lzma.LZMAError, zlib.error):
        return b""  # the reader says what is wrong with it
    return head
