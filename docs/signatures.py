"""Write the table of `signatures.md`: what each workload does to the scheduler and the idle loop.

Run it after a change of the engine or of a workload::

    python docs/signatures.py
    python docs/signatures.py tbench dbench      # print these rows only
"""

import sys
from collections.abc import Sequence

import numpy as np
from generated import fill, significant, table

import tickless

MACHINE, KERNEL, SEED = "8x-SKYLAKE-UMA", "4.18-vanilla", 2018

HEAD = (
    "workload",
    "case",
    "wake-ups",
    "blocks",
    "switches",
    "involuntary",
    "idle median us",
    "idle p90 us",
    "busy",
)

CHANGES = {"hackbench": {"loops": 500}}
"""Parameters of workloads that would take long with their defaults."""


def row(name: str) -> Sequence[str]:
    """Run the first case of a workload; return its row.

    Counts are per operation, or per second where the workload counts no operations, which a small
    `/s` says.
    """
    workload = tickless.Workload(name).replace(CHANGES.get(name, {}))
    case = workload.cases(MACHINE)[0]
    res = tickless.simulate(MACHINE, KERNEL, workload, cases=case, repeats=3, rng=SEED)

    def mean(metric: str) -> float:
        return float(np.mean(res[metric]))

    per_op = "wakeups_per_op" in res.metrics and np.isfinite(mean("wakeups_per_op"))
    counts = [
        significant(mean(f"{c}_per_op"), 3) if per_op else f"{significant(mean(c), 3)}/s"
        for c in ("wakeups", "blocks", "context_switches")
    ]
    share = mean("voluntary_share")
    involuntary = "-" if np.isnan(share) else f"{100 * (1 - share):.0f} %"
    idle = [significant(mean(f"idle_period_{q}_us"), 3) for q in ("p50", "p90")]
    return (f"`{name}`", case, *counts, involuntary, *idle, f"{100 * mean('utilisation'):.0f} %")


def main(chosen: list[str]) -> None:
    """Write the table, or print the rows chosen."""
    rows = []
    for entry in tickless.workloads():
        if not chosen or entry.name in chosen:
            rows.append(row(entry.name))
            print(*rows[-1], flush=True)
    if not chosen:
        fill("signatures.md", "table", table(HEAD, rows, left=(0, 1)))


if __name__ == "__main__":
    main(sys.argv[1:])
