"""Styles taken from posts: normalised, unixbench, diff, percent and lmbench, to the blank."""

import numpy as np
import pytest

import tickless
from tickless.results import Metric, Results

STYLES = ("normalised", "unixbench", "diff", "percent")


def results(better: str = "lower", mean: str = "arithmetic", **more: object) -> Results:
    """Two cases of three runs each; the second kernel is 10 % slower, then 30 % faster."""
    metric = Metric("s", better, mean, decimals=2, title="time")
    values = [
        [[1.0, 1.1, 0.9], [2.0, 2.1, 1.9]],
        [[1.1, 1.2, 1.0], [1.4, 1.5, 1.3]],
    ]
    return Results.build(
        "hackbench",
        ["base", "eevdf"],
        ["1-groups", "16-groups"],
        {"time": (metric, values)},
        **more,
    )


def lines(res: Results, style: str, **options: object) -> list[str]:
    return res.compare("base", **options).table(style).split("\n")


def test_normalised_rows_of_measured_results():
    got = lines(results(case_title="Case:"), "normalised")
    rule = "=" * 66
    assert got[:7] == [
        rule,
        "Test          : hackbench",
        "Units         : Normalized time in s",
        "Interpretation: Lower is better",
        "Statistic     : AMean",
        rule,
        "Case:            base[pct imp](CV)       eevdf[pct imp](CV)",
    ]
    # CV: 100 * 0.1 / mean with n - 1 in the standard deviation.
    assert got[7:9] == [
        " 1-groups     1.00 [ -0.00](10.00)     1.10 [-10.00]( 9.09)",
        "16-groups     1.00 [ -0.00]( 5.00)     0.70 [ 30.00]( 7.14)  ^",
    ]
    assert any("^ significant improvement" in x for x in got)


def test_a_rate_prints_the_baseline_without_a_sign():
    got = lines(results("higher", "harmonic"), "normalised")
    assert "1.00 [  0.00](10.00)" in got[7]
    assert got[3] == "Interpretation: Higher is better"
    assert got[4] == "Statistic     : HMean"


def test_improvements_wider_than_the_brackets_push_the_row():
    res = results()
    wide = np.array(res["time"])
    wide[1, 0] *= 3
    got = lines(res.replace(metrics={"time": wide}), "normalised")
    assert "     3.30 [-230.00]( 9.09)" in got[7]


def test_a_name_one_too_wide_takes_a_blank_from_the_gap():
    t = tickless.published("eevdf-2023")["004-netperf"]
    rows = t.compare().table("normalised").split("\n")
    ten, eleven = (next(r for r in rows if f"{n}-clients" in r) for n in ("64", "128"))
    assert ten.index("1.00") == eleven.index("1.00") == 15
    assert eleven.startswith("128-clients    1.00")


def test_a_missing_cell_is_a_dash_in_every_style():
    res = results()
    holes = np.array(res["time"])
    holes[1, 0] = np.nan
    res = res.replace(metrics={"time": holes})
    for style in STYLES:
        grid = res.compare("base").grid(style)
        assert grid.cells[0][1].value == "-", style
        assert "nan" not in res.compare("base").table(style), style


def test_unixbench_cells_have_stars_where_the_test_says_so():
    got = lines(results(), "unixbench")
    assert got[6] == " " * 15 + "                      base                     eevdf"
    assert got[7].startswith("Amean 1-groups            1.00 (   0.00%)")
    assert got[7].endswith("1.10 ( -10.00%)")
    assert got[8].endswith("1.40 *  30.00%*  ^")


def test_unixbench_values_wider_than_the_column_keep_a_blank():
    res = results()
    res = res.replace(metrics={"time": np.array(res["time"]) * 1e17})
    row = lines(res, "unixbench")[7]
    assert ") 110000000000000000" in row.replace("000.00", "000") or " 1100000" in row


def test_diff_prints_mean_variation_and_difference():
    res = results().select(cases=["1-groups"])
    got = lines(res, "diff")
    assert got[6:8] == [
        "base:                           1.00 (var: 10.00%)  (%diff: +0.00%)",
        "eevdf:                          1.10 (var: 9.09%)  (%diff: -10.00%)",
    ]


