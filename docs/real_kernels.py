"""Write ``real_kernels.md``: the simulation beside real kernels, from the numbers that ship."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from generated import fill, table

import tickless
from tickless.recording import SWITCH, WAKEUP, Recording

REAL = Path(__file__).parents[1] / "tests" / "data" / "real"
TRACING_NS = 500
"""Cost of one traced event: 0.5 to 0.6 us lie between back-to-back events of the real traces."""
KERNELS = ("6.1", "6.12", "7.2")
HEAD_START_NS = 5_000_000
"""The programs begin together, so long after the recording does."""
QUANTILES = (50, 90, 99)


def machine(tracing_ns: int) -> tickless.Machine:
    """Return the recorded machine without an idle driver: it halts and comes back at once."""
    deeper = ("POLL", "C1E", "C3", "C6", "C7s", "C8")
    return tickless.Machine("emulated-1cpu").replace(
        {"costs.trace_event_ns": tracing_ns, "states.C1.wake_ns": 0}
        | {f"states.{state}.disabled": True for state in deeper}
    )


def simulated(
    kernel: str | tickless.Kernel, run: str, tracing_ns: int = TRACING_NS, record: bool = False
) -> tickless.Simulation:
    """Simulate one run: ``tbench-N``, or a program of the workload ``recorded``."""
    if run.startswith("tbench-"):
        workload, case, warmup = "tbench", run.removeprefix("tbench-"), None
    else:
        workload, case, warmup = "recorded", run, 0.0
    return tickless.simulate(
        machine(tracing_ns), [kernel], workload, cases=[case], repeats=1, warmup_s=warmup,
        record=record,
    )  # fmt: skip


def one(res: tickless.Simulation, metric: str) -> float:
    """Return the one value of a metric."""
    return float(res.metrics[metric].ravel()[0])


def operations(kernel: str | tickless.Kernel, run: str) -> float:
    """Return round trips per second; only the pipe pair was traced from beginning to end."""
    res = simulated(kernel, run, TRACING_NS if run == "pingpong" else 0)
    rate = one(res, "context_switches") / one(res, "context_switches_per_op")
    if run == "pingpong":
        span = one(res, "elapsed_s")
        return rate * span / (span - HEAD_START_NS / 1e9)
    return rate


def client_blocks(kernel: str | tickless.Kernel, run: str) -> float:
    """Return sleeps of a client per round trip: all sleeps, less the one of the server."""
    return one(simulated(kernel, run, 0), "blocks_per_op") - 1


def lengths(r: Recording) -> dict[str, list[float]]:
    """Return quantiles of slices and of wake-up to switch, us, by the rule of the real numbers."""
    begin = 0 if r.t_ns[0] > HEAD_START_NS else HEAD_START_NS + 1_000_000
    runs = r.runs()
    runs = runs[runs["start_ns"] >= begin]
    slices = np.sort(runs["end_ns"] - runs["start_ns"])
    woken: dict[int, int] = {}
    waits = []
    for t, kind, a, b in zip(*(c.tolist() for c in (r.t_ns, r.kind, r.a, r.b)), strict=True):
        if kind == WAKEUP and t >= begin:
            woken[a] = t
        elif kind == SWITCH and b in woken:
            waits.append(t - woken.pop(b))
    found = {"slice": slices, "wake2run": np.sort(waits)}
    return {k: [float(v[len(v) * q // 100]) / 1000 for q in QUANTILES] for k, v in found.items()}


def measured(name: str) -> list[dict[str, str]]:
    """Return the rows of a measured table."""
    with (REAL / name).open(newline="") as f:
        return list(csv.DictReader(f))


def changed(kernel: str, change: str) -> tickless.Kernel:
    """Return a kernel with ``FEATURE=on`` or ``FEATURE=off``."""
    k = tickless.Kernel(kernel)
    if not change:
        return k
    feature, value = change.split("=")
    return k.replace({f"features.{feature}": value == "on"})


def blocking_rows() -> Iterator[tuple[Any, ...]]:
    """Yield kernel, change, clients, real and simulated sleeps of a client per round trip."""
    for row in measured("blocking.csv"):
        share = client_blocks(changed(row["kernel"], row["change"]), f"tbench-{row['clients']}")
        real = float(row["client_blocks_per_trip"])
        yield row["kernel"], row["change"] or "-", row["clients"], real, share


def change_rows() -> Iterator[tuple[Any, ...]]:
    """Yield run, kernel, real and simulated change of operations against 6.1, percent.

    Last comes the simulated change with the switch path of 6.1.
    """
    real = {(r["run"], r["kernel"]): r["operations_per_s"] for r in measured("runs.csv")}
    for run in ("tbench-1", "tbench-2", "pingpong"):
        base = operations("6.1", run)
        for kernel in KERNELS[1:]:
            was = 100 * (float(real[run, kernel]) / float(real[run, "6.1"]) - 1)
            plain = tickless.Kernel(kernel).replace(switch_permille=1000)
            found = [100 * (operations(k, run) / base - 1) for k in (kernel, plain)]
            yield run, kernel, was, *found


def run_rows() -> Iterator[tuple[dict[str, str], tickless.Simulation, dict[str, list[float]]]]:
    """Yield the measured row, the simulation and its quantiles for every run."""
    for row in measured("runs.csv"):
        res = simulated(row["kernel"], row["run"], record=True)
        yield row, res, lengths(res.recording())


def switches_per_s(res: tickless.Simulation, run: str) -> float:
    """Return switches per second of the programs."""
    span = one(res, "elapsed_s") - (0 if run.startswith("tbench") else HEAD_START_NS / 1e9)
    return one(res, "context_switches_total") / span


def blocking_table() -> str:
    """Return the table of sleeps per round trip."""
    rows = [
        [k, c, n, f"{real:.2f}", f"{found:.2f}", "hit" if abs(found - real) <= 0.1 else "miss"]
        for k, c, n, real, found in blocking_rows()
    ]
    return table(["kernel", "changed", "clients", "real", "simulated", "within 0.1"], rows)


def change_table() -> str:
    """Return the table of operations."""
    rows = []
    for run, kernel, was, found, plain in change_rows():
        verdict = "hit" if 1 / 1.5 <= found / was <= 1.5 else "miss"
        rows.append(
            [run, kernel, *(f"{x:+.1f} %" for x in (was, found)), verdict, f"{plain:+.1f} %"]
        )
    head = ["run", "6.1 to", "real", "simulated", "within a factor 1.5", "without the longer path"]
    return table(head, rows)


def runs_table() -> str:
    """Return the table of rates, shares and quantiles: real / simulated."""
    rows = []
    for row, res, found in run_rows():
        share, real = one(res, "voluntary_share"), float(row["voluntary_share"])
        cells = [row["run"], row["kernel"]]
        cells.append(f"{row['cs_per_s'] or '-'} / {switches_per_s(res, row['run']):.0f}")
        cells.append(f"{real:.2f} / {share:.2f}{'' if abs(share - real) <= 0.1 else ' **miss**'}")
        for what in ("slice", "wake2run"):
            was = [row[f"{what}_p{q}_us"] for q in QUANTILES]
            shown = ", ".join(f"{float(x):.5g}" for x in was) if all(was) else "-"
            cells.append(f"{shown} / {', '.join(f'{x:.5g}' for x in found[what])}")
        rows.append(cells)
    head = ["run", "kernel", "switches/s", "voluntary share", "slice p50, p90, p99 us",
            "wake-up to switch p50, p90, p99 us"]  # fmt: skip
    return table(head, rows)


PARTS = {"blocking": blocking_table, "changes": change_table, "runs": runs_table}
"""The tables of the page, by their markers."""


if __name__ == "__main__":
    for part, make in PARTS.items():
        fill("real_kernels.md", part, make())
