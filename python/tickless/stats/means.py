"""Centres, spreads and changes, vectorised over a whole table.

Every function takes samples along the last axis, padded with NaN, and returns one value for each
of the leading axes. An axis without samples gives NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tickless.errors import InvalidParameterError
from tickless.results import Array


def count(x: Array) -> NDArray[np.int64]:
    """Return how many samples there are."""
    return np.asarray((~np.isnan(x)).sum(axis=-1), dtype=np.int64)


def amean(x: Array) -> Array:
    """Return the arithmetic mean."""
    return _divide(np.nansum(x, axis=-1), count(x))


def hmean(x: Array) -> Array:
    """Return the harmonic mean n / sum(1 / x); NaN if any sample is zero or negative."""
    with np.errstate(all="ignore"):
        total = np.nansum(1.0 / x, axis=-1)
        return np.where(positive(x), _divide(count(x), total), np.nan)


def gmean(x: Array) -> Array:
    """Return the geometric mean; NaN if any sample is zero or negative."""
    with np.errstate(all="ignore"):
        total = np.nansum(np.log(x), axis=-1)
        return np.where(positive(x), np.exp(_divide(total, count(x))), np.nan)


def median(x: Array) -> Array:
    """Return the ordinary median: the mean of the two middle samples for even n."""
    return quantile(x, 0.5)


def quantile(x: Array, q: float) -> Array:
    """Return the q-quantile, linear between order statistics (numpy's default).

    Parameters
    ----------
    x : ndarray
        Samples along the last axis.
    q : float
        0 to 1.

    Raises
    ------
    InvalidParameterError
        For a `q` outside 0 to 1.
    """
    if not 0 <= q <= 1:
        raise InvalidParameterError(f"q = {q}: must be between 0 and 1")
    n = count(x)
    ordered = np.sort(x, axis=-1)
    place = np.maximum(n - 1, 0) * q
    low = np.floor(place).astype(int)
    high = np.minimum(low + 1, np.maximum(n - 1, 0))
    a = np.take_along_axis(ordered, low[..., None], axis=-1)[..., 0]
    b = np.take_along_axis(ordered, high[..., None], axis=-1)[..., 0]
    return np.asarray(a + (place - low) * (b - a))


def best(x: Array, percent: float, better: str, mean: str = "arithmetic") -> Array:
    """Return the mean of the best `percent` of the samples, at least one.

    Parameters
    ----------
    x : ndarray
        Samples along the last axis.
    percent : float
        Share to keep, above 0 to 100.
    better : {"higher", "lower"}
        Which end is best.
    mean : {"arithmetic", "harmonic", "median"}
        How to summarise what is kept.
    """
    if not 0 < percent <= 100:
        raise InvalidParameterError(f"percent = {percent}: must be above 0 and at most 100")
    return center(best_first(x, better, keep_share=percent), mean)


def best_first(x: Array, better: str, keep_share: float = 100) -> Array:
    """Return the samples sorted best first; beyond the best `keep_share` percent NaN."""
    ordered = -np.sort(-x, axis=-1) if better == "higher" else np.sort(x, axis=-1)
    keep = np.maximum(1, np.floor(count(x) * keep_share / 100))
    return np.where(np.arange(x.shape[-1]) < keep[..., None], ordered, np.nan)


def center(x: Array, mean: str) -> Array:
    """Return the ``"arithmetic"``, ``"harmonic"`` mean or the ``"median"``."""
    return {"arithmetic": amean, "harmonic": hmean, "median": median}[mean](x)


def stddev(x: Array) -> Array:
    """Return the standard deviation with n - 1; NaN below two samples."""
    n = count(x)
    with np.errstate(invalid="ignore"):
        d = x - amean(x)[..., None]
        return np.where(n > 1, np.sqrt(_divide(np.nansum(d * d, axis=-1), n - 1)), np.nan)


def hstddev(x: Array) -> Array:
    """Return the spread of a harmonic mean, sqrt(H^4 * sum((1/x - 1/H)^2) / n)."""
    h = hmean(x)
    with np.errstate(all="ignore"):
        d = 1.0 / x - 1.0 / h[..., None]
        out = np.sqrt(h**4 * _divide(np.nansum(d * d, axis=-1), count(x)))
    return np.where((count(x) > 1) & ~np.isnan(h), out, np.nan)


def cv_pct(x: Array) -> Array:
    """Return the coefficient of variation, 100 * stddev / |arithmetic mean|."""
    return 100.0 * _divide(stddev(x), np.abs(amean(x)))


def change_pct(value: Array, base: Array) -> Array:
    """Return by how many percent the number grew; NaN against a base of 0."""
    with np.errstate(all="ignore"):
        out = 100.0 * (value - base) / np.abs(base)
    out = np.where(np.isfinite(out), out, np.nan)
    return np.where((value == base) & np.isfinite(value), 0.0, out)


def improvement_pct(value: Array, base: Array, better: str) -> Array:
    """Return the change in percent, positive when it is good."""
    change = change_pct(value, base)
    return change if better == "higher" else 0.0 - change


def subsample_mean(
    x: Array, *, draws: int = 100, share: float = 0.8, rng: Any = 0
) -> tuple[Array, Array]:
    """Return the sub-sampled mean and the half width of its 95 % interval.

    `draws` times `share` of the samples are drawn with replacement; the value is the median of
    the draws' means, the half width 1.96 * sqrt(median of the draws' variances / size).

    Parameters
    ----------
    x : ndarray
        Samples along the last axis.
    draws : int
        How many draws; 100 as the tool does.
    share : float
        Size of a draw as share of the samples.
    rng : int, SeedSequence, BitGenerator or Generator
        Where the draws come from.

    Returns
    -------
    mean, half_width : ndarray
    """
    from scipy.special import ndtri

    generator = np.random.default_rng(rng)
    flat = x.reshape(-1, x.shape[-1])
    out = np.full((2, len(flat)), np.nan)
    for i, row in enumerate(flat):
        row = row[~np.isnan(row)]
        size = int(len(row) * share)
        if size < 1:
            continue
        drawn = generator.choice(row, (draws, size))
        out[0, i] = np.median(drawn.mean(axis=1))
        if size > 1:
            out[1, i] = ndtri(0.975) * np.sqrt(np.median(drawn.var(axis=1, ddof=1)) / size)
    return out[0].reshape(x.shape[:-1]), out[1].reshape(x.shape[:-1])


def positive(x: Array) -> NDArray[np.bool_]:
    """Return where all samples are above zero (and there is one)."""
    return np.asarray(((x > 0) | np.isnan(x)).all(axis=-1) & (count(x) > 0))


def _divide(a: Any, b: Any) -> Array:
    with np.errstate(all="ignore"):
        out = np.asarray(a, dtype=float) / b
    return np.where(np.asarray(b) == 0, np.nan, out)
