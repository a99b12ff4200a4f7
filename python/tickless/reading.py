"""`read`: find out what a file is, and read it."""

from __future__ import annotations

import gzip
import lzma
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from tickless import _core
from tickless.errors import InputError
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


def _is_idle_csv(path: Path | None, head: bytes) -> bool:
    return head.startswith(",".join(COLUMNS[:5]).encode())


def _is_core(*words: str) -> Callable[[Path | None, bytes], bool]:
    return lambda path, head: _core.detect_format(head) in words


def _is_cpuidle_tree(path: Path | None, head: bytes) -> bool:
    if path is None or not path.is_dir():
        return False
    places = ("sys/devices/system/cpu", "devices/system/cpu", ".")
    return any(next((path / p).glob("cpu[0-9]*/cpuidle"), None) is not None for p in places)


Reader = tuple[
    str, Callable[[Path | None, bytes], bool], Callable[[Any, str, str | None], Any] | str
]
"""Name, test of a path (None for bytes) and its first 4 KiB, reader or ``module:function``."""

READERS: list[Reader] = [
    ("cpuidle tree", _is_cpuidle_tree, _read_dump),
    ("idle CSV", _is_idle_csv, _read_csv),
    ("idle table", _is_core("sysfs-cpuidle", "cpupower-idle-info"), _read_dump),
    ("trace", _is_core("trace", "systrace-html"), _read_trace),
]
"""Formats in the order in which they are tried."""


def read(path: Any, *, errors: str = "report", time_unit: str | None = None) -> Any:
    """Find out what a file is by its content, and read it.

    Parameters
    ----------
    path : path, bytes, or list of paths
        Where it is; a directory for a copy of sysfs. A list is one trace in several parts.
    errors, time_unit : str
        As for `tickless.read_trace`; other formats ignore them.

    Returns
    -------
    Trace, CpuidleDump, IdlePeriods, or the result of another registered reader

    Raises
    ------
    InputError
        If no reader knows the content; the message says what was looked at.

    Examples
    --------
    >>> import tickless
    >>> type(tickless.read(tickless.example_trace(), time_unit="ns")).__name__
    'Trace'
    """
    if isinstance(path, list | tuple):
        return _read_trace(list(path), errors, time_unit)
    file = None if isinstance(path, bytes) else Path(path)
    head = path[:HEAD] if isinstance(path, bytes) else _head(file)
    for _, knows, reader in READERS:
        if knows(file, head):
            if isinstance(reader, str):
                module, function = reader.split(":")
                reader = getattr(import_module(module), function)
            return reader(path, errors, time_unit)
    # The trace reader has the most to say about what a file is instead.
    return _read_trace(path, errors, time_unit)


def _head(path: Path | None) -> bytes:
    """Return the first bytes of a file, unpacked; nothing for directories and pipes."""
    if path is None or not path.exists():
        name = os.fspath(path or "")
        raise InputError(f"{name}: no such file; check the path", name, None, "not-found")
    if not path.is_file():
        return b""
    with path.open("rb") as f:
        magic = f.read(6)
    try:
        if magic.startswith(b"\x1f\x8b"):
            with gzip.open(path) as f:
                return f.read(HEAD)
        if magic == b"\xfd7zXZ\0":
            with lzma.open(path) as f:
                return f.read(HEAD)
    except (OSError, EOFError, lzma.LZMAError):
        return b""  # the reader says what is wrong with it
    with path.open("rb") as f:
        return f.read(HEAD)
