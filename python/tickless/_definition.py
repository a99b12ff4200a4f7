"""Workloads of one's own on their way to the core: Python objects and files as text."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from tickless._arrays import place, text, texts
from tickless._files import small_text
from tickless.errors import InvalidParameterError, InvalidTypeError

TIMES = frozenset(
    {"run", "kernel", "spin", "sleep", "every", "each", "hold", "service", "start", "slice"}
    | {"warmup", "window", "limit", "block", "wake", "refill", "cold_message"}
)
"""Keys of a definition whose numbers are times: ns in a file, us in Python."""

MOST_ITEMS = 1_000_000
"""Items of a list: more are no definition that a person wrote."""

NESTED = frozenset({"repeat", "chance"})
"""Operations whose last item is a list of operations."""


def definition(
    programs: Any, tasks: Any, channels: Any, report: Any, more: Mapping[str, Any]
) -> str:
    """Return the definition in JSON; see `Workload.from_ops`."""
    try:
        made = _definition(programs, tasks, channels, report)
        return json.dumps(_plain("workload", made | dict(more)))
    except RecursionError:
        message = "workload: nested without end; loops may be 4 deep"
        raise InvalidParameterError(message) from None


def _definition(programs: Any, tasks: Any, channels: Any, report: Any) -> dict[str, Any]:
    table = _table("programs", programs)
    made: dict[str, Any] = {
        "programs": {name: _list(f"programs.{name}", ops) for name, ops in table.items()},
        "tasks": _tasks(tasks),
        "channels": _channels(channels),
    }
    if report is not None:
        counted = isinstance(report, str)
        made["report"] = {"rate": report, "unit": f"{report}/s"} if counted else report
    return made


def _table(place: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidTypeError(f"{place}: expected a mapping, found {value!r:.80}")
    for key in value:
        if not isinstance(key, str):
            raise InvalidTypeError(f"{place}: expected texts as keys, found {key!r:.80}")
    return dict(value)


def _list(place: str, ops: Any) -> list[Any]:
    if isinstance(ops, str | bytes | Mapping | np.ndarray) or not hasattr(ops, "__iter__"):
        raise InvalidTypeError(f"{place}: expected a list of operations, found {ops!r:.80}")
    return [_operation(f"{place}[{i}]", op) for i, op in enumerate(_few(place, ops))]


def _operation(place: str, op: Any) -> Any:
    """Return ``("run", 5, {"uniform": 0.1})`` as the table of a definition."""
    if isinstance(op, str | Mapping):
        return op
    if not isinstance(op, tuple) or not op or not isinstance(op[0], str):
        raise InvalidTypeError(
            f'{place}: expected an operation such as ("run", 5), found {op!r:.80}'
        )
    name, *rest = op
    options = rest.pop() if len(rest) > 1 and isinstance(rest[-1], Mapping) else {}
    made: dict[str, Any] = _table(place, options)
    if name in NESTED and len(rest) == 2:
        made["do"] = _list(place, rest.pop())
    if len(rest) > 1:
        raise InvalidTypeError(
            f"{place}: {name} takes one argument and a dict of options, found {op!r:.80}"
        )
    return {name: rest[0]} | made if rest else name


def _tasks(tasks: Any) -> Any:
    """Return a list of tables; a mapping tells for each program how many groups of one run it."""
    if not isinstance(tasks, Mapping):
        return tasks
    return [
        {"program": name} | (dict(many) if isinstance(many, Mapping) else {"groups": many})
        for name, many in _table("tasks", tasks).items()
    ]


def _channels(channels: Any) -> dict[str, Any]:
    if channels is None:
        return {}
    if isinstance(channels, list | tuple):
        channels = dict.fromkeys(texts("channels", channels), "all")
    options = _table("channels", channels)
    return {n: {"per": o} if isinstance(o, str) else o for n, o in options.items()}


def _plain(place: str, value: Any, key: str = "") -> Any:
    """Return `value` as what JSON holds; numbers under the name of a time become us."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim):
        value = value.item()
    if isinstance(value, str):
        return text(place, value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        if key in TIMES:
            return f"{value!r} us"
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidParameterError(f"{place}: expected a finite number, found {value}")
        return value
    if isinstance(value, Mapping):
        return {k: _plain(f"{place}.{k}", v, k) for k, v in _table(place, value).items()}
    if isinstance(value, list | tuple | range | np.ndarray):
        return [_plain(f"{place}[{i}]", v) for i, v in enumerate(_few(place, value))]
    raise InvalidTypeError(
        f"{place}: expected a number, text, list or mapping, found {value!r:.80}"
    )


def _few(place: str, values: Any) -> Any:
    """Return `values` if a definition can hold as many."""
    if hasattr(values, "__len__") and len(values) > MOST_ITEMS:
        found = len(values)
        raise InvalidParameterError(f"{place}: {found} items; at most {MOST_ITEMS} can be")
    return values


def source(name: str, path_or_text: Any) -> tuple[str, str, str]:
    """Return text, path for messages, and a name, of a file or of a text given as it is.

    What has a line break or a brace is the text itself: file names have none.
    """
    if isinstance(path_or_text, str) and any(c in path_or_text for c in "\n{"):
        return path_or_text, f"<{name}>", "own"
    if not isinstance(path_or_text, str | os.PathLike):
        raise InvalidTypeError(f"{name}: expected a path or a text, found {path_or_text!r:.80}")
    path = place(name, path_or_text)
    return small_text(path), str(path), path.stem
