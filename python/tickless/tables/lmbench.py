"""The two summary tables of lmbench: context switching and local communication.

One row per kernel, microseconds, smaller is better. The integer values of the 2.5.54 post end one
column left of the second heading line's words in the first table and under the ruler in the
second; both are kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tickless.errors import InvalidParameterError
from tickless.tables import Cell, Grid, View, pad_lines
from tickless.tables.blocks import verdict

HOST, OS = 9, 13
"""Widths of the first two fields."""


@dataclass(frozen=True)
class _Layout:
    title: str
    cases: tuple[str, ...]
    heads: tuple[str, str]
    ruler: tuple[int, ...]
    ends: tuple[int, ...]


LAYOUTS = (
    _Layout(
        "Context switching - times in microseconds - smaller is better",
        ("2p/0K", "2p/16K", "2p/64K", "8p/16K", "8p/64K", "16p/16K", "16p/64K"),
        (
            "Host                 OS 2p/0K 2p/16K 2p/64K 8p/16K 8p/64K 16p/16K 16p/64K",
            "                        ctxsw  ctxsw  ctxsw ctxsw  ctxsw   ctxsw   ctxsw",
        ),
        (5, 6, 6, 6, 6, 7, 7),
        (28, 35, 42, 48, 55, 63, 71),
    ),
    _Layout(
        "*Local* Communication latencies in microseconds - smaller is better",
        ("2p/0K ctxsw", "Pipe", "AF UNIX", "UDP", "RPC/UDP", "TCP", "RPC/TCP", "TCP conn"),
        (
            "Host                 OS 2p/0K  Pipe AF     UDP  RPC/   TCP  RPC/ TCP",
            "                        ctxsw       UNIX         UDP         TCP conn",
        ),
        (5, 5, 4, 5, 5, 5, 5, 4),
        (29, 35, 40, 46, 52, 58, 64, 69),
    ),
)
"""Title, columns, heading lines, ruler widths, column where each value ends (from 1)."""


def grid(view: View) -> Grid:
    """Lay out one lmbench summary table.

    Parameters
    ----------
    view : View
        A comparison whose cases are columns of one of the two tables.

    Raises
    ------
    InvalidParameterError
        If a case belongs to neither table.
    """
    layout = _layout(view.case_labels)
    column = {c: layout.ends[layout.cases.index(c)] for c in view.case_labels}
    rules = " ".join("-" * w for w in (HOST, OS, *layout.ruler))
    lines = [layout.title, "-" * len(layout.title), *layout.heads, rules]
    for k, name in enumerate(view.kernel_labels):
        row = f"{_host(view):<{HOST}} {view.attrs.get('os') or name:>{OS}}"
        for j, case in enumerate(view.case_labels):
            text = _value(view, k, j)
            row += f" {text}".rjust(column[case] - len(row)) if text else ""
        lines.append(row)
    kernels = range(len(view.kernels))
    return Grid(
        caption=layout.title,
        stub=("Case",),
        columns=view.kernel_labels,
        labels=tuple((c,) for c in view.case_labels),
        cells=tuple(
            tuple(Cell(_value(view, k, j), verdict=verdict(view, k, j)) for k in kernels)
            for j in range(len(view.cases))
        ),
        text=pad_lines(lines),
        notes=view.notes,
    )


def _layout(cases: tuple[str, ...]) -> _Layout:
    for layout in LAYOUTS:
        if set(cases) <= set(layout.cases):
            return layout
    odd = next(c for c in cases if not any(c in known.cases for known in LAYOUTS))
    raise InvalidParameterError(
        f"style 'lmbench': case {odd!r} is no column of its tables; they have "
        + "; ".join(", ".join(known.cases) for known in LAYOUTS)
    )


def _host(view: View) -> str:
    return str(view.attrs.get("host") or view.machine or "host")[:HOST]


def _value(view: View, k: int, j: int) -> str:
    value = float(view.center[k, j])
    if not math.isfinite(value):
        return ""
    return f"{value:.{view.case_info[j].decimals}f}"
