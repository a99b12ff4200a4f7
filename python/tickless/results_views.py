"""What results look like to people: the reported mean of every cell, the entries of a set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tickless import _html

if TYPE_CHECKING:
    from tickless.results import Results, ResultSet

MOST_CASES = 60
"""Rows shown; a note counts the others."""


class Overview(NamedTuple):
    """A table of texts: caption, headings, rows, notes, and which columns are words."""

    caption: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: tuple[str, ...]
    left: tuple[int, ...]

    def html(self) -> str:
        """Return the table as HTML."""
        return _html.table(
            self.head, self.rows, caption=self.caption, left=self.left, notes=self.notes
        )


def of_results(r: Results) -> Overview:
    """Return the means of the primary metric: cases down, kernels across."""
    from tickless.stats.moments import Moments, center

    info, x = r.metric_info[r.primary], r[r.primary]
    x = x.reshape(*x.shape[:2], -1)
    with np.errstate(all="ignore"):
        middle = center(x, Moments.of(x), info.mean)
    shown = r.case_labels[:MOST_CASES]
    rows = [
        (case, *("-" if np.isnan(v) else f"{v:.{info.decimals}f}" for v in middle[:, j]))
        for j, case in enumerate(shown)
    ]
    notes = list(r.notes)
    if more := len(r.cases) - len(shown):
        notes.append(f"{more} more cases")
    if len(r.metrics) > 1:
        notes.append(f"metrics: {', '.join(r.metrics)}")
    head = (r.case_title.rstrip(":") or "case", *r.kernel_labels)
    return Overview(_caption(r, (~np.isnan(x)).sum(axis=2)), head, rows, tuple(notes), (0,))


def _caption(r: Results, count: np.ndarray) -> str:
    info = r.metric_info[r.primary]
    place = f" on {r.machine}" if r.machine else ""
    mean = "median" if info.mean == "median" else f"{info.mean} mean"
    low, high = (int(count.min()), int(count.max())) if count.size else (0, 0)
    several = f"{low}" if low == high else f"{low} to {high}"
    return (
        f"{r.benchmark}{place}: {r.primary} [{info.unit}], {info.better} is better; "
        f"{mean} of {several} sample{'s' * (high != 1)}"
    )


def of_set(s: ResultSet) -> Overview:
    """Return one row per entry."""
    rows = [
        (key, e.machine, e.primary, str(len(e.cases)), ", ".join(e.kernel_labels))
        for key, e in s.items()
    ]
    head = ("table", "machine", "metric", "cases", "kernels")
    return Overview(s.name, head, rows, s.notes, (0, 1, 2, 4))
