"""Machines: the idle tables of their CPUs, the tick rate, and where the numbers are from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tickless import _core
from tickless._arrays import freeze, integer, integers, text, texts
from tickless.errors import InvalidParameterError, InvalidTypeError
from tickless.idle_table import IdleTable


class Machine:
    """A machine, by registered name or made from idle tables; frozen.

    Parameters
    ----------
    name : str
        A name or alias of `tickless.machines`. With `tables`, any name.
    tables : sequence of IdleTable, optional
        Idle tables of a machine that is not registered, one per CPU class.
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

    Raises
    ------
    UnknownNameError
        If no registered machine has this name; the message lists the nearest.

    Examples
    --------
    >>> m = Machine("8x-SKYLAKE-UMA")
    >>> m.ncpus, m.idle_table(0).names[-1]
    (8, 'C8')
    """

    __slots__ = ("aliases", "hz", "name", "ncpus", "sources", "summary", "table_of", "tables")

    name: str
    summary: str
    aliases: tuple[str, ...]
    sources: tuple[str, ...]
    ncpus: int
    hz: int
    tables: tuple[IdleTable, ...]
    table_of: NDArray[np.intp]

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
        if tables is None:
            fields = _preset(text("machine", name))
        else:
            tables = _tables(tables)
            kinds = _kinds(table_of, len(tables))
            fields = {
                "name": text("machine", name),
                "summary": text("summary", summary),
                "aliases": (),
                "sources": texts("sources", sources),
                "ncpus": len(kinds),
                "hz": integer("hz", hz),
                "tables": tables,
                "table_of": freeze(kinds),
            }
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Machine is frozen")

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

    def replace(self, **changes: Any) -> Machine:
        """Return a copy with some fields changed, checked again.

        Parameters
        ----------
        **changes
            Any argument of the constructor.
        """
        fields = ("name", "tables", "table_of", "hz", "summary", "sources")
        return Machine(**({field: getattr(self, field) for field in fields} | changes))

    def __reduce__(self) -> Any:
        return _restore, ({field: getattr(self, field) for field in self.__slots__},)

    def __repr__(self) -> str:
        head = f"{self.name}: {self.summary}, {self.ncpus} CPUs, {self.hz} Hz"
        return "\n".join([head, *map(repr, self.tables), *self.sources])

    def _repr_html_(self) -> str:
        from tickless import _html

        head = ("machine", "summary", "CPUs", "Hz")
        about = (self.name, self.summary, str(self.ncpus), str(self.hz))
        first = _html.table(head, [about], left=(0, 1), notes=self.sources)
        return "\n".join([first, *(t._repr_html_() for t in self.tables)])


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


def _restore(fields: dict[str, Any]) -> Machine:
    machine = Machine.__new__(Machine)
    for field, value in fields.items():
        object.__setattr__(machine, field, value)
    return machine


def _preset(name: str) -> dict[str, Any]:
    m = _core.machine(name)
    table_of = np.zeros(m["ncpus"], np.intp)
    tables = []
    # The guesses travel with every number made from them.
    notes = [s for s in m["sources"] if s.startswith("power")]
    for kind, c in enumerate(m["classes"]):
        table_of[c["cpus"]] = kind
        tables.append(
            IdleTable(
                c["names"],
                c["exit_latency_ns"],
                c["target_residency_ns"],
                polling=c["polling"],
                power_mw=c["power_mw"],
                wake_ns=c["wake_ns"],
                active_mw=float("nan") if m["active_mw"] is None else m["active_mw"],
                label=f"{m['name']} {c['name']}".rstrip(),
                notes=notes,
            )
        )
    return {
        "name": m["name"],
        "summary": m["summary"],
        "aliases": tuple(m["aliases"]),
        "sources": tuple(m["sources"]),
        "ncpus": m["ncpus"],
        "hz": m["hz"],
        "tables": tuple(tables),
        "table_of": freeze(table_of),
    }
