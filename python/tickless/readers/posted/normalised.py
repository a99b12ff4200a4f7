"""Block-headed tables: ``1.03 [ -2.83]( 2.42)`` rows, and the difference and percent blocks.

A block is read as one stream of text, so rows wrapped by mail programs and archive copies with a
whole table on one line read like the original.
"""

from __future__ import annotations

import re

from tickless.readers.posted.build import Posted, Printed

NUMBER = r"[-+]?\d{1,20}(?:\.\d{1,20})?"
CELL = re.compile(
    rf"({NUMBER})\s{{0,9}}\[\s{{0,9}}({NUMBER})\]\s{{0,9}}\(\s{{0,9}}({NUMBER}|nan|-)\)"
)
TITLE = re.compile(r"(\S+:)?[ \t]{0,40}(\S{1,99}?)\[pct imp\]\(CV\)")
HEAD = re.compile(
    r"^[ \t]*(Test|Units|Interpretation|Statistic)[ \t]*:(?!.*\[pct imp\])[ \t]*(.*?)[ \t]*$",
    re.M,
)
DIFF = re.compile(
    rf"(\S{{1,99}})[:;]\s{{1,40}}({NUMBER})\s{{1,9}}\(var:\s{{0,9}}({NUMBER})%\)\s{{1,9}}"
    rf"\(%diff:\s{{0,9}}({NUMBER})%\)"
)
PERCENTS = re.compile(
    rf"(?:^|\s)(\S{{1,40}})((?:\s{{1,80}}{NUMBER}%){{2,30}})(?:\s{{1,9}}([*^]))?(?=\s|$)"
)
GAP = re.compile(r"^\s*(?:([*^])\s+)?(.*?)\s*$", re.S)
LAST = re.compile(r"^[ \t]*([*^])?[ \t]*(?:\n|$)")


def is_block(text: str) -> bool:
    """Tell whether a text has the heading of a block."""
    return len(HEAD.findall(text)) >= 2


def read(text: str) -> Posted | None:
    """Return the table of one block, or None if it has no rows."""
    head = {m[1]: m[2] for m in HEAD.finditer(text)}
    ends = [m.end() for m in HEAD.finditer(text)]
    body = text[ends[-1] :] if ends else text
    body = re.sub(r"^\s*={8,}\s*$", "", body, flags=re.M)
    table = _normalised(body) or _difference(body, head.get("Test", "mean")) or _percent(body)
    if table is None:
        return None
    table.benchmark = head.get("Test", "")
    table.units = head.get("Units", "")
    table.statistic = head.get("Statistic", "")
    better = "lower" if head.get("Interpretation", "").lower().startswith("lower") else "higher"
    words = table.statistic.lower()
    mean = "median" if "median" in words else "harmonic" if "hmean" in words else "arithmetic"
    for case in table.rows:
        table.better.setdefault(case, better)
        table.means.setdefault(case, mean)
    return table


def _normalised(body: str) -> Posted | None:
    titles = list(TITLE.finditer(body))
    cells = list(CELL.finditer(body))
    if not cells:
        return None
    count = len(titles)
    table = Posted([t[2] for t in titles], normalised=True, style="normalised")
    if not count:
        count = _count(body, cells)
        table.kernels = [f"column {i + 1}" for i in range(count)]
        table.notes.append("the line with the kernels' names is missing")
    else:
        table.case_title = titles[0][1] or ""
    place = titles[-1].end() if titles else 0
    name, row = "", list[Printed]()
    rows: list[tuple[str, list[Printed], str]] = []
    for cell in cells:
        mark, text = _gap(body[place : cell.start()])
        if text or not row:
            if row:
                rows.append((name, row, mark))
            name, row = text, []
        row.append(Printed(cell[1], cell[2], "" if cell[3] == "-" else cell[3]))
        place = cell.end()
    last = LAST.match(body[place:])
    rows.append((name, row, (last and last[1]) or ""))
    for name, row, mark in rows:
        table.add(name, row, mark)
    return table


def _gap(text: str) -> tuple[str, str]:
    """Return (mark of the row before, name of the next row) of the text between two cells."""
    found = GAP.match(text)
    return (found[1] or "", found[2]) if found else ("", text.strip())


def _count(body: str, cells: list[re.Match[str]]) -> int:
    """Return the number of columns of a table without headings: cells before the next name."""
    for i in range(1, len(cells)):
        if _gap(body[cells[i - 1].end() : cells[i].start()])[1]:
            return i
    return len(cells)


def _difference(body: str, case: str) -> Posted | None:
    found = list(DIFF.finditer(body))
    if not found:
        return None
    table = Posted([f[1] for f in found], style="diff")
    table.add(case, [Printed(f[2], f[4], f[3]) for f in found])
    return table


def _percent(body: str) -> Posted | None:
    rows = list(PERCENTS.finditer(body))
    if not rows:
        return None
    words = body[: rows[0].start()].split()
    count = len(rows[0][2].split())
    names = words[-count:]
    if len(names) < count:
        return None
    table = Posted(names, normalised=True, style="percent")
    table.case_title = words[-count - 1] if len(words) > count else ""
    for row in rows:
        percents = [p.rstrip("%") for p in row[2].split()]
        table.add(row[1], [Printed("", p) for p in percents], row[3] or "")
    table.notes.append("percentages only, no values")
    return table
