"""``tickless validate FAMILY DIR``: golden data against the installed package."""

from __future__ import annotations

import argparse
from pathlib import Path

from tickless.validation import FAMILIES, validate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("family", choices=sorted(FAMILIES), help="what DIR holds")
    parser.add_argument("dir", type=Path, metavar="DIR", help="folder in the golden layout")


def run(args: argparse.Namespace) -> int:
    """Print one line per group and a closing line; 1 if an exact group differs."""
    equal = total = groups = wrong = 0
    for group in validate(args.family, args.dir):
        print(group, flush=True)
        for difference in group.differences:
            print(f"    {difference}")
        groups += 1
        equal += group.equal
        total += group.total
        wrong += group.failed
    print(f"{args.family}: {equal} of {total} equal in {groups} groups", end="")
    print(f", {wrong} exact groups differ" if wrong else "")
    return 1 if wrong else 0
