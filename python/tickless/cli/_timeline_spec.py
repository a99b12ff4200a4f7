"""A timeline described in TOML: reads the file and says which field is wrong."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tickless._files import small_text
from tickless.errors import InputError, TicklessError, UnknownNameError

TOP = (
    "policy",
    "tasks",
    "events",
    "ncpus",
    "hz",
    "until_ns",
    "tick0_ns",
    "timer_latency_ns",
    "pick",
    "features",
    "tunables",
    "costs",
)
"""Fields of the file; all but ``policy``, ``tasks`` and ``events`` are arguments of `timeline`."""

TASK = ("name", "nice", "class", "slice_ns", "start_ns", "repeat", "program", "bursts")
"""Fields of one task."""

MESSAGES = ("send", "send-sync")


@dataclass(frozen=True)
class Spec:
    """What a file says.

    Attributes
    ----------
    path : Path
    policy : str or None
    names : tuple of str
        One per task.
    arguments : mapping
        Arguments of `tickless.timeline` but the policy.
    """

    path: Path
    policy: str | None
    names: tuple[str, ...]
    arguments: Mapping[str, Any]

    def explain(self, error: TicklessError) -> InputError:
        """Return an error of `timeline` in the words of the file."""
        text = re.sub(r"\bprograms\[(\d+)\]\.ops\[(\d+)\]", r"tasks[\1].program[\2]", str(error))
        text = re.sub(r"\bprograms\[(\d+)\]", r"tasks[\1]", text)
        return InputError(f"{self.path}: {text}", str(self.path), code="bad-spec")


def read_spec(path: Path) -> Spec:
    """Read a file.

    Raises
    ------
    InputError
        If it is not TOML, or a field is unknown, missing or of the wrong type.
    FileError
        If it cannot be read.
    """
    text = small_text(path)
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as e:
        raise InputError(f"{path}: not TOML: {e}", str(path), code="bad-spec") from None
    try:
        return _spec(path, document)
    except TicklessError as e:
        raise InputError(f"{path}: {e}", str(path), code="bad-spec") from None


def _spec(path: Path, document: Mapping[str, Any]) -> Spec:
    _known("", document, TOP)
    tasks = _list("tasks", document.get("tasks"))
    if not tasks:
        raise InputError("tasks: none given; each task is a table [[tasks]]")
    for i, task in enumerate(tasks):
        if not isinstance(task, dict):
            raise InputError(f"tasks[{i}]: expected a table, found {task!r}")
        _known(f"tasks[{i}].", task, TASK)
    names = _names(tasks)
    kept = ("ncpus", "hz", "until_ns", "tick0_ns", "timer_latency_ns", "pick", *_TABLES)
    arguments = {key: document[key] for key in kept if key in document}
    arguments["tasks"] = [
        (task.get("nice", 0), task.get("class", "normal"), task.get("slice_ns", 0))
        for task in tasks
    ]
    programs = [i for i, task in enumerate(tasks) if "program" in task or "bursts" in task]
    if "events" in document:
        if programs:
            raise InputError(f"tasks[{programs[0]}]: has a program, but there are events too")
        arguments["events"] = _events(document["events"], names)
    elif programs:
        arguments["programs"] = [_program(i, task, names) for i, task in enumerate(tasks)]
    else:
        raise InputError("events: missing, and no task has a program or bursts")
    policy = document.get("policy")
    if policy is not None and not isinstance(policy, str):
        raise InputError(f"policy: expected a name, found {policy!r}")
    return Spec(path, policy, names, arguments)


_TABLES = ("features", "tunables", "costs")


def _known(place: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise UnknownNameError(f"{place}{key}: unknown field; known: {', '.join(known)}")


def _list(name: str, value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise InputError(f"{name}: expected a list, found {value!r}")
    return value


def _names(tasks: list[dict[str, Any]]) -> tuple[str, ...]:
    names = []
    for i, task in enumerate(tasks):
        name = task.get("name", f"task {i}")
        if not isinstance(name, str) or not name:
            raise InputError(f"tasks[{i}].name: expected a text, found {name!r}")
        if name in names:
            raise InputError(f"tasks[{i}].name: {name!r} is the name of two tasks")
        names.append(name)
    return tuple(names)


def _number(place: str, task: Any, names: tuple[str, ...]) -> Any:
    """Return the number of a task given by name; numbers pass."""
    if not isinstance(task, str):
        return task
    if task not in names:
        raise UnknownNameError(f"{place}: unknown task {task!r}; known: {', '.join(names)}")
    return names.index(task)


def _events(events: Any, names: tuple[str, ...]) -> list[Any]:
    found = []
    for i, event in enumerate(_list("events", events)):
        row = list(_list(f"events[{i}]", event))
        if len(row) > 2:
            row[2] = _number(f"events[{i}]", row[2], names)
        found.append(tuple(row))
    return found


def _program(i: int, task: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    if "program" in task and "bursts" in task:
        raise InputError(f"tasks[{i}]: has a program and bursts; give one of them")
    start, repeat = task.get("start_ns", 0), task.get("repeat", 0)
    if "bursts" in task:
        return (start, _list(f"tasks[{i}].bursts", task["bursts"]), repeat)
    if "program" not in task:
        return None
    ops = []
    for j, op in enumerate(_list(f"tasks[{i}].program", task["program"])):
        place = f"tasks[{i}].program[{j}]"
        row = list(_list(place, op))
        if len(row) == 2 and row[0] in MESSAGES:
            row[1] = _number(place, row[1], names)
        ops.append(tuple(row))
    return (start, ops, repeat)
