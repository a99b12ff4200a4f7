"""Comparisons: arrays, styles, formats, notes, and every bad input of a real result set."""

from __future__ import annotations

import csv
import io
import json
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tickless
from tickless import (
    InvalidParameterError,
    Metric,
    PublishedTable,
    Results,
    ResultSet,
    UnknownNameError,
)
from tickless.tables import STYLES, Cell, Grid, formats, make, render

FORMATS = list(formats.FORMATS)


def results(**changes) -> Results:
    """Three kernels, three cases; teo is 10 % worse in the first case and equal elsewhere."""
    rng = np.random.default_rng(0)
    x = rng.normal(100, 1, (3, 3, 6))
    x[1, 0] *= 0.9
    res = Results.build(
        "netperf-udp",
        ["6.12.0-base", "6.12.0-teo", "6.12.0-menu"],
        ["64", "128", "256"],
        {"throughput": (Metric.rate("MB/s"), x)},
        machine="8x-SKYLAKE-UMA",
        case_title="Size:",
    )
    return res.replace(**changes)


def published(**changes) -> PublishedTable:
    values = {
        "table_id": "t",
        "benchmark": "netperf-udp",
        "machine": "m",
        "kernels": ("base", "new"),
        "cases": ("64", "128"),
        "center": [[100.0, 200.0], [90.0, np.nan]],
        "cv_pct": [[1.0, np.nan], [2.0, np.nan]],
        "printed_pct": [[0.0, 0.0], [-10.0, np.nan]],
        "mark": ("^", ""),
        "starred": [[False, False], [True, False]],
        "tested": [[False, False], [True, True]],
        "case_info": (Metric.rate("x"), Metric.time("s")),
        "printed": (("100.00", "200.00"), ("90.00", "")),
        "normalised": False,
        "baseline": "base",
    }
    return PublishedTable(**{**values, **changes})


def test_arrays_hold_all_kernels_with_the_baseline_first_and_change_zero():
    c = results().compare("6.12.0-teo")
    assert c.kernels == ("6.12.0-teo", "6.12.0-base", "6.12.0-menu")
    assert c.baseline == "6.12.0-teo"
    for name in ("center", "change_pct", "improvement_pct", "cv_pct", "p_value", "ci_low",
                 "ci_high", "significant", "stddev", "count", "detectable_pct"):  # fmt: skip
        array = getattr(c, name)
        assert array.shape == (3, 3)
        assert not array.flags.writeable
    assert (c.change_pct[0] == 0).all()
    assert np.isnan(c.p_value[0]).all()
    assert c.significant[:2].tolist() == [[False] * 3, [True, False, False]]
    assert c.improvement_pct[1, 0] > 0
    assert (c.ci_low[1:] < c.improvement_pct[1:]).all()
    assert (c.improvement_pct[1:] < c.ci_high[1:]).all()


def test_the_baseline_may_be_given_by_its_printed_label():
    res = results(kernel_labels=("vanilla", "teo", "menu"))
    assert res.compare("vanilla").kernels[0] == "6.12.0-base"
    with pytest.raises(UnknownNameError, match=r"nearest: 6\.12\.0-base"):
        res.compare("6.12.0-bsae")


def test_unknown_metrics_styles_formats_and_options_are_refused():
    with pytest.raises(UnknownNameError, match="unknown metric"):
        results().compare("6.12.0-base", metric="latency")
    c = results().compare("6.12.0-base")
    with pytest.raises(UnknownNameError, match="nearest: mmtests"):
        c.table("mmtest")
    with pytest.raises(UnknownNameError, match="unknown format"):
        c.table(format="docx")
    with pytest.raises(InvalidParameterError, match="has no option 'ration'"):
        c.table(ration=True)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("style", ["mmtests", "summary", "benchstat"])
def test_every_style_comes_in_every_format(style, format):
    text = results().compare("6.12.0-base").table(style, format)
    assert text.endswith("\n") or format == "html"
    for kernel in ("teo", "menu"):
        assert kernel in text


