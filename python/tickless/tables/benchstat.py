"""Style ``benchstat``: centre with its interval, change with p and n, as Go's benchstat has it.

A difference that is not significant reads ``~``; what the samples could have shown stands behind
it. The last row is the geometric mean.
"""

from __future__ import annotations

import numpy as np

from tickless.stats import means
from tickless.tables import Cell, Grid, View, caption, pad_lines, verdicts


def grid(view: View) -> Grid:
    """Lay a comparison out, two columns per kernel under test: value and change."""
    columns = [view.kernel_labels[0]]
    for label in view.kernel_labels[1:]:
        columns += [label, f"{label} vs base"]
    labels = [(c,) for c in view.case_labels]
    cells = [_row(view, c) for c in range(len(view.cases))]
    labels.append(("geomean",))
    cells.append(_geomean(view))
    text = (caption(view), *_text(view.case_title, labels, columns, cells))
    return Grid(
        text[0], (view.case_title,), tuple(columns), tuple(labels), tuple(cells), text, view.notes
    )


def _row(view: View, c: int) -> tuple[Cell, ...]:
    out = [_value(view, 0, c)]
    for k in range(1, len(view.kernels)):
        out += [_value(view, k, c), _change(view, k, c)]
    return tuple(out)


def _value(view: View, k: int, c: int) -> Cell:
    v = view.center[k, c]
    if np.isnan(v):
        return Cell("-")
    half = view.half_width_pct[k, c]
    spread = f"± {half:.0f}%" if np.isfinite(half) else "± ∞" if view.count[k, c] == 1 else ""
    return Cell(f"{v:.{view.case_info[c].decimals}f}", spread=spread)


def _change(view: View, k: int, c: int) -> Cell:
    """Return the change; the number grew for ``+``, whatever the direction."""
    p, change = view.p_value[k, c], view.change_pct[k, c]
    n0, n1 = int(view.count[0, c]), int(view.count[k, c])
    size = f"n={n0}" if n0 == n1 else f"n={n0}+{n1}"
    if np.isnan(change):
        return Cell("-")
    found = [] if np.isnan(p) else [f"p={p:.3f}"]
    inside = " ".join([*found, size]) if n0 else "printed"
    if view.significant[k, c]:
        verdict = verdicts(view.improvement_pct[k, c], True)
        return Cell(f"{change:+.2f}%", spread=f"({inside})", mark="*", verdict=verdict)
    least = view.detectable_pct[k, c]
    could = f", detects {least:.2g}%" if np.isfinite(least) else ""
    sign = f"{change:+.2f}%" if not n0 else "~"
    return Cell(sign, spread=f"({inside}{could})")


def _geomean(view: View) -> tuple[Cell, ...]:
    there = (np.isfinite(view.center) & (view.center > 0)).all(axis=0)
    if not there.any():
        return (Cell("-"),) * (2 * len(view.kernels) - 1)
    g = np.exp(np.log(view.center[:, there]).mean(axis=1))
    decimals = view.case_info[0].decimals
    out = [Cell(f"{g[0]:.{decimals}f}")]
    for v in g[1:].tolist():
        change = means.change_pct(v, g[0])
        out += [Cell(f"{v:.{decimals}f}"), Cell("-" if np.isnan(change) else f"{change:+.2f}%")]
    return tuple(out)


def _text(
    title: str,
    labels: list[tuple[str]],
    columns: list[str],
    cells: list[tuple[Cell, ...]],
) -> tuple[str, ...]:
    texts = [[_joined(c) for c in row] for row in cells]
    widths = [max(len(h), *(len(r[j]) for r in texts)) for j, h in enumerate(columns)]
    first = max(len(title), *(len(n) for (n,) in labels))
    heads = [h.rjust(w) for h, w in zip(columns, widths, strict=True)]
    lines = [title.ljust(first) + "  " + "  ".join(heads)]
    lines.append("-" * len(lines[0]))
    for (name,), row in zip(labels, texts, strict=True):
        fields = [t.rjust(w) for t, w in zip(row, widths, strict=True)]
        lines.append(name.ljust(first) + "  " + "  ".join(fields))
    return pad_lines(lines)


def _joined(c: Cell) -> str:
    return " ".join(p for p in (c.value, c.spread) if p)
