"""Traces: `read_trace` and what it returns."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tickless import _core, _html
from tickless._arrays import freeze, text
from tickless._progress import Progress
from tickless.errors import InvalidParameterError, TicklessWarning
from tickless.event_table import EventTable, Words
from tickless.read_report import OPEN, ReadReport, report_from

if TYPE_CHECKING:
    from tickless.periods import IdlePeriods

Source = str | os.PathLike[str] | bytes | BinaryIO
"""A path, text in memory, or an open binary file."""

TIME_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000}
"""Units of integer time stamps, in ns."""

MARKS = (
    "told",
    "chosen",
    "tick_stop",
    "tick",
    "timer",
    "timer_start",
    "local_timer",
    "irq",
    "ipi",
)
"""Kinds of `Trace.marks`: return probes (the sleep length a governor was told, the state it
chose), the tick being stopped, expiry of the tick and of other timers, start of timers, and
interrupts."""

SWITCH_CLASSES = ("idle-exit", "runnable", "preempted", "blocked-or-dead")
"""Why a task left its CPU: the idle task, still runnable, preempted, or off the queue."""


def read_trace(
    path: Source | list[Source] | tuple[Source, ...],
    *,
    errors: str = "report",
    time_unit: str | None = None,
    progress: bool | Callable[[int], object] | None = None,
) -> Trace:
    """Read a trace: ftrace text, ``trace-cmd report``, systrace pages, ``perf script`` text.

    What a file is decides its content, not its name; gzip and xz are unpacked on the way. Blocks of
    text are read on all cores with the interpreter lock released; files larger than memory are no
    problem as long as their events fit.

    Parameters
    ----------
    path : path, bytes, binary file, or list of these
        Where the trace is. A list is one recording in several parts, in order.
    errors : {"report", "strict", "ignore"}
        ``"report"`` skips damaged lines and counts them by reason; ``"strict"`` raises at the
        first; ``"ignore"`` is ``"report"`` without the Python warning for badly damaged files.
    time_unit : {"ns", "us", "ms"}, optional
        What one unit of an integer time stamp is. Needed for counter-like clocks only; time stamps
        with a decimal point are seconds.
    progress : bool or callable, optional
        True shows a bar (needs tqdm); a callable gets the bytes of text read so far.

    Returns
    -------
    Trace

    Raises
    ------
    InputError
        With ``.path``, ``.line``, ``.code``: what is no readable trace, integer time stamps without
        `time_unit`, and in strict mode the first damaged line.
    InvalidParameterError
        For another `errors` or `time_unit`.

    Warns
    -----
    TicklessWarning
        If more than a tenth of the event lines had to be skipped for damage.

    Examples
    --------
    >>> import tickless
    >>> trace = tickless.read_trace(tickless.example_trace(), time_unit="ns")
    >>> len(trace.idle), trace.report.format
    (532, 'ftrace-text')
    """
    if time_unit is not None and text("time_unit", time_unit) not in TIME_UNITS:
        known = ", ".join(map(repr, TIME_UNITS))
        raise InvalidParameterError(f"time_unit: expected one of {known}, found {time_unit!r}")
    sources = list(path) if isinstance(path, list | tuple) else [path]
    unit = None if time_unit is None else TIME_UNITS[time_unit]
    with Progress(progress, "B") as call:
        raw = _core.read_trace(sources, text("errors", errors), unit, call)
    report = report_from(raw)
    if errors == "report" and report.is_damaged:
        warnings.warn(
            f"{report.path}: {report.damaged} of {report.events} event lines are damaged and were "
            "skipped; see the report",
            TicklessWarning,
            stacklevel=2,
        )
    return _trace_from(raw, report)


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """Events of a trace in columns; frozen.

    Attributes
    ----------
    idle : EventTable
        Idle intervals: cpu, state, start_ns, end_ns (masked where the end was not seen), sorted by
        start, then CPU.
    idle_broken : EventTable
        Intervals during which their CPU lost events; same columns.
    switches : EventTable
        time_ns, cpu, prev_pid, prev_comm, prev_state, next_pid, next_comm.
    wakeups, wakings : EventTable
        time_ns, cpu, by_pid, by_comm, pid, comm, target_cpu; ``sched_wakeup`` with
        ``sched_wakeup_new``, and ``sched_waking``.
    wakeup_is_new : ndarray of bool
        Per row of `wakeups`: a new task.
    idle_misses : EventTable
        time_ns, cpu, state, type: the kernel's own ``above`` and ``below``.
    frequency : EventTable
        time_ns, cpu, khz.
    marks : EventTable
        time_ns, cpu, kind (one of `MARKS`), name, value: timers, interrupts, return probes.
    report : ReadReport
        What was read, skipped, lost.
    """

    idle: EventTable
    idle_broken: EventTable
    switches: EventTable
    wakeups: EventTable
    wakings: EventTable
    wakeup_is_new: NDArray[np.bool_]
    idle_misses: EventTable
    frequency: EventTable
    marks: EventTable
    report: ReadReport
    _episodes: dict[str, NDArray[Any]]

    TABLES = ("idle", "switches", "wakeups", "wakings", "frequency", "idle_misses", "marks")
    """Names of the tables, those of whole intervals and events."""

    def __getattr__(self, name: str) -> Any:
        # Counts and reasons are found on the trace as well as on its report.
        if name.startswith("_") or name == "report" or not hasattr(self.report, name):
            raise AttributeError(f"Trace has no attribute {name!r}")
        return getattr(self.report, name)

    @cached_property
    def switch_classes(self) -> NDArray[np.object_]:
        """One of `SWITCH_CLASSES` per row of `switches`, decided by process number and state."""
        column = self.switches._columns["prev_state"]
        assert isinstance(column, Words)
        codes = np.array([_switch_class(s) for s in column.words] or [0], np.uint8)[column.codes]
        codes[self.switches.prev_pid == 0] = SWITCH_CLASSES.index("idle-exit")
        return Words(codes, SWITCH_CLASSES).texts()

    def idle_periods(
        self,
        sleep_length_ns: ArrayLike | None = None,
        *,
        hz: int | None = None,
    ) -> IdlePeriods:
        """Return the complete idle intervals as input for `tickless.replay`.

        The sleep length of each period comes from the first of: the return probe that shows what
        the governor was told; the next timer expiry seen on the CPU (hindsight);
        `sleep_length_ns`. The time to the next tick follows from the phase of the tick events, if
        the trace has them.

        Parameters
        ----------
        sleep_length_ns : array_like of int, optional
            For periods that the trace says nothing about: one value, or one per complete interval.
        hz : int, optional
            Tick rate of the traced kernel. Default: the rate that the tick events show.

        Returns
        -------
        IdlePeriods
            With `cpu`, `entered`, `selected`, `start_ns`, `sleep_source`; `notes` say what the
            trace could not tell.

        Raises
        ------
        InputError
            If a period has no sleep length from any of the three; the message names them.
        InvalidParameterError
            For another `hz`, or values of the wrong number.
        """
        from tickless.trace_periods import idle_periods

        return idle_periods(self, sleep_length_ns, hz)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(getattr(self, t))} {t}" for t in self.TABLES)
        return f"Trace: {sizes}\n{self.report}"

    def _repr_html_(self) -> str:
        rows = [(t, str(len(getattr(self, t)))) for t in self.TABLES]
        sizes = _html.table(("table", "rows"), rows, caption="Trace")
        return sizes + self.report._repr_html_()


def _switch_class(state: str) -> int:
    """Classify the spelling of ``prev_state``: letters, or the kernel's number."""
    if state.isascii() and state.isdigit():
        # 256 and above: the task was preempted (TASK_REPORT_MAX and its neighbours).
        return 1 if int(state) == 0 else 2 if int(state) >= 256 else 3
    return 2 if state.endswith("+") else 1 if state == "R" else 3


