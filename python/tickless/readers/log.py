"""A log as numbered text lines in bounded memory, and the numbers taken out of it.

Nothing here knows a benchmark. A log of any size is read in blocks; ``.gz`` and ``.xz`` wrappers
are opened by their first bytes, never by the name. A damaged place is an error in strict mode,
otherwise a counted note with the first line numbers.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from tickless._arrays import place, text
from tickless.errors import InputError, InvalidParameterError, InvalidTypeError, unreadable

BLOCK = 1 << 20
"""Bytes read at a time."""

LONGEST_LINE = 1 << 13
"""A longer line is no benchmark output; it is skipped and counted."""

KEPT_LINES = 20
"""Line numbers kept per reason; more say nothing new."""

MOST_NUMBERS = 1 << 24
"""Numbers taken out of one log: a small archive must not fill the memory."""

MOST_DIGITS = 18
"""Digits that 64 bits hold whatever they are."""

STRICTNESS = ("report", "strict", "ignore")

Source = str | os.PathLike[str] | bytes | BinaryIO


@dataclass(frozen=True)
class LogNote:
    """Something odd in a log that did not stop the reading.

    Attributes
    ----------
    code : str
        Short fixed word for programs, e.g. ``"not-finite"``.
    message : str
        One sentence for people.
    path : str
        The file as the caller named it.
    lines : tuple of int
        The first line numbers (from 1), at most 20; empty if no line is to blame.
    count : int
        How often it happened.
    """

    code: str
    message: str
    path: str
    lines: tuple[int, ...]
    count: int

    def __str__(self) -> str:
        where = f", line {self.lines[0]}" if self.lines else ""
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{self.path}{where}: {self.message}{times}"


class Log:
    """One log: iterate for ``(line number, text)``.

    `values` and `faults` count the numbers taken and the places that are damaged.

    Parameters
    ----------
    source : path, bytes or open binary file
        What to read.
    name : str
        Name used in messages; the path if empty.
    errors : {"report", "strict", "ignore"}
        What a damaged line does: a note, an exception, or nothing.
    """

    def __init__(self, source: Source, *, name: str = "", errors: str = "report") -> None:
        if text("errors", errors) not in STRICTNESS:
            raise InvalidParameterError(f"errors={errors!r}: must be one of {STRICTNESS}")
        self.source = _checked(source)
        self.name = name or _name_of(source)
        self.errors = errors
        self.values = 0
        self.faults = 0
        self._faults: dict[str, tuple[str, list[int], int]] = {}
        self._line = 0
        self._text = ""
        self._value_line = -1

    def head(self, size: int) -> str:
        """Return the first `size` bytes, decompressed, as text.

        Raises
        ------
        InputError
            If the file is empty or holds no text.
        """
        data = b""
        for block in self._blocks():
            data += block
            if len(data) >= size:
                break
        data = data[:size]
        damaged = self.faults > 0
        # The log is read again from its beginning, which counts the same damage.
        self.faults = 0
        self._faults.clear()
        if not data.strip() and damaged:
            raise self.error("truncated-archive", "the compressed file is damaged", whole=True)
        if not data.strip():
            raise InputError(f"{self.name}: the file is empty", self.name, code="empty")
        if b"\0" in data:
            raise InputError(
                f"{self.name}: binary data, not the text output of a benchmark; "
                "give the log as the tool printed it (UTF-8, plain, .gz or .xz)",
                self.name,
                code="binary",
            )
        return data.decode("utf-8", "replace").removeprefix("\ufeff")

    def text(self, largest: int) -> str:
        """Return the whole log as text.

        Raises
        ------
        InputError
            If it is longer than `largest` bytes.
        """
        parts, size = [], 0
        for block in self._blocks():
            size += len(block)
            if size > largest:
                raise self.error("too-large", f"more than {largest} bytes", whole=True)
            parts.append(block)
        return b"".join(parts).decode("utf-8", "replace").removeprefix("\ufeff")

    def __iter__(self) -> Iterator[tuple[int, str]]:
        self._line = 0
        carry = b""
        for block in self._blocks():
            block = carry + block
            cut = block.rfind(b"\n")
            carry = block[cut + 1 :]
            if cut >= 0:
                text = block[:cut].decode("utf-8", "replace")
                for line in text.split("\n"):
                    yield self._step(line)
            if len(carry) > LONGEST_LINE:
                # Keep just enough for `_step` to call the line too long.
                carry = carry[: LONGEST_LINE + 1]
        if carry:
            yield self._step(carry.decode("utf-8", "replace"))
            if self._value_line == self._line:
                self._count(
                    "cut-last-line",
                    "the last line has no line end; if the log was cut, its last value is wrong",
                )

    def number(self, text: str) -> float | None:
        """Return the finite number in `text`, or None after noting why there is none."""
        value = math.nan
        # float() also takes 1_000 and digits of other scripts, which no tool prints.
        if text.isascii() and "_" not in text:
            try:
                value = float(text)
            except ValueError:
                value = math.nan
        if math.isfinite(value):
            self._value_line = self._line
            self.values += 1
            if self.values > MOST_NUMBERS:
                raise self.error("too-large", f"more than {MOST_NUMBERS} numbers", "split the log")
            return value
        word = "not-finite" if text.lower().lstrip("+-")[:3] in ("nan", "inf") else "not-a-number"
        self.fault(word, f"{text[:40]!r} is {word.replace('-', ' ')}; the value is left out")
        return None

    def whole(self, text: str) -> int:
        """Return the whole number that a run of digits is.

        Raises
        ------
        InputError
            If it has more digits than 64 bits hold; no tool prints such a one.
        """
        if len(text) > MOST_DIGITS:
            raise self.error("not-a-number", f"a number of {len(text)} digits")
        return int(text)

    def fault(self, code: str, reason: str, remedy: str = "") -> None:
        """Count a damaged place under `code`, or raise `InputError` in strict mode."""
        if self.errors == "strict":
            raise self.error(code, reason, remedy)
        self.faults += 1
        self._count(code, reason)

    def _count(self, code: str, reason: str) -> None:
        first, lines, count = self._faults.get(code, (reason, [], 0))
        if len(lines) < KEPT_LINES and self._line:
            lines.append(self._line)
        self._faults[code] = (first, lines, count + 1)

    def error(self, code: str, reason: str, remedy: str = "", *, whole: bool = False) -> InputError:
        """Return the exception for the line being read: file, line, reason, text, remedy.

        With `whole` the log as such is to blame and no line is named.
        """
        line = None if whole else self._line or None
        where = f"{self.name}, line {line}" if line else self.name
        shown = f"; {self._text[:80]!r}" if line else ""
        tail = f"; {remedy}" if remedy else ""
        return InputError(f"{where}: {reason}{shown}{tail}", self.name, line, code)

    @property
    def notes(self) -> tuple[LogNote, ...]:
        """What was odd, one note per reason; empty with ``errors="ignore"``."""
        if self.errors == "ignore":
            return ()
        return tuple(
            LogNote(code, reason, self.name, tuple(lines), count)
            for code, (reason, lines, count) in self._faults.items()
        )

    def _step(self, line: str) -> tuple[int, str]:
        self._line += 1
        if self._line == 1:
            line = line.removeprefix("\ufeff")
        self._text = line = line.rstrip("\r")
        if len(line) > LONGEST_LINE:
            self.fault("long-line", f"a line longer than {LONGEST_LINE} bytes is skipped")
            line = ""
        return self._line, line

    def _blocks(self) -> Iterator[bytes]:
        with contextlib.ExitStack() as stack:
            raw = self._open(stack)
            try:
                magic = raw.read(6)
                raw.seek(0)
            except OSError as e:
                raise self.error("unreadable", f"cannot be read: {e}", whole=True) from None
            if not isinstance(magic, bytes):
                raise InvalidTypeError(f"{self.name}: open the file in binary mode ('rb')")
            file, damaged = _unwrap(raw, magic, self.name)
            if file is not raw:
                stack.enter_context(file)
            try:
                # One step of the decompressor at a time: a cut archive gives all before the cut.
                read = file.read if file is raw else file.read1  # type: ignore[attr-defined]
                while block := read(BLOCK):
                    yield block
            except OSError as e:
                if not isinstance(e, damaged):
                    raise self.error("unreadable", f"cannot be read: {e}", whole=True) from None
                self.fault("truncated-archive", f"the compressed file is damaged or cut ({e})")
            except damaged as e:
                self.fault("truncated-archive", f"the compressed file is damaged or cut ({e})")

    def _open(self, stack: contextlib.ExitStack) -> BinaryIO:
        if isinstance(self.source, bytes):
            return BytesIO(self.source)
        if isinstance(self.source, (str, os.PathLike)):
            try:
                path = place("path", self.source)
                file: BinaryIO = stack.enter_context(open(path, "rb"))  # noqa: SIM115
            except IsADirectoryError:
                raise InputError(
                    f"{self.name}: a directory, not a log; read_mmtests reads result directories",
                    self.name,
                    code="is-a-directory",
                ) from None
            except OSError as e:
                raise unreadable(self.name, e) from None
        else:
            file = self.source
        if not file.seekable():
            # A pipe can be read once only; detection and reading both start at its beginning.
            copy = cast(BinaryIO, SpooledTemporaryFile(max_size=16 * BLOCK))  # noqa: SIM115
            copyfileobj(file, copy, BLOCK)
            self.source = file = copy
        file.seek(0)
        return file


def _checked(source: Source) -> Source:
    """Return the source if it is one: a path, bytes, or a binary file that is open."""
    if isinstance(source, (bytes, str, os.PathLike)):
        return source
    if not all(callable(getattr(source, name, None)) for name in ("read", "seek", "seekable")):
        raise InvalidTypeError(
            f"path: expected a path, bytes or an open binary file, found {type(source).__name__}"
        )
    if getattr(source, "closed", False):
        raise InvalidParameterError("path: the file is closed")
    return source


def _name_of(source: Source) -> str:
    if isinstance(source, bytes):
        return "<bytes>"
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    return str(getattr(source, "name", "<file>"))


def _unwrap(raw: BinaryIO, magic: bytes, name: str) -> tuple[BinaryIO, tuple[type[Exception], ...]]:
    """Return the decompressed file and the exceptions a damaged archive raises."""
    if magic.startswith(b"\x1f\x8b"):
        import gzip
        import zlib

        return gzip.open(raw), (EOFError, gzip.BadGzipFile, zlib.error)  # type: ignore[return-value]
    if magic == b"\xfd7zXZ\0":
        import lzma

        return lzma.open(raw), (EOFError, lzma.LZMAError)  # type: ignore[return-value]
    if magic.startswith(b"\x28\xb5\x2f\xfd"):
        raise InputError(
            f"{name}: compressed with zstd; unpack it first (zstd -d)", name, code="zstd"
        )
    if magic.startswith(b"BZh"):
        raise InputError(
            f"{name}: compressed with bzip2; unpack it first (bunzip2)", name, code="bzip2"
        )
    return raw, ()
