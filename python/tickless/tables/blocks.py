"""What the block-headed styles share: the heading, the texts of a cell, the mark of a row.

These styles come from mail-list posts that print one block per benchmark: a rule, four lines of
heading, a rule, one line of column titles, one row per parameter and two blank lines.
"""

from __future__ import annotations

import math

from tickless.tables import View

RULE = "=" * 66
MEANS = {"arithmetic": "AMean", "harmonic": "HMean", "median": "Median"}
REGRESSION, IMPROVEMENT = "*", "^"


def heading(view: View, units: str) -> list[str]:
    """Return the six lines above the column titles."""
    better = view.attrs.get("better") or view.case_info[0].better
    statistic = view.attrs.get("statistic") or _statistic(view)
    return [
        RULE,
        f"Test          : {title(view)}",
        f"Units         : {units}",
        f"Interpretation: {better.capitalize()} is better",
        f"Statistic     : {statistic}",
        RULE,
    ]


def title(view: View) -> str:
    """Return the benchmark as the heading has it."""
    return str(view.attrs.get("title") or view.benchmark)


def improvement(view: View, kernel: int, case: int) -> float:
    """Return the improvement in percent: as printed if the table is a published one.

    A lower-is-better metric negates the change, so that equal values give -0.00 there.
    """
    if view.printed_pct is not None and not math.isnan(view.printed_pct[kernel, case]):
        return float(view.printed_pct[kernel, case])
    value = float(view.improvement_pct[kernel, case])
    return -0.0 if value == 0 and view.case_info[case].better == "lower" else value


def verdict(view: View, kernel: int, case: int) -> str:
    """Return the colour of a cell: ``"good"`` or ``"bad"`` if significant, else nothing."""
    if kernel == 0 or not view.significant[kernel, case]:
        return ""
    return "good" if improvement(view, kernel, case) > 0 else "bad"


def mark(view: View, case: int) -> str:
    """Return the mark behind a row: the author's, else one for a significant difference."""
    if view.printed is not None:
        return view.marks[case]
    verdicts = {verdict(view, k, case) for k in range(len(view.kernels))}
    return REGRESSION if "bad" in verdicts else IMPROVEMENT if "good" in verdicts else ""


def notes(view: View) -> tuple[str, ...]:
    """Return the notes, with what a mark means where this package set it."""
    if view.printed is None and any(mark(view, j) for j in range(len(view.cases))):
        meaning = f"{REGRESSION} significant regression, {IMPROVEMENT} significant improvement"
        return (*view.notes, f"{meaning} ({view.rule}, alpha {view.alpha:g})")
    return view.notes


def _statistic(view: View) -> str:
    return ", ".join(dict.fromkeys(MEANS[m.mean] for m in view.case_info))
