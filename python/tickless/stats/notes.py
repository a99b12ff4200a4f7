"""Warnings as data: what about these samples makes a comparison weak or impossible.

Each check returns short sentences that name kernels and cases; many cells share one sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tickless.results import Array, Metric
from tickless.stats import ranks
from tickless.stats.moments import Moments
from tickless.stats.rules import Rule

NOISY_PCT = 10.0
"""Coefficient of variation above which a cell is called noisy."""
MOST_UNDETECTED = 24
"""Cases listed with their smallest detectable effect; the arrays hold all."""
FEW_NAMED = 3
"""Cells a sentence names before it only counts."""
BOOTSTRAP_COMFORT = 10
"""Samples below which BCa intervals of level 95 % cover nearer to 85 or 90 %."""
AUTOCORRELATION = 0.5
"""Lag-1 autocorrelation from which samples are no longer taken as independent ..."""
AUTOCORRELATION_Z = 3.0
"""... if it is also so many standard errors (1 / sqrt(n)) from 0."""
Mask = NDArray[np.bool_]


class Cells:
    """Names of the cells of one table, for sentences.

    Parameters
    ----------
    kernels, cases : sequence of str
        Names, baseline first.
    """

    def __init__(self, kernels: Sequence[str], cases: Sequence[str]) -> None:
        self.kernels = tuple(kernels)
        self.cases = tuple(cases)

    def named(self, where: Any, values: Array | None = None, unit: str = "") -> str:
        """Return ``base send-64 (45 %), teo send-64 (12 %) and 7 more``."""
        at = np.argwhere(where)
        if values is not None:
            at = at[np.argsort(-np.abs(values[where]), kind="stable")]
        words = []
        for k, c in at[:FEW_NAMED]:
            figure = "" if values is None else f" ({values[k, c]:.3g}{unit})"
            words.append(f"{self.kernels[k]} {self.cases[c]}{figure}")
        more = len(at) - len(words)
        return ", ".join(words) + (f" and {more} more" if more > 0 else "")


def sample_notes(
    x: Array, m: Moments, metric: Metric, rule: Rule, alpha: float, cells: Cells
) -> tuple[str, ...]:
    """Return what is to be said about the samples before any test.

    Parameters
    ----------
    x : ndarray
        ``(n_kernels, n_cases, n_samples)``, baseline first, NaN-padded.
    m : Moments
        Of the same samples.
    metric : Metric
        Direction and mean.
    rule : Rule
        The test about to be made.
    alpha : float
        Its level.
    cells : Cells
        Names.
    """
    out = [*_gaps(m.n, cells), *_values(m, metric, cells)]
    cv = m.cv_pct
    with np.errstate(invalid="ignore"):
        noisy = cv > NOISY_PCT
        auto = (m.lag1 > AUTOCORRELATION) & (m.lag1 * np.sqrt(m.n) > AUTOCORRELATION_Z)
    if noisy.any():
        out.append(f"CV above {NOISY_PCT:g} %: {cells.named(noisy, cv, ' %')}")
    if auto.any():
        out.append(
            f"samples follow each other (autocorrelation above {AUTOCORRELATION:g}), p is too "
            f"small: {cells.named(auto, m.lag1)}"
        )
    return (*out, *_too_few(m.n, rule, alpha, cells), *_no_spread(m.flat, rule, cells))


def _gaps(n: NDArray[np.int64], cells: Cells) -> list[str]:
    out = []
    lost = n == 0
    if lost[0].any():
        out.append(f"missing from the baseline, not compared: {cells.named(lost[:1])}")
    rest = lost & ~lost[:1]
    if rest.any():
        out.append(f"no samples: {cells.named(rest)}")
    unequal = (n != n[:1]) & ~lost & ~lost[:1]
    if unequal.any():
        k, c = np.argwhere(unequal)[0]
        out.append(
            f"unequal counts: {cells.named(unequal)}"
            f" ({n[k, c]} against {n[0, c]} of {cells.kernels[0]})"
        )
    return out


def _values(m: Moments, metric: Metric, cells: Cells) -> list[str]:
    out = []
    if m.infinite.any():
        out.append(f"infinite values, not compared: {cells.named(m.infinite)}")
    if metric.mean == "harmonic":
        low = np.asarray(m.low <= 0)
        if low.any():
            out.append(f"no harmonic mean of values at or below 0: {cells.named(low)}")
    elif (zero := np.asarray(m.mean == 0)[:1]).any():
        out.append(f"no percentage of a baseline of 0: {cells.named(zero)}")
    return out


def _too_few(n: NDArray[np.int64], rule: Rule, alpha: float, cells: Cells) -> list[str]:
    if rule.era is not None:
        return []
    n0, n1 = np.broadcast_to(n[:1], n[1:].shape), n[1:]
    fewest = np.minimum(n0, n1)
    out = []
    below = (fewest < rule.least) & (fewest > 0)
    if below.any():
        out.append(
            f"fewer than {rule.least} samples, no {rule.name} test: {cells.named(_rest(below))}"
        )
    narrow = (fewest >= rule.least) & (fewest < BOOTSTRAP_COMFORT)
    if rule.name == "bootstrap" and narrow.any():
        out.append(
            f"bootstrap intervals of fewer than {BOOTSTRAP_COMFORT} samples are too narrow: "
            f"{cells.named(_rest(narrow))}"
        )
    if rule.name in ("mann-whitney", "permutation"):
        for a, b in np.unique(np.stack([n0.ravel(), n1.ravel()], axis=1), axis=0):
            if min(a, b) >= rule.least and (least := ranks.least_p(int(a), int(b))) > alpha:
                mask = _rest((n0 == a) & (n1 == b))
                out.append(
                    f"{a} + {b} samples cannot reach p < {alpha:g} (at best {least:.2g}): "
                    f"{cells.named(mask)}"
                )
    return out


def _no_spread(flat: Mask, rule: Rule, cells: Cells) -> list[str]:
    if not flat.any():
        return []
    both = flat[1:] & flat[:1]
    advice = ""
    if rule.name in ("welch", "bootstrap") and both.any():
        advice = f"; {rule.name} cannot compare two such cells, mann-whitney can"
    return [f"zero variance: {cells.named(flat)}{advice}"]


def _rest(mask: Mask) -> Mask:
    """Return a mask over the kernels under test with a row for the baseline added."""
    return np.concatenate([np.zeros((1, *mask.shape[1:]), bool), mask])


def undetected(
    improvement: Array, significant: Mask, detectable: Array, cells: Cells
) -> tuple[str, ...]:
    """Return, per kernel, what the samples could have shown where no difference was found.

    Parameters
    ----------
    improvement, detectable : ndarray
        ``(n_kernels, n_cases)`` in percent.
    significant : ndarray of bool
        What was found.
    cells : Cells
        Names.
    """
    out = []
    for k in range(1, len(cells.kernels)):
        none = np.flatnonzero(~significant[k] & ~np.isnan(improvement[k]))
        if not len(none):
            continue
        known = none[np.isfinite(detectable[k, none])]
        named = [
            f"{cells.cases[c]} ({detectable[k, c]:.2g} %)" for c in known[:MOST_UNDETECTED].tolist()
        ]
        more, unknown = len(known) - len(named), len(none) - len(known)
        parts = [", ".join(named) + (f" and {more} more" if more else "")] if named else []
        parts += [f"not known for {unknown}"] if unknown else []
        out.append(
            f"{cells.kernels[k]}: no difference found in {len(none)} of {len(cells.cases)} cases; "
            f"smallest detectable: {', '.join(parts)}"
        )
    return tuple(out)
