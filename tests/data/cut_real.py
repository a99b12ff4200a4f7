"""Cut what was measured on real kernels with one CPU, for the comparison with the simulation.

Usage: ``python cut_real.py DATA`` where DATA holds ``real_traces`` and ``schedulers/real_7_2``.
Writes ``real/runs.csv`` and ``real/blocking.csv``. Uses nothing of the package: the traces of 7.2
are read with one regular expression, by the rules of the delivered summary of 6.1 and 6.12.
"""

import csv
import gzip
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent / "real"
RUNS = ("pingpong", "tbench-1", "tbench-2", "hogs-eq4", "hogs-nice", "periodic", "mix")
QUANTILES = [f"{what}_{q}_us" for what in ("slice", "wake2run") for q in ("p50", "p90", "p99")]
COLUMNS = ["kernel", "run", "source", "cs_per_s", "voluntary_share", "wakeups_per_s", *QUANTILES,
           "operations_per_s"]  # fmt: skip
LINE = re.compile(r"^\s*.+-(\d+)\s+\[\d+\]\s+\S+\s+(\d+): (\w+): (.*)$")

OPERATIONS_7_2 = {"tbench-1": 22689, "tbench-2": 21725}
"""Round trips in about a second, mostly untraced, as the client counted them (measured, 7.2.13)."""
PIPE_7_2 = {"us_per_round": 18.6, "voluntary_per_round": 1.96}
"""The pipe pair on 7.2.13: no trace was kept (measured)."""

BLOCKING = [
    # kernel, feature changed, clients, sleeps of a client per round trip; all measured
    ("6.1", "", 1, 0.00),
    ("6.1", "", 2, 0.00),
    ("6.12", "", 1, 0.09),
    ("6.12", "", 2, 0.91),
    ("6.12", "DELAY_ZERO=off", 1, 0.08),
    ("6.12", "DELAY_ZERO=off", 2, 0.69),
    ("6.12", "NEXT_BUDDY=on", 1, 0.08),
    ("6.12", "NEXT_BUDDY=on", 2, 0.91),
    ("7.2", "", 1, 0.99),
    ("7.2", "", 2, 0.97),
    ("7.2", "DELAY_ZERO=off", 1, 0.04),
    ("7.2", "DELAY_ZERO=off", 2, 0.74),
    ("7.2", "NEXT_BUDDY=on", 1, 1.00),
    ("7.2", "NEXT_BUDDY=on", 2, 0.98),
]


def summary(path):
    """Yield the rows of 6.1 and 6.12 without a governor."""
    for row in csv.DictReader(path.open()):
        wanted = row["vcpus"] == "1" and row["governor"] == "none" and row["boot"] != "small"
        if not wanted or row["run"] not in RUNS:
            continue
        voluntary, involuntary = int(row["voluntary"]), int(row["involuntary"])
        rate = ""
        if found := re.search(r"tbench_ops=(\d+)", row["result"]):
            rate = found[1]
        elif found := re.match(r"ns_per_round=(\d+)", row["result"]):
            rate = f"{1e9 / int(found[1]):.0f}"
        yield {
            "kernel": row["kernel"],
            "run": row["run"],
            "source": "summary",
            "cs_per_s": row["cs_per_s"],
            "voluntary_share": f"{voluntary / (voluntary + involuntary):.4f}",
            "wakeups_per_s": row["wakeups_per_s"],
            "operations_per_s": rate,
            **{q: f"{int(row[q.replace('_us', '_ns')]) / 1000:.3f}" for q in QUANTILES},
        }


def trace(path, run):
    """Return the row of one trace of 7.2."""
    with gzip.open(path, "rt") as lines:
        events = [m.groups() for line in lines if (m := LINE.match(line))]
    on, woken, slices, waits = {}, {}, [], []
    voluntary = involuntary = switches = wakings = 0
    for _, t, event, rest in events:
        t = int(t)
        fields = dict(re.findall(r"(\w+)=(\S+)", rest))
        if event == "sched_switch":
            switches += 1
            prev, nxt = int(fields["prev_pid"]), int(fields["next_pid"])
            if prev:
                involuntary += fields["prev_state"].startswith("R")
                voluntary += not fields["prev_state"].startswith("R")
                if prev in on:
                    slices.append(t - on[prev])
            on[nxt] = t
            if nxt in woken:
                waits.append(t - woken.pop(nxt))
        elif event == "sched_waking":
            wakings += 1
        elif event == "sched_wakeup":
            woken[int(fields["pid"])] = t
    span = (int(events[-1][1]) - int(events[0][1])) / 1e9
    row = {
        "kernel": "7.2",
        "run": run,
        "source": "trace",
        "cs_per_s": f"{switches / span:.0f}",
        "voluntary_share": f"{voluntary / (voluntary + involuntary):.4f}",
        "wakeups_per_s": f"{wakings / span:.0f}",
        "operations_per_s": str(OPERATIONS_7_2.get(run, "")),
    }
    for what, sample in (("slice", slices), ("wake2run", waits)):
        sample.sort()
        for q in (50, 90, 99):
            row[f"{what}_p{q}_us"] = f"{sample[len(sample) * q // 100] / 1000:.3f}"
    return row


def main(data):
    """Write both files."""
    rows = list(summary(data / "real_traces" / "summary.csv"))
    for path in sorted((data / "schedulers" / "real_7_2").glob("*.trace.gz")):
        rows.append(trace(path, path.name.split("_c1_")[1].removesuffix(".trace.gz")))
    rows.append({"kernel": "7.2", "run": "pingpong", "source": "measured",
                 "voluntary_share": f"{PIPE_7_2['voluntary_per_round'] / 2:.4f}",
                 "operations_per_s": f"{1e6 / PIPE_7_2['us_per_round']:.0f}"})  # fmt: skip
    rows.sort(key=lambda r: (RUNS.index(r["run"]), ["6.1", "6.12", "7.2"].index(r["kernel"])))
    HERE.mkdir(exist_ok=True)
    with (HERE / "runs.csv").open("w", newline="") as f:
        out = csv.DictWriter(f, COLUMNS, restval="", lineterminator="\n")
        out.writeheader()
        out.writerows(rows)
    with (HERE / "blocking.csv").open("w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["kernel", "change", "clients", "client_blocks_per_trip"])
        out.writerows(BLOCKING)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
