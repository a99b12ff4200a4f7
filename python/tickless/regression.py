"""Regressions: which cells lost more than allowed, for scripts, CI and pytest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tickless._arrays import real
from tickless.comparison import Comparison, ComparisonSet
from tickless.errors import InvalidParameterError, InvalidTypeError

SHOWN = 20
"""Cells a failure message lists before it only counts."""


@dataclass(frozen=True)
class Regression:
    """One cell that is worse than allowed.

    Attributes
    ----------
    table : str
        Key of the comparison in its set, or the benchmark.
    kernel, case : str
        Printed labels.
    improvement_pct : float
        Negative; NaN for a missing value.
    p_value : float
        NaN where no test was possible.
    reason : {"significant", "untested", "missing"}
        The rule found it; no test was possible (one sample, no spread, printed values); the
        kernel has no value where the baseline has one.
    """

    table: str
    kernel: str
    case: str
    improvement_pct: float
    p_value: float
    reason: str

    def __str__(self) -> str:
        what = f"{self.table}: {self.kernel} {self.case}"
        if self.reason == "missing":
            return f"{what}: no value"
        tested = "no test possible" if np.isnan(self.p_value) else f"p = {self.p_value:.3g}"
        return f"{what}: {-self.improvement_pct:.2f} % worse ({tested})"


class RegressionError(AssertionError):
    """Raised by `assert_no_regression`; the message is the table.

    Attributes
    ----------
    regressions : tuple of Regression
        The cells.
    """

    def __init__(self, message: str, regressions: tuple[Regression, ...] = ()) -> None:
        super().__init__(message, regressions)
        self.regressions = regressions

    def __str__(self) -> str:
        return str(self.args[0])


def regressions(c: Comparison | ComparisonSet, max_loss_pct: float = 2.0) -> list[Regression]:
    """Return the cells that lost more than allowed, the worst first.

    A loss counts if the comparison's rule finds it significant, and also where no test was
    possible: a gate must not pass because there is one sample only. A missing value counts.

    Parameters
    ----------
    c : Comparison or ComparisonSet
        What was compared.
    max_loss_pct : float
        Largest loss that is still fine, in percent, 0 or more.

    Raises
    ------
    InvalidParameterError
        For a limit that is negative or no number.
    """
    if not 0 <= real("max_loss_pct", max_loss_pct) < np.inf:
        raise InvalidParameterError(f"max_loss_pct = {max_loss_pct}: must be 0 or more")
    if not isinstance(c, Comparison | ComparisonSet):
        raise InvalidTypeError(f"c: expected a Comparison, found {type(c).__name__}")
    entries = {c.benchmark: c} if isinstance(c, Comparison) else dict(c)
    found = [r for key, entry in entries.items() for r in _cells(key, entry, max_loss_pct)]
    return sorted(found, key=lambda r: (r.reason != "missing", r.improvement_pct))


def _cells(table: str, c: Comparison, limit: float) -> list[Regression]:
    with np.errstate(invalid="ignore"):
        lost = c.improvement_pct < -limit
    # MMTests' newest rule has no p-value: where it tests, only what it stars counts.
    has_no_p = c.era == "head" and c.mmtests_profile("head").summary != "Singleops"
    untested = np.isnan(c.p_value) & (c.samples is None or not has_no_p)
    missing = np.isnan(c.center) & ~np.isnan(c.center[:1])
    reason = np.where(missing, "missing", np.where(c.significant, "significant", "untested"))
    bad = missing | (lost & (c.significant | untested))
    return [
        Regression(
            table,
            c.kernel_labels[k],
            c.case_labels[i],
            float(c.improvement_pct[k, i]),
            float(c.p_value[k, i]),
            str(reason[k, i]),
        )
        for k, i in np.argwhere(bad)
    ]


def assert_no_regression(c: Comparison | ComparisonSet, max_loss_pct: float = 2.0) -> None:
    """Raise if any cell lost more than allowed; the message lists them and shows the table.

    Parameters
    ----------
    c : Comparison or ComparisonSet
        What was compared.
    max_loss_pct : float
        Largest loss that is still fine, in percent.

    Raises
    ------
    RegressionError
        An `AssertionError`; see `regressions` for what counts.
    """
    __tracebackhide__ = True  # pytest shows the caller's line
    found = regressions(c, max_loss_pct)
    if found:
        raise RegressionError(message(c, found, max_loss_pct), tuple(found))


def message(c: Comparison | ComparisonSet, found: list[Regression], max_loss_pct: float) -> str:
    """Return the text of a failure: the cells, then the tables they are in."""
    cells = "1 cell is" if len(found) == 1 else f"{len(found)} cells are"
    lines = [f"{cells} more than {max_loss_pct:g} % worse:"]
    lines += [f"  {r}" for r in found[:SHOWN]]
    if len(found) > SHOWN:
        lines.append(f"  and {len(found) - SHOWN} more")
    if isinstance(c, Comparison):
        return "\n".join([*lines, "", str(c)])
    tables = [str(c[key]) for key in dict.fromkeys(r.table for r in found)]
    return "\n".join([*lines, *(f"\n{t}" for t in tables)])
