"""Files that are written whole or not at all, and small ones read whole."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from tickless._arrays import place
from tickless.errors import InputError, unreadable

LARGEST = 64 << 20
"""Bytes of the largest file that people write; theirs have a few thousand."""


def small_text(path: Path) -> str:
    """Return the text of a file that a person wrote: UTF-8, with or without a mark in front.

    Raises
    ------
    FileError
        If it cannot be read.
    InputError
        If it is longer than 64 MiB, or not UTF-8, with the line.
    """
    try:
        with path.open("rb") as f:
            raw = f.read(LARGEST + 1)
    except OSError as e:
        raise unreadable(path, e) from None
    if len(raw) > LARGEST:
        message = f"{path}: more than {LARGEST >> 20} MiB, which nobody writes; check the path"
        raise InputError(message, str(path), None, "too-large")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = raw.count(b"\n", 0, e.start) + 1
        message = f"{path}, line {line}: not UTF-8; save the file as UTF-8"
        raise InputError(message, str(path), line, "encoding") from None


@contextmanager
def written(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file for writing; it appears, or replaces the old one, when the block ends well.

    A link stays a link to the file written. What is no regular file (a pipe, ``/dev/stdout``) is
    written as it stands, for replacing it would remove the device. Text is UTF-8; what has no
    place there (bytes of an odd file name) is written as an escape.

    Parameters
    ----------
    path : str or path
        The file.
    mode : {"w", "wb"}
        Text or bytes.

    Raises
    ------
    OSError
        Naming `path`, whatever step failed.
    """
    try:
        target = Path(os.path.realpath(place("path", path)))
        with _device(target, mode) if _is_device(target) else _replaced(target, mode) as f:
            yield f
    except OSError as e:
        # The caller never heard of the unfinished file beside it.
        raise type(e)(e.errno, e.strerror or str(e), os.fspath(path)) from None


def _is_device(target: Path) -> bool:
    return target.exists() and not target.is_file() and not target.is_dir()


def _how(mode: str) -> dict[str, str]:
    return {} if "b" in mode else {"encoding": "utf-8", "errors": "backslashreplace"}


@contextmanager
def _device(target: Path, mode: str) -> Iterator[IO[Any]]:
    with open(target, mode, **_how(mode)) as f:  # type: ignore[call-overload]
        yield f


@contextmanager
def _replaced(target: Path, mode: str) -> Iterator[IO[Any]]:
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    # A short name: that of the target may be as long as the file system allows.
    handle, unfinished = tempfile.mkstemp(dir=target.parent, prefix=".tickless-")
    try:
        with os.fdopen(handle, mode, **_how(mode)) as f:  # type: ignore[call-overload]
            yield f
        os.chmod(unfinished, _permissions(target))
        os.replace(unfinished, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(unfinished)
        raise


def _permissions(target: Path) -> int:
    """Return those of the file that is replaced, else the process's default."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
