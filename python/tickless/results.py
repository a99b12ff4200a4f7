"""What a benchmark gave: `Results`, several of them (`ResultSet`), and a printed table.

`Results` holds one benchmark on one machine: one array per metric, kernels by cases by repeats.
It is what readers return, what the simulator returns and what `compare` starts from. A table that
somebody posted has no samples; it is a `PublishedTable`, which compares in the same way but can
give no p-value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tickless._arrays import integer, several, text, texts
from tickless.errors import (
    InvalidParameterError,
    InvalidTypeError,
    ShapeError,
    known_name,
    unknown_name,
)

if TYPE_CHECKING:
    import os

    import pandas as pd
    import xarray as xr

    from tickless.comparison import Comparison, ComparisonSet

Array = NDArray[np.float64]
BETTER = ("higher", "lower")
MOST_DECIMALS = 20
"""More decimals than any float64 has digits for."""
MOST_NAMED = 8
"""Metrics that a line for people names; `Results.metrics` has all."""
MEANS = ("arithmetic", "harmonic", "median")


@dataclass(frozen=True)
class Metric:
    """How one metric is reported.

    Attributes
    ----------
    unit : str
        Printed unit, e.g. ``"MB/sec"``.
    better : {"higher", "lower"}
        Which direction is an improvement.
    mean : {"arithmetic", "harmonic", "median"}
        The statistic that summarises the repeats.
    decimals : int
        Decimals of a printed value.
    style : str
        Table style used unless the caller names one.
    title : str
        Name in prose, e.g. ``"Throughput"``; may be empty.
    """

    unit: str
    better: Literal["higher", "lower"]
    mean: Literal["arithmetic", "harmonic", "median"]
    decimals: int = 2
    style: str = "mmtests"
    title: str = ""

    def __post_init__(self) -> None:
        if self.better not in BETTER:
            raise InvalidParameterError(f"better = {self.better!r}: must be one of {BETTER}")
        if self.mean not in MEANS:
            raise InvalidParameterError(f"mean = {self.mean!r}: must be one of {MEANS}")
        for name in ("unit", "style", "title"):
            text(name, getattr(self, name))
        if not 0 <= integer("decimals", self.decimals) <= MOST_DECIMALS:
            raise InvalidParameterError(f"decimals = {self.decimals}: must be 0 to {MOST_DECIMALS}")

    @property
    def sign(self) -> int:
        """+1 if higher is better, else -1."""
        return 1 if self.better == "higher" else -1

    @classmethod
    def rate(cls, unit: str, **changes: Any) -> Metric:
        """Return a rate: higher is better, harmonic mean."""
        return cls(unit, "higher", "harmonic", **changes)

    @classmethod
    def time(cls, unit: str, **changes: Any) -> Metric:
        """Return a time or latency: lower is better, arithmetic mean."""
        return cls(unit, "lower", "arithmetic", **changes)


@dataclass(frozen=True, eq=False)
class Results:
    """One benchmark on one machine.

    Attributes
    ----------
    benchmark, machine : str
        Names; the machine may be empty if the source does not say.
    kernels, cases : tuple of str
        Registered names, columns and rows of a table. No duplicates.
    metrics : mapping of str to ndarray
        Float64 of shape ``(n_kernels, n_cases, n_repeats)`` or with further axes after the
        repeats, padded with NaN where a kernel has fewer repeats. Read-only.
    metric_info : mapping of str to Metric
        Unit, direction and mean of each metric.
    primary : str
        The metric a comparison uses unless told otherwise.
    kernel_labels, case_labels : tuple of str
        The spelling a printed heading uses; the names themselves unless given.
    case_title : str
        Heading over the cases, e.g. ``"Clients:"``.
    notes : tuple of str
        What the source lacked or repeated: a missing iteration, unequal counts ...
    attrs : mapping
        Facts of the source: ``"source"``, ``"mmtests_era"`` and the like; json values.

    Examples
    --------
    >>> res = Results.build("hackbench", ["base", "new"], ["1", "4"],
    ...                     {"time": (Metric.time("s", decimals=4), [[[1., 1.1], [2., 2.1]],
    ...                                                              [[1.2, 1.1], [2., 2.3]]])})
    >>> res["time"].shape
    (2, 2, 2)
    """

    benchmark: str
    machine: str
    kernels: tuple[str, ...]
    cases: tuple[str, ...]
    metrics: Mapping[str, Array]
    metric_info: Mapping[str, Metric]
    primary: str
    kernel_labels: tuple[str, ...] = ()
    case_labels: tuple[str, ...] = ()
    case_title: str = ""
    notes: tuple[str, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = _freeze_names(self)
        if not self.metrics:
            raise InvalidParameterError("metrics: empty; give at least one metric")
        if set(self.metrics) != set(self.metric_info):
            odd = sorted(set(self.metrics) ^ set(self.metric_info))
            raise InvalidParameterError(f"metrics and metric_info differ in {', '.join(odd)}")
        for name in self.metrics:
            text("metrics", name)
        known_name("metric", self.primary, self.metrics)
        for name, info in self.metric_info.items():
            if not isinstance(info, Metric):
                kind = type(info).__name__
                raise InvalidTypeError(f"metric_info[{name!r}]: expected a Metric, found {kind}")
        arrays = {name: _frozen(name, a, shape) for name, a in self.metrics.items()}
        _set(self, metrics=MappingProxyType(arrays))
        _set(self, metric_info=MappingProxyType({k: self.metric_info[k] for k in arrays}))

    @classmethod
    def build(
        cls,
        benchmark: str,
        kernels: Sequence[str],
        cases: Sequence[str],
        metrics: Mapping[str, tuple[Metric, Any]],
        **more: Any,
    ) -> Results:
        """Return results from ``{name: (Metric, array-like)}``; the first metric is primary."""
        if not isinstance(metrics, Mapping) or not all(
            isinstance(m, tuple) and len(m) == 2 for m in metrics.values()
        ):
            raise InvalidTypeError("metrics: expected a mapping of names to (Metric, array)")
        more.setdefault("machine", "")
        more.setdefault("primary", next(iter(metrics), ""))
        return cls(
            benchmark=benchmark,
            kernels=kernels,  # type: ignore[arg-type]  # checked and frozen there
            cases=cases,  # type: ignore[arg-type]
            metrics={k: a for k, (_, a) in metrics.items()},
            metric_info={k: m for k, (m, _) in metrics.items()},
            **more,
        )

    def __getitem__(self, metric: str) -> Array:
        known_name("metric", metric, self.metrics)
        return self.metrics[metric]

    @property
    def units(self) -> dict[str, str]:
        """Unit of every metric."""
        return {name: m.unit for name, m in self.metric_info.items()}

    @property
    def unit(self) -> str:
        """Unit of the primary metric."""
        return self.metric_info[self.primary].unit

    def replace(self, **changes: Any) -> Results:
        """Return a changed copy, checked again."""
        return dataclasses.replace(self, **changes)

    def select(
        self,
        *,
        kernels: str | Sequence[str] | None = None,
        cases: str | Sequence[str] | None = None,
    ) -> Results:
        """Return the named kernels and cases only, in the given order.

        Parameters
        ----------
        kernels, cases : str or sequence of str, optional
            Names or printed labels; all if None.

        Raises
        ------
        UnknownNameError
            For a kernel or case that is not there.
        """
        wanted = self.kernels if kernels is None else several("kernels", kernels)
        k = [self.kernel_index(n) for n in wanted]
        known = {
            **{n: i for i, n in reversed(list(enumerate(self.case_labels)))},
            **_index(self.cases),
        }
        c = [
            _at(known, "case", n)
            for n in (self.cases if cases is None else several("cases", cases))
        ]
        return self.replace(
            kernels=tuple(self.kernels[i] for i in k),
            cases=tuple(self.cases[i] for i in c),
            kernel_labels=tuple(self.kernel_labels[i] for i in k),
            case_labels=tuple(self.case_labels[i] for i in c),
            metrics={name: a[np.ix_(k, c)] for name, a in self.metrics.items()},
        )

    def kernel_index(self, name: str) -> int:
        """Return the position of a kernel given by name or by printed label."""
        return kernel_index(self.kernels, self.kernel_labels, name)

    @staticmethod
    def join(parts: Sequence[Results | PublishedTable]) -> Results:
        """Return the kernels of several results of one benchmark side by side.

        Parameters
        ----------
        parts : sequence of Results or PublishedTable
            Same benchmark, machine and units; a printed value counts as one sample, so that it is
            compared but never tested. A kernel that occurs twice has the repeats of both;
            a case that a part lacks is missing for its kernels, and noted.

        Raises
        ------
        InvalidParameterError
            If benchmarks, machines or units differ.
        """
        from tickless.results_join import join

        return join(parts)

    def compare(self, baseline: str, *, metric: str | None = None, **options: Any) -> Comparison:
        """Compare every kernel with one of them.

        Parameters
        ----------
        baseline : str
            Name or printed label of the kernel the others are measured against.
        metric : str, optional
            Which metric; the primary one if None.
        **options
            ``rule``, ``alpha``, ``correction``, ``min_effect_pct``, ``rng``: see
            `tickless.compare.compare`.

        Returns
        -------
        Comparison
        """
        from tickless.compare import compare

        return compare(self, baseline, metric=metric, **options)

    def to_frame(self) -> pd.DataFrame:
        """Return a tidy frame: benchmark, machine, kernel, case, metric, repeat[, extra], value."""
        from tickless.results_io import to_frame

        return to_frame(self)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, **options: Any) -> Results:
        """Return results from any tidy frame; see `tickless.results_io.from_frame`."""
        from tickless.results_io import from_frame

        return from_frame(frame, **options)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the results as csv that `from_csv` reads back exactly; also write it to a file."""
        from tickless.results_io import to_csv

        return to_csv(self, path)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the results as json that `from_json` reads back exactly; also write it."""
        from tickless.results_io import to_json

        return to_json(self, path)

    def to_xarray(self) -> xr.Dataset:
        """Return a dataset with one variable per metric, needs xarray.

        Returns
        -------
        xarray.Dataset
            Dimensions ``kernel``, ``case``, ``repeat``, and those of further axes (``state``,
            ``cpu``); where metrics have unequal numbers of repeats, ``repeat_N``. Variables carry
            ``units`` and ``better``.
        """
        from tickless.results_export import to_xarray

        return to_xarray(self)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file that `from_parquet` reads back exactly, needs pyarrow.

        Parameters
        ----------
        path : str or path
            One row per sample: metric, kernel, case, repeat, extra, value; the description is in
            the metadata.
        """
        from tickless.results_export import to_parquet

        to_parquet(self, path)

    @classmethod
    def from_parquet(cls, path: str | os.PathLike[str]) -> Results:
        """Return the results that `to_parquet` wrote.

        Raises
        ------
        InputError
            If the file is not of that form.
        """
        from tickless.results_export import from_parquet

        return from_parquet(path)

    @classmethod
    def from_csv(cls, text: str, path: str = "") -> Results:
        """Return the results that `to_csv` wrote; `path` is for messages only."""
        from tickless.results_io import from_csv

        return from_csv(text, path)

    @classmethod
    def from_json(cls, text: str, path: str = "") -> Results:
        """Return the results that `to_json` wrote; `path` is for messages only."""
        from tickless.results_io import from_json

        return from_json(text, path)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Results):
            return NotImplemented
        same = all(
            getattr(self, f.name) == getattr(other, f.name)
            for f in dataclasses.fields(self)
            if f.name != "metrics"
        )
        return (
            same
            and self.metrics.keys() == other.metrics.keys()
            and all(
                a.shape == other.metrics[k].shape
                and np.array_equal(a, other.metrics[k], equal_nan=True)
                for k, a in self.metrics.items()
            )
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        for name in ("metrics", "metric_info", "attrs"):
            values[name] = dict(values[name])
        return (_rebuild, (type(self), values))

    def __repr__(self) -> str:
        n = max((a.shape[2] for a in self.metrics.values()), default=0)
        return (
            f"Results({self.benchmark!r}, machine={self.machine!r}, {len(self.kernels)} kernels x "
            f"{len(self.cases)} cases x {n} repeats, metrics: {_some(list(self.metrics))})"
        )

    def _repr_html_(self) -> str:
        from tickless.results_views import of_results

        return of_results(self).html()


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """One table as somebody printed it: centres, no samples.

    Attributes
    ----------
    table_id, benchmark, machine : str
        Identity of the table.
    kernels, cases : tuple of str
        Registered names; the printed spellings are in `kernel_labels` and `case_labels`.
    center : ndarray
        ``(n_kernels, n_cases)`` float64: the printed value; NaN where the cell is blank. A ratio
        to the baseline where `normalised`.
    cv_pct, printed_pct : ndarray
        ``(n_kernels, n_cases)`` float64: printed coefficient of variation and change, NaN where
        the table has none.
    mark : tuple of str
        Per case ``"^"``, ``"*"`` or ``""``: the author's mark behind the row.
    starred, tested : ndarray
        ``(n_kernels, n_cases)`` bool: an asterisk at the cell; a test was run for it.
    case_info : tuple of Metric
        Per case: unit, direction and mean (a table may mix them).
    printed : tuple of tuple of str
        ``printed[kernel][case]``: the value's own text, so that decimals are known.
    normalised : bool
        Values are ratios to the baseline.
    baseline : str
        Registered name of the table's own baseline.
    title, case_title, statistic : str
        Heading lines of the table.
    notes : tuple of str
        Irregularities of the post.
    attrs : mapping
        Whatever a style needs to print the table again; json values.
    """

    table_id: str
    benchmark: str
    machine: str
    kernels: tuple[str, ...]
    cases: tuple[str, ...]
    center: Array
    cv_pct: Array
    printed_pct: Array
    mark: tuple[str, ...]
    starred: NDArray[np.bool_]
    tested: NDArray[np.bool_]
    case_info: tuple[Metric, ...]
    printed: tuple[tuple[str, ...], ...]
    normalised: bool
    baseline: str
    kernel_labels: tuple[str, ...] = ()
    case_labels: tuple[str, ...] = ()
    title: str = ""
    case_title: str = ""
    statistic: str = ""
    notes: tuple[str, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = _freeze_names(self)
        for name in ("center", "cv_pct", "printed_pct"):
            _set(self, **{name: _frozen(name, getattr(self, name), shape, ndim=2)})
        for name in ("starred", "tested"):
            a = np.array(getattr(self, name), dtype=bool)
            if a.shape != shape:
                raise ShapeError(f"{name}: shape {a.shape}, expected {shape}")
            a.setflags(write=False)
            _set(self, **{name: a})
        for name in ("mark", "case_info"):
            if len(getattr(self, name)) != shape[1]:
                raise ShapeError(f"{name}: {len(getattr(self, name))} entries, expected {shape[1]}")

    @property
    def metric_info(self) -> dict[str, Metric]:
        """The single metric of the table under the benchmark's name (of its first case)."""
        return {self.primary: self.case_info[0]} if self.case_info else {}

    @property
    def primary(self) -> str:
        """Name of the table's metric."""
        return self.case_info[0].title or self.benchmark if self.case_info else self.benchmark

    def replace(self, **changes: Any) -> PublishedTable:
        """Return a changed copy, checked again."""
        return dataclasses.replace(self, **changes)

    def kernel_index(self, name: str) -> int:
        """Return the position of a kernel given by name or by printed label."""
        return kernel_index(self.kernels, self.kernel_labels, name)

    def compare(self, baseline: str | None = None, **options: Any) -> Comparison:
        """Compare the printed centres; p is NaN and a note says why.

        Parameters
        ----------
        baseline : str, optional
            The table's own baseline if None.
        **options
            As in `Results.compare`.
        """
        from tickless.compare import compare

        return compare(self, self.baseline if baseline is None else baseline, **options)

    def to_results(self) -> Results:
        """Return the printed values as results of one sample each, to join with measured ones.

        Raises
        ------
        InvalidParameterError
            If the values are ratios to the table's baseline, or of different units.
        """
        from tickless.results_join import from_printed

        return from_printed(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per cell: kernel, case, unit, better, center, printed_pct, cv_pct ..."""
        from tickless.results_io import published_frame

        return published_frame(self)

    def __reduce__(self) -> tuple[Any, ...]:
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        values["attrs"] = dict(self.attrs)
        return (_rebuild, (type(self), values))

    def __repr__(self) -> str:
        return (
            f"PublishedTable({self.table_id!r}, {len(self.kernels)} kernels x "
            f"{len(self.cases)} cases, baseline {self.baseline!r})"
        )

    def _repr_html_(self) -> str:
        return self.compare()._repr_html_()


class ResultSet(Mapping[str, "Results | PublishedTable"]):
    """Several benchmarks or machines: a mapping of `Results` or `PublishedTable`.

    Keys are table ids for published reports and ``benchmark`` or ``benchmark.sub-heading`` for
    MMTests directories.

    Parameters
    ----------
    entries : mapping
        Key to results; the order is kept.
    notes : sequence of str
        What concerns no single entry (a file left out, a directory not understood).
    name : str
        What the set is: the report, the directory.
    """

    def __init__(
        self,
        entries: Mapping[str, Results | PublishedTable],
        *,
        notes: Sequence[str] = (),
        name: str = "",
    ) -> None:
        if not isinstance(entries, Mapping):
            raise InvalidTypeError(f"entries: expected a mapping, found {type(entries).__name__}")
        for key, entry in entries.items():
            if not isinstance(entry, Results | PublishedTable):
                kind = type(entry).__name__
                raise InvalidTypeError(f"entries[{key!r}]: expected Results, found {kind}")
        self._entries = dict(entries)
        self.notes = texts("notes", notes)
        self.name = name

    def __getitem__(self, key: str) -> Results | PublishedTable:
        known_name("table", key, self._entries)
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def compare(self, baseline: str | None = None, **options: Any) -> ComparisonSet:
        """Compare every entry with the same baseline; see `Results.compare`.

        An entry without that baseline is left out and named in the notes; if no entry has it the
        call fails.
        """
        from tickless.compare import compare_set

        return compare_set(self, baseline, **options)

    def to_frame(self) -> pd.DataFrame:
        """Return all entries in one tidy frame with a column ``table``."""
        import pandas as pd

        frames = [r.to_frame().assign(table=k) for k, r in self._entries.items()]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def __repr__(self) -> str:
        return f"ResultSet({self.name!r}, {len(self)} tables: {', '.join(self)})"

    def _repr_html_(self) -> str:
        from tickless.results_views import of_set

        return of_set(self).html()


def kernel_index(kernels: Sequence[str], labels: Sequence[str], name: str) -> int:
    """Return the position of a kernel by name, else by label; see `Results.kernel_index`."""
    for known in (kernels, labels):
        if name in known:
            return list(known).index(name)
    raise unknown_name("kernel", name, [*kernels, *(x for x in labels if x not in kernels)])


def _freeze_names(r: Results | PublishedTable) -> tuple[int, int]:
    """Check and freeze names and labels; return (n_kernels, n_cases)."""
    for name in ("benchmark", "machine", "case_title"):
        text(name, getattr(r, name))
    for name in ("kernels", "cases"):
        names = _names(name, getattr(r, name))
        if not names:
            raise InvalidParameterError(f"{name}: empty")
        twice = (
            sorted({x for x in names if names.count(x) > 1}) if len(set(names)) < len(names) else []
        )
        if twice:
            raise InvalidParameterError(f"{name}: {twice[0]!r} occurs more than once")
        labels = _names(f"{name[:-1]}_labels", getattr(r, f"{name[:-1]}_labels")) or names
        if len(labels) != len(names):
            raise ShapeError(f"{name[:-1]}_labels: {len(labels)} entries, expected {len(names)}")
        _set(r, **{name: names, f"{name[:-1]}_labels": labels})
    if not isinstance(r.attrs, Mapping):
        raise InvalidTypeError(f"attrs: expected a mapping, found {type(r.attrs).__name__}")
    _set(r, notes=texts("notes", r.notes), attrs=MappingProxyType(dict(r.attrs)))
    return len(r.kernels), len(r.cases)


def _some(names: list[str]) -> str:
    """Return all names, or the first of many."""
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} more"


def _names(name: str, values: Any) -> tuple[str, ...]:
    """Return several names, numbers as their text."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        kind = type(values).__name__
        raise InvalidTypeError(f"{name}: expected a list of names, found {kind} {values!r:.80}")
    return tuple(str(x) for x in values)


def _frozen(name: str, value: Any, shape: tuple[int, int], ndim: int = 3) -> Array:
    """Return `value` as a read-only C-contiguous float64 array of the expected leading shape."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and not value.flags.writeable:
        a = np.ascontiguousarray(value)
    else:
        try:
            if np.iscomplexobj(value):
                raise TypeError("complex numbers")
            # A masked value is a missing one.
            filled = np.ma.filled(value.astype(float), np.nan) if np.ma.isMA(value) else value
            a = np.array(filled, dtype=np.float64, order="C")
        except (TypeError, ValueError) as e:
            raise InvalidTypeError(f"{name}: not an array of numbers ({e})") from None
    if a.ndim < ndim or (ndim == 2 and a.ndim != 2) or a.shape[:2] != shape:
        raise ShapeError(
            f"{name}: shape {a.shape}, expected ({shape[0]} kernels, {shape[1]} cases"
            f"{', repeats' if ndim == 3 else ''})"
        )
    if ndim == 3 and 0 in a.shape[2:]:
        raise ShapeError(f"{name}: shape {a.shape}: no repeats; a missing value is NaN")
    a.setflags(write=False)
    return a


def _set(obj: object, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(obj, name, value)


def _rebuild(cls: type[Any], values: dict[str, Any]) -> Any:
    return cls(**values)


def _index(names: Sequence[str]) -> dict[str, int]:
    return {n: i for i, n in enumerate(names)}


def _at(known: Mapping[str, int], kind: str, name: str) -> int:
    known_name(kind, name, known)
    return known[name]
