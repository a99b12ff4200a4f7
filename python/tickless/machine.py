"""Machines: CPUs, idle states, clocks, caches, prices, and where the numbers are from."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tickless import _core
from tickless._arrays import changed, freeze, integer, integers, text, texts
from tickless.errors import InvalidParameterError, InvalidTypeError
from tickless.idle_table import IdleTable
from tickless.topology import Topology


class Machine:
    """A machine, by registered name or made from idle tables; frozen.

    Parameters
    ----------
    name : str
        A name or alias of `tickless.machines`. With `tables`, any name.
    tables : sequence of IdleTable, optional
        Idle tables of a machine that is not registered, one per CPU class. Such a machine has a
        flat topology (every CPU a core below one last-level cache) and the start values of all
        prices; `replace` changes them.
    table_of : array_like of int, (n_cpus,), optional
        Index into `tables` for each CPU. Default: one CPU with the first table.
    hz : int
        Tick rate, used with `tables`.
    summary : str
        One line for people, used with `tables`.
    sources : sequence of str
        Where the numbers come from, used with `tables`.

    Attributes
    ----------
    name, summary : str
    aliases, sources : tuple of str
    ncpus, hz : int
    tables : tuple of IdleTable
    table_of : ndarray of int, (n_cpus,)
    core : object
        The machine as the compiled core holds it.

    Raises
    ------
    UnknownNameError
        If no registered machine has this name; the message lists the nearest.

    Notes
    -----
    Machines are equal if everything about them is, names and sources included.

    Examples
    --------
    >>> m = Machine("8x-SKYLAKE-UMA")
    >>> m.ncpus, m.idle_table(0).names[-1], m.costs["wake_ns"]
    (8, 'C8', 350)
    >>> m.replace({"costs.wake_ns": 500, "c6.exit_latency_ns": 75_000}).costs["wake_ns"]
    500
    """

    __slots__ = (
        "aliases",
        "core",
        "hz",
        "name",
        "ncpus",
        "sources",
        "summary",
        "table_of",
        "tables",
    )

    name: str
    summary: str
    aliases: tuple[str, ...]
    sources: tuple[str, ...]
    ncpus: int
    hz: int
    tables: tuple[IdleTable, ...]
    table_of: NDArray[np.intp]
    core: _core.Machine

    def __init__(
        self,
        name: str,
        *,
        tables: Any = None,
        table_of: Any = None,
        hz: int = 250,
        summary: str = "",
        sources: Any = (),
    ) -> None:
        name = text("machine", name)
        if tables is None:
            core = _core.Machine(name)
            self._fill(core, *_registered(core))
            return
        tables = _tables(tables)
        kinds = _kinds(table_of, len(tables))
        core = _core.Machine.from_tables(name, *_columns(tables), kinds.tolist(), integer("hz", hz))
        active = [t.active_mw for t in tables]
        if not np.isnan(active).any():
            core = core.replace([("power.core_active_mw", max(active))])
        told = [*texts("sources", sources), *core.facts()["sources"]]
        self._fill(core.with_about(text("summary", summary), told), tables, kinds)

    def _fill(
        self, core: _core.Machine, tables: tuple[IdleTable, ...], table_of: NDArray[np.intp]
    ) -> None:
        facts = core.facts()
        fields = {
            "core": core,
            "tables": tables,
            "table_of": freeze(table_of),
            "aliases": tuple(facts["aliases"]),
            "sources": tuple(facts["sources"]),
        } | {field: facts[field] for field in ("name", "summary", "ncpus", "hz")}
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Machine is frozen; use replace")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Machine is frozen; use replace")

    @classmethod
    def this(cls, sysfs_root: str | os.PathLike[str] = "/sys", *, hz: int = 250) -> Machine:
        """Read the running machine: topology, idle states, caches, clocks.

        Parameters
        ----------
        sysfs_root : path
            Where sysfs is mounted, or a copy of it.
        hz : int
            Tick rate of the running kernel; sysfs does not tell it.

        Returns
        -------
        Machine
            Prices are the start values: sysfs does not tell them.

        Raises
        ------
        InputError
            If the kernel has no cpuidle driver, as in many virtual machines.
        """
        from tickless.idle_dump import read_sysfs

        return read_sysfs(sysfs_root, hz=hz)

    @property
    def topology(self) -> Topology:
        """Which CPUs share a core, a last-level cache, a socket, a memory node."""
        return Topology(self.core)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that `replace` can change, by name, in the unit the name says; read-only."""
        return MappingProxyType(self.core.settings())

    @property
    def costs(self) -> Mapping[str, Any]:
        """Prices of kernel paths and caches, by name with the unit; read-only.

        Prices by distance have the distance behind a dot: ``"line_ns.llc"``.
        """
        return MappingProxyType(_section(self.core.settings(), "costs."))

    @property
    def clock_ghz(self) -> tuple[float, ...]:
        """Highest clock with 1, 2, 3 ... active cores, GHz; empty if it is not known."""
        return tuple(self.core.settings()["clock.turbo_ghz"])

    def idle_table(self, cpu: int = 0) -> IdleTable:
        """Return the idle table of one CPU.

        Parameters
        ----------
        cpu : int
            CPU number, 0 to ``ncpus - 1``.

        Raises
        ------
        InvalidParameterError
            For a CPU the machine does not have.
        """
        if not 0 <= integer("cpu", cpu) < self.ncpus:
            raise InvalidParameterError(
                f"cpu: machine {self.name} has CPUs 0 to {self.ncpus - 1}, found {cpu}"
            )
        return self.tables[int(self.table_of[cpu])]

    def replace(self, changes: Mapping[str, Any] | None = None, /, **more: Any) -> Machine:
        """Return a copy with some settings changed, checked again; its sources say what changed.

        Parameters
        ----------
        changes : mapping, optional
            Changes by the names of `settings`: ``{"costs.wake_ns": 500}``. Any unit that fits may
            stand in a name (``costs.wake_us``), case does not matter, ``states.`` may be left out
            before a state, and ``exit_latency`` and ``target_residency`` mean ``exit`` and
            ``residency``: ``"c6.exit_latency_ns"``. On a hybrid ``states.WFI.wake_us`` means the
            state in every class of CPUs, ``states.big.WFI.wake_us`` that of one.
        **more
            Changes whose names have no dot: ``name``, ``summary``, ``hz``, ``mwait``; and the
            constructor's ``tables``, ``table_of`` and ``sources``.

        Returns
        -------
        Machine
            With the same name unless it is given, and without aliases.

        Raises
        ------
        UnknownNameError
            For a setting the machine does not have; the message lists the nearest.
        InvalidParameterError
            For a value out of range, or counts of a topology that do not fit together.
        InvalidTypeError
            For a value that is no number, text or list of numbers.

        Notes
        -----
        New `tables` keep what the old states of the same name know beyond them: entry time, scope,
        lost caches. With another number of CPUs the topology becomes flat.
        """
        wanted = changed(changes, more)
        machine = self
        if "tables" in wanted or "table_of" in wanted:
            machine = machine._with_tables(
                wanted.pop("tables", self.tables), wanted.pop("table_of", self.table_of)
            )
        sources = wanted.pop("sources", None)
        core = machine.core
        if wanted or sources is not None:
            core = core.replace([(text("setting", k), _value(k, v)) for k, v in wanted.items()])
        if sources is not None:
            core = core.with_about(core.facts()["summary"], texts("sources", sources))
        return machine._with(core)

    def slice_llc(self) -> Machine:
        """Return the machine reduced to its first last-level cache.

        Returns
        -------
        Machine
            One socket with that cache and its CPUs, and its share of clock bins, memory bandwidth
            and package power under a load that is spread evenly over all caches.
        """
        return self._with(self.core.slice_llc())

    def describe(self) -> str:
        """Return all settings and sources as text.

        Returns
        -------
        str
            One line per setting, in sections.
        """
        lines = [f"{self.name}: {self.summary}", "", f"topology: {self.topology!r}"]
        section = ""
        for name, value in self.core.settings().items():
            first = name.partition(".")[0]
            if first != section and "." in name:
                lines += ["", first]
            section = first
            lines.append(f"  {name} = {_shown(value)}")
        return "\n".join([*lines, "", "sources", *(f"  {s}" for s in self.sources)])

    def _with_tables(self, tables: Any, table_of: Any) -> Machine:
        tables = _tables(tables)
        kinds = _kinds(table_of, len(tables))
        machine = Machine.__new__(Machine)
        machine._fill(self.core.with_tables(*_columns(tables), kinds.tolist()), tables, kinds)
        return machine

    def _with(self, core: _core.Machine) -> Machine:
        """Return a machine with this core, its tables brought up to date."""
        facts = core.facts()
        kinds = np.zeros(facts["ncpus"], np.intp)
        # Labels and remarks come from the table that the states were first read from.
        before = {c["name"]: self.idle_table(c["cpus"][0]) for c in self.core.classes()}
        tables = []
        for kind, c in enumerate(core.classes()):
            kinds[c["cpus"]] = kind
            tables.append(_updated(before[c["name"]], c, facts["active_mw"]))
        machine = Machine.__new__(Machine)
        machine._fill(core, tuple(tables), kinds)
        return machine

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Machine):
            return NotImplemented
        return self.core.text() == other.core.text()

    def __hash__(self) -> int:
        return hash(self.core.text())

    def __reduce__(self) -> Any:
        return _restore, (self.core.text(), self.tables, np.array(self.table_of))

    def __repr__(self) -> str:
        head = f"{self.name}: {self.summary}, {self.ncpus} CPUs, {self.hz} Hz"
        return "\n".join([head, repr(self.topology), *map(repr, self.tables), *self.sources])

    def _repr_html_(self) -> str:
        from tickless import _html

        head = ("machine", "summary", "CPUs", "Hz", "topology")
        about = (self.name, self.summary, str(self.ncpus), str(self.hz), repr(self.topology))
        first = _html.table(head, [about], left=(0, 1, 4), notes=self.sources)
        prices = [(name, _shown(value)) for name, value in self.costs.items()]
        costs = _html.table(("price", "value"), prices, caption="Costs", left=(0,))
        return "\n".join([first, *(t._repr_html_() for t in self.tables), costs])


