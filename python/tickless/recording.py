"""What happened in one simulated run, as a trace: ftrace text, or a picture in Perfetto."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tickless._arrays import freeze
from tickless._files import written
from tickless.errors import InvalidParameterError

KINDS = ("switch", "waking", "wakeup", "idle-enter", "idle-exit")
"""Codes of `Recording.kind`: the core's happenings, in its order."""
SWITCH, WAKING, WAKEUP, IDLE_ENTER, IDLE_EXIT = range(5)
IDLE_TASK = np.iinfo(np.uint32).max
"""The number that stands for the idle task of a CPU."""
FIRST_PID = 1000
"""Process number of task 0; small ones belong to the kernel."""
COMM = 15
"""Longest task name of the kernel."""
_EXIT = 4_294_967_295
"""What `cpu_idle` prints when a state is left (Linux ``PWR_EVENT_EXIT``)."""


@dataclass(frozen=True, eq=False, repr=False)
class Recording:
    """Switches, wake-ups and idle states of one run, in order; read-only arrays.

    Attributes
    ----------
    kernel, case, machine : str
    states : tuple of str
        Names of the idle states.
    tasks : tuple of str
        Program of each task.
    t_ns : ndarray of int64, (n,)
        Time since the simulated machine was switched on.
    kind : ndarray of uint8, (n,)
        Index into `KINDS`.
    cpu : ndarray of uint32, (n,)
        Where it happened; the waker's CPU for wake-ups.
    a, b : ndarray of uint32, (n,)
        Of a switch, the tasks before and after, `IDLE_TASK` for none; of a waking or wake-up, the
        task and (wake-up) its CPU; of an idle entry, the state.
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

    def __post_init__(self) -> None:
        for name in ("t_ns", "kind", "cpu", "a", "b"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.t_ns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Recording):
            return NotImplemented
        plain = ("kernel", "case", "machine", "states", "tasks", "lost")
        arrays = ("t_ns", "kind", "cpu", "a", "b")
        return all(getattr(self, n) == getattr(other, n) for n in plain) and all(
            np.array_equal(getattr(self, n), getattr(other, n)) for n in arrays
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
        if task == IDLE_TASK:
            return "<idle>"
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

    def to_ftrace(self, path: str | os.PathLike[str]) -> None:
        """Write ftrace text with the events ``sched_switch``, ``sched_wak*`` and ``cpu_idle``.

        Parameters
        ----------
        path : str or path
            Time stamps are nanoseconds in seconds with nine decimals, so that `tickless.read_trace`
            reads the same idle periods back.
        """
        with written(path) as f:
            f.write("# tracer: nop\n#\n")
            f.writelines(f"{line}\n" for line in self._lines())

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

    def _lines(self) -> Iterator[str]:
        current: dict[int, int] = {}
        rows = zip(
            self.t_ns.tolist(),
            self.kind.tolist(),
            self.cpu.tolist(),
            self.a.tolist(),
            self.b.tolist(),
            self.asleep().tolist(),
            strict=True,
        )
        for t, kind, cpu, a, b, sleeps in rows:
            who = self._comm(current.get(cpu, IDLE_TASK))
            pid = self._pid(current.get(cpu, IDLE_TASK))
            head = f"{who:>16}-{pid:<7} [{cpu:03d}] d..2. {t // 10**9}.{t % 10**9:09d}: "
            if kind == SWITCH:
                current[cpu] = b
                yield head + (
                    f"sched_switch: prev_comm={self._comm(a)} prev_pid={self._pid(a)} "
                    f"prev_prio=120 prev_state={'S' if sleeps else 'R'} ==> "
                    f"next_comm={self._comm(b)} next_pid={self._pid(b)} next_prio=120"
                )
            elif kind in (WAKING, WAKEUP):
                word = "sched_waking" if kind == WAKING else "sched_wakeup"
                target = b if kind == WAKEUP else cpu
                yield head + (
                    f"{word}: comm={self._comm(a)} pid={self._pid(a)} prio=120 "
                    f"target_cpu={target:03d}"
                )
            else:
                state = a if kind == IDLE_ENTER else _EXIT
                yield head + f"cpu_idle: state={state} cpu_id={cpu}"

    def _comm(self, task: int) -> str:
        return "<idle>" if task == IDLE_TASK else self.task_name(task)[:COMM]

    @staticmethod
    def _pid(task: int) -> int:
        return 0 if task == IDLE_TASK else FIRST_PID + task

    def to_perfetto(self, path: str | os.PathLike[str]) -> None:
        """Write Chrome trace-event JSON, which https://ui.perfetto.dev opens.

        Parameters
        ----------
        path : str or path
            One track per CPU with the tasks that ran there, one with its idle states, and one per
            task with its wake-ups.

        Raises
        ------
        InvalidParameterError
            If nothing happened.
        """
        if not len(self):
            raise InvalidParameterError("record: nothing happened in the window")
        with written(path) as f:
            f.write('{"displayTimeUnit":"ns","traceEvents":[\n')
            for i, event in enumerate(self._events()):
                f.write(",\n" if i else "")
                f.write(json.dumps(event, separators=(",", ":")))
            f.write("\n]}\n")

    def _events(self) -> Iterator[dict[str, Any]]:
        yield _name("process_name", _CPUS, 0, f"CPUs of {self.machine}, {self.kernel}")
        yield _name("process_name", _IDLE, 0, "idle states")
        yield _name("process_name", _TASKS, 0, "tasks")
        for cpu in np.unique(self.cpu).tolist():
            yield _name("thread_name", _CPUS, cpu, f"CPU {cpu}")
            yield _name("thread_name", _IDLE, cpu, f"CPU {cpu}")
        yield from self._runs()
        periods = self.idle_periods()
        for cpu, start, end, state in zip(*(v.tolist() for v in periods.values()), strict=True):
            yield _span(self.states[state], _IDLE, cpu, start, end)

    def _runs(self) -> Iterator[dict[str, Any]]:
        """Yield who ran where, and the wake-ups of each task that ran."""
        named: set[int] = {int(IDLE_TASK)}
        running: dict[int, tuple[int, int]] = {}
        first, last = int(self.t_ns[0]), int(self.t_ns[-1])
        chosen = np.flatnonzero((self.kind == SWITCH) | (self.kind == WAKEUP))
        for i in chosen.tolist():
            t, cpu, a, b = (int(x[i]) for x in (self.t_ns, self.cpu, self.a, self.b))
            for task in (a, b) if self.kind[i] == SWITCH else (a,):
                if task not in named:
                    named.add(task)
                    yield _name("thread_name", _TASKS, task, self.task_name(task))
            if self.kind[i] == WAKEUP:
                yield {"name": "wake-up", "ph": "i", "s": "t", "ts": t / 1000,
                       "pid": _TASKS, "tid": a, "args": {"by CPU": cpu, "on CPU": b}}  # fmt: skip
                continue
            # Who had the CPU when the recording began shows only when it leaves.
            who, since = running.pop(cpu, (a, first))
            if who != IDLE_TASK:
                yield from self._ran(cpu, who, since, t)
            running[cpu] = (b, t)
        for cpu, (who, since) in running.items():
            if who != IDLE_TASK:
                yield from self._ran(cpu, who, since, last)

    def _ran(self, cpu: int, task: int, start: int, end: int) -> Iterator[dict[str, Any]]:
        yield _span(self.task_name(task), _CPUS, cpu, start, end)
        yield _span(f"on CPU {cpu}", _TASKS, task, start, end)


_CPUS, _IDLE, _TASKS = 1, 2, 3
"""Process numbers of the groups of tracks."""


def _name(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "ts": 0, "pid": pid, "tid": tid, "args": {"name": name}}


def _span(name: str, pid: int, tid: int, start: int, end: int) -> dict[str, Any]:
    return {"name": name, "cat": "sched", "ph": "X", "ts": start / 1000,
            "dur": (end - start) / 1000, "pid": pid, "tid": tid}  # fmt: skip
