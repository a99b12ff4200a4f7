"""Cut a part of the golden scheduler data for plain clones.

Usage: ``python tests/data/cut_schedulers.py [SOURCE]`` with the folder of the full set, default
``../shared/data/schedulers``. Keeps whole cases, chosen by name, and every n-th function vector.
Runs nothing but this file: expected values are copied, never computed.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

HERE = Path(__file__).parent
TARGET = HERE / "schedulers"

CASES = {
    "pub_o03", "pub_o06", "pub_o21", "pub_hogs0", "pub_nicehogs0", "pub_batchidle0",
    "pub_light0", "pub_internice0", "n_x00", "n_x02", "n_delay00", "n_slicenice0", "n_short0",
    "n_nodelaydequeue0", "n_noruntoparity0", "n_nodelayzero1", "n_buddy1", "n_nohrtick0",
    "n_nopreemptshort1", "n_batchidle0",
}  # fmt: skip
"""Cases that are kept: of every kind at least one, and of every feature switch."""

ROWS_PER_CASE = 110
"""Rows kept of a case; the inputs stay whole, so that the kept rows can be reproduced."""

EVERY = 16
"""Of the function vectors every so many-th is kept."""

MAX_SNAPSHOT = 1500
"""Snapshots longer than so many characters are left out."""


def read(path: Path) -> list[str]:
    """Return the lines of a compressed file."""
    with gzip.open(path, "rt") as f:
        return f.read().splitlines()


def write(name: str, lines: list[str]) -> None:
    """Write lines compressed, without a time stamp, so that equal input gives equal files."""
    data = "".join(line + "\n" for line in lines).encode()
    (TARGET / name).write_bytes(gzip.compress(data, 9, mtime=0))


def cut_cases(lines: list[str]) -> list[str]:
    """Return the lines of the kept cases."""
    kept, keep = [], False
    for line in lines:
        words = line.split()
        if words[0] == "case":
            keep = words[1] in CASES
        if keep:
            kept.append(line)
    return kept


def cut_rows(lines: list[str], limit: int | None) -> list[str]:
    """Return the header and the first rows of every kept case."""
    kept, seen = [lines[0]], dict.fromkeys(CASES, 0)
    for line in lines[1:]:
        case = line.split(",", 1)[0]
        if case in CASES:
            seen[case] += 1
            if limit is None or seen[case] <= limit:
                kept.append(line)
    return kept


def cut_vectors(lines: list[str]) -> list[str]:
    """Return the header and every n-th vector that is not too long."""
    return lines[:1] + [line for line in lines[1::EVERY] if len(line) <= MAX_SNAPSHOT]


def main() -> None:
    """Cut every file of the full set."""
    default = HERE / "../../../shared/data/schedulers"
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    TARGET.mkdir(exist_ok=True)
    for path in sorted(source.glob("*.gz")):
        lines = read(path)
        if path.name.startswith("cases"):
            write(path.name, cut_cases(lines))
        elif path.name.startswith("seq"):
            write(path.name, cut_rows(lines, ROWS_PER_CASE))
        elif path.name.startswith("stats"):
            write(path.name, cut_rows(lines, None))
        else:
            write(path.name, cut_vectors(lines))


if __name__ == "__main__":
    main()
