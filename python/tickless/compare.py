"""Comparison: every kernel against a baseline, as arrays, a table and a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tickless import tables
from tickless.errors import InvalidParameterError, UnknownNameError
from tickless.results import Array, Metric, PublishedTable, Results, ResultSet
from tickless.stats import means, mmtests, notes, rules, welch
from tickless.stats.mmtests_benchmarks import Profile, profile
from tickless.stats.moments import Moments
from tickless.stats.moments import center as center_of
from tickless.stats.pairs import Pairs
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
        if era is not None and era not in mmtests.ERAS:
            raise UnknownNameError(f"unknown era {era!r}; known: {', '.join(mmtests.ERAS)}")
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
        return welch.half_width_pct(Moments.of(self.samples), self.alpha)

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
        return profile(era, *_names(self.benchmark, self.attrs))

    def mmtests_summary(self, era: str, cases: Sequence[int]) -> mmtests.Summary:
        """Return the statistics of an era for some of the cases; styles ask for it.

        Raises
        ------
        InvalidParameterError
            For a published table, which has no samples.
        """
        if self.samples is None:
            raise InvalidParameterError(f"era = {era!r}: a published table has no samples")
        how = self.mmtests_profile(era)
        x = _as_extracted(self.samples[:, list(cases)], how, era)
        return mmtests.summarise(x, self.case_info[0].better, era, how.summary, how.label)

    def mmtests_labels(self, era: str) -> tuple[str, ...]:
        """Return the row labels an era prints for this benchmark."""
        how = self.mmtests_profile(era)
        found = mmtests.summarise(
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
        self._entries = dict(entries)
        self.notes = tuple(notes)

    def __getitem__(self, key: str) -> Comparison:
        if key not in self._entries:
            raise UnknownNameError(f"unknown table {key!r}; known: {', '.join(self)}")
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
        return pd.concat(frames, ignore_index=True)

    def __str__(self) -> str:
        return self.table().rstrip("\n")

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.table(format="html")


def compare(
    results: Results | PublishedTable,
    baseline: str,
    *,
    metric: str | None = None,
    rule: str = "welch",
    alpha: float = 0.05,
    correction: str | None = None,
    min_effect_pct: float = 0.0,
    resamples: int = 999,
    rng: Any = 0,
) -> Comparison:
    """Compare every kernel with one of them.

    Parameters
    ----------
    results : Results or PublishedTable
        What to compare.
    baseline : str
        Name or printed label of the kernel the others are measured against.
    metric : str, optional
        Which metric; the primary one if None.
    rule : str
        ``"welch"``, ``"mann-whitney"`` (exact for few samples), ``"permutation"``,
        ``"bootstrap"`` (BCa), or bug-compatible ``"mmtests-2018"``, ``"mmtests-2023"``,
        ``"mmtests-head"``.
    alpha : float
        Level of the test; intervals have level ``1 - alpha``. The MMTests rules have their own.
    correction : {None, "fdr_bh"}
        Adjust p-values for the number of cells in the table.
    min_effect_pct : float
        A smaller change is never called significant.
    resamples : int
        Draws of ``bootstrap``; ``permutation`` uses at least 9,999 or goes through all splits.
    rng : int, SeedSequence, BitGenerator or Generator
        Source of the draws; the same value gives the same table.

    Returns
    -------
    Comparison

    Raises
    ------
    UnknownNameError
        For an unknown baseline, metric or rule.
    InvalidParameterError
        For a level, threshold or correction out of range.
    """
    chosen = rules.find(rule)
    _check(alpha, min_effect_pct, correction, resamples)
    if isinstance(results, PublishedTable):
        return _published(results, baseline, chosen, alpha, min_effect_pct)
    name = results.primary if metric is None else metric
    results[name]  # raises for an unknown metric
    order = _baseline_first(results, baseline)
    x = results[name]
    x = x.reshape(*x.shape[:2], -1)[order]
    info = results.metric_info[name]
    cells = notes.Cells([results.kernels[i] for i in order], results.cases)
    moments = Moments.of(x)
    center = _center(x, moments, info, chosen, results)
    change = means.change_pct(center, center[:1])
    pairs = Pairs(x, moments, info.mean, alpha, resamples, rng, ~np.isnan(change[1:]))
    tested = _test(x, pairs, info, chosen, correction, min_effect_pct, change)
    detectable = _with_baseline(welch.detectable_pct(pairs).reshape(center[1:].shape), np.nan)
    said = [
        *results.notes,
        *notes.sample_notes(x, moments, info, chosen, alpha, cells),
        *tested.pop("notes"),
    ]
    if chosen.era is None:
        said += notes.undetected(change, tested["significant"], detectable, cells)
    return Comparison(
        benchmark=results.benchmark,
        machine=results.machine,
        metric=name,
        kernels=cells.kernels,
        cases=results.cases,
        kernel_labels=tuple(results.kernel_labels[i] for i in order),
        case_labels=results.case_labels,
        case_title=results.case_title,
        case_info=(info,) * len(results.cases),
        rule=rule,
        alpha=mmtests.TTEST_ALPHA if chosen.era in ("2018", "2023") else alpha,
        min_effect_pct=min_effect_pct,
        correction=correction,
        samples=x,
        count=moments.n,
        center=center,
        stddev=moments.stddev,
        cv_pct=moments.cv_pct,
        change_pct=change,
        improvement_pct=0.0 + info.sign * change,
        detectable_pct=detectable,
        marks=("",) * len(results.cases),
        printed=None,
        printed_pct=None,
        normalised=False,
        notes=tuple(dict.fromkeys(said)),
        attrs=dict(results.attrs),
        **tested,
    )


def compare_set(results: ResultSet, baseline: str | None = None, **options: Any) -> ComparisonSet:
    """Compare every entry of a set with the same baseline; see `compare`.

    Raises
    ------
    UnknownNameError
        If no entry has the baseline.
    """
    out: dict[str, Comparison] = {}
    said = list(results.notes)
    last: UnknownNameError | None = None
    for key, entry in results.items():
        base = baseline
        if base is None:
            if not isinstance(entry, PublishedTable):
                raise InvalidParameterError("baseline: needed, these results do not name one")
            base = entry.baseline
        try:
            entry.kernel_index(base)
        except UnknownNameError as e:
            last = e
            said.append(f"{key}: no kernel {base!r}, left out")
            continue
        out[key] = entry.compare(base, **options)
    if not out:
        raise last or InvalidParameterError("results: empty, nothing to compare")
    return ComparisonSet(out, said)


def _check(alpha: float, min_effect_pct: float, correction: str | None, resamples: int) -> None:
    if not 0 < alpha < 1:
        raise InvalidParameterError(f"alpha = {alpha}: must be between 0 and 1")
    if not 0 <= min_effect_pct < np.inf:
        raise InvalidParameterError(f"min_effect_pct = {min_effect_pct}: must be 0 or more")
    if correction not in rules.CORRECTIONS:
        raise InvalidParameterError(f"correction = {correction!r}: must be None or 'fdr_bh'")
    if resamples < 99:
        raise InvalidParameterError(f"resamples = {resamples}: must be 99 or more")


def _baseline_first(results: Results | PublishedTable, baseline: str) -> list[int]:
    base = results.kernel_index(baseline)
    return [base, *(i for i in range(len(results.kernels)) if i != base)]


def _center(x: Array, moments: Moments, info: Metric, rule: rules.Rule, results: Results) -> Array:
    """Return the reported mean of every cell, as the rule's era computes it."""
    if rule.era is None:
        return center_of(x, moments, info.mean)
    how = profile(rule.era, *_names(results.benchmark, results.attrs))
    extracted = _as_extracted(x, how, rule.era)
    found = mmtests.center(extracted, info.better, rule.era, how.summary)
    return np.where(mmtests.missing(found) | moments.infinite, np.nan, found)


