"""What counts as a regression."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from tickless import InvalidParameterError, Metric, Results, ResultSet, assert_no_regression
from tickless.regression import RegressionError, regressions

SPREAD = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])


def compared(*levels: float, metric: Metric | None = None, **options):
    """Compare kernels whose five samples lie around these levels; nan for no samples."""
    x = np.array(levels)[:, None, None] + SPREAD
    kernels = ["base", *(f"k{i}" for i in range(1, len(levels)))]
    info = metric or Metric.rate("x")
    return Results.build("b", kernels, ["c"], {"t": (info, x)}).compare("base", **options)


def test_a_significant_loss_beyond_the_limit_is_a_regression():
    found = regressions(compared(100, 95, 105), 2)
    assert [(r.kernel, r.reason) for r in found] == [("k1", "significant")]
    assert found[0].improvement_pct == pytest.approx(-5, abs=0.01)
    assert "5.00 % worse (p = " in str(found[0])


def test_a_loss_within_the_limit_or_within_the_noise_is_none():
    assert not regressions(compared(100, 97.5), 3)
    assert not regressions(compared(10.0, 9.7), 2)  # 3 %, but the spread is 8 %


def test_for_times_more_is_worse():
    time = Metric.time("s")
    assert regressions(compared(100, 105, metric=time), 2)
    assert not regressions(compared(100, 95, metric=time), 2)


def test_a_loss_that_could_not_be_tested_does_not_pass():
    x = np.array([[[100.0]], [[90.0]]])
    c = Results.build("b", ["base", "new"], ["c"], {"t": (Metric.rate("x"), x)}).compare("base")
    assert [r.reason for r in regressions(c, 2)] == ["untested"]
    assert not regressions(c, 15)
    with pytest.raises(RegressionError, match="no test possible"):
        assert_no_regression(c)


def test_a_missing_value_does_not_pass():
    found = regressions(compared(100, np.nan, 95), 2)
    assert [r.reason for r in found] == ["missing", "significant"]
    assert str(found[0]) == "b: k1 c: no value"


def test_in_bug_compatible_modes_only_asterisks_count():
    assert not regressions(compared(100, 99.5, rule="mmtests-head"), 0.1)
    assert regressions(compared(100, 90, rule="mmtests-head"), 2)


def test_sets_name_the_table_and_show_only_tables_with_regressions():
    good, bad = (
        Results.build("b", ["base", "new"], ["c"], {"t": (Metric.rate("x"), np.array(
            [[SPREAD + 100], [SPREAD + level]]))})
        for level in (101, 90)
    )  # fmt: skip
    both = ResultSet({"fine": good, "slow": bad.replace(machine="m2")}).compare("base")
    with pytest.raises(AssertionError) as e:
        assert_no_regression(both)
    assert "slow: new c: 10.00 % worse" in str(e.value)
    assert "on m2" in str(e.value)
    assert str(e.value).count("higher is better") == 1
    assert len(e.value.regressions) == 1
    assert pickle.loads(pickle.dumps(e.value)).regressions == e.value.regressions


@pytest.mark.parametrize("limit", [-1, float("nan"), float("inf")])
def test_a_limit_out_of_range_is_refused(limit):
    with pytest.raises(InvalidParameterError, match="max_loss_pct"):
        assert_no_regression(compared(100, 90), limit)
