"""Write the table of `baselines.md`: every published baseline figure beside the simulated one.

Run it after a change of the engine, of a workload or of the calibration table; it takes some
minutes. Names of workloads or machines choose a part, which is printed and not written::

    python docs/baselines.py
    python docs/baselines.py netperf-udp
"""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from generated import fill, fitted_rows, recovered, significant, table

import tickless

WITHIN = 10.0
"""Largest difference in percent that is not a miss."""

SEED = 2018


@dataclass(frozen=True)
class Row:
    """One published figure: the case of the workload, the simulated metric, value and unit."""

    case: str
    metric: str
    published: float
    unit: str


@dataclass(frozen=True)
class Table:
    """Rows of one workload on one machine, and how to run them."""

    workload: str
    machine: str
    kernel: str
    rows: tuple[Row, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    changes: Mapping[str, float] = field(default_factory=dict)


RECKONED = {
    ("tbench", "8x-SKYLAKE-UMA"): {
        "8": "speed beside a busy sibling (machine)",
        "16": "refill (machine)",
    },
    ("dbench", "48x-HASWELL-NUMA"): {"1": "device", "16": "parallel"},
    ("hackbench", "epyc-2x64-nps1"): dict.fromkeys(
        [f"{n}-groups" for n in (1, 2, 4, 8, 16)], "write, read, lines"
    ),
    ("unixbench", "epyc-2x64-nps1"): {
        "unixbench-dhry2reg-1": "loop",
        "unixbench-dhry2reg-512": "speed beside a busy sibling (machine)",
        "unixbench-syscall-1": "loop",
        "unixbench-syscall-512": "lines",
        "unixbench-pipe-1": "loop",
        "unixbench-spawn-1": "fork, exit",
        "unixbench-spawn-512": "serial",
        "unixbench-execl-1": "loop",
        "unixbench-execl-512": "serial",
    },
    ("ycsb-mongodb", "epyc-2x64-nps1"): {"throughput": "server, client"},
    ("lmbench-comm", "dual-p4-1700"): {
        "2p/0K ctxsw": "as lmbench-ctxsw",
        "AF UNIX": "unix",
        "UDP": "udp",
        "TCP": "tcp",
        "TCP conn": "connect",
    },
}
"""Rows from which the default of a parameter was reckoned before any run, and which parameter."""

REASONS: dict[tuple[str, str, str], list[tuple[str, str]]] = {
    ("dbench", "48x-HASWELL-NUMA", "latency"): [
        (
            "4|8",
            "few clients share the log, and only its lock and two requests at a time are modelled; "
            "the published rows are not monotone in their changes either, which points to "
            "contention in the log",
        ),
        (
            "32|64",
            "device and log are saturated; throttling of writers and layout on disk, which make "
            "the published times collapse, are not modelled",
        ),
    ],
    ("unixbench", "epyc-2x64-nps1", "throughput"): [
        (
            "unixbench-pipe-512",
            "the speed beside a busy sibling is one number for all code; this loop gains less from "
            "the second thread than dhry2reg",
        ),
        ("unixbench-syscall-512", "the price of the shared line is reckoned, and not adjusted"),
    ],
    ("lmbench-ctxsw", "dual-p4-1700", "latency"): [
        (
            ".*",
            "printed in whole microseconds; page colouring, which moves arrays of 16 and 64 KB by "
            "tens of percent, is not modelled",
        ),
    ],
    ("lmbench-comm", "dual-p4-1700", "latency"): [
        ("2p/0K ctxsw", "printed in whole microseconds"),
    ],
    ("pollbench", "dual-p4-1700", "context_switches"): [
        (
            ".*",
            "1.6 switches a hop instead of 1.98: the next process runs on the CPU of the last one "
            "more often than it did",
        ),
    ],
    ("schbench", "epyc-2x64-nps1", "latency p99"): [
        (
            "256|512",
            "the published value is known up to a power of two only: 22.9 ms is preferred because "
            "it is one period of CFS, 45.8 ms is as possible and nearer",
        ),
        (".*", "printed in whole microseconds with changes of up to 18 % between runs"),
    ],
    ("hackbench", "epyc-2x64-nps1", "time"): [
        (
            ".*",
            "write, read and lines are those of a hand fit in a simpler simulator and were not "
            "fitted again: more lines bring 1 to 4 groups within 10 %, and make 16 groups "
            "congested and four times too slow (see the page on hackbench)",
        ),
    ],
}
"""Why rows are off, by workload, machine and metric: (pattern of cases, why)."""


def tables() -> Iterator[Table]:
    """Yield all tables with published absolute figures, in the order of the reports."""
    old, teo, eevdf = (tickless.published(r) for r in ("teo-v5", "teo-v8", "eevdf-2023"))
    yield _printed(old["000-netperf-udp-8x-SKYLAKE-UMA-updated"], repeats=3)
    yield _printed(old["000-sockperf-udp-throughput-48x-HASWELL-NUMA-updated"], repeats=3)
    yield _printed(old["000-dbench4-48x-HASWELL-NUMA-updated"], repeats=2)
    yield _printed(old["000-tbench4-8x-SKYLAKE-UMA-updated"], repeats=3)
    yield _printed(teo["003-netperf-udp"], repeats=3)
    yield _printed(teo["003-sockperf-udp-throughput"], repeats=3)
    yield _printed(eevdf["004-Unixbench"], repeats=1)
    yield _printed(eevdf["004-ycsb"], repeats=1)
    yield from _recovered()
    yield from _of_2003()


def _printed(published: tickless.PublishedTable, **options: Any) -> Table:
    """Return a table whose rows are cases of the workload as they are printed."""
    workload = tickless.Workload(published.benchmark)
    rows = []
    for case, value, info in zip(
        published.cases, published.center[0].tolist(), published.case_info, strict=True
    ):
        metric = "recv" if case.startswith("recv-") else next(iter(workload.reports))
        label = re.sub(r"^(send|recv)-", "", case).removeprefix(workload.prefix)
        if published.benchmark == "ycsb-mongodb":
            label = "throughput"
        if np.isfinite(value):
            known = workload.case(published.machine, label).label
            rows.append(Row(known, metric, value, workload.reports[metric].unit or info.unit))
    return Table(published.benchmark, published.machine, published.kernels[0], tuple(rows), options)


def _recovered() -> Iterator[Table]:
    """Yield what was recovered from the ratios of the 2023 report; its first column is base."""
    found = recovered()
    seconds = {f"{n}-groups": v[0] for n, v in found["hackbench_seconds"].items()}
    parts = (found[part] for part in ("schbench_p99_us", "schbench_preferred_us"))
    late = {n: v[0] for part in parts for n, v in part.items()}
    for workload, values, options in (
        ("hackbench", seconds, {"repeats": 1}),
        ("schbench", late, {"repeats": 5}),
    ):
        info = tickless.Workload(workload).report
        metric = next(iter(tickless.Workload(workload).reports))
        rows = tuple(Row(case, metric, float(v), info.unit) for case, v in values.items())
        yield Table(workload, "epyc-2x64-nps1", "base", rows, options)


def _of_2003() -> Iterator[Table]:
    """Yield the tables of the 2.5.54 report; several runs of a case are averaged."""
    report = tickless.published("context-switch-2003")
    yield _printed(report["002-lmbench-ctxsw-second"], repeats=2)
    yield _printed(report["002-lmbench-comm"], repeats=2)
    figures: dict[tuple[str, str, str, str], list[float]] = {}
    for name in ("002-tbench", "002-pollbench", "002-switch-rate"):
        for cell, value in zip(
            report[name].attrs["cells"], report[name].center[0].tolist(), strict=True
        ):
            key = _figure_of_2003(name, cell)
            if key is not None and np.isfinite(value):
                scale = 1e3 if cell["unit"] == "1000/s" else 1.0
                figures.setdefault(key, []).append(scale * value)
    for workload, machine in dict.fromkeys(key[:2] for key in figures):
        reports = tickless.Workload(workload).reports
        rows = tuple(
            Row(case, metric, np.mean(values).item(), _unit(reports, metric))
            for (w, m, case, metric), values in figures.items()
            if (w, m) == (workload, machine)
        )
        options = {"repeats": 2, "duration_s": 2.0}
        yield Table(workload, machine, "2.5.54", rows, options)


def _unit(reports: Mapping[str, tickless.results.Metric], metric: str) -> str:
    return reports[metric].unit if metric in reports else "1/s"


def _figure_of_2003(name: str, cell: Mapping[str, str]) -> tuple[str, str, str, str] | None:
    """Return workload, machine, case and metric of a cell, or None for other units of one run."""
    workload, machine = cell["workload"], cell["machine"]
    if name == "002-tbench":
        kept = cell["unit"] == "MB/s" and cell["metric"] == "throughput"
        return (workload, machine, "32 clients", "throughput") if kept else None
    if name == "002-pollbench":
        numbers = re.findall(r"(?:handles|processes|loops)=(\d+)", cell["param"])
        return workload, machine, " ".join(numbers), "time"
    if workload == "tbench-2002":
        return workload, machine, "32 clients", "context_switches"
    # The PIII's rate does not say of which row it is.
    numbers = re.findall(r"\d+", cell["param"])
    return (workload, machine, " ".join(numbers), "context_switches") if numbers else None


def simulated(t: Table) -> dict[tuple[str, str], float]:
    """Run the cases of a table; return a value per case and metric."""
    workload = tickless.Workload(t.workload).replace(t.changes)
    cases = list(dict.fromkeys(row.case for row in t.rows))
    found = {}
    for case in cases:  # one at a time: a machine of 256 CPUs needs memory
        res = tickless.simulate(t.machine, t.kernel, workload, cases=case, rng=SEED, **t.options)
        for metric in dict.fromkeys(row.metric for row in t.rows):
            samples = res[metric][0, 0]
            mean = np.median if res.metric_info[metric].mean == "median" else np.mean
            found[case, metric] = float(mean(samples))
    return found


def note(t: Table, row: Row) -> str:
    """Return where a row stands: fitted, reckoned from it, or nothing."""
    main = row.metric == next(iter(tickless.Workload(t.workload).reports))
    if row.case in fitted_rows(t.workload, t.machine):
        if main:
            return "fitted"
        if row.metric == "recv":
            return "send of this size is fitted"
    if t.workload == "tbench-2002" and not main:
        return "bytes per round trip reckoned from it"
    parameter = RECKONED.get((t.workload, t.machine), {}).get(row.case)
    return f"{parameter}: reckoned from it" if parameter and main else ""


def reason(t: Table, row: Row) -> str:
    """Return why a row is off."""
    for pattern, why in REASONS.get((t.workload, t.machine, row.metric), []):
        if re.fullmatch(pattern, row.case):
            return why
    return "not known"


def main(chosen: list[str]) -> None:
    """Run everything, or the workloads and machines chosen, and write or print the tables."""
    parts, misses, counts = [], {}, dict.fromkeys(("rows", "own", "within"), 0)
    for t in tables():
        if chosen and not {t.workload, t.machine} & set(chosen):
            continue
        found = simulated(t)
        lines = []
        for row in t.rows:
            value = found[row.case, row.metric]
            off = 100 * (value / row.published - 1)
            mark = note(t, row)
            counts["rows"] += 1
            if not mark:
                counts["own"] += 1
                counts["within"] += abs(off) <= WITHIN
            if abs(off) > WITHIN:
                key = (t.workload, t.machine, row.metric, reason(t, row))
                text = f"{row.case} ({off:+.0f} %{', fitted' if mark else ''})"
                misses.setdefault(key, []).append(text)
            figures = significant(value), significant(row.published), f"{off:+.1f}"
            words = "yes" if mark else "no", mark
            lines.append((row.case, row.metric, *figures, *words))
        units = ", ".join(dict.fromkeys(f"{r.metric} in {r.unit}" for r in t.rows))
        head = ("case", "metric", "simulated", "published", "difference %", "fitted", "note")
        title = f"### `{t.workload}` on `{t.machine}`, kernel `{t.kernel}`"
        parts.append(f"{title}\n\n{units}\n\n{table(head, lines, left=(0, 1, 6))}")
        print(parts[-1], flush=True)
    missed = "\n".join(
        f"- `{w}` on `{m}`, {metric}: {', '.join(rows)}. Reason: {why}."
        for (w, m, metric, why), rows in misses.items()
    )
    summary = (
        f"{counts['rows']} rows, {counts['rows'] - counts['own']} of them fitted or reckoned from; "
        f"of the other {counts['own']}, {counts['within']} are within {WITHIN:g} % and "
        f"{counts['own'] - counts['within']} are not."
    )
    print(f"{summary}\n{missed}")
    if not chosen:
        fill("baselines.md", "summary", summary)
        fill("baselines.md", "tables", "\n\n".join(parts))
        fill("baselines.md", "misses", missed)


if __name__ == "__main__":
    main(sys.argv[1:])
