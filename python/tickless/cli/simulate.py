"""``tickless simulate --machine M --kernels A,B --workload W``: run, compare, print."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import tickless
from tickless.cli._output import add_output, check_place, chosen_format, say, write
from tickless.errors import InputError, InvalidParameterError

if TYPE_CHECKING:
    from tickless.results import Results


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("--machine", required=True, metavar="NAME", help="see tickless list machines; or 'this'")
    add("--kernels", required=True, metavar="A,B,...", help="columns, the baseline first; see "
        "tickless list kernels")  # fmt: skip
    add("--workload", required=True, metavar="NAME|FILE", help="see tickless list "
        "workloads; or a file: .toml a definition, .json for rt-app")  # fmt: skip
    add("--partly", action="store_true", help="leave out what an rt-app file asks for and is not "
        "simulated")  # fmt: skip
    add("--cases", metavar="A,B,...", help="rows; default: those of the workload on this machine")
    add("--set", action="append", default=[], metavar="NAME=VALUE",
        help="change a number of the workload (repeatable)")  # fmt: skip
    add("--repeats", type=int, default=5, help="runs per kernel and case (default 5)")
    add("--rng", type=int, default=0, help="seed (default 0)")
    add("--jobs", type=int, metavar="N", help="threads; default: all cores")
    add("--duration", type=float, metavar="S", help="simulated time that counts; default: the "
        "workload's")  # fmt: skip
    add("--warmup", type=float, metavar="S", help="simulated time before; default: what workload "
        "and kernel need")  # fmt: skip
    add("--noise", type=float, default=1.0, help="variation between runs; 0 for none (default 1)")
    add("--slice", choices=("llc",), help="one last-level cache's share, where that is exact")
    add("--baseline", metavar="NAME", help="kernel to compare with; default: the first")
    add("--metric", help="metric to compare; default: the one the workload reports")
    add("--rule", default="welch", help="as in tickless compare (default welch)")
    add("--style", help="table style; default: the workload's own")
    add("--save", type=Path, metavar="FILE", help="also keep all samples: .json, .csv or .parquet")
    add("--perfetto", type=Path, metavar="FILE", help="also write a trace of the first kernel and "
        "case, for ui.perfetto.dev")  # fmt: skip
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Simulate and print the comparison."""
    format = chosen_format(args)
    save = None if args.save is None else _saver(args.save)
    if args.perfetto is not None:
        check_place("--perfetto", args.perfetto)
    workload = _workload(args.workload, args.partly).replace(dict(map(_setting, args.set)))
    results = tickless.simulate(
        args.machine,
        _words(args.kernels),
        workload,
        cases=None if args.cases is None else _words(args.cases),
        repeats=args.repeats,
        rng=args.rng,
        duration_s=args.duration,
        warmup_s=args.warmup,
        threads=args.jobs,
        progress=_wants_bar(),
        noise=args.noise,
        slice=args.slice,
        record=args.perfetto is not None,
    )
    baseline = args.baseline or results.kernels[0]
    compared = results.compare(baseline, metric=args.metric, rule=args.rule)
    text = compared.table(args.style, format)
    if format == "html":
        from tickless import _html

        text = _html.page("tickless simulate", [text])
    if save is not None:
        save(results)
    if args.perfetto is not None:
        results.to_perfetto(args.perfetto)
    if format == "csv":
        say(compared.notes)
    write(args, text)
    return 0


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


def _workload(text: str, partly: bool) -> tickless.Workload:
    """Return a registered workload, or that of a file."""
    suffix = Path(text).suffix.lower()
    try:
        if suffix == ".toml":
            return tickless.Workload.from_toml(Path(text))
        if suffix == ".json":
            return tickless.Workload.from_rtapp(Path(text), partly=partly)
    except InvalidParameterError as e:
        # The field is named, the file not yet.
        raise InputError(f"{text}: {e}", text, None, "bad-definition") from None
    if partly:
        raise InvalidParameterError(f"--partly: {text} is no rt-app file (.json)")
    return tickless.Workload(text)


def _wants_bar() -> bool:
    return sys.stderr.isatty() and find_spec("tqdm") is not None


def _setting(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        pass
    raise InvalidParameterError(f"--set {text}: expected NAME=VALUE with a number")


def _saver(path: Path) -> Callable[[Results], object]:
    """Return what writes results to a file of this suffix, before the work of getting them."""
    known: dict[str, Callable[[Results], object]] = {
        ".json": lambda r: r.to_json(path),
        ".csv": lambda r: r.to_csv(path),
        ".parquet": lambda r: r.to_parquet(path),
    }
    if path.suffix.lower() not in known:
        raise InvalidParameterError(
            f"--save {path}: the suffix {path.suffix!r} names no format; use one of "
            f"{', '.join(known)}"
        )
    check_place("--save", path)
    if path.suffix.lower() == ".parquet":
        import pyarrow  # noqa: F401  # missing packages are said before the work
    return known[path.suffix.lower()]
