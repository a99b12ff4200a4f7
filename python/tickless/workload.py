"""Workloads: what runs on a machine, as tables print it, and how to change it."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from tickless import _core, _html
from tickless._arrays import changed, flag, named, real, text
from tickless.errors import InvalidTypeError, UnknownNameError
from tickless.machine import Machine
from tickless.results import Metric
from tickless.task_graph import Edge, Node, TaskGraph

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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

    One's own come from `from_ops`, `from_toml` and `from_rtapp`.

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
    notes : tuple of str
        What of an rt-app file is left out or runs a little differently.
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
        "essay",
        "name",
        "notes",
        "origin",
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
    notes: tuple[str, ...]
    origin: tuple[str, str, str, str] | None
    core: _core.Workload

    def __init__(self, name: str) -> None:
        self._fill(_core.Workload(text("workload", name)), {}, None)

    @classmethod
    def from_ops(
        cls,
        programs: Mapping[str, Any],
        tasks: Any,
        *,
        channels: Any = None,
        name: str = "own",
        report: Any = None,
        **more: Any,
    ) -> Workload:
        """Return a workload of one's own, made of operations.

        Parameters
        ----------
        programs : mapping of str to list
            The operations of each program, which begins anew when they end: ``("run", 5)``,
            ``("send", "request")``, ``("run", 5, {"uniform": 0.1})``, ``("repeat", 10, [...])``,
            ``"yield"``. The manual lists them all.
        tasks : mapping of str to int, str or mapping; or list of mappings
            Who runs each program: a number, or a product such as ``"2*case"`` or ``"ncpus"``, of
            groups of one task; a mapping has ``groups``, ``count`` (tasks of a group), ``nice``,
            ``class``, ``slice``, ``start``, ``cpus``. A list may name a program more than once.
        channels : list of str, or mapping of str to str or mapping, optional
            Channels by name, one for all; ``"group"`` or ``"task"`` gives each its own; a mapping
            has ``per``, ``capacity``, ``full``, ``sync``, ``drain``, ``hold``, ``lines``.
        name : str
            What tables call it.
        report : str or mapping, optional
            A counter, reported per second; or what is computed, such as
            ``{"quantile": "late", "q": 0.99, "scale": 1e-3, "unit": "us"}``. Default: the first
            counter per second; with ``limit``, the time until all tasks have ended.
        **more
            ``cases`` (list of int), ``summary``, ``locks``, ``lines``, ``barriers``, ``boards``,
            ``devices``, ``tables``, ``spare``, ``warmup``, ``window``, ``limit``, ``layout``,
            ``paths``.

        Returns
        -------
        Workload
            It has no parameters: `replace` changes nothing.

        Raises
        ------
        InvalidParameterError
            For what cannot run, with the place: ``workload.programs.client[3].send: no channel
            "x"``.
        InvalidTypeError
            For arguments of the wrong type.

        Notes
        -----
        A time is a number of us or a text with a unit, ``"2.5 ms"``; a size is a number of bytes
        or a text, ``"64 KiB"``. What depends on the machine (CPUs that tasks may use) is checked
        by `simulate`.

        Examples
        --------
        >>> import tickless
        >>> w = tickless.Workload.from_ops(
        ...     {"client": [("run", 5), ("send", "request"), ("receive", "answer"),
        ...                 ("count", "trips")],
        ...      "server": [("receive", "request"), ("kernel", 2), ("send", "answer")]},
        ...     tasks={"client": "case", "server": "case"},
        ...     channels={"request": "group", "answer": "group"},
        ...     name="echo", cases=[1, 2])
        >>> w.report.unit, w.cases("8x-SKYLAKE-UMA")
        ('trips/s', ('1', '2'))
        """
        from tickless import _definition

        source = _definition.definition(programs, tasks, channels, report, more)
        return cls._own("json", source, "<operations>", text("name", name))

    @classmethod
    def from_toml(cls, path_or_text: Any, *, name: str | None = None) -> Workload:
        """Return a workload of one's own from a definition in TOML.

        Parameters
        ----------
        path_or_text : str or path
            A file, or the definition itself: what has a line break or a brace. Times without a unit
            are ns.
        name : str, optional
            What tables call it if the definition does not say. Default: the name of the file.

        Raises
        ------
        InputError
            For bad TOML, with the line.
        InvalidParameterError
            For what cannot run, with the field.
        FileError
            For a file that cannot be read: an `InputError` and an `OSError`.
        """
        return cls._from_source("toml", path_or_text, name)

    @classmethod
    def from_rtapp(
        cls, path_or_text: Any, *, name: str | None = None, partly: bool = False
    ) -> Workload:
        """Return the threads of an rt-app file as a workload.

        Parameters
        ----------
        path_or_text : str or path
            A JSON file as rt-app reads it, or its text: what has a line break or a brace.
        name : str, optional
            What tables call it. Default: the name of the file.
        partly : bool
            Leave out what is not simulated; `notes` lists it.

        Raises
        ------
        InputError
            For bad JSON, with the line; and for keys that are not simulated, with all of them.
        InvalidParameterError
            For a value of the wrong kind, with its key.
        FileError
            For a file that cannot be read: an `InputError` and an `OSError`.
        """
        form = "rtapp-partly" if flag("partly", partly) else "rtapp"
        return cls._from_source(form, path_or_text, name)

    @classmethod
    def _from_source(cls, form: str, path_or_text: Any, name: str | None) -> Workload:
        from tickless import _definition

        kind = form.partition("-")[0]
        source, path, stem = _definition.source(kind, path_or_text)
        return cls._own(form, source, path, stem if name is None else text("name", name))

    @classmethod
    def _own(cls, form: str, source: str, path: str, name: str) -> Workload:
        made = cls.__new__(cls)
        made._fill(_core.Workload.own(form, source, path, name), {}, (form, source, path, name))
        return made

    def _fill(
        self,
        core: _core.Workload,
        changes: Mapping[str, float],
        origin: tuple[str, str, str, str] | None,
    ) -> None:
        facts = core.facts()
        main = facts["report"]
        reports = {r["metric"]: _metric(r) for r in (main, *facts["more"])}
        fields = {
            "core": core,
            "origin": origin,
            "changes": MappingProxyType(dict(changes)),
            "reports": MappingProxyType(reports),
            "report": reports[main["metric"]],
            "row": main["row"],
            "prefix": main["prefix"],
        } | {field: facts[field] for field in _COPIED}
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
        return Case(*self.core.case(as_machine(machine).core, as_label(case)))

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
        wanted = {k: real(f"workload.{k}", v) for k, v in changed(changes, more).items()}
        if wanted and not self.parameters:
            raise UnknownNameError(
                f"unknown workload parameter {next(iter(wanted))!r}: {self.name} is one's own and "
                "has none; change its definition"
            )
        made = Workload.__new__(Workload)
        core = self.core.replace(list(wanted.items()))
        made._fill(core, {**self.changes, **wanted}, self.origin)
        return made

    def graph(
        self, machine: str | Machine | None = None, case: str | int | None = None
    ) -> TaskGraph:
        """Return who sends to whom in one case.

        Parameters
        ----------
        machine : str or Machine, optional
            Default: ``"8x-SKYLAKE-UMA"``; it matters where numbers of tasks depend on it.
        case : str or int, optional
            Default: the first of the table on the machine.

        Returns
        -------
        TaskGraph

        Examples
        --------
        >>> print(Workload("tbench").graph(case=4))
        client (tasks: 4)
          sends --> server (channels: 4)
        server (tasks: 4)
          sends --> client (channels: 4)
        <BLANKLINE>
        """
        model = as_machine(GRAPH_MACHINE if machine is None else machine)
        chosen = self.case(model, self.cases(model)[0] if case is None else case)
        raw = self.core.graph(model.core, (chosen.label, chosen.value))
        nodes = tuple(Node(*n) for n in raw["nodes"])
        return TaskGraph(nodes, tuple(Edge(*e) for e in raw["edges"]), raw["text"])

    def plot(
        self,
        machine: str | Machine | None = None,
        case: str | int | None = None,
        *,
        ax: Any = None,
    ) -> Figure:
        """Draw the task graph of one case; needs matplotlib.

        Parameters
        ----------
        machine, case
            As in `graph`.
        ax : matplotlib Axes, optional
            Where to draw; default: a new figure.

        Returns
        -------
        matplotlib Figure

        Raises
        ------
        InvalidParameterError
            For a graph with more nodes than can be told apart.
        """
        from tickless.plots import workload as picture

        title = self.name if case is None else f"{self.name}, {self.row} {case}"
        return picture.draw(self.graph(machine, case), title, ax)

    def describe(self, machine: str | Machine | None = None, case: str | int | None = None) -> str:
        """Return what the workload is made of, and where each number is from, as text.

        Parameters
        ----------
        machine : str or Machine, optional
            Show numbers, cases and task graph on this machine.
        case : str or int, optional
            Whose task graph; default: the first.
        """
        from tickless.catalogue import text_table

        head = [f"{self.name}: {self.summary}", *([self.essay] if self.essay else [])]
        figures = [f"{n} ({m.unit}, {m.better} is better)" for n, m in self.reports.items()]
        head.append(f"reports: {', '.join(figures)}")
        if machine is not None:
            model = as_machine(machine)
            head.append(f"{self.row} on {model.name}: {', '.join(self.cases(model))}")
        head += [f"note: {note}" for note in self.notes]
        graph = [
            "task graph:",
            *(f"  {line}" for line in str(self.graph(machine, case)).splitlines()),
        ]
        rows = self._rows(machine)
        return "\n".join([*head, *graph, *([text_table(_HEAD, rows)] if rows else [])])

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

    def _key(self) -> tuple[Any, ...]:
        return self.name, self.origin, frozenset(self.changes.items())

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Workload) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> Any:
        if self.origin is not None:
            return Workload._own, self.origin
        return _restore, (self.name, dict(self.changes))

    def __repr__(self) -> str:
        changed = ", ".join(f"{k} = {v:g}" for k, v in self.changes.items())
        return f"Workload {self.name}: {self.summary}" + (f" ({changed})" if changed else "")

    def _repr_html_(self) -> str:
        caption = f"{self.name}: {self.summary}"
        if self.origin is None:
            return _html.table(_HEAD, self._rows(), caption=caption, left=(0, 2, 3, 4))
        graph = self.graph()
        rows = [
            (n.name, str(n.count), ", ".join(graph.edges_of(i))) for i, n in enumerate(graph.nodes)
        ]
        return _html.table(("node", "count", "edges"), rows, caption=caption, left=(0, 2))


GRAPH_MACHINE = "8x-SKYLAKE-UMA"
"""Whose task graph is shown unless a machine is named: the smallest with published tables."""

_COPIED = ("name", "aliases", "summary", "essay", "notes")
_HEAD = ("parameter", "value", "unit", "what it is", "source")


def as_machine(machine: Any) -> Machine:
    """Return a machine given by object or name, ``"this"`` for the running one."""
    expected = 'a name (tickless.machines()), "this" or a Machine'
    given = named("machine", machine, Machine, expected)
    if not isinstance(given, str):
        return given
    return Machine.this() if given == "this" else Machine(given)


def as_workload(workload: Any) -> Workload:
    """Return a workload given by object or name."""
    expected = "a name (tickless.workloads()) or a Workload"
    given = named("workload", workload, Workload, expected)
    return Workload(given) if isinstance(given, str) else given


def as_label(case: Any) -> str:
    """Return the label of a case given by label or number."""
    if isinstance(case, str):
        return text("case", case)
    try:
        if not isinstance(case, bool | np.bool_):
            return str(operator.index(case))
    except TypeError:
        pass
    raise InvalidTypeError(f"case: expected a label or an integer, found {case!r:.80}")


def _metric(report: Mapping[str, Any]) -> Metric:
    return Metric(
        unit=report["unit"],
        better=report["better"],
        mean=report["mean"],
        decimals=report["decimals"],
        style=report["style"],
        title=report["metric"].capitalize(),
    )


def _restore(name: str, changes: dict[str, float]) -> Workload:
    return Workload(name).replace(changes) if changes else Workload(name)