def numbers(text: str) -> list[str]:
    return re.findall(r"\d+\.\d\d(?!\d)", text)


@pytest.mark.parametrize("style", ["mmtests", "benchstat"])
def test_all_formats_show_the_same_numbers(style):
    c = results().compare("6.12.0-base")
    grid = c.grid(style)
    shown = [
        n for row in grid.cells for cell in row for n in numbers(cell.value + " " + cell.change)
    ]
    assert shown
    for format in FORMATS:
        text = render(grid, format)
        for n in shown:
            assert n in text, format
    body = c._repr_html_().partition("</style>")[2]
    for n in numbers(str(c).split("\n\n")[0]):
        assert n in body


def test_csv_gives_value_change_and_mark_columns_of_their_own():
    rows = list(csv.DictReader(io.StringIO(results().compare("6.12.0-base").table(format="csv"))))
    assert [r["case"] for r in rows] == ["64", "128", "256"]
    assert float(rows[0]["6.12.0-teo"]) == pytest.approx(90, abs=2)
    assert rows[0]["6.12.0-teo change"].endswith("%")
    assert [r["6.12.0-teo mark"] for r in rows] == ["*", "", ""]


def test_json_is_one_object_with_rows_and_notes():
    whole = json.loads(results().compare("6.12.0-base").table(format="json"))
    assert whole["rows"][0]["cells"]["6.12.0-teo"]["mark"] == "*"
    assert whole["notes"]
    both = ResultSet({"a": results(), "b": results()}).compare("6.12.0-base")
    assert set(json.loads(both.table(format="json"))) == {"a", "b"}


NASTY = '<script>alert("x")</script>&|$_{}\\^~#%*`'


def test_names_with_markup_are_escaped_in_every_format():
    res = results(kernels=("base", NASTY, "menu"), kernel_labels=(), cases=(NASTY, "b", "c"),
                  case_labels=(), benchmark=NASTY, machine=NASTY)  # fmt: skip
    c = res.compare("base")
    html = c.table(format="html")
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    latex = c.table(format="latex")
    assert re.search(r"(?<!\\)[_#$]", latex.replace("\\textbackslash{}", "")) is None
    markdown = c.table(format="markdown").splitlines()
    heads = re.findall(r"(?<!\\)\|", markdown[2])
    assert len(heads) == len(re.findall(r"(?<!\\)\|", markdown[3]))
    rows = list(csv.reader(io.StringIO(c.table(format="csv"))))
    assert NASTY in rows[0]
    assert NASTY in json.dumps(json.loads(c.table(format="json")), ensure_ascii=False).replace(
        "\\\\", "\\"
    ).replace('\\"', '"')


@given(
    st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), min_size=1, max_size=4),
    st.text(max_size=12),
)
@settings(max_examples=60, deadline=None)
def test_any_text_in_a_grid_can_be_written_in_every_format(pairs, caption):
    cells = tuple((Cell(a, b, mark="*"), Cell(b)) for a, b in pairs)
    labels = tuple((a,) for a, _ in pairs)
    grid = Grid(caption, ("",), ("k", "l"), labels, cells, ("text",), (caption,))
    for format in FORMATS:
        assert isinstance(render(grid, format), str)
    assert json.loads(render(grid, "json"))["caption"] == caption
    assert "<script" not in render(grid, "html").partition("</style>")[2]


def test_the_summary_says_worse_better_or_no_change():
    x = np.full((4, 3, 2), 100.0)
    x[1], x[2], x[3] = 94.0, 100.4, 112.0
    names = (["base", "a", "b", "c"], ["1", "2", "3"])
    rate = Results.build("r", *names, {"t": (Metric.rate("x"), x)}, machine="8x")
    cells = rate.compare("base").grid("summary").cells
    assert [c.value for c in cells[0]] == ["6% worse", "no change", "12% better"]
    time = Results.build("t", *names, {"t": (Metric.time("x"), x)}, machine="48x")
    both = ResultSet({"8x": rate, "48x": time}).compare("base")
    text = both.table("summary")
    assert text.splitlines()[2].split("  ")[1:2] == ["8x"]
    assert "6% better" in text.splitlines()[3]
    head, rule, first, *_ = text.splitlines()
    assert head.index("a") == first.index("6% worse") == 2 + 22
    assert head.index("b") == first.index("no change") == 2 + 22 + 16
    assert set(rule) == {" ", "-"}


