"""Style ``mmtests``: value and percentage per kernel, the table kernel people post.

Without an era the columns are as wide as they need to be for any number of kernels, missing cells
read ``-`` and the asterisk is that of the comparison's own rule. With an era the text is the
tool's, to the byte.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tickless.errors import InvalidParameterError
from tickless.results import Array
from tickless.stats import mmtests
from tickless.stats.mmtests_tables import Summary
from tickless.tables import Cell, Grid, View, caption, pad_lines, verdicts
from tickless.tables import mmtests_eras as eras

VALUE_WIDTH = 12
"""Least width of a value column, that of the posted tables."""


def grid(
    view: View,
    era: str | None = None,
    *,
    statistics: str | None = None,
    ratio: bool = False,
    significance: bool = False,
    compare: bool = True,
    sub_heading: str = "",
    dashes: bool | None = None,
    html: bool = False,
) -> Grid:
    """Lay a comparison out as MMTests does.

    Parameters
    ----------
    view : View
        The comparison.
    era : {None, "2018", "2023", "head"}
        Print the bytes of that revision of the tool.
    statistics : {"mean", "all"}, optional
        Only the row of the mean, or all rows; all for an era, else the mean.
    ratio : bool
        Ratios to the baseline and their geometric mean (``--print-ratio``).
    significance : bool
        Append the rows of ``--print-significance``.
    compare : bool
        Print percentages; False is ``--no-compare``.
    sub_heading : str
        Only cases that start with this.
    dashes : bool, optional
        A rule under the headings, as posts have it; without an era the default.
    html : bool
        With an era: the text is the tool's own HTML.
    """
    if statistics not in (None, "mean", "all"):
        raise InvalidParameterError(f"statistics = {statistics!r}: must be 'mean' or 'all'")
    cases = [i for i, c in enumerate(view.case_labels) if c.startswith(sub_heading)]
    if not cases:
        raise InvalidParameterError(f"sub_heading = {sub_heading!r}: no case starts with it")
    if view.samples is None and (era is not None or not ratio):
        return _printed(view, era, cases, era is None if dashes is None else dashes)
    if era is None:
        if html:
            raise InvalidParameterError("html: needs an era; use format='html'")
        rows = _ratio_rows(view) if ratio else _rows(view, statistics or "mean", significance)
        return _sound(view, rows, cases, compare, dashes is not False)
    cases = [i for i in cases if view.count[0, i]]
    summary = view.mmtests_summary(era, cases)
    layout = eras.Layout(
        era,
        view.case_info[0].decimals,
        view.kernel_labels,
        [view.case_labels[i] for i in cases],
        compare,
    )
    w1 = max(len(r.label) for r in summary.rows)
    if statistics == "mean":
        summary = eras.means_only(summary)
    kind = view.mmtests_profile(era)
    if ratio:
        text = _era_ratio(view, layout, summary, kind.ratio)
    elif html:
        text = eras.html(layout, summary)
    else:
        text = eras.absolute(layout, summary, significance, kind.summary, w1)
    if dashes:
        text.insert(2, "-" * max(map(len, text[2:])))
    stub, labels, cells = _era_cells(layout, summary)
    return Grid(caption(view), stub, view.kernel_labels, labels, cells, tuple(text), ())


def _era_ratio(view: View, layout: eras.Layout, summary: Summary, shown: str) -> list[str]:
    """Return the lines of an era's ratio table; each era filters parameters in its own way."""
    keep = np.flatnonzero([re.search(shown, c) is not None for c in layout.cases])
    names = [layout.cases[i] for i in keep.tolist()]
    every = layout.cases if layout.era == "2018" else names
    # The oldest revision computes with all parameters where its filter leaves none.
    used = keep if len(keep) or layout.era != "2018" else np.arange(len(layout.cases))
    small = eras.Layout(layout.era, layout.decimals, layout.names, names, widest=every)
    found = view.mmtests_ratios(summary, layout.era, used)
    return eras.ratio(small, found, summary.higher, len(every) + 1)


def _era_cells(
    layout: eras.Layout, s: Summary
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], tuple[tuple[Cell, ...], ...]]:
    labels, cells = [], []
    for row, pct in zip(s.rows, s.percents, strict=True):
        value = np.where(mmtests.missing(row.value), 0.0, row.value)
        for c, case in enumerate(layout.cases):
            labels.append((row.label, case))
            star = [bool(row.is_center and s.tested and m) for m in s.stars.starred[:, c]]
            cells.append(
                tuple(
                    Cell(
                        layout.value(v).strip(),
                        f"{p:.2f}%" if layout.compare else "",
                        mark="*" if m else "",
                        verdict=("good" if p > 0 else "bad") if m and p else "",
                    )
                    for v, p, m in zip(value[:, c], pct[:, c], star, strict=True)
                )
            )
    return ("statistic", "case"), tuple(labels), tuple(cells)


Rows = list[tuple[str, Array, Array, NDArray[np.bool_]]]
"""Label, values, percentages and stars of each statistic, ``(n_kernels, n_cases)``."""


def _rows(view: View, statistics: str, significance: bool) -> Rows:
    out: Rows = []
    none = np.zeros(view.center.shape, bool)
    for row, pct in view.statistics():
        if row.is_center or statistics == "all":
            out.append((row.label, row.value, pct, view.significant if row.is_center else none))
    if significance:
        out.append(("p-value", view.p_value, np.full(view.center.shape, np.nan), none))
    return out


def _ratio_rows(view: View) -> Rows:
    with np.errstate(all="ignore"):
        value = view.center if view.normalised else view.center / view.center[:1]
    return [("Ratio", value, view.improvement_pct, view.significant)]


