"""Results: shapes, labels, frames, csv and json, and what is refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import tickless
from tickless.results import Metric, PublishedTable, Results, ResultSet

BETA = 0.1 + 0.2  # a value whose decimal text is long


def sample() -> Results:
    """Two kernels, two cases, unequal repeats, two metrics, one with a further axis."""
    return Results.build(
        "hackbench",
        ["4.18-vanilla", "4.18-teo-v1"],
        ["1", "4"],
        {
            "time": (
                Metric.time("s", decimals=4),
                [[[1.0, BETA, np.nan], [2.0, 2.1, 2.2]], [[1.5, 1e-300, 7.0], [np.nan] * 3]],
            ),
            "latency": (Metric.time("us"), np.arange(16.0).reshape(2, 2, 2, 2)),
        },
        machine="8x-SKYLAKE-UMA",
        kernel_labels=("4.18.0-vanilla", "4.18.0-teo"),
        case_title="Groups:",
        notes=("a note",),
        attrs={"source": "test"},
    )


def test_arrays_are_kernels_by_cases_by_repeats_and_read_only() -> None:
    res = sample()
    assert res["time"].shape == (2, 2, 3)
    assert res["time"].dtype == np.float64
    assert res.units == {"time": "s", "latency": "us"}
    with pytest.raises(ValueError, match="read-only"):
        res["time"][0, 0, 0] = 3


def test_the_callers_array_is_not_frozen_or_shared() -> None:
    mine = np.ones((1, 1, 2))
    res = Results.build("b", ["k"], ["c"], {"v": (Metric.rate("x"), mine)})
    mine[0, 0, 0] = 5
    assert res["v"][0, 0, 0] == 1


def test_csv_and_json_give_back_every_bit() -> None:
    res = sample()
    assert Results.from_csv(res.to_csv()) == res
    assert Results.from_json(res.to_json()) == res
    assert pickle.loads(pickle.dumps(res)) == res
    assert copy.deepcopy(res) == res


def test_names_with_commas_quotes_and_markup_survive_csv() -> None:
    odd = Results.build(
        'b,"', ["<b>&", 'k"2'], ["a,b", "é\n"], {"v": (Metric.rate("x"), np.ones((2, 2, 1)))}
    )
    assert Results.from_csv(odd.to_csv()) == odd
    assert Results.from_json(odd.to_json()) == odd


def test_damaged_files_name_the_line() -> None:
    text = sample().to_csv()
    with pytest.raises(tickless.InputError) as e:
        Results.from_csv(text + "time,4.18-vanilla,1,0\n", path="x.csv")
    assert e.value.line == text.count("\n") + 1
    for bad in ("", "a,b\n", "# tickless-results {\n", '# tickless-results {"format": 1}\n'):
        with pytest.raises(tickless.InputError):
            Results.from_csv(bad)
    with pytest.raises(tickless.InputError):
        Results.from_json(sample().to_json()[:200])
    with pytest.raises(tickless.InputError, match="version 99"):
        Results.from_json(sample().to_json().replace('"version": 1', '"version": 99'))


def test_a_tidy_frame_gives_the_same_samples_back() -> None:
    res = sample().replace(
        metrics={"time": sample()["time"]}, metric_info={"time": sample().metric_info["time"]}
    )
    back = Results.from_frame(res.to_frame(), decimals=4)
    assert back.kernels == res.kernels
    assert back.cases == res.cases
    assert back.metric_info == res.metric_info
    # The padding inside a row moves to its end; the samples themselves keep their order.
    np.testing.assert_array_equal(back["time"], res["time"])


def test_a_frame_with_other_column_names_is_fine() -> None:
    frame = pd.DataFrame(
        {"k": ["a", "b", "a", "b"], "n": [1, 1, 2, 2], "x": [1, 2, 3, 4], "s": [8] * 4}
    )
    res = Results.from_frame(
        frame, kernel="k", case=["n", "s"], value="x", better="higher", unit="MB/s"
    )
    assert res.cases == ("1-8", "2-8")
    assert res["value"].tolist() == [[[1.0], [3.0]], [[2.0], [4.0]]]
    assert res.metric_info["value"] == Metric("MB/s", "higher", "harmonic")


def test_duplicate_and_missing_rows_are_kept_and_noted() -> None:
    frame = pd.DataFrame(
        {"kernel": ["a"] * 3, "case": ["1"] * 3, "repeat": [1, 0, 1], "value": [2.0, 1.0, 3.0]}
    )
    res = Results.from_frame(frame, better="lower")
    assert res["value"].tolist() == [[[1.0, 2.0, 3.0]]]
    assert "further samples" in res.notes[0]
    holes = Results.from_frame(frame.assign(value=[np.nan, 1, 2]), better="lower")
    assert any("1 missing" in n for n in holes.notes)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"kernels": ("a", "a")}, tickless.InvalidParameterError, "'a' occurs more than once"),
        ({"kernels": ()}, tickless.InvalidParameterError, "kernels: empty"),
        ({"cases": ("1",)}, tickless.ShapeError, "shape"),
        ({"primary": "tiem"}, tickless.UnknownNameError, "nearest: time"),
        ({"case_labels": ("x",)}, tickless.ShapeError, "case_labels"),
        ({"metrics": {}}, tickless.InvalidParameterError, "at least one"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict, error: type, words: str) -> None:
    if "kernels" in change:
        change["kernel_labels"] = ()
    if "cases" in change:
        change["case_labels"] = ()
    with pytest.raises(error, match=words):
        sample().replace(**change)


def test_frames_that_are_no_results_are_refused() -> None:
    frame = pd.DataFrame({"kernel": ["a"], "case": ["1"], "value": ["fast"]})
    with pytest.raises(tickless.InvalidParameterError, match=r"value\[0\] = 'fast'"):
        Results.from_frame(frame, better="lower")
    with pytest.raises(tickless.InvalidParameterError, match="no column 'x'"):
        Results.from_frame(frame, value="x", better="lower")
    with pytest.raises(tickless.InvalidParameterError, match="better"):
        Results.from_frame(frame.assign(value=1))
    with pytest.raises(tickless.InvalidParameterError, match="several values"):
        Results.from_frame(
            pd.DataFrame({"kernel": ["a", "b"], "case": 1, "value": 1, "benchmark": ["x", "y"]}),
            better="lower",
        )
    with pytest.raises(tickless.InvalidParameterError, match="must be one of"):
        Metric("s", "smaller", "arithmetic")  # type: ignore[arg-type]


def test_select_takes_names_and_labels_in_the_callers_order() -> None:
    res = sample().select(kernels=["4.18.0-teo", "4.18-vanilla"], cases=["4"])
    assert res.kernels == ("4.18-teo-v1", "4.18-vanilla")
    assert res["time"][1, 0].tolist() == [2.0, 2.1, 2.2]
    with pytest.raises(tickless.UnknownNameError, match="nearest"):
        sample().select(kernels=["4.18-vanila"])


def test_a_result_set_is_a_mapping_that_names_near_keys() -> None:
    both = ResultSet({"hackbench": sample(), "tbench": sample()}, name="dir")
    assert list(both) == ["hackbench", "tbench"]
    assert "tbench" in both
    with pytest.raises(tickless.UnknownNameError, match="hackbench"):
        both["hackbnch"]
    assert set(both.to_frame()["table"]) == {"hackbench", "tbench"}


def test_a_published_table_has_centres_and_no_samples() -> None:
    table = PublishedTable(
        table_id="000-x",
        benchmark="netperf-udp",
        machine="m",
        kernels=("base", "new"),
        cases=("send-64",),
        center=[[362.27], [np.nan]],
        cv_pct=[[np.nan], [np.nan]],
        printed_pct=[[0.0], [-1.81]],
        mark=("^",),
        starred=[[False], [True]],
        tested=[[False], [True]],
        case_info=(Metric.rate("Mbit/s"),),
        printed=(("362.27",), ("",)),
        normalised=False,
        baseline="base",
    )
    assert table.center.shape == (2, 1)
    assert pickle.loads(pickle.dumps(table)).starred.tolist() == [[False], [True]]
    assert table.to_frame()["printed_pct"].tolist() == [0.0, -1.81]
    with pytest.raises(tickless.ShapeError):
        table.replace(mark=())


def test_results_show_the_reported_mean_of_every_cell_in_a_notebook() -> None:
    html = sample()._repr_html_()
    assert "hackbench on 8x-SKYLAKE-UMA: time [s], lower is better" in html
    assert "arithmetic mean of 0 to 3 samples" in html
    assert "<th>4.18.0-teo</th>" in html
    assert "<td>2.1000</td>" in html  # (2.0 + 2.1 + 2.2) / 3
    assert "<td>-</td>" in html  # a cell without samples
    assert "a note" in html


def test_a_set_shows_its_entries_and_a_published_table_its_values_in_a_notebook() -> None:
    tables = tickless.published("teo-v8")
    html = tables._repr_html_()
    for key in tables:
        assert key in html
    table = tables["003-sockperf-udp-throughput"]
    assert table.printed[0][0] in table._repr_html_()