def test_the_summary_leaves_out_cases_without_a_value_and_says_so():
    res = results()
    x = np.array(res["throughput"])
    x[1, 1] = np.nan
    grid = res.replace(metrics={"throughput": x}).compare("6.12.0-base").grid("summary")
    assert grid.cells[0][0].value == "5% worse"
    assert "6.12.0-teo: cases without a value" in grid.notes[0]


def test_benchstat_shows_a_tilde_and_what_could_have_been_detected():
    c = results().compare("6.12.0-base")
    rows = {
        label[0]: row
        for label, row in zip(*(c.grid("benchstat").labels, c.grid("benchstat").cells), strict=True)
    }
    found, none = rows["64"][2], rows["128"][2]
    assert found.value.startswith("-") and "p=0.000 n=6" in found.spread
    assert none.value == "~"
    assert f"detects {c.detectable_pct[1, 1]:.2g}%" in none.spread
    assert rows["geomean"][2].value.endswith("%")


def test_every_cell_without_a_difference_is_listed_with_its_detectable_effect():
    c = results().compare("6.12.0-base")
    note = next(n for n in c.notes if n.startswith("6.12.0-teo: no difference found in 2 of 3"))
    assert f"128 ({c.detectable_pct[1, 1]:.2g} %)" in note
    assert f"256 ({c.detectable_pct[1, 2]:.2g} %)" in note
    assert note in str(c)
    assert note.replace(">", "&gt;") in c._repr_html_()


def test_cells_whose_detectable_effect_is_not_known_are_counted_not_listed():
    x = [[[10.0], [20.0], [30.0]], [[11.0], [21.0], [31.0]]]
    res = Results.build("b", ["base", "new"], list("xyz"), {"t": (Metric.time("s"), x)})
    note = next(n for n in res.compare("base").notes if "no difference" in n)
    assert note == "new: no difference found in 3 of 3 cases; smallest detectable: not known for 3"


def test_published_tables_compare_without_p_and_with_a_note():
    c = published().compare()
    assert np.isnan(c.p_value).all() and np.isnan(c.ci_low).all()
    assert c.significant.tolist() == [[False, False], [True, False]]
    np.testing.assert_allclose(c.improvement_pct, [[0, 0], [-10, np.nan]])
    assert any("no samples" in n for n in c.notes)
    assert c.samples is None
    turned = published(center=[[100.0, 200.0], [90.0, 220.0]]).compare("new")
    assert turned.kernels == ("new", "base")
    # The second case is a time: the base is faster, so it improves on the new kernel.
    np.testing.assert_allclose(turned.improvement_pct[1], [100 / 9, 100 * (1 - 200 / 220)])
    for style in ("mmtests", "summary", "benchstat"):
        assert c.table(style)
    with pytest.raises(InvalidParameterError, match="no samples"):
        c.mmtests_summary("2018", [0])


def test_a_set_leaves_out_entries_without_the_baseline_and_says_so():
    other = results(kernels=("x", "y", "z"), kernel_labels=())
    both = ResultSet({"a": results(), "b": other}).compare("6.12.0-base")
    assert list(both) == ["a"]
    assert both.notes == ("b: no kernel '6.12.0-base', left out",)
    with pytest.raises(UnknownNameError):
        ResultSet({"b": other}).compare("6.12.0-base")
    with pytest.raises(InvalidParameterError, match="baseline"):
        ResultSet({"a": results()}).compare()
    mixed = ResultSet({"p": published()}).compare()
    assert mixed["p"].baseline == "base"
    assert "table" in mixed.to_frame()


