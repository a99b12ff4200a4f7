"""Replay: what governors would have chosen in recorded or generated idle periods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tickless import _core
from tickless._arrays import flag, freeze, integer, text
from tickless._foreign import as_core
from tickless._progress import Progress
from tickless.errors import InvalidParameterError, InvalidTypeError
from tickless.idle_table import IdleTable
from tickless.machine import Machine
from tickless.periods import IdlePeriods

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from tickless.replay_compare import ReplayComparison

__all__ = ["VERDICTS", "IdlePeriods", "IdleTable", "Replay", "replay"]

VERDICTS = ("fits", "above", "below")
"""Codes of `Replay.verdict`, in the kernel's words: above = too deep, below = too shallow."""

TICK_RATES = (100, 250, 300, 1000)
"""The values of CONFIG_HZ."""


def replay(
    periods: IdlePeriods,
    governors: str | Any | Sequence[str | Any],
    *,
    states: IdleTable | None = None,
    machine: str | Machine | None = None,
    hz: int | None = None,
    add_exit_latency: bool = False,
    follow: str = "own",
    recorded: str | None = None,
    trace_decisions: bool = False,
    threads: int | None = None,
    progress: bool | Callable[[int], object] | None = None,
) -> Replay:
    """Ask governors what they would have chosen in recorded or generated idle periods.

    One instance per governor and CPU sees that CPU's periods in order, exactly as the kernel calls
    it: select, then reflect. Pairs of governor and CPU run on all cores with the interpreter lock
    released; the result does not depend on the number of threads.

    Parameters
    ----------
    periods : IdlePeriods
        What happened, n periods.
    governors : str, object, or sequence of them
        Registered names (see `tickless.governors`), Python objects with ``select(ctx)`` and
        ``reflect(ctx, outcome)``, or C function pointers (a numba ``cfunc``).
    states : IdleTable, optional
        The idle states of every CPU. Give exactly one of `states` and `machine`.
    machine : str or Machine, optional
        A registered machine, or one read from sysfs; a hybrid gives each CPU its own table.
    hz : int, optional
        Tick rate, one of 100, 250, 300, 1000. Default: the machine's, or 250.
    add_exit_latency : bool
        True if `wake_ns` ends at the wake event, so that the chosen state's exit latency adds to
        the measured residency. False for traces, whose intervals hold it already.
    follow : {"own", "recorded"}
        Which state each governor is told it was in: its own choice, or the one the machine
        entered (needs ``periods.entered``).
    recorded : str, optional
        The governor that ran when the periods were recorded. Default: the best match is shown
        as such.
    trace_decisions : bool
        Also keep the predicted duration and the rule that fired, per decision.
    threads : int, optional
        Worker threads. Default: all cores.
    progress : bool or callable, optional
        True shows a bar (needs tqdm); a callable gets the number of decisions made so far.

    Returns
    -------
    Replay

    Raises
    ------
    UnknownNameError
        For a governor or machine that is not registered.
    InvalidParameterError
        For another `hz`, both or none of `states` and `machine`, ``follow="recorded"`` without
        recorded states, or a wake time to which `add_exit_latency` can add nothing in 64 bits.

    Examples
    --------
    >>> import tickless
    >>> p = tickless.IdlePeriods([1_000_000] * 4, [3_000, 700_000, 5_000, 900_000])
    >>> r = tickless.replay(p, ["menu-6.12", "teo-6.12"], machine="8x-SKYLAKE-UMA")
    >>> r.state.shape
    (2, 4)
    """
    if not isinstance(periods, IdlePeriods):
        raise InvalidTypeError(f"periods: expected IdlePeriods, found {type(periods).__name__}")
    wanted = _as_list(governors)
    names = _unique([_name_of(g) for g in wanted])
    plan, where, hz = _machine_plan(periods, states, machine, hz)
    entered = _followed(periods, follow)
    if recorded is not None and text("recorded", recorded) not in names:
        recorded = _core.canonical_governor(recorded)

    trace_decisions = flag("trace_decisions", trace_decisions)
    add_exit_latency = flag("add_exit_latency", add_exit_latency)
    if add_exit_latency:
        _check_sums(periods, plan)
    call = _Call(wanted, plan, periods, hz, add_exit_latency, _checked_threads(threads))
    again = follow == "own" and _comparable(periods, plan)
    total = len(wanted) * len(periods) * (2 if again else 1)
    with Progress(progress, " decisions", total) as report:
        columns = call.run(entered, trace_decisions, report, 0)
        state = columns["state"]
        if again:
            # What the model would have chosen had it seen what the machine's governor saw.
            seen = _followed(periods, "recorded")
            state = call.run(seen, False, report, len(wanted) * len(periods))["state"]
    notes = [*periods.notes, *where, *_notes(periods, plan)]
    return Replay(
        governors=tuple(names),
        periods=periods,
        tables=tuple(table for table, _ in plan),
        table_of=_table_of(plan, len(periods)),
        hz=hz,
        add_exit_latency=add_exit_latency,
        follow=follow,
        recorded=recorded,
        state=freeze(columns["state"]),
        stop_tick=freeze(columns["stop_tick"]),
        verdict=freeze(columns["verdict"]),
        predicted_ns=_maybe(columns, "predicted_ns"),
        rule=_maybe(columns, "rule"),
        agreement=_agreement(state, periods) if _comparable(periods, plan) else None,
        notes=tuple(dict.fromkeys(notes)),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """Decisions of several governors on the same idle periods.

    Attributes
    ----------
    governors : tuple of str, (n_governors,)
    periods : IdlePeriods, n_periods
    state : ndarray of uint8, (n_governors, n_periods)
        Chosen state.
    stop_tick : ndarray of bool, (n_governors, n_periods)
        The governor let the tick be stopped.
    verdict : ndarray of uint8, (n_governors, n_periods)
        0 fits, 1 above (too deep), 2 below (too shallow), by the kernel's own rule.
    predicted_ns : ndarray of int64 or None
        Predicted duration behind each decision, with ``trace_decisions=True``.
    rule : ndarray of uint8 or None
        Rule that fired: an index into `rules`, with ``trace_decisions=True``.
    agreement : ndarray of float64 or None, (n_governors,)
        Share of the recorded governor's choices that each governor makes when it is told what the
        machine really did (``follow="recorded"``); None if the periods hold no recorded choices.
    tables : tuple of IdleTable
        One, or one per CPU class of a hybrid machine; `table_of` tells which period uses which.
    notes : tuple of str
        What a reader should know, e.g. that power numbers are guesses.
    """

    governors: tuple[str, ...]
    periods: IdlePeriods
    tables: tuple[IdleTable, ...]
    table_of: NDArray[np.uint8] | None
    hz: int
    add_exit_latency: bool
    follow: str
    recorded: str | None
    state: NDArray[np.uint8]
    stop_tick: NDArray[np.bool_]
    verdict: NDArray[np.uint8]
    predicted_ns: NDArray[np.int64] | None
    rule: NDArray[np.uint8] | None
    agreement: NDArray[np.float64] | None
    notes: tuple[str, ...]

    @property
    def rules(self) -> tuple[str, ...]:
        """Names of the codes in `rule`."""
        return tuple(_core.RULES)

    @property
    def states(self) -> IdleTable:
        """The only idle table.

        Raises
        ------
        InvalidParameterError
            If the machine is a hybrid with several tables.
        """
        if len(self.tables) != 1:
            raise InvalidParameterError("states: this machine has several idle tables; see .tables")
        return self.tables[0]

    def _lookup(self, per_table: Callable[[IdleTable], NDArray[Any]]) -> NDArray[Any]:
        """Return the table value of each chosen state, (n_governors, n_periods)."""
        if self.table_of is None:
            return per_table(self.tables[0])[self.state]
        values = np.zeros((len(self.tables), 10), per_table(self.tables[0]).dtype)
        for i, table in enumerate(self.tables):
            column = per_table(table)
            values[i, : len(column)] = column
        return values[self.table_of[np.newaxis, :], self.state]

    @cached_property
    def residency_ns(self) -> NDArray[np.int64]:
        """Time in the chosen state as the kernel would measure it, ns.

        Shape (n_governors, n_periods). The interval, plus the state's exit latency with
        ``add_exit_latency=True``; 0 where the driver refused the state.
        """
        wake = self.periods.column("wake_ns")
        if self.add_exit_latency:
            time = wake + self._lookup(lambda t: t.exit_latency_ns)
        else:
            time = np.repeat(wake[np.newaxis, :], len(self.governors), axis=0)
        if self.periods.rejected is not None:
            time = np.where(self.periods.column("rejected") != 0, 0, time)
        return freeze(time)

    @cached_property
    def wake_latency_ns(self) -> NDArray[np.int64]:
        """Time a wake from the chosen state takes, ns, (n_governors, n_periods).

        The table's exit latency; for a model machine its actual wake time, which a note says.
        """
        return freeze(self._lookup(lambda t: t.exit_latency_ns if t.wake_ns is None else t.wake_ns))

    @cached_property
    def energy_uj(self) -> NDArray[np.float64]:
        """Energy estimate of one core, microjoule, (n_governors, n_periods).

        Power of the state x residency + power of a busy core x wake time; NaN without power
        numbers. A table without the power of a busy core counts the wake at the power of its
        shallowest state.
        """
        power = self._lookup(lambda t: t.power_mw)
        busy = self._lookup(
            lambda t: np.full(
                len(t), t.power_mw[0] if np.isnan(t.active_mw) else t.active_mw, np.float64
            )
        )
        # mW x ns = 1e-3 J/s x 1e-9 s = 1e-6 uJ
        return freeze((power * self.residency_ns + busy * self.wake_latency_ns) * 1e-6)

    def replace(self, **changes: Any) -> Replay:
        """Return a copy with some attributes changed; nothing is computed anew."""
        return replace(self, **changes)

    def summary(self) -> pd.DataFrame:
        """Return usage, time, above, below and energy per governor and state.

        Returns
        -------
        DataFrame
            Indexed by (governor, state); columns name, usage, time_ns, above, below, rejected,
            wake_latency_ns, energy_uj. For a hybrid the index also holds the table.
        """
        from tickless.replay_compare import summary

        return summary(self)

    def compare(self, baseline: str | None = None) -> ReplayComparison:
        """Compare every governor with one of them.

        Parameters
        ----------
        baseline : str, optional
            One of `governors`, or an alias of it. Default: the first.

        Returns
        -------
        ReplayComparison
            Agreement matrix, verdict shares with counts, latency and energy differences.
        """
        from tickless.replay_compare import compare

        return compare(self, baseline)

    def plot(self, *, axes: Any = None) -> Figure:
        """Draw residency per state and verdict shares per governor.

        Parameters
        ----------
        axes : pair of matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        Figure
        """
        from tickless.plots.replay import draw

        return draw(self, axes)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per governor and period: the decision and what it cost."""
        import pandas as pd

        n = len(self.periods)
        columns: dict[str, Any] = {
            "governor": np.repeat(self.governors, n),
            "period": np.tile(np.arange(n), len(self.governors)),
            "state": self.state.ravel(),
            "stop_tick": self.stop_tick.ravel(),
            "verdict": _labels(self.verdict, VERDICTS),
            "residency_ns": self.residency_ns.ravel(),
            "wake_latency_ns": self.wake_latency_ns.ravel(),
            "energy_uj": self.energy_uj.ravel(),
        }
        if self.predicted_ns is not None and self.rule is not None:
            columns["predicted_ns"] = self.predicted_ns.ravel()
            columns["rule"] = _labels(self.rule, self.rules)
        return pd.DataFrame(columns)

    def table(self) -> str:
        """Return the overview as text: one line per governor."""
        from tickless.replay_compare import overview_text

        return overview_text(self)

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        from tickless.replay_compare import overview_html

        return overview_html(self)


def _labels(codes: NDArray[np.uint8], names: Sequence[str]) -> pd.Categorical[str]:
    import pandas as pd

    return pd.Categorical.from_codes(codes.ravel().astype(np.int8), pd.Index(names))


def _as_list(governors: Any) -> list[Any]:
    if isinstance(governors, str) or not isinstance(governors, Iterable):
        governors = [governors]
    wanted = list(governors)
    if not wanted:
        raise InvalidParameterError("governors: expected at least one")
    return wanted


def _name_of(governor: Any) -> str:
    if isinstance(governor, str):
        return _core.canonical_governor(text("governors", governor))
    name = getattr(governor, "name", None) or getattr(governor, "__name__", None)
    return str(name or type(governor).__name__)


def _unique(names: list[str]) -> list[str]:
    """Return the names with repeated ones numbered, so that rows can be told apart."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return unique


def _check_sums(periods: IdlePeriods, plan: _Plan) -> None:
    """Refuse a wake time to which no exit latency can be added in 64 bits."""
    most = np.iinfo(np.int64).max - max(int(t.exit_latency_ns.max()) for t, _ in plan)
    wake = periods.column("wake_ns")
    bad = wake > most
    if bad.any():
        i = int(np.argmax(bad))
        raise InvalidParameterError(
            f"wake_ns[{i}]: {wake[i]} ns and the exit latency of a state do not fit 64 bits; at "
            f"most {most}"
        )


def _checked_threads(threads: int | None) -> int | None:
    if threads is not None and integer("threads", threads) < 1:
        raise InvalidParameterError(f"threads: expected at least 1, found {threads}")
    return threads


_Plan = list[tuple[IdleTable, NDArray[np.int64] | None]]


def _machine_plan(
    periods: IdlePeriods, states: IdleTable | None, machine: str | Machine | None, hz: int | None
) -> tuple[_Plan, list[str], int]:
    """Return which table serves which periods (None = all), notes, and the tick rate."""
    if (states is None) == (machine is None):
        raise InvalidParameterError("states, machine: expected exactly one of the two")
    notes: list[str] = []
    plan: _Plan
    if states is not None:
        if not isinstance(states, IdleTable):
            raise InvalidTypeError(f"states: expected an IdleTable, found {type(states).__name__}")
        plan, default_hz = [(states, None)], 250
    else:
        model = machine if isinstance(machine, Machine) else Machine(text("machine", machine))
        plan, default_hz = _class_plan(periods, model), model.hz
        if plan[0][0].wake_ns is not None:
            notes.append(
                f"wake latency: the modelled wake times of {model.name}, not the table's exit "
                "latency"
            )
    hz = default_hz if hz is None else integer("hz", hz)
    if hz not in TICK_RATES:
        raise InvalidParameterError(
            f"hz: expected one of {', '.join(map(str, TICK_RATES))}, found {hz}"
        )
    return plan, notes, hz


def _class_plan(periods: IdlePeriods, machine: Machine) -> _Plan:
    cpu = periods.column("cpu") if periods.cpu is not None else np.zeros(1, np.uint32)
    present = np.unique(cpu)
    if len(present) and int(present[-1]) >= machine.ncpus:
        raise InvalidParameterError(
            f"cpu: machine {machine.name} has CPUs 0 to {machine.ncpus - 1}, the periods name "
            f"CPU {present[-1]}"
        )
    if len(machine.tables) == 1:
        return [(machine.tables[0], None)]
    kind = (
        machine.table_of[periods.column("cpu")]
        if periods.cpu is not None
        else np.zeros(len(periods), np.intp)
    )
    return [(machine.tables[k], np.flatnonzero(kind == k)) for k in np.unique(kind)]


def _table_of(plan: _Plan, n: int) -> NDArray[np.uint8] | None:
    if len(plan) == 1:
        return None
    kind = np.zeros(n, np.uint8)
    for i, (_, index) in enumerate(plan):
        kind[index] = i
    return freeze(kind)


def _followed(periods: IdlePeriods, follow: str) -> NDArray[np.uint8] | None:
    if follow not in ("own", "recorded"):
        raise InvalidParameterError(f'follow: expected "own" or "recorded", found {follow!r}')
    if follow == "own":
        return None
    if periods.entered is None:
        raise InvalidParameterError(
            'follow="recorded": these periods do not say which state was entered (column "entered")'
        )
    return np.ascontiguousarray(periods.column("entered"))


def _pick(array: NDArray[Any], index: NDArray[np.int64] | None) -> NDArray[Any]:
    return array if index is None else array[index]


@dataclass(frozen=True)
class _Call:
    """Arguments of one replay that stay the same for every pass over the periods."""

    governors: list[Any]
    plan: _Plan
    periods: IdlePeriods
    hz: int
    add_exit_latency: bool
    threads: int | None

    def run(
        self,
        entered: NDArray[np.uint8] | None,
        trace_decisions: bool,
        report: Callable[[int], object] | None,
        done: int,
    ) -> dict[str, NDArray[Any]]:
        """Run every governor on every table's periods and join the columns."""
        joined: dict[str, NDArray[Any]] = {}
        for table, index in self.plan:
            part = self.periods if index is None else self.periods[index]
            recorded = None if entered is None else _pick(entered, index)
            columns = self._ask(table, part, recorded, trace_decisions, report, done)
            done += len(self.governors) * len(part)
            if index is None:
                return columns
            for name, values in columns.items():
                shape = (len(self.governors), len(self.periods))
                whole = joined.setdefault(name, np.zeros(shape, values.dtype))
                whole[:, index] = values
        return joined

    def _ask(
        self,
        table: IdleTable,
        periods: IdlePeriods,
        recorded: NDArray[np.uint8] | None,
        trace_decisions: bool,
        report: Callable[[int], object] | None,
        done: int,
    ) -> dict[str, NDArray[Any]]:
        """Ask governors of the core on all cores, then Python objects on this thread.

        Ctrl-C reaches an object that sleeps or never ends on the thread that called only.
        """
        asked = [as_core(g) for g in self.governors]
        own = [i for i, g in enumerate(asked) if isinstance(g, str | tuple)]
        objects = [i for i in range(len(asked)) if i not in own]
        joined: dict[str, NDArray[Any]] = {}
        for rows in filter(None, (own, objects)):
            columns = _core.replay(
                [asked[i] for i in rows],
                table._core,
                periods.engine_columns(),
                hz=self.hz,
                add_exit_latency=self.add_exit_latency,
                recorded_state=recorded,
                trace_decisions=trace_decisions,
                threads=self.threads,
                progress=None if report is None else _shifted(report, done),
            )
            done += len(rows) * len(periods)
            if len(rows) == len(asked):
                return columns
            for name, values in columns.items():
                whole = joined.setdefault(name, np.empty((len(asked), len(periods)), values.dtype))
                whole[rows] = values
        return joined


def _comparable(periods: IdlePeriods, plan: _Plan) -> bool:
    """Return whether the recorded states are states of these tables."""
    if periods.selected is None or periods.entered is None or not len(periods):
        return False
    return _deepest_recorded(periods) < min(len(table) for table, _ in plan)


def _deepest_recorded(periods: IdlePeriods) -> int:
    return max(int(periods.column(name).max()) for name in ("entered", "selected"))


def _agreement(state: NDArray[np.uint8], periods: IdlePeriods) -> NDArray[np.float64]:
    return freeze((state == periods.column("selected")).mean(axis=1))


def _maybe(columns: dict[str, NDArray[Any]], name: str) -> NDArray[Any] | None:
    return freeze(columns[name]) if name in columns else None


def _notes(periods: IdlePeriods, plan: _Plan) -> list[str]:
    notes: list[str] = []
    if periods.selected is not None and len(periods) and not _comparable(periods, plan):
        notes.append(
            f"the recorded states go up to {_deepest_recorded(periods)}, beyond this idle table: "
            "it is not that of the recorded machine, so agreement is not measured"
        )
    for table, index in plan:
        notes += table.notes
        if len(table) == 1:
            notes.append("a table with one state: no governor is asked")
            continue
        every = (1 << len(table)) - 1
        off = sum(1 << i for i in np.flatnonzero(table.disabled).tolist())
        if periods.disabled is not None:
            dark = int(((_pick(periods.column("disabled"), index) | off) & every == every).sum())
        else:
            dark = len(periods) if off == every else 0
        if dark:
            notes.append(
                f"all states are disabled in {dark} of {len(periods)} periods; the governors "
                "answer as the kernel's do, most of them with state 0"
            )
    return notes


def _shifted(report: Callable[[int], object], done: int) -> Callable[[int], object]:
    return lambda now: report(done + now)
