"""What the reader of a simulation should know about its cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tickless.kernel import Kernel
from tickless.machine import Machine
from tickless.results import Array
from tickless.stats.notes import Cells

STEADY_PCT = 1.0
"""The halves of the window may differ by so much, or by so many times the spread below."""
STEADY_SPREADS = 3.0
BISTABLE_CV_PCT = 5.0
"""Spread between repeats that no machine shows which is in one state."""
GAP = 3.0
"""A gap between sorted repeats so many times all the others together splits them in two ..."""
GAP_REPEATS = 5
"""... if there are at least so many repeats: of 4, one set in 5 has such a gap by chance ..."""
GAP_PCT = 2.0
"""... and if all repeats together span so much of the mean."""
EDGE = 1.5
"""A median idle period within this factor of the edge is on it."""
EDGE_GOVERNORS = ("teo-rfc-", "teo-5.")
"""Governors that subtract the exit latency from longer idle periods and halve shorter ones."""


def notes(
    raw: Mapping[str, Any], machine: Machine, kernels: Sequence[Kernel], cases: Sequence[str]
) -> Iterator[str]:
    """Yield sentences about cells that are not steady, not unique, cut, or on an edge.

    Parameters
    ----------
    raw : mapping of str to ndarray
        What the core's batch returned.
    machine : Machine
    kernels : sequence of Kernel
    cases : sequence of str
    """
    cells = Cells([k.name for k in kernels], cases)
    with np.errstate(all="ignore"):
        yield from _steady(raw, cells)
        yield from _bistable(raw["reported"][..., 0], cells)
    nothing = ~(raw["reported"][..., 0] > 0).all(axis=2)
    if nothing.any():
        yield f"nothing counted: {cells.named(nothing)}: the window is too short for this case"
    yield from _ends(raw, cells)
    yield from _edges(raw["idle_period_ns"], machine, kernels, cells)


def spread_pct(values: Array) -> Array:
    """Return the coefficient of variation over the repeats, percent; 0 for a single one."""
    if values.shape[2] < 2:
        return np.zeros(values.shape[:2])
    cv: Array = np.nan_to_num(100 * values.std(axis=2, ddof=1) / np.abs(values.mean(axis=2)))
    return cv


def _steady(raw: Mapping[str, Any], cells: Cells) -> Iterator[str]:
    first, second = np.moveaxis(raw["halves"].mean(axis=2), -1, 0)
    drift = 200 * (second - first) / np.abs(second + first)
    limit = np.maximum(STEADY_PCT, STEADY_SPREADS * spread_pct(raw["reported"][..., 0]))
    bad = np.abs(drift) > limit
    if bad.any():
        yield (
            f"not steady: {cells.named(bad, drift, ' %')}: the second half of the window differs "
            "from the first; give a longer warmup_s or duration_s"
        )


def _bistable(values: Array, cells: Cells) -> Iterator[str]:
    cv = spread_pct(values)
    bad = (cv > BISTABLE_CV_PCT) | two_groups(values)
    if bad.any():
        yield (
            f"several states: {cells.named(bad, cv, ' %')}: the repeats differ more than noise "
            "lets them (coefficient of variation); look at the single values, not at their mean"
        )


def two_groups(values: Array) -> NDArray[np.bool_]:
    """Return where the sorted repeats fall into two groups far apart; see `GAP`."""
    if values.shape[2] < GAP_REPEATS:
        return np.zeros(values.shape[:2], bool)
    ordered = np.sort(values, axis=2)
    gap = np.diff(ordered, axis=2).max(axis=2)
    span = ordered[..., -1] - ordered[..., 0]
    wide = 100 * span > GAP_PCT * np.abs(values.mean(axis=2))
    found: NDArray[np.bool_] = (gap > GAP * (span - gap)) & wide
    return found


def _ends(raw: Mapping[str, Any], cells: Cells) -> Iterator[str]:
    cut = raw["cut"][..., 0].any(axis=2)
    if cut.any():
        yield (
            f"cut: {cells.named(cut)}: the workload had not ended after the longest time allowed; "
            "give a longer duration_s"
        )
    lost = raw["lost_share"][..., 0].mean(axis=2) * 100
    if (lost > 0).any():
        yield f"messages lost for want of room: {cells.named(lost > 0, lost, ' % of those sent')}"


def _edges(
    idle_period: Array, machine: Machine, kernels: Sequence[Kernel], cells: Cells
) -> Iterator[str]:
    table = machine.idle_table(0)
    halting = np.flatnonzero(~table.polling)
    if not len(halting) or not table.polling.any():
        return
    edge = 2.0 * table.exit_latency_ns[halting[0]]
    median = np.median(idle_period[..., 1], axis=2)
    near = (median > edge / EDGE) & (median < edge * EDGE)
    near &= np.array([k.governor.startswith(EDGE_GOVERNORS) for k in kernels])[:, np.newaxis]
    if near.any():
        yield (
            f"knife-edge: {cells.named(near, median / 1e3, ' us')}: half of the idle periods are "
            f"shorter than this, and {edge / 1e3:g} us, twice the exit latency of "
            f"{table.names[halting[0]]}, is where the governor takes them for polling; vary the "
            "wake times by 0.5 us and read the results as a band"
        )