def _tables(tables: Any) -> tuple[IdleTable, ...]:
    found = tuple(tables) if isinstance(tables, Iterable) else (tables,)
    for table in found:
        if not isinstance(table, IdleTable):
            raise InvalidTypeError(f"tables: expected IdleTables, found {type(table).__name__}")
    if not found:
        raise InvalidParameterError("tables: expected at least one")
    return found


def _kinds(table_of: Any, n: int) -> NDArray[np.intp]:
    kinds = integers("table_of", 0 if table_of is None else table_of)
    kinds = np.atleast_1d(kinds).astype(np.intp)  # a copy: the caller's array stays writable
    if kinds.size == 0 or kinds.min() < 0 or kinds.max() >= n:
        raise InvalidParameterError("table_of: expected an index into tables for every CPU")
    return kinds


def _columns(
    tables: tuple[IdleTable, ...],
) -> tuple[list[_core.IdleTable], list[list[int] | None]]:
    wakes = [None if t.wake_ns is None else t.wake_ns.tolist() for t in tables]
    return [t._core for t in tables], wakes


def _value(name: str, value: Any) -> bool | int | float | str | list[float]:
    """Return a value of a setting as a plain object."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, str):
        return text(name, value)
    try:
        array = np.asarray(value)
        if array.ndim == 1 and array.dtype.kind in "iuf":
            return [float(v) for v in array]
        if array.ndim == 0 and array.dtype.kind in "iufb":
            return _value(name, array.item())
    except (TypeError, ValueError):
        pass
    raise InvalidTypeError(
        f"{name}: expected a number, text or a list of numbers, found {value!r:.80}"
    )


def _section(settings: Mapping[str, Any], start: str) -> dict[str, Any]:
    return {k.removeprefix(start): v for k, v in settings.items() if k.startswith(start)}


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(f"{v:g}" for v in value) or "-"
    if isinstance(value, float):
        return "-" if np.isnan(value) else f"{value:g}"
    return str(value)


def _restore(core: str, tables: tuple[IdleTable, ...], table_of: NDArray[np.intp]) -> Machine:
    machine = Machine.__new__(Machine)
    machine._fill(_core.Machine.from_text(core), tables, table_of)
    return machine


def _registered(core: _core.Machine) -> tuple[tuple[IdleTable, ...], NDArray[np.intp]]:
    """Return the tables of a machine that ships, and which CPU has which."""
    facts = core.facts()
    table_of = np.zeros(facts["ncpus"], np.intp)
    tables = []
    # The guesses travel with every number made from them.
    notes = [s for s in facts["sources"] if s.startswith("power")]
    active = facts["active_mw"]
    for kind, c in enumerate(core.classes()):
        table_of[c["cpus"]] = kind
        tables.append(
            IdleTable(
                **{column: c[column] for column in _COLUMNS},
                wake_ns=c["wake_ns"],
                active_mw=float("nan") if active is None else active,
                label=f"{facts['name']} {c['name']}".rstrip(),
                notes=notes,
            )
        )
    return tuple(tables), table_of


_COLUMNS = (
    "names",
    "exit_latency_ns",
    "target_residency_ns",
    "polling",
    "disabled",
    "power_mw",
)


def _updated(table: IdleTable, c: dict[str, Any], active_mw: float | None) -> IdleTable:
    """Return the table with the columns of a class of the core, the same object if it has them."""
    wake = c["wake_ns"]
    known = table.wake_ns is not None or wake != c["exit_latency_ns"]
    columns = {column: c[column] for column in _COLUMNS} | {"wake_ns": wake if known else None}
    new = table.replace(**columns, active_mw=table.active_mw if active_mw is None else active_mw)
    wakes = [() if t.wake_ns is None else tuple(t.wake_ns.tolist()) for t in (table, new)]
    same = new == table and wakes[0] == wakes[1]
    same = same and np.array_equal(new.active_mw, table.active_mw, equal_nan=True)
    return table if same else new
