"""Workloads: what runs on a machine, as tables print it, and how to change it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tickless import _core, _html
from tickless._arrays import real, text
from tickless.errors import InvalidTypeError
from tickless.machine import Machine
from tickless.results import Metric


@dataclass(frozen=True)
class Parameter:
    """One number of a workload.

    Attributes
    ----------
    name, unit, summary, source : str
        The source says where the default is from; ``"guess"`` when from nowhere.
    value : float
        Value in use.
    default : float
        Value of the registered workload, whatever the machine.
    least, most : float
        Allowed range.
    """

    name: str
    value: float
    default: float
    unit: str
    summary: str
    source: str
    least: float
    most: float


@dataclass(frozen=True)
class Case:
    """One row of the table of a workload.

    Attributes
    ----------
    label : str
        As the table prints it: ``"64"``, ``"4-groups"``.
    value : int
        The number behind it: clients, groups, bytes.
    """

    label: str
    value: int


class Workload:
    """A workload by registered name, perhaps with changed parameters; frozen.

    Parameters
    ----------
    name : str
        A name or alias of `tickless.workloads`.

    Attributes
    ----------
    name, summary, essay : str
        The essay tells the task graph and what sets the result.
    aliases : tuple of str
    report : Metric
        Unit, direction, mean and table style of the reported figure.
    reports : mapping of str to Metric
        All reported figures by name, the main one first.
    row, prefix : str
        Heading of the cases, and what is printed before each label.
    changes : mapping of str to float
        Parameters that differ from the registered workload; read-only.
    definition : str
        The definition of a workload of one's own as JSON; empty for a registered one.
    core : object
        The workload as the compiled core holds it.

    Raises
    ------
    UnknownNameError
        If no workload has this name; the message lists the nearest.

    Examples
    --------
    >>> w = Workload("tbench")
    >>> w.cases("8x-SKYLAKE-UMA")
    ('1', '2', '4', '8', '16', '32')
    >>> w.report.unit, w.report.better, w.parameters["copy"].unit
    ('MB/s', 'higher', 'ns/B')
    >>> w.replace(copy=0.1).parameters["copy"].value
    0.1
    """

    __slots__ = (
        "aliases",
        "changes",
        "core",
        "definition",
        "essay",
        "name",
        "prefix",
        "report",
        "reports",
        "row",
        "summary",
    )

    name: str
    aliases: tuple[str, ...]
    summary: str
    essay: str
    report: Metric
    reports: Mapping[str, Metric]
    row: str
    prefix: str
    changes: Mapping[str, float]
    core: _core.Workload
    definition: str

    def __init__(self, name: str) -> None:
        self._fill(_core.Workload(text("workload", name)), {})

    @classmethod
    def define(cls, definition: Mapping[str, Any]) -> Workload:
        """Return a workload of one's own.

        Parameters
        ----------
        definition : mapping
            Programs, tasks and channels by name, cases, and what is reported: plain values as in
            JSON.

        Raises
        ------
        InvalidParameterError
            For a definition that cannot be, with the field; where it depends on the case, when it
            is simulated.

        Examples
        --------
        >>> w = Workload.define({
        ...     "name": "echo", "cases": [1, 2], "report": {"rate": "answers", "unit": "1/s"},
        ...     "channels": {"request": {"per": "group"}, "answer": {"per": "group"}},
        ...     "programs": {
        ...         "client": [{"run": "2 us"}, {"send": "request"}, {"receive": "answer"},
        ...                    {"count": "answers"}],
        ...         "server": [{"receive": "request"}, {"kernel": "1 us"}, {"send": "answer"}]},
        ...     "tasks": [{"program": "client", "groups": "case"},
        ...               {"program": "server", "groups": "case"}]})
        >>> w.name, w.cases("8x-SKYLAKE-UMA"), w.report.unit
        ('echo', ('1', '2'), '1/s')
        """
        if not isinstance(definition, Mapping):
            kind = type(definition).__name__
            raise InvalidTypeError(f"definition: expected a mapping, found {kind}")
        try:
            written = json.dumps(definition, default=dict)
        except (TypeError, ValueError) as e:
            raise InvalidTypeError(f"definition: not plain values ({e})") from None
        return _defined(written)

    def _fill(
        self, core: _core.Workload, changes: Mapping[str, float], definition: str = ""
    ) -> None:
        facts = core.facts()
        main = facts["report"]
        reports = {r["metric"]: _metric(r) for r in (main, *facts["more"])}
        fields = {
            "core": core,
            "definition": definition,
            "changes": MappingProxyType(dict(changes)),
            "reports": MappingProxyType(reports),
            "report": reports[main["metric"]],
            "row": main["row"],
            "prefix": main["prefix"],
        } | {field: facts[field] for field in ("name", "aliases", "summary", "essay")}
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Workload is frozen; use replace")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Workload is frozen; use replace")

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Every number of the workload by name, as on a machine that it is not fitted to."""
        return self.parameters_on(None)

    def parameters_on(self, machine: str | Machine | None) -> Mapping[str, Parameter]:
        """Return every number of the workload as it is on a machine.

        Parameters
        ----------
        machine : str, Machine or None
            Some numbers were fitted on the baseline of a published table of one machine; None
            gives those of no machine.

        Returns
        -------
        mapping of str to Parameter
            Read-only.
        """
        core = None if machine is None else as_machine(machine).core
        found = [Parameter(**d) for d in self.core.parameters(core)]
        return MappingProxyType({p.name: p for p in found})

    def cases(self, machine: str | Machine) -> tuple[str, ...]:
        """Return the labels of the cases that the table has on a machine.

        Parameters
        ----------
        machine : str or Machine
        """
        return tuple(label for label, _ in self.core.cases(as_machine(machine).core))

    def case(self, machine: str | Machine, case: str | int) -> Case:
        """Return one case, of the table or any other.

        Parameters
        ----------
        machine : str or Machine
        case : str or int
            A label, or the number behind it.

        Raises
        ------
        UnknownNameError
            For a label that means no case; the message lists those of the table.
        """
        return Case(*self.core.case(as_machine(machine).core, _label(case)))

    def replace(self, changes: Mapping[str, float] | None = None, /, **more: float) -> Workload:
        """Return a copy with some parameters changed.

        Parameters
        ----------
        changes : mapping, optional
            Changes by the names of `parameters`.
        **more
            The same as keywords.

        Returns
        -------
        Workload
            A changed parameter holds on every machine.

        Raises
        ------
        UnknownNameError
            For a parameter that the workload does not have.
        InvalidParameterError
            For a value out of range.
        InvalidTypeError
            For a value that is no number.
        """
        wanted = {text("parameter", k): v for k, v in (dict(changes or {}) | more).items()}
        wanted = {k: real(f"workload.{k}", v) for k, v in wanted.items()}
        made = Workload.__new__(Workload)
        core = self.core.replace(list(wanted.items()))
        made._fill(core, {**self.changes, **wanted}, self.definition)
        return made

    def describe(self, machine: str | Machine | None = None) -> str:
        """Return what the workload is made of, and where each number is from, as text.

        Parameters
        ----------
        machine : str or Machine, optional
            Show the numbers and cases on this machine.
        """
        from tickless.catalogue import text_table

        head = [f"{self.name}: {self.summary}", self.essay]
        head = [line for line in head if line]
        figures = [f"{n} ({m.unit}, {m.better} is better)" for n, m in self.reports.items()]
        head.append(f"reports: {', '.join(figures)}")
        if machine is not None:
            model = as_machine(machine)
            head.append(f"{self.row} on {model.name}: {', '.join(self.cases(model))}")
        return "\n".join([*head, text_table(_HEAD, self._rows(machine))])

    def _rows(self, machine: str | Machine | None = None) -> list[tuple[str, ...]]:
        return [
            (
                p.name,
                f"{p.value:g}",
                p.unit,
                p.summary,
                "set" if p.name in self.changes else p.source,
            )
            for p in self.parameters_on(machine).values()
        ]

    def _key(self) -> tuple[str, str, frozenset[tuple[str, float]]]:
        return self.name, self.definition, frozenset(self.changes.items())

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Workload) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> Any:
        if self.definition:
            return _defined, (self.definition,)
        return _restore, (self.name, dict(self.changes))

    def __repr__(self) -> str:
        changed = ", ".join(f"{k} = {v:g}" for k, v in self.changes.items())
        return f"Workload {self.name}: {self.summary}" + (f" ({changed})" if changed else "")

    def _repr_html_(self) -> str:
        caption = f"{self.name}: {self.summary}"
        return _html.table(_HEAD, self._rows(), caption=caption, left=(0, 2, 3, 4))


