"""MMTests cells under a block heading: mean, parameter, value, percentage; stars for a test.

The Unixbench block of the EEVDF evaluation of August 2023. Values are so large that the column is
wider than MMTests' own.
"""

from __future__ import annotations

import math

from tickless.tables import Cell, Grid, View, pad_lines
from tickless.tables.blocks import heading, improvement, mark, notes, title, verdict

VALUE = 15
"""Width of a value: what the block of the post is widened to."""
LABELS = {"arithmetic": "Amean", "harmonic": "Hmean", "median": "Median"}
MISSING = "-"


def grid(view: View) -> Grid:
    """Lay out means with percentages in parentheses, or stars where the difference is significant.

    Parameters
    ----------
    view : View
        The comparison.
    """
    kernels = range(len(view.kernels))
    labels = [LABELS[m.mean] for m in view.case_info]
    first, second = max(map(len, labels)), max(map(len, view.case_labels))
    column = VALUE + 11
    lines = heading(view, _units(view))
    heads = "".join(_right(n, column) for n in view.kernel_labels)
    lines.append(" " * (first + 1 + second) + heads)
    for j, case in enumerate(view.case_labels):
        row = f"{labels[j]:<{first}} {case:<{second}}"
        row += "".join(_right(_text(view, k, j), column) for k in kernels)
        lines.append(row + (f"  {mark(view, j)}" if mark(view, j) else ""))
    return Grid(
        caption=f"{title(view)}: {_units(view)}",
        stub=("", "Test"),
        columns=view.kernel_labels,
        labels=tuple(zip(labels, view.case_labels, strict=True)),
        cells=tuple(tuple(_cell(view, k, j) for k in kernels) for j in range(len(view.cases))),
        text=pad_lines([*lines, "", ""]),
        notes=notes(view),
    )


def _units(view: View) -> str:
    if view.printed is not None:
        return view.case_info[0].title
    return ", ".join(dict.fromkeys(m.unit for m in view.case_info))


def _value(view: View, k: int, j: int) -> str:
    value = float(view.center[k, j])
    if view.printed is not None and view.printed[k][j]:
        return view.printed[k][j]
    return f"{value:.{view.case_info[j].decimals}f}" if math.isfinite(value) else ""


def _text(view: View, k: int, j: int) -> str:
    value, change = _value(view, k, j), 0.0 + improvement(view, k, j)
    if not value or math.isnan(change):
        return MISSING
    left, right = "**" if k and view.significant[k, j] else "()"
    return f"{value} {left}{change:7.2f}%{right}"


def _right(text: str, width: int) -> str:
    """Return the text right-justified, with at least one blank before it."""
    return f" {text}".rjust(width)


def _cell(view: View, k: int, j: int) -> Cell:
    value, change = _value(view, k, j), 0.0 + improvement(view, k, j)
    if not value or math.isnan(change):
        return Cell(MISSING)
    star = "*" if k and view.significant[k, j] else ""
    return Cell(value, f"{change:.2f}%", "", star, verdict(view, k, j))
