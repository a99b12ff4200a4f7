"""The statistics of a sound table: the reported mean and what surrounds it."""

from __future__ import annotations

import numpy as np

from tickless.results import Array, Metric
from tickless.stats import means
from tickless.stats.mmtests import Row

LETTER = {"arithmetic": "Amean", "harmonic": "Hmean", "median": "Median"}
"""Row label of each mean."""


def rows(x: Array, center: Array, metric: Metric) -> list[Row]:
    """Return Min, mean, Stddev, CoeffVar, Max and the best 95 % in the order tables print them.

    Parameters
    ----------
    x : ndarray
        ``(n_kernels, n_cases, n_samples)``, NaN-padded.
    center : ndarray
        The metric's mean, already computed.
    metric : Metric
        Direction and mean.
    """
    ordered = np.sort(x, axis=-1)
    last = np.maximum(means.count(x) - 1, 0)
    high = np.take_along_axis(ordered, last[..., None], axis=-1)[..., 0]
    name = LETTER[metric.mean]
    best = means.best(x, 95, metric.better, metric.mean)
    return [
        Row("Min", ordered[..., 0]),
        Row(name, center, is_center=True),
        Row("Stddev", means.stddev(x), by_direction=False),
        Row("CoeffVar", means.cv_pct(x), by_direction=False),
        Row("Max", high),
        Row(f"B{name}-95", best),
    ]
