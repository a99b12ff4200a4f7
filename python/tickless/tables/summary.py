"""Style ``summary``: one verdict per kernel, "6% worse" or "no change".

The verdict is the geometric mean of the kernel's ratios to the baseline, rounded to whole percent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tickless.errors import InvalidParameterError
from tickless.tables import Cell, Grid, View, pad_lines

NAME, VERDICT = 22, 16
"""Widths of the name column and of a verdict, those of the posted lists."""

NO_CHANGE = "no change"


def grid(view: View) -> Grid:
    """Return the list of one comparison: one line, named after the machine or the benchmark."""
    return grid_all({view.machine or view.benchmark: view})


def grid_all(views: Mapping[str, View]) -> Grid:
    """Return the list of several comparisons, one line each.

    Raises
    ------
    InvalidParameterError
        If they have no kernel in common besides the baseline.
    """
    first = next(iter(views.values()))
    kernels = [
        (k, label)
        for k, label in zip(first.kernels[1:], first.kernel_labels[1:], strict=True)
        if all(k in v.kernels for v in views.values())
    ]
    if not kernels:
        raise InvalidParameterError("summary: no kernel that all tables have, but the baseline")
    labels, cells, notes = [], [], []
    for name, view in views.items():
        at = [view.kernels.index(k) for k, _ in kernels]
        labels.append((name,))
        cells.append(tuple(_cell(view.gmean_pct[k]) for k in at))
        notes += _notes(name, view, at, cells[-1])
    heads = [label for _, label in kernels]
    return Grid(
        f"change against {first.kernel_labels[0]} (geometric mean over the cases)",
        ("",),
        tuple(heads),
        tuple(labels),
        tuple(cells),
        _text(labels, heads, cells),
        tuple(notes),
    )


def _partial(view: View, k: int) -> bool:
    both = view.center[[0, k]]
    return not (np.isfinite(both) & (both > 0)).all()


def _notes(name: str, view: View, at: Sequence[int], cells: Sequence[Cell]) -> list[str]:
    out = []
    partial = [view.kernel_labels[k] for k in at if _partial(view, k)]
    if partial:
        out.append(f"{name}: {', '.join(partial)}: cases without a value are left out")
    beyond = [view.kernel_labels[k] for k in at if np.isnan(view.gmean_pct[k])]
    beyond = [label for label in beyond if label not in partial]
    if beyond:
        out.append(f"{name}: {', '.join(beyond)}: the change is larger than any number printed")
    same = [
        f"{view.kernel_labels[k]} {view.gmean_detectable_pct[k]:.2g} %"
        for k, cell in zip(at, cells, strict=True)
        if cell.value == NO_CHANGE and np.isfinite(view.gmean_detectable_pct[k])
    ]
    if same:
        out.append(f"{name}: no change; smallest detectable: {', '.join(same)}")
    return out


def _cell(figure: float) -> Cell:
    if np.isnan(figure):
        return Cell("-")
    q = int(np.floor(abs(figure) + 0.5))
    if not q:
        return Cell(NO_CHANGE)
    return Cell(
        f"{q}% {'better' if figure > 0 else 'worse'}", verdict="good" if figure > 0 else "bad"
    )


def _text(
    labels: list[tuple[str]], heads: list[str], cells: list[tuple[Cell, ...]]
) -> tuple[str, ...]:
    name = max(NAME, *(len(n) + 1 for (n,) in labels))
    width = max(VERDICT, *(len(h) + 2 for h in heads))
    lines = ["  " + " " * name + "".join(h.ljust(width) for h in heads)]
    lines += [
        f"  {n:<{name}}" + "".join(c.value.ljust(width) for c in row)
        for (n,), row in zip(labels, cells, strict=True)
    ]
    lines = [line.rstrip() for line in lines]
    lines.insert(1, "  " + "-" * (max(map(len, lines)) - 2))
    return pad_lines(lines)
