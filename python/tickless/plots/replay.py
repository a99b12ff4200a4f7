"""The picture of a replay: residency per state, and verdict shares, one bar per governor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tickless._extras import wanted
from tickless.errors import InvalidTypeError
from tickless.plots._axes import checked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tickless.replay import Replay

VERDICT_STYLE = (
    ("below (too shallow)", 2, "#0072b2", "///"),
    ("above (too deep)", 1, "#d55e00", "..."),
)
"""Label, code, colour and hatch: a colour-blind safe pair, told apart by the hatch in print."""


def draw(r: Replay, axes: Any = None) -> Figure:
    """Draw `r` on two axes side by side; see `Replay.plot`."""
    with wanted():
        import matplotlib.pyplot as plt

    own = axes is None
    if own:
        height = 1.6 + 0.32 * len(r.governors)
        figure, axes = plt.subplots(
            1,
            2,
            figsize=(11, max(height, 2.6)),
            sharey=True,
            layout="constrained",
            width_ratios=(3, 2),
        )
    else:
        if not isinstance(axes, Sequence | np.ndarray) or len(axes) != 2:
            raise InvalidTypeError(f"axes: expected two matplotlib Axes, found {axes!r:.80}")
        figure = checked("axes[0]", axes[0]).figure
        checked("axes[1]", axes[1])
    _residency(r, axes[0])
    _verdicts(r, axes[1])
    handles, labels = axes[0].get_legend_handles_labels()
    if own:
        figure.legend(handles, labels, loc="outside lower left", ncols=len(labels), frameon=False)
    else:
        axes[0].legend(handles, labels, ncols=len(labels), fontsize=8)
    axes[0].set_yticks(range(len(r.governors)), r.governors)
    axes[0].set_ylim(len(r.governors) - 0.5, -0.5)
    return figure


def _residency(r: Replay, ax: Any) -> None:
    """Draw the share of idle time per state name, shallow (light) to deep (dark)."""
    import matplotlib as mpl

    frame = r.summary().reset_index()
    names = list(dict.fromkeys(frame["name"]))
    shades = mpl.colormaps["YlGnBu"](np.linspace(0.12, 0.95, len(names)))
    left = np.zeros(len(r.governors))
    table = frame.pivot_table("time_ns", "governor", "name", aggfunc="sum", fill_value=0)
    time = table.reindex(index=r.governors, columns=names).to_numpy(float)
    share = 100 * time / np.maximum(time.sum(axis=1, keepdims=True), 1)
    for j, name in enumerate(names):
        ax.barh(
            range(len(left)),
            share[:, j],
            left=left,
            color=shades[j],
            label=name,
            edgecolor="white",
            linewidth=0.5,
            height=0.75,
        )
        _write_inside(ax, name, left, share[:, j], dark=bool(shades[j][:3].mean() < 0.55))
        left = left + share[:, j]
    ax.set_xlim(0, 100)
    ax.set_xlabel("share of idle time in the chosen state, %")
    ax.set_title(f"Residency ({len(r.periods):,} idle periods)", loc="left", fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)


def _write_inside(ax: Any, name: str, left: Any, width: Any, *, dark: bool) -> None:
    """Name the segments that are wide enough, so that no legend is needed."""
    for y, (x, w) in enumerate(zip(left, width, strict=True)):
        if w >= 2.2 * len(name):
            ax.text(
                x + w / 2,
                y,
                name,
                ha="center",
                va="center",
                fontsize=8,
                color="white" if dark else "#222222",
            )


def _verdicts(r: Replay, ax: Any) -> None:
    """Draw too shallow to the left of zero, too deep to the right."""
    n = max(len(r.periods), 1)
    widest = 0.0
    for label, code, colour, hatch in VERDICT_STYLE:
        share = 100 * (r.verdict == code).sum(axis=1) / n
        sign = -1 if code == 2 else 1
        ax.barh(
            range(len(share)),
            sign * share,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            linewidth=0,
            height=0.75,
            label=label,
        )
        for y, s in enumerate(share):
            ax.annotate(
                f"{s:.1f}",
                (sign * s, y),
                xytext=(sign * 4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                ha="right" if sign < 0 else "left",
            )
        widest = max(widest, float(share.max(initial=0)))
    ax.axvline(0, color="black", linewidth=0.8)
    limit = max(1.0, 1.3 * widest)
    ax.set_xlim(-limit, limit)
    ax.xaxis.set_major_formatter(lambda x, _: f"{abs(x):g}")
    ax.set_xlabel("← too shallow     share of periods, %     too deep →")
    ax.set_title("Verdict: below | above", loc="left", fontsize=11)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