def _sound(view: View, rows: Rows, cases: Sequence[int], compare: bool, dashes: bool) -> Grid:
    labels, cells = [], []
    for label, value, pct, star in rows:
        for c in cases:
            decimals = 4 if label == "p-value" else view.case_info[c].decimals
            labels.append((label, view.case_labels[c]))
            cells.append(
                tuple(
                    Cell(
                        _number(value[k, c], decimals),
                        _percent(pct[k, c]) if compare and label != "p-value" else "",
                        mark="*" if star[k, c] else "",
                        verdict=verdicts(pct[k, c], star[k, c]),
                    )
                    for k in range(len(view.kernels))
                )
            )
    if rows[0][0] == "Ratio":
        labels.append(("Gmean", ""))
        cells.append(tuple(_gmean(rows[0][1][:, list(cases)], view.case_info[cases[0]].sign)))
    text = _text(view, labels, cells, dashes)
    whole = (caption(view), *text)
    return Grid(
        whole[0], ("statistic", "case"), view.kernel_labels, tuple(labels), tuple(cells), whole,
        view.notes,
    )  # fmt: skip


def _gmean(ratio: Array, sign: int) -> list[Cell]:
    """Return the geometric mean of each kernel's ratios; no figure if one is missing."""
    with np.errstate(all="ignore"):
        value = np.exp(np.log(ratio).mean(axis=1))
    return [Cell(_number(v, 4), _percent(sign * 100 * (v - 1))) for v in value.tolist()]


def _text(
    view: View,
    labels: Sequence[tuple[str, str]],
    cells: Sequence[Sequence[Cell]],
    dashes: bool,
) -> tuple[str, ...]:
    w1, w2 = (max(len(label[i]) for label in labels) for i in (0, 1))
    heads = [split(n) for n in view.kernel_labels]
    columns = []
    for k in range(len(heads)):
        column = [row[k] for row in cells]
        value = max(VALUE_WIDTH, *(len(c.value) + 1 for c in column))
        change = max(8 if any(c.change for c in column) else 0, *(len(c.change) for c in column))
        texts = [_cell(c, value, change) for c in column]
        width = max(len(texts[0]), *(len(h) + 1 for h in heads[k]))
        columns.append([h.rjust(width) for h in heads[k]] + [t.rjust(width) for t in texts])
    stubs = [" " * (w1 + 1 + w2)] * 2 + [f"{a:<{w1}} {b:<{w2}}" for a, b in labels]
    lines = [s + "".join(parts) for s, *parts in zip(stubs, *columns, strict=True)]
    if dashes:
        lines.insert(2, "-" * max(map(len, lines)))
    return pad_lines(lines)


def _cell(c: Cell, value: int, change: int) -> str:
    if not change:
        return c.value.rjust(value)
    if not c.change:
        return c.value.rjust(value) + " " * (change + 3)
    left, right = ("*", "*") if c.mark else ("(", ")")
    return f"{c.value:>{value}} {left}{c.change:>{change}}{right}"


def split(name: str) -> tuple[str, str]:
    """Return a kernel name as two header lines, parted where the version ends.

    Examples
    --------
    >>> split("4.20-rc5-teo6")
    ('4.20-rc5', 'teo6')
    >>> split("mainline")
    ('', 'mainline')
    """
    found = re.match(r"(\d[\w.+]*?(?:-rc\d+)?)-(.+)$", name)
    if found:
        return found[1], found[2]
    return "", name


def _number(v: float, decimals: int) -> str:
    return f"{v:.{decimals}f}" if np.isfinite(v) else "-"


def _percent(p: float) -> str:
    return f"{p:.2f}%" if np.isfinite(p) else "-"


def _printed(view: View, era: str | None, cases: Sequence[int], dashes: bool) -> Grid:
    """Lay out a published table: the printed texts in the posted widths."""
    names = {"arithmetic": "Amean", "harmonic": "Hmean", "median": "Median"}
    era = era or "2018"
    w1 = max(map(len, view.mmtests_labels(era)), default=5)
    width = eras.WIDTH[era]
    labels = [(names[view.case_info[c].mean], view.case_labels[c]) for c in cases]
    w2 = max(len(b) for _, b in labels)
    printed = view.printed
    assert printed is not None, "a view without samples has printed texts"
    pct = view.improvement_pct if view.printed_pct is None else view.printed_pct
    pct = np.where(np.isnan(pct), view.improvement_pct, pct)
    cells = [
        tuple(
            Cell(
                printed[k][c],
                f"{pct[k, c]:.2f}%",
                mark="*" if view.significant[k, c] else "",
                verdict=verdicts(pct[k, c], view.significant[k, c]),
            )
            for k in range(len(view.kernels))
        )
        for c in cases
    ]
    heads = [eras.split_name(n) for n in view.kernel_labels]
    lines = [
        " " * (w1 + 1 + w2) + "".join(h[i].rjust(width + eras.PERCENT) for h in heads)
        for i in (0, 1)
    ]
    lines += [
        f"{a:<{w1}} {b:<{w2}}" + "".join(_cell(c, width, 8) for c in row)
        for (a, b), row in zip(labels, cells, strict=True)
    ]
    if dashes:
        lines.insert(2, "-" * (w1 + 1 + w2 + len(view.kernels) * (width + eras.PERCENT)))
    return Grid(
        caption(view), ("statistic", "case"), view.kernel_labels, tuple(labels), tuple(cells),
        pad_lines(lines), view.notes,
    )  # fmt: skip
