"""Style ``summary``: one verdict per kernel, "6% worse" or "no change".

The verdict is the geometric mean of the kernel's ratios to the baseline, rounded to whole percent.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tickless.errors import InvalidParameterError
from tickless.tables import Cell, Grid, View, pad_lines

NAME, VERDICT = 22, 16
"""Widths of the name column and of a verdict, those of the posted lists."""


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
        figures = {k: _figure(view, k) for k, _ in kernels}
        labels.append((name,))
        cells.append(tuple(_cell(figures[k]) for k, _ in kernels))
        left_out = [k for k, _ in kernels if _partial(view, k)]
        if left_out:
            notes.append(f"{name}: {', '.join(left_out)}: cases without a value are left out")
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


def _ratios(view: View, kernel: str) -> tuple[np.ndarray, np.ndarray]:
    k = view.kernels.index(kernel)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = view.center[k] / view.center[0]
    return ratio, np.isfinite(ratio) & (ratio > 0)


def _figure(view: View, kernel: str) -> float:
    """Return the improvement in percent by the geometric mean of the ratios; NaN for none."""
    ratio, there = _ratios(view, kernel)
    if not there.any():
        return np.nan
    sign = np.array([m.sign for m in view.case_info])[there]
    if (sign == sign[0]).all():
        return float(sign[0] * 100 * (np.exp(np.log(ratio[there]).mean()) - 1))
    # Mixed directions: as speeds, so that a time counts by its inverse.
    return float(100 * (np.exp((sign * np.log(ratio[there])).mean()) - 1))


def _partial(view: View, kernel: str) -> bool:
    return not _ratios(view, kernel)[1].all()


def _cell(figure: float) -> Cell:
    if np.isnan(figure):
        return Cell("-")
    q = int(np.floor(abs(figure) + 0.5))
    if not q:
        return Cell("no change")
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
