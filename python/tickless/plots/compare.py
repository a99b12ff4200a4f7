"""Pictures of a comparison: effects with their intervals, and the samples themselves.

Colours are a set that colour-blind readers can tell apart; significance is a filled mark against
an open one, so that it survives black and white.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tickless._extras import wanted
from tickless.errors import InvalidParameterError, UnknownNameError, known_name
from tickless.plots._axes import checked

if TYPE_CHECKING:
    from tickless.comparison import Comparison

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5f5f5f")
"""One per kernel under test: Okabe and Ito's palette without black and yellow."""
MARKERS = "osD^vPX"
BASELINE = "#333333"
MOST_KERNELS = 60
"""More symbols than this in a row cannot be told apart."""
MOST_ROWS = 40
"""Cases one picture shows; more would be unreadable."""


def plot(c: Comparison, kind: str = "effect", *, ax: Any = None, cases: Any = None) -> Any:
    """Draw a comparison.

    Parameters
    ----------
    c : Comparison
        What to draw.
    kind : {"effect", "samples"}
        Improvement in percent with its interval per case, or every sample around its mean.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.
    cases : sequence of str, optional
        Which cases; the first 40 if None.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    UnknownNameError
        For another kind or an unknown case.
    InvalidParameterError
        For more than 60 kernels.
    """
    kinds = {"effect": _effect, "samples": _samples}
    known_name("kind", kind, kinds)
    if len(c.kernels) > MOST_KERNELS:
        raise InvalidParameterError(
            f"kernels: {len(c.kernels)} are too many to draw; at most {MOST_KERNELS}"
        )
    rows = _rows(c, cases)
    if ax is None:
        with wanted():
            import matplotlib.pyplot as plt

        height = 1.5 + len(rows) * max(0.32, 0.16 * len(c.kernels))
        _, ax = plt.subplots(figsize=(8.5, height), layout="constrained")
    checked("ax", ax)
    kinds[kind](c, ax, rows)
    ax.set_yticks(range(len(rows)), [_plain(c.case_labels[i]) for i in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_ylabel(_plain(c.case_title.rstrip(":")))
    for edge in np.arange(len(rows) - 1) + 0.5:
        ax.axhline(edge, color="0.9", linewidth=0.6, zorder=0)
    ax.spines[["top", "right"]].set_visible(False)
    left_out = len(c.cases) - len(rows) if cases is None else 0
    note = f" (first {len(rows)} of {len(c.cases)} cases)" if left_out else ""
    place = f" on {c.machine}" if c.machine else ""
    ax.set_title(_plain(f"{c.benchmark}{place}: {c.metric}{note}"), loc="left", fontsize=11)
    return ax


def _rows(c: Comparison, cases: Any) -> list[int]:
    if cases is None:
        return list(range(min(len(c.cases), MOST_ROWS)))
    known = {name: i for i, name in enumerate(c.case_labels)} | {
        name: i for i, name in enumerate(c.cases)
    }
    missing = [n for n in cases if n not in known]
    if missing:
        raise UnknownNameError(f"unknown case {missing[0]!r}; known: {', '.join(c.cases[:8])}")
    return [known[n] for n in cases]


def _plain(text: str) -> str:
    """Return text whose dollar signs do not start a formula."""
    return text.replace("$", r"\$")


def _offsets(n: int) -> Any:
    """Return the heights of `n` kernels within a row, the first on top."""
    return (np.arange(n) - (n - 1) / 2) * min(0.22, 0.8 / max(n, 1))


def _effect(c: Comparison, ax: Any, rows: list[int]) -> None:
    y = np.arange(len(rows))
    for k, offset in zip(range(1, len(c.kernels)), _offsets(len(c.kernels) - 1), strict=True):
        x, low, high = (a[k, rows] for a in (c.improvement_pct, c.ci_low, c.ci_high))
        colour, marker = COLOURS[(k - 1) % len(COLOURS)], MARKERS[(k - 1) % len(MARKERS)]
        ax.hlines(y + offset, low, high, color=colour, linewidth=1.6, zorder=2)
        star = c.significant[k, rows]
        label = _plain(c.kernel_labels[k])
        style = {"color": colour, "marker": marker, "linestyle": "none", "zorder": 3}
        ax.plot(x[star], (y + offset)[star], markersize=6.5, label=label, **style)
        ax.plot(
            x[~star],
            (y + offset)[~star],
            markersize=6.5,
            markerfacecolor="white",
            markeredgewidth=1.4,
            **style,
        )
    ax.axvline(0, color=BASELINE, linewidth=1.2, zorder=1)
    ax.set_xlabel(f"improvement over {_plain(c.kernel_labels[0])}, %  (right is better)")
    _limits(c, ax, rows)
    _legend(c, ax)


def _limits(c: Comparison, ax: Any, rows: list[int]) -> None:
    """Keep the points in view; an interval far wider than all points may leave it."""
    points = c.improvement_pct[:, rows]
    if not np.isfinite(points).any():
        return
    reach = max(1.0, float(np.nanmax(np.abs(points))))
    edges = np.abs(np.stack([c.ci_low[:, rows], c.ci_high[:, rows]]))
    widest = float(np.nanmax(edges)) if np.isfinite(edges).any() else reach
    limit = 1.08 * min(max(reach, widest), 3 * reach)
    ax.set_xlim(-limit, limit)


def _legend(c: Comparison, ax: Any) -> None:
    from matplotlib.lines import Line2D

    def example(face: str, label: str) -> Any:
        return Line2D([], [], color="0.3", marker="o", linestyle="none", markersize=6.5,
                      markerfacecolor=face, label=label)  # fmt: skip

    level = "" if c.rule.startswith("mmtests") else f", alpha {c.alpha:g}"
    handles = [
        *ax.get_legend_handles_labels()[0],
        example("0.3", f"significant ({c.rule}{level})"),
        example("white", "not significant"),
    ]
    ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def _samples(c: Comparison, ax: Any, rows: list[int]) -> None:
    """Draw every sample in percent of the baseline's mean of its case."""
    y = np.arange(len(rows))
    for k, offset in enumerate(_offsets(len(c.kernels))):
        colour = BASELINE if k == 0 else COLOURS[(k - 1) % len(COLOURS)]
        marker = "o" if k == 0 else MARKERS[(k - 1) % len(MARKERS)]
        with np.errstate(all="ignore"):
            scale = 100 / c.center[0, rows]
        if c.samples is not None:
            x = c.samples[k, rows] * scale[:, None]
            heights = np.broadcast_to((y + offset)[:, None], x.shape)
            ax.plot(
                x.ravel(), heights.ravel(), marker, color=colour, alpha=0.45, markersize=4, zorder=2
            )
        ax.plot(
            c.center[k, rows] * scale,
            y + offset,
            "|",
            color=colour,
            markersize=13,
            markeredgewidth=2.4,
            label=_plain(c.kernel_labels[k]),
            zorder=3,
        )
    ax.axvline(100, color=BASELINE, linewidth=0.8, linestyle=":", zorder=1)
    better = "right" if c.case_info[0].better == "higher" else "left"
    what = _plain(f"{c.metric}, % of the mean of {c.kernel_labels[0]}")
    ax.set_xlabel(f"{what}  ({better} is better)")
    ax.legend(
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        title="bar: mean, dots: samples",
        alignment="left",
    )
