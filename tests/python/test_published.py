"""The four reports are data: every cell, mark and irregularity, under registered names."""

import csv
import math
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import tickless
from conftest import shared_or_skip
from tickless.published import alias, cell_classes, label
from tickless.validation import published as validation

DATA = files("tickless.published") / "data"
NAMES = ("teo-v5", "context-switch-2003", "teo-v8", "eevdf-2023")
LONG = {
    "teo-v5": "report000_detail.csv",
    "context-switch-2003": "report002_all.csv",
    "teo-v8": "report003_detail.csv",
    "eevdf-2023": "report004_all.csv",
}
# From the data's README: cells per table.
CELLS = {
    "000-netperf-udp-8x-SKYLAKE-UMA-updated": 90,
    "000-netperf-udp-8x-SKYLAKE-UMA-quoted": 54,
    "000-sockperf-udp-throughput-48x-HASWELL-NUMA-updated": 25,
    "000-dbench4-48x-HASWELL-NUMA-updated": 35,
    "000-tbench4-8x-SKYLAKE-UMA-updated": 30,
    "002-lmbench-ctxsw-first": 7,
    "002-lmbench-ctxsw-second": 14,
    "002-lmbench-comm": 16,
    "003-netperf-udp": 72,
    "003-sockperf-udp-throughput": 20,
    "004-hackbench": 25,
    "004-tbench": 55,
    "004-stream-10": 20,
    "004-stream-100": 20,
    "004-netperf": 50,
    "004-schbench(old)": 50,
    "004-Unixbench": 50,
    "004-ycsb": 5,
    "004-DeathStarBench": 20,
}


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((DATA / name).read_text(encoding="utf-8").splitlines()))


def all_tables() -> dict[str, object]:
    return {k: t for name in NAMES for k, t in tickless.published(name).items()}


def test_the_reports_are_listed_with_their_tables_and_dates():
    listed = {e.name: (e.date, e.tables, e.aliases) for e in tickless.reports()}
    assert listed == {
        "teo-v5": ("2018-11-10", 11, ("000",)),
        "context-switch-2003": ("", 8, ("002",)),
        "teo-v8": ("2018-12-16", 2, ("003",)),
        "eevdf-2023": ("2023-08-25", 9, ("004",)),
    }
    assert "EEVDF" in repr(tickless.reports())
    assert "<table" in tickless.reports()._repr_html_()


def test_tables_have_as_many_cells_as_the_posts():
    tables = all_tables()
    assert {k: tables[k].center.size for k in CELLS} == CELLS


@pytest.mark.parametrize("report", NAMES)
def test_every_cell_of_the_files_is_in_its_table(report):
    tables = tickless.published(report)
    number = tickless.reports()[report].aliases[0]
    for row in rows(LONG[report]):
        table = tables[row["table_id"]]
        system = row["system"] or row["baseline"]
        kernel = table.kernels.index(alias("kernel", system, number))
        case = next(
            j
            for j, c in enumerate(table.attrs["cells"])
            if (c["param"], c["metric"], c["unit"])
            == (row["parameter"], row["metric"], row["unit"])
            and c["machine"] == alias("machine", row["machine"], number)
            and c["workload"] == alias("workload", row["workload"], number)
        )
        assert table.printed[kernel][case] == row["value"]
        for array, column in (("printed_pct", "pct_change"), ("cv_pct", "cv")):
            want = float(row[column] or "nan")
            got = getattr(table, array)[kernel, case]
            assert got == want or (math.isnan(got) and math.isnan(want)), (row, array)
        assert table.starred[kernel, case] == (row["significant"] == "true")
        assert table.tested[kernel, case] == (row["tested"] == "true")
        assert table.mark[case] == row["marker"]
        assert table.case_info[case].better == (row["direction"] or "higher")
        if row["value"] and row["value"] != "8-10":
            assert table.center[kernel, case] == float(row["value"])


def test_the_summary_lists_are_ratios_by_workload_and_machine():
    table = tickless.published("teo-v5")["000-summary-updated"]
    at = table.cases.index("dbench, 48x-HASWELL-NUMA")
    kernel = table.kernels.index("4.18-teo-v2")
    assert table.printed[kernel][at] == "16% worse"
    assert table.printed_pct[kernel, at] == -16.0
    assert table.center[kernel, at] == pytest.approx(1.16)
    at = table.cases.index("tbench, 80x-BROADWELL-NUMA")
    assert table.printed[table.kernels.index("4.18-teo-v3")][at] == "no cahnge"
    assert any("no cahnge" in n for n in table.notes)


