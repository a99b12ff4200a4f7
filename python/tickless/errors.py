"""Exceptions and warnings: everything the package raises on its own account."""

from __future__ import annotations

import errno
from collections.abc import Collection, Iterable


class TicklessError(ValueError):
    """Base of every exception of the package."""


class UnknownNameError(TicklessError, KeyError):
    """A name that no registered governor, machine, policy, style ... has; lists the nearest.

    Also a `KeyError`: mappings of tables need one for ``in`` and ``get``.
    """

    def __str__(self) -> str:
        return str(self.args[0])  # that of KeyError adds quotes


class InvalidParameterError(TicklessError):
    """A value out of range; the message names the parameter and, for arrays, the index."""


class InvalidTypeError(InvalidParameterError, TypeError):
    """An argument of the wrong type or dtype."""


class ShapeError(TicklessError):
    """Arrays that should have equal length and have not."""


class InputError(TicklessError):
    """A file that cannot be read as what it should be.

    Attributes
    ----------
    path : str
        The file as the caller named it.
    line : int or None
        Line number from 1 if a line is to blame.
    code : str
        Short fixed word for programs, e.g. ``"time-unit-unknown"``.
    """

    def __init__(
        self, message: str, path: str = "", line: int | None = None, code: str = "unreadable"
    ) -> None:
        super().__init__(message, path, line, code)
        self.path = path
        self.line = line
        self.code = code

    def __str__(self) -> str:
        return str(self.args[0])


class FileError(InputError, OSError):
    """A file that the system does not give us."""


class MissingFileError(FileError, FileNotFoundError):
    """A file that is not there."""

    def __init__(
        self, message: str, path: str = "", line: int | None = None, code: str = "not-found"
    ) -> None:
        super().__init__(message, path, line, code)
        self.errno = errno.ENOENT
        self.filename = path


def unreadable(path: object, error: OSError) -> FileError:
    """Return the error for a file that the system does not let us read.

    Parameters
    ----------
    path : object
        The file as the caller named it.
    error : OSError
        What the system said.
    """
    name = str(path)
    if isinstance(error, FileNotFoundError):
        return MissingFileError(f"{name}: no such file; check the path", name)
    if isinstance(error, IsADirectoryError):
        return FileError(f"{name}: a directory, expected a file", name, None, "is-a-directory")
    if isinstance(error, PermissionError):
        message = f"{name}: permission denied; read it as a user who may"
        return FileError(message, name, None, "no-permission")
    return FileError(f"{name}: cannot be read: {error.strerror or error}", name)


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """Return the error for a name that is not among the known ones.

    Parameters
    ----------
    kind : str
        What was looked for, e.g. ``"style"``, and where if that helps.
    name : object
        What the caller gave.
    known : iterable of str
        All names; the three nearest are listed, or the first eight if none is near.
    """
    from difflib import get_close_matches

    names = list(known)
    near = get_close_matches(str(name), names, n=3, cutoff=0.4) or names[:8]
    return UnknownNameError(f"unknown {kind} {name!r}; nearest: {', '.join(near)}")


def known_name(kind: str, name: object, known: Collection[object]) -> None:
    """Check that a name is among the known ones.

    Raises
    ------
    UnknownNameError
        If it is not; see `unknown_name`.
    InvalidTypeError
        For what can be no name: a list, an array.
    """
    try:
        if name in known:
            return
    except (TypeError, ValueError):
        found = f"{type(name).__name__} {name!r:.80}"
        raise InvalidTypeError(f"{kind}: expected a name, found {found}") from None
    raise unknown_name(kind, name, map(str, known))


class TicklessWarning(UserWarning):
    """Something readable but odd: damaged lines, an unordered idle table, a debug build."""
