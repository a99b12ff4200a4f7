"""Tasks, events and programs as the user writes them, turned into columns for the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tickless import _core
from tickless._arrays import integer, integers, text, unmasked
from tickless.errors import InvalidParameterError, InvalidTypeError, ShapeError, UnknownNameError

_WORDS = _core.scheduling_words()
_OPERATIONS = {word: code for code, word in enumerate(_WORDS["operations"])}
_OPS = {word: code for code, word in enumerate(_WORDS["ops"])}
_CLASSES = {word: code for code, word in enumerate(_WORDS["classes"])}
_WITH_VALUE = frozenset({"run", "kernel", "send", "send-sync", "sleep"})

Columns = dict[str, Any]


def _code(name: str, kind: str, word: Any, known: Mapping[str, int]) -> int:
    if not isinstance(word, str):
        raise InvalidTypeError(f"{name}: expected a word, found {word!r}")
    try:
        return known[word]
    except KeyError:
        raise UnknownNameError(
            f"{name}: unknown {kind} {word!r}; known: {', '.join(known)}"
        ) from None


def switches(name: str, values: Mapping[str, bool] | None) -> list[tuple[str, bool]]:
    """Return a mapping of switches as pairs, checked."""
    for key, value in _mapping(name, values).items():
        if not isinstance(value, (bool, np.bool_)):
            raise InvalidTypeError(f"{name}[{key!r}]: expected True or False, found {value!r}")
    return [(text(name, key), bool(value)) for key, value in _mapping(name, values).items()]


def named_integers(name: str, values: Mapping[str, int] | None) -> list[tuple[str, int]]:
    """Return a mapping of integers as pairs, checked."""
    return [
        (text(name, key), integer(f"{name}[{key!r}]", value))
        for key, value in _mapping(name, values).items()
    ]


def _mapping(name: str, values: Any) -> Mapping[Any, Any]:
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise InvalidTypeError(f"{name}: expected a mapping, found {type(values).__name__}")
    return values


def _sequence(name: str, values: Any) -> Any:
    try:
        if hasattr(values, "__getitem__") and not isinstance(values, (str, bytes, Mapping)):
            len(values)
            return values
    except OverflowError:
        raise InvalidParameterError(f"{name}: longer than any sequence in memory") from None
    except TypeError:  # no length at all, or an array of no dimension
        pass
    raise InvalidTypeError(f"{name}: expected a sequence, found {type(values).__name__}")


def _column(name: str, values: Any) -> NDArray[np.int64]:
    column = integers(name, values)
    if isinstance(column, int):
        raise ShapeError(f"{name}: expected one dimension, found a number")
    return column


def task_columns(tasks: Any) -> Columns:
    """Return the tasks as columns ``nice``, ``class``, ``slice_ns``.

    Raises
    ------
    InvalidParameterError
        With the index of a task that is not (nice, class, slice_ns); before anything is allocated
        if there are more tasks than a machine can have.
    """
    _sequence("tasks", tasks)
    if len(tasks) > _WORDS["max_tasks"]:
        raise InvalidParameterError(
            f"tasks: {len(tasks)} tasks; at most {_WORDS['max_tasks']} are supported"
        )
    if isinstance(tasks, np.ndarray) and tasks.dtype.names:
        names = tasks.dtype.names
        rows = [tuple(row[name].item() for name in names) for row in tasks]
    else:
        rows = [_task_row(i, task) for i, task in enumerate(tasks)]
    nice = np.empty(len(rows), np.int64)
    classes = np.empty(len(rows), np.uint8)
    slices = np.empty(len(rows), np.int64)
    for i, row in enumerate(rows):
        if not 1 <= len(row) <= 3:
            raise InvalidParameterError(
                f"tasks[{i}]: expected (nice, class, slice_ns), found {row!r}"
            )
        nice[i] = integer(f"tasks[{i}].nice", row[0])
        word = row[1] if len(row) > 1 else "normal"
        classes[i] = _code(f"tasks[{i}].class", "class", word, _CLASSES)
        slices[i] = integer(f"tasks[{i}].slice_ns", row[2]) if len(row) > 2 else 0
    return {"nice": nice, "class": classes, "slice_ns": slices}


def _task_row(i: int, task: Any) -> tuple[Any, ...]:
    if isinstance(task, Sequence) and not isinstance(task, (str, bytes)):
        return tuple(task[:4])
    return (integer(f"tasks[{i}]", task),)


def event_columns(events: Any) -> Columns:
    """Return the script as columns ``t_ns``, ``op``, ``task``, ``value``."""
    named = getattr(getattr(events, "dtype", None), "names", None)
    if named or isinstance(events, Mapping) or hasattr(events, "columns"):
        names = named or tuple(events.keys())
        missing = [name for name in ("t_ns", "op", "task") if name not in names]
        if missing:
            raise InvalidParameterError(f"events: column {missing[0]!r} is missing")
        t = _column("events.t_ns", events["t_ns"])
        value = events["value"] if "value" in names else np.zeros(len(t), np.int64)
        return {
            "t_ns": t,
            "op": _operation_codes(events["op"]),
            "task": _column("events.task", events["task"]),
            "value": _column("events.value", value),
        }
    return _event_rows(_sequence("events", events))


def _operation_codes(words: Any) -> NDArray[np.uint8]:
    array = unmasked("events.op", words)
    if array.ndim != 1:
        raise ShapeError(f"events.op: expected one dimension, found shape {array.shape}")
    if array.dtype.kind in "iu":
        codes = _column("events.op", array)
        if ((codes < 0) | (codes >= len(_OPERATIONS))).any():
            i = int(np.argmax((codes < 0) | (codes >= len(_OPERATIONS))))
            raise InvalidParameterError(f"events[{i}]: {codes[i]} is not the code of an operation")
        return codes.astype(np.uint8)
    found = (_code(f"events[{i}]", "operation", str(w), _OPERATIONS) for i, w in enumerate(array))
    return np.fromiter(found, np.uint8, len(array))


def _event_rows(events: Any) -> Columns:
    n = len(events)
    t, op = np.empty(n, np.int64), np.empty(n, np.uint8)
    task, value = np.empty(n, np.int64), np.empty(n, np.int64)
    for i, event in enumerate(events):
        if isinstance(event, (str, bytes)) or not 2 <= len(_sequence(f"events[{i}]", event)) <= 4:
            raise InvalidParameterError(
                f"events[{i}]: expected (t_ns, op, task[, value]), found {event!r}"
            )
        t[i] = integer(f"events[{i}].t_ns", event[0])
        op[i] = _code(f"events[{i}]", "operation", event[1], _OPERATIONS)
        task[i] = integer(f"events[{i}].task", event[2]) if len(event) > 2 else -1
        value[i] = integer(f"events[{i}].value", event[3]) if len(event) > 3 else 0
    return {"t_ns": t, "op": op, "task": task, "value": value}


def program_columns(programs: Any) -> Columns:
    """Return the programs as columns; operations of all tasks in one row, cut at ``ends``."""
    n = len(_sequence("programs", programs))
    if n > _WORDS["max_tasks"]:
        most = _WORDS["max_tasks"]
        raise InvalidParameterError(f"programs: {n} programs; at most {most} are supported")
    start, repeat = np.zeros(n, np.int64), np.zeros(n, np.int64)
    ends = np.zeros(n, np.int64)
    codes: list[NDArray[np.uint8]] = [np.empty(0, np.uint8)]
    values: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    total = 0
    for i, program in enumerate(programs):
        if program is not None:
            if not _is_row(program) or not 2 <= len(program) <= 3:
                raise InvalidParameterError(
                    f"programs[{i}]: expected (start_ns, operations[, repeat]), found "
                    f"{program!r:.80}"
                )
            start[i] = integer(f"programs[{i}].start_ns", program[0])
            repeat[i] = integer(f"programs[{i}].repeat", program[2]) if len(program) > 2 else 0
            op, value = _operations(f"programs[{i}]", program[1])
            codes.append(op)
            values.append(value)
            total += len(op)
        ends[i] = total
    return {
        "start_ns": start,
        "repeat": repeat,
        "ends": ends,
        "op": np.concatenate(codes),
        "value": np.concatenate(values),
    }


def _operations(name: str, ops: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    _sequence(f"{name}.ops", ops)
    if len(ops) and not isinstance(ops[0], str) and _is_word(ops[0]):
        return _named_operations(name, ops)
    bursts = unmasked(f"{name}.bursts", ops)
    if bursts.size and bursts.dtype.kind not in "iu":
        raise InvalidTypeError(f"{name}: bursts must be integers, found {bursts.dtype}")
    if bursts.size and (bursts.ndim != 2 or bursts.shape[1] != 2):
        raise ShapeError(f"{name}: bursts must have shape (n, 2), found {bursts.shape}")
    value = np.ascontiguousarray(bursts, np.int64).reshape(-1)
    op = np.resize(np.array([_OPS["run"], _OPS["sleep"]], np.uint8), len(value))
    return op, value


def _is_word(op: Any) -> bool:
    return _is_row(op) and len(op) > 0 and isinstance(op[0], str)


def _is_row(value: Any) -> bool:
    """Tell whether a value has items by number."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence | np.void)


def _named_operations(name: str, ops: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    codes, values = np.empty(len(ops), np.uint8), np.zeros(len(ops), np.int64)
    for j, op in enumerate(ops):
        place = f"{name}.ops[{j}]"
        if not _is_word(op) or isinstance(op, str):
            raise InvalidParameterError(f"{place}: expected (word[, value]), found {op!r}")
        codes[j] = _code(place, "operation", op[0], _OPS)
        expected = 2 if op[0] in _WITH_VALUE else 1
        if len(op) != expected:
            raise InvalidParameterError(
                f"{place}: {op[0]!r} takes {expected - 1} values, found {len(op) - 1}"
            )
        if expected == 2:
            values[j] = integer(place, op[1])
    return codes, values
