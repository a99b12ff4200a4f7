"""Permutation test and bootstrap of the reported statistic itself, by scipy."""

from __future__ import annotations

import warnings
from math import comb
from typing import Any

import numpy as np

from tickless.results import Array
from tickless.stats.pairs import Outcome, Pairs, nothing

FEWEST = 3
"""Samples a bootstrap needs on each side: below that the draws repeat the same few values."""
BLOCK = 4_000_000
"""Numbers drawn at a time; keeps memory near 32 MB."""


def permutation(pairs: Pairs) -> Outcome:
    """Test by reassigning samples to the two sides; exact if all splits are few enough.

    The interval is the bootstrap's.
    """
    from scipy.stats import permutation_test

    boot = bootstrap(pairs)
    p = nothing(pairs.n_rows)
    for rows, base, new in pairs.groups():
        n = base.shape[1] + new.shape[1]
        draws = min(comb(n, base.shape[1]), max(pairs.resamples, 9_999))
        step = max(1, BLOCK // (n * min(draws, 1_000)))
        for some in np.array_split(np.arange(len(rows)), -(-len(rows) // step)):
            found = permutation_test(
                (new[some], base[some]),
                _difference(pairs.mean),
                vectorized=True,
                axis=-1,
                n_resamples=max(pairs.resamples, 9_999),
                batch=1_000,
                rng=np.random.default_rng(pairs.rng),  # type: ignore[arg-type]
            )
            p[rows[some]] = found.pvalue
    return Outcome(p, boot.low, boot.high)


def bootstrap(pairs: Pairs) -> Outcome:
    """Return the BCa interval of the change, and p from the same draws.

    p is twice the share of draws on the far side of no change, as usual counted with one more
    draw on either side; it cannot be below ``2 / (resamples + 1)``.
    """
    from scipy.stats import bootstrap as draw

    p, low, high = (nothing(pairs.n_rows) for _ in range(3))
    statistic = _change(pairs.mean)
    for rows, base, new in pairs.groups(least=FEWEST):
        step = max(1, BLOCK // (base.shape[1] + new.shape[1]) // pairs.resamples)
        for some in np.array_split(np.arange(len(rows)), -(-len(rows) // step)):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")  # rows without spread; they come back as NaN
                found = draw(
                    (new[some], base[some]),
                    statistic,
                    vectorized=True,
                    axis=-1,
                    n_resamples=pairs.resamples,
                    confidence_level=1 - pairs.alpha,
                    method="BCa",
                    rng=np.random.default_rng(pairs.rng),  # type: ignore[arg-type]
                )
            at = rows[some]
            low[at], high[at] = found.confidence_interval
            p[at] = _p(found.bootstrap_distribution, low[at])
    return Outcome(p, low, high)


def _p(draws: Array, low: Array) -> Array:
    n = draws.shape[-1]
    below = (draws < 0).sum(axis=-1) + 0.5 * (draws == 0).sum(axis=-1)
    p = 2 * (np.minimum(below, n - below) + 1) / (n + 1)
    return np.where(np.isnan(low), np.nan, np.minimum(p, 1.0))


def _center(x: Array, mean: str, axis: int) -> Array:
    if mean == "harmonic":
        return np.asarray(1.0 / (1.0 / x).mean(axis=axis))
    return np.asarray(np.median(x, axis=axis) if mean == "median" else x.mean(axis=axis))


def _difference(mean: str) -> Any:
    def statistic(new: Array, base: Array, axis: int = -1) -> Array:
        return _center(new, mean, axis) - _center(base, mean, axis)

    return statistic


def _change(mean: str) -> Any:
    def statistic(new: Array, base: Array, axis: int = -1) -> Array:
        b = _center(base, mean, axis)
        return np.asarray(100.0 * (_center(new, mean, axis) - b) / np.abs(b))

    return statistic