_HEAD = ("parameter", "value", "unit", "what it is", "source")


def as_machine(machine: Any) -> Machine:
    """Return a machine given by object or name, ``"this"`` for the running one."""
    if isinstance(machine, Machine):
        return machine
    if text("machine", machine) == "this":
        return Machine.this()
    return Machine(machine)


def as_workload(workload: Any) -> Workload:
    """Return a workload given by object or name."""
    return workload if isinstance(workload, Workload) else Workload(text("workload", workload))


def _label(case: Any) -> str:
    if isinstance(case, str):
        return text("case", case)
    if isinstance(case, bool) or not hasattr(case, "__index__"):
        raise InvalidTypeError(f"case: expected a label or an integer, found {case!r:.80}")
    return str(int(case))


def _metric(report: Mapping[str, Any]) -> Metric:
    return Metric(
        unit=report["unit"],
        better=report["better"],
        mean=report["mean"],
        decimals=report["decimals"],
        style=report["style"],
        title=report["metric"].capitalize(),
    )


def _defined(definition: str) -> Workload:
    made = Workload.__new__(Workload)
    made._fill(_core.Workload.defined(definition, "definition", True), {}, definition)
    return made


def _restore(name: str, changes: dict[str, float]) -> Workload:
    return Workload(name).replace(changes) if changes else Workload(name)
