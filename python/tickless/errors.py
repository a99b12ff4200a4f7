"""Exceptions and warnings: everything the package raises on its own account."""

from __future__ import annotations


class TicklessError(ValueError):
    """Base of every exception of the package."""


class UnknownNameError(TicklessError):
    """A name that no registered governor, machine, policy, style ... has; lists the nearest."""


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


class TicklessWarning(UserWarning):
    """Something readable but odd: damaged lines, an unordered idle table, a debug build."""
