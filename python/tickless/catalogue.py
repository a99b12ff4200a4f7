"""The lists: what is registered, each entry with its name, summary, aliases and source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from tickless import _core, _html
from tickless._arrays import text
from tickless.errors import InvalidTypeError, unknown_name


@dataclass(frozen=True)
class Entry:
    """One registered thing.

    Attributes
    ----------
    name, summary, source : str
    aliases : tuple of str
    facts : mapping
        What else the family says, e.g. ``confidence`` of a governor; also readable as attributes.
    """

    name: str
    summary: str
    aliases: tuple[str, ...]
    source: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        facts = self.__dict__.get("facts", {})
        if name in facts:
            return facts[name]
        raise AttributeError(f"entry {self.__dict__.get('name')!r} has no {name!r}")


class Catalogue(Sequence[Entry]):
    """A family's entries in the order of the docs; prints as a table.

    Parameters
    ----------
    kind : str
        What the entries are, e.g. ``"governors"``.
    entries : sequence of Entry
    columns : sequence of str
        Facts shown between the name and the summary.

    Notes
    -----
    An entry is found by position, or by name or alias: ``governors()["teo"]`` raises
    `UnknownNameError` for a name that is not there, ``"teo" in governors()`` asks first.
    """

    def __init__(self, kind: str, entries: Sequence[Entry], columns: Sequence[str] = ()) -> None:
        self.kind = kind
        self._entries = tuple(entries)
        self._columns = tuple(columns)

    @overload
    def __getitem__(self, index: int | str) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...
    def __getitem__(self, index: int | str | slice) -> Entry | Sequence[Entry]:
        if isinstance(index, str):
            for entry in self._entries:
                if index == entry.name or index in entry.aliases:
                    return entry
            known = [name for e in self._entries for name in (e.name, *e.aliases)]
            raise unknown_name(f"entry of {self.kind}", index, known)
        try:
            return self._entries[index]
        except TypeError:
            kind = type(index).__name__
        raise InvalidTypeError(f"{self.kind}: expected a name or a position, found {kind}")

    def __contains__(self, item: object) -> bool:
        if isinstance(item, str):
            return any(item == e.name or item in e.aliases for e in self._entries)
        return isinstance(item, Entry) and item in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    @property
    def names(self) -> tuple[str, ...]:
        """Registered names, without aliases."""
        return tuple(e.name for e in self._entries)

    def rows(self) -> tuple[list[str], list[tuple[str, ...]]]:
        """Return headings and cells of the table that printing shows."""
        head = [
            "name",
            *(c.replace("_", " ") for c in self._columns),
            "summary",
            "aliases",
            "source",
        ]
        cells = [
            (e.name, *(str(getattr(e, c)) for c in self._columns), *_texts(e))
            for e in self._entries
        ]
        return head, cells

    def __repr__(self) -> str:
        return text_table(*self.rows())

    def _repr_html_(self) -> str:
        head, cells = self.rows()
        return _html.table(head, cells, caption=self.kind, left=range(len(head)))


def _texts(entry: Entry) -> tuple[str, str, str]:
    return entry.summary, ", ".join(entry.aliases), entry.source


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return left-aligned columns, two blanks apart, with a rule under the headings."""
    widths = [max(len(r[j]) for r in (head, *rows)) for j in range(len(head))]
    lines = [head, ["-" * w for w in widths], *rows]
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def governors() -> Catalogue:
    """List the registered CPU-idle governors.

    Returns
    -------
    Catalogue
        Entries say which kernel each text is from (`source`), whether it is ``exact`` or
        ``reconstructed`` (`text`), with which `confidence`, and whether its choices always
        obey the latency limit (`respects_limits`) and disabled states (`respects_disabled`).

    Examples
    --------
    >>> import tickless
    >>> tickless.governors()["teo"].name
    'teo-7.2'
    """
    return Catalogue("governors", [_entry(d) for d in _core.governors()], ("text", "confidence"))


