"""The shape every test works on: rows of two samples, baseline and kernel under test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tickless.results import Array
from tickless.stats.moments import Moments


@dataclass(frozen=True)
class Pairs:
    """Every kernel under test against the baseline; a row is one kernel and case.

    Attributes
    ----------
    x : ndarray
        ``(n_kernels, n_cases, n)``, baseline first, NaN-padded.
    moments : Moments
        Of the same samples.
    mean : str
        The statistic the table reports: ``"arithmetic"``, ``"harmonic"`` or ``"median"``.
    alpha : float
        Level of the test; intervals have level ``1 - alpha``.
    resamples : int
        Draws of the resampling tests.
    rng : object
        Whatever `numpy.random.default_rng` takes.
    usable : ndarray of bool
        ``(n_kernels - 1, n_cases)``: where both sides have the reported statistic; `groups` leaves
        the other rows out.
    """

    x: Array
    moments: Moments
    mean: str
    alpha: float
    resamples: int
    rng: object
    usable: NDArray[np.bool_]

    @property
    def n_rows(self) -> int:
        """Number of rows, ``(n_kernels - 1) * n_cases``."""
        return int((self.x.shape[0] - 1) * self.x.shape[1])

    @property
    def new(self) -> Array:
        """Samples of the kernels under test, ``(n_rows, n)``."""
        return self.x[1:].reshape(self.n_rows, self.x.shape[2])

    @property
    def base(self) -> Array:
        """Samples of the baseline for the same rows, ``(n_rows, n)``."""
        return np.broadcast_to(self.x[:1], self.x[1:].shape).reshape(self.n_rows, self.x.shape[2])

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
        base, new = self.base, self.new
        n0, n1 = np.broadcast_arrays(self.moments.n[:1], self.moments.n[1:])
        n = np.stack([n0.ravel(), n1.ravel()], axis=1)
        for a, b in np.unique(n, axis=0):
            if min(a, b) >= least:
                rows = np.flatnonzero((n == (a, b)).all(axis=1) & self.usable.ravel())
                if len(rows):
                    yield rows, _packed(base[rows], a), _packed(new[rows], b)


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
