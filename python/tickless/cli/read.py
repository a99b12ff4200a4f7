"""``tickless read FILE``: what a supported file holds, and what was wrong with it."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from typing import Any

import tickless
from tickless import _html
from tickless.cli._output import (
    Table,
    add_output,
    chosen_format,
    html_parts,
    render,
    say,
    write,
)
from tickless.errors import InvalidParameterError
from tickless.event_table import EventTable
from tickless.idle_dump import CpuidleDump
from tickless.periods import IdlePeriods
from tickless.results import Results, ResultSet
from tickless.trace import TIME_UNITS, Trace

EVENTS_SHOWN = 20
"""Rows of a table of events in text, Markdown, LaTeX and HTML; csv and JSON hold all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("file", nargs="+", help="trace (several files: parts of one recording), idle states, "
        "benchmark log, MMTests directory, posted table")  # fmt: skip
    add("--time-unit", choices=TIME_UNITS, help="unit of integer time stamps")
    add("--errors", choices=("report", "strict", "ignore"), default="report", help="on damage")
    add("--table", choices=Trace.TABLES, help="show the rows of this table of a trace")
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Print the report, and the rows of a table if asked for; warnings go to stderr."""
    style = chosen_format(args)
    path = args.file[0] if len(args.file) == 1 else args.file
    result = tickless.read(path, errors=args.errors, time_unit=args.time_unit)
    if isinstance(result, Trace):
        if result.report.warnings and args.errors == "report":
            for line in result.report.warning_lines():
                print(f"tickless: {line}", file=sys.stderr)
        write(args, _trace(style, result, args.table))
        return 0
    if args.table is not None:
        raise InvalidParameterError("--table: this file is no trace")
    if isinstance(result, CpuidleDump):
        for line in result.warning_lines():
            print(f"tickless: {result.path}: {line}", file=sys.stderr)
        write(args, render(style, [("Idle states", *result.rows())], left=True))
        return 0
    write(args, _whole(style, result))
    return 0


def _whole(style: str, result: IdlePeriods | Results | ResultSet) -> str:
    """Return an overview for people; csv and JSON hold every value."""
    if style == "csv":
        say(getattr(result, "notes", ()))
        return str(result.to_frame().to_csv(index=False))
    if style == "json":
        return str(result.to_frame().to_json(orient="records")) + "\n"
    if style == "html":
        return _html.page("tickless read", [result._repr_html_()])
    if isinstance(result, IdlePeriods):
        return f"{result}\n"
    from tickless.results_views import of_results, of_set

    view = of_results(result) if isinstance(result, Results) else of_set(result)
    table = (view.caption, view.head, view.rows)
    return render(style, [table], left=isinstance(result, ResultSet), notes=view.notes)


def _trace(style: str, trace: Trace, table: str | None) -> str:
    if style == "csv":
        return _csv(getattr(trace, table or "idle"))
    if style == "json":
        return _json(trace, [table] if table else list(Trace.TABLES))
    tables = [("Read report", ("", ""), trace.report.rows()), _states(trace)]
    if table:
        tables.append(_rows(table, getattr(trace, table)))
    if style == "html":
        return _html.page(f"Trace {trace.report.path}", html_parts(tables))
    return render(style, tables, left=style == "text" and table is None)


def _states(trace: Trace) -> Table:
    """Return one row per idle state: how often it was entered and for how long."""
    import numpy as np

    end = np.ma.getdata(trace.idle.end_ns)
    closed = ~np.ma.getmaskarray(trace.idle.end_ns)
    rows = []
    for state in np.unique(trace.idle.state).tolist():
        here = closed & (trace.idle.state == state)
        length = end[here] - trace.idle.start_ns[here]
        total = int(length.sum()) if len(length) else 0
        middle = int(np.median(length)) if len(length) else 0
        rows.append([str(state), str(len(length)), f"{total / 1e6:.3f}", f"{middle / 1e3:.3f}"])
    return "Idle intervals", ("state", "complete", "total ms", "median us"), rows


def _rows(name: str, table: EventTable) -> Table:
    shown = table[:EVENTS_SHOWN].tolist()
    rows = [["" if v is None else str(v) for v in row] for row in shown]
    more = len(table) - len(rows)
    return f"{name}{f' (the first of {len(table)} rows)' if more else ''}", table.columns, rows


def _csv(table: EventTable) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table)
    return out.getvalue()


def _json(trace: Trace, tables: list[str]) -> str:
    report = {
        name: value
        for name, value in vars(trace.report).items()
        if isinstance(value, str | int | list | dict | tuple | type(None))
    }
    report["cpus_seen"] = trace.report.cpus_seen.tolist()
    document: dict[str, Any] = {"report": report}
    for name in tables:
        table = getattr(trace, name)
        document[name] = {c: table[c].tolist() for c in table.columns}
    return json.dumps(document) + "\n"
