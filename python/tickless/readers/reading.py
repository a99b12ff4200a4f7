"""What one log says: series of values by metric and case, with units and directions."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tickless.readers.log import Log, LogNote

Parameter = str | int | float


@dataclass(frozen=True)
class Series:
    """The values of one metric in one case.

    Attributes
    ----------
    metric : str
        What was measured: ``"time"``, ``"throughput"`` ...
    unit : str
        Unit of the values.
    better : {"lower", "higher"}
        Which direction is an improvement.
    case : str
        Row label; the empty string if the log has one case only.
    values : (n,) float64 array
        In the order of the log.
    at : (n,) float64 array
        For samples: seconds since the start of the run; else empty.
    """

    metric: str
    unit: str
    better: str
    case: str
    values: NDArray[np.float64]
    at: NDArray[np.float64]


@dataclass(frozen=True)
class Reading:
    """One log, read.

    Attributes
    ----------
    benchmark : str
        Name of the benchmark.
    parameters : dict
        What the log says of how it was run: groups, clients, message size ...
    primary : str
        The metric that is compared unless another is asked for.
    series : tuple of Series
        Results.
    samples : tuple of Series
        Periodic figures printed during the run, if any; `Series.at` is their time.
    notes : tuple of LogNote
        What was damaged or odd.
    """

    benchmark: str
    parameters: Mapping[str, Parameter]
    primary: str
    series: tuple[Series, ...]
    samples: tuple[Series, ...]
    notes: tuple[LogNote, ...]

    def values(self, metric: str, case: str = "") -> NDArray[np.float64]:
        """Return the values of one series, empty if the log has none."""
        for s in self.series:
            if s.metric == metric and s.case == case:
                return s.values
        return np.empty(0)

    def sampled(self, metric: str, case: str = "") -> Series | None:
        """Return the periodic figures of one metric, or None."""
        return next((s for s in self.samples if s.metric == metric and s.case == case), None)


class Gather:
    """Collects values while a log is read; `reading` closes it.

    Parameters
    ----------
    log : Log
        The log being read: its notes go into the reading.
    """

    def __init__(self, log: Log) -> None:
        self.log = log
        self.parameters: dict[str, Parameter] = {}
        self._units: dict[str, tuple[str, str]] = {}
        self._values: dict[tuple[str, str], array[float]] = {}
        self._samples: dict[tuple[str, str], tuple[array[float], array[float]]] = {}

    def metric(self, name: str, unit: str, better: str) -> None:
        """Declare a metric; the first declaration stands."""
        self._units.setdefault(name, (unit, better))

    def add(self, metric: str, text: str, case: str = "") -> None:
        """Append one result; a text that is no finite number is noted and left out."""
        value = self.log.number(text)
        if value is not None:
            self._values.setdefault((metric, case), array("d")).append(value)

    def append(self, metric: str, value: float, case: str = "") -> None:
        """Append a result that was computed from checked numbers."""
        self._values.setdefault((metric, case), array("d")).append(value)

    def put(self, metric: str, text: str, case: str = "") -> None:
        """Set one result, replacing what an earlier block of the log said."""
        value = self.log.number(text)
        if value is not None:
            self._values[metric, case] = array("d", (value,))

    def forget(self, metric: str) -> None:
        """Drop the results of a metric: a newer block of the log replaces them."""
        for key in [k for k in self._values if k[0] == metric]:
            del self._values[key]

    def sample(self, metric: str, at: float, text: str, case: str = "") -> None:
        """Append one periodic figure printed `at` seconds after the start."""
        value = self.log.number(text)
        if value is not None:
            key = (metric, case)
            if key not in self._samples:
                self._samples[key] = (array("d"), array("d"))
            times, values = self._samples[key]
            times.append(at)
            values.append(value)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics with at least one result, in order of their first."""
        return tuple(dict.fromkeys(k[0] for k in self._values))

    def has(self, metric: str) -> bool:
        """Tell whether the metric has at least one result."""
        return metric in self.metrics

    def reading(self, benchmark: str, primary: str) -> Reading:
        """Return what was gathered.

        Raises
        ------
        InputError
            If no result and no sample was found.
        """
        if not self._values and not self._samples:
            log = self.log
            reason = "every value is damaged" if log.faults else "no result line was found"
            remedy = "the run may have failed or the log may be cut: look at its last lines"
            raise log.error("no-values", f"{reason} ({benchmark})", remedy, whole=True)
        if not any(k[0] == primary for k in self._values):
            primary = next(iter(self._values or self._samples))[0]
        none = np.empty(0)
        series = tuple(
            Series(m, *self._units[m], c, np.array(v), none) for (m, c), v in self._values.items()
        )
        samples = tuple(
            Series(m, *self._units[m], c, np.array(v), np.array(t))
            for (m, c), (t, v) in self._samples.items()
        )
        parameters = dict(self.parameters)
        return Reading(benchmark, parameters, primary, series, samples, self.log.notes)
