"""The printed lines of each report, laid out again from its data by the table styles.

What is no table but output of a benchmark quoted in a post (tbench and pollbench lines, a profile)
is written here in that program's format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tickless.results import PublishedTable, ResultSet
from tickless.tables import Grid, summary

QUOTED = "> > "
LIST_INDENT, LIST_NAME = 12, 24
"""The older lists, quoted in report 000, are indented and wider than the newer ones."""
POLLBENCH = re.compile(r"handles=(\d+) processes=(\d+) loops=(\d+)")


def lines(number: str, report: ResultSet) -> list[str]:
    """Return the lines a report prints, in its order.

    Parameters
    ----------
    number : str
        ``"000"``, ``"002"``, ``"003"`` or ``"004"``.
    report : ResultSet
        Its tables.
    """
    entries = {k: t for k, t in report.items() if isinstance(t, PublishedTable)}
    return list(_REPORTS[number](entries))


def _teo_v5(entries: Mapping[str, PublishedTable]) -> Iterator[str]:
    quoted, updated = entries["000-summary-quoted"], entries["000-summary-updated"]
    for workload in dict.fromkeys(c["printed_workload"] for c in updated.attrs["cells"]):
        older = _list(quoted, workload)
        rows = [
            (n, *(c.value for c in row))
            for (n,), row in zip(older.labels, older.cells, strict=True)
        ]
        yield f"{QUOTED}* {workload}"
        yield QUOTED + _list_line(("", *older.columns), 0)
        yield QUOTED + " " * LIST_INDENT + "-" * (len(_list_line(rows[0], 0)) - LIST_INDENT)
        yield from (QUOTED + _list_line(row, LIST_INDENT) for row in rows)
        yield f"* {workload}"
        yield from _list(updated, workload).text
    for table_id, table in entries.items():
        if table_id.endswith(("-quoted", "-updated")) and "summary" not in table_id:
            yield from _mmtests_block(table_id, table)


def _mmtests_block(table_id: str, table: PublishedTable) -> Iterator[str]:
    body = [f"machine: {table.machine}", *_mmtests(table, dashes=True)]
    if table_id.endswith("-quoted"):
        yield QUOTED + table.attrs["mmtests_benchmark"].upper()
        yield f"{QUOTED}{table.case_info[0].better.upper()} is better"
        body = [QUOTED + line for line in body]
    yield from body


def _mmtests(table: PublishedTable, dashes: bool) -> tuple[str, ...]:
    era = table.attrs["mmtests_era"]
    return table.compare().grid("mmtests", era=era, dashes=dashes).text


def _list(table: PublishedTable, workload: str) -> Grid:
    """Return the list of one workload, a row per machine."""
    cells = table.attrs["cells"]
    at = [j for j, c in enumerate(cells) if c["printed_workload"] == workload]
    views = {cells[j]["machine"]: _case(table, j).compare() for j in at}
    return summary.grid_all(views)


def _list_line(fields: Sequence[str], indent: int) -> str:
    line = " " * indent + fields[0].ljust(LIST_INDENT + LIST_NAME - indent)
    return (line + "".join(f.ljust(16) for f in fields[1:])).rstrip()


def _case(table: PublishedTable, j: int) -> PublishedTable:
    """Return the table with one of its cases only."""
    one = slice(j, j + 1)
    return table.replace(
        cases=table.cases[one],
        case_labels=table.case_labels[one],
        center=table.center[:, one],
        cv_pct=table.cv_pct[:, one],
        printed_pct=table.printed_pct[:, one],
        mark=table.mark[one],
        starred=table.starred[:, one],
        tested=table.tested[:, one],
        case_info=table.case_info[one],
        printed=tuple(row[one] for row in table.printed),
    )


def _context_switch(entries: Mapping[str, PublishedTable]) -> Iterator[str]:
    base, other = 0, 1
    name = entries["002-lmbench-ctxsw-first"].kernel_labels[0]
    yield from (name, "=" * len(name))
    yield from _lmbench(entries["002-lmbench-ctxsw-first"])
    # The first table of this kind has its heading only.
    yield from _lmbench(entries["002-lmbench-comm"])[:4]
    yield from _runs(entries, base, rates=True)
    yield from _lmbench(entries["002-lmbench-ctxsw-second"])
    yield from _lmbench(entries["002-lmbench-comm"])
    yield from _runs(entries, other, rates=False)
    yield from _pollbench(entries, base, "piii-500", rates=False)
    yield f"{name}:"
    yield from _profile(entries["002-profile"], base)
    yield from _profile(entries["002-profile"], other)


def _lmbench(table: PublishedTable) -> tuple[str, ...]:
    return table.compare().grid("lmbench").text


def _runs(entries: Mapping[str, PublishedTable], kernel: int, rates: bool) -> Iterator[str]:
    table = entries["002-tbench"]
    rate = _rate(entries, "", "dual-p4-1700") if rates else ""
    yield f"{table.title}:" + (f"\t\t\t{rate}" if rate else "")
    figures = table.printed[kernel]
    for i in range(0, len(figures), 3):
        mb, nb, mbit = figures[i : i + 3]
        yield f"Throughput {mb} MB/sec (NB={nb} MB/sec  {mbit} MBit/sec)"
    yield from _pollbench(entries, kernel, "dual-p4-1700", rates)


def _pollbench(
    entries: Mapping[str, PublishedTable], kernel: int, machine: str, rates: bool
) -> Iterator[str]:
    """Print the lines of pollbench, with its command line before the runs of each kind."""
    table, command = entries["002-pollbench"], ""
    for j, cell in enumerate(table.attrs["cells"]):
        found = POLLBENCH.match(cell["param"])
        if cell["machine"] != machine or not table.printed[kernel][j] or not found:
            continue
        handles, processes, loops = found.groups()
        if (now := f"{handles} {processes} {loops}") != command:
            command = now
            rate = _rate(entries, command, machine) if rates else ""
            yield f"pollbench {command}" + (f"\t\t{rate}" if rate else "")
        time = table.printed[kernel][j]
        yield (
            f"  result with handles {handles} processes {processes} loops {loops}:time  {time} sec."
        )


def _rate(entries: Mapping[str, PublishedTable], parameter: str, machine: str) -> str:
    table = entries["002-switch-rate"]
    for j, cell in enumerate(table.attrs["cells"]):
        if cell["param"] == parameter and cell["machine"] == machine:
            return f"({table.printed[0][j]}k switches/sec)"
    return ""


def _profile(table: PublishedTable, kernel: int) -> Iterator[str]:
    """Print the functions of one profile by their ticks, least first, as the tool does."""
    cells = table.attrs["cells"]
    rows = []
    for j in range(0, len(cells), 2):
        ticks, share = table.printed[kernel][j : j + 2]
        address = table.attrs["notes_by_kernel"][kernel][j].removeprefix("address ")
        rows.append((int(ticks), f"{address} {ticks:<9}{share:<12}{cells[j]['param']}"))
    yield from (line for _, line in sorted(rows))


def _teo_v8(entries: Mapping[str, PublishedTable]) -> Iterator[str]:
    for table in entries.values():
        yield from _mmtests(table, dashes=False)


def _eevdf(entries: Mapping[str, PublishedTable]) -> Iterator[str]:
    for table in entries.values():
        yield from table.compare().grid(table.case_info[0].style).text


_REPORTS = {"000": _teo_v5, "002": _context_switch, "003": _teo_v8, "004": _eevdf}