def _test(
    x: Array,
    pairs: Pairs,
    info: Metric,
    rule: rules.Rule,
    correction: str | None,
    min_effect_pct: float,
    change: Array,
) -> dict[str, Any]:
    """Return p_value, ci_low, ci_high, significant and the test's own notes."""
    if rule.test is None:
        return _bug_compatible(x, pairs, info, rule, change)
    shape = change[1:].shape
    found = rule.test(pairs)
    raw = np.where(pairs.usable, found.p.reshape(shape), np.nan)
    p = rules.corrected(raw, correction)
    low, high = (np.where(pairs.usable, e.reshape(shape), np.nan) for e in (found.low, found.high))
    if info.sign < 0:
        low, high = 0.0 - high, 0.0 - low
    with np.errstate(invalid="ignore"):
        if rule.by_interval and correction is None:
            significant = (low > 0) | (high < 0)
        else:
            significant = p < pairs.alpha
        significant &= np.abs(change[1:]) >= min_effect_pct
    return {
        "p_value": _with_baseline(p, np.nan),
        "ci_low": _with_baseline(low, np.nan),
        "ci_high": _with_baseline(high, np.nan),
        "significant": _with_baseline(significant, False).astype(bool),
        "notes": found.notes,
    }


def _bug_compatible(
    x: Array, pairs: Pairs, info: Metric, rule: rules.Rule, change: Array
) -> dict[str, Any]:
    """Return what the tool stars; the interval is Welch's, for the picture only."""
    stars = mmtests.stars(mmtests.Samples(x, info.better, rule.era or "head"))
    p = np.array(stars.p)
    p[0] = np.nan
    boundaries = welch.welch(pairs)
    low, high = (
        _with_baseline(e.reshape(change[1:].shape), np.nan)
        for e in (boundaries.low, boundaries.high)
    )
    if info.sign < 0:
        low, high = 0.0 - high, 0.0 - low
    said = (f"asterisks as MMTests ({rule.era}) sets them, its defects included",)
    return {
        "p_value": p,
        "ci_low": low,
        "ci_high": high,
        "significant": stars.starred,
        "notes": said,
    }


