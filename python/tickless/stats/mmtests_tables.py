"""The tables of MMTests by era: its significance tests, its summaries and its ratio table.

The statistics themselves are in `mmtests`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tickless.results import Array
from tickless.stats.mmtests import (
    SUMMARIES,
    Row,
    Samples,
    digits,
    in_order,
    missing,
    percent,
    single,
)

TTEST_ALPHA = 0.10
"""Eras 2018 and 2023 star p below this."""
Z = 1.959963984540054
"""0.975 quantile of the normal distribution, the half width of `ci95` in standard deviations."""


@dataclass(frozen=True)
class Stars:
    """The tool's significance test of every kernel against the first.

    Attributes
    ----------
    starred : ndarray of bool
        ``(n_kernels, n_cases)``; the baseline is never starred.
    figure : ndarray
        What ``--print-significance`` shows in the percent column: 100 * p, or in head the
        difference in interval widths.
    p : ndarray
        The p-value; NaN in head, which has none.
    sdiff : ndarray
        The second figure of the ratio table; NaN where there is no interval.
    """

    starred: NDArray[np.bool_]
    figure: Array
    p: Array
    sdiff: Array


def ttest10(s: Samples) -> Stars:
    """Star p < 0.10 of a t test with n1 + n2 - 2 degrees of freedom (eras 2018 and 2023).

    The standard error is that of unequal variances and the degrees of freedom are those of equal
    ones; a missing value counts as 0 with no spread; without spread any difference is significant.
    """
    from scipy.special import stdtr

    mean = np.nan_to_num(s.mean())
    variance = np.nan_to_num(s.stddev()) ** 2
    n = np.maximum(s.n, 1)
    with np.errstate(all="ignore"):
        se = np.sqrt(variance[:1] / n[:1] + variance / n)
        t = np.abs(mean - mean[:1]) / se
        p = 2 * digits(stdtr(np.maximum(s.n[:1] + s.n - 2, 1), -t), 7)
        pooled = np.sqrt((variance + variance[:1]) / 2)
        sdiff = np.where(pooled > 0, (mean - mean[:1]) / pooled, mean - mean[:1])
    # Without a deviation on either side there is no distance.
    sdiff = np.where((s.n < 2) | (s.n[:1] < 2), 0.0, sdiff)
    p = np.where(se == 0, np.where(mean == mean[:1], 1.0, 0.0), p)
    p = np.where(s.n == 0, 0.0, p)
    starred = p < TTEST_ALPHA
    starred[0] = False
    figure = 100 * p
    figure[0] = 0.0
    return Stars(starred, figure, p, sdiff)


def ci95(s: Samples) -> Stars:
    """Star means whose +/- 1.96 standard deviations (of the samples) do not overlap (head)."""
    mean = np.nan_to_num(s.mean())
    half = digits(Z * digits(s.stddev(), 15), 7)
    gone = missing(s.mean())
    none = np.isnan(half) & ~gone
    # The tool keeps bounds, not widths: a width below the last bit of the mean is lost in them,
    # and bounds that are missing read as 0.
    width = np.where(np.isnan(half), 0.0, mean + half) - mean
    with np.errstate(all="ignore"):
        d, c = mean[:1] - mean, width[:1] + width
        figure = np.where(c == 0, d, d / c)
    figure = digits(np.where(none | gone, 0.0, figure), 15)
    figure[0] = 0.0
    starred = np.abs(figure) > 1
    sdiff = np.where(none, np.nan, 0.0 - figure)
    return Stars(starred, figure, np.full(figure.shape, np.nan), sdiff)


def stars(s: Samples) -> Stars:
    """Return the test of the samples' era."""
    return ci95(s) if s.era == "head" else ttest10(s)


