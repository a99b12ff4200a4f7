"""The picture of a timeline: who runs when, wake-ups and preemptions, and lag below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tickless import _timeline_views as views
from tickless._arrays import integer
from tickless._extras import wanted
from tickless.errors import InvalidParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tickless.timeline import Timeline

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555")
"""Colour-blind safe (Okabe and Ito), without the yellow that vanishes on white."""

DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.3)), (0, (7, 2, 1.5, 2)))
"""Lines of tasks that share a colour, and all lines in grey print, differ in their dashes."""

MOST_TASKS = 60
"""More rows than this cannot be told apart on a page."""

MOST_LINES = 14
"""With more tasks the lag is drawn as the range between the extremes."""

MANY = 3000
"""More marks than this make a vector picture unwieldy; they are drawn as an image inside it."""

UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"))


class _Window:
    """The part of the run that is drawn, and its unit."""

    def __init__(self, t: Timeline, start_ns: int | None, end_ns: int | None) -> None:
        first = int(t.rows["t_ns"].data[0]) if len(t) else 0
        self.start = first if start_ns is None else integer("start_ns", start_ns)
        self.end = t.end_ns if end_ns is None else integer("end_ns", end_ns)
        if self.start >= self.end:
            raise InvalidParameterError(
                f"start_ns, end_ns: nothing lies between {self.start} and {self.end} ns"
            )
        # The largest unit of which the window holds at least a few.
        fits = (u for u in UNITS if self.end - self.start >= 3 * u[0])
        self.ns, self.unit = next(fits, UNITS[-1])

    def scaled(self, time: NDArray[np.int64]) -> NDArray[np.float64]:
        return time / self.ns

    def cut(self, spans: NDArray[np.void]) -> NDArray[np.void]:
        """Return the spans that reach into the window, clipped to it."""
        kept = spans[(spans["end_ns"] > self.start) & (spans["start_ns"] < self.end)].copy()
        kept["start_ns"] = np.maximum(kept["start_ns"], self.start)
        kept["end_ns"] = np.minimum(kept["end_ns"], self.end)
        return kept

    def keep(self, marks: NDArray[np.void]) -> NDArray[np.void]:
        return marks[(marks["t_ns"] >= self.start) & (marks["t_ns"] <= self.end)]


def draw(
    t: Timeline,
    start_ns: int | None = None,
    end_ns: int | None = None,
    names: Sequence[str] | None = None,
) -> Figure:
    """Draw `t`; see `Timeline.plot`."""
    with wanted():
        import matplotlib.pyplot as plt

    _check(t, names)
    window = _Window(t, start_ns, end_ns)
    n = len(t.tasks)
    labels = list(names) if names is not None else [_label(t, i) for i in range(n)]
    reference = views.lag_reference(t)
    rows_height = max(1.1, 0.36 * n)
    heights = [rows_height] if reference is None else [rows_height, 1.9]
    figure, axes = plt.subplots(
        len(heights),
        1,
        figsize=(11, sum(heights) + 1.5),
        sharex=True,
        squeeze=False,
        layout="constrained",
        height_ratios=heights,
    )
    gantt = axes[0, 0]
    _ticks(t, window, list(axes[:, 0]))
    _runs(t, window, gantt)
    _marks(t, window, gantt)
    _rows(gantt, labels, t, window)
    if reference is not None:
        _lags(t, window, axes[1, 0], labels, reference)
    bottom = axes[-1, 0]
    bottom.set_xlim(window.start / window.ns, window.end / window.ns)
    bottom.set_xlabel(f"time, {window.unit}")
    figure.legend(*gantt.get_legend_handles_labels(), **_LEGEND)
    return figure


_LEGEND: dict[str, Any] = {
    "loc": "outside lower center",
    "ncols": 6,
    "frameon": False,
    "fontsize": 8.5,
    "handlelength": 1.6,
}


def _check(t: Timeline, names: Sequence[str] | None) -> None:
    n = len(t.tasks)
    if not len(t):
        raise InvalidParameterError("rows: nothing to draw; run the timeline with rows=True")
    if n > MOST_TASKS:
        raise InvalidParameterError(f"tasks: {n} are too many to draw; at most {MOST_TASKS}")
    if names is not None:
        views.task_names(names, n)


def _label(t: Timeline, i: int) -> str:
    task = t.tasks[i]
    kind = ("", " batch", " idle")[int(task["class"])]
    return f"task {i}, nice {task['nice']}{kind}"


def _colour(i: int) -> str:
    return COLOURS[i % len(COLOURS)]


def _ticks(t: Timeline, window: _Window, axes: Sequence[Any]) -> None:
    """Draw the timer tick where it is seldom enough to be a help."""
    from tickless.timeline import OPERATIONS

    rows = t.rows.data
    tick = (rows["op"] == OPERATIONS.index("TICK")) & (rows["valid"] == 1)
    times = rows["t_ns"][tick]
    times = times[(times >= window.start) & (times <= window.end)]
    if not 0 < len(times) <= 60:
        return
    for j, ax in enumerate(axes):
        for i, x in enumerate(window.scaled(times)):
            label = "timer tick" if i == j == 0 else None
            ax.axvline(x, color="#b8b8b8", lw=0.7, ls=(0, (1, 2)), zorder=0, label=label)


def _runs(t: Timeline, window: _Window, ax: Any) -> None:
    """Draw a bar where a task runs and a thin line where it waits."""
    runs, waits = window.cut(t.segments()), window.cut(views.waits(t))
    rasterized = len(runs) + len(waits) > MANY
    for i in range(len(t.tasks)):
        style = {"rasterized": rasterized, "zorder": 2}
        own = waits[waits["task"] == i]
        label = "ready, waits" if i == 0 else None
        ax.broken_barh(_bars(own, window), (i - 0.06, 0.12), color="#a0a0a0", lw=0, **style)
        own = runs[runs["task"] == i]
        # An edge keeps the shortest runs visible.
        ax.broken_barh(_bars(own, window), (i - 0.3, 0.6), color=_colour(i), lw=0.6, **style)
        if label:
            ax.plot([], [], color="#555555", lw=7, label="runs", solid_capstyle="butt")
            ax.plot([], [], color="#a0a0a0", lw=2, label=label)


def _bars(spans: NDArray[np.void], window: _Window) -> NDArray[np.float64]:
    start, end = window.scaled(spans["start_ns"]), window.scaled(spans["end_ns"])
    return np.column_stack([start, end - start])


def _marks(t: Timeline, window: _Window, ax: Any) -> None:
    """Draw wake-ups below the bars, and a rule where a runnable task lost the CPU."""
    woken, lost = window.keep(views.wakeups(t)), window.keep(views.preemptions(t))
    many = len(woken) + len(lost) > MANY
    size = 26 if len(woken) <= 200 else 10
    for preempts, face, label in (
        (False, "white", "wake-up"),
        (True, "black", "wake-up that preempts"),
    ):
        chosen = woken[woken["preempts"] == preempts]
        ax.scatter(
            window.scaled(chosen["t_ns"]),
            chosen["task"] + 0.4,
            s=size,
            marker="^",
            facecolor=face,
            edgecolor="black",
            linewidth=0.7,
            zorder=4,
            rasterized=many,
            clip_on=False,
            label=label,
        )
    ax.scatter(
        window.scaled(lost["t_ns"]),
        lost["task"],
        s=90 if len(lost) <= 200 else 40,
        marker="|",
        color="black",
        linewidth=1.4 if len(lost) <= 200 else 0.8,
        zorder=3,
        rasterized=many,
        label="preempted",
    )


def _rows(ax: Any, labels: Sequence[str], t: Timeline, window: _Window) -> None:
    n = len(labels)
    ax.set_yticks(range(n), labels)
    ax.set_ylim(n - 0.35, -0.55)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    runs = window.cut(t.segments())
    length = runs["end_ns"] - runs["start_ns"]
    got = np.bincount(runs["task"] + 1, length, n + 1)[1:]
    for i, share in enumerate(100 * got / (window.end - window.start)):
        ax.text(
            1.008,
            i,
            f"{share:.1f} %",
            va="center",
            fontsize=8.5,
            transform=ax.get_yaxis_transform(),
        )
    ax.text(1.008, -0.62, "CPU", va="bottom", fontsize=8.5, transform=ax.get_yaxis_transform())
    ax.set_title(f"{t.policy}: who runs when", loc="left", fontsize=11)


_LAG_TITLES = {
    "avg_vruntime": "Lag: owed time (eligible) above zero, ahead below",
    "min_vruntime": "Virtual run time behind min_vruntime: owed time above zero, ahead below",
}


def _lags(t: Timeline, window: _Window, ax: Any, labels: Sequence[str], reference: str) -> None:
    series = [_visible(*views.lag(t, i), window) for i in range(len(labels))]
    title = _LAG_TITLES[reference]
    ax.axhline(0, color="black", lw=0.8, zorder=1)
    if len(series) <= MOST_LINES:
        for i, (x, y) in enumerate(series):
            style = DASHES[(i // len(COLOURS) + i) % len(DASHES)]
            ax.plot(x, y, color=_colour(i), ls=style, lw=1.4, rasterized=len(x) > MANY)
        _name_lines(ax, series, labels)
    else:
        x = series[0][0]
        all_lags = np.array([y for _, y in series])
        empty = np.isnan(all_lags).all(axis=0)
        all_lags[:, empty] = 0
        low, high = np.nanmin(all_lags, axis=0), np.nanmax(all_lags, axis=0)
        ax.fill_between(x, low, high, color="#56b4e9", alpha=0.5, lw=0, rasterized=True)
        ax.plot(x, np.nanmedian(all_lags, axis=0), color="#0072b2", lw=1.2)
        title += "; range and median of all tasks"
    ax.set_ylabel(f"virtual {window.unit}")
    ax.set_title(title, loc="left", fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)


def _visible(
    time: NDArray[np.int64], value: NDArray[np.float64], window: _Window
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the points of the window with one beyond each edge, so that lines reach the edges."""
    first = max(0, int(np.searchsorted(time, window.start)) - 1)
    last = int(np.searchsorted(time, window.end, side="right")) + 1
    return window.scaled(time[first:last]), value[first:last] / window.ns


def _name_lines(ax: Any, series: Sequence[Any], labels: Sequence[str]) -> None:
    """Write each line's name at its right end, pushed apart so that none covers another."""
    ends = []
    for i, (_, y) in enumerate(series):
        known = y[~np.isnan(y)]
        if len(known):
            ends.append((known[-1], i))
    low, high = ax.get_ylim()
    gap = (high - low) / 11
    ends.sort()
    places = [value for value, _ in ends]
    for k in range(1, len(places)):
        places[k] = max(places[k], places[k - 1] + gap)
    excess = max(0.0, places[-1] - high) if places else 0.0
    for place, (_, i) in zip(places, ends, strict=True):
        ax.text(
            1.008,
            place - excess,
            labels[i].split(",")[0],
            color=_colour(i),
            va="center",
            fontsize=8.5,
            transform=ax.get_yaxis_transform(),
        )
