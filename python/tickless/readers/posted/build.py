"""A posted table while it is read, and the `PublishedTable` made of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tickless.readers.convert import metric_of
from tickless.results import Metric, PublishedTable

HALF = 0.5
"""A printed figure is within half a unit of its last decimal of the true one."""


@dataclass(frozen=True)
class Printed:
    """One cell as printed.

    Attributes
    ----------
    value, percent, cv : str
        Texts; empty if the style has none.
    starred : bool
        The percentage stands between asterisks.
    """

    value: str
    percent: str = ""
    cv: str = ""
    starred: bool = False


BLANK = Printed("")


@dataclass
class Posted:
    """Rows of one table, gathered.

    Attributes
    ----------
    kernels : list of str
        Column headings, the first is the baseline.
    rows : dict
        Case to its cells, one per kernel.
    marks : dict
        Case to the mark behind the row.
    better : dict
        Case to its direction.
    normalised : bool
        Values are ratios to the first column.
    """

    kernels: list[str]
    normalised: bool = False
    rows: dict[str, list[Printed]] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)
    better: dict[str, str] = field(default_factory=dict)
    means: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    benchmark: str = ""
    machine: str = ""
    case_title: str = ""
    statistic: str = ""
    units: str = ""
    style: str = "mmtests"

    def add(self, case: str, cells: Sequence[Printed], mark: str = "") -> None:
        """Append a row; a short one is padded with blanks, a repeated one is kept apart."""
        name, times = case, 1
        while name in self.rows:
            times += 1
            name = f"{case} ({times})"
        if name != case:
            self.notes.append(f"row {case!r} occurs more than once; the later one is {name!r}")
        row = list(cells[: len(self.kernels)])
        if len(cells) != len(self.kernels):
            self.notes.append(
                f"row {case!r} has {len(cells)} cells, the heading {len(self.kernels)} columns"
            )
            row += [BLANK] * (len(self.kernels) - len(row))
        self.rows[name] = row
        self.marks[name] = mark

    def table(self, table_id: str, attrs: Mapping[str, Any]) -> PublishedTable:
        """Return the finished table, with notes on cells that contradict themselves."""
        cases = list(self.rows)
        columns = list(zip(*self.rows.values(), strict=True))
        info = [self._info(c) for c in cases]
        starred = np.array([[c.starred for c in column] for column in columns])
        return PublishedTable(
            table_id=table_id,
            benchmark=self.benchmark,
            machine=self.machine,
            kernels=tuple(self.kernels),
            cases=tuple(cases),
            center=_array(columns, "value"),
            cv_pct=_array(columns, "cv"),
            printed_pct=_array(columns, "percent"),
            mark=tuple(self.marks[c] for c in cases),
            starred=starred,
            # Whether a test was run shows only where some cell of the table is starred.
            tested=np.broadcast_to(starred.any(), starred.shape),
            case_info=tuple(info),
            printed=tuple(tuple(c.value for c in column) for column in columns),
            normalised=self.normalised,
            baseline=self.kernels[0],
            title=self.benchmark,
            case_title=self.case_title,
            statistic=self.statistic,
            notes=(*self.notes, *self._contradictions(cases, info)),
            attrs=dict(attrs) | {"title": self.benchmark, "statistic": self.statistic},
        )

    def _info(self, case: str) -> Metric:
        decimals = max(len(c.value.partition(".")[2]) for c in self.rows[case])
        better = self.better.get(case, "higher")
        metric = metric_of("", better, decimals=decimals, style=self.style, title=self.units)
        mean = self.means.get(case)
        return metric if mean is None else Metric(**{**vars(metric), "mean": mean})

    def _contradictions(self, cases: Sequence[str], info: Sequence[Metric]) -> list[str]:
        """Return a note per row whose printed changes do not follow from its printed values."""
        out = []
        for case, metric in zip(cases, info, strict=True):
            base = self.rows[case][0].value
            wrong = [
                self.kernels[k]
                for k, cell in enumerate(self.rows[case])
                if k and not _follows(base, cell, metric.sign, self.normalised)
            ]
            if wrong:
                out.append(
                    f"row {case!r}: the printed change does not follow from the printed values "
                    f"({', '.join(wrong)})"
                )
        return out


def _follows(base: str, cell: Printed, sign: int, normalised: bool) -> bool:
    """Tell whether the printed change lies in the range that the rounded values allow."""
    if not (base and cell.value and cell.percent):
        return True
    b, v, pct = float(base), float(cell.value), float(cell.percent)
    if b == 0 or v == 0 or not all(map(math.isfinite, (b, v, pct))):
        return True
    half_v = HALF * 10.0 ** -len(cell.value.partition(".")[2])
    half_b = 0.0 if normalised else HALF * 10.0 ** -len(base.partition(".")[2])
    half_pct = HALF * 10.0 ** -len(cell.percent.partition(".")[2])
    ratios = [(v + dv) / (b + db) for dv in (-half_v, half_v) for db in (-half_b, half_b) if b + db]
    changes = sorted(100.0 * sign * (r - 1.0) for r in ratios)
    slack = half_pct * 1.0001
    return changes[0] - slack <= pct <= changes[-1] + slack


def _array(columns: Sequence[Sequence[Printed]], part: str) -> Any:
    return np.array([[float(getattr(c, part) or "nan") for c in column] for column in columns])
