"""``tickless replay SOURCE``: idle periods of a trace through governors."""

from __future__ import annotations

import argparse
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tickless
from tickless import _html
from tickless.cli._output import (
    add_output,
    chosen_format,
    html_parts,
    render,
    say,
    svg,
    write,
)
from tickless.errors import InvalidParameterError

if TYPE_CHECKING:
    from tickless.replay import Replay
    from tickless.replay_compare import ReplayComparison

EXAMPLE = "example"
EXAMPLE_SETTINGS = {"machine": "8x-SKYLAKE-UMA", "recorded": "menu-6.12", "time_unit": "ns"}
"""The example's guest had the idle states of this machine, ran menu, and counted ns."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("source", help="trace or idle CSV; the word 'example' is the trace that ships")
    add("governors", nargs="*", metavar="GOVERNOR", help="names or aliases; default: all")
    states = parser.add_mutually_exclusive_group()
    states.add_argument("--machine", metavar="NAME", help="registered machine, or 'this'")
    states.add_argument("--states", metavar="FILE", help="sysfs dump or cpupower idle-info")
    add("--kernel", metavar="VERSION", help="only the governors nearest to this kernel, e.g. 6.8")
    add("--recorded", metavar="GOVERNOR", help="the governor that ran while recording")
    add("--baseline", metavar="GOVERNOR", help="compare with this one; default: the recorded one")
    add("--follow", choices=("own", "recorded"), default="own", help="whose states to remember")
    add("--hz", type=int, help="tick rate; default: the machine's, or 250")
    add("--time-unit", metavar="UNIT", help="unit of integer time stamps, e.g. ns")
    add("--errors", choices=("report", "strict", "ignore"), default="report", help="on damage")
    add("--sleep-length-us", type=int, metavar="US", help="where the trace does not tell it")
    add("--add-exit-latency", action="store_true", help="intervals end at the wake event")
    add("--per-state", action="store_true", help="also a table per governor and state")
    add("--jobs", type=int, metavar="N", help="threads; default: all cores")
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Replay and print the comparison; HTML also holds the picture."""
    style = chosen_format(args)  # a wrong suffix is said before the work, not after
    if args.source == EXAMPLE and not Path(EXAMPLE).exists():
        args.source = str(tickless.example_trace())
        for name, value in EXAMPLE_SETTINGS.items():
            if name != "machine" or args.states is None:
                setattr(args, name, getattr(args, name) or value)
    if args.machine is None and args.states is None:
        raise InvalidParameterError(
            "which idle states? give --states FILE (output of grep -r . "
            "/sys/devices/system/cpu/cpu*/cpuidle/, or of cpupower idle-info), "
            "or --machine NAME (tickless list machines), or --machine this"
        )
    machine = None if args.machine is None else _machine(args.machine)
    states = None if args.states is None else tickless.read_idle_table(args.states)
    governors = _governors(args)
    periods = _periods(args, states if machine is None else machine.idle_table(0))
    result = tickless.replay(
        periods,
        governors,
        machine=machine,
        states=states,
        hz=args.hz,
        add_exit_latency=args.add_exit_latency,
        follow=args.follow,
        recorded=args.recorded,
        threads=args.jobs,
        progress=_wants_bar(len(periods)) or None,
    )
    baseline = args.baseline or (result.recorded if result.recorded in result.governors else None)
    comparison = result.compare(baseline)
    write(args, _RENDER.get(style, _tables)(style, args, result, comparison))
    return 0


def _wants_bar(periods: int) -> bool:
    return sys.stderr.isatty() and periods > 1_000_000 and find_spec("tqdm") is not None


