"""Pictures of comparisons: what is drawn where, and that significance needs no colour."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

from tickless import Metric, Results, UnknownNameError

mpl.use("agg")
import matplotlib.pyplot as plt


@pytest.fixture
def c():
    rng = np.random.default_rng(0)
    x = rng.normal(100, 1, (3, 4, 6))
    x[1, :2] *= 0.9
    res = Results.build("b", ["base", "one", "two"], list("wxyz"), {"t": (Metric.rate("MB/s"), x)})
    yield res.compare("base")
    plt.close("all")


def points(ax, label_only=False):
    return [
        line for line in ax.get_lines() if line.get_linestyle() == "None" and len(line.get_xdata())
    ]


def test_every_effect_is_drawn_once_filled_only_if_significant(c):
    ax = c.plot()
    filled = open_ = 0
    for line in points(ax):
        if line.get_markerfacecolor() == "white":
            open_ += len(line.get_xdata())
        else:
            filled += len(line.get_xdata())
    assert filled == c.significant.sum() == 2
    assert filled + open_ == 8
    drawn = sorted(x for line in points(ax) for x in line.get_xdata())
    np.testing.assert_allclose(drawn, sorted(c.improvement_pct[1:].ravel()))


def test_each_kernel_has_a_colour_and_a_marker_of_its_own_and_a_legend_entry(c):
    ax = c.plot()
    styles = {(line.get_color(), line.get_marker()) for line in points(ax)}
    assert len(styles) == 2
    texts = [t.get_text() for t in ax.get_legend().get_texts()]
    assert texts == ["one", "two", "significant (welch, alpha 0.05)", "not significant"]


def test_intervals_and_the_baseline_line_are_drawn(c):
    ax = c.plot()
    assert any(line.get_xdata()[0] == 0 == line.get_xdata()[1] for line in ax.get_lines()
               if len(line.get_xdata()) == 2)  # fmt: skip
    ends = np.concatenate([np.array(s) for col in ax.collections for s in col.get_segments()])
    np.testing.assert_allclose(
        sorted(ends[:, 0]), sorted(np.r_[c.ci_low[1:].ravel(), c.ci_high[1:].ravel()])
    )
    assert [t.get_text() for t in ax.get_yticklabels()] == list("wxyz")


def test_samples_are_all_drawn_in_percent_of_the_baseline(c):
    ax = c.plot(kind="samples")
    dots = [line for line in points(ax) if line.get_marker() != "|"]
    assert sum(len(line.get_xdata()) for line in dots) == 3 * 4 * 6
    np.testing.assert_allclose(
        dots[0].get_xdata(), (100 * c.samples[0] / c.center[0][:, None]).ravel()
    )


def test_a_given_axes_is_used_and_cases_can_be_chosen(c):
    _, ax = plt.subplots()
    assert c.plot(ax=ax, cases=["y", "w"]) is ax
    assert [t.get_text() for t in ax.get_yticklabels()] == ["y", "w"]
    with pytest.raises(UnknownNameError):
        c.plot(cases=["q"])
    with pytest.raises(UnknownNameError, match="nearest: effect, samples"):
        c.plot("bars")


def test_missing_values_and_markup_are_no_trouble():
    x = np.full((2, 60, 3), np.nan)
    x[:, 1:] = 5.0
    names = [f"$case_{i}" for i in range(60)]
    res = Results.build("b", ["base$x_", "$<new>$_{"], names, {"t": (Metric.time("s"), x)})
    ax = res.compare("base$x_").plot()
    ax.figure.canvas.draw()
    assert "first 40 of 60" in ax.get_title(loc="left")
