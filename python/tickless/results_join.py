"""Several `Results` of one benchmark joined into one, so that their kernels can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tickless.errors import InvalidParameterError, InvalidTypeError
from tickless.results import Array, PublishedTable, Results


def join(given: Sequence[Results | PublishedTable]) -> Results:
    """Return one result with the kernels of all parts; see `Results.join`."""
    if isinstance(given, Results | PublishedTable) or not isinstance(given, Iterable):
        raise InvalidTypeError(f"parts: expected several Results, found {type(given).__name__}")
    given = list(given)
    if not given:
        raise InvalidParameterError("parts: empty; give at least one result")
    for i, p in enumerate(given):
        if not isinstance(p, Results | PublishedTable):
            raise InvalidTypeError(f"parts[{i}]: expected Results, found {type(p).__name__}")
    parts = [p.to_results() if isinstance(p, PublishedTable) else p for p in given]
    first = parts[0]
    _check(parts)
    kernels = tuple(dict.fromkeys(k for p in parts for k in p.kernels))
    cases = tuple(dict.fromkeys(c for p in parts for c in p.cases))
    shared = [m for m in first.metrics if all(m in p.metrics for p in parts)]
    if first.primary not in shared:
        raise InvalidParameterError(
            f"parts: not all of them have the metric {first.primary!r} "
            f"({', '.join(sorted({m for p in parts for m in p.metrics}))})"
        )
    notes = [n for p in parts for n in p.notes]
    notes += _gaps(parts, cases)
    labels = [
        {k: v for p in parts for k, v in zip(getattr(p, f"{what}s"), getattr(p, f"{what}_labels"),
                                             strict=True)}
        for what in ("kernel", "case")
    ]  # fmt: skip
    return first.replace(
        kernels=kernels,
        cases=cases,
        kernel_labels=tuple(labels[0][k] for k in kernels),
        case_labels=tuple(labels[1][c] for c in cases),
        metrics={m: _stacked(parts, m, kernels, cases) for m in shared},
        metric_info={m: first.metric_info[m] for m in shared},
        notes=tuple(dict.fromkeys(notes)),
    )


def from_printed(table: PublishedTable) -> Results:
    """Return the printed values as one sample each; see `PublishedTable.to_results`."""
    kinds = {(m.unit, m.better, m.mean) for m in table.case_info}
    if table.normalised or len(kinds) != 1:
        what = "ratios to its baseline" if table.normalised else "values of different units"
        raise InvalidParameterError(
            f"{table.table_id}: the table prints {what}, no samples to join with others; "
            "compare the table itself"
        )
    return Results.build(
        table.benchmark,
        table.kernels,
        table.cases,
        {table.primary: (table.case_info[0], table.center[:, :, np.newaxis])},
        machine=table.machine,
        kernel_labels=table.kernel_labels,
        case_labels=table.case_labels,
        case_title=table.case_title,
        notes=(*table.notes, f"{', '.join(table.kernel_labels)}: printed values, no samples"),
    )


def _check(parts: Sequence[Results]) -> None:
    first = parts[0]
    for p in parts[1:]:
        for what in ("benchmark", "machine"):
            a, b = getattr(first, what), getattr(p, what)
            if a != b:
                raise InvalidParameterError(f"parts: results of {what} {a!r} and {b!r} do not mix")
        for m, info in p.metric_info.items():
            known = first.metric_info.get(m)
            if known is not None and (known.unit, known.better) != (info.unit, info.better):
                raise InvalidParameterError(
                    f"parts: {m} in {known.unit!r} ({known.better} is better) and in "
                    f"{info.unit!r} ({info.better} is better) do not mix"
                )


def _gaps(parts: Sequence[Results], cases: tuple[str, ...]) -> list[str]:
    out = []
    for p in parts:
        lost = [c for c in cases if c not in p.cases]
        if lost:
            out.append(f"{', '.join(p.kernels)}: no {', '.join(lost)}")
    return out


def _stacked(
    parts: Sequence[Results], metric: str, kernels: tuple[str, ...], cases: tuple[str, ...]
) -> Array:
    """Return ``(kernel, case, repeat)``; the same kernel in two parts has the repeats of both."""
    rows: dict[tuple[int, int], list[Array]] = {}
    for p in parts:
        flat = p[metric].reshape(len(p.kernels), len(p.cases), -1)
        for i, k in enumerate(p.kernels):
            for j, c in enumerate(p.cases):
                place = (kernels.index(k), cases.index(c))
                rows.setdefault(place, []).append(flat[i, j][~np.isnan(flat[i, j])])
    joined = {place: np.concatenate(found) for place, found in rows.items()}
    width = max(len(v) for v in joined.values())
    out = np.full((len(kernels), len(cases), max(width, 1)), np.nan)
    for (i, j), v in joined.items():
        out[i, j, : len(v)] = v
    return out
