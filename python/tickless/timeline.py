"""One run queue over time: who runs when under a scheduling policy.

Open loop: a script of events (fork, wake, block, tick ...) happens whatever the policy does.
Closed loop: each task follows a program, so that who runs when decides what happens next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tickless import _core
from tickless._arrays import flag, integer, text
from tickless._programs import (
    event_columns,
    named_integers,
    program_columns,
    switches,
    task_columns,
)
from tickless.errors import InvalidParameterError, UnknownNameError

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure

_WORDS = _core.scheduling_words()

OPERATIONS: tuple[str, ...] = tuple(_WORDS["operations"])
"""Words of the operations; the position is the code in the column ``op``."""

_ROW = np.dtype([(name, np.int64) for name in _WORDS["columns"]])
_TOTAL = np.dtype([(name, np.int64) for name in _WORDS["totals"]])
_ALWAYS = ("seq", "t_ns", "op", "arg", "valid")


@dataclass(frozen=True, eq=False, repr=False)
class Timeline:
    """What happened on one run queue.

    Attributes
    ----------
    policy : str
        Registered name of the policy.
    tasks : ndarray, shape (n_tasks,)
        Structured: ``nice``, ``class`` (position in ``normal``, ``batch``, ``idle``), ``slice_ns``.
    rows : masked ndarray, shape (n_rows,)
        Structured, all int64: one row per operation. Columns up to ``valid`` are always there;
        the others are masked where ``valid`` is 0 (ignored operation), and throughout where the
        policy's version has no such column. ``op`` is a position in `OPERATIONS`, tasks are
        numbers (-1 none), times are ns, virtual times virtual ns. Columns from ``nr_running`` to
        ``curr_protect`` show the state after the operation and before the pick, ``next_*`` and
        ``hrtick_at`` after it. Empty if rows were not asked for.
    totals : ndarray, shape (n_tasks,)
        Structured, int64: CPU time, switches, wake-ups, waiting time ... per task.
    ignored : int
        Operations that were ignored, e.g. waking a task that does not sleep.
    carried_out : int
        Operations that were carried out.
    end_ns : int
        End of the run.
    """

    policy: str
    tasks: NDArray[np.void]
    rows: np.ma.MaskedArray[Any, np.dtype[np.void]]
    totals: NDArray[np.void]
    ignored: int
    carried_out: int
    end_ns: int

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def __getitem__(self, column: str) -> np.ma.MaskedArray[Any, np.dtype[np.int64]]:
        """Return one column of the rows.

        Raises
        ------
        UnknownNameError
            If there is no such column.
        """
        if column not in _WORDS["columns"]:
            known = ", ".join(_WORDS["columns"])
            raise UnknownNameError(f"unknown column {column!r}; known: {known}")
        return self.rows[column]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns this policy fills."""
        blank = _policy(self.policy)["blank_columns"]
        return tuple(name for name in _WORDS["columns"] if name not in blank)

    def replace(self, **changes: Any) -> Timeline:
        """Return a copy with some attributes changed; nothing is computed anew."""
        return replace(self, **changes)

    def segments(self) -> NDArray[np.void]:
        """Return who ran when.

        Returns
        -------
        ndarray, shape (n_segments,)
            Structured: ``start_ns``, ``end_ns``, ``task`` (-1 idle), in order and without gaps
            from the first row to the end of the run.
        """
        done = np.flatnonzero(self.rows["valid"].data)
        times, after = self.rows["t_ns"].data[done], self.rows["next"].data[done]
        first = np.flatnonzero(np.diff(after, prepend=np.int64(-2)))
        found = np.empty(
            len(first), [("start_ns", np.int64), ("end_ns", np.int64), ("task", np.int64)]
        )
        found["start_ns"] = times[first]
        found["end_ns"] = np.append(times[first[1:]], self.end_ns)[: len(first)]
        found["task"] = after[first]
        return found[found["end_ns"] > found["start_ns"]]

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row per operation with the columns the policy fills; integers are nullable, ``op``
            is categorical.
        """
        import pandas as pd

        data: dict[str, Any] = {}
        for name in self.columns:
            column = self.rows[name]
            if name == "op":
                data[name] = pd.Categorical.from_codes(
                    np.asarray(column.data, np.int64), pd.Index(OPERATIONS)
                )
            elif name in _ALWAYS:
                data[name] = column.data
            else:
                mask = np.ma.getmaskarray(column)
                data[name] = pd.arrays.IntegerArray(column.data.copy(), mask)
        return pd.DataFrame(data)

    def plot(
        self,
        start_ns: int | None = None,
        end_ns: int | None = None,
        *,
        names: Sequence[str] | None = None,
    ) -> Figure:
        """Draw who runs when, one row per task, and the lag below.

        A bar is running, a thin line waiting, nothing is sleeping; triangles are wake-ups, filled
        where the woken task took the CPU at once; a stroke is where a runnable task lost the CPU.
        Below, for policies with virtual time, how far each task lies behind the average (EEVDF) or
        `min_vruntime` (CFS).

        Parameters
        ----------
        start_ns, end_ns : int, optional
            Part of the run to draw; all of it if None.
        names : sequence of str, optional
            One per task, in place of "task 0, nice 0".

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InvalidParameterError
            Without rows, with more than 60 tasks, or for an empty part of the run.
        """
        from tickless.plots.timeline import draw

        return draw(self, start_ns, end_ns, names)

    def to_perfetto(self, path: str | Path, *, names: Sequence[str] | None = None) -> None:
        """Write a Chrome trace-event JSON file, for https://ui.perfetto.dev and chrome://tracing.

        Tracks: what the CPU runs; per task when it runs, when it waits, its wake-ups and
        preemptions; counters for the length of the queue and each task's lag.

        Parameters
        ----------
        path : str or path
            The file, replaced if it exists.
        names : sequence of str, optional
            One per task, in place of "task 0".

        Raises
        ------
        InvalidParameterError
            If the timeline has no rows.
        OSError
            If the file cannot be written.
        """
        from tickless._perfetto import write

        write(self, path, names)

    def __str__(self) -> str:
        lines = ["  ".join(f"{name:>15}" for name in ("task", *_SHOWN))]
        lines += ["  ".join(f"{cell:>15}" for cell in row) for row in self._shown()]
        return f"{self._caption()}\n" + "\n".join(lines)

    def __repr__(self) -> str:
        from tickless.catalogue import text_table

        return f"{self._caption()}\n{text_table(('task', *_SHOWN), list(self._shown()))}"

    def _repr_html_(self) -> str:
        from tickless._html import table

        return table(("task", *_SHOWN), list(self._shown()), caption=self._caption())

    def _caption(self) -> str:
        return (
            f"{self.policy}: {len(self.tasks)} tasks, {self.carried_out} operations, "
            f"{self.ignored} ignored, {self.end_ns / 1e6:g} ms"
        )

    def _shown(self) -> Iterator[list[str]]:
        for task, total in enumerate(self.totals[:_MOST_SHOWN]):
            yield [str(task), *(str(total[name]) for name in _SHOWN)]
        if len(self.totals) > _MOST_SHOWN:
            yield [f"... {len(self.totals) - _MOST_SHOWN} more", *("" for _ in _SHOWN)]


_SHOWN = ("exec_ns", "switch_ins", "wakeups", "wakeup_preempts", "wait_ns", "max_wait_ns")
_MOST_SHOWN = 60


def timeline(
    tasks: Sequence[Any] | NDArray[Any],
    *,
    policy: str,
    ncpus: int = 8,
    hz: int = 250,
    events: Any = None,
    programs: Sequence[Any] | None = None,
    until_ns: int | None = None,
    tick0_ns: int | None = None,
    features: Mapping[str, bool] | None = None,
    tunables: Mapping[str, int] | None = None,
    pick: str = "walk",
    timer_latency_ns: int = 1000,
    costs: Mapping[str, int] | None = None,
    rows: bool = True,
) -> Timeline:
    """Run one queue under a scheduling policy.

    Parameters
    ----------
    tasks : sequence of (nice, class, slice_ns)
        One entry per task: nice -20 to 19; class ``"normal"``, ``"batch"`` or ``"idle"``; slice in
        ns, 0 for the base slice. A bare integer is a nice value; class and slice may be left out.
        Also a structured array with these fields.
    policy : str
        One of `policies`.
    ncpus : int
        CPUs of the machine; only scales the defaults of the tunables.
    hz : int
        Tick rate: 100, 250, 300 or 1000. Open-loop ticks happen only where the script says.
    events : list of (t_ns, op, task[, value]), structured array, mapping or DataFrame, optional
        The script, in order of time. ``op`` is one of `OPERATIONS` but ``RESCHED``; ``task`` is -1
        for ``BLOCK``, ``SBLOCK``, ``YIELD``, ``TICK`` and ``HRTICK``, which concern the running
        task; ``value`` is the new nice value (``NICE``) or slice in ns (``SLICE``).
    programs : sequence of (start_ns, operations[, repeat]), optional
        One program per task, or None for a task that never starts. Operations are either an
        (n, 2) array of bursts (run ns, then sleep ns), repeated for ever, or a list of
        ``("run", ns)`` (user mode), ``("kernel", ns)`` (kernel mode, where a reschedule waits for
        the return to user mode), ``("send", task)`` and ``("send-sync", task)`` (a message; wakes
        the receiver only if it sleeps in a receive), ``("receive",)``, ``("sleep", ns)``,
        ``("yield",)``, ``("exit",)``. Repeat 0 is for ever, the default.
    until_ns : int, optional
        End of the run, needed with programs; events at or after it are not reached.
    tick0_ns : int, optional
        First tick of a closed loop; one tick length if None.
    features : mapping of str to bool, optional
        Scheduler features to switch, by kernel name.
    tunables : mapping of str to int, optional
        Tunables to set, ns, taken as they stand (not scaled by the CPU count).
    pick : {"walk", "ideal"}
        Search of the August 2023 EEVDF pick; the other policies have no use for it.
    timer_latency_ns : int
        How late the slice timer fires in a closed loop.
    costs : mapping of str to int, optional
        Prices of kernel paths in a closed loop, ns of CPU time: ``switch_ns`` paid by a task
        switched in, ``block_ns`` before it sleeps, ``wake_ns`` before it wakes a receiver.
    rows : bool
        Record a row per operation; False keeps the totals only.

    Returns
    -------
    Timeline
        Rows and totals.

    Raises
    ------
    UnknownNameError
        For a policy, feature, tunable, operation or class that does not exist.
    InvalidParameterError
        For a value out of range, naming task, event or program by index.
    ShapeError
        For columns of unequal length, or another number of programs than of tasks.

    Examples
    --------
    Two equal tasks that never sleep, on one CPU of Linux 6.12:

    >>> import tickless
    >>> t = tickless.timeline([0, 0], policy="eevdf-6.12", ncpus=1, until_ns=40_000_000,
    ...                       programs=[(0, [("run", 10**9)]), (0, [("run", 10**9)])])
    >>> t.totals["exec_ns"].tolist()
    [20000000, 20000000]
    """
    if (events is None) == (programs is None):
        raise InvalidParameterError("events, programs: give exactly one of them")
    if text("pick", pick) not in ("walk", "ideal"):
        raise UnknownNameError(f"unknown pick {pick!r}; known: walk, ideal")
    columns = task_columns(tasks)
    setup: dict[str, Any] = {
        "policy": text("policy", policy),
        "ncpus": integer("ncpus", ncpus),
        "hz": integer("hz", hz),
        "features": switches("features", features),
        "tunables": named_integers("tunables", tunables),
        "ideal_pick": pick == "ideal",
        **columns,
        "rows": flag("rows", rows),
    }
    if events is not None:
        script = event_columns(events)
        script["until_ns"] = None if until_ns is None else integer("until_ns", until_ns)
        raw = _core.timeline_events(setup, script)
    else:
        if until_ns is None:
            raise InvalidParameterError("until_ns: programs need an end")
        prices = {"switch_ns": 0, "block_ns": 0, "wake_ns": 0}
        for name, value in named_integers("costs", costs):
            if name not in prices:
                raise UnknownNameError(f"unknown cost {name!r}; known: {', '.join(prices)}")
            prices[name] = value
        tick = 10**9 // max(1, setup["hz"])
        raw = _core.timeline_programs(
            setup,
            {
                **program_columns(programs),
                "until_ns": integer("until_ns", until_ns),
                "tick0_ns": tick if tick0_ns is None else integer("tick0_ns", tick0_ns),
                "timer_latency_ns": integer("timer_latency_ns", timer_latency_ns),
                **prices,
            },
        )
    return _result(_policy(policy), columns, raw)


def _policy(name: str) -> dict[str, Any]:
    return next(p for p in _core.policies() if name == p["name"] or name in p["aliases"])


def _result(policy: dict[str, Any], columns: dict[str, Any], raw: dict[str, Any]) -> Timeline:
    values = raw.get("rows", np.empty((0, len(_WORDS["columns"])), np.int64))
    rows = _masked(values, policy["blank_columns"])
    totals = raw["totals"].view(_TOTAL)[:, 0] if len(raw["totals"]) else np.empty(0, _TOTAL)
    tasks = np.empty(
        len(columns["nice"]), [("nice", np.int64), ("class", np.int64), ("slice_ns", np.int64)]
    )
    for name in ("nice", "class", "slice_ns"):
        tasks[name] = columns[name]
    for array in (tasks, totals):
        array.setflags(write=False)
    return Timeline(
        policy=policy["name"],
        tasks=tasks,
        rows=rows,
        totals=totals,
        ignored=raw["ignored"],
        carried_out=raw["carried_out"],
        end_ns=raw["end_ns"],
    )


def _masked(
    values: NDArray[np.int64], blank: Sequence[str]
) -> np.ma.MaskedArray[Any, np.dtype[np.void]]:
    names = list(_WORDS["columns"])
    mask = np.zeros(values.shape, bool)
    mask[:, len(_ALWAYS) :] = values[:, [names.index("valid")]] == 0
    mask[:, [names.index(name) for name in blank]] = True
    if not len(values):
        return np.ma.MaskedArray(np.empty(0, _ROW), mask=np.empty(0, np.ma.make_mask_descr(_ROW)))
    data = values.view(_ROW)[:, 0]
    data.setflags(write=False)
    return np.ma.MaskedArray(data, mask=mask.view(np.ma.make_mask_descr(_ROW))[:, 0])
