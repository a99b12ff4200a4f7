"""Tables: a style lays a comparison out as a `Grid`, `formats` turns the grid into text.

To add a style write one module with ``grid(view, **options) -> Grid`` and add its line to
`STYLES`. A style does no statistics; it asks the `View` for numbers and prints them. The text of a
grid is the style's own, exact to the byte; html, csv, json, markdown and latex are made from the
cells once for all styles, so that every format shows the same numbers.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tickless.errors import InvalidParameterError, UnknownNameError
from tickless.results import Array, Metric

STYLES: dict[str, str] = {
    "mmtests": "tickless.tables.mmtests",
    "summary": "tickless.tables.summary",
    "benchstat": "tickless.tables.benchstat",
    "normalised": "tickless.tables.normalised",
    "unixbench": "tickless.tables.unixbench",
    "diff": "tickless.tables.diff",
    "percent": "tickless.tables.percent",
    "lmbench": "tickless.tables.lmbench",
}
"""Style name to the module that lays it out."""


@dataclass(frozen=True)
class Cell:
    """One printed cell, as texts without padding.

    Attributes
    ----------
    value : str
        The number, e.g. ``"355.71"``.
    change : str
        Change against the baseline without brackets, e.g. ``"-1.81%"``; empty for none.
    spread : str
        Coefficient of variation or interval, e.g. ``"± 2%"``; empty for none.
    mark : str
        ``"*"`` for a significant difference, or another mark of the style; empty for none.
    verdict : str
        ``"good"``, ``"bad"`` or empty: colour only, never the single sign of significance.
    """

    value: str
    change: str = ""
    spread: str = ""
    mark: str = ""
    verdict: str = ""


@dataclass(frozen=True)
class Grid:
    """A table ready to print; no meaning attached.

    Attributes
    ----------
    caption : str
        One line: benchmark, metric, unit.
    stub : tuple of str
        Headings of the label columns, e.g. ``("", "case")``.
    columns : tuple of str
        Headings of the cell columns, normally one per kernel.
    labels : tuple of tuple of str
        Labels of each row, as many as `stub`.
    cells : tuple of tuple of Cell
        One per row and column.
    text : tuple of str
        The table as plain lines, without line ends and without the notes.
    notes : tuple of str
        Printed below the table in every format.
    """

    caption: str
    stub: tuple[str, ...]
    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    cells: tuple[tuple[Cell, ...], ...]
    text: tuple[str, ...]
    notes: tuple[str, ...]


class View(Protocol):
    """What a style may ask for; a `tickless.Comparison` is one.

    Shapes are ``(n_kernels, n_cases)`` with the baseline first and its change 0; percentages are
    plain percent, positive `improvement_pct` is good. NaN means missing.
    """

    benchmark: str
    machine: str
    metric: str
    """Name of the compared metric."""
    kernels: tuple[str, ...]
    """Registered names, baseline first."""
    kernel_labels: tuple[str, ...]
    cases: tuple[str, ...]
    case_labels: tuple[str, ...]
    case_title: str
    case_info: tuple[Metric, ...]
    """Unit, direction and mean per case."""
    rule: str
    alpha: float
    samples: Array | None
    """``(n_kernels, n_cases, n_samples)`` padded with NaN; None for published tables."""
    count: NDArray[np.int64]
    """Samples per cell."""
    center: Array
    change_pct: Array
    improvement_pct: Array
    cv_pct: Array
    stddev: Array
    p_value: Array
    ci_low: Array
    ci_high: Array
    significant: NDArray[np.bool_]
    marks: tuple[str, ...]
    """Author's mark per row (published tables), else empty strings."""
    normalised: bool
    """`center` already is a ratio to the baseline (published tables)."""
    printed: tuple[tuple[str, ...], ...] | None
    """Printed text of the values by kernel and case (published tables)."""
    printed_pct: Array | None
    """Printed changes (published tables), NaN where the table has none."""
    notes: tuple[str, ...]
    attrs: Mapping[str, Any]
    """Facts of the source (`Results.attrs`, `PublishedTable.attrs`)."""


def make(style: str, view: View, **options: Any) -> Grid:
    """Return the grid of one style.

    Parameters
    ----------
    style : str
        One of `STYLES`.
    view : View
        The comparison.
    **options
        Options of the style; each style names its own.

    Raises
    ------
    UnknownNameError
        For a style that does not exist.
    InvalidParameterError
        For an option the style does not have.
    """
    if style not in STYLES:
        near = difflib.get_close_matches(style, STYLES, n=3, cutoff=0.3) or list(STYLES)
        raise UnknownNameError(f"unknown style {style!r}; nearest: {', '.join(near)}")
    layout = import_module(STYLES[style]).grid
    import inspect

    known = [p for p in inspect.signature(layout).parameters if p != "view"]
    for name in options:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise InvalidParameterError(f"style {style!r} has no option {name!r}; {has}")
    grid: Grid = layout(view, **options)
    return grid


def render(grid: Grid, format: str = "text") -> str:
    """Return a grid as ``text``, ``html``, ``csv``, ``json``, ``markdown`` or ``latex``."""
    from tickless.tables.formats import FORMATS

    if format not in FORMATS:
        raise UnknownNameError(f"unknown format {format!r}; known: {', '.join(FORMATS)}")
    return FORMATS[format](grid)


def pad_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines without trailing blanks, as the posted tables have them."""
    return tuple(line.rstrip(" ") for line in lines)
