"""``tickless list [FAMILY]``: what is registered."""

from __future__ import annotations

import argparse

import tickless
from tickless.cli._output import add_output, emit

FAMILIES = ("governors", "policies", "kernels", "machines", "workloads", "reports", "styles")
"""Families with a list, each a function of the package."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    known = [f for f in FAMILIES if f in tickless.__all__]
    parser.add_argument("family", nargs="?", choices=known, help="one family; all by default")
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Print one table per family."""
    families = [args.family] if args.family else [f for f in FAMILIES if f in tickless.__all__]
    emit(args, [(family, *getattr(tickless, family)().rows()) for family in families], left=True)
    return 0
