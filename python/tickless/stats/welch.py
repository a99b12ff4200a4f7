"""Welch's t test, its interval of the ratio of means, and what it could have detected."""

from __future__ import annotations

import numpy as np

from tickless.results import Array
from tickless.stats import means
from tickless.stats.pairs import Outcome, Pairs

POWER = 0.80
"""Chance of detection that the smallest detectable effect stands for: the usual convention."""


def welch(pairs: Pairs) -> Outcome:
    """Test the arithmetic means with unequal variances; rows without spread have no p.

    The interval is Fieller's for the ratio of the means with the test's degrees of freedom, so
    that it excludes 0 % exactly where p < alpha.
    """
    from scipy.special import stdtr, stdtrit

    m0, m1, v0, v1, df = _moments(pairs)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(m1 - m0) / np.sqrt(v0 + v1)
        p = np.where(v0 + v1 > 0, 2 * stdtr(df, -t), np.nan)
        low, high = _fieller(m0, m1, v0, v1, stdtrit(df, 1 - pairs.alpha / 2))
    return Outcome(p, low, high)


def detectable_pct(pairs: Pairs) -> Array:
    """Return the smallest change in percent that Welch's test would find with 80 % chance."""
    from scipy.special import stdtrit

    m0, _, v0, v1, df = _moments(pairs)
    with np.errstate(divide="ignore", invalid="ignore"):
        need = stdtrit(df, 1 - pairs.alpha / 2) + stdtrit(df, POWER)
        out = 100 * need * np.sqrt(v0 + v1) / np.abs(m0)
    return np.where(np.isfinite(out) & (v0 + v1 > 0), out, np.nan)


def half_width_pct(x: Array, alpha: float) -> Array:
    """Return the half width of the mean's t interval in percent of the mean."""
    from scipy.special import stdtrit

    n = means.count(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = stdtrit(np.maximum(n - 1, 1), 1 - alpha / 2) * means.stddev(x) / np.sqrt(n)
        return np.asarray(100 * half / np.abs(means.amean(x)))


def _moments(pairs: Pairs) -> tuple[Array, Array, Array, Array, Array]:
    """Return both means, both squared standard errors and Welch's degrees of freedom."""
    n0, n1 = means.count(pairs.base), means.count(pairs.new)
    with np.errstate(divide="ignore", invalid="ignore"):
        v0, v1 = means.stddev(pairs.base) ** 2 / n0, means.stddev(pairs.new) ** 2 / n1
        df = (v0 + v1) ** 2 / (v0**2 / (n0 - 1) + v1**2 / (n1 - 1))
    return means.amean(pairs.base), means.amean(pairs.new), v0, v1, df


def _fieller(m0: Array, m1: Array, v0: Array, v1: Array, t: Array) -> tuple[Array, Array]:
    """Return the interval of m1 / m0 as change in percent; NaN where it is unbounded."""
    a = m0 * m0 - t * t * v0
    b = m0 * m1
    root = np.sqrt(np.maximum(b * b - a * (m1 * m1 - t * t * v1), 0))
    one, two = (b - root) / a, (b + root) / a
    bounded = (a > 0) & (v0 + v1 > 0)
    # Against a negative baseline a larger ratio is a smaller number.
    sign = np.where(m0 < 0, -1, 1)
    edges = 100 * sign * (np.stack([one, two]) - 1)
    low, high = edges.min(axis=0), edges.max(axis=0)
    return np.where(bounded, low, np.nan), np.where(bounded, high, np.nan)
