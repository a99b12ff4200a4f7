"""From rows of the published files to a `PublishedTable`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, cast

import numpy as np

from tickless.results import Metric, PublishedTable

Row = Mapping[str, str]
Names = Callable[[str, str], str]
Facts = Mapping[str, Any]

MEANS: dict[str, Literal["arithmetic", "harmonic", "median"]] = {
    "amean": "arithmetic",
    "hmean": "harmonic",
    "median": "median",
}
"""Printed statistic in small letters; anything else (a single run, a count) is one number."""

FACETS = ("machine", "workload", "parameter", "metric", "unit")
"""What a row of a table is; those that vary within the table make its name."""


def table(table_id: str, rows: Sequence[Row], facts: Facts, names: Names) -> PublishedTable:
    """Return a table of the long files: one row per cell.

    Parameters
    ----------
    table_id : str
    rows : sequence of dict
        Rows of the csv file with this table id.
    facts : dict
        What ``tables.toml`` says of the table and its report.
    names : callable
        ``(kind, printed)`` to the registered name.
    """
    baseline = rows[0]["baseline"]
    # A figure without a kernel is taken for the baseline; the table's notes say so.
    systems = _unique([baseline, *(_system(r, baseline, names) for r in rows)])
    keys = _unique([tuple(r[f] for f in FACETS) for r in rows])
    cell = {(_system(r, baseline, names), tuple(r[f] for f in FACETS)): r for r in rows}
    lookup = [[cell.get((s, k), {}) for k in keys] for s in systems]
    only_pct = all(r["value"] == "" for r in rows) and any(r["pct_change"] for r in rows)
    first = [next(row[j] for row in lookup if row[j]) for j in range(len(keys))]
    percent = _array(lookup, "pct_change")
    better = [r["direction"] or "higher" for r in first]
    return PublishedTable(
        table_id=table_id,
        benchmark=names("workload", rows[0]["workload"]),
        machine=names("machine", rows[0]["machine"]),
        kernels=tuple(names("kernel", s) for s in systems),
        cases=_case_names([(names("machine", k[0]), *k[1:]) for k in keys]),
        center=_from_percent(percent, better) if only_pct else _array(lookup, "value"),
        cv_pct=_array(lookup, "cv"),
        printed_pct=percent,
        mark=tuple(r["marker"] for r in first),
        starred=_flags(lookup, "significant"),
        tested=_flags(lookup, "tested"),
        case_info=tuple(_metric(r, lookup, j, facts) for j, r in enumerate(first)),
        printed=tuple(tuple(c.get("value", "") for c in row) for row in lookup),
        normalised=rows[0]["normalised"] == "true",
        baseline=names("kernel", baseline),
        kernel_labels=tuple(facts.get("labels", {}).get(s, s) for s in systems),
        title=facts.get("title", rows[0]["workload"]),
        case_title=_case_title(rows[0]["notes"]),
        statistic=facts.get("statistic", rows[0]["statistic"]),
        notes=tuple(facts["notes"]),
        attrs={
            **_attrs(facts, rows[0], [_cell(r, names) for r in first]),
            "notes_by_kernel": [[c.get("notes", "") for c in row] for row in lookup],
        },
    )


def summary(table_id: str, rows: Sequence[Row], facts: Facts, names: Names) -> PublishedTable:
    """Return the summary lists of one block: a verdict per workload, machine and kernel."""
    systems = [rows[0]["baseline"], *_unique([r["system"] for r in rows])]
    keys = _unique([(r["workload"], r["machine"]) for r in rows])
    cell = {(r["system"], (r["workload"], r["machine"])): r for r in rows}
    lookup = [[cell.get((s, k), {"pct_change": "0", "text": ""}) for k in keys] for s in systems]
    cells = [
        _listed(names("workload", w), names("machine", m), "geometric mean of ratios", "%", w)
        for w, m in keys
    ]
    # dbench's figure is the growth of a latency; the others are rates.
    better = ["lower" if c["workload"] == "dbench" else "higher" for c in cells]
    percent = _array(lookup, "pct_change")
    blank = _list(table_id, systems, cells, rows[0], facts, names)
    return blank.replace(
        center=_from_percent(percent, better),
        printed_pct=percent,
        case_info=tuple(
            Metric("%", _side(b), "arithmetic", 0, facts["style"], facts["units"]) for b in better
        ),
        printed=tuple(tuple(c["text"] for c in row) for row in lookup),
        statistic=rows[0]["statistic"],
    )


def neutral(table_id: str, rows: Sequence[Row], facts: Facts, names: Names) -> PublishedTable:
    """Return the list of benchmarks that a report names without a figure."""
    cells = {
        name: _listed(name, "", "named without a figure", "", r["workload"]) | {"list": r["list"]}
        for r in rows
        for name in names("workload", r["workload"]).split(";")
    }
    systems = ["vanilla", "teo-v1", "teo-v2", "teo-v3", "teo-v5"]
    return _list(table_id, systems, list(cells.values()), rows[0], facts, names)


def _listed(workload: str, machine: str, metric: str, unit: str, printed: str) -> dict[str, str]:
    """Return what a row of a list is; lists have no parameter."""
    return {
        "workload": workload,
        "machine": machine,
        "metric": metric,
        "unit": unit,
        "param": "",
        "printed_workload": printed,
    }


def _list(
    table_id: str,
    systems: Sequence[str],
    cells: list[dict[str, str]],
    row: Row,
    facts: Facts,
    names: Names,
) -> PublishedTable:
    """Return a table of a report's lists without figures: one row per cell description."""
    count = len(cells)
    nothing = np.full((len(systems), count), np.nan)
    never = np.zeros(nothing.shape, dtype=bool)
    return PublishedTable(
        table_id=table_id,
        benchmark="",
        machine="",
        kernels=tuple(names("kernel", s) for s in systems),
        cases=tuple(", ".join(filter(None, (c["workload"], c["machine"]))) for c in cells),
        center=nothing,
        cv_pct=nothing,
        printed_pct=nothing,
        mark=("",) * count,
        starred=never,
        tested=never,
        case_info=(Metric("", "higher", "arithmetic", style=facts["style"], title=facts["units"]),)
        * count,
        printed=(("",) * count,) * len(systems),
        normalised=True,
        baseline=names("kernel", systems[0]),
        kernel_labels=tuple(systems),
        case_title="Benchmark:",
        notes=tuple(facts["notes"]),
        attrs=_attrs(facts, row, cells),
    )


