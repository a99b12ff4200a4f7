"""Comparing: results and a baseline in, a `Comparison` out."""

from __future__ import annotations

from typing import Any

import numpy as np

from tickless._arrays import integer, real
from tickless.comparison import Comparison, ComparisonSet, mmtests_names
from tickless.errors import InvalidParameterError, InvalidTypeError, UnknownNameError
from tickless.results import Array, Metric, PublishedTable, Results, ResultSet
from tickless.stats import means, mmtests, mmtests_tables, notes, rules, welch
from tickless.stats.mmtests_benchmarks import Profile, profile
from tickless.stats.moments import Moments, center
from tickless.stats.pairs import Outcome, Pairs


@np.errstate(all="ignore")  # what is not finite is NaN in the arrays and has a note
def compare(
    results: Results | PublishedTable,
    baseline: str,
    *,
    metric: str | None = None,
    rule: str = "welch",
    alpha: float = 0.05,
    correction: str | None = None,
    min_effect_pct: float = 0.0,
    resamples: int = 999,
    rng: Any = 0,
) -> Comparison:
    """Compare every kernel with one of them.

    Parameters
    ----------
    results : Results or PublishedTable
        What to compare.
    baseline : str
        Name or printed label of the kernel the others are measured against.
    metric : str, optional
        Which metric; the primary one if None.
    rule : str
        ``"welch"``, ``"mann-whitney"`` (exact for few samples), ``"permutation"``,
        ``"bootstrap"`` (BCa), or bug-compatible ``"mmtests-2018"``, ``"mmtests-2023"``,
        ``"mmtests-head"``.
    alpha : float
        Level of the test; intervals have level ``1 - alpha``. The MMTests rules have their own.
    correction : {None, "fdr_bh"}
        Adjust p-values for the number of cells in the table.
    min_effect_pct : float
        A smaller change is never called significant.
    resamples : int
        Draws of ``bootstrap``; ``permutation`` uses at least 9,999 or goes through all splits.
    rng : int, SeedSequence, BitGenerator or Generator
        Source of the draws; the same value gives the same table.

    Returns
    -------
    Comparison

    Raises
    ------
    UnknownNameError
        For an unknown baseline, metric or rule.
    InvalidParameterError
        For a level, threshold or correction out of range.
    """
    chosen = rules.find(rule)
    _check(alpha, min_effect_pct, correction, resamples)
    _check_source(rng)
    if chosen.era is not None and (correction is not None or min_effect_pct):
        raise InvalidParameterError(
            f"rule = {rule!r} is bug-compatible: it has neither correction nor min_effect_pct"
        )
    if isinstance(results, PublishedTable):
        return _published(results, baseline, chosen, alpha, min_effect_pct)
    name = results.primary if metric is None else metric
    results[name]  # raises for an unknown metric
    order = _baseline_first(results, baseline)
    x = results[name]
    x = x.reshape(*x.shape[:2], -1)[order]
    info = results.metric_info[name]
    cells = notes.Cells([results.kernels[i] for i in order], results.cases)
    moments = Moments.of(x)
    middle = _center(x, moments, info, chosen, results)
    change = means.change_pct(middle, middle[:1])
    pairs = Pairs(x, moments, info.mean, alpha, resamples, rng, ~np.isnan(change[1:]))
    if chosen.era is None:
        tested = _test(pairs, info, chosen, correction, min_effect_pct, change)
    else:
        how = profile(chosen.era, *mmtests_names(results.benchmark, results.attrs))
        tested = _bug_compatible(pairs, info, chosen, how)
    detectable = _with_baseline(welch.detectable_pct(pairs).reshape(change[1:].shape), np.nan)
    said = [
        *results.notes,
        *notes.sample_notes(x, moments, info, chosen, alpha, cells),
        *tested.pop("notes"),
    ]
    if chosen.era is None:
        said += notes.undetected(change, tested["significant"], detectable, cells)
    return Comparison(
        benchmark=results.benchmark,
        machine=results.machine,
        metric=name,
        kernels=cells.kernels,
        cases=results.cases,
        kernel_labels=tuple(results.kernel_labels[i] for i in order),
        case_labels=results.case_labels,
        case_title=results.case_title,
        case_info=(info,) * len(results.cases),
        rule=rule,
        alpha=mmtests_tables.TTEST_ALPHA if chosen.era in ("2018", "2023") else alpha,
        min_effect_pct=min_effect_pct,
        correction=correction,
        samples=x,
        count=moments.n,
        center=middle,
        stddev=moments.stddev,
        cv_pct=moments.cv_pct,
        change_pct=change,
        improvement_pct=0.0 + info.sign * change,
        detectable_pct=detectable,
        marks=("",) * len(results.cases),
        printed=None,
        printed_pct=None,
        normalised=False,
        notes=tuple(dict.fromkeys(said)),
        attrs=dict(results.attrs),
        **tested,
    )


