"""What the scripts that write parts of the manual share: markers, tables, the calibration table."""

import tomllib
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import tickless

HERE = Path(__file__).parent
CALIBRATION = HERE.parent / "src" / "workload" / "calibration.toml"


def fill(page: str, part: str, text: str) -> None:
    """Replace what a page has between the markers of a part.

    Parameters
    ----------
    page : str
        File name in this folder.
    part : str
        The markers are ``<!-- begin PART -->`` and ``<!-- end PART -->``, each on its own line.
    text : str
        Markdown.
    """
    path = HERE / page
    old = path.read_text(encoding="utf-8")
    first, last = f"<!-- begin {part} -->\n", f"<!-- end {part} -->"
    head, found, rest = old.partition(first)
    _, closed, tail = rest.partition(last)
    if not (found and closed):
        raise SystemExit(f"{page}: the markers of {part!r} are missing")
    path.write_text(f"{head}{first}\n{text.strip()}\n\n{last}{tail}", encoding="utf-8")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Return a Markdown table; columns that are not `left` are set to the right."""
    rule = [":--" if i in left else "--:" for i in range(len(head))]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows))


def significant(value: float, digits: int = 4) -> str:
    """Return a number with so many digits, no exponent, thousands set apart."""
    if value != value:
        return "-"
    if value == 0:
        return "0"
    text = f"{float(f'{value:.{digits}g}'):,.9f}".rstrip("0").rstrip(".")
    return text


def fitted_rows(workload: str, machine: str) -> set[str]:
    """Return the labels of the rows on which a workload's numbers on a machine were fitted."""
    model = tickless.Workload(workload)
    fits = tomllib.loads(CALIBRATION.read_text(encoding="utf-8"))["fit"]
    own = [f for f in fits if (f["workload"], f["machine"]) == (workload, machine)]
    return {model.case(machine, row).label for f in own for row in f.get("rows", [])}


def recovered() -> dict[str, Any]:
    """Return the absolute values that were recovered from printed ratios; the first is the base."""
    path = files("tickless.published") / "data" / "recovered_absolutes.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))
