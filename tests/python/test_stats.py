"""Statistics against textbook values and scipy called row by row, and laws over generated data."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from tickless import InvalidParameterError, Metric, Results, UnknownNameError
from tickless.stats import means, ranks, rules
from tickless.stats.moments import Moments, center

POSITIVE = st.floats(0.01, 1e6)


def padded(*rows: list[float]) -> np.ndarray:
    out = np.full((len(rows), max(map(len, rows))), np.nan)
    for i, r in enumerate(rows):
        out[i, : len(r)] = r
    return out


def two(base, new, metric: Metric | None = None, **options):
    """Compare one case of two kernels and return the comparison."""
    x = padded(base, new)[:, None, :]
    info = metric or Metric.time("s")
    return Results.build("b", ["base", "new"], ["c"], {"t": (info, x)}).compare("base", **options)


def test_means_are_those_of_a_textbook():
    x = padded([1.0, 2.0, 4.0], [5.0])
    np.testing.assert_allclose(means.amean(x), [7 / 3, 5])
    np.testing.assert_allclose(means.hmean(x), [12 / 7, 5])
    np.testing.assert_allclose(means.gmean(x), [2, 5])
    np.testing.assert_allclose(means.median(x), [2, 5])
    np.testing.assert_allclose(means.stddev(x), [np.sqrt(7 / 3), np.nan])
    np.testing.assert_allclose(means.cv_pct(x), [100 * np.sqrt(7 / 3) / (7 / 3), np.nan])


@given(st.lists(POSITIVE, min_size=1, max_size=12))
@settings(max_examples=100, deadline=None)
def test_means_agree_with_scipy(values):
    x = np.array([*values, np.nan, np.nan])
    np.testing.assert_allclose(means.hmean(x), scipy.stats.hmean(values))
    np.testing.assert_allclose(means.gmean(x), scipy.stats.gmean(values))
    np.testing.assert_allclose(means.median(x), np.median(values))
    for q in (0, 0.25, 0.9, 0.99, 1):
        np.testing.assert_allclose(means.quantile(x, q), np.quantile(values, q), rtol=1e-9)
    m = Moments.of(x[None, None])
    np.testing.assert_allclose(m.mean[0, 0], np.mean(values))
    for mean, expected in (("harmonic", scipy.stats.hmean), ("arithmetic", np.mean)):
        np.testing.assert_allclose(center(x[None, None], m, mean)[0, 0], expected(values))
    if len(values) > 1:
        expected = np.std(values, ddof=1)
        atol = 1e-9 * max(values)
        np.testing.assert_allclose(m.stddev[0, 0], expected, rtol=1e-7, atol=atol)
        np.testing.assert_allclose(means.stddev(x), expected, rtol=1e-7, atol=atol)


def test_the_harmonic_mean_of_zero_or_less_is_not_a_number():
    x = padded([1.0, 0.0], [1.0, -2.0], [1.0, 2.0])
    assert np.isnan(means.hmean(x)).tolist() == [True, True, False]
    assert np.isnan(means.gmean(x)).tolist() == [True, True, False]
    c = two([1.0, 2.0], [0.0, 1.0], Metric.rate("x"))
    assert np.isnan(c.center[1, 0])
    assert np.isnan(c.improvement_pct[1, 0])
    assert not c.significant.any()
    assert any("no harmonic mean of values at or below 0: new c" in n for n in c.notes)


def test_the_best_share_keeps_at_least_one_sample():
    x = padded([1.0, 2.0, 3.0, 4.0, 5.0])
    assert means.best(x, 50, "lower").tolist() == [1.5]
    assert means.best(x, 50, "higher").tolist() == [4.5]
    assert means.best(x, 1, "higher").tolist() == [5.0]
    assert means.best(x, 100, "lower").tolist() == [3.0]
    with pytest.raises(InvalidParameterError):
        means.best(x, 0, "lower")
    with pytest.raises(InvalidParameterError):
        means.quantile(x, 1.5)


def test_percentages_follow_the_direction():
    assert means.improvement_pct(np.array(90.0), np.array(100.0), "higher") == -10
    assert means.improvement_pct(np.array(90.0), np.array(100.0), "lower") == 10
    assert means.change_pct(np.array(90.0), np.array(100.0)) == -10
    assert np.isnan(means.change_pct(np.array(1.0), np.array(0.0)))
    assert means.change_pct(np.array(0.0), np.array(0.0)) == 0
    assert str(means.improvement_pct(np.array(5.0), np.array(5.0), "lower")) == "0.0"


def test_subsampling_is_near_the_mean_and_repeats_with_the_seed():
    x = np.random.default_rng(0).normal(100, 5, (3, 40))
    mean, half = means.subsample_mean(x, rng=1)
    again, _ = means.subsample_mean(x, rng=1)
    np.testing.assert_array_equal(mean, again)
    np.testing.assert_allclose(mean, x.mean(axis=1), rtol=0.01)
    np.testing.assert_allclose(half, 1.96 * x.std(axis=1, ddof=1) / np.sqrt(32), rtol=0.25)


def test_welch_agrees_with_scipy_row_by_row():
    rng = np.random.default_rng(5)
    x = rng.normal(50, 3, (4, 30, 8))
    x[2, :10, 5:] = np.nan
    x[0, 3, 4:] = np.nan
    cases = [str(i) for i in range(30)]
    res = Results.build("b", list("abcd"), cases, {"t": (Metric.time("s"), x)})
    c = res.compare("b")
    order = [1, 0, 2, 3]
    for k in range(1, 4):
        for i in range(30):
            new, base = (x[order[j], i][~np.isnan(x[order[j], i])] for j in (k, 0))
            expected = scipy.stats.ttest_ind(new, base, equal_var=False)
            np.testing.assert_allclose(c.p_value[k, i], expected.pvalue, rtol=1e-9)
            np.testing.assert_array_equal(c.significant[k, i], expected.pvalue < 0.05)
            change = 100 * (new.mean() / base.mean() - 1)
            np.testing.assert_allclose(c.change_pct[k, i], change)
            np.testing.assert_allclose(c.improvement_pct[k, i], -change)


@given(
    st.lists(st.floats(90, 110), min_size=2, max_size=9),
    st.lists(st.floats(90, 110), min_size=2, max_size=9),
    st.sampled_from([0.01, 0.05, 0.1]),
)
@settings(max_examples=200, deadline=None)
def test_the_interval_of_welch_excludes_no_change_exactly_when_p_is_below_alpha(base, new, alpha):
    c = two(base, new, alpha=alpha)
    p, low, high = c.p_value[1, 0], c.ci_low[1, 0], c.ci_high[1, 0]
    if np.isnan(p) or np.isnan(low) or abs(p - alpha) < 1e-9:
        return
    assert (low > 0 or high < 0) == (p < alpha)
    assert low <= high


def test_the_fieller_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(11)
    base, new = rng.normal(100, 5, (4000, 6)), rng.normal(103, 8, (4000, 9))
    x = np.full((2, 4000, 9), np.nan)
    x[0, :, :6], x[1] = base, new
    res = Results.build(
        "b", ["a", "b"], map(str, range(4000)), {"t": (Metric("s", "higher", "arithmetic"), x)}
    )
    c = res.compare("a")
    covered = (c.ci_low[1] <= 3) & (c.ci_high[1] >= 3)
    assert 0.935 < covered.mean() < 0.965


def test_the_smallest_detectable_effect_is_found_four_times_in_five():
    rng = np.random.default_rng(2)
    n = 3000
    base = rng.normal(100, 3, (n, 10))
    first = two(base[0].tolist(), rng.normal(100, 3, 10).tolist())
    assert first.detectable_pct[1, 0] > 0
    # With the true deviation known, shift by the effect and count detections.
    effect = (2.101 + 0.862) * 3 * np.sqrt(2 / 10)
    new = rng.normal(100 + effect, 3, (n, 10))
    cases = [str(i) for i in range(n)]
    x = np.stack([base, new])
    c = Results.build("b", ["a", "b"], cases, {"t": (Metric.time("s"), x)}).compare("a")
    assert 0.76 < c.significant[1].mean() < 0.84
    np.testing.assert_allclose(np.median(c.detectable_pct[1]), effect, rtol=0.05)


def brute_force(base: list[float], new: list[float]) -> float:
    """Twice the smaller tail of the rank sum over all splits, ties shared."""
    pool = scipy.stats.rankdata([*base, *new])
    n = len(base)
    observed = pool[:n].sum()
    sums = np.array([sum(s) for s in combinations(pool, n)])
    return min(1.0, 2 * min((sums <= observed + 1e-9).mean(), (sums >= observed - 1e-9).mean()))


@pytest.mark.parametrize(
    ("base", "new"),
    [
        ([1, 2, 3, 4], [5, 6, 7, 8]),
        ([1, 2, 3], [4, 5, 6]),
        ([1, 5, 2, 8, 3], [4, 9, 6, 10]),
        ([1, 1, 2, 2, 3], [2, 3, 3, 4, 4]),
        ([6, 6, 6, 7], [6, 7, 7, 7, 7]),
    ],
)
def test_mann_whitney_is_exact_for_few_samples_with_and_without_ties(base, new):
    c = two(base, new, rule="mann-whitney")
    np.testing.assert_allclose(c.p_value[1, 0], brute_force(base, new), rtol=1e-9)


def test_four_and_four_can_be_significant_and_three_and_three_cannot():
    assert ranks.least_p(3, 3) == pytest.approx(0.1)
    assert ranks.least_p(4, 4) == pytest.approx(0.0286, abs=1e-4)
    three = two([1, 2, 3], [4, 5, 6], rule="mann-whitney")
    assert three.p_value[1, 0] == pytest.approx(0.1)
    assert any("3 + 3 samples cannot reach p < 0.05 (at best 0.1)" in n for n in three.notes)
    assert np.isnan(three.ci_low[1, 0])
    four = two([1, 2, 3, 4], [5, 6, 7, 8], rule="mann-whitney")
    assert four.significant[1, 0]
    assert not any("cannot reach" in n for n in four.notes)


def test_the_interval_of_mann_whitney_agrees_with_its_p():
    rng = np.random.default_rng(8)
    x = np.exp(rng.normal(0, 0.05, (2, 300, 7)))
    x[1] *= np.exp(rng.normal(0, 0.05, 300))[:, None]
    res = Results.build("b", ["a", "b"], map(str, range(300)), {"t": (Metric.time("s"), x)})
    c = res.compare("a", rule="mann-whitney")
    excludes = (c.ci_low[1] > 0) | (c.ci_high[1] < 0)
    np.testing.assert_array_equal(excludes, c.significant[1])
    assert 30 < excludes.sum() < 270


def test_the_permutation_test_agrees_with_all_splits():
    base, new = [10.0, 11.0, 12.5, 10.2], [11.9, 13.1, 12.7, 14.0]
    pool = np.array([*base, *new])
    observed = abs(np.mean(new) - np.mean(base))
    hits = total = 0
    for s in combinations(range(8), 4):
        rest = [i for i in range(8) if i not in s]
        hits += abs(pool[list(s)].mean() - pool[rest].mean()) >= observed - 1e-12
        total += 1
    c = two(base, new, rule="permutation")
    np.testing.assert_allclose(c.p_value[1, 0], hits / total)


def test_the_bootstrap_is_scipys_bca_interval_of_the_improvement():
    rng = np.random.default_rng(4)
    base, new = rng.gamma(9, 1, 12).tolist(), rng.gamma(11, 1, 12).tolist()
    metric = Metric("s", "lower", "arithmetic")
    c = two(base, new, metric, rule="bootstrap", resamples=4999, rng=3)

    def change(new, base, axis=-1):
        return 100 * (new.mean(axis=axis) / base.mean(axis=axis) - 1)

    expected = scipy.stats.bootstrap(
        (new, base), change, n_resamples=4999, vectorized=True, rng=np.random.default_rng(9)
    ).confidence_interval
    width = expected.high - expected.low
    assert c.ci_low[1, 0] == pytest.approx(-expected.high, abs=0.06 * width)
    assert c.ci_high[1, 0] == pytest.approx(-expected.low, abs=0.06 * width)
    again = two(base, new, metric, rule="bootstrap", resamples=4999, rng=3)
    assert again.ci_low[1, 0] == c.ci_low[1, 0]


def test_a_bootstrap_of_few_samples_is_noted_and_really_covers_too_seldom():
    x = np.random.default_rng(5).normal(100, 5, (2, 600, 5))
    res = Results.build("b", ["a", "b"], map(str, range(600)), {"t": (Metric.time("s"), x)})
    c = res.compare("a", rule="bootstrap")
    covered = ((c.ci_low[1] <= 0) & (c.ci_high[1] >= 0)).mean()
    assert 0.8 < covered < 0.93
    assert any("fewer than 10 samples are too narrow" in n for n in c.notes)


@pytest.mark.parametrize("mean", ["harmonic", "median", "arithmetic"])
def test_the_bootstrap_covers_the_reported_statistic(mean):
    rng = np.random.default_rng(6)
    x = rng.lognormal(0, 0.1, (2, 400, 15))
    res = Results.build(
        "b", ["a", "b"], map(str, range(400)), {"t": (Metric("s", "higher", mean), x)}
    )
    c = res.compare("a", rule="bootstrap")
    covered = ((c.ci_low[1] <= 0) & (c.ci_high[1] >= 0)).mean()
    assert 0.88 < covered < 0.99
    inside = (c.ci_low[1] <= c.improvement_pct[1]) & (c.improvement_pct[1] <= c.ci_high[1])
    assert inside.mean() > 0.99


def test_false_discovery_control_matches_a_worked_example():
    # Benjamini and Hochberg's step-up by hand: p * m / rank, made monotone from the largest down.
    p = np.array([0.001, 0.008, 0.039, 0.041, 0.042, 0.06, np.nan])
    expected = [0.006, 0.024, 0.0504, 0.0504, 0.0504, 0.06, np.nan]
    np.testing.assert_allclose(rules.corrected(p, "fdr_bh"), expected)
    with pytest.raises(InvalidParameterError):
        rules.corrected(p, "bonferroni")


def test_correction_works_over_the_whole_table():
    rng = np.random.default_rng(1)
    x = rng.normal(100, 5, (3, 40, 6))
    res = Results.build("b", list("abc"), map(str, range(40)), {"t": (Metric.time("s"), x)})
    plain, corrected = res.compare("a"), res.compare("a", correction="fdr_bh")
    expected = scipy.stats.false_discovery_control(plain.p_value[1:].ravel())
    np.testing.assert_allclose(corrected.p_value[1:].ravel(), expected)
    assert corrected.significant.sum() <= plain.significant.sum()


def test_a_minimum_effect_silences_small_but_certain_differences():
    base, new = [100.0, 100.1, 99.9, 100.0], [100.5, 100.6, 100.4, 100.5]
    assert two(base, new).significant[1, 0]
    assert not two(base, new, min_effect_pct=1).significant[1, 0]


@pytest.mark.parametrize("rule", ["welch", "mann-whitney", "permutation", "bootstrap"])
def test_one_sample_is_never_significant(rule):
    c = two([100.0], [200.0], rule=rule)
    assert not c.significant.any()
    assert c.improvement_pct[1, 0] == -100
    assert any("sample" in n for n in c.notes)
    mixed = two([100.0, 101.0, 99.0, 100.5], [200.0], rule=rule)
    assert not mixed.significant.any()


@pytest.mark.parametrize("era", ["2018", "2023"])
def test_one_sample_is_starred_by_the_old_tools(era):
    assert two([100.0], [200.0], rule=f"mmtests-{era}").significant[1, 0]
    assert not two([100.0], [200.0], rule="mmtests-head").significant[1, 0]


@pytest.mark.parametrize("rule", ["welch", "bootstrap"])
def test_samples_without_spread_have_no_p_and_a_note(rule):
    c = two([5.0] * 4, [6.0] * 4, rule=rule)
    assert np.isnan(c.p_value[1, 0])
    assert not c.significant.any()
    assert c.stddev.tolist() == [[0], [0]]
    assert any("zero variance" in n and "mann-whitney can" in n for n in c.notes)
    assert two([5.0] * 4, [6.0] * 4, rule="mann-whitney").significant[1, 0]
    assert two([0.1 + 0.2] * 5, [0.3] * 5).stddev.tolist() == [[0], [0]]


def test_a_running_average_is_called_autocorrelated():
    rng = np.random.default_rng(0)
    raw = rng.normal(100, 5, (2, 1, 60))
    running = np.cumsum(raw, axis=-1) / np.arange(1, 61)
    names = (["a", "b"], ["c"])
    c = Results.build("b", *names, {"t": (Metric.time("s"), running)}).compare("a")
    assert any("follow each other" in n for n in c.notes)
    plain = Results.build("b", *names, {"t": (Metric.time("s"), raw)}).compare("a")
    assert not any("follow each other" in n for n in plain.notes)


@pytest.mark.parametrize("name", list(rules.RULES))
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_laws_of_every_rule(name, data):
    """No crash on odd samples; same units, same verdict; p is a probability or NaN."""
    sample = st.lists(st.sampled_from([1.0, 2.0, 2.5, 3.0, 1e6, 0.0]), min_size=0, max_size=6)
    rows = [data.draw(sample) for _ in range(4)]
    if not any(rows):
        return
    x = padded(*rows, [1.0]).reshape(-1)[: 4 * padded(*rows, [1.0]).shape[1]].reshape(2, 2, -1)
    better = data.draw(st.sampled_from(["higher", "lower"]))
    mean = data.draw(st.sampled_from(["arithmetic", "harmonic", "median"]))
    info = Metric("s", better, mean)
    res = Results.build("b", ["a", "b"], ["x", "y"], {"t": (info, x)})
    c = res.compare("a", rule=name, resamples=99)
    ok = np.isnan(c.p_value) | ((c.p_value >= 0) & (c.p_value <= 1 + 1e-9))
    assert ok.all()
    assert not c.significant[0].any()
    np.testing.assert_array_equal(np.isnan(c.improvement_pct[0]), np.isnan(c.center[0]))
    there = ~np.isnan(c.center[0])
    assert (c.improvement_pct[0][there] == 0).all()
    np.testing.assert_array_equal(c.change_pct, c.improvement_pct * info.sign)
    c.table("benchstat")
    if name.startswith("mmtests"):
        return  # the tool counts in data units in places
    larger = res.replace(metrics={"t": x * 4}).compare("a", rule=name, resamples=99)
    np.testing.assert_allclose(larger.change_pct, c.change_pct, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(larger.significant, c.significant)


def test_unknown_rules_and_levels_out_of_range_are_refused():
    with pytest.raises(UnknownNameError, match="nearest: welch"):
        two([1, 2], [2, 3], rule="welsh")
    for bad in ({"alpha": 0}, {"alpha": 1.5}, {"alpha": float("nan")}, {"min_effect_pct": -1},
                {"correction": "holm"}, {"resamples": 5}):  # fmt: skip
        with pytest.raises(InvalidParameterError):
            two([1, 2], [2, 3], **bad)
