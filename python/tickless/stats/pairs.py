"""The shape every test works on: rows of two samples, baseline and kernel under test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tickless.results import Array
from tickless.stats.means import count


@dataclass(frozen=True)
class Pairs:
    """Two samples per row, NaN-padded.

    Attributes
    ----------
    base, new : ndarray
        ``(n_rows, n)``: samples of the baseline and of the kernel under test.
    mean : str
        The statistic the table reports: ``"arithmetic"``, ``"harmonic"`` or ``"median"``.
    sign : int
        +1 if higher is better, else -1.
    alpha : float
        Level of the test; intervals have level ``1 - alpha``.
    resamples : int
        Draws of the resampling tests.
    rng : object
        Whatever `numpy.random.default_rng` takes.
    """

    base: Array
    new: Array
    mean: str
    sign: int
    alpha: float
    resamples: int
    rng: object

    def groups(self, least: int = 2) -> Iterator[tuple[NDArray[np.intp], Array, Array]]:
        """Yield rows with equal counts together, without padding.

        Parameters
        ----------
        least : int
            Rows with fewer samples on either side are left out.

        Yields
        ------
        rows, base, new : ndarray
            Row numbers, ``(n_rows, n_base)``, ``(n_rows, n_new)``.
        """
        n = np.stack([count(self.base), count(self.new)], axis=1)
        for n0, n1 in np.unique(n, axis=0):
            if min(n0, n1) >= least:
                rows = np.flatnonzero((n == (n0, n1)).all(axis=1))
                yield rows, _packed(self.base[rows], n0), _packed(self.new[rows], n1)


@dataclass(frozen=True)
class Outcome:
    """What a test says, per row.

    Attributes
    ----------
    p : ndarray
        Two-sided p-value; NaN where no test was possible.
    low, high : ndarray
        Interval of the change of the number in percent (not turned by direction); NaN for none.
    notes : tuple of str
        What concerns the whole test.
    """

    p: Array
    low: Array
    high: Array
    notes: tuple[str, ...] = ()


def _packed(x: Array, n: int) -> Array:
    if x.shape[1] == n:
        return x
    order = np.argsort(np.isnan(x), axis=1, kind="stable")
    return np.take_along_axis(x, order, axis=1)[:, :n]


def nothing(rows: int) -> Array:
    """Return an array of NaN."""
    return np.full(rows, np.nan)
