"""The picture of a task graph: programs as boxes, messages as arrows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tickless._extras import wanted
from tickless.errors import InvalidParameterError
from tickless.plots._axes import checked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tickless.task_graph import Edge, Node, TaskGraph

MOST_NODES = 40
"""More than these cannot be told apart on a page."""

VERBS = {
    "sends": ("#0072b2", "-"),
    "asks": ("#0072b2", (0, (5, 2))),
    "answers": ("#009e73", "-"),
    "releases": ("#cc79a7", (0, (5, 2))),
    "forks": ("#d55e00", "-"),
    "uses": ("#555555", (0, (1, 1.5))),
}
"""Colour-blind safe (Okabe and Ito), told apart by dashes and words in grey print."""

BACK = frozenset({"answers", "releases"})
"""They go back to where a request came from, and do not say who comes after whom."""

COLUMN, ROW = 3.4, 1.5
"""Distances of nodes in inches."""

WORDS = {"program": "tasks", "device": "at a time", "barrier": "parties"}


def draw(graph: TaskGraph, title: str, ax: Any = None) -> Figure:
    """Draw `graph`; see `Workload.plot`."""
    with wanted():
        import matplotlib.pyplot as plt

    if len(graph.nodes) > MOST_NODES:
        raise InvalidParameterError(
            f"graph: {len(graph.nodes)} nodes are too many to draw, at most {MOST_NODES}; "
            "print it instead"
        )
    places = _places(graph)
    columns = 1 + max(x for x, _ in places)
    rows = 1 + max(y for _, y in places) - min(y for _, y in places)
    if ax is None:
        size = (max(4.5, COLUMN * columns), max(2.4, ROW * rows + 0.9))
        figure, ax = plt.subplots(figsize=size, layout="constrained")
    else:
        figure = checked("ax", ax).figure
    boxes = [_node(ax, node, place) for node, place in zip(graph.nodes, places, strict=True)]
    pairs = {(e.source, e.target) for e in graph.edges}
    drawn: dict[tuple[int, int], int] = {}
    for edge in graph.edges:
        ends = (edge.source, edge.target)
        again = drawn.get(ends, 0)
        drawn[ends] = again + 1
        _edge(ax, edge, boxes, places, both=ends[::-1] in pairs, again=again)
    ys = [y for _, y in places]
    ax.set_xlim(-0.55, columns - 0.45)
    ax.set_ylim(min(ys) - 0.65, max(ys) + 0.65)
    ax.set_title(title, loc="left")
    ax.axis("off")
    return figure


def _places(graph: TaskGraph) -> list[tuple[float, float]]:
    """Return column and row of each node: columns by distance from where work begins."""
    depth: dict[int, int] = {}
    there = [e for e in graph.edges if e.verb not in BACK and e.source != e.target]
    targets = {e.target for e in there}
    starts = [i for i in range(len(graph.nodes)) if i not in targets]
    for start in [*starts, *range(len(graph.nodes))]:
        if start in depth:
            continue
        depth[start] = 0
        line = [start]
        while line:
            node = line.pop(0)
            for e in there:
                if e.source == node and e.target not in depth:
                    depth[e.target] = depth[node] + 1
                    line.append(e.target)
    columns: dict[int, list[int]] = {}
    for node in range(len(graph.nodes)):
        columns.setdefault(depth[node], []).append(node)
    places: dict[int, tuple[float, float]] = {}
    for column, nodes in columns.items():
        for row, node in enumerate(nodes):
            places[node] = (column, (len(nodes) - 1) / 2 - row)
    return [places[i] for i in range(len(graph.nodes))]


def _node(ax: Any, node: Node, place: tuple[float, float]) -> Any:
    program = node.kind == "program"
    words = WORDS.get(node.kind, "in all")
    if node.count == 1 and program:
        words = "task"
    count = f"\n{node.count:,} {words}" if program or node.count > 1 else ""
    return ax.text(
        *place,
        node.name + count,
        ha="center",
        va="center",
        fontsize=10,
        zorder=3,
        bbox={
            "boxstyle": "round,pad=0.5" if program else "square,pad=0.5",
            "facecolor": "#eaf3fa" if program else "#f3f3f3",
            "edgecolor": "#0072b2" if program else "#777777",
        },
    )


def _edge(
    ax: Any,
    edge: Edge,
    boxes: list[Any],
    places: list[tuple[float, float]],
    *,
    both: bool,
    again: int,
) -> None:
    colour, dashes = VERBS[edge.verb]
    label = edge.verb + (f" ×{edge.count:,}" if edge.count > 1 else "")
    (x0, y0), (x1, y1) = places[edge.source], places[edge.target]
    if edge.source == edge.target:
        ax.annotate(
            f"↻ {label}", (x0, y0), (0, 24 + 11 * again), textcoords="offset points",
            ha="center", va="bottom", color=colour, fontsize=8.5,
        )  # fmt: skip
        return
    # Arcs keep there and back apart, and lines in a row or column off the nodes between.
    far = abs(x1 - x0) > 1 or (x0 == x1 and abs(y1 - y0) > 1)
    bend = (0.22 if both else 0.0) + (0.3 if far else 0.0) + 0.22 * again
    ax.annotate(
        "",
        (x1, y1),
        (x0, y0),
        zorder=2,
        arrowprops={
            "arrowstyle": "-|>",
            "color": colour,
            "linestyle": dashes,
            "linewidth": 1.4,
            "connectionstyle": f"arc3,rad={bend}",
            "patchA": boxes[edge.source].get_bbox_patch(),
            "patchB": boxes[edge.target].get_bbox_patch(),
            "shrinkA": 2,
            "shrinkB": 2,
        },
    )
    # Nearer to where it begins: the way back has its label at the other end.
    ax.annotate(
        label,
        _along(0.38 if both else 0.5, (x0, y0), (x1, y1), bend),
        ha="center",
        va="center",
        color=colour,
        fontsize=8.5,
        zorder=4,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85},
    )


def _along(
    part: float, a: tuple[float, float], b: tuple[float, float], bend: float
) -> tuple[float, float]:
    """Return a point of an arc in data coordinates, with the scale of `COLUMN` and `ROW`.

    The arc is what matplotlib draws: a curve of second degree whose control point stands off the
    middle by `bend` times the distance.
    """
    dx, dy = (b[0] - a[0]) * COLUMN, (b[1] - a[1]) * ROW
    out = 2 * part * (1 - part) * bend
    x, y = a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])
    return x + out * dy / COLUMN, y - out * dx / ROW