def test_the_edited_row_is_kept_as_printed_and_flagged():
    table = tickless.published("eevdf-2023")["004-Unixbench"]
    at = table.cases.index("unixbench-syscall-512")
    assert table.printed_pct[:, at].tolist() == [0.0, 2.42, 9.13, 1.8, 8.91]
    assert table.mark[at] == "^"
    assert table.case_info[at].better == "lower"
    assert any("edited by hand" in n for n in table.notes)
    assert any("inverted" in n for n in table.notes)
    computed = table.compare().improvement_pct[:, at]
    assert computed.round(2).tolist() == [0.0, -2.42, -9.13, -1.8, -8.91]


def test_printed_changes_follow_from_printed_values_but_for_the_edited_row():
    checked, wrong = 0, []
    for key, table in all_tables().items():
        if table.normalised or np.isnan(table.printed_pct).all():
            continue
        c = table.compare()
        for k, j in np.argwhere(~np.isnan(table.printed_pct)):
            checked += 1
            half = 0.5 * 10.0 ** -table.case_info[j].decimals
            base, value = table.center[0, j], table.center[k, j]
            slack = 0.005 + 100 * half * (base + value) / base**2
            if abs(c.improvement_pct[k, j] - table.printed_pct[k, j]) > slack * 1.001:
                wrong.append((key, table.cases[j], table.kernels[k]))
    # The number of absolute cells that the data's description says were re-checked.
    assert checked == 435
    assert {w[:2] for w in wrong} == {("004-Unixbench", "unixbench-syscall-512")}
    assert len(wrong) == 4


def test_normalised_cells_are_one_plus_or_minus_their_improvement():
    checked = 0
    for key, table in tickless.published("eevdf-2023").items():
        if not table.normalised or key == "004-DeathStarBench":
            continue
        sign = np.array([m.sign for m in table.case_info])
        assert np.all(np.abs(1 + sign * table.printed_pct / 100 - table.center) <= 0.00505 + 1e-9)
        checked += table.center.size
    assert checked == 220


def test_quoted_tables_repeat_the_updated_ones():
    tables = tickless.published("teo-v5")
    checked = 0
    for key in tables:
        if key.endswith("-quoted") and "summary" not in key:
            old, new = tables[key], tables[key.replace("-quoted", "-updated")]
            at = [new.kernels.index(k) for k in old.kernels]
            assert np.array_equal(old.center, new.center[at])
            assert np.array_equal(old.starred, new.starred[at])
            checked += old.center.size
    assert checked == 108


def test_every_judged_cell_is_found_by_its_names():
    missing = []
    tables = all_tables()
    for row in cell_classes():
        table = tables[row["table_id"]]
        keys = ("workload", "machine", "metric", "unit", "param")
        at = [
            j
            for j, c in enumerate(table.attrs["cells"])
            if all(c[k] == row[k] for k in keys) and row["kernel"] in table.kernels
        ]
        if len(at) != 1:
            missing.append(row)
            continue
        printed = table.printed_pct[table.kernels.index(row["kernel"]), at[0]]
        if row["change_pct"] and not math.isnan(printed):
            assert printed == float(row["change_pct"])
    assert missing == []


def test_names_are_registered_and_labels_reproduce_the_headings():
    assert (
        label("4.18-teo-v1", "teo-v5", "000-netperf-udp-8x-SKYLAKE-UMA-quoted") == "4.18.0-teo-v1"
    )
    assert label("4.18-teo-v1", "teo-v5", "000-netperf-udp-8x-SKYLAKE-UMA-updated") == "4.18.0-teo"
    assert label("eevdf-curb", "eevdf-2023", "004-ycsb") == "eevdf_curb"
    assert alias("kernel", "teo", "teo-v5") == "4.18-teo-v1"
    with pytest.raises(tickless.UnknownNameError, match=r"nearest: .*eevdf"):
        label("eevdf-curbb", "eevdf-2023")
    with pytest.raises(tickless.UnknownNameError):
        alias("kernel", "no such kernel")


def test_an_unknown_report_names_the_nearest():
    with pytest.raises(tickless.UnknownNameError, match=r"nearest: teo-v"):
        tickless.published("teo-v6")
    with pytest.raises(tickless.UnknownNameError, match="nearest: "):
        tickless.published("eevdf-2023")["004-hackbenc"]


def test_reports_go_by_their_numbers_too():
    assert list(tickless.published("003")) == list(tickless.published("teo-v8"))


