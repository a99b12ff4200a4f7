"""Finding the tables in a posted text and reading each in its style."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tickless.errors import InputError
from tickless.readers.log import Log, Source
from tickless.readers.posted import mmtests, normalised
from tickless.readers.posted.build import Posted
from tickless.results import PublishedTable, ResultSet

QUOTE = re.compile(r"^(?:>[ ]?)+")
MACHINE = re.compile(r"^\s*machine\s*:\s*(\S.*?)\s*$", re.I)
LARGEST = 1 << 24
"""Bytes read at most: a posted table is a mail, not a log."""

Block = tuple[str, list[str], list[str]]


def read_comparison(source: Source) -> ResultSet:
    """Read the comparison tables in a posted text.

    Both house styles are understood: MMTests rows (``value ( pct%)``, ``value * pct%*``) and
    block-headed rows (``1.03 [ -2.83]( 2.42)``, also the difference and percent blocks). Mail
    quoting is stripped; headings whose names ran together are cut at the columns of the cells.

    Parameters
    ----------
    source : path, text, bytes or open binary file
        A string with a line end is the text itself, any other string a path.

    Returns
    -------
    ResultSet
        A `PublishedTable` per table, in the order of the text: ``table-1``, ``table-2`` ...; rows
        of other statistics than the mean as ``table-1.Min`` and so on. What contradicts itself
        (a change that does not follow from the values, a short row) is in the notes.

    Raises
    ------
    InputError
        If the text holds no such table.

    Examples
    --------
    >>> text = '''
    ...                 4.18.0                 4.18.0
    ...                vanilla                    teo
    ... Hmean 14        48.16 (   0.00%)       50.94 *   5.77%*
    ... '''
    >>> read_comparison(text)["table-1"].kernels
    ('4.18.0-vanilla', '4.18.0-teo')
    """
    name, lines = _lines(source)
    entries: dict[str, PublishedTable] = {}
    machine, number = "", 0
    for style, above, block in _blocks(lines):
        for line in above:
            if found := MACHINE.match(line):
                machine = found[1]
        tables = _read(style, above, block)
        number += bool(tables)
        for statistic, table in tables.items():
            key = f"table-{number}" + (f".{statistic}" if statistic else "")
            table.machine = machine if style == "mmtests" else ""
            entries[key] = table.table(key, {"source": name})
    if not entries:
        raise InputError(
            f"{name}: no comparison table (rows like 'Hmean 14  48.16 (   0.00%)' or "
            "'1-groups  1.03 [ -2.83]( 2.42)')",
            name,
            code="no-table",
        )
    return ResultSet(entries, name=name)


def _read(style: str, above: list[str], block: list[str]) -> dict[str, Posted]:
    if style == "mmtests":
        tables = mmtests.read(above, block)
        head = "\n".join(above)
        if normalised.is_block(head):
            for found in normalised.HEAD.finditer(head):
                for table in tables.values():
                    table.style = "unixbench"
                    if found[1] == "Test":
                        table.benchmark = found[2]
                    elif found[1] == "Units":
                        table.units = found[2]
        return tables
    one = normalised.read("\n".join(above + block))
    return {} if one is None else {"": one}


def _lines(source: Source) -> tuple[str, list[str]]:
    """Return the name and the lines of a text, the no-break blanks of mail archives as blanks."""
    text = source if isinstance(source, str) and "\n" in source else None
    if text is not None:
        return "<text>", _clean(text[:LARGEST])
    log = Log(source)
    log.head(4096)
    return log.name, _clean(log.text(LARGEST))


def _clean(text: str) -> list[str]:
    return text.replace("\r", "").replace("\xa0", " ").split("\n")


def _blocks(lines: list[str]) -> Iterator[Block]:
    """Yield (style, lines above, rows) for every run of rows of one quoting depth."""
    above: list[str] = []
    rows: list[str] = []
    depth = ""
    for line in [*_rows(lines), ""]:
        quote = QUOTE.match(line)
        mine = (quote[0] if quote else "").replace(" ", "")
        text = line[quote.end() :] if quote else line
        if mine != depth:
            yield from _finish(above, rows)
            above, rows, depth = [], [], mine
        if mmtests.is_row(text):
            rows.append(text)
            continue
        if rows and text.strip():
            yield from _finish(above, rows)
            above, rows = [], []
        elif rows:
            continue
        if normalised.HEAD.match(text) and text.lstrip().startswith("Test"):
            # The heading of the next block: the last one ends here.
            yield from _finish(above, rows)
            above, rows = [], []
        above.append(text)
    yield from _finish(above, rows)


def _rows(lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield from mmtests.split(line) if mmtests.is_row(line) else [line]


def _finish(above: list[str], rows: list[str]) -> Iterator[Block]:
    if rows:
        yield "mmtests", above, rows
        return
    text = "\n".join(above)
    if normalised.is_block(text) or normalised.CELL.search(text):
        yield "block", above, []
