"""The picture of a recording: what each CPU does over time, and who wakes whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tickless._arrays import integer
from tickless._extras import wanted
from tickless.errors import InvalidParameterError
from tickless.plots.timeline import COLOURS, MANY, UNITS
from tickless.recording import Recording

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_CPUS = 64
"""More rows than this cannot be told apart on a page."""
MOST_NAMED = 14
"""With more tasks, colours stand for programs."""
MOST_ARROWS = 120
"""More wake-ups than this are not drawn: the arrows would cover the bars."""

Spans = NDArray[np.void]


class _Window:
    """The part that is drawn, and its unit; times count from its start."""

    def __init__(self, r: Recording, start_ns: int | None, end_ns: int | None) -> None:
        if not len(r):
            raise InvalidParameterError("record: nothing happened in the window")
        self.start = int(r.t_ns[0]) if start_ns is None else integer("start_ns", start_ns)
        self.end = int(r.t_ns[-1]) if end_ns is None else integer("end_ns", end_ns)
        if self.start >= self.end:
            raise InvalidParameterError(
                f"start_ns, end_ns: nothing lies between {self.start} and {self.end} ns"
            )
        fits = (u for u in UNITS if self.end - self.start >= 3 * u[0])
        self.ns, self.unit = next(fits, UNITS[-1])

    def bars(self, start: NDArray[Any], end: NDArray[Any]) -> NDArray[np.float64]:
        """Return left ends and widths of what lies in the window."""
        kept = (end > self.start) & (start < self.end)
        left = np.maximum(start[kept], self.start) - self.start
        right = np.minimum(end[kept], self.end) - self.start
        return np.column_stack([left, right - left]) / self.ns


def draw(r: Recording, start_ns: int | None = None, end_ns: int | None = None) -> Figure:
    """Draw `r`; see `Recording.plot`."""
    with wanted():
        import matplotlib.pyplot as plt

    window = _Window(r, start_ns, end_ns)
    cpus = np.unique(r.cpu)
    if len(cpus) > MOST_CPUS:
        raise InvalidParameterError(
            f"cpus: {len(cpus)} are too many to draw; at most {MOST_CPUS}, as slice='llc' has"
        )
    row = {int(cpu): i for i, cpu in enumerate(cpus)}
    figure, ax = plt.subplots(figsize=(11, 0.45 * len(cpus) + 1.7), layout="constrained")
    _idle(r, window, row, ax)
    _runs(r, window, row, ax)
    few = _wakeups(r, window, row, ax)
    ax.set_yticks(range(len(cpus)), [f"CPU {cpu}" for cpu in cpus])
    ax.set_ylim(len(cpus) - 0.4, -0.6)
    ax.set_xlim(0, (window.end - window.start) / window.ns)
    ax.set_xlabel(f"time from {window.start / 1e6:.6g} ms, {window.unit}")
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    title = f"{r.machine}, {r.kernel}, case {r.case}"
    if not few:
        title += "; too many wake-ups to draw, a shorter part shows them"
    if r.lost:
        title += f"; cut: {r.lost} happenings lost"
    ax.set_title(title, loc="left", fontsize=10)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=8,
                  frameon=False, fontsize=8.5, handlelength=1.4)  # fmt: skip
    return figure


def _idle(r: Recording, window: _Window, row: dict[int, int], ax: Any) -> None:
    """Shade idle states, the deeper the darker."""
    periods = r.idle_periods()
    shades = np.linspace(0.9, 0.55, max(2, len(r.states)))
    for state in np.unique(periods["state"]).tolist():
        label = f"idle: {r.states[state]}"
        for cpu, i in row.items():
            own = (periods["cpu"] == cpu) & (periods["state"] == state)
            bars = window.bars(periods["start_ns"][own], periods["end_ns"][own])
            if not len(bars):
                continue
            style = {"lw": 0, "zorder": 1, "rasterized": len(bars) > MANY}
            ax.broken_barh(bars, (i - 0.38, 0.76), color=str(shades[state]), label=label, **style)
            label = "_"


def _runs(r: Recording, window: _Window, row: dict[int, int], ax: Any) -> None:
    """Draw a bar where a task has a CPU."""
    runs = r.runs()
    runs = runs[(runs["end_ns"] > window.start) & (runs["start_ns"] < window.end)]
    # Thin gaps part runs of one colour as long as they do not cover the bars.
    edge = 0.4 if len(runs) <= 400 else 0
    for i, (label, own) in enumerate(_coloured(r, runs)):
        colour, hatch = COLOURS[i % len(COLOURS)], ("", "////", "....")[i // len(COLOURS) % 3]
        for cpu, at in row.items():
            here = own[own["cpu"] == cpu]
            bars = window.bars(here["start_ns"], here["end_ns"])
            if not len(bars):
                continue
            style = {"lw": edge, "ec": "white", "zorder": 2, "rasterized": len(bars) > MANY}
            style |= {"hatch": hatch} if hatch else {}
            ax.broken_barh(bars, (at - 0.28, 0.56), fc=colour, label=label, **style)
            label = "_"


def _coloured(r: Recording, runs: Spans) -> list[tuple[str, Spans]]:
    """Split the runs by what has a colour: tasks if they are few, else their programs."""
    tasks = np.unique(runs["task"]).tolist()
    if len(tasks) <= MOST_NAMED:
        return [(r.task_name(task), runs[runs["task"] == task]) for task in tasks]
    program = {task: r.task_name(task).rpartition("-")[0] for task in tasks}
    of = np.array([program[task] for task in runs["task"].tolist()])
    return [(name, runs[of == name]) for name in dict.fromkeys(program.values())]


def _wakeups(r: Recording, window: _Window, row: dict[int, int], ax: Any) -> bool:
    """Draw an arrow from waker to wakee, a triangle on one CPU; False if there are too many."""
    found, wakers = r.wakers()
    inside = (r.t_ns[found] >= window.start) & (r.t_ns[found] <= window.end)
    if np.count_nonzero(inside) > MOST_ARROWS:
        return False
    here = []
    for i, waker in zip(found[inside].tolist(), wakers[inside].tolist(), strict=True):
        x = (int(r.t_ns[i]) - window.start) / window.ns
        by, on = row[waker], row[int(r.b[i])]
        if by == on:
            here.append((x, on + 0.4))
            continue
        ax.annotate("", (x, on), (x, by), zorder=4,
                    arrowprops={"arrowstyle": "-|>", "lw": 0.9, "color": "black",
                                "shrinkA": 0, "shrinkB": 4})  # fmt: skip
    if here:
        x, y = np.array(here).T
        ax.scatter(x, y, marker="^", s=22, facecolor="white", edgecolor="black", linewidth=0.7,
                   zorder=4, clip_on=False, label="wake-up on the waker's CPU")  # fmt: skip
    return True