def _system(row: Row, baseline: str, names: Names) -> str:
    """Return the heading of a row's column; spellings of one kernel share a column."""
    system = row["system"] or baseline
    same = names("kernel", system) == names("kernel", baseline)
    return baseline if same else system


def _case_names(keys: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return one name per row: its parameter, and whatever else varies within the table."""
    vary = [i for i in range(len(FACETS)) if len({k[i] for k in keys}) > 1]
    vary = vary or [FACETS.index("workload")]
    return tuple(", ".join(k[i] for i in vary if k[i]) for k in keys)


def _metric(row: Row, lookup: Sequence[Sequence[Row]], j: int, facts: Facts) -> Metric:
    texts = [r[j].get("value", "") for r in lookup]
    decimals = max(len(t.partition(".")[2]) for t in texts)
    mean = MEANS.get(row["statistic"].lower(), "arithmetic")
    side = _side(row["direction"] or "higher")
    return Metric(row["unit"], side, mean, decimals, facts["style"], row["metric"])


def _side(better: str) -> Literal["higher", "lower"]:
    return cast(Literal["higher", "lower"], better)


def _from_percent(percent: Any, better: Sequence[str]) -> Any:
    """Return ratios to the baseline; a positive percentage is always an improvement."""
    sign = np.array([1.0 if b == "higher" else -1.0 for b in better])
    return 1.0 + sign * percent / 100.0


def _array(lookup: Sequence[Sequence[Row]], column: str) -> Any:
    out = np.full((len(lookup), len(lookup[0])), np.nan)
    for k, row in enumerate(lookup):
        for j, cell in enumerate(row):
            # A blank, or a range in prose, is no number.
            with suppress(ValueError):
                out[k, j] = float(cell.get(column) or "nan")
    return out


def _flags(lookup: Sequence[Sequence[Row]], column: str) -> Any:
    return np.array([[cell.get(column) == "true" for cell in row] for row in lookup])


def _cell(row: Row, names: Names) -> dict[str, str]:
    try:
        workload = names("workload", row["workload"])
    except ValueError:
        workload = ""
    return {
        "workload": workload,
        "machine": names("machine", row["machine"]),
        "metric": row["metric"],
        "unit": row["unit"],
        "param": row["parameter"],
        "direction": row["direction"],
    }


def _case_title(note: str) -> str:
    """Return ``Clients:`` from the note that quotes the title of the parameter column."""
    quoted = note.partition('titled "')[2].partition('"')[0]
    return f"{quoted}:" if quoted else ""


def _attrs(facts: Facts, row: Row, cells: list[dict[str, str]]) -> dict[str, Any]:
    attrs = {
        "report": facts["report"],
        "title": facts.get("title", row["workload"]),
        "statistic": facts.get("statistic", row.get("statistic", "")),
        "source": row["source"],
        "date": row["date"],
        "cells": cells,
    }
    if "era" in facts:
        attrs["mmtests_era"] = facts["era"]
    if "mmtests" in facts:
        attrs["mmtests_benchmark"] = facts["mmtests"]
    for key in ("better", "width", "host", "os"):
        if key in facts:
            attrs[key] = facts[key]
    return attrs


def _unique(items: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys(items))
