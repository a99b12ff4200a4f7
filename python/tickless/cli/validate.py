"""``tickless validate FAMILY DIR``: golden data against the installed package."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from tickless.cli._output import add_output, chosen_format, emit
from tickless.validation import FAMILIES, Group, validate

HEAD = ("group", "equal", "total", "exact", "differs", "note", "first differences")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("family", choices=sorted(FAMILIES), help="what DIR holds")
    parser.add_argument("dir", type=Path, metavar="DIR", help="folder in the golden layout")
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Print one line per group and a closing line, or a table; 1 if an exact group differs."""
    table = chosen_format(args) != "text" or args.output is not None
    groups = []
    for group in validate(args.family, args.dir):
        groups.append(group)
        if not table:  # as soon as it is compared: a large family takes a while
            print(group, *(f"    {d}" for d in group.differences), sep="\n", flush=True)
    wrong = sum(g.failed for g in groups)
    equal, total = sum(g.equal for g in groups), sum(g.total for g in groups)
    closing = f"{args.family}: {equal} of {total} equal in {len(groups)} groups"
    closing += f", {wrong} exact groups differ" if wrong else ""
    if table:
        emit(args, [(closing, HEAD, list(map(list, _rows(groups))))])
    else:
        print(closing)
    return 1 if wrong else 0


def _rows(groups: list[Group]) -> Iterator[tuple[str, ...]]:
    for g in groups:
        exact, differs = ("yes" if w else "no" for w in (g.exact, g.equal != g.total))
        yield g.name, str(g.equal), str(g.total), exact, differs, g.note, "; ".join(g.differences)
