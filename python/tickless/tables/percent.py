"""Percentages alone: ``0%`` for the baseline, two decimals for the others, a mark per row."""

from __future__ import annotations

import math

from tickless.tables import Cell, Grid, View, pad_lines
from tickless.tables.blocks import heading, improvement, mark, notes, title, verdict

GAP = 3
"""Blanks between columns."""
MISSING = "-"


def grid(view: View) -> Grid:
    """Lay out improvements in percent, without values.

    Parameters
    ----------
    view : View
        The comparison.
    """
    kernels = range(len(view.kernels))
    stub = view.case_title.rstrip(":") or "Scaling"
    first = max(len(stub), *(len(c) + 1 for c in view.case_labels))
    cells = [[_text(view, k, j) for k in kernels] for j in range(len(view.cases))]
    widths = [
        GAP + max(len(view.kernel_labels[k]), *(len(row[k]) for row in cells)) for k in kernels
    ]
    lines = heading(view, _units(view))
    lines.append(_line(stub, first, view.kernel_labels, widths))
    for j, case in enumerate(view.case_labels):
        sign = mark(view, j)
        lines.append(_line(f" {case}", first, cells[j], widths) + (f"\t{sign}" if sign else ""))
    return Grid(
        caption=f"{title(view)}: {_units(view)}",
        stub=(stub,),
        columns=view.kernel_labels,
        labels=tuple((c,) for c in view.case_labels),
        cells=tuple(tuple(_cell(view, k, j) for k in kernels) for j in range(len(view.cases))),
        text=pad_lines([*lines, "", ""]),
        notes=notes(view),
    )


def _line(stub: str, first: int, texts: list[str] | tuple[str, ...], widths: list[int]) -> str:
    cells = (t.rjust(w) for t, w in zip(texts, widths, strict=True))
    return stub.ljust(first) + "".join(cells)


def _units(view: View) -> str:
    info = view.case_info[0]
    return info.title if view.printed is not None else f"%diff of {info.title or view.metric}"


def _text(view: View, k: int, j: int) -> str:
    change = 0.0 + improvement(view, k, j)
    if math.isnan(change):
        return MISSING
    return "0%" if k == 0 else f"{change:.2f}%"


def _cell(view: View, k: int, j: int) -> Cell:
    sign = mark(view, j) if k == len(view.kernels) - 1 else ""
    return Cell(_text(view, k, j), mark=sign, verdict=verdict(view, k, j))
