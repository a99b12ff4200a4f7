"""MMTests text of one era, to the byte, with the defects of that revision's formatter.

Widths that are too small touch the next column, names with ``-rc`` are cut at odd places, and
tables of many kernels lose their brackets: all that is what the tool prints. The style `mmtests`
without an era has none of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tickless.results import Array
from tickless.stats.mmtests import missing
from tickless.stats.mmtests_tables import Ratios, Summary

WIDTH = {"2018": 12, "2023": 12, "head": 18}
"""Value width by era."""
PERCENT = 11
"""Width of `` (%7.2f%%)``."""
GOOD, BAD = "#A0FFA0", "#FFA0A0"
"""Cell colours of a significant difference; the reference outputs show the first only."""
GAP = 17
"""Blanks in place of `` (0.00%) (+0.00s)`` in the totals of a ratio table."""


@dataclass(frozen=True)
class Layout:
    """Sizes of one table.

    Attributes
    ----------
    era : str
        ``"2018"``, ``"2023"`` or ``"head"``.
    decimals : int
        Decimals of a value.
    names : sequence of str
        Kernel names as printed, baseline first.
    cases : sequence of str
        Parameters as printed.
    compare : bool
        Print percentages.
    widest : sequence of str, optional
        Names that the parameter column must hold, if not just `cases`.
    """

    era: str
    decimals: int
    names: Sequence[str]
    cases: Sequence[str]
    compare: bool = True
    widest: Sequence[str] | None = None

    @property
    def width(self) -> int:
        """Width of a value."""
        return WIDTH[self.era]

    @property
    def longest(self) -> int:
        """Width of the parameter column."""
        return max(map(len, self.cases if self.widest is None else self.widest), default=0)

    def heads(self) -> list[list[str]]:
        """Return the two header lines, one padded field per kernel."""
        width = self.width + (PERCENT if self.compare else 0)
        parts = [split_name(n) for n in self.names]
        return [[p[i].rjust(width) for p in parts] for i in (0, 1)]

    def value(self, v: float) -> str:
        """Return a value, or 0 for a missing one."""
        return f"{v:{self.width}.{self.decimals}f}"

    def plain(self, v: float) -> str:
        """Return a value of the columns that have no format of their own."""
        return _number(v, f"{self.width}.2f")


def split_name(name: str) -> tuple[str, str]:
    """Return the two header parts of a kernel name as the tool splits it."""
    at = name.find("-")
    if at < 0:
        return name[:-1], name
    if re.search(r"-rc[0-9]", name[at : at + at + 3]):
        at += 4
    return name[:at], name[at + 1 :]


def absolute(layout: Layout, s: Summary, significance: bool, kind: str, w1: int) -> list[str]:
    """Return the lines of the table of values.

    Parameters
    ----------
    layout : Layout
    s : Summary
        Statistics of the cases of `layout`, in the same order.
    significance : bool
        Append the rows of ``--print-significance``.
    kind : str
        MMTests summary type.
    w1 : int
        Width of the label column.
    """
    formatted = len(s.rows) + 2 if kind == "Singleops" and layout.era == "2018" else None
    lines = [" " * (w1 + 1 + layout.longest) + "".join(h) for h in layout.heads()]
    for row, pct in zip(s.rows, s.percents, strict=True):
        value = np.where(missing(row.value), 0.0, row.value)
        star = s.stars.starred if row.is_center and s.tested else np.zeros(value.shape, bool)
        for c, case in enumerate(layout.cases):
            label = f"{row.label:<{w1}} {case:<{layout.longest}}"
            lines.append(label + _cells(layout, value[:, c], pct[:, c], star[:, c], formatted))
    if significance and s.tested:
        lines += _significance(layout, s)
    return lines


def _cells(
    layout: Layout, value: Array, pct: Array, star: NDArray[np.bool_], formatted: int | None
) -> str:
    out = []
    for k, (v, p, marked) in enumerate(zip(value, pct, star, strict=True)):
        if formatted is not None and k >= formatted:
            out.append(layout.plain(v) + (layout.plain(p) if layout.compare else ""))
        else:
            out.append(layout.value(v) + (bracket(p, marked) if layout.compare else ""))
    return "".join(out)


def bracket(p: float, marked: bool) -> str:
    """Return `` (   1.23%)``, or with asterisks for brackets."""
    return f" *{p:7.2f}%*" if marked else f" ({p:7.2f}%)"


def _significance(layout: Layout, s: Summary) -> list[str]:
    lines = []
    for c, case in enumerate(layout.cases):
        cells = "".join(
            layout.value(float(f)) + bracket(p, False)
            for f, p in zip(s.stars.starred[:, c], s.stars.figure[:, c], strict=True)
        )
        lines.append(f"Significant {case:<{layout.longest}}{cells}" + " " * layout.width)
    return lines


def ratio(layout: Layout, r: Ratios, higher: bool, n_formats: int) -> list[str]:
    """Return the lines of the ratio table.

    Parameters
    ----------
    layout : Layout
        With the parameters that are shown.
    r : Ratios
        Of the same parameters, or of more (which are counted in the totals only).
    higher : bool
        Preferred direction.
    n_formats : int
        Kernels that have a format; later ones print in plain columns.
    """
    w = len("Ratio ") + layout.longest
    lines = [" " * w + "".join(h) for h in layout.heads()]
    for c, case in enumerate(layout.cases):
        cells = [
            _ratio_cell(layout, r.ratio[k, c], r.percent[k, c], r.sdiff[k, c], k < n_formats)
            for k in range(len(layout.names))
        ]
        lines.append(f"{'Ratio ' + case:<{w}}" + "".join(cells))
    direction = "Higher" if higher else "Lower"
    totals = (("Dmean", r.dmean), ("Dmin ", r.dmin), ("Dmax ", r.dmax), ("Gmean", r.gmean))
    for name, values in totals:
        if values is not None:
            cells = [_total(layout, v, k < n_formats) for k, v in enumerate(values)]
            lines.append(f"{name + ' ' + direction:<{w}}" + "".join(cells))
    return lines


def _ratio_cell(layout: Layout, value: float, pct: float, sdiff: float, formatted: bool) -> str:
    if not formatted:
        return layout.plain(value) + layout.plain(pct) + layout.plain(sdiff)
    second = "NaN" if np.isnan(sdiff) else f"{sdiff:+.2f}"
    return f"{layout.value(value)} ({pct:.2f}%) ({second}s)"


def _total(layout: Layout, value: float, formatted: bool) -> str:
    if not formatted:
        return layout.plain(value) + " " * (2 * layout.width)
    return _number(value, f"{layout.width}.{layout.decimals}f") + " " * GAP


def means_only(s: Summary) -> Summary:
    """Return the summary with the rows of the mean only, as posts show it."""
    keep = [i for i, r in enumerate(s.rows) if r.is_center]
    return replace(s, rows=[s.rows[i] for i in keep], percents=[s.percents[i] for i in keep])


def html(layout: Layout, s: Summary) -> list[str]:
    """Return the tool's own HTML table (``--format html``)."""
    w1 = max(len(r.label) for r in s.rows)
    pad = " " * (w1 + 1 + layout.longest)
    lines = ['<table class="resultsTable">']
    for head in layout.heads():
        cells = "".join(f'<th colspan="2" >{h}</th>' for h in head)
        lines.append(f'<tr><th colspan="2" >{pad}</th>{cells}</tr>')
    for row, pct in zip(s.rows, s.percents, strict=True):
        value = np.where(missing(row.value), 0.0, row.value)
        star = s.stars.starred if row.is_center and s.tested else np.zeros(value.shape, bool)
        for c, case in enumerate(layout.cases):
            cells = "".join(
                f"<td >{layout.value(value[k, c])}</td>{_coloured(pct[k, c], star[k, c])}"
                for k in range(len(layout.names))
            )
            label = f"<td >{row.label:<{w1}}</td><td > {case:<{layout.longest}}</td>"
            lines.append(f"<tr>{label}{cells}</tr>")
    return [*lines, "</table>"]


def _coloured(p: float, marked: bool) -> str:
    colour = (f'bgcolor="{GOOD}"' if p > 0 else f'bgcolor="{BAD}"') if marked else ""
    return f"<td {colour}>{bracket(p, False)}</td>"


def _number(v: float, spec: str) -> str:
    return "NaN".rjust(int(spec.partition(".")[0])) if np.isnan(v) else f"{v:{spec}}"
