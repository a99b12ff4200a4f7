"""Write the tables of `hackbench.md`: tasks in the engine beside two stations on paper.

Run it after a change of the engine or of the workload; it takes some minutes::

    python docs/hackbench.py
    python docs/hackbench.py speed       # time of 16 groups with 1,000 loops, one thread
"""

import sys
import time
from functools import cache

import numpy as np
from generated import fill, recovered, table

import tickless
from tickless import hackbench_model

MACHINE, SEED, LOOPS = "epyc-2x64-nps1", 2023, 500
GROUPS = (1, 2, 4, 8, 16)
COLUMNS = ("base", "eevdf", "eevdf-curb", "eevdf-curb+mathieu", "eevdf-curb+mathieu+aaron")
ROWS = recovered()["hackbench_seconds"]
PUBLISHED = {k: [ROWS[str(g)][i] for g in GROUPS] for i, k in enumerate(COLUMNS)}
"""Seconds, recovered from the ratios of the 2023 report."""

# The model on paper: source of every number is the page that this script fills.
DELAY_NS = {1: 1760.0, 2: 2120.0, 4: 2305.0, 8: 2305.0, 16: 2305.0}
DEMAND_NS = 10.7


@cache
def stations() -> dict[str, np.ndarray]:
    """Return the seconds of 100,000 loops per column, by two stations: no run of the engine."""
    base = hackbench_model(GROUPS, [DELAY_NS[g] for g in GROUPS], DEMAND_NS)
    columns = {
        "base": base,
        "eevdf-curb+mathieu": base.with_queued_wakeups(),
        "eevdf-curb+mathieu+aaron": base.without_line(),
    }
    return {name: model.seconds() for name, model in columns.items()}


@cache
def run(kernel: str, groups: int, packed: float) -> tickless.Results:
    """Run one cell of the engine."""
    workload = tickless.Workload("hackbench").replace(loops=LOOPS, packed=packed)
    case = f"{groups}-groups"
    res = tickless.simulate(MACHINE, kernel, workload, cases=case, repeats=1, rng=SEED, threads=1)
    print(kernel, groups, packed, res["time"].item(), flush=True)
    return res


def seconds(kernel: str, groups: int, packed: float = 0.0) -> float:
    """Return what the engine says, scaled to 100,000 loops."""
    return run(kernel, groups, packed)["time"].item()


def regime(groups: int, packed: float) -> tuple[str, ...]:
    """Return what happens per message under the kernel `base`."""
    res = run("base", groups, packed)
    messages = 400 * LOOPS * groups
    per = [
        res[f"{name}_total"].item() / messages
        for name in ("reads_on_empty", "writes_on_full", "wakeups", "migrations")
    ]
    line = res["load_line_wait_ns_total"].item() / messages
    start = "packed" if packed else "spread"
    return (str(groups), start, *(f"{x:.3f}" for x in per), f"{line:.0f}")


def percent(new: float, old: float) -> str:
    """Return a change of time in percent, positive is faster."""
    return f"{100 * (1 - new / old):+.1f}"


def tables() -> None:
    """Run everything and write the page."""
    rows = []
    for i, g in enumerate(GROUPS):
        was = PUBLISHED["base"][i]
        paper = stations()["base"][i]
        engine = [seconds("base", g, packed) for packed in (0.0, 1.0)]
        off = [f"{100 * (x / was - 1):+.0f} %" for x in (paper, *engine)]
        values = (x for pair in zip((paper, *engine), off, strict=True) for x in pair)
        shown = (v if isinstance(v, str) else f"{v:.2f}" for v in values)
        rows.append((str(g), f"{was:.2f}", *shown))
    head = ("groups", "published s", "stations s", "", "spread s", "", "packed s", "")
    fill("hackbench.md", "base", table(head, rows, left=()))
    head = (
        "groups",
        "start",
        "reads on empty",
        "writes on full",
        "wake-ups",
        "migrations",
        "line wait ns",
    )
    rows = [regime(g, packed) for packed in (0.0, 1.0) for g in GROUPS]
    fill("hackbench.md", "regime", table(head, rows, left=(1,)))
    rows = []
    for i, g in enumerate(GROUPS):
        row = [str(g)]
        for kernel in ("eevdf-curb+mathieu", "eevdf-curb+mathieu+aaron"):
            row.append(percent(PUBLISHED[kernel][i], PUBLISHED["eevdf-curb"][i]))
            row.append(percent(stations()[kernel][i], stations()["base"][i]))
            row.append(percent(seconds(kernel, g), seconds("eevdf-curb", g)))
        rows.append(tuple(row))
    head = (
        "groups",
        "L2: published",
        "stations",
        "engine",
        "both: published",
        "stations",
        "engine",
    )
    fill("hackbench.md", "patches", table(head, rows, left=()))


def speed() -> None:
    """Print how long 16 groups with 1,000 loops take on one thread."""
    workload = tickless.Workload("hackbench").replace(loops=1000)
    wall, cpu = time.perf_counter(), time.process_time()
    res = tickless.simulate(
        MACHINE, "base", workload, cases="16-groups", repeats=1, rng=SEED, threads=1
    )
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    events = np.sum(res["events_total"])
    print(f"{cpu:.1f} s of one core ({wall:.1f} s on the clock), {events:,.0f} events")


if __name__ == "__main__":
    speed() if sys.argv[1:] == ["speed"] else tables()
