"""Exceptions and warnings: everything the package raises on its own account."""

from __future__ import annotations

from collections.abc import Iterable


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


class TicklessWarning(UserWarning):
    """Something readable but odd: damaged lines, an unordered idle table, a debug build."""
