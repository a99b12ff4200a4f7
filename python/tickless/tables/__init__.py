"""Tables: a style lays a comparison out as a `Grid`, `formats` turns the grid into text.

To add a style write one module with ``grid(view, **options) -> Grid`` and add its line to
`STYLES`. A style does no statistics; it asks the `View` for numbers and prints them. The text of a
grid is the style's own, exact to the byte; html, csv, json, markdown and latex are made from the
cells once for all styles, so that every format shows the same numbers.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from tickless.errors import InvalidParameterError, known_name
from tickless.tables.view import View

__all__ = [
    "STYLES",
    "Cell",
    "Grid",
    "View",
    "caption",
    "make",
    "make_all",
    "pad_lines",
    "render",
    "render_all",
    "verdicts",
]

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
    layout = _module(style).grid
    known = [p for p in inspect.signature(layout).parameters if p != "view"]
    for name in options:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise InvalidParameterError(f"style {style!r} has no option {name!r}; {has}")
    grid: Grid = layout(view, **options)
    return grid


def make_all(style: str, views: Mapping[str, View], **options: Any) -> dict[str, Grid]:
    """Return the grids of several comparisons: one each, or one of all if the style has it."""
    together = getattr(_module(style), "grid_all", None)
    if together is not None:
        return {style: together(views, **options)}
    return {key: make(style, view, **options) for key, view in views.items()}


def _module(style: str) -> Any:
    known_name("style", style, STYLES)
    return import_module(STYLES[style])


def render(grid: Grid, format: str = "text") -> str:
    """Return a grid as ``text``, ``html``, ``csv``, ``json``, ``markdown`` or ``latex``."""
    from tickless.tables.formats import FORMATS

    known_name("format", format, FORMATS)
    return FORMATS[format](grid)


def render_all(grids: Mapping[str, Grid], format: str = "text") -> str:
    """Return several grids one below the other, each under its key."""
    if format == "json":
        return (
            "{"
            + ",\n".join(f"{json.dumps(k)}: {render(g, format)}" for k, g in grids.items())
            + "}\n"
        )
    mark = {"text": "", "csv": "# ", "latex": "% ", "markdown": "## "}
    heads = {k: f"{mark[format]}{k}\n\n" if format in mark else "" for k in grids}
    if len(grids) == 1:
        heads = dict.fromkeys(grids, "")
    return "\n".join(heads[k] + render(g, format) for k, g in grids.items())


def caption(view: View) -> str:
    """Return the line that says what a table shows: benchmark, metric, unit, direction, rule."""
    info = view.case_info[0]
    place = f" on {view.machine}" if view.machine else ""
    unit = f" [{info.unit}]" if info.unit else ""
    level = "" if view.rule.startswith("mmtests") else f", alpha {view.alpha:g}"
    rule = f"; {view.rule}{level}" if view.samples is not None else ""
    return f"{view.benchmark}{place}: {view.metric}{unit}, {info.better} is better{rule}"


def verdicts(improvement_pct: float, significant: bool) -> str:
    """Return the colour of a cell: only a significant difference has one."""
    if not significant or improvement_pct == 0 or np.isnan(improvement_pct):
        return ""
    return "good" if improvement_pct > 0 else "bad"


def pad_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines without trailing blanks, as the posted tables have them."""
    return tuple(line.rstrip(" ") for line in lines)