def _published(
    table: PublishedTable, baseline: str, rule: rules.Rule, alpha: float, min_effect_pct: float
) -> Comparison:
    order = _baseline_first(table, baseline)
    center = table.center[order]
    sign = np.array([m.sign for m in table.case_info])
    change = means.change_pct(center, center[:1])
    none = np.full(center.shape, np.nan)
    said = "printed values only, no samples: no p-value, no interval"
    return Comparison(
        benchmark=table.benchmark,
        machine=table.machine,
        metric=table.primary,
        kernels=tuple(table.kernels[i] for i in order),
        cases=table.cases,
        kernel_labels=tuple(table.kernel_labels[i] for i in order),
        case_labels=table.case_labels,
        case_title=table.case_title,
        case_info=table.case_info,
        rule=rule.name,
        alpha=alpha,
        min_effect_pct=min_effect_pct,
        correction=None,
        samples=None,
        count=np.zeros(center.shape, dtype=np.int64),
        center=center,
        stddev=none,
        cv_pct=np.array(table.cv_pct[order]),
        change_pct=change,
        improvement_pct=0.0 + sign * change,
        p_value=none,
        ci_low=none,
        ci_high=none,
        detectable_pct=none,
        significant=np.array(table.starred[order]),
        marks=table.mark,
        printed=tuple(table.printed[i] for i in order),
        printed_pct=np.array(table.printed_pct[order]),
        normalised=table.normalised,
        notes=(*table.notes, said),
        attrs=dict(table.attrs),
    )


def _names(benchmark: str, attrs: Mapping[str, Any]) -> tuple[str, str]:
    """Return MMTests' benchmark name and sub-heading."""
    return str(attrs.get("mmtests_benchmark", benchmark)), str(attrs.get("sub_heading", ""))


def _as_extracted(x: Array, how: Profile, era: str) -> Array:
    """Return samples as the tool's extraction hands them on: averaged runs, rounded times."""
    if how.averages and era == "2018":
        x = means.amean(x)[..., None]
    return np.floor(x / how.step + 0.5) * how.step if how.step else x


def _with_baseline(x: Any, value: Any) -> Any:
    return np.concatenate([np.full((1, *x.shape[1:]), value), x])