def test_published_is_a_function_however_it_was_imported():
    code = (
        "import tickless.published, tickless\n"
        "assert len(tickless.published('teo-v8')) == 2\n"
        "from tickless.published import published\n"
        "assert len(published('teo-v8')) == 2\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    code = "import tickless, sys; assert 'pandas' not in sys.modules; tickless.published('teo-v8')"
    subprocess.run(
        [sys.executable, "-c", code + "; assert 'pandas' not in sys.modules"], check=True
    )


def test_comparing_a_published_table_has_no_p_values_and_says_why():
    c = tickless.published("teo-v8")["003-sockperf-udp-throughput"].compare()
    assert np.isnan(c.p_value).all()
    assert any("no samples" in n for n in c.notes)
    assert c.significant[1:].all()


def test_whole_reports_compare():
    for name in NAMES:
        out = tickless.published(name).compare()
        assert list(out) == list(tickless.published(name))


def test_the_package_holds_the_only_copy_of_the_tables():
    root = Path(__file__).parents[2]
    inside = {".venv", "target", ".git"}
    found = [
        p for p in root.rglob("report00*.csv") if not inside & set(p.relative_to(root).parts[:-1])
    ]
    assert {p.parent.name for p in found} == {"data"}
    assert len(found) == len({p.name for p in found})


def test_the_printed_lines_of_all_reports_come_out_again():
    directory = shared_or_skip("published")
    groups = {g.name: g for g in validation.groups(directory)}
    lines = {n: (g.equal, g.total) for n, g in groups.items() if n.endswith(" lines") and g.exact}
    assert lines == {
        "teo-v5 lines": (153, 153),
        "context-switch-2003 lines": (85, 85),
        "teo-v8 lines": (27, 27),
        "eevdf-2023 lines": (124, 124),
    }
    irregular = {n.split()[0]: g.total for n, g in groups.items() if not g.exact}
    assert irregular == {
        "teo-v5": 7,
        "context-switch-2003": 3,
        "teo-v8": 0,
        "eevdf-2023": 1,
    }
    assert all(": " in d for g in groups.values() for d in g.differences)
    assert groups["copy of the csv rows"].equal == groups["copy of the csv rows"].total > 900


@pytest.mark.parametrize(
    ("report", "old", "new"),
    [
        ("000", "362.27", "362.28"),
        ("000", "-11.99%*", "-11.99%)"),
        ("000", "6% worse", "5% worse"),
        ("002", "121.701", "121.702"),
        ("002", "i686-linu  Linux 2.5.54    1", "i686-linu  Linux 2.5.54     1"),
        ("003", "2.17%", "2.18%"),
        ("004", "0.95 [ 5.10]", "0.96 [ 5.10]"),
        ("004", "( 2.64)", "( 2.65)"),
        ("004", "0.94 [ 5.67]( 2.07) ^", "0.94 [ 5.67]( 2.07) *"),
        ("004", "-14.95%", "-14.96%"),
    ],
)
def test_a_line_that_differs_is_noticed(report, old, new, tmp_path):
    text = (shared_or_skip("published") / "text" / f"report{report}_tables.txt").read_text()
    assert old in text.replace("\u00a0", " ")
    (tmp_path / "text").mkdir()
    changed = text.replace("\u00a0", " ").replace(old, new, 1)
    (tmp_path / "text" / f"report{report}_tables.txt").write_text(changed)
    groups = list(validation.groups(tmp_path))
    assert any(g.failed for g in groups)


def test_a_directory_without_the_texts_is_a_typed_error(tmp_path):
    with pytest.raises(tickless.InputError, match="published results"):
        list(validation.groups(tmp_path))


def test_a_printed_table_compares_with_measured_results_but_is_never_tested():
    table = tickless.published("teo-v8")["003-sockperf-udp-throughput"]
    values = np.repeat(table.center[:1, :, np.newaxis], 5, axis=2) * [1.09, 1.10, 1.10, 1.10, 1.11]
    mine = tickless.Results.build(
        table.benchmark,
        ["mine"],
        table.cases,
        {table.primary: (table.case_info[0], values)},
        machine=table.machine,
    )
    c = tickless.Results.join([table, mine]).compare("4.20-rc5-stock")
    assert c.kernels == (*table.kernels, "mine")
    np.testing.assert_allclose(c.improvement_pct[-1], 10, atol=0.1)
    np.testing.assert_allclose(c.center[:-1], table.center)
    assert not c.significant.any()
    assert any("printed values, no samples" in n for n in c.notes)


def test_ratios_do_not_join_with_values():
    table = tickless.published("eevdf-2023")["004-hackbench"]
    with pytest.raises(tickless.InvalidParameterError, match="ratios to its baseline"):
        table.to_results()