@dataclass(frozen=True)
class Summary:
    """Everything one MMTests table is printed from.

    Attributes
    ----------
    rows : list of Row
        Statistics in printed order.
    percents : list of ndarray
        The percentage of each row, ``(n_kernels, n_cases)``.
    stars : Stars
        The era's test.
    tested : bool
        The tool stars this kind of table.
    ratio_value : ndarray
        The summary value that the ratio table compares.
    ratio_random : bool
        That value comes from resampling.
    higher : bool
        Higher is better.
    """

    rows: list[Row]
    percents: list[Array]
    stars: Stars
    tested: bool
    ratio_value: Array
    ratio_random: bool
    higher: bool


def summarise(x: Array, better: str, era: str, summary: str, label: str = "Ops") -> Summary:
    """Return the statistics of one table.

    Parameters
    ----------
    x : ndarray
        ``(n_kernels, n_cases, n_samples)`` in file order, baseline first, padded with NaN.
    better : {"higher", "lower"}
        Direction.
    era : str
        One of `ERAS`.
    summary : str
        Summary type: a key of `SUMMARIES`, or ``"Singleops"``.
    label : str
        Row label of a Singleops table.
    """
    s = Samples(x, better, era)
    rows = single(s, label) if summary == "Singleops" else SUMMARIES[summary](s)
    percents = [percent(r.value, r.value[:1], s.higher and r.by_direction) for r in rows]
    star = stars(s)
    if summary in ("Singleops", "Variabletime", "Variableops"):
        star = replace(star, sdiff=np.full(star.sdiff.shape, np.nan))
    elif summary == "Subselection":
        star = replace(star, sdiff=_interval_distance(rows[-2].value, rows[-1].value))
    main = next(r for r in rows if r.is_center)
    names = {"Subselection": "Sub", "Variabletime": "Max-95", "Variableops": "Max-95"}
    wanted = names.get(summary, main.label)
    ratio = next(r for r in rows if r.label.startswith(wanted))
    return Summary(
        rows, percents, star, is_tested(era, summary), ratio.value, ratio.random, s.higher
    )


def is_tested(era: str, summary: str) -> bool:
    """Tell whether an era stars tables of a summary type at all."""
    if era == "2018":
        return summary not in ("Singleops", "Subselection", "Variabletime")
    return summary != "Singleops"


def _interval_distance(value: Array, half: Array) -> Array:
    """Return the distance in sums of half widths, as a ratio table of resampled means has it."""
    d, c = value - value[:1], np.nan_to_num(half[:1]) + np.nan_to_num(half)
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.where(c > 0, d / c, d))


@dataclass(frozen=True)
class Ratios:
    """The ratio table: value, percentage and distance per kernel and case, and their totals.

    Attributes
    ----------
    ratio, percent, sdiff : ndarray
        ``(n_kernels, n_shown)``.
    dmean, dmin, dmax : ndarray or None
        ``(n_kernels,)``; None where a table has no distances.
    gmean : ndarray
        ``(n_kernels,)``, NaN without a case.
    """

    ratio: Array
    percent: Array
    sdiff: Array
    dmean: Array | None
    dmin: Array | None
    dmax: Array | None
    gmean: Array


def ratios(s: Summary, era: str, cases: NDArray[np.int64]) -> Ratios:
    """Return the ratio table of the given cases."""
    value = s.ratio_value[:, cases]
    base = value[:1]
    with np.errstate(all="ignore"):
        r = np.where(base == 0, 0.0, value / base)
    r = np.where((value == 0) | missing(value) | missing(base), 1.0, r)
    pct = percent(value, base, s.higher) if era == "2018" else percent(r, r[:1] * 0 + 1, s.higher)
    sdiff = s.stars.sdiff[:, cases]
    n = len(cases)
    product = np.ones(len(value))
    for i in range(n):
        product = product * r[:, i]
    gmean = product ** (1.0 / n) if n else np.full(len(value), np.nan)
    if not n or np.isnan(sdiff).any():
        return Ratios(r, pct, sdiff, None, None, None, gmean)
    # Summed from the last parameter back: the order that gives the tool's last bits.
    dmean = in_order(sdiff[:, ::-1]) / n
    return Ratios(r, pct, sdiff, dmean, sdiff.min(axis=1), sdiff.max(axis=1), gmean)
