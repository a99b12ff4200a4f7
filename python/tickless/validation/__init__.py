"""Golden data against the installed package: one module per family, listed in `FAMILIES`.

A family module has ``groups(directory) -> Iterator[Group]``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from tickless.errors import InputError, UnknownNameError

FAMILIES: dict[str, str] = {
    "mmtests": "tickless.validation.mmtests",
    "published": "tickless.validation.published",
    "governors": "tickless.validation.governors",
    "schedulers": "tickless.validation.schedulers",
    "inputs": "tickless.validation.inputs",
}
"""Family name to the module that checks it."""


@dataclass(frozen=True)
class Group:
    """How many golden values of one group the package reproduces.

    Attributes
    ----------
    name : str
        What was compared, e.g. ``"menu-6.12"``.
    equal, total : int
        Values that agree, values compared.
    exact : bool
        False for reconstructed texts and random rows, which never fail a run.
    differences : tuple of str
        The first few, each with its place, the expected and the found value.
    note : str
        Why the group is not exact, or another short remark.
    """

    name: str
    equal: int
    total: int
    exact: bool
    differences: tuple[str, ...]
    note: str

    @property
    def failed(self) -> bool:
        """True if an exact group differs."""
        return self.exact and self.equal != self.total

    def __str__(self) -> str:
        mark = "" if self.equal == self.total else "  DIFFERS" if self.exact else "  differs"
        note = f"  ({self.note})" if self.note else ""
        return f"{self.name:<34} {self.equal} of {self.total} equal{mark}{note}"


def validate(family: str, directory: str | Path) -> Iterator[Group]:
    """Compare the installed package with a directory of golden data.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    directory : path
        The family's own folder.

    Yields
    ------
    Group
        One per golden group, as soon as it is compared.

    Raises
    ------
    UnknownNameError
        For a family that does not exist.
    InputError
        If the directory is missing or holds none of the family's files.
    """
    if family not in FAMILIES:
        raise UnknownNameError(f"unknown family {family!r}; known: {', '.join(sorted(FAMILIES))}")
    path = Path(directory)
    if not path.is_dir():
        raise InputError(f"{path}: not a directory", str(path), code="not-a-directory")
    yield from import_module(FAMILIES[family]).groups(path)