def compare_set(results: ResultSet, baseline: str | None = None, **options: Any) -> ComparisonSet:
    """Compare every entry of a set with the same baseline; see `compare`.

    Raises
    ------
    UnknownNameError
        If no entry has the baseline.
    """
    out: dict[str, Comparison] = {}
    said = list(results.notes)
    last: UnknownNameError | None = None
    for key, entry in results.items():
        base = baseline
        if base is None:
            if not isinstance(entry, PublishedTable):
                raise InvalidParameterError("baseline: needed, these results do not name one")
            base = entry.baseline
        try:
            entry.kernel_index(base)
        except UnknownNameError as e:
            last = e
            said.append(f"{key}: no kernel {base!r}, left out")
            continue
        out[key] = entry.compare(base, **options)
    if not out:
        raise last or InvalidParameterError("results: empty, nothing to compare")
    return ComparisonSet(out, said)


def _check(alpha: float, min_effect_pct: float, correction: str | None, resamples: int) -> None:
    if not 0 < real("alpha", alpha) < 1:
        raise InvalidParameterError(f"alpha = {alpha}: must be between 0 and 1")
    if not 0 <= real("min_effect_pct", min_effect_pct) < np.inf:
        raise InvalidParameterError(f"min_effect_pct = {min_effect_pct}: must be 0 or more")
    if not isinstance(correction, str | None) or correction not in rules.CORRECTIONS:
        raise InvalidParameterError(f"correction = {correction!r}: must be None or 'fdr_bh'")
    if integer("resamples", resamples) < 99:
        raise InvalidParameterError(f"resamples = {resamples}: must be 99 or more")


def _check_source(rng: Any) -> None:
    try:
        np.random.default_rng(rng)
    except (TypeError, ValueError) as e:
        raise InvalidTypeError(f"rng: {e}; give a whole number of at least 0") from None


def _baseline_first(results: Results | PublishedTable, baseline: str) -> list[int]:
    base = results.kernel_index(baseline)
    return [base, *(i for i in range(len(results.kernels)) if i != base)]


def _center(x: Array, moments: Moments, info: Metric, rule: rules.Rule, results: Results) -> Array:
    """Return the reported mean of every cell, as the rule's era computes it."""
    if rule.era is None:
        return center(x, moments, info.mean)
    how = profile(rule.era, *mmtests_names(results.benchmark, results.attrs))
    extracted = mmtests.as_extracted(x, how, rule.era)
    found = mmtests.center(extracted, info.better, rule.era, how.summary)
    return np.where(mmtests.missing(found) | moments.infinite, np.nan, found)


