"""The arrays of a simulation as metrics: names, units, directions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tickless import _core
from tickless.results import Array, Metric
from tickless.workload import Workload

Named = tuple[str, Metric, Array]

HIGHER = frozenset({"messages_sent", "messages_received", "tick_stopped"})
"""Counts of which more is better, all other things equal."""
PER_OPERATION = ("context_switches", "voluntary", "involuntary", "wakeups", "blocks", "migrations")
"""Counts that are also given per operation of the benchmark."""
EVENTS = "events"
"""The count that belongs to the simulation, not to the simulated machine."""


def metrics(raw: Mapping[str, Any], workload: Workload) -> Iterator[Named]:
    """Yield name, description and values of every metric, the reported ones first.

    Parameters
    ----------
    raw : mapping of str to ndarray
        What the core's batch returned.
    workload : Workload
        Describes the reported figures.

    Yields
    ------
    (str, Metric, ndarray)
        Arrays of float64, (n_kernels, n_cases, n_repeats) or with one axis more.
    """
    for i, (name, info) in enumerate(workload.reports.items()):
        yield name, info, raw["reported"][..., i]
    yield from _counts(raw)
    yield from _quantiles("latency", raw["wakeup_latency_ns"], _core.LATENCY_QUANTILES)
    yield from _quantiles("slice", raw["slice_ns"], _core.LENGTH_QUANTILES)
    yield from _quantiles("idle_period", raw["idle_period_ns"], _core.LENGTH_QUANTILES)
    yield from _power(raw)
    yield from _idle(raw)


def _counts(raw: Mapping[str, Any]) -> Iterator[Named]:
    counts = dict(zip(_core.COUNTS, np.moveaxis(raw["counts"], -1, 0), strict=True))
    seconds = raw["elapsed_ns"][..., 0] * 1e-9
    with np.errstate(all="ignore"):  # no time, no operations: NaN
        for name, n in counts.items():
            if name == EVENTS:
                continue
            unit = "ns/s" if name.endswith("_ns") else "1/s"
            yield name, _metric(unit, name in HIGHER, decimals=0), _finite(n / seconds)
        operations = raw["operations"][..., 0]
        if not np.isnan(operations).all():
            for name in PER_OPERATION:
                yield f"{name}_per_op", _metric("1", decimals=3), _finite(counts[name] / operations)
            energy = raw["power_w"][..., 0] * seconds * 1e6
            yield "energy_per_op_uj", _metric("uJ", decimals=3), _finite(energy / operations)
        switches = counts["voluntary"] + counts["involuntary"]
        share = _finite(counts["voluntary"] / switches)
        yield "voluntary_share", _metric("1", decimals=3), share
    for name, n in counts.items():
        unit = "ns" if name.endswith("_ns") else ""
        yield f"{name}_total", _metric(unit, name in HIGHER, decimals=0), n.astype(np.float64)


def _quantiles(name: str, ns: Array, quantiles: list[float]) -> Iterator[Named]:
    for i, q in enumerate(quantiles):
        word = "max" if q == 1 else f"p{100 * q:g}"
        yield f"{name}_{word}_us", _metric("us", decimals=2), ns[..., i] / 1e3


def _power(raw: Mapping[str, Any]) -> Iterator[Named]:
    seconds, watts = raw["elapsed_ns"][..., 0] * 1e-9, raw["power_w"][..., 0]
    yield "utilisation", _metric("1", decimals=4), raw["busy"].mean(axis=-1)
    yield "power_w", _metric("W", decimals=2), watts
    yield "energy_j", _metric("J", decimals=3), watts * seconds
    yield "elapsed_s", _metric("s", decimals=4), seconds


def _idle(raw: Mapping[str, Any]) -> Iterator[Named]:
    yield "idle_usage", _metric("", decimals=0), _float(raw["idle_usage"])
    yield "idle_time_s", _metric("s", decimals=4), raw["idle_time_ns"] * 1e-9
    yield "idle_above", _metric("", decimals=0), _float(raw["idle_above"])
    yield "idle_below", _metric("", decimals=0), _float(raw["idle_below"])
    yield "cpu_busy", _metric("1", decimals=4), raw["busy"]


def _metric(unit: str, higher: bool = False, decimals: int = 2) -> Metric:
    better: Literal["higher", "lower"] = "higher" if higher else "lower"
    return Metric(unit, better, "arithmetic", decimals)


def _finite(values: Any) -> Array:
    return np.where(np.isfinite(values), values, np.nan)


def _float(values: NDArray[np.int64]) -> Array:
    return values.astype(np.float64)
