"""The idle states of one CPU, as the governor sees them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tickless import _core, _html
from tickless._arrays import freeze, integers, real, text, texts
from tickless.errors import InvalidParameterError, InvalidTypeError, ShapeError, TicklessWarning

POLLING_NAMES = frozenset({"POLL", "snooze"})
"""Names of the polling state: x86 and ARM (``POLL``), POWER (``snooze``)."""


class IdleTable:
    """One to ten idle states of one CPU, shallow to deep; frozen.

    Parameters
    ----------
    names : sequence of str
        State names as in sysfs, e.g. ``["POLL", "C1", "C1E", "C6"]``.
    exit_latency_ns, target_residency_ns : array_like of int, (n_states,)
        What the kernel's table says, ns.
    polling : array_like of bool, (n_states,), optional
        True for a state in which the CPU spins; only state 0 can. Default: state 0 polls if it is
        called POLL or snooze.
    disabled : array_like of bool, (n_states,), optional
        States that are off for the whole run. Default: none.
    power_mw : array_like of float, (n_states,), optional
        Power of one core in the state, mW; NaN where unknown. Default: unknown.
    wake_ns : array_like of int, (n_states,), optional
        Actual time from the wake event to the first instruction, ns, where a model machine knows
        it. Default: the exit latency.
    active_mw : float, optional
        Power of one busy core, mW, used for the time a wake takes. Default: unknown.
    label : str
        Where the table is from, for headings.
    notes : sequence of str
        Remarks that travel with results, e.g. that the power numbers are guesses.

    Raises
    ------
    InvalidParameterError
        0 or more than 10 states, negative times, a polling state that is not state 0.
    InvalidTypeError
        Float latencies, names that are not strings.
    ShapeError
        Columns of unequal length.

    Warns
    -----
    TicklessWarning
        If the states are not ordered shallow to deep; the order is kept.

    Examples
    --------
    >>> table = IdleTable(["POLL", "C1", "C6"], [0, 2_000, 133_000], [0, 2_000, 600_000])
    >>> len(table), table.polling.tolist()
    (3, [True, False, False])
    """

    __slots__ = (
        "_core",
        "active_mw",
        "disabled",
        "exit_latency_ns",
        "label",
        "names",
        "notes",
        "polling",
        "power_mw",
        "target_residency_ns",
        "wake_ns",
    )

    _core: _core.IdleTable
    names: tuple[str, ...]
    exit_latency_ns: NDArray[np.int64]
    target_residency_ns: NDArray[np.int64]
    polling: NDArray[np.bool_]
    disabled: NDArray[np.bool_]
    power_mw: NDArray[np.float64]
    wake_ns: NDArray[np.int64] | None
    active_mw: float
    label: str
    notes: tuple[str, ...]

    def __init__(
        self,
        names: Sequence[str],
        exit_latency_ns: ArrayLike,
        target_residency_ns: ArrayLike,
        *,
        polling: ArrayLike | None = None,
        disabled: ArrayLike | None = None,
        power_mw: ArrayLike | None = None,
        wake_ns: ArrayLike | None = None,
        active_mw: float = float("nan"),
        label: str = "",
        notes: Sequence[str] = (),
    ) -> None:
        names = texts("names", names)
        n = len(names)
        if polling is None:
            polling = [i == 0 and name in POLLING_NAMES for i, name in enumerate(names)]
        power = np.full(n, np.nan) if power_mw is None else _floats("power_mw", power_mw)
        if (power < 0).any() or np.isinf(power).any():
            raise InvalidParameterError("power_mw: expected finite values of at least 0, or NaN")
        active = real("active_mw", active_mw)
        if active < 0 or np.isinf(active):
            raise InvalidParameterError("active_mw: expected a finite value of at least 0, or NaN")
        columns: dict[str, Any] = {
            "names": names,
            "exit_latency_ns": _column("exit_latency_ns", exit_latency_ns, n),
            "target_residency_ns": _column("target_residency_ns", target_residency_ns, n),
            "polling": _column("polling", polling, n, np.uint8).astype(bool),
            "disabled": (
                np.zeros(n, bool)
                if disabled is None
                else _column("disabled", disabled, n, np.uint8).astype(bool)
            ),
            "power_mw": power,
            "wake_ns": None if wake_ns is None else _column("wake_ns", wake_ns, n),
            "active_mw": active,
            "label": text("label", label),
            "notes": texts("notes", notes),
        }
        for name, value in columns.items():
            if isinstance(value, np.ndarray):
                if len(value) != n:
                    raise ShapeError(
                        f"{name}: expected {n} values, one per state, found {len(value)}"
                    )
                value = freeze(value)
            object.__setattr__(self, name, value)
        core = _core.IdleTable(
            list(names),
            self.exit_latency_ns.tolist(),
            self.target_residency_ns.tolist(),
            self.polling.tolist(),
            self.disabled.tolist(),
            [None if np.isnan(p) else float(p) for p in power],
        )
        object.__setattr__(self, "_core", core)
        for remark in core.warnings:
            warnings.warn(remark, TicklessWarning, stacklevel=2)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an IdleTable is frozen; use replace({name}=...)")

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IdleTable):
            return NotImplemented
        return self.names == other.names and all(
            np.array_equal(getattr(self, c), getattr(other, c), equal_nan=c == "power_mw")
            for c in ("exit_latency_ns", "target_residency_ns", "polling", "disabled", "power_mw")
        )

    __hash__ = None  # type: ignore[assignment]

    def _arguments(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "_core"}

    def replace(self, **changes: Any) -> IdleTable:
        """Return a copy with some columns changed, checked again.

        Parameters
        ----------
        **changes
            Any argument of the constructor.
        """
        return IdleTable(**(self._arguments() | changes))

    def __reduce__(self) -> Any:
        return _rebuild, (self._arguments(),)

    def _rows(self) -> list[list[str]]:
        def us(ns: int) -> str:
            return f"{ns / 1000:g}"

        return [
            [
                str(i),
                name,
                us(int(self.exit_latency_ns[i])),
                us(int(self.target_residency_ns[i])),
                "-" if np.isnan(self.power_mw[i]) else f"{self.power_mw[i]:g}",
                ", ".join(w for w in ("polling", "disabled") if getattr(self, w)[i]),
            ]
            for i, name in enumerate(self.names)
        ]

    _HEAD = ("state", "name", "latency us", "residency us", "power mW", "")

    def __repr__(self) -> str:
        rows = [list(self._HEAD), *self._rows()]
        widths = [max(len(r[j]) for r in rows) for j in range(len(self._HEAD))]
        title = f"IdleTable {self.label}".rstrip()
        lines = [
            "  ".join(
                c.ljust(w) if j == 1 else c.rjust(w)
                for j, (c, w) in enumerate(zip(r, widths, strict=True))
            )
            for r in rows
        ]
        return "\n".join([title, *(line.rstrip() for line in lines), *self.notes])

    def _repr_html_(self) -> str:
        return _html.table(
            self._HEAD,
            self._rows(),
            caption=self.label or "Idle states",
            left=(1, 5),
            notes=self.notes,
        )


def _rebuild(arguments: dict[str, Any]) -> IdleTable:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TicklessWarning)  # said when it was first built
        return IdleTable(**arguments)


def _column(name: str, value: ArrayLike, n: int, dtype: Any = np.int64) -> NDArray[Any]:
    array = integers(name, value, dtype)
    return np.full(n, array, dtype) if isinstance(array, int) else array


def _floats(name: str, value: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.atleast_1d(np.asarray(value, dtype=np.float64)).copy()
    except (TypeError, ValueError):
        raise InvalidTypeError(f"{name}: expected numbers, found {value!r:.80}") from None
