"""The four published reports as data: every printed cell with its mark, CV and irregularities.

`published` gives a `ResultSet` keyed by table id whose tables compare with each other and with
measured or simulated results; `reports` lists what there is.
"""

from __future__ import annotations

import csv
import sys
import tomllib
from functools import cache
from importlib.resources import files
from types import ModuleType
from typing import Any

from tickless.catalogue import Catalogue, Entry
from tickless.errors import known_name, unknown_name
from tickless.published.tables import neutral, summary, table
from tickless.results import PublishedTable, ResultSet

__all__ = ["alias", "cell_classes", "label", "published", "reports"]

Row = dict[str, str]


def reports() -> Catalogue:
    """List the published reports.

    Returns
    -------
    Catalogue
        Entries also hold ``date`` (empty if the post has none) and ``tables``, their number.

    Examples
    --------
    >>> import tickless
    >>> tickless.reports()["eevdf-2023"].date
    '2023-08-25'
    """
    entries = []
    for number, about in _about()["report"].items():
        rows = _tables(number)
        first = next(iter(rows.values()))[0]
        facts = {"date": first["date"], "tables": len(rows)}
        entry = Entry(about["name"], about["summary"], (number,), first["source"], facts)
        entries.append(entry)
    return Catalogue("reports", entries, ("date", "tables"))


def published(report: str) -> ResultSet:
    """Return the tables of one published report.

    Parameters
    ----------
    report : str
        One of `reports`.

    Returns
    -------
    ResultSet
        `PublishedTable` by table id. Kernels, machines and benchmarks have their registered
        names, `kernel_labels` the printed ones. ``attrs["cells"]`` says per case which workload,
        machine, metric, unit and parameter it is.

    Raises
    ------
    UnknownNameError
        For a report that does not exist.

    Examples
    --------
    >>> import tickless
    >>> t = tickless.published("teo-v8")["003-sockperf-udp-throughput"]
    >>> t.kernels[1], t.center[1, 0].item(), t.printed_pct[1, 0].item(), t.starred[1, 0].item()
    ('4.20-rc5-teo6', 25.91, 5.46, True)
    """
    return _report(_number(report))


@cache
def _report(number: str) -> ResultSet:
    about = _about()["report"][number]
    entries: dict[str, PublishedTable] = {}
    for table_id, rows in _tables(number).items():
        more = _about()["table"].get(table_id, {})
        notes = [*about.get("notes", ()), *more.get("notes", ())]
        facts = {**about, **more, "notes": notes, "report": about["name"], "number": number}
        build = neutral if table_id.endswith("neutral") else summary if "text" in rows[0] else table
        entries[table_id] = build(table_id, rows, facts, _Names(number))
    return ResultSet(entries, name=about["name"])


def alias(kind: str, printed: str, report: str = "") -> str:
    """Return the registered name of a printed spelling.

    Parameters
    ----------
    kind : str
        ``"kernel"``, ``"machine"``, ``"workload"``, ``"patch"``, ``"mmtests_config"`` ...
    printed : str
        The spelling.
    report : str
        Report whose spelling it is; its own spellings go before those that hold everywhere.

    Raises
    ------
    UnknownNameError
        If the spelling is not listed.
    """
    number = _number(report) if report else ""
    names = _aliases()
    for key in ((kind, printed, number), (kind, printed, "")):
        if key in names:
            return names[key]
    known = sorted({p for k, p, n in names if k == kind and n in ("", number)})
    raise unknown_name(kind, printed, known)


def label(name: str, report: str, table: str | None = None) -> str:
    """Return the heading a report prints for a kernel.

    Parameters
    ----------
    name : str
        Registered name of the kernel.
    report : str
        One of `reports`.
    table : str, optional
        Table id; the first table with that kernel if None.

    Raises
    ------
    UnknownNameError
        If the report or table has no such kernel.

    Examples
    --------
    >>> label("4.18-teo-v5", "teo-v5"), label("base", "eevdf-2023", "004-ycsb")
    ('4.18.0-teo-v5+backport', 'tip')
    """
    tables = published(report)
    for table_id in tables if table is None else (table,):
        entry = tables[table_id]
        if name in entry.kernels:
            return entry.kernel_labels[entry.kernels.index(name)]
    known = sorted({k for t in tables.values() for k in t.kernels})
    raise unknown_name(f"kernel of {report}", name, known)


def cell_classes() -> list[Row]:
    """Return how each published cell is judged: one row per cell that is no baseline."""
    return _csv("cell_classes.csv")


class _Names:
    """Registered names for the spellings of one report."""

    def __init__(self, number: str) -> None:
        self.number = number

    def __call__(self, kind: str, printed: str) -> str:
        return _aliases().get((kind, printed, self.number)) or alias(kind, printed)


def _number(report: str) -> str:
    """Return the number of a report given by name or number."""
    known = {about["name"]: number for number, about in _about()["report"].items()}
    if isinstance(report, str) and report in known.values():
        return report
    known_name("report", report, known)
    return str(known[report])


@cache
def _about() -> dict[str, Any]:
    return tomllib.loads(_text("tables.toml"))


@cache
def _aliases() -> dict[tuple[str, str, str], str]:
    rows = _csv("aliases.csv")
    return {(r["kind"], r["printed"], r["report"]): r["name"] for r in rows}


@cache
def _tables(number: str) -> dict[str, list[Row]]:
    """Return the rows of a report by table id, in the order of the files."""
    tables: dict[str, list[Row]] = {}
    folder = files(__package__) / "data"
    for path in sorted(folder.iterdir(), key=lambda p: p.name):
        if path.name.startswith(f"report{number}"):
            for row in _csv(path.name):
                tables.setdefault(row["table_id"], []).append(row)
    return tables


def _csv(name: str) -> list[Row]:
    return list(csv.DictReader(_text(name).splitlines()))


def _text(name: str) -> str:
    return (files(__package__) / "data" / name).read_text(encoding="utf-8")


class _CallableModule(ModuleType):
    """Lets ``tickless.published(report)`` work after this module was imported by its name.

    The import system then binds ``tickless.published`` to the module, not to the function.
    """

    def __call__(self, report: str) -> ResultSet:
        return published(report)


sys.modules[__name__].__class__ = _CallableModule
