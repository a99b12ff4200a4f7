"""The rules of significance: the list to add to.

A rule takes `Pairs` and returns an `Outcome`. The rules named after MMTests are bug-compatible;
what they star is computed in `mmtests`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tickless.errors import InvalidParameterError, known_name
from tickless.results import Array
from tickless.stats.pairs import Outcome, Pairs
from tickless.stats.ranks import mann_whitney
from tickless.stats.resampling import bootstrap, permutation
from tickless.stats.welch import welch


@dataclass(frozen=True)
class Rule:
    """One entry of `RULES`.

    Attributes
    ----------
    name : str
        As given to ``compare(rule=)``.
    summary : str
        One line.
    test : callable or None
        `Pairs` to `Outcome`; None for the MMTests eras.
    era : str or None
        Era of the MMTests tables that belong to the rule.
    least : int
        Samples a side needs for the test to say anything.
    by_interval : bool
        Significance follows the interval where no correction is asked for.
    """

    name: str
    summary: str
    test: Callable[[Pairs], Outcome] | None
    era: str | None = None
    least: int = 2
    by_interval: bool = False


RULES: dict[str, Rule] = {
    r.name: r
    for r in (
        Rule("welch", "t test with unequal variances", welch),
        Rule("mann-whitney", "rank test, exact for few samples", mann_whitney),
        Rule("permutation", "permutation test of the reported statistic", permutation),
        Rule("bootstrap", "BCa interval of the change", bootstrap, least=3, by_interval=True),
        Rule("mmtests-2018", "t test at 10 % as MMTests had it in 2018", None, "2018"),
        Rule("mmtests-2023", "t test at 10 % as MMTests had it in 2023", None, "2023"),
        Rule(
            "mmtests-head", "overlap of 1.96 standard deviations, MMTests since 2024", None, "head"
        ),
    )
}
"""Name to rule."""

CORRECTIONS = (None, "fdr_bh")


def find(name: str) -> Rule:
    """Return a rule by name.

    Raises
    ------
    UnknownNameError
        Listing the nearest names.
    """
    known_name("rule", name, RULES)
    return RULES[name]


def corrected(p: Array, correction: str | None) -> Array:
    """Return p adjusted for the whole table; NaN stays NaN and counts for nothing.

    Parameters
    ----------
    p : ndarray
        Any shape.
    correction : {None, "fdr_bh"}
        None, or Benjamini and Hochberg's false discovery rate.
    """
    if correction not in CORRECTIONS:
        raise InvalidParameterError(f"correction = {correction!r}: must be None or 'fdr_bh'")
    if correction is None:
        return p
    from scipy.stats import false_discovery_control

    out = p.copy()
    there = ~np.isnan(p)
    if there.any():
        out[there] = false_discovery_control(p[there], method="bh")
    return out
