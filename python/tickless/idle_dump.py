"""Idle tables and counters from sysfs: dumps, directory trees, ``cpupower idle-info``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO

from tickless import _core, _html
from tickless.errors import InputError
from tickless.idle_table import POLLING_NAMES, IdleTable
from tickless.machine import Machine

if TYPE_CHECKING:
    import pandas as pd

Source = str | os.PathLike[str] | bytes | BinaryIO
"""A file, a directory, text in memory, or an open binary file."""

COUNTERS = ("usage", "time_us", "above", "below")
"""Counters of a state that every kernel since 5.0 has."""

FIELDS = (
    "name",
    "desc",
    "exit_latency_us",
    "target_residency_us",
    "power",
    "disabled",
    "default_status",
    *COUNTERS,
    "rejected",
    "s2idle_usage",
    "s2idle_time_us",
)
"""Fields of a state, in the order in which they are shown."""

State = dict[str, Any]
"""Index and fields of one state; None where the input does not tell."""


@dataclass(frozen=True, eq=False, repr=False)
class CpuidleDump:
    """What a kernel says about its idle states, per CPU; frozen.

    Attributes
    ----------
    path : str
        The input as the caller named it.
    format : {"sysfs-cpuidle", "cpupower-idle-info"}
    driver, governor : str or None
    available_governors : list of str or None
    states : dict of str to list of dict
        By ``cpuN`` in numerical order: one dict per state with ``index`` and `FIELDS`, times in us,
        None where the input does not tell.
    offline : list of int
        CPUs that are offline.
    warnings : list of dict
        Remarks with ``code``, and ``line``, ``cpu``, ``states``, ``text`` where they apply.
    """

    path: str
    format: str
    driver: str | None
    governor: str | None
    available_governors: list[str] | None
    states: dict[str, list[State]]
    offline: list[int]
    warnings: list[dict[str, Any]]

    @property
    def cpus(self) -> dict[str, list[State]]:
        """The states by the plain number of their CPU, as text."""
        return {name.removeprefix("cpu"): states for name, states in self.states.items()}

    @cached_property
    def classes(self) -> list[tuple[list[int], list[State]]]:
        """CPUs that have the same states, and these states; several entries for a hybrid."""
        found: dict[tuple[Any, ...], tuple[list[int], list[State]]] = {}
        for cpu, states in self.cpus.items():
            key = tuple((s["index"], *(s[f] for f in _TABLE_FIELDS)) for s in states)
            found.setdefault(key, ([], states))[0].append(int(cpu))
        return list(found.values())

    def idle_table(self, cpu: int | None = None) -> IdleTable:
        """Return the idle table of one CPU.

        Parameters
        ----------
        cpu : int, optional
            CPU number. Not needed if all CPUs have the same states.

        Returns
        -------
        IdleTable

        Raises
        ------
        InputError
            If a state lacks its latency or residency, a state is missing, the CPU is not there, or
            the CPUs differ and `cpu` is not given.
        """
        if cpu is None:
            if len(self.classes) > 1:
                kinds = "; ".join(_ranges(cpus) for cpus, _ in self.classes)
                raise self._error(
                    "several-tables", f"the CPUs have different idle states ({kinds}); give cpu="
                )
            if not self.classes:
                raise self._error("no-idle-states", "no CPU has idle states")
            cpu = self.classes[0][0][0]
        if f"cpu{cpu}" not in self.states:
            known = _ranges([int(c) for c in self.cpus])
            raise self._error(
                "no-such-cpu", f"CPU {cpu} has no idle states here; {known or 'none'}"
            )
        return self._table(cpu, self.states[f"cpu{cpu}"], "")

    def machine(self, name: str = "this machine", hz: int = 250) -> Machine:
        """Return all CPUs as a machine; a hybrid has one idle table per class of CPUs.

        Parameters
        ----------
        name : str
            Name for headings.
        hz : int
            Tick rate; sysfs does not tell it.
        """
        tables = []
        ncpus = max((int(c) for c in self.cpus), default=-1) + 1
        kinds = [0] * ncpus
        for kind, (cpus, states) in enumerate(self.classes):
            label = name if len(self.classes) == 1 else f"{name}, {_ranges(cpus)}"
            tables.append(self._table(cpus[0], states, label))
            for cpu in cpus:
                kinds[cpu] = kind
        if not tables:
            raise self._error("no-idle-states", "no CPU has idle states")
        summary = f"{self.driver or 'unknown driver'}, governor {self.governor or 'unknown'}"
        return Machine(
            name, tables=tables, table_of=kinds, hz=hz, summary=summary, sources=[self.path]
        )

    def _table(self, cpu: int, states: list[State], label: str) -> IdleTable:
        indices = [s["index"] for s in states]
        if indices != list(range(len(states))):
            missing = sorted(set(range(max(indices))) - set(indices))
            raise self._error("missing-states", f"CPU {cpu} lacks the states {missing}")
        notes = []
        latency, residency = [], []
        for s in states:
            polls = s["index"] == 0 and s["name"] in POLLING_NAMES
            if polls and s["exit_latency_us"] == 0 and s["target_residency_us"] is None:
                # Tools leave out what is 0; a state without latency pays off at once.
                s = s | {"target_residency_us": 0}
                notes.append(f"{s['name']}: residency not printed, taken as 0")
            latency.append(self._needed(cpu, s, "exit_latency_us"))
            residency.append(self._needed(cpu, s, "target_residency_us"))
        names = [str(self._needed(cpu, s, "name")) for s in states]
        polling = [
            i == 0
            and (name in POLLING_NAMES or (len(states) > 1 and latency[0] == residency[0] == 0))
            for i, name in enumerate(names)
        ]
        power = [s["power"] for s in states]
        known = all(p is not None and p > 0 for p in power)
        return IdleTable(
            names,
            [v * 1000 for v in latency],
            [v * 1000 for v in residency],
            polling=polling,
            disabled=[_is_off(s) for s in states],
            power_mw=power if known else None,
            label=label or self.path,
            notes=notes,
        )

    def _needed(self, cpu: int, state: State, field: str) -> Any:
        value = state[field]
        if value is None:
            name = state["name"] or f"state{state['index']}"
            raise self._error(
                "missing-fields",
                f"state {name} of CPU {cpu} has no {field}; without it no table can be made. "
                "A newer cpupower prints residencies, and sysfs has them: grep -r . "
                "/sys/devices/system/cpu/cpu*/cpuidle/",
            )
        return value

    def _error(self, code: str, text: str) -> InputError:
        return InputError(f"{self.path}: {text}", self.path, None, code)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per CPU and state, with all fields."""
        return _frame(self.states, ("index", *FIELDS))

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and cells: one row per state and class of CPUs."""
        head = ["CPUs", "state", "name", "latency us", "residency us", "disabled"]
        fields = ("index", "name", "exit_latency_us", "target_residency_us", "disabled")
        rows = [
            [
                _ranges(cpus).removeprefix("CPUs ").removeprefix("CPU "),
                *(_cell(s[f]) for f in fields),
            ]
            for cpus, states in self.classes
            for s in states
        ]
        return head, rows

    def warning_lines(self) -> list[str]:
        """Return the warnings as lines for people, e.g. ``missing-states, cpu 2, states [1]``."""
        return [
            ", ".join(str(v) if k == "code" else f"{k} {v}" for k, v in w.items())
            for w in self.warnings
        ]

    def __repr__(self) -> str:
        head, rows = self.rows()
        text = "\n".join("  ".join(f"{c:>12}" for c in row) for row in [head, *rows])
        return f"{self.path}: {self.driver or '?'}, governor {self.governor or '?'}\n{text}"

    def _repr_html_(self) -> str:
        lines = self.warning_lines()
        return _html.table(*self.rows(), caption=self.path, left=(0, 2), notes=lines)


_TABLE_FIELDS = (
    "name",
    "exit_latency_us",
    "target_residency_us",
    "power",
    "disabled",
    "default_status",
)


def _cell(value: Any) -> str:
    return (
        "" if value is None else "yes" if value is True else "no" if value is False else str(value)
    )


def _is_off(state: State) -> bool:
    """Tell whether a state is off: the user's bit, else the driver's default."""
    if state["disabled"] is not None:
        return bool(state["disabled"])
    return bool(state["default_status"] == "disabled")


def _ranges(cpus: list[int]) -> str:
    """Return CPU numbers the way Linux lists them."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and parts[-1][-1] == cpu - 1:
            parts[-1][1:] = [cpu]
        else:
            parts.append([cpu])
    listed = ",".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[1]}" for p in parts)
    return f"CPU{'s' if len(cpus) != 1 else ''} {listed}" if cpus else ""


