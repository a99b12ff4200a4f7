"""What a style may ask for: the arrays of a comparison and its rows of statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tickless.results import Array, Metric

if TYPE_CHECKING:
    from tickless.stats.mmtests import Row
    from tickless.stats.mmtests_benchmarks import Profile
    from tickless.stats.mmtests_tables import Ratios, Summary


@dataclass(frozen=True, eq=False, repr=False)
class View:
    """Kernels compared on one metric; arrays are ``(n_kernels, n_cases)``, baseline first.

    Attributes
    ----------
    benchmark, machine, metric : str
        What was measured where.
    kernels, cases, kernel_labels, case_labels : tuple of str
        Registered names and printed spellings, baseline first.
    case_title : str
        Heading over the cases.
    case_info : tuple of Metric
        Per case: unit, direction and mean.
    rule : str
        Name of the rule of significance.
    alpha, min_effect_pct : float
        Level of the test, and the smallest change that may count as significant.
    correction : str or None
        ``"fdr_bh"`` if `p_value` is adjusted over the table.
    samples : ndarray or None
        ``(n_kernels, n_cases, n_samples)``, NaN-padded; None for published tables.
    count : ndarray of int64
        Samples per cell.
    center : ndarray
        The metric's mean of each cell.
    stddev, cv_pct : ndarray
        Standard deviation (n - 1) and coefficient of variation in percent.
    change_pct : ndarray
        By how much the number grew; 0 for the baseline.
    improvement_pct : ndarray
        The same, positive when it is good.
    p_value : ndarray
        Two-sided; NaN for the baseline and where no test was possible.
    ci_low, ci_high : ndarray
        Interval of level ``1 - alpha`` of the improvement in percent.
    detectable_pct : ndarray
        Smallest change that the samples would show with 80 % chance (by Welch's test).
    significant : ndarray of bool
        What the rule stars.
    marks : tuple of str
        An author's mark per case (published tables).
    printed, printed_pct : tuple or None, ndarray or None
        Printed texts and changes of a published table.
    normalised : bool
        `center` is a ratio to the baseline (published tables).
    notes : tuple of str
        Too few samples, zero variance, a side missing, noise ...
    attrs : mapping
        Facts of the source.
    """

    benchmark: str
    machine: str
    metric: str
    kernels: tuple[str, ...]
    cases: tuple[str, ...]
    kernel_labels: tuple[str, ...]
    case_labels: tuple[str, ...]
    case_title: str
    case_info: tuple[Metric, ...]
    rule: str
    alpha: float
    min_effect_pct: float
    correction: str | None
    samples: Array | None
    count: NDArray[np.int64]
    center: Array
    stddev: Array
    cv_pct: Array
    change_pct: Array
    improvement_pct: Array
    p_value: Array
    ci_low: Array
    ci_high: Array
    detectable_pct: Array
    significant: NDArray[np.bool_]
    marks: tuple[str, ...]
    printed: tuple[tuple[str, ...], ...] | None
    printed_pct: Array | None
    normalised: bool
    notes: tuple[str, ...]
    attrs: Mapping[str, Any]

    @property
    def half_width_pct(self) -> Array:
        """Half width of each mean's interval of level ``1 - alpha``, percent of the mean."""
        raise NotImplementedError

    @property
    def gmean_pct(self) -> Array:
        """Improvement by the geometric mean of the ratios, ``(n_kernels,)``, percent."""
        raise NotImplementedError

    @property
    def gmean_detectable_pct(self) -> Array:
        """Smallest change of that mean the samples would show, ``(n_kernels,)``, percent."""
        raise NotImplementedError

    def statistics(self) -> list[tuple[Row, Array]]:
        """Return the rows of a sound table with their percentages."""
        raise NotImplementedError

    def mmtests_summary(self, era: str, cases: Sequence[int]) -> Summary:
        """Return the statistics of one era of MMTests for some cases."""
        raise NotImplementedError

    def mmtests_ratios(self, summary: Summary, era: str, cases: NDArray[np.intp]) -> Ratios:
        """Return the ratio table of an era for some cases of a summary."""
        raise NotImplementedError

    def mmtests_profile(self, era: str) -> Profile:
        """Return how an era of MMTests summarises this benchmark."""
        raise NotImplementedError

    def mmtests_labels(self, era: str) -> tuple[str, ...]:
        """Return the row labels an era prints for this benchmark."""
        raise NotImplementedError
