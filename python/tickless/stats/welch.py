"""Welch's t test, its interval of the ratio of means, and what it could have detected."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tickless.results import Array
from tickless.stats.moments import Moments
from tickless.stats.pairs import Outcome, Pairs

POWER = 0.80
"""Chance of detection that the smallest detectable effect stands for: the usual convention."""


def welch(pairs: Pairs) -> Outcome:
    """Test the arithmetic means with unequal variances; rows without spread have no p.

    The interval is Fieller's for the ratio of the means with the test's degrees of freedom, so
    that it excludes 0 % exactly where p < alpha.
    """
    from scipy.special import stdtr

    e = estimate(pairs)
    with np.errstate(all="ignore"):
        t = np.abs(e.m1 - e.m0) / np.sqrt(e.v0 + e.v1)
        p = np.where(e.v0 + e.v1 > 0, 2 * stdtr(e.df, -t), np.nan)
        low, high = _fieller(e)
    return Outcome(p, low, high)


def detectable_pct(pairs: Pairs) -> Array:
    """Return the smallest change in percent that Welch's test would find with 80 % chance."""
    from scipy.special import stdtrit

    e = estimate(pairs)
    with np.errstate(all="ignore"):
        need = e.critical + stdtrit(e.df, POWER)
        out = 100 * need * np.sqrt(e.v0 + e.v1) / np.abs(e.m0)
    return np.where(np.isfinite(out) & (e.v0 + e.v1 > 0), out, np.nan)


def half_width_pct(moments: Moments, alpha: float) -> Array:
    """Return the half width of every mean's t interval in percent of the mean."""
    from scipy.special import stdtrit

    n = moments.n
    with np.errstate(all="ignore"):
        half = stdtrit(np.maximum(n - 1, 1), 1 - alpha / 2) * moments.stddev / np.sqrt(n)
        return np.asarray(100 * half / np.abs(moments.mean))


@dataclass(frozen=True)
class Estimate:
    """Both sides of every row: means, squared standard errors, degrees of freedom.

    Attributes
    ----------
    m0, m1 : ndarray
        Arithmetic means of the baseline and of the kernel under test.
    v0, v1 : ndarray
        Squared standard errors of the means.
    df : ndarray
        Welch's degrees of freedom.
    critical : ndarray
        The t of the level's two-sided test.
    """

    m0: Array
    m1: Array
    v0: Array
    v1: Array
    df: Array
    critical: Array


@lru_cache(maxsize=1)
def _estimate(moments: Moments, alpha: float) -> Estimate:
    from scipy.special import stdtrit

    n = np.asarray(moments.n, dtype=float)
    with np.errstate(all="ignore"):
        v = moments.stddev**2 / n
        df = (v[:1] + v) ** 2 / (v[:1] ** 2 / (n[:1] - 1) + v**2 / (n - 1))
    mean = moments.mean
    sides = np.broadcast_arrays(mean[:1], mean[1:], v[:1], v[1:], df[1:])
    m0, m1, v0, v1, freedom = (side.ravel() for side in sides)
    return Estimate(m0, m1, v0, v1, freedom, stdtrit(freedom, 1 - alpha / 2))


def estimate(pairs: Pairs) -> Estimate:
    """Return what the test and its intervals share; computed once for one table."""
    return _estimate(pairs.moments, pairs.alpha)


def _fieller(e: Estimate) -> tuple[Array, Array]:
    """Return the interval of m1 / m0 as change in percent; NaN where it is unbounded."""
    t2 = e.critical * e.critical
    a = e.m0 * e.m0 - t2 * e.v0
    b = e.m0 * e.m1
    root = np.sqrt(np.maximum(b * b - a * (e.m1 * e.m1 - t2 * e.v1), 0))
    one, two = (b - root) / a, (b + root) / a
    bounded = (a > 0) & (e.v0 + e.v1 > 0)
    # Against a negative baseline a larger ratio is a smaller number.
    sign = np.where(e.m0 < 0, -1, 1)
    edges = 100 * sign * (np.stack([one, two]) - 1)
    low, high = edges.min(axis=0), edges.max(axis=0)
    return np.where(bounded, low, np.nan), np.where(bounded, high, np.nan)
