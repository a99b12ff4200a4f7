"""Idle periods: what a governor is told, and what then happened, one column per fact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tickless import _html
from tickless._arrays import freeze, integers, texts
from tickless.errors import InvalidParameterError, InvalidTypeError, ShapeError

if TYPE_CHECKING:
    import pandas as pd

Column = NDArray[Any] | int
"""A column as it is kept: an array, or a scalar that stands for n equal values."""

COLUMNS: dict[str, Any] = {
    "sleep_length_ns": np.int64,
    "wake_ns": np.int64,
    "delta_tick_ns": np.int64,
    "latency_limit_ns": np.int64,
    "overhead_ns": np.int64,
    "nr_iowait": np.uint32,
    "cpu_util": np.uint32,
    "cpu_load": np.uint32,
    "disabled": np.uint16,
    "tick_stopped": np.uint8,
    "got_tick": np.uint8,
    "poll_timeout": np.uint8,
    "rejected": np.uint8,
    "cpu": np.uint32,
}
"""Columns that reach the engine, and their dtypes."""

RECORDED: dict[str, Any] = {
    "entered": np.uint8,
    "selected": np.uint8,
    "start_ns": np.int64,
    "sleep_source": np.uint8,
}
"""Columns that only describe what the machine did."""

SLEEP_SOURCES = ("told", "hindsight", "argument")
"""Meaning of the codes in ``sleep_source``: a probe told what the governor was told; the next timer
expiry seen later in the trace; a value the caller gave."""

_MAY_BE_NEGATIVE = ("sleep_length_ns", "delta_tick_ns")


class IdlePeriods:
    """Columns of idle periods; frozen.

    All columns are int64 or small unsigned arrays of one length n; a scalar stands for n equal
    values and is kept as a scalar. Times are ns. Only `sleep_length_ns` and `delta_tick_ns` may be
    negative. Periods of one CPU are in the order in which they happened.

    Parameters
    ----------
    sleep_length_ns : array_like of int, (n,)
        Time to the next timer, tick ignored, as the governor would be told.
    wake_ns : array_like of int, (n,)
        Time from idle entry to the wake event.
    delta_tick_ns : array_like of int, optional
        Time to the next programmed event, tick included. Default: min(sleep length, one tick) while
        the tick runs, else the sleep length.
    latency_limit_ns : array_like of int, optional
        Latency limit (PM QoS). Default 2e12, the kernel's "none".
    overhead_ns : array_like of int, optional
        Extra clock time between select and reflect. Default 0.
    nr_iowait, cpu_util, cpu_load : array_like of int, optional
        Tasks in I/O wait, utilisation 0..1024, run-queue weight. Default 0.
    disabled : array_like of int, optional
        Bit i set: state i is off in this period, besides those the table disables. Default 0.
    tick_stopped : array_like of bool, optional
        The tick was already stopped at select. Default False.
    got_tick : array_like of bool, optional
        The tick ended the period. Default: wake >= delta_tick and delta_tick < sleep length.
    poll_timeout : array_like of bool, optional
        Polling gave up (used only if a polling state is chosen). Default False.
    rejected : array_like of bool, optional
        The driver refused the state. Default False.
    cpu : array_like of int, optional
        CPU number; each CPU has its own governor. Default 0.
    entered, selected : array_like of int, optional
        State the machine entered, and the state its governor chose.
    start_ns : array_like of int, optional
        Time of idle entry.
    sleep_source : array_like of int, optional
        Where each sleep length is from: an index into `SLEEP_SOURCES`.
    notes : sequence of str
        Remarks about the origin of the columns; they travel with results.

    Raises
    ------
    InvalidParameterError
        A negative time or a value out of range, with its index.
    InvalidTypeError
        Float, string or object columns.
    ShapeError
        Columns of unequal length.

    Examples
    --------
    >>> p = IdlePeriods([1_000_000, 250_000], [80_000, 250_000], cpu=3)
    >>> len(p), p.cpu
    (2, 3)
    """

    __slots__ = ("_columns", "_n", "notes")

    _columns: dict[str, Column]
    _n: int
    notes: tuple[str, ...]

    # Served by __getattr__: the array, the scalar, or None if the column was not given.
    sleep_length_ns: Column
    wake_ns: Column
    delta_tick_ns: Column | None
    latency_limit_ns: Column | None
    overhead_ns: Column | None
    nr_iowait: Column | None
    cpu_util: Column | None
    cpu_load: Column | None
    disabled: Column | None
    tick_stopped: Column | None
    got_tick: Column | None
    poll_timeout: Column | None
    rejected: Column | None
    cpu: Column | None
    entered: Column | None
    selected: Column | None
    start_ns: Column | None
    sleep_source: Column | None

    def __init__(
        self,
        sleep_length_ns: ArrayLike,
        wake_ns: ArrayLike,
        *,
        delta_tick_ns: ArrayLike | None = None,
        latency_limit_ns: ArrayLike | None = None,
        overhead_ns: ArrayLike | None = None,
        nr_iowait: ArrayLike | None = None,
        cpu_util: ArrayLike | None = None,
        cpu_load: ArrayLike | None = None,
        disabled: ArrayLike | None = None,
        tick_stopped: ArrayLike | None = None,
        got_tick: ArrayLike | None = None,
        poll_timeout: ArrayLike | None = None,
        rejected: ArrayLike | None = None,
        cpu: ArrayLike | None = None,
        entered: ArrayLike | None = None,
        selected: ArrayLike | None = None,
        start_ns: ArrayLike | None = None,
        sleep_source: ArrayLike | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        given = locals()
        columns: dict[str, Column] = {}
        for name, dtype in (COLUMNS | RECORDED).items():
            if given[name] is not None:
                columns[name] = _checked(name, given[name], dtype)
        lengths = {name: len(c) for name, c in columns.items() if not isinstance(c, int)}
        n = next(iter(lengths.values()), 1)
        for name, found in lengths.items():
            if found != n:
                first = next(iter(lengths))
                raise ShapeError(
                    f"{name}: expected length {n} (that of {first}), found {found}; "
                    "scalars broadcast, arrays must have one length"
                )
        if not lengths:  # one period, all scalars: the length lives in a column
            columns["wake_ns"] = freeze(np.full(1, columns["wake_ns"], np.int64))
        object.__setattr__(self, "_columns", columns)
        object.__setattr__(self, "_n", n)
        object.__setattr__(self, "notes", texts("notes", notes))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"IdlePeriods are frozen; use replace({name}=...)")

    def __getattr__(self, name: str) -> Any:
        if name in COLUMNS or name in RECORDED:
            return self._columns.get(name)
        raise AttributeError(f"IdlePeriods has no column {name!r}")

    def __len__(self) -> int:
        return int(self._n)

    def column(self, name: str) -> NDArray[Any]:
        """Return a column as a full array, scalars spread out.

        Parameters
        ----------
        name : str
            One of `COLUMNS` or `RECORDED`.

        Returns
        -------
        ndarray, (n,)

        Raises
        ------
        InvalidParameterError
            If the periods have no such column.
        """
        value = self._columns.get(name)
        if value is None:
            raise InvalidParameterError(f"these idle periods have no column {name!r}")
        dtype = (COLUMNS | RECORDED)[name]
        return freeze(np.broadcast_to(np.asarray(value, dtype=dtype), (len(self),)))

    def engine_columns(self) -> dict[str, Column]:
        """Return the given columns that reach the engine, arrays and scalars as they are."""
        return {name: c for name, c in self._columns.items() if name in COLUMNS}

    def replace(self, **changes: Any) -> IdlePeriods:
        """Return a copy with some columns changed, checked again; None removes a column.

        Parameters
        ----------
        **changes
            Any argument of the constructor.
        """
        return _rebuild({"notes": self.notes} | self._columns | changes)

    def __getitem__(self, key: slice | NDArray[Any]) -> IdlePeriods:
        """Return some of the periods, e.g. ``p[1000:2000]`` or ``p[p.column("cpu") == 3]``."""
        index = key if isinstance(key, slice) else np.asarray(key)
        if not isinstance(index, slice) and (index.ndim != 1 or index.dtype.kind not in "biu"):
            raise InvalidTypeError(
                "index: expected a slice, a boolean mask or an array of integers"
            )
        changed = dict(self._columns)
        picked = np.arange(len(self))[index]
        for name, c in changed.items():
            if not isinstance(c, int):
                changed[name] = c[index]
        if all(isinstance(c, int) for c in changed.values()):
            changed["wake_ns"] = np.full(len(picked), changed["wake_ns"], np.int64)
        return _rebuild({"notes": self.notes} | changed)

    @classmethod
    def concatenate(cls, parts: Sequence[IdlePeriods]) -> IdlePeriods:
        """Join periods of several sources, in order.

        Parameters
        ----------
        parts : sequence of IdlePeriods
            All with the same columns.

        Raises
        ------
        InvalidParameterError
            If one part has a column another has not.
        """
        if not isinstance(parts, Sequence) or not all(isinstance(p, IdlePeriods) for p in parts):
            raise InvalidTypeError("parts: expected a list of IdlePeriods")
        if not parts:
            raise InvalidParameterError("parts: expected at least one IdlePeriods")
        names = list(parts[0]._columns)
        for i, p in enumerate(parts):
            if set(p._columns) != set(names):
                odd = sorted(set(p._columns) ^ set(names))
                raise InvalidParameterError(f"parts[{i}]: column {odd[0]!r} is not in every part")
        columns: dict[str, Any] = {n: np.concatenate([p.column(n) for p in parts]) for n in names}
        notes = dict.fromkeys(note for p in parts for note in p.notes)
        return cls(**columns, notes=tuple(notes))

    def __reduce__(self) -> Any:
        return _rebuild, ({"notes": self.notes} | self._columns,)

    def to_frame(self) -> pd.DataFrame:
        """Return the given columns as a pandas DataFrame, one row per period."""
        import pandas as pd

        return pd.DataFrame({name: self.column(name) for name in self._columns})

    def __repr__(self) -> str:
        cpus = len(np.unique(self.column("cpu"))) if "cpu" in self._columns else 1
        lines = [f"IdlePeriods: {len(self):,} periods on {cpus} CPU{'s' * (cpus != 1)}"]
        for name, value in self._columns.items():
            text = str(value) if isinstance(value, int) else _range(value)
            lines.append(f"  {name:<17} {text}")
        return "\n".join([*lines, *(f"  note: {n}" for n in self.notes)])

    def _repr_html_(self) -> str:
        rows = [
            [name, str(value) if isinstance(value, int) else _range(value)]
            for name, value in self._columns.items()
        ]
        return _html.table(
            ("column", "values"),
            rows,
            caption=repr(self).partition("\n")[0],
            left=(0, 1),
            notes=self.notes,
        )


def _rebuild(arguments: dict[str, Any]) -> IdlePeriods:
    return IdlePeriods(**arguments)


def _checked(name: str, value: Any, dtype: Any) -> Column:
    column = integers(name, value, dtype)
    if dtype is np.int64 and name not in _MAY_BE_NEGATIVE and name != "start_ns":
        bad = np.atleast_1d(column) < 0
        if bad.any():
            at = int(np.argmax(bad))
            place = name if isinstance(column, int) else f"{name}[{at}]"
            raise InvalidParameterError(
                f"{place}: a time of at least 0 ns is expected, found {np.atleast_1d(column)[at]}"
            )
    return column if isinstance(column, int) else freeze(column)


def _range(values: NDArray[Any]) -> str:
    if not len(values):
        return "(empty)"
    return f"{values.min():,} .. {values.max():,}"
