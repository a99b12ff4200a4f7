"""What a table needs to know of its samples, computed once and in one pass over memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tickless.results import Array
from tickless.stats import means


@dataclass(frozen=True, eq=False)
class Moments:
    """Simple statistics of every cell; arrays are ``(n_kernels, n_cases)``.

    Attributes
    ----------
    n : ndarray of int64
        Samples.
    mean, stddev : ndarray
        Arithmetic mean and deviation with n - 1; NaN where there are too few.
    low, high : ndarray
        Extremes; NaN where there is no sample.
    lag1 : ndarray
        Autocorrelation of neighbouring samples; NaN without spread.
    """

    n: NDArray[np.int64]
    mean: Array
    stddev: Array
    low: Array
    high: Array
    lag1: Array

    @classmethod
    def of(cls, x: Array) -> Moments:
        """Return the moments of samples along the last axis, NaN-padded.

        The samples are turned so that each step adds whole tables: sums over a short last axis
        are several times slower.
        """
        y = np.ascontiguousarray(np.moveaxis(x, -1, 0))
        gone = np.isnan(y)
        padded = bool(gone.any())
        n = np.full(y.shape[1:], len(y), dtype=np.int64)
        if padded:
            n = np.asarray((~gone).sum(axis=0), dtype=np.int64)
        with np.errstate(all="ignore"):
            low, high = np.fmin.reduce(y), np.fmax.reduce(y)
            mean = (np.where(gone, 0.0, y) if padded else y).sum(axis=0) / n
            d = y - mean
            if padded:
                d[gone] = 0.0
            squares = (d * d).sum(axis=0)
            stddev = np.where(n > 1, np.sqrt(squares / (n - 1)), np.nan)
            # Rounding of the mean must not give equal samples a spread.
            flat = low == high
            stddev[flat & (n > 1)] = 0.0
            lag1 = (d[1:] * d[:-1]).sum(axis=0) / squares
        lag1[flat] = np.nan
        return cls(n, mean, stddev, low, high, lag1)

    @property
    def cv_pct(self) -> Array:
        """Coefficient of variation in percent."""
        with np.errstate(all="ignore"):
            out = 100.0 * self.stddev / np.abs(self.mean)
        return np.where(self.mean == 0, np.nan, out)

    @property
    def flat(self) -> NDArray[np.bool_]:
        """Where two or more samples are all equal."""
        return np.asarray((self.n > 1) & (self.low == self.high))

    @property
    def infinite(self) -> NDArray[np.bool_]:
        """Where a sample is infinite."""
        return np.asarray(np.isinf(self.low) | np.isinf(self.high))


def center(x: Array, moments: Moments, mean: str) -> Array:
    """Return the reported mean of every cell; NaN where a sample is infinite."""
    if mean == "arithmetic":
        out = moments.mean
    elif mean == "harmonic":
        y = np.moveaxis(x, -1, 0)
        with np.errstate(all="ignore"):
            inverse = np.ascontiguousarray(1.0 / y)
            inverse[np.isnan(inverse)] = 0.0
            # Equal samples have themselves as mean, whatever 1 / x rounds to.
            out = np.where(moments.flat, moments.low, moments.n / inverse.sum(axis=0))
        out = np.where(moments.low > 0, out, np.nan)
    else:
        out = means.median(x)
    return np.where(moments.infinite, np.nan, out)