def _frame(states: dict[str, list[State]], fields: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    rows = [
        {"cpu": int(name.removeprefix("cpu"))} | {f: s[f] for f in fields}
        for name, list_ in states.items()
        for s in list_
    ]
    frame = pd.DataFrame(rows, columns=["cpu", *fields])
    texts = ("name", "desc", "default_status")
    types = {f: "boolean" if f == "disabled" else "Int64" for f in fields if f not in texts}
    return frame.astype(types)


def read_idle_dump(path: Source) -> CpuidleDump:
    """Read what a kernel says about its idle states.

    Parameters
    ----------
    path : path, bytes or binary file
        A dump of the cpuidle directories (``grep -r . /sys/devices/system/cpu/cpu*/cpuidle/`` and
        other spellings), a directory tree, or the text of ``cpupower idle-info``.

    Returns
    -------
    CpuidleDump

    Raises
    ------
    InputError
        For anything else, with a remedy.
    """
    raw = _core.read_idle_dump(path)
    states = {
        f"cpu{cpu}": [_state(i, by_index[i]) for i in sorted(by_index)]
        for cpu, by_index in sorted(raw["cpus"].items())
    }
    return CpuidleDump(
        path="<bytes>" if isinstance(path, bytes) else str(getattr(path, "name", path)),
        format=raw["format"],
        driver=raw["driver"],
        governor=raw["governor"],
        available_governors=raw["available_governors"],
        states=states,
        offline=raw["offline"],
        warnings=[_remark(*r) for r in raw["remarks"]],
    )


def _state(index: int, fields: dict[str, Any]) -> State:
    state = {"index": index} | dict.fromkeys(FIELDS) | fields
    if state["disabled"] is not None:
        state["disabled"] = state["disabled"] != 0
    return state


def _remark(
    line: int | None, code: str, cpu: int | None, states: list[int], text: str
) -> dict[str, Any]:
    remark: dict[str, Any] = {} if line is None else {"line": line}
    remark["code"] = code
    if cpu is not None:
        remark["cpu"] = cpu
    if states:
        remark["states"] = states
    elif text:
        remark["text"] = text
    return remark


def read_idle_table(path: Source, *, cpu: int | None = None) -> IdleTable:
    r"""Read the idle states of a CPU from a sysfs dump or ``cpupower idle-info``.

    Parameters
    ----------
    path : path, bytes or binary file
        See `read_idle_dump`.
    cpu : int, optional
        CPU number; needed for hybrids, whose CPUs have different states.

    Returns
    -------
    IdleTable

    Raises
    ------
    InputError
        If the input is something else, or a state lacks its latency or residency.

    Examples
    --------
    >>> text = b"/cpu0/cpuidle/state0/name:C1\n/cpu0/cpuidle/state0/latency:2\n"
    >>> read_idle_table(text + b"/cpu0/cpuidle/state0/residency:4\n").target_residency_ns.tolist()
    [4000]
    """
    return read_idle_dump(path).idle_table(cpu)


def read_sysfs(
    sysfs_root: str | os.PathLike[str] = "/sys", cpu: int | None = None, *, hz: int = 250
) -> Machine:
    """Read the idle states of the running machine, and its topology, caches and clocks.

    Parameters
    ----------
    sysfs_root : path
        Where sysfs is mounted, or a copy of it.
    cpu : int, optional
        Only this CPU. Default: all of them; a hybrid has one idle table per class of CPUs.
    hz : int
        Tick rate of the running kernel; sysfs does not tell it.

    Returns
    -------
    Machine

    Raises
    ------
    InputError
        If the kernel has no cpuidle driver, as in many virtual machines, or a file of the topology
        holds something else than numbers of CPUs.
    """
    from tickless._sysfs import with_hardware

    dump = read_idle_dump(sysfs_root)
    if cpu is None:
        waits = any("MWAIT" in (s["desc"] or "") for states in dump.states.values() for s in states)
        return with_hardware(dump.machine(hz=hz), os.fspath(sysfs_root), mwait=waits)
    return Machine(f"this machine, CPU {cpu}", tables=[dump.idle_table(cpu)], hz=hz)