def test_a_frame_has_one_row_per_kernel_and_case():
    frame = results().compare("6.12.0-base").to_frame()
    assert len(frame) == 9
    assert frame.query("kernel == '6.12.0-teo' and case == '64'")["significant"].item()


def test_comparisons_can_be_pickled():
    c = results().compare("6.12.0-base")
    again = pickle.loads(pickle.dumps(c))
    np.testing.assert_array_equal(again.center, c.center)
    assert str(again) == str(c)


def with_samples(change) -> Results:
    res = results()
    x = np.array(res["throughput"])
    change(x)
    return res.replace(metrics={"throughput": x})


def put(index, value):
    def change(x):
        x[index] = value

    return change


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (put((1, 0, slice(4, None)), np.nan), "unequal counts: 6.12.0-teo 64 (4 against 6"),
        (put((1, 0), np.nan), "no samples: 6.12.0-teo 64"),
        (put((0, 0), np.nan), "missing from the baseline, not compared: 6.12.0-base 64"),
        (put((1, 0, 2), np.inf), "infinite values, not compared: 6.12.0-teo 64"),
        (put((1, 0, 2), -1.0), "no harmonic mean of values at or below 0: 6.12.0-teo 64"),
        (put((0, 0), 7.0), "zero variance: 6.12.0-base 64"),
        (put((1, 0), [1, 300, 2, 500, 1, 900]), "CV above 10 %: 6.12.0-teo 64"),
        (put((1, 0, slice(1, None)), np.nan), "fewer than 2 samples, no welch test: 6.12.0-teo 64"),
    ],
)
def test_what_is_odd_about_samples_is_noted_and_shown_under_the_table(change, note):
    c = with_samples(change).compare("6.12.0-base")
    found = [n for n in c.notes if n.startswith(note)]
    assert found, c.notes
    assert found[0] in c.table()


@pytest.mark.parametrize(
    "change",
    [put((1, 0), np.nan), put((0, 0), np.nan), put((1, 0, 2), np.inf), put((1, 0, 2), 0.0)],
)
@pytest.mark.parametrize("rule", ["welch", "mann-whitney", "permutation", "bootstrap"])
def test_cells_that_cannot_be_compared_have_no_number(change, rule):
    c = with_samples(change).compare("6.12.0-base", rule=rule)
    assert np.isnan(c.improvement_pct[1, 0])
    assert np.isnan(c.p_value[1, 0])
    assert np.isnan(c.ci_low[1, 0])
    assert not c.significant[1, 0]
    assert np.isfinite(c.improvement_pct[1, 1:]).all()


def test_many_odd_cells_make_one_note():
    x = np.random.default_rng(0).normal(100, 40, (2, 500, 5))
    res = Results.build("b", ["a", "b"], map(str, range(500)), {"t": (Metric.time("s"), x)})
    noisy = [n for n in res.compare("a").notes if n.startswith("CV above")]
    assert len(noisy) == 1
    assert re.search(r"and \d+ more$", noisy[0])


def test_results_of_other_axes_are_pooled():
    x = np.arange(24.0).reshape(2, 1, 3, 4) + 100
    res = Results.build("b", ["a", "b"], ["c"], {"t": (Metric.time("s"), x)})
    c = res.compare("a")
    assert c.count.tolist() == [[12], [12]]
    assert c.center[0, 0] == x[0].mean()


