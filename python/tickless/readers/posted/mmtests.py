"""MMTests rows: label, parameter, then ``value (pct%)`` or ``value * pct%*`` per kernel.

Blanks may be collapsed, column headings may have run together, a mark may follow the row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile

from tickless.readers.posted.build import Posted, Printed

CELL = re.compile(
    r"(-?\d{1,30}(?:\.\d{1,30})?|-?nan|-?inf)[ ]{0,30}([(*])[ ]{0,30}"
    r"([-+]?\d{1,30}(?:\.\d{1,30})?|nan)%[)*]",
    re.I,
)
RULE = re.compile(r"^[-=]{8,}$")
TAIL = re.compile(r"^\s*([*^])?\s*$")
MARK = re.compile(r"\s*[*^](?=\s)")
HIGHER = re.compile(r"Hmean", re.I)
MEANS = ("Amean", "Hmean")
SPREAD = ("CoeffVar", "HCoeffVar")


def is_row(line: str) -> bool:
    """Tell whether a line has the cells of an MMTests table."""
    return "%" in line and CELL.search(line) is not None


def split(line: str) -> list[str]:
    """Return the rows of a line: archive copies have several on one.

    A row ends where words follow a cell; a mark stays with the row before it, and words before
    the label and parameter of the first row are the column headings, a line of their own.
    """
    found = list(CELL.finditer(line))
    cuts = [0]
    for a, b in pairwise(found):
        gap = line[a.end() : b.start()]
        if gap.strip() and not TAIL.match(gap):
            mark = MARK.match(gap)
            cuts.append(a.end() + (mark.end() if mark else 0))
    if len(cuts) == 1:
        return [line]
    rows = [line[a:b] for a, b in zip(cuts, [*cuts[1:], len(line)], strict=True)]
    words = line[: found[0].start()].split()
    if len(words) > 2:
        rows[0] = " ".join(words[-2:]) + " " + line[found[0].start() : cuts[1]]
        rows.insert(0, " ".join(words[:-2]))
    return rows


def read(above: Sequence[str], lines: Sequence[str]) -> dict[str, Posted]:
    """Return the tables of a block of rows: one per statistic, the mean under the empty name.

    Parameters
    ----------
    above : sequence of str
        Lines before the block, the nearest last.
    lines : sequence of str
        The rows.
    """
    rows = [_row(line) for line in lines]
    kernels, notes = _kernels(above, lines, max(len(r[2]) for r in rows))
    tables: dict[str, Posted] = {}
    mean = any(r[0] in MEANS for r in rows)
    for line, (label, case, cells, mark) in zip(lines, rows, strict=True):
        name = "" if label in MEANS or not mean else label
        table = tables.setdefault(name, Posted(list(kernels), notes=list(notes)))
        if not case and _touches(line):
            table.notes.append(
                f"row {line[:40].strip()!r}: the parameter touches the value; left out"
            )
            continue
        blank = label in MEANS and any(_missing(c) for c in cells)
        if blank:
            table.notes.append(f"row {case!r}: 0.00 with 0.00% stands for a missing value")
            cells = [Printed("") if _missing(c) else c for c in cells]
        table.statistic = table.statistic or label
        if label not in table.statistic.split(", "):
            table.statistic += f", {label}"
        before = len(table.rows)
        table.add(case, cells, mark)
        if len(table.rows) > before:
            added = list(table.rows)[-1]
            table.better[added] = "higher" if HIGHER.search(label) else "lower"
    _spread(tables)
    return {n: t for n, t in tables.items() if t.rows}


def _row(line: str) -> tuple[str, str, list[Printed], str]:
    """Return (label, parameter, cells, mark) of one row."""
    found = list(CELL.finditer(line))
    words = line[: found[0].start()].split()
    if line[: found[0].start()] and not line[: found[0].start()].endswith((" ", "\t")):
        words = words[:1]
    cells = [Printed(f[1], f[3], starred=f[2] == "*") for f in found]
    tail = TAIL.match(line[found[-1].end() :])
    return words[0] if words else "", " ".join(words[1:]), cells, (tail and tail[1]) or ""


def _touches(line: str) -> bool:
    found = CELL.search(line)
    start = found.start() if found else 0
    return start > 0 and not line[start - 1].isspace()


def _missing(cell: Printed) -> bool:
    return bool(cell.value) and float(cell.value) == 0 and float(cell.percent) == 0


def _kernels(above: Sequence[str], lines: Sequence[str], count: int) -> tuple[list[str], list[str]]:
    """Return the column headings from the one or two lines above the rows."""
    heads: list[list[str]] = []
    ends = _ends(lines, count)
    # Headings stand directly above the rows: a blank line ends the search.
    near = takewhile(str.strip, reversed(above))
    for line in [x for x in near if not RULE.match(x.strip())][:2]:
        if (fields := _fields(line, ends, count)) is None:
            break
        heads.insert(0, fields)
    if not heads:
        names = [f"column {i + 1}" for i in range(count)]
        return names, ["the column headings are missing or do not fit the rows"]
    names = heads[0]
    if len(heads) == 2:
        names = [_whole(a, b) for a, b in zip(*heads, strict=True)]
    return _distinct(names)


def _ends(lines: Sequence[str], count: int) -> list[int]:
    """Return the column where each cell ends, from the first row that is complete."""
    for line in lines:
        found = list(CELL.finditer(line))
        if len(found) == count:
            return [f.end() for f in found]
    return []


def _fields(line: str, ends: Sequence[int], count: int) -> list[str] | None:
    """Return one heading per column: by blanks if they fit, else by the cells' positions."""
    words = line.split()
    if len(words) == count and not any(w.endswith(":") for w in words):
        return words
    if len(ends) == count and len(line) <= ends[-1] and line.startswith(" "):
        starts = [0, *ends[:-1]]
        fields = [line[a:b].strip() for a, b in zip(starts, ends, strict=True)]
        if all(fields) and not any(" " in f for f in fields):
            return fields
    return None


def _whole(first: str, second: str) -> str:
    """Return the kernel's name from its two heading parts, as the tool split it."""
    if second[:-1] == first:
        return second
    return f"{first}-{second}"


def _distinct(names: Sequence[str]) -> tuple[list[str], list[str]]:
    out: list[str] = []
    for name in names:
        times = sum(n == name for n in names[: len(out)])
        out.append(f"{name} ({times + 1})" if times else name)
    notes = [] if len(set(names)) == len(names) else ["two columns have the same heading"]
    return out, notes


def _spread(tables: dict[str, Posted]) -> None:
    """Move the rows of the coefficient of variation into the cells of the means."""
    for label in SPREAD:
        if label in tables and "" in tables:
            spread = tables.pop(label).rows
            for case, row in tables[""].rows.items():
                if case in spread:
                    pairs = zip(row, spread[case], strict=True)
                    tables[""].rows[case] = [
                        Printed(c.value, c.percent, s.value, c.starred) for c, s in pairs
                    ]