def test_diff_of_several_cases_names_each():
    got = lines(results(), "diff")
    assert got[6] == "1-groups"
    assert got[9] == "16-groups"


def test_percent_prints_percentages_alone_and_the_mark_after_a_tab():
    got = lines(results(case_title="Scaling"), "percent")
    assert got[6].split() == ["Scaling", "base", "eevdf"]
    assert got[7].split() == ["1-groups", "0%", "-10.00%"]
    assert got[8].endswith(" 30.00%\t^")


def test_the_median_is_named_as_one():
    got = lines(results(mean="median"), "normalised")
    assert got[4] == "Statistic     : Median"


def test_lmbench_columns_end_where_those_of_the_post_do():
    cases = ["2p/0K", "2p/16K", "2p/64K", "8p/16K", "8p/64K", "16p/16K", "16p/64K"]
    values = [[[1.0], [12.0], [3.0], [4.0], [5.0], [6.0], [123.0]]]
    res = Results.build(
        "lmbench",
        ["6.12"],
        cases,
        {"ctxsw": (Metric.time("us", decimals=0), values)},
        machine="box",
    )
    row = res.compare("6.12").table("lmbench").split("\n")[5]
    assert row.startswith("box                6.12")
    ends = [i + 1 for i in range(len(row)) if row[i] != " " and row[i : i + 2].rstrip() == row[i]]
    assert ends[2:] == [28, 35, 42, 48, 55, 63, 71]


def test_lmbench_refuses_cases_that_are_no_columns_of_its_tables():
    with pytest.raises(tickless.InvalidParameterError, match="1-groups"):
        results().compare("base").table("lmbench")


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("format", ["html", "csv", "json", "markdown", "latex"])
def test_every_format_shows_the_numbers_of_the_text(style, format):
    out = results().compare("base").table(style, format=format)
    number = {"normalised": "1.10", "unixbench": "1.10", "diff": "1.10", "percent": "10.00"}[style]
    assert number in out
    assert "30.00" in out


@pytest.mark.parametrize("style", [*STYLES, "lmbench"])
def test_names_with_markup_are_escaped(style):
    name = '<script>&"x"|_$'
    case = "2p/0K" if style == "lmbench" else "<b>1</b>"
    values = [[[1.0, 1.1]], [[1.2, 1.3]]]
    res = Results.build("<i>", ["base", name], [case], {"t": (Metric.time("us"), values)})
    html = res.compare("base").table(style, format="html")
    assert "<script>" not in html
    assert "<b>1" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize("style", STYLES)
def test_one_sample_gets_no_mark(style):
    values = [[[1.0]], [[9.0]]]
    res = Results.build("b", ["base", "new"], ["1"], {"t": (Metric.time("s"), values)})
    grid = res.compare("base").grid(style)
    assert all(c.mark == "" for row in grid.cells for c in row)


def test_a_zero_baseline_gives_no_ratio():
    values = [[[0.0, 0.0]], [[1.0, 1.1]]]
    res = Results.build("b", ["base", "new"], ["1"], {"t": (Metric.time("s"), values)})
    text = res.compare("base").table("normalised")
    assert "inf" not in text
    assert "nan" not in text


def test_published_blocks_keep_the_posts_heading():
    got = tickless.published("eevdf-2023")["004-schbench(old)"].compare().table().split("\n")
    assert got[1:6] == [
        "Test          : schbench (old)",
        "Units         : Normalized 99th percentile latency in us",
        "Interpretation: Lower is better",
        "Statistic     : Median",
        "=" * 66,
    ]
    assert got[6].startswith("#workers:")
    assert got[7].startswith("  1     1.00 [ -0.00](12.03)     1.09 [ -8.70]( 2.28)")


def test_lmbench_of_the_2003_report_has_blanks_where_the_post_has():
    got = tickless.published("context-switch-2003")["002-lmbench-comm"].compare().table()
    rows = [r for r in got.split("\n") if r.startswith("i686")]
    assert rows == [
        "i686-linu  Linux 2.5.54     3    14   22    26          30         57",
        "i686-linu  Linux 2.5.54     1    12   28    22          32         58",
    ]
