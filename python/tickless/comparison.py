"""`Comparison`: every kernel against a baseline, as arrays, a table and a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tickless import tables
from tickless._arrays import texts
from tickless.errors import InvalidParameterError, InvalidTypeError, known_name
from tickless.results import Array
from tickless.stats import means, mmtests, mmtests_tables, rules, welch
from tickless.stats.mmtests_benchmarks import Profile, profile
from tickless.stats.moments import Moments
from tickless.stats.summary import LETTER
from tickless.stats.summary import rows as summary_rows
from tickless.tables.view import View

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "count",
    "center",
    "stddev",
    "cv_pct",
    "change_pct",
    "improvement_pct",
    "p_value",
    "ci_low",
    "ci_high",
    "detectable_pct",
    "significant",
)
"""Arrays of a comparison that are columns of its frame."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(View):
    """Kernels compared on one metric: the arrays of a `tickless.tables.view.View`, and more.

    Arrays are ``(n_kernels, n_cases)`` with the baseline first: `center`, `change_pct`,
    `improvement_pct`, `cv_pct`, `p_value`, `ci_low`, `ci_high`, `significant` and others; they are
    read-only. Printing shows the table; Jupyter shows the same numbers as HTML.

    See Also
    --------
    tickless.tables.view.View : The attributes one by one.
    """

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @property
    def baseline(self) -> str:
        """Registered name of the baseline."""
        return self.kernels[0]

    @property
    def era(self) -> str | None:
        """Era of the MMTests rule, None for a sound rule."""
        return rules.RULES[self.rule].era

    def replace(self, **changes: Any) -> Comparison:
        """Return a copy with some attributes changed; nothing is computed anew."""
        return replace(self, **changes)

    def table(
        self,
        style: str | None = None,
        format: str = "text",
        era: str | None = None,
        **options: Any,
    ) -> str:
        """Return the comparison as a table.

        Parameters
        ----------
        style : str, optional
            One of `tickless.styles`; the metric's own style if None.
        format : {"text", "html", "csv", "json", "markdown", "latex"}
            Output format; all show the same numbers.
        era : {"2018", "2023", "head"}, optional
            For style ``mmtests``: the tool's text of that era to the byte, defects included. It
            follows the rule; with a sound rule, None gives a table without defects.
        **options
            Options of the style, e.g. ``ratio=True`` for ``mmtests``.

        Raises
        ------
        UnknownNameError
            For an unknown style or format.
        InvalidParameterError
            For an era other than the rule's, or an option the style does not have.
        """
        return tables.render(self.grid(style, era, **options), format)

    def grid(self, style: str | None = None, era: str | None = None, **options: Any) -> tables.Grid:
        """Return the table as a `tickless.tables.Grid`; see `table`."""
        style = style or self.case_info[0].style
        if style == "mmtests":
            options["era"] = self._era(era)
        elif era is not None:
            raise InvalidParameterError(f"era: only style 'mmtests' has eras, not {style!r}")
        return tables.make(style, self, **options)

    def _era(self, era: str | None) -> str | None:
        if era is not None:
            known_name("era", era, mmtests.ERAS)
        if era is not None and self.era is not None and era != self.era:
            raise InvalidParameterError(
                f"era = {era!r}: the rule {self.rule!r} belongs to era {self.era!r}; give one only"
            )
        return era or self.era

    @cached_property
    def half_width_pct(self) -> Array:
        """Half width of each mean's interval of level ``1 - alpha``, percent of the mean."""
        if self.samples is None:
            return np.full(self.center.shape, np.nan)
        with np.errstate(all="ignore"):
            return welch.half_width_pct(Moments.of(self.samples), self.alpha)

    @cached_property
    def gmean_pct(self) -> Array:
        """Improvement by the geometric mean of the ratios, ``(n_kernels,)``, percent.

        Over the cases that both sides have; NaN if there is none, or the change is more than a
        float holds. In a table of mixed directions a time counts by its inverse.
        """
        sign = np.array([m.sign for m in self.case_info])
        log = self._log_ratio
        same = (sign == sign[0]).all()
        factor = means.amean(log if same else log * sign)
        with np.errstate(over="ignore"):
            change = 100.0 * (np.exp(factor) - 1)
        change = np.where(np.isfinite(change), change, np.nan)
        return np.asarray(0.0 + change * (sign[0] if same else 1))

    @cached_property
    def gmean_detectable_pct(self) -> Array:
        """Smallest change of the geometric mean that the samples would show, ``(n_kernels,)``."""
        there = ~np.isnan(self._log_ratio)
        squares = np.where(there, self.detectable_pct**2, 0.0).sum(axis=1)
        with np.errstate(all="ignore"):
            return np.asarray(np.sqrt(squares) / there.sum(axis=1))

    @property
    def _log_ratio(self) -> Array:
        with np.errstate(all="ignore"):
            # The difference: the ratio of two numbers may be none that a float holds.
            log = np.log(self.center)
            return np.where(np.isfinite(log), log, np.nan) - np.where(
                np.isfinite(log[:1]), log[:1], np.nan
            )

    @np.errstate(all="ignore")
    def statistics(self) -> list[tuple[mmtests.Row, Array]]:
        """Return the rows of a sound table with their percentages; styles ask for it."""
        if self.samples is None:
            label = LETTER[self.case_info[0].mean]
            return [(mmtests.Row(label, self.center, is_center=True), self.improvement_pct)]
        info = self.case_info[0]
        rows = summary_rows(self.samples, self.center, info)
        return [
            (
                r,
                means.improvement_pct(
                    r.value, r.value[:1], info.better if r.by_direction else "lower"
                ),
            )
            for r in rows
        ]

    def mmtests_profile(self, era: str) -> Profile:
        """Return how an era of MMTests summarises this benchmark."""
        return profile(era, *mmtests_names(self.benchmark, self.attrs))

    @np.errstate(all="ignore")
    def mmtests_summary(self, era: str, cases: Sequence[int]) -> mmtests_tables.Summary:
        """Return the statistics of an era for some of the cases; styles ask for it.

        Raises
        ------
        InvalidParameterError
            For a published table, which has no samples.
        """
        if self.samples is None:
            raise InvalidParameterError(f"era = {era!r}: a published table has no samples")
        how = self.mmtests_profile(era)
        x = mmtests.as_extracted(self.samples[:, list(cases)], how, era)
        return mmtests_tables.summarise(x, self.case_info[0].better, era, how.summary, how.label)

    @np.errstate(all="ignore")
    def mmtests_ratios(
        self, summary: mmtests_tables.Summary, era: str, cases: NDArray[np.intp]
    ) -> mmtests_tables.Ratios:
        """Return the ratio table of an era for some cases of a summary."""
        return mmtests_tables.ratios(summary, era, cases)

    def mmtests_labels(self, era: str) -> tuple[str, ...]:
        """Return the row labels an era prints for this benchmark."""
        how = self.mmtests_profile(era)
        found = mmtests_tables.summarise(
            np.ones((1, 1, 2)), self.case_info[0].better, era, how.summary, how.label
        )
        return tuple(r.label for r in found.rows)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per kernel and case with all columns of the comparison."""
        import pandas as pd

        k, c = (i.ravel() for i in np.indices(self.center.shape))
        return pd.DataFrame(
            {
                "benchmark": self.benchmark,
                "machine": self.machine,
                "metric": self.metric,
                "unit": [self.case_info[i].unit for i in c],
                "better": [self.case_info[i].better for i in c],
                "kernel": np.array(self.kernels, dtype=object)[k],
                "case": np.array(self.cases, dtype=object)[c],
                **{name: getattr(self, name).ravel() for name in COLUMNS},
                "rule": self.rule,
            }
        )

    def plot(self, kind: str = "effect", *, ax: Any = None, **options: Any) -> Any:
        """Draw the comparison.

        Parameters
        ----------
        kind : {"effect", "samples"}
            Effect with its interval per case, or every sample.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.
        **options
            See `tickless.plots.compare`.

        Returns
        -------
        matplotlib Axes
        """
        from tickless.plots.compare import plot

        return plot(self, kind, ax=ax, **options)

    def __str__(self) -> str:
        return self.table().rstrip("\n")

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.table(format="html")


class ComparisonSet(Mapping[str, Comparison]):
    """Comparisons of several benchmarks or machines with the same baseline.

    Parameters
    ----------
    entries : mapping
        Key to comparison.
    notes : sequence of str
        What concerns no single entry.
    """

    def __init__(self, entries: Mapping[str, Comparison], notes: Sequence[str] = ()) -> None:
        if not isinstance(entries, Mapping):
            raise InvalidTypeError(f"entries: expected a mapping, found {type(entries).__name__}")
        for key, entry in entries.items():
            if not isinstance(entry, Comparison):
                kind = type(entry).__name__
                raise InvalidTypeError(f"entries[{key!r}]: expected a Comparison, found {kind}")
        self._entries = dict(entries)
        self.notes = texts("notes", notes)

    def __getitem__(self, key: str) -> Comparison:
        known_name("table", key, self._entries)
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def table(
        self, style: str | None = None, format: str = "text", era: str | None = None, **options: Any
    ) -> str:
        """Return all tables one below the other; see `Comparison.table`."""
        return tables.render_all(self.grids(style, era, **options), format)

    def grids(
        self, style: str | None = None, era: str | None = None, **options: Any
    ) -> dict[str, tables.Grid]:
        """Return one grid per entry; style ``summary`` makes one of all entries."""
        if style in (None, "mmtests"):
            return {k: c.grid(style, era, **options) for k, c in self.items()}
        return tables.make_all(style, self._entries, **options)

    def to_frame(self) -> pd.DataFrame:
        """Return all comparisons in one frame with a column ``table``."""
        import pandas as pd

        frames = [c.to_frame().assign(table=k) for k, c in self.items()]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def __str__(self) -> str:
        return self.table().rstrip("\n")

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.table(format="html")


def mmtests_names(benchmark: str, attrs: Mapping[str, Any]) -> tuple[str, str]:
    """Return MMTests' benchmark name and sub-heading."""
    return str(attrs.get("mmtests_benchmark", benchmark)), str(attrs.get("sub_heading", ""))
