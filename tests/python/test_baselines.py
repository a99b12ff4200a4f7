"""Baselines: predicted rows are near the published ones, and the manual hides no fit."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

import pytest

import tickless
from conftest import ROOT

PAGE = (ROOT / "docs" / "baselines.md").read_text()
FITS = tomllib.loads((ROOT / "src" / "workload" / "calibration.toml").read_text())["fit"]
TITLE = re.compile(r"^### `(\S+)` on `(\S+)`, kernel `(\S+)`$", re.M)

SKYLAKE, HASWELL, P4, PIII = "8x-SKYLAKE-UMA", "48x-HASWELL-NUMA", "dual-p4-1700", "piii-500"
SANDY, EPYC = "i7-2600k", "epyc-2x64-nps1"
NETPERF, NETPERF_003 = "000-netperf-udp-8x-SKYLAKE-UMA-updated", "003-netperf-udp"
SOCKPERF = "000-sockperf-udp-throughput-48x-HASWELL-NUMA-updated"
TBENCH = "000-tbench4-8x-SKYLAKE-UMA-updated"
POLL = "002-pollbench"

PREDICTED = [
    ("teo-v5", NETPERF, "netperf-udp", SKYLAKE, "send-1024", "1024", 0.05),
    ("teo-v5", SOCKPERF, "sockperf", HASWELL, "300", "300", 0.05),
    ("teo-v5", TBENCH, "tbench", SKYLAKE, "mb/sec-2", "2", 0.05),
    ("teo-v5", TBENCH, "tbench", SKYLAKE, "mb/sec-4", "4", 0.05),
    ("teo-v8", NETPERF_003, "netperf-udp", SANDY, "send-4096", "4096", 0.05),
    ("teo-v8", "003-sockperf-udp-throughput", "sockperf", SANDY, "500", "500", 0.05),
    (
        "context-switch-2003",
        POLL,
        "pollbench",
        P4,
        "dual-p4-1700, handles=2 processes=100 loops=2000 run=1",
        "2 100 2000",
        1.0,
    ),
    (
        "context-switch-2003",
        POLL,
        "pollbench",
        PIII,
        "piii-500, handles=1 processes=100 loops=5000 run=1",
        "1 100 5000",
        1.0,
    ),
    ("context-switch-2003", "002-lmbench-comm", "lmbench-comm", P4, "Pipe", "Pipe", 0.1),
]
"""Report, table, workload, machine, printed row, case, seconds of simulated time."""


def fitted(workload: str, machine: str) -> list[str]:
    """Return the rows that the calibration table lists, as it spells them."""
    own = [f for f in FITS if (f["workload"], f["machine"]) == (workload, machine)]
    return [row for f in own for row in f.get("rows", [])]


@pytest.mark.parametrize(
    ("report", "table", "workload", "machine", "printed", "case", "seconds"),
    PREDICTED,
    ids=[f"{p[2]} {p[5]} {p[3]}" for p in PREDICTED],
)
def test_a_row_that_is_not_fitted_is_within_ten_percent_of_the_published_one(
    report, table, workload, machine, printed, case, seconds
):
    published = tickless.published(report)[table]
    assert printed not in fitted(workload, machine)
    assert case not in fitted(workload, machine)
    res = tickless.simulate(
        machine, published.baseline, workload, cases=case, repeats=1, rng=7, duration_s=seconds
    )
    value = published.center[0][published.cases.index(printed)]
    assert res[res.primary].item() == pytest.approx(value, rel=0.10)


def test_the_99th_percentile_of_few_schbench_workers_is_near_the_recovered_one():
    text = (files("tickless.published") / "data" / "recovered_absolutes.toml").read_text()
    base = tomllib.loads(text)["schbench_p99_us"]["16"][0]
    assert "16" not in fitted("schbench", EPYC)
    res = tickless.simulate(EPYC, "base", "schbench", cases=16, repeats=3, rng=7)
    assert sorted(res["latency p99"][0, 0])[1] == pytest.approx(base, rel=0.10)


def sections() -> dict[tuple[str, str], list[list[str]]]:
    """Return the rows of the committed tables by workload and machine."""
    parts = TITLE.split(PAGE)[1:]
    found = {}
    for workload, machine, _, text in zip(*[iter(parts)] * 4, strict=True):
        lines = re.findall(r"^\| (.*) \|$", text, re.M)[2:]
        found[workload, machine] = [[cell.strip() for cell in r.split("|")] for r in lines]
    return found


def test_every_table_with_absolute_figures_is_in_the_manual():
    wanted = {
        ("netperf-udp", SKYLAKE): 18,
        ("sockperf", HASWELL): 5,
        ("dbench", HASWELL): 7,
        ("tbench", SKYLAKE): 6,
        ("netperf-udp", SANDY): 18,
        ("sockperf", SANDY): 5,
        ("unixbench", EPYC): 10,
        ("ycsb-mongodb", EPYC): 1,
        ("hackbench", EPYC): 5,
        ("schbench", EPYC): 10,
        ("lmbench-ctxsw", P4): 7,
        ("lmbench-comm", P4): 6,
        ("tbench-2002", P4): 2,
        ("pollbench", P4): 6,
        ("pollbench", PIII): 3,
    }
    assert {key: len(rows) for key, rows in sections().items()} == wanted


def test_a_row_called_fitted_is_in_the_calibration_table_and_the_other_way_round():
    for (workload, machine), rows in sections().items():
        model = tickless.Workload(workload)
        listed = {model.case(machine, row).label for row in fitted(workload, machine)}
        assert {r[0] for r in rows if r[-1] == "fitted"} == listed, (workload, machine)
        assert all((r[5] == "yes") == bool(r[-1]) for r in rows)


def test_the_difference_printed_is_that_of_the_two_figures_and_every_miss_is_listed():
    head, _, rest = PAGE.partition("<!-- begin misses -->")
    misses = rest.partition("<!-- end misses -->")[0]
    own = within = 0
    for (workload, machine), rows in sections().items():
        for case, metric, simulated, published, off, is_fitted, _ in rows:
            ratio = float(simulated.replace(",", "")) / float(published.replace(",", ""))
            assert 100 * (ratio - 1) == pytest.approx(float(off), abs=0.2)
            own += is_fitted == "no"
            within += is_fitted == "no" and abs(float(off)) <= 10
            if abs(float(off)) > 10:
                lines = [x for x in misses.splitlines() if f"`{workload}` on `{machine}`" in x]
                assert any(f"{case} (" in x and metric in x for x in lines), (workload, case)
    assert f"of the other {own}, {within} are within 10 %" in head


def test_every_workload_has_a_signature_and_a_sentence():
    page = (ROOT / "docs" / "signatures.md").read_text()
    table, _, words = page.partition("## How to recognise them")
    for entry in tickless.workloads():
        assert f"| `{entry.name}` |" in table
        assert re.search(rf"\*\*{entry.name}\*\*", words), entry.name
