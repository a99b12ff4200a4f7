"""``tickless compare DIR_OR_FILES --baseline NAME``: the table, and a verdict for CI."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tickless._files import written
from tickless.cli._output import add_output, check_place, chosen_format, say, write
from tickless.errors import InvalidParameterError
from tickless.results import Results, ResultSet

if TYPE_CHECKING:
    from tickless.comparison import Comparison, ComparisonSet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("paths", nargs="+", metavar="PATH",
        help="an MMTests result directory, or result files (one per kernel, as NAME=FILE or "
        "named after the file)")  # fmt: skip
    add("--baseline", required=True, metavar="NAME", help="kernel the others are measured against")
    add("-n", "--kernels", metavar="A,B,...", help="kernels to compare, in column order")
    add("-b", "--benchmark", action="append", metavar="NAME", help="only this one (repeatable)")
    add("--metric", help="metric to compare; default: the one the benchmark reports")
    add("--rule", default="welch", help="welch (default), mann-whitney, permutation, bootstrap, "
        "mmtests-2018, mmtests-2023, mmtests-head")  # fmt: skip
    add("--alpha", type=float, default=0.05, help="level of the test (default 0.05)")
    add("--correction", choices=["fdr_bh"], help="adjust p-values over each table")
    add("--min-effect", type=_percent, default=0.0, metavar="PCT",
        help="smaller changes are never significant")  # fmt: skip
    add("--rng", type=int, default=0, help="seed of the resampling rules")
    add("--style", help="table style; default: the benchmark's own")
    add("--era", choices=["2018", "2023", "head"], help="print the bytes of that MMTests revision")
    add("--statistics", choices=["mean", "all"], help="rows of style mmtests")
    add("--ratio", action="store_true", help="ratios to the baseline (style mmtests)")
    add("--significance", action="store_true", help="rows of p-values (style mmtests)")
    add("--sub-heading", default="", metavar="S", help="only cases that start with S")
    add("--plot", type=Path, metavar="FILE", help="also draw the comparison")
    add("--fail-on-regression", type=_percent, metavar="PCT",
        help="exit with 1 if a cell lost more than this")  # fmt: skip
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Print the comparison; 1 if a regression was found and asked for."""
    format = chosen_format(args)
    if args.plot:
        check_place("--plot", args.plot)
    compared = _compare(args, _read(args))
    text = _table(args, compared, format)
    if format == "html":
        from tickless import _html

        text = _html.page("tickless compare", [text])
    write(args, text)
    _print_notes(args, compared, format)
    if args.plot:
        _draw(args.plot, compared)
    return _verdict(args, compared)


def _read(args: argparse.Namespace) -> Results | ResultSet:
    kernels = args.kernels.split(",") if args.kernels else None
    folders = [p for p in args.paths if Path(p).is_dir()]
    if folders and len(args.paths) > 1:
        raise InvalidParameterError(f"{folders[0]}: a directory is compared alone, not with others")
    if folders:
        from tickless.readers import read_mmtests

        return read_mmtests(folders[0], kernels=kernels, benchmarks=args.benchmark)
    results = Results.join([_one(word) for word in args.paths])
    return results if kernels is None else results.select(kernels=kernels)


def _one(word: str) -> Results:
    """Return the results of ``FILE`` or ``NAME=FILE``."""
    from tickless.readers import read_benchmark

    name, sign, path = word.partition("=")
    if not sign or Path(word).exists():
        return read_benchmark(word)
    return read_benchmark(path, kernel=name)


def _compare(args: argparse.Namespace, results: Results | ResultSet) -> Comparison | ComparisonSet:
    return results.compare(
        args.baseline,
        metric=args.metric,
        rule=args.rule,
        alpha=args.alpha,
        correction=args.correction,
        min_effect_pct=args.min_effect,
        rng=args.rng,
    )


def _table(args: argparse.Namespace, compared: Comparison | ComparisonSet, format: str) -> str:
    options = {
        name: value
        for name in ("statistics", "ratio", "significance", "sub_heading")
        if (value := getattr(args, name))
    }
    return compared.table(args.style, format, args.era, **options)


def _print_notes(
    args: argparse.Namespace, compared: Comparison | ComparisonSet, format: str
) -> None:
    """Print to stderr what the tables do not show: notes of the set, an era's text, and a csv."""
    from tickless.comparison import Comparison

    entries = {"": compared} if isinstance(compared, Comparison) else dict(compared)
    said = [] if isinstance(compared, Comparison) else list(compared.notes)
    for key, c in entries.items():
        if c.era or args.era or format == "csv":
            said += [f"{key}: {note}" if key else note for note in c.notes]
    say(said)


def _draw(path: Path, compared: Comparison | ComparisonSet) -> None:
    """Draw one comparison; of several, each into a file of its own."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    from tickless.comparison import Comparison

    kind = path.suffix[1:].lower()
    known = sorted(plt.figure().canvas.get_supported_filetypes())
    plt.close()
    if kind not in known:
        raise InvalidParameterError(
            f"--plot {path}: the suffix {path.suffix!r} names no picture; use one of "
            f"{', '.join(known)}"
        )
    entries = {"": compared} if isinstance(compared, Comparison) else dict(compared)
    for key, c in entries.items():
        safe = re.sub(r"[^\w.-]+", "_", key)
        to = path if len(entries) == 1 else path.with_stem(f"{path.stem}-{safe}")
        figure = c.plot().figure
        with written(to, "wb") as f:
            figure.savefig(f, format=kind, dpi=150)
        plt.close(figure)


def _verdict(args: argparse.Namespace, compared: Comparison | ComparisonSet) -> int:
    if args.fail_on_regression is None:
        return 0
    from tickless.regression import SHOWN, regressions

    found = regressions(compared, args.fail_on_regression)
    for r in found[:SHOWN]:
        print(f"tickless: regression: {r}", file=sys.stderr)
    if len(found) > SHOWN:
        print(f"tickless: regression: and {len(found) - SHOWN} more", file=sys.stderr)
    return 1 if found else 0


def _percent(text: str) -> float:
    """Return the number of ``2%`` or ``2``."""
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage") from None
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: must be 0 or more")
    return value
