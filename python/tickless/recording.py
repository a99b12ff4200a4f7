"""What happened in one simulated run: switches, wake-ups, idle states, ticks, in order."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tickless._arrays import freeze, integer
from tickless.errors import InvalidParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("switch", "waking", "wakeup", "idle-enter", "idle-exit", "told", "tick-stop", "tick")
"""Codes of `Recording.kind`: the core's happenings, in its order."""
SWITCH, WAKING, WAKEUP, IDLE_ENTER, IDLE_EXIT, TOLD, TICK_STOP, TICK = range(len(KINDS))
IDLE_TASK = np.iinfo(np.uint32).max
"""The number that stands for the idle task of a CPU."""

_COLUMNS = ("t_ns", "kind", "cpu", "a", "b")

RUN = np.dtype([("cpu", "i8"), ("task", "i8"), ("start_ns", "i8"), ("end_ns", "i8")])
"""Row of `Recording.runs`."""


@dataclass(frozen=True, eq=False, repr=False)
class Recording:
    """Switches, wake-ups, idle states and ticks of one run, in order; read-only arrays.

    Attributes
    ----------
    kernel, case, machine : str
    states : tuple of str
        Names of the idle states.
    tasks : tuple of str
        Program of each task.
    ncpus : int
        CPUs of the machine.
    nices : tuple of int
        Nice value of each task.
    governor : str
        The idle governor that ran.
    t_ns : ndarray of int64, (n,)
        Time since the simulated machine was switched on.
    kind : ndarray of uint8, (n,)
        Index into `KINDS`.
    cpu : ndarray of uint32, (n,)
        Where it happened; the waker's CPU for wake-ups.
    a, b : ndarray of uint32, (n,)
        Of a switch, the tasks before and after, `IDLE_TASK` for none; of a waking or wake-up, the
        task and (wake-up) its CPU; of an idle entry, the state; of a sleep length that a governor
        is told, its low and high 32 bits, ns.
    lost : int
        Happenings that did not fit.
    """

    kernel: str
    case: str
    machine: str
    states: tuple[str, ...]
    tasks: tuple[str, ...]
    t_ns: NDArray[np.int64]
    kind: NDArray[np.uint8]
    cpu: NDArray[np.uint32]
    a: NDArray[np.uint32]
    b: NDArray[np.uint32]
    lost: int = 0
    ncpus: int = 0
    nices: tuple[int, ...] = ()
    governor: str = ""

    def __post_init__(self) -> None:
        for name in _COLUMNS:
            object.__setattr__(self, name, freeze(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.t_ns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Recording):
            return NotImplemented
        plain = [f.name for f in fields(self) if f.name not in _COLUMNS]
        return all(getattr(self, n) == getattr(other, n) for n in plain) and all(
            np.array_equal(getattr(self, n), getattr(other, n)) for n in _COLUMNS
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        span = (self.t_ns[-1] - self.t_ns[0]) / 1e6 if len(self) else 0.0
        return (
            f"Recording({self.kernel!r}, case {self.case}: {len(self)} happenings in {span:g} ms"
            + (f", {self.lost} lost" if self.lost else "")
            + ")"
        )

    def task_name(self, task: int) -> str:
        """Return ``client-0``, or ``<idle>`` for the idle task."""
        if integer("task", task) == IDLE_TASK:
            return "<idle>"
        if task < 0:
            raise InvalidParameterError(f"task: expected at least 0, found {task}")
        name = self.tasks[task] if task < len(self.tasks) else "child"
        return f"{name.replace(' ', '-')}-{task}"

    def idle_periods(self) -> dict[str, NDArray[np.int64]]:
        """Return the complete idle periods as columns, by CPU and time.

        Returns
        -------
        dict of str to ndarray of int64
            ``cpu``, ``start_ns``, ``end_ns``, ``state``.
        """
        found: dict[str, list[NDArray[np.int64]]] = {
            k: [] for k in ("cpu", "start_ns", "end_ns", "state")
        }
        idle = (self.kind == IDLE_ENTER) | (self.kind == IDLE_EXIT)
        for cpu in np.unique(self.cpu[idle]):
            here = np.flatnonzero(idle & (self.cpu == cpu))
            first = np.flatnonzero(
                (self.kind[here[:-1]] == IDLE_ENTER) & (self.kind[here[1:]] == IDLE_EXIT)
            )
            start, end = here[first], here[first + 1]
            found["cpu"].append(np.full(len(start), cpu, np.int64))
            found["start_ns"].append(self.t_ns[start])
            found["end_ns"].append(self.t_ns[end])
            found["state"].append(self.a[start].astype(np.int64))
        empty = np.zeros(0, np.int64)
        return {k: np.concatenate(v) if v else empty for k, v in found.items()}

    def asleep(self) -> NDArray[np.bool_]:
        """Return which happenings are switches away from a task that goes to sleep.

        Returns
        -------
        ndarray of bool, (n,)
            Such a task is woken before it runs again, or does not run again at all.
        """
        found = np.zeros(len(self), bool)
        woken: dict[int, bool] = {}  # whether the next thing to happen to a task is a wake-up
        for i in range(len(self) - 1, -1, -1):
            if self.kind[i] == WAKEUP:
                woken[int(self.a[i])] = True
            elif self.kind[i] == SWITCH:
                woken[int(self.b[i])] = False
                found[i] = self.a[i] != IDLE_TASK and woken.get(int(self.a[i]), True)
        return found

    def runs(self) -> NDArray[np.void]:
        """Return who had which CPU from when to when.

        Returns
        -------
        structured ndarray
            ``cpu``, ``task``, ``start_ns``, ``end_ns`` by CPU and time, without the idle task. Who
            had a CPU when the recording began shows when it leaves; who has it at the end has it
            up to the last happening.
        """
        if not len(self):
            return np.zeros(0, RUN)
        first, last = self.t_ns[0], self.t_ns[-1]
        found = []
        for cpu in np.unique(self.cpu[self.kind == SWITCH]):
            here = np.flatnonzero((self.kind == SWITCH) & (self.cpu == cpu))
            runs = np.zeros(len(here) + 1, RUN)
            runs["cpu"] = cpu
            runs["task"][0], runs["task"][1:] = self.a[here[0]], self.b[here]
            runs["start_ns"][0], runs["start_ns"][1:] = first, self.t_ns[here]
            runs["end_ns"][-1], runs["end_ns"][:-1] = last, self.t_ns[here]
            found.append(runs[(runs["task"] != IDLE_TASK) & (runs["end_ns"] > runs["start_ns"])])
        return np.concatenate(found) if found else np.zeros(0, RUN)

    def wakers(self) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Return the wake-ups, and on which CPU each began.

        Returns
        -------
        rows : ndarray of int, (w,)
            Where `kind` is a wake-up.
        cpu : ndarray of int64, (w,)
            The waker's CPU. A wake-up that goes over a wake list is completed on another one.
        """
        began: dict[int, int] = {}
        rows, cpus = [], []
        chosen = np.flatnonzero((self.kind == WAKING) | (self.kind == WAKEUP))
        for i, kind, cpu, task in zip(
            chosen.tolist(),
            self.kind[chosen].tolist(),
            self.cpu[chosen].tolist(),
            self.a[chosen].tolist(),
            strict=True,
        ):
            if kind == WAKING:
                began[task] = cpu
            else:
                rows.append(i)
                cpus.append(began.pop(task, cpu))
        return np.array(rows, np.intp), np.array(cpus, np.int64)

    def to_ftrace(self, path: str | os.PathLike[str]) -> None:
        """Write ftrace text, as the kernel prints it, that `tickless.read_trace` reads.

        Parameters
        ----------
        path : str or path
            The events are ``sched_switch``, ``sched_waking``, ``sched_wakeup``, ``cpu_idle``,
            ``tick_stop``, ticks as ``hrtimer_expire_entry``, and the return probes ``slen`` and
            that of the governor's choice. Time stamps are seconds with nine decimals.

        Notes
        -----
        Idle periods, switches and wake-ups read back as they are here. A recording that was cut
        says so where the kernel does: fewer entries in the buffer than were written.
        """
        from tickless import _recording_ftrace

        _recording_ftrace.write(self, path)

    def to_perfetto(self, path: str | os.PathLike[str]) -> None:
        """Write Chrome trace-event JSON, which https://ui.perfetto.dev opens.

        Parameters
        ----------
        path : str or path
            One track per CPU with the tasks that ran there, one with its idle states, and one per
            task with its wake-ups; an arrow leads from each wake-up to where the task runs then.

        Raises
        ------
        InvalidParameterError
            If nothing happened.
        """
        from tickless import _recording_perfetto

        if not len(self):
            raise InvalidParameterError("record: nothing happened in the window")
        _recording_perfetto.write(self, path)

    def plot(self, start_ns: int | None = None, end_ns: int | None = None) -> Figure:
        """Draw what each CPU does over time.

        A bar is a task, by colour; grey is idle, the darker the deeper the state; white between
        them is the kernel on its way in or out. Arrows are wake-ups, from the waker's CPU to that
        of the woken task, if they are few.

        Parameters
        ----------
        start_ns, end_ns : int, optional
            Part of the recording to draw, in the times of `t_ns`; all of it if None.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InvalidParameterError
            If nothing happened, for an empty part, or with more than 64 CPUs.
        """
        from tickless.plots.recording import draw

        return draw(self, start_ns, end_ns)
