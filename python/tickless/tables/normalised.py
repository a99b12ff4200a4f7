"""Ratios to the baseline with improvement and CV: ``1.03 [ -2.83]( 2.42)``.

Used by the EEVDF evaluation of August 2023 and its sibling posts. Brackets that are too narrow
for a number push the rest of the row to the right.
"""

from __future__ import annotations

import math

from tickless.tables import Cell, Grid, View, pad_lines
from tickless.tables.blocks import heading, improvement, mark, notes, title, verdict

CELL = 25
"""Width of a column: five blanks, ratio, improvement in brackets, CV in parentheses."""
GAP = 5
"""Blanks before a ratio."""
MISSING = "-"


def grid(view: View, *, width: int | None = None) -> Grid:
    """Lay out ratios with improvement and CV.

    Parameters
    ----------
    view : View
        The comparison.
    width : int, optional
        Width of the parameter column; the table's own, else the longest parameter.
    """
    longest = max(map(len, view.case_labels))
    width = width or int(view.attrs.get("width") or longest)
    names = range(len(view.kernels))
    heads = [f"{label}[pct imp](CV)" for label in view.kernel_labels]
    case_title = view.case_title or "Case:"
    lines = heading(view, _units(view))
    lines.append(case_title.ljust(width) + "".join(f" {h}".rjust(CELL) for h in heads))
    for j, case in enumerate(view.case_labels):
        # A name wider than its column takes blanks from the gap of the first cell.
        pieces = [_piece(view, k, j) for k in names]
        over = min(max(len(case) - width, 0), GAP - 1)
        row = case.rjust(width) + pieces[0][over:] + "".join(pieces[1:])
        lines.append(row + (f"  {mark(view, j)}" if mark(view, j) else ""))
    return Grid(
        caption=f"{title(view)}: {_units(view)}",
        stub=(case_title.rstrip(":"),),
        columns=view.kernel_labels,
        labels=tuple((c,) for c in view.case_labels),
        cells=tuple(tuple(_cell(view, k, j) for k in names) for j in range(len(view.cases))),
        text=pad_lines([*lines, "", ""]),
        notes=notes(view),
    )


def _units(view: View) -> str:
    info = view.case_info[0]
    if view.printed is not None:
        return info.title
    return f"Normalized {info.title or view.metric} in {info.unit}"


def _ratio(view: View, k: int, j: int) -> str:
    """Return the ratio with two decimals, the printed one if there is; empty if unknown."""
    if view.normalised and view.printed is not None and view.printed[k][j]:
        return view.printed[k][j]
    value = float(view.center[k, j])
    if not view.normalised:
        base = float(view.center[0, j])
        value = value / base if base else math.nan
    return f"{value:.2f}" if math.isfinite(value) else ""


def _text(view: View, k: int, j: int) -> str:
    ratio, change = _ratio(view, k, j), improvement(view, k, j)
    if not ratio or math.isnan(change):
        return MISSING
    cv = float(view.cv_pct[k, j])
    spread = f"{cv:5.2f}" if math.isfinite(cv) else MISSING.rjust(5)
    return f"{ratio} [{change:6.2f}]({spread})"


def _piece(view: View, k: int, j: int) -> str:
    text = _text(view, k, j)
    return text.rjust(CELL) if text == MISSING else " " * GAP + text


def _cell(view: View, k: int, j: int) -> Cell:
    ratio, change, cv = _ratio(view, k, j), improvement(view, k, j), float(view.cv_pct[k, j])
    if not ratio or math.isnan(change):
        return Cell(MISSING)
    spread = f"CV {cv:.2f}%" if math.isfinite(cv) else ""
    sign = mark(view, j) if k == len(view.kernels) - 1 else ""
    return Cell(ratio, f"{change:.2f}%", spread, sign, verdict(view, k, j))
