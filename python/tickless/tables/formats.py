"""The output formats, once for all styles: a `Grid` in, text out.

Text is the style's own lines. csv and json give every part of a cell (value, change, spread, mark)
a field of its own; html, markdown and latex join them as the text does. Everything that comes from
the data is escaped for the format.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable

from tickless import _html
from tickless.tables import Cell, Grid

PARTS = ("value", "change", "spread", "mark")


def text(grid: Grid) -> str:
    """Return the lines of the style, then a blank line and the notes if there are any."""
    notes = [f"  note: {n}" for n in grid.notes]
    return "\n".join([*grid.text, *([""] if notes else []), *notes]) + "\n"


def html(grid: Grid) -> str:
    """Return a table whose colours follow the page; see `tickless._html`."""
    first = len(grid.stub)
    css = {
        (i, first + j): cell.verdict
        for i, row in enumerate(grid.cells)
        for j, cell in enumerate(row)
        if cell.verdict
    }
    rows = [
        (*label, *map(_joined, row)) for label, row in zip(grid.labels, grid.cells, strict=True)
    ]
    return _html.table(
        (*grid.stub, *grid.columns),
        rows,
        caption=grid.caption,
        left=range(first),
        classes=css,
        notes=grid.notes,
    )


def csv_(grid: Grid) -> str:
    """Return comma-separated values; one column per part of a cell that the table uses."""
    parts = _parts(grid)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    heads = [
        c if p == "value" else f"{c} {p}"
        for c, used in zip(grid.columns, parts, strict=True)
        for p in used
    ]
    writer.writerow([*grid.stub, *heads])
    for label, row in zip(grid.labels, grid.cells, strict=True):
        fields = [getattr(cell, p) for cell, used in zip(row, parts, strict=True) for p in used]
        writer.writerow([*label, *fields])
    return out.getvalue()


def json_(grid: Grid) -> str:
    """Return an object with caption, rows (labels and cells by column) and notes."""
    rows = [
        {
            "labels": dict(zip(grid.stub, label, strict=True)),
            "cells": {
                c: {p: getattr(cell, p) for p in PARTS if getattr(cell, p)}
                for c, cell in zip(grid.columns, row, strict=True)
            },
        }
        for label, row in zip(grid.labels, grid.cells, strict=True)
    ]
    whole = {"caption": grid.caption, "rows": rows, "notes": list(grid.notes)}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def markdown(grid: Grid) -> str:
    """Return a pipe table; numbers align right."""

    def line(fields: list[str]) -> str:
        return "| " + " | ".join(fields) + " |"

    rule = [":--"] * len(grid.stub) + ["--:"] * len(grid.columns)
    out = [f"**{_markdown(grid.caption)}**", ""] if grid.caption else []
    out += [line([_markdown(h) for h in (*grid.stub, *grid.columns)]), line(rule)]
    for label, row in zip(grid.labels, grid.cells, strict=True):
        out.append(line([_markdown(f) for f in (*label, *map(_joined, row))]))
    out += [""] * bool(grid.notes) + [f"- {_markdown(n)}" for n in grid.notes]
    return "\n".join(out) + "\n"


def latex(grid: Grid) -> str:
    """Return a ``tabular`` in a ``table`` with caption; needs no package."""

    def line(fields: list[str]) -> str:
        return " & ".join(map(_latex, fields)) + r" \\"

    spec = "l" * len(grid.stub) + "r" * len(grid.columns)
    out = [
        r"\begin{table}",
        rf"\caption{{{_latex(grid.caption)}}}",
        rf"\begin{{tabular}}{{{spec}}}",
    ]
    out += [r"\hline", line([*grid.stub, *grid.columns]), r"\hline"]
    out += [
        line([*label, *map(_joined, row)])
        for label, row in zip(grid.labels, grid.cells, strict=True)
    ]
    out += [r"\hline", r"\end{tabular}"]
    out += [rf"\par\footnotesize {_latex(n)}" for n in grid.notes]
    return "\n".join([*out, r"\end{table}"]) + "\n"


FORMATS: dict[str, Callable[[Grid], str]] = {
    "text": text,
    "html": html,
    "csv": csv_,
    "json": json_,
    "markdown": markdown,
    "latex": latex,
}
"""Format name to the function that writes it."""


def _joined(cell: Cell) -> str:
    """Return a cell as one text: ``355.71 (-1.81%)``, with ``*`` in place of brackets if marked."""
    left, right = ("*", "*") if cell.mark == "*" else ("(", ")")
    change = f"{left}{cell.change}{right}" if cell.change else ""
    mark = cell.mark if not (cell.mark == "*" and change) else ""
    return " ".join(p for p in (cell.value, change, cell.spread, mark) if p)


def _parts(grid: Grid) -> list[list[str]]:
    """Return per column the cell parts that any row uses."""
    return [
        ["value"] + [p for p in PARTS[1:] if any(getattr(row[j], p) for row in grid.cells)]
        for j in range(len(grid.columns))
    ]


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{c: "\\" + c for c in "&%$#_{}"},
}


def _latex(s: str) -> str:
    s = "".join(_LATEX.get(c, c) for c in s)
    return s.replace("±", r"$\pm$")


def _markdown(s: str) -> str:
    return re.sub(r"([\\|*_`<>\[\]])", r"\\\1", s)
