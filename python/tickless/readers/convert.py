"""From readings to `Results`: repeats side by side, cases in the order they were met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from tickless.readers.reading import Reading
from tickless.results import Metric, Results

Floats = NDArray[np.float64]


def results(
    readings: Sequence[Reading], kernel: str, machine: str, names: Sequence[str]
) -> Results:
    """Return the readings of one benchmark as one kernel's repeats.

    Parameters
    ----------
    readings : sequence of Reading
        Of one benchmark, at least one.
    kernel, machine : str
        Names.
    names : sequence of str
        The logs' names, for ``attrs["source"]``.
    """
    first = readings[0]
    values: dict[str, dict[str, list[Floats]]] = {}
    info: dict[str, Metric] = {}
    for r in readings:
        for s in r.series:
            info.setdefault(s.metric, metric_of(s.unit, s.better))
            values.setdefault(s.metric, {}).setdefault(s.case, []).append(s.values)
        for s in r.samples:
            name = f"{s.metric}_samples"
            info.setdefault(name, metric_of(s.unit, s.better))
            info.setdefault(f"{name}_at", metric_of("s", "lower"))
            values.setdefault(name, {}).setdefault(s.case, []).append(s.values)
            values.setdefault(f"{name}_at", {}).setdefault(s.case, []).append(s.at)
    cases = list(dict.fromkeys(c for of in values.values() for c in of))
    primary = first.primary if first.primary in values else f"{first.primary}_samples"
    notes = [str(n) for r in readings for n in r.notes]
    if primary != first.primary:
        notes.append(f"no final {first.primary} was printed; {primary} holds the running figures")
    return Results(
        benchmark=first.benchmark,
        machine=machine,
        kernels=(kernel,),
        cases=tuple(c or first.benchmark for c in cases),
        metrics={n: padded([[joined(of, c) for c in cases]]) for n, of in values.items()},
        metric_info=info,
        primary=primary,
        notes=tuple(notes),
        attrs=_attrs(readings, names),
    )


def metric_of(unit: str, better: str, **more: Any) -> Metric:
    """Return a metric with the mean that goes with its direction."""
    side = cast(Literal["higher", "lower"], better)
    return Metric(unit, side, "harmonic" if side == "higher" else "arithmetic", **more)


def joined(by_case: Mapping[str, Sequence[Floats]], case: str) -> Floats:
    """Return all values of a case, one log after another."""
    parts = by_case.get(case, ())
    return np.concatenate(parts) if len(parts) else np.empty(0)


def padded(rows: Sequence[Sequence[Sequence[float] | Floats]]) -> Floats:
    """Return ``(n_kernels, n_cases, n_repeats)`` padded with NaN."""
    longest = max((len(v) for row in rows for v in row), default=0)
    out = np.full((len(rows), len(rows[0]), max(longest, 1)), np.nan)
    for k, row in enumerate(rows):
        for c, values in enumerate(row):
            out[k, c, : len(values)] = values
    return out


def _attrs(readings: Sequence[Reading], names: Sequence[str]) -> dict[str, Any]:
    """Return what the logs say of the run; a parameter that differs becomes a list."""
    parameters: dict[str, Any] = {}
    for key in dict.fromkeys(k for r in readings for k in r.parameters):
        seen = [r.parameters.get(key) for r in readings]
        parameters[key] = seen[0] if all(v == seen[0] for v in seen) else seen
    damaged = [asdict(n) | {"lines": list(n.lines)} for r in readings for n in r.notes]
    return {"source": list(names), "parameters": parameters, "log_notes": damaged}
