"""The statistics of MMTests by era, defects included: what its tables print.

An era is one revision of the tool: ``"2018"`` (2018-11), ``"2023"`` (2023-08) and ``"head"``
(2026-06). Samples are summed one by one in the order the tool sums them, because the last bit of a
sum decides some asterisks. Nothing here is meant for new work; the sound statistics are in
`means` and `tests`.

Source: the rules as stated for the public MMTests repository at b3726123, 103ee1c4 and 638401e0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tickless.results import Array
from tickless.stats import means
from tickless.stats.means import count
from tickless.stats.mmtests_benchmarks import Profile

ERAS = ("2018", "2023", "head")
SENTINEL = -1.0
"""What eras 2018 and 2023 return for a harmonic mean with a sample of zero or less."""


@dataclass(frozen=True)
class Row:
    """One statistic over all kernels and cases.

    Attributes
    ----------
    label : str
        As printed, e.g. ``"BHmean-50"``.
    value : ndarray
        ``(n_kernels, n_cases)``; NaN for a missing or undefined value.
    by_direction : bool
        The change follows the metric's direction; otherwise lower counts as better.
    is_center : bool
        The row that carries the asterisks.
    random : bool
        The tool's value comes from unseeded resampling.
    """

    label: str
    value: Array
    by_direction: bool = True
    is_center: bool = False
    random: bool = False


class Samples:
    """Samples of one table in the order an era adds them.

    Parameters
    ----------
    x : ndarray
        ``(n_kernels, n_cases, n_samples)`` in file order, padded with NaN.
    better : {"higher", "lower"}
        Direction of the metric.
    era : str
        One of `ERAS`.
    """

    def __init__(self, x: Array, better: str, era: str) -> None:
        self.higher = better == "higher"
        self.era = era
        self.n = count(x)
        self.best_first = means.best_first(x, better)
        packed = np.take_along_axis(x, np.argsort(np.isnan(x), axis=-1, kind="stable"), axis=-1)
        self.x = packed if era == "2018" else self.best_first
        self.letter = "H" if self.higher else "A"

    @property
    def low(self) -> Array:
        """Smallest sample."""
        return _pick(np.sort(self.x, axis=-1), 0, self.n)

    @property
    def high(self) -> Array:
        """Largest sample."""
        return _pick(np.sort(self.x, axis=-1), self.n - 1, self.n)

    def mean(self, keep: NDArray[np.int64] | None = None) -> Array:
        """Return the era's mean: of all samples, or of the `keep` best."""
        x, n = self.x, self.n
        if keep is not None:
            x = np.where(np.arange(x.shape[-1]) < keep[..., None], self.best_first, np.nan)
            n = np.minimum(keep, self.n)
        if not self.higher:
            return means._divide(in_order(x), n)
        with np.errstate(all="ignore"):
            value = means._divide(n, in_order(1.0 / x))
        bad = ((x <= 0) & ~np.isnan(x)).any(axis=-1)
        value[bad] = np.nan if self.era == "head" else SENTINEL
        return value

    def amean(self) -> Array:
        """Return the arithmetic mean."""
        return means._divide(in_order(self.x), self.n)

    def stddev(self) -> Array:
        """Return the spread the era prints: sample deviation, or HStddev in head for rates."""
        if self.era == "head" and self.higher:
            h = self.mean()
            with np.errstate(all="ignore"):
                d = 1.0 / self.x - 1.0 / h[..., None]
                value = np.sqrt(h**4 * in_order(d * d) / self.n)
        else:
            d = self.x - self.amean()[..., None]
            with np.errstate(all="ignore"):
                value = np.sqrt(in_order(d * d) / (self.n - 1))
        return np.where(self.n > 1, value, np.nan)

    def coeffvar(self) -> Array:
        """Return 100 * spread / mean; an undefined spread counts as 0, a mean of 0 gives 0."""
        mean = self.mean() if self.era == "head" else self.amean()
        value = means._divide(100.0 * np.nan_to_num(self.stddev()), mean)
        return np.where(self.n > 0, np.nan_to_num(value), np.nan)

    def best(self, percent: int) -> Array:
        """Return the mean of the best `percent` by the era's way of counting them."""
        t = self.n * percent // 100
        if self.era != "2018":
            return self.mean(np.maximum(1, t))
        return self.mean(t if self.higher else np.minimum(t + 1, self.n))

    def percentile(self, percent: int) -> Array:
        """Return a percentile counted from the best sample (eras 2023 and head)."""
        k = np.maximum(1, self.n * percent // 100)
        return _pick(self.best_first, k - 1, self.n)

    def quantile_2018(self, q: float) -> Array:
        """Return a percentile of the ascending order, counted as era 2018 does."""
        place = np.floor((self.n - 1) * q + 0.5).astype(int)
        return _pick(np.sort(self.x, axis=-1), place, self.n)


def _multiops(s: Samples) -> list[Row]:
    out = _spread(s)
    shares, dot = ((95,), ".") if s.era == "head" else ((50, 95, 99), "-")
    return out + [Row(f"B{s.letter}mean{dot}{p}", s.best(p)) for p in shares]


def _spread(s: Samples, coeffvar: bool = True) -> list[Row]:
    h = "H" if s.era == "head" and s.higher else ""
    return [
        Row("Min", s.low),
        Row(f"{s.letter}mean", s.mean(), is_center=True),
        Row(f"{h}Stddev", s.stddev(), by_direction=False),
        *([Row(f"{h}CoeffVar", s.coeffvar(), by_direction=False)] if coeffvar else []),
        Row("Max", s.high),
    ]


def _subselection(s: Samples) -> list[Row]:
    value, half = means.subsample_mean(s.x)
    name = f"Sub{s.letter}mean"
    # The two eras spell the row of half widths differently.
    width = f"{name}CI" if s.era == "2018" else "SubmeanCI"
    return [
        *_spread(s, coeffvar=s.era != "2018"),
        Row(name, value, random=True),
        Row(width, half, by_direction=False, random=True),
    ]


def _normalised(s: Samples) -> list[Row]:
    low, mean, spread, cv, high = _spread(s)
    b = f"B{s.letter}mean.95"
    return [low, mean, Row(b, s.best(95)), Row("Pctile.95", s.percentile(95)), spread, cv, high]


def _left_skew(s: Samples) -> list[Row]:
    low, mean, spread, cv, high = _spread(s)
    shares = [
        row
        for p in (50, 75, 90, 99)
        for row in (Row(f"B{s.letter}mean.{p}", s.best(p)), Row(f"Pctile.{p}", s.percentile(p)))
    ]
    return [low, mean, *shares, spread, cv, high]


_BEST = (99, 95, 90, 75, 50, 25)


def _variable(s: Samples) -> list[Row]:
    low, mean, spread, cv, high = _spread(s)
    if s.era == "2018":
        quarters = [Row(f"{i}-qrtle", s.quantile_2018(q)) for i, q in _QUARTERS]
        tops = [Row(f"Max-{p}%", s.quantile_2018(p / 100)) for p in (90, 95, 99)]
        best = [Row(f"Best{p}%{s.letter}mean", s.best(p)) for p in _BEST]
        cv = Row("Coeff", cv.value, by_direction=False)
    else:
        quarters = [Row(f"{i}-qrtle", s.percentile(int(100 * q))) for i, q in _QUARTERS]
        tops = [Row(f"Max-{p}", s.percentile(p)) for p in (1, 5, 10, 90, 95, 99)]
        best = [Row(f"B{s.letter}mean-{p}", s.best(p)) for p in _BEST]
    return [low, *quarters, *tops, high, mean, spread, cv, *best]


_QUARTERS = (("1st", 0.25), ("2nd", 0.50), ("3rd", 0.75))

SUMMARIES: dict[str, Callable[[Samples], list[Row]]] = {
    "Multiops": _multiops,
    "Subselection": _subselection,
    "Normalisedops": _normalised,
    "NormalisedLeftSkewops": _left_skew,
    "Variabletime": _variable,
    "Variableops": _variable,
}
"""Summary type to the function that lists its rows in printed order; Singleops is `single`."""


def single(s: Samples, label: str) -> list[Row]:
    """Return the one row of a Singleops table: the first sample in the order of the era."""
    return [Row(label, _pick(s.x, 0, s.n), is_center=True)]


def percent(value: Array, base: Array, higher: bool) -> Array:
    """Return the printed percentage: negative means worse, whatever the direction.

    A missing value or the sentinel gives 0. The result went through text with 15 significant
    digits, as the tool's does.
    """
    with np.errstate(all="ignore"):
        if higher:
            out = value * 100.0 / base - 100.0
            out = np.where((base == 0) | np.isnan(base), 100.0, out)
            out = np.where((value == base) | (value == 0), 0.0, out)
        else:
            out = 100.0 - value * 100.0 / base
            out = np.where(base == 0, -99.0, out)
            out = np.where(value == 0, 100.0, out)
            out = np.where(value == base, 0.0, out)
    out = np.where(missing(value), 0.0, out)
    return digits(out, 15)


def missing(value: Array) -> NDArray[np.bool_]:
    """Return where the tool prints 0.00 with 0.00%: no value, or the sentinel."""
    return np.asarray(np.isnan(value) | (value == SENTINEL))


def digits(x: Array, n: int) -> Array:
    """Return numbers as they come back from text with `n` significant digits."""
    flat = [float(f"{v:.{n}g}") for v in np.asarray(x, dtype=float).ravel().tolist()]
    return np.array(flat).reshape(np.shape(x))


def in_order(x: Array) -> Array:
    """Return sums over the last axis, added one by one from the front."""
    if x.shape[-1] == 0:
        return np.zeros(x.shape[:-1])
    return np.asarray(np.add.accumulate(np.nan_to_num(x, nan=0.0, posinf=np.inf), axis=-1)[..., -1])


def _pick(ordered: Array, place: NDArray[np.int64] | int, n: NDArray[np.int64]) -> Array:
    """Return the samples at `place` of the last axis; NaN where there are none."""
    at = np.clip(np.broadcast_to(place, n.shape), 0, ordered.shape[-1] - 1)
    value = np.take_along_axis(ordered, at[..., None], axis=-1)[..., 0]
    return np.where(n > 0, value, np.nan)


def center(x: Array, better: str, era: str, summary: str) -> Array:
    """Return the value of the row that carries the asterisks; NaN or the sentinel for none."""
    s = Samples(x, better, era)
    return single(s, "")[0].value if summary == "Singleops" else s.mean()


def as_extracted(x: Array, how: Profile, era: str) -> Array:
    """Return samples as the tool's extraction hands them on: averaged runs, rounded times."""
    if how.averages and era == "2018":
        x = means.amean(x)[..., None]
    return np.floor(x / how.step + 0.5) * how.step if how.step else x
