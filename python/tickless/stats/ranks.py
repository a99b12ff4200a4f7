"""The Mann-Whitney test: exact where samples are few, with an interval of the ratio."""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from tickless.results import Array
from tickless.stats.pairs import Outcome, Pairs, nothing

EXACT_UP_TO = 25
"""Smaller sample size up to which p is exact; beyond it the normal approximation is good."""
MOST_SPLITS = 20_000
"""With ties p is exact by going through all splits, if there are not more than these."""


def mann_whitney(pairs: Pairs) -> Outcome:
    """Test whether one side tends to larger values; needs no normal distribution.

    The interval is the one that belongs to the test: from the ordered ratios of all pairs, hence
    of a factor between the two distributions. It is unbounded, and given as NaN, where no result
    could reach the level.
    """
    p, low, high = (nothing(pairs.n_rows) for _ in range(3))
    for rows, base, new in pairs.groups():
        p[rows] = _p(base, new, pairs.rng)
        low[rows], high[rows] = _ratio_interval(base, new, pairs.alpha)
    return Outcome(p, low, high)


def least_p(n0: int, n1: int) -> float:
    """Return the smallest two-sided p that an exact test of so many samples can give."""
    return float(min(1.0, 2 / comb(n0 + n1, n0)))


def _p(base: Array, new: Array, rng: object) -> Array:
    from scipy.stats import PermutationMethod, mannwhitneyu

    n0, n1 = base.shape[1], new.shape[1]
    tied = _tied(np.concatenate([base, new], axis=1))
    method = "exact" if min(n0, n1) <= EXACT_UP_TO else "asymptotic"
    p = np.array(mannwhitneyu(new, base, axis=1, method=method).pvalue, dtype=float)
    if tied.any():
        if comb(n0 + n1, n0) <= MOST_SPLITS:
            every = PermutationMethod(n_resamples=MOST_SPLITS, batch=MOST_SPLITS, rng=rng)
            p[tied] = mannwhitneyu(new[tied], base[tied], axis=1, method=every).pvalue
        else:
            p[tied] = mannwhitneyu(new[tied], base[tied], axis=1, method="asymptotic").pvalue
    return p


def _tied(x: Array) -> NDArray[np.bool_]:
    return np.asarray((np.diff(np.sort(x, axis=1), axis=1) == 0).any(axis=1))


def _ratio_interval(base: Array, new: Array, alpha: float) -> tuple[Array, Array]:
    k = _tail(base.shape[1], new.shape[1], alpha)
    rows, pairs = len(base), base.shape[1] * new.shape[1]
    low, high = nothing(rows), nothing(rows)
    fit = (base > 0).all(axis=1) & (new > 0).all(axis=1)
    if k > 0 and fit.any():
        ratio = (new[fit][:, :, None] / base[fit][:, None, :]).reshape(-1, pairs)
        ratio.partition((k - 1, pairs - k), axis=1)
        low[fit] = 100 * (ratio[:, k - 1] - 1)
        high[fit] = 100 * (ratio[:, pairs - k] - 1)
    return low, high


@lru_cache(maxsize=64)
def _tail(n0: int, n1: int, alpha: float) -> int:
    """Return how many ratios to leave out at each end: the largest k with 2 P(U < k) <= alpha."""
    from scipy.special import ndtri
    from scipy.stats import mannwhitneyu

    if min(n0, n1) > EXACT_UP_TO:
        spread = np.sqrt(n0 * n1 * (n0 + n1 + 1) / 12)
        return max(0, int(n0 * n1 / 2 + ndtri(alpha / 2) * spread))
    base = np.arange(1.0, n0 + 1)
    for u in range(n0 * n1 // 2 + 1):
        # Samples without ties whose statistic is u: q of the new ones above all of the base.
        q, r = divmod(u, n0)
        new = np.concatenate([np.arange(q) + n0 + 1.5, [r + 0.5], -1.0 - np.arange(n1 - q - 1)])
        if 2 * mannwhitneyu(new, base, alternative="less", method="exact").pvalue > alpha:
            return u
    return n0 * n1 // 2