def _trace_from(raw: dict[str, Any], report: ReadReport) -> Trace:
    names, states = tuple(raw["names"]), tuple(raw["prev_states"])
    switches = raw["switches"]
    for column in ("prev_comm", "next_comm"):
        switches[column] = Words(switches[column], names)
    switches["prev_state"] = Words(switches["prev_state"], states)
    new = raw["wakeups"].pop("new")
    raw["wakings"].pop("new")
    for table in ("wakeups", "wakings"):
        for column in ("by_comm", "comm"):
            raw[table][column] = Words(raw[table][column], names)
    misses = raw["idle_misses"]
    misses["type"] = Words(misses.pop("above").view(np.uint8), ("below", "above"))
    raw["marks"]["kind"] = Words(raw["marks"]["kind"], MARKS)
    raw["marks"]["name"] = Words(raw["marks"]["name"], names)
    beside = ("told_ns", "chosen", "next_timer_ns", "got_tick", "tick_stopped")
    episodes = {name: freeze(raw["idle"].pop(name)) for name in beside}
    tables = {t: EventTable(raw[t]) for t in Trace.TABLES if t != "idle"}
    return Trace(
        idle=_intervals(raw["idle"]),
        idle_broken=_intervals(raw["idle_broken"]),
        wakeup_is_new=freeze(new),
        report=report,
        _episodes=episodes,
        **tables,
    )


def _intervals(columns: dict[str, NDArray[Any]]) -> EventTable:
    end = columns["end_ns"]
    columns["end_ns"] = np.ma.masked_array(end, mask=end == OPEN, fill_value=OPEN)
    return EventTable(columns)