def _periods(args: argparse.Namespace, table: tickless.IdleTable | None) -> tickless.IdlePeriods:
    source: Any = tickless.read(args.source, errors=args.errors, time_unit=args.time_unit)
    if isinstance(source, tickless.IdlePeriods):
        # Read again: the phase of the tick needs the exit latencies.
        return tickless.read_idle_csv(args.source, states=table, hz=args.hz)
    if not isinstance(source, tickless.Trace):
        raise InvalidParameterError(
            f"{args.source}: a {type(source).__name__}, not a trace or idle periods"
        )
    sleep = None if args.sleep_length_us is None else args.sleep_length_us * 1000
    return source.idle_periods(sleep_length_ns=sleep, hz=args.hz)


def _machine(name: str) -> tickless.Machine:
    return tickless.read_sysfs() if name == "this" else tickless.Machine(name)


def _governors(args: argparse.Namespace) -> list[str]:
    if args.kernel is None:
        return list(args.governors) or list(tickless.governors().names)
    from tickless.catalogue import governors_of_kernel

    chosen = governors_of_kernel(args.kernel)
    for name, claim in chosen:
        print(f"tickless: kernel {args.kernel}: {name} ({claim})", file=sys.stderr)
    return [*args.governors, *(name for name, _ in chosen if name not in args.governors)]


def _tables(style: str, args: argparse.Namespace, r: Replay, c: ReplayComparison) -> str:
    """Return the comparison, and the states if asked for, as text, Markdown or LaTeX."""
    tables = [(f"{_where(r)}: {c.title}", *c.rows())]
    if args.per_state:
        tables.append(("Per state", *_state_rows(r)))
    return render(style, tables, notes=c.notes)


def _csv(style: str, args: argparse.Namespace, r: Replay, c: ReplayComparison) -> str:
    say(c.notes)
    frame = r.summary() if args.per_state else c.to_frame()
    return str(frame.to_csv())


def _json(style: str, args: argparse.Namespace, r: Replay, c: ReplayComparison) -> str:
    document = {
        "periods": len(r.periods),
        "hz": r.hz,
        "baseline": c.baseline,
        "recorded": r.recorded,
        "governors": json.loads(c.to_frame().reset_index().to_json(orient="records")),
        "states": json.loads(r.summary().reset_index().to_json(orient="records")),
        "notes": list(c.notes),
    }
    return json.dumps(document, indent=1) + "\n"


def _html_page(style: str, args: argparse.Namespace, r: Replay, c: ReplayComparison) -> str:
    notes, parts = list(c.notes), []
    try:
        parts.append(svg(r.plot))
    except ImportError:
        notes.append("no picture: matplotlib is not installed (pip install 'tickless[plot]')")
    parts = html_parts([(c.title, *c.rows())], notes=notes) + parts
    parts += ["<details><summary>Per governor and state</summary>"]
    parts += [*html_parts([("", *_state_rows(r))]), "</details>"]
    return _html.page(f"Replay of {Path(args.source).name} on {_where(r)}", parts)


def _where(r: Replay) -> str:
    label = " + ".join(t.label or "own idle table" for t in r.tables)
    return f"{label}, {r.hz} Hz"


def _state_rows(r: Replay) -> tuple[list[str], list[list[str]]]:
    """Return one row per governor and state; without power numbers no energy."""
    import numpy as np

    frame = r.summary().reset_index()
    frame["state"] = frame["state"].astype(str) + " " + frame["name"]
    frame["time_ns"] = [f"{t / 1e6:.3f}" for t in frame["time_ns"]]
    frame["energy_uj"] = ["-" if np.isnan(e) else f"{e / 1e3:.3f}" for e in frame["energy_uj"]]
    known = any(np.isfinite(t.power_mw).any() for t in r.tables)
    frame = frame.drop(columns=["name", "wake_latency_ns"] + ([] if known else ["energy_uj"]))
    frame = frame.rename(columns={"time_ns": "time ms", "energy_uj": "energy mJ"})
    return list(frame.columns), frame.astype(str).to_numpy().tolist()


_RENDER = {"csv": _csv, "json": _json, "html": _html_page}
