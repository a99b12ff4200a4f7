"""One line per kernel: mean, variation and difference, as the ycsb block of posts prints it."""

from __future__ import annotations

import math

from tickless.tables import Cell, Grid, View, pad_lines
from tickless.tables.blocks import heading, improvement, notes, title, verdict

NAME = 32
"""Width of the kernel's name with its colon."""
MISSING = "-"


def grid(view: View) -> Grid:
    """Lay out a line per kernel; with several cases, one group of lines for each.

    Parameters
    ----------
    view : View
        The comparison.
    """
    kernels = range(len(view.kernels))
    lines = heading(view, _units(view))
    for j, case in enumerate(view.case_labels):
        if len(view.cases) > 1:
            lines.append(f"{view.case_title} {case}".strip())
        lines += [f"{view.kernel_labels[k]}:".ljust(NAME) + _text(view, k, j) for k in kernels]
    return Grid(
        caption=f"{title(view)}: {_units(view)}",
        stub=(view.case_title.rstrip(":") or "Case",),
        columns=view.kernel_labels,
        labels=tuple((c,) for c in view.case_labels),
        cells=tuple(tuple(_cell(view, k, j) for k in kernels) for j in range(len(view.cases))),
        text=pad_lines([*lines, "", ""]),
        notes=notes(view),
    )


def _units(view: View) -> str:
    info = view.case_info[0]
    return info.title if view.printed is not None else info.unit


def _value(view: View, k: int, j: int) -> str:
    value = float(view.center[k, j])
    if view.printed is not None and view.printed[k][j]:
        return view.printed[k][j]
    return f"{value:.2f}" if math.isfinite(value) else ""


def _text(view: View, k: int, j: int) -> str:
    value, change, cv = _value(view, k, j), 0.0 + improvement(view, k, j), float(view.cv_pct[k, j])
    if not value:
        return MISSING
    spread = f" (var: {cv:.2f}%)" if math.isfinite(cv) else ""
    difference = f"  (%diff: {change:+.2f}%)" if math.isfinite(change) else ""
    return value + spread + difference


def _cell(view: View, k: int, j: int) -> Cell:
    value, change, cv = _value(view, k, j), 0.0 + improvement(view, k, j), float(view.cv_pct[k, j])
    if not value:
        return Cell(MISSING)
    difference = f"{change:+.2f}%" if math.isfinite(change) else ""
    spread = f"var {cv:.2f}%" if math.isfinite(cv) else ""
    star = "*" if verdict(view, k, j) else ""
    return Cell(value, difference, spread, star, verdict(view, k, j))
