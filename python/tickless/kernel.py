"""Kernels: what a column of a published table is made of, and how to make another."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from tickless import _core, _html
from tickless._arrays import changed, flag, integer, text
from tickless._foreign import as_core
from tickless.errors import InvalidTypeError
from tickless.idle_table import IdleTable

_MAPPINGS = {"features": flag, "tunables": integer}


class Kernel:
    """A kernel as its benchmark results see it: governor, policy, tick, costs; frozen.

    Parameters
    ----------
    name : str
        A name or alias of `tickless.kernels`, a printed heading of a published table, or a base and
        patches: ``"6.1+queued-wakeup-l2"``. A combination that is registered is that kernel.

    Attributes
    ----------
    name, label, summary : str
        The label is the heading as printed.
    aliases : tuple of str
    report, column : str
        The published report, and its column, that this kernel is; else empty.
    governor : str
        Registered name; ``"none"`` for a kernel without idle governors, ``"custom"`` for one's own.
    custom_governor : object or None
        The governor of one's own.
    policy : str
        Registered scheduling policy.
    hz : int
        Tick rate.
    preemption : {"none", "voluntary", "lazy"}
        When a busy CPU gives way in kernel code.
    poll_limit : str or int
        Rule for the longest stay in a polling state, or that time in ns.
    poll_flag : bool
        Whether giving up sets the flag that governors read.
    above_below : bool
        Whether the kernel counts above and below per state.
    queued_wakeup_group : {"llc", "l2"}
        CPUs outside this group of the waker get the wakee through their wake list.
    queued_wakeup_idle : bool
        Whether another CPU with nothing runnable does so too.
    load_avg_min_interval_ns : int
        Shortest time between two writes of a CPU to its group's load sum; 0 is no limit.
    wrmsr_per_switch : int
        Model-specific registers written in each context switch.
    switch_permille : int
        Length of the switch path against that of 6.1, thousandths; a note says if it was measured.
    patches : tuple of str
    features : mapping of str to bool
        By the kernel's names. One that is not here does not exist in this kernel.
    tunables : mapping of str to int
        Defaults on one CPU in ns, or the unit of the name; `tunables_on` gives those of a machine.
    set_tunables : mapping of str to int
        Those that were set; they are taken as they stand on any number of CPUs.
    scaled : tuple of str
        Tunables that grow with the number of CPUs.
    sources : mapping of str to str
        How each field is known: ``"read"``, ``"derived"``, ``"assumed"``, ``"set"``. A feature
        (``features.NAME``) or tunable that was set has an entry of its own.
    notes : tuple of str
    core : object
        The kernel as the compiled core holds it.

    Raises
    ------
    UnknownNameError
        If no kernel or patch has this name; the message lists the nearest.
    InvalidParameterError
        If a patch is in the kernel already or does not apply to it.

    Notes
    -----
    Kernels are equal if they have the same name and label and behave alike.

    Examples
    --------
    >>> k = Kernel("eevdf")
    >>> k.governor, k.policy, k.hz
    ('menu-6.1', 'eevdf', 250)
    >>> k.replace(base_slice_ns=5_000_000, name="long slices").tunables_on(8)
    {'base_slice_ns': 5000000}
    """

    __slots__ = (
        "_recipe",
        "above_below",
        "aliases",
        "column",
        "core",
        "custom_governor",
        "features",
        "governor",
        "hz",
        "label",
        "load_avg_min_interval_ns",
        "name",
        "notes",
        "patches",
        "policy",
        "poll_flag",
        "poll_limit",
        "preemption",
        "queued_wakeup_group",
        "queued_wakeup_idle",
        "report",
        "scaled",
        "set_tunables",
        "sources",
        "summary",
        "switch_permille",
        "tunables",
        "wrmsr_per_switch",
    )

    name: str
    aliases: tuple[str, ...]
    label: str
    summary: str
    report: str
    column: str
    governor: str
    custom_governor: Any
    policy: str
    hz: int
    preemption: str
    poll_limit: str | int
    poll_flag: bool
    above_below: bool
    queued_wakeup_group: str
    queued_wakeup_idle: bool
    load_avg_min_interval_ns: int
    wrmsr_per_switch: int
    switch_permille: int
    patches: tuple[str, ...]
    features: Mapping[str, bool]
    tunables: Mapping[str, int]
    set_tunables: Mapping[str, int]
    scaled: tuple[str, ...]
    sources: Mapping[str, str]
    notes: tuple[str, ...]
    core: _core.Kernel
    _recipe: tuple[str, tuple[dict[str, Any], ...]]

    def __init__(self, name: str) -> None:
        self._fill(_core.Kernel(text("kernel", name)), None, (name, ()))

    def _fill(
        self,
        core: _core.Kernel,
        custom_governor: Any,
        recipe: tuple[str, tuple[dict[str, Any], ...]],
    ) -> None:
        for field, value in core.facts().items():
            frozen = MappingProxyType(value) if isinstance(value, dict) else value
            object.__setattr__(self, field, frozen)
        object.__setattr__(self, "core", core)
        object.__setattr__(self, "custom_governor", custom_governor)
        object.__setattr__(self, "_recipe", recipe)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Kernel is frozen")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Kernel is frozen")

    def replace(self, changes: Mapping[str, Any] | None = None, /, **more: Any) -> Kernel:
        """Return a copy with some fields changed, checked again; a note says what changed.

        Parameters
        ----------
        changes : mapping, optional
            Changes whose names are no Python words: ``{"features.RUN_TO_PARITY": False}``.
        **more
            Any of: ``name``, ``label``, ``policy``, ``governor`` (a registered name, ``"none"``, an
            object with ``select`` and ``reflect``, or a C function), ``hz``, ``preemption``,
            ``poll_limit`` (a rule or ns), ``poll_flag``, ``queued_wakeup_group``,
            ``queued_wakeup_idle``, ``load_avg_min_interval_ns``, ``wrmsr_per_switch``,
            ``switch_permille``, ``features`` and ``tunables`` (mappings; what they do not name
            stays), and every tunable by its own name, e.g. ``base_slice_ns``.

        Returns
        -------
        Kernel
            With the same name unless `name` is given.

        Raises
        ------
        UnknownNameError
            For a field, governor, policy, feature or tunable that is not known here.
        InvalidParameterError
            For a value out of range, one that contradicts another field, or one that would have
            no effect in this kernel.
        InvalidTypeError
            For a value of the wrong type.

        Notes
        -----
        Tunables that are set are taken as they stand; only defaults grow with the number of CPUs,
        as in the kernel. Another `policy` brings its own features and tunables.
        """
        wanted = changed(changes, more)
        custom = self.custom_governor
        own = "governor" in wanted and not isinstance(wanted["governor"], str)
        if "governor" in wanted:
            custom = _checked_governor(wanted["governor"]) if own else None
        plain = [
            (text("field", field), _plain(field, value))
            for field, value in wanted.items()
            if not (field == "governor" and own) and not (isinstance(value, Mapping) and not value)
        ]
        # Plain copies: the caller's mappings may change, and read-only views do not pickle.
        kept = {f: dict(v) if isinstance(v, Mapping) else v for f, v in wanted.items()}
        name, steps = self._recipe
        made = Kernel.__new__(Kernel)
        made._fill(self.core.replace(plain, own), custom, (name, (*steps, kept)))
        return made

    def tunables_on(self, ncpus: int) -> dict[str, int]:
        """Return the tunables of the policy on a machine of `ncpus` CPUs.

        Parameters
        ----------
        ncpus : int
            1 to 8192.

        Returns
        -------
        dict of str to int
            Times in ns; empty for the O(1) scheduler, whose times are constants.

        Raises
        ------
        InvalidParameterError
            For a number of CPUs that no kernel has.
        """
        return self.core.tunables_on(integer("ncpus", ncpus))

    def poll_limit_ns(self, table: IdleTable) -> int | None:
        """Return the longest stay in the polling state of an idle table.

        Parameters
        ----------
        table : IdleTable
            Its disabled states count as disabled.

        Returns
        -------
        int or None
            Time in ns; None if the table has no polling state. A governor with a limit of its own
            (haltpoll) overrides it.

        Raises
        ------
        InvalidTypeError
            For anything but an `IdleTable`.
        """
        if not isinstance(table, IdleTable):
            raise InvalidTypeError(f"table: expected an IdleTable, found {type(table).__name__}")
        return self.core.poll_limit_ns(table._core)

    def describe(self) -> str:
        """Return what the kernel is made of and how each field is known, as text."""
        from tickless.catalogue import text_table

        parts = [f"{self.name}: {self.summary}", text_table(_HEAD, self._rows())]
        return "\n".join([*parts, *(f"note: {note}" for note in self.notes)])

    def _rows(self) -> list[tuple[str, str, str]]:
        known = self.sources
        rows = [(f, _shown(getattr(self, f)), known.get(f, "")) for f in ("label", *_FIELDS)]
        rows += [
            (key, _shown(on), known.get(key, known.get("features", "")))
            for key, on in ((f"features.{name}", on) for name, on in self.features.items())
        ]
        for name, value in {**self.tunables, **self.set_tunables}.items():
            grows = name in self.scaled and name not in self.set_tunables
            word = known.get(name, known.get("tunables", ""))
            rows.append((name, _shown(value) + ", grows with the CPUs" * grows, word))
        return rows

    def _key(self) -> tuple[Any, ...]:
        values = (getattr(self, f) for f in ("name", "label", *_FIELDS, *_GROUPS))
        return tuple(frozenset(v.items()) if isinstance(v, Mapping) else v for v in values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kernel):
            return NotImplemented
        same = self.custom_governor is other.custom_governor
        return self._key() == other._key() and (
            same or bool(self.custom_governor == other.custom_governor)
        )

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> Any:
        return _restore, self._recipe

    def __repr__(self) -> str:
        return (
            f"Kernel {self.name}: {self.summary} "
            f"({self.governor}, {self.policy}, {self.hz} Hz, {self.preemption} preemption)"
        )

    def _repr_html_(self) -> str:
        caption = f"{self.name}: {self.summary}"
        return _html.table(_HEAD, self._rows(), caption=caption, left=range(3), notes=self.notes)


_HEAD = ("field", "value", "known by")
_FIELDS = (
    "governor",
    "policy",
    "hz",
    "preemption",
    "poll_limit",
    "poll_flag",
    "above_below",
    "queued_wakeup_group",
    "queued_wakeup_idle",
    "load_avg_min_interval_ns",
    "wrmsr_per_switch",
    "switch_permille",
    "patches",
)
"""What a kernel does, in the order in which it is shown."""
_GROUPS = ("features", "tunables", "set_tunables", "scaled")
"""The rest of it: many under one name."""


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _plain(field: str, value: Any) -> Any:
    """Return a value the core takes: a text, an int, a bool, or pairs of names with these."""
    if field in _MAPPINGS:
        if not isinstance(value, Mapping):
            raise InvalidTypeError(f"{field}: expected a mapping, found {type(value).__name__}")
        checked = _MAPPINGS[field]
        return [(text(field, k), checked(f"{field}[{k!r}]", v)) for k, v in value.items()]
    if isinstance(value, str):
        return text(field, value)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    return integer(field, value)


def _checked_governor(governor: Any) -> Any:
    as_core(governor)
    return governor


def _restore(name: str, steps: tuple[dict[str, Any], ...]) -> Kernel:
    kernel = Kernel(name)
    for changes in steps:
        kernel = kernel.replace(changes)
    return kernel