def governors_of_kernel(version: str) -> list[tuple[str, str]]:
    """Return the governors whose text is nearest to a kernel version.

    Parameters
    ----------
    version : str
        For example ``"6.8"``.

    Returns
    -------
    list of (name, claim)
        The claim is ``"identical"``, ``"assumed"`` or ``"unknown"``: whether that kernel's text is
        known to decide alike.
    """
    return [(d["name"], d["claim"]) for d in _core.nearest_governors(text("kernel", version))]


def kernels() -> Catalogue:
    """List the registered kernels: columns of the published reports, and releases.

    Returns
    -------
    Catalogue
        Entries hold what `tickless.Kernel` holds; `source` says which report the kernel is a column
        of, and how many of its fields were read, derived or assumed.

    Examples
    --------
    >>> import tickless
    >>> tickless.kernels()["stock"].governor
    'menu-5.0'
    """
    entries = []
    for d in _core.kernels():
        facts = {k: v for k, v in d.items() if k not in ("name", "summary", "aliases")}
        words = list(d["sources"].values())
        known = [f"{words.count(w)} {w}" for w in dict.fromkeys(words)]
        source = "; ".join([d["report"] or "release", ", ".join(known)])
        entries.append(Entry(d["name"], d["summary"], tuple(d["aliases"]), source, facts))
    return Catalogue("kernels", entries, ("governor", "policy", "hz"))


def machines() -> Catalogue:
    """List the machines that ship.

    Returns
    -------
    Catalogue
        Entries also hold `ncpus`, `hz` and the number of idle `states`.

    Examples
    --------
    >>> import tickless
    >>> tickless.machines()["8x-SKYLAKE-UMA"].ncpus
    8
    """
    entries = []
    for name in _core.machine_names():
        core = _core.Machine(name)
        m = core.facts()
        states = "/".join(dict.fromkeys(str(len(c["names"])) for c in core.classes()))
        facts = {"ncpus": m["ncpus"], "hz": m["hz"], "states": states}
        source = m["sources"][0].removeprefix("idle states: ")
        entries.append(Entry(m["name"], m["summary"], tuple(m["aliases"]), source, facts))
    return Catalogue("machines", entries, ("ncpus", "hz", "states"))


def policies() -> Catalogue:
    """List the registered scheduling policies.

    Returns
    -------
    Catalogue
        Entries also hold the `features` of that kernel version with their defaults, the `tunables`
        as (value on one CPU in ns, grows with the CPU count), the task `classes` it knows, and
        whether tasks may have `custom_slices`.

    Examples
    --------
    >>> import tickless
    >>> tickless.policies()["eevdf-latest"].features["HRTICK"]
    True
    """
    return Catalogue("policies", [_entry(d) for d in _core.policies()])


def workloads() -> Catalogue:
    """List the registered workloads.

    Returns
    -------
    Catalogue
        Entries also hold the `essay`, the reported `metric` with its `unit`, and `better`. Where
        each number is from tells `Workload.describe`.

    Examples
    --------
    >>> import tickless
    >>> tickless.workloads()["tbench"].unit
    'MB/s'
    """
    entries = []
    for d in _core.workloads():
        report = d["report"]
        facts = {"essay": d["essay"], **{k: report[k] for k in ("metric", "unit", "better")}}
        numbers = _core.Workload(d["name"]).parameters(None)
        guesses = sum("guess" in p["source"] for p in numbers)
        source = f"{len(numbers)} numbers, {guesses} of them with a guess"
        entries.append(Entry(d["name"], d["summary"], tuple(d["aliases"]), source, facts))
    return Catalogue("workloads", entries, ("metric", "unit", "better"))


def _entry(d: dict[str, Any]) -> Entry:
    own = ("name", "summary", "aliases", "source")
    facts = {k: v for k, v in d.items() if k not in own}
    return Entry(d["name"], d["summary"], tuple(d["aliases"]), d["source"], facts)