def _test(
    pairs: Pairs,
    info: Metric,
    rule: rules.Rule,
    correction: str | None,
    min_effect_pct: float,
    change: Array,
) -> dict[str, Any]:
    """Return p_value, ci_low, ci_high, significant and the test's own notes."""
    assert rule.test is not None, "the rules of MMTests go through _bug_compatible"
    found = rule.test(pairs)
    raw = np.where(pairs.usable, found.p.reshape(pairs.usable.shape), np.nan)
    p = rules.corrected(raw, correction)
    low, high = _improvement_bounds(found, pairs, info)
    with np.errstate(invalid="ignore"):
        if rule.by_interval and correction is None:
            significant = (low > 0) | (high < 0)
        else:
            significant = p < pairs.alpha
        significant &= np.abs(change[1:]) >= min_effect_pct
    return {
        "p_value": _with_baseline(p, np.nan),
        "ci_low": _with_baseline(low, np.nan),
        "ci_high": _with_baseline(high, np.nan),
        "significant": _with_baseline(significant, False).astype(bool),
        "notes": found.notes,
    }


def _bug_compatible(pairs: Pairs, info: Metric, rule: rules.Rule, how: Profile) -> dict[str, Any]:
    """Return what the tool stars; the interval is Welch's, for the picture only."""
    era = rule.era or "head"
    stars = mmtests_tables.stars(
        mmtests.Samples(mmtests.as_extracted(pairs.x, how, era), info.better, era)
    )
    said = [f"asterisks as MMTests ({era}) sets them, its defects included"]
    p, starred = np.array(stars.p), stars.starred
    p[0] = np.nan
    if not mmtests_tables.is_tested(era, how.summary):
        p[:], starred = np.nan, np.zeros_like(starred)
        said = [f"MMTests ({era}) makes no test for this kind of table ({how.summary})"]
    low, high = _improvement_bounds(welch.welch(pairs), pairs, info)
    return {
        "p_value": p,
        "ci_low": _with_baseline(low, np.nan),
        "ci_high": _with_baseline(high, np.nan),
        "significant": starred,
        "notes": said,
    }


def _improvement_bounds(found: Outcome, pairs: Pairs, info: Metric) -> tuple[Array, Array]:
    """Return the interval turned by direction, for the rows that can be compared."""
    shape = pairs.usable.shape
    low, high = (np.where(pairs.usable, e.reshape(shape), np.nan) for e in (found.low, found.high))
    return (low, high) if info.sign > 0 else (0.0 - high, 0.0 - low)


def _published(
    table: PublishedTable, baseline: str, rule: rules.Rule, alpha: float, min_effect_pct: float
) -> Comparison:
    order = _baseline_first(table, baseline)
    center = table.center[order]
    sign = np.array([m.sign for m in table.case_info])
    change = means.change_pct(center, center[:1])
    none = np.full(center.shape, np.nan)
    said = "printed values only, no samples: no p-value, no interval"
    return Comparison(
        benchmark=table.benchmark,
        machine=table.machine,
        metric=table.primary,
        kernels=tuple(table.kernels[i] for i in order),
        cases=table.cases,
        kernel_labels=tuple(table.kernel_labels[i] for i in order),
        case_labels=table.case_labels,
        case_title=table.case_title,
        case_info=table.case_info,
        rule=rule.name,
        alpha=alpha,
        min_effect_pct=min_effect_pct,
        correction=None,
        samples=None,
        count=np.zeros(center.shape, dtype=np.int64),
        center=center,
        stddev=none,
        cv_pct=np.array(table.cv_pct[order]),
        change_pct=change,
        improvement_pct=0.0 + sign * change,
        p_value=none,
        ci_low=none,
        ci_high=none,
        detectable_pct=none,
        significant=np.array(table.starred[order]),
        marks=table.mark,
        printed=tuple(table.printed[i] for i in order),
        printed_pct=np.array(table.printed_pct[order]),
        normalised=table.normalised,
        notes=(*table.notes, said),
        attrs=dict(table.attrs),
    )


def _with_baseline(x: Any, value: Any) -> Any:
    return np.concatenate([np.full((1, *x.shape[1:]), value), x])