def test_joined_results_have_the_kernels_of_all_parts():
    one = Results.build("b", ["a"], ["1", "2"], {"t": (Metric.time("s"), [[[1.0], [2.0]]])})
    two = Results.build(
        "b", ["b"], ["2", "3"], {"t": (Metric.time("s"), [[[3.0, 4.0], [5.0, 6.0]]])}
    )
    both = Results.join([one, two])
    assert both.kernels == ("a", "b")
    assert both.cases == ("1", "2", "3")
    assert both["t"][1, 1].tolist() == [3.0, 4.0]
    assert np.isnan(both["t"][0, 2]).all()
    assert "b: no 1" in both.notes and "a: no 3" in both.notes
    again = Results.join([one, one])
    assert again["t"].tolist() == [[[1.0, 1.0], [2.0, 2.0]]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"benchmark": "other"}, "results of benchmark 'b' and 'other' do not mix"),
        ({"metric_info": {"t": Metric.rate("x")}}, "do not mix"),
    ],
)
def test_mixed_benchmarks_and_units_are_refused(change, words):
    one = Results.build("b", ["a"], ["1"], {"t": (Metric.time("s"), [[[1.0]]])})
    with pytest.raises(InvalidParameterError, match=words):
        Results.join([one, one.replace(**change)])


def test_styles_lists_every_style_with_a_summary():
    listed = tickless.styles()
    assert list(listed.names) == list(STYLES)
    for entry in listed:
        assert entry.summary
    c = results().compare("6.12.0-base")
    assert make("benchstat", c).text == c.grid("benchstat").text


ODD = {
    "huge": [[[1e200, 2e200, 3e200]], [[1e201, 2e200, 5e200]]],
    "tiny": [[[1e-300, 2e-300, 3e-300]], [[5e-300, 2e-300, 3e-300]]],
    "infinite": [[[1.0, np.inf, 2.0]], [[1.0, 2.0, 3.0]]],
    "negative": [[[-1.0, -2.0, -3.0]], [[-2.0, -3.0, -4.0]]],
    "zero": [[[0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0]]],
    "nothing": [[[np.nan] * 3], [[np.nan] * 3]],
    "single": [[[1.0]], [[2.0]]],
    "baseline only": [[[1.0, 2.0, 3.0]]],
}


@pytest.mark.parametrize("name", list(ODD))
@pytest.mark.parametrize("mean", ["arithmetic", "harmonic", "median"])
@pytest.mark.filterwarnings("error")
def test_odd_numbers_neither_crash_nor_warn(name, mean):
    x = ODD[name]
    kernels = ["base", "new"][: len(x)]
    res = Results.build("b", kernels, ["c"], {"t": (Metric("s", "higher", mean), x)})
    for rule in ("welch", "mann-whitney", "permutation", "bootstrap", "mmtests-2018",
                 "mmtests-2023", "mmtests-head"):  # fmt: skip
        c = res.compare("base", rule=rule, resamples=99)
        for style in ("mmtests", "benchstat"):
            for format in FORMATS:
                assert c.table(style, format)
        if name != "nothing":
            assert c.table("mmtests", ratio=True)
            assert c.table("mmtests", statistics="all")
        assert len(c.to_frame()) == len(kernels)


@pytest.mark.parametrize("better", ["lower", "higher"])
@pytest.mark.parametrize("rule", ["welch", "mann-whitney", "bootstrap", "mmtests-2018"])
@pytest.mark.filterwarnings("error")
def test_a_ratio_that_no_float_holds_has_no_figure_and_no_warning(rule, better):
    """From 1e-300 to 1e300 is a factor of 1e600."""
    values = [[[1e-300, 1.1e-300]], [[1e300, 1.2e300]]]
    metric = Metric("s", better, "arithmetic")
    res = Results.build("b", ["small", "large"], ["c"], {"t": (metric, values)})
    c = res.compare("small", rule=rule)
    for style in set(tickless.styles().names) - {"lmbench"}:
        # A bug-compatible table prints what the tool prints.
        assert "inf%" not in c.table(style, "csv") or c.era, style
    assert c.grid("benchstat").cells[-1][-1].value == "-"
    summary = c.grid("summary")
    assert summary.cells[0][0].value == "-"
    assert "b: large: the change is larger than any number printed" in summary.notes
    # The other way round it is small, and a number.
    back = res.compare("large", rule=rule).grid("summary").cells[0][0].value
    assert back == f"100% {'better' if better == 'lower' else 'worse'}"
    if rule == "welch":
        assert c.grid("mmtests", ratio=True).cells[-1][1].value == "-"
