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

MACHINE, SEED, LOOPS = "epyc-2x64-nps1", 2023, 500
GROUPS = (1, 2, 4, 8, 16)
COLUMNS = ("base", "eevdf", "eevdf-curb", "eevdf-curb+mathieu", "eevdf-curb+mathieu+aaron")
ROWS = recovered()["hackbench_seconds"]
PUBLISHED = {k: [ROWS[str(g)][i] for g in GROUPS] for i, k in enumerate(COLUMNS)}
"""Seconds, recovered from the ratios of the 2023 report."""

# The model on paper: source of every number is the page that this script fills.
DELAY_US = {1: 1.76, 2: 2.12, 4: 2.305, 8: 2.305, 16: 2.305}
DEMAND_US = 0.0107
LINE_US, REST_US, KAPPA = 0.157, 0.0045, 0.33
SENDERS, MESSAGES = 20, 20 * 100_000


def two_stations(groups: int, demand: float) -> float:
    """Return the seconds of 100,000 loops: a delay and one shared server, solved exactly.

    This is the arithmetic of mean-value analysis written down here, not a run of the engine.

    Parameters
    ----------
    groups : int
        20 senders each; they are the customers.
    demand : float
        Time of a message at the server, us.
    """
    delay, queue, rate = DELAY_US[groups], 0.0, 0.0
    customers = SENDERS * groups
    for k in range(1, customers + 1):
        response = demand * (1 + queue)
        rate = k / (delay + response)
        queue = rate * response
    return customers / rate * 1e-6 * MESSAGES


def demands() -> dict[str, float]:
    """Return the time of a message at the server per column, us."""
    migrations = (DEMAND_US - REST_US) / (2 * LINE_US)
    fewer = 2 * KAPPA * migrations * LINE_US + REST_US
    return {
        "base": DEMAND_US,
        "eevdf-curb": DEMAND_US,
        "eevdf-curb+mathieu": fewer,
        "eevdf-curb+mathieu+aaron": 0.0,
    }


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
    model = demands()
    rows = []
    for i, g in enumerate(GROUPS):
        was = PUBLISHED["base"][i]
        paper = two_stations(g, model["base"])
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
            row.append(percent(two_stations(g, model[kernel]), two_stations(g, model["base"])))
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
