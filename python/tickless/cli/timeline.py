"""``tickless timeline SPEC``: who runs when on one run queue."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import tickless
from tickless import _html
from tickless.cli._output import (
    Table,
    add_output,
    check_place,
    chosen_format,
    html_parts,
    render,
    svg,
    write,
)
from tickless.cli._timeline_spec import Spec, read_spec
from tickless.errors import InvalidParameterError, TicklessError
from tickless.plots.timeline import MOST_TASKS
from tickless.timeline import Timeline

COLUMNS = (
    ("exec_ns", "CPU ms", 1_000_000),
    ("switch_ins", "switched in", 0),
    ("preempted", "preempted", 0),
    ("blocks", "blocks", 0),
    ("wakeups", "wake-ups", 0),
    ("wakeup_preempts", "preempting", 0),
    ("wait_ns", "waited ms", 1_000_000),
    ("max_wait_ns", "longest ms", 1_000_000),
    ("rounds", "rounds", 0),
)
"""Column of the totals, its heading, and what it is divided by for people."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("spec", type=Path, metavar="SPEC", help="TOML file: policy, tasks, events or programs")
    add(
        "--policy",
        action="append",
        metavar="NAME",
        help="in place of the file's policy; several to compare them",
    )
    add("--perfetto", type=Path, metavar="FILE", help="also write a trace for ui.perfetto.dev")
    add(
        "--window-ns",
        type=int,
        nargs=2,
        metavar=("START", "END"),
        help="part of the run in the picture; default: all",
    )
    add("--rows", action="store_true", help="one row per operation, not the totals")
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Run the timeline under each policy and print the totals; HTML also holds the picture."""
    style = chosen_format(args)
    spec = read_spec(args.spec)
    policies = args.policy or ([spec.policy] if spec.policy else [])
    if not policies:
        raise InvalidParameterError(f"{args.spec}: policy: missing; name one, or use --policy")
    if args.perfetto:
        check_place("--perfetto", args.perfetto)
    if args.perfetto and len(policies) > 1:
        raise InvalidParameterError("--perfetto: one file holds one policy; give one --policy")
    lines = [_timeline(spec, policy) for policy in policies]
    if args.perfetto:
        lines[0].to_perfetto(args.perfetto, names=spec.names)
    write(args, _RENDER.get(style, _text)(style, args, spec, lines))
    return 0


def _timeline(spec: Spec, policy: str) -> Timeline:
    try:
        return tickless.timeline(policy=policy, **spec.arguments)
    except TicklessError as e:
        raise spec.explain(e) from None


def _totals(spec: Spec, t: Timeline) -> Table:
    head = ["task", *(heading for _, heading, _ in COLUMNS)]
    rows = []
    for name, total in zip(spec.names, t.totals, strict=True):
        cells = [
            f"{total[column] / unit:.3f}" if unit else str(total[column])
            for column, _, unit in COLUMNS
        ]
        rows.append([name, *cells])
    title = f"{t.policy}: {t.end_ns / 1e6:g} ms, {t.carried_out} operations, {t.ignored} ignored"
    return title, head, rows


def _operations(t: Timeline) -> Table:
    frame = t.to_frame()
    return t.policy, list(frame.columns), frame.astype(str).to_numpy().tolist()


def _tables(args: argparse.Namespace, spec: Spec, lines: Sequence[Timeline]) -> list[Table]:
    return [_operations(t) if args.rows else _totals(spec, t) for t in lines]


def _text(style: str, args: argparse.Namespace, spec: Spec, lines: Sequence[Timeline]) -> str:
    return render(style, _tables(args, spec, lines))


def _frame(args: argparse.Namespace, spec: Spec, lines: Sequence[Timeline]) -> Any:
    """Return the rows or totals of all policies, raw numbers, policy first."""
    import pandas as pd

    frames = []
    for t in lines:
        frame = t.to_frame() if args.rows else pd.DataFrame(t.totals)
        if not args.rows:
            frame.insert(1, "name", list(spec.names))
        frame.insert(0, "policy", t.policy)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _csv(style: str, args: argparse.Namespace, spec: Spec, lines: Sequence[Timeline]) -> str:
    return str(_frame(args, spec, lines).to_csv(index=False))


def _json(style: str, args: argparse.Namespace, spec: Spec, lines: Sequence[Timeline]) -> str:
    frame = _frame(args, spec, lines)
    document = [
        {
            "policy": t.policy,
            "end_ns": t.end_ns,
            "carried_out": t.carried_out,
            "ignored": t.ignored,
            "rows" if args.rows else "totals": json.loads(
                frame[frame["policy"] == t.policy].drop(columns="policy").to_json(orient="records")
            ),
        }
        for t in lines
    ]
    return json.dumps(document, indent=1) + "\n"


def _html_page(style: str, args: argparse.Namespace, spec: Spec, lines: Sequence[Timeline]) -> str:
    start, end = args.window_ns or (None, None)
    parts: list[str] = []
    for t, table in zip(lines, _tables(args, spec, lines), strict=True):
        notes, picture = [], ""
        if len(t.tasks) > MOST_TASKS:
            notes.append(f"no picture: {len(t.tasks)} tasks; at most {MOST_TASKS} can be drawn")
        else:
            try:
                picture = svg(partial(t.plot, start, end, names=spec.names))
            except ImportError:
                notes.append(
                    "no picture: matplotlib is not installed (pip install 'tickless[plot]')"
                )
        parts += [*html_parts([table], notes=notes), picture]
    return _html.page(f"Timeline of {args.spec.name}", parts)


_RENDER = {"csv": _csv, "json": _json, "html": _html_page}
