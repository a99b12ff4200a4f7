"""hackbench as two stations: what limits it on a machine with idle CPUs, by arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tickless import _core
from tickless._arrays import integer, real
from tickless.errors import InvalidParameterError, InvalidTypeError, ShapeError

__all__ = ["HackbenchModel", "hackbench_model"]

LINE_NS, REST_NS, KAPPA = _core.HACKBENCH_DEFAULTS
"""Moving the load line, ns; the server's time without migrations, ns; migrations that queued
wake-ups leave. All from published figures, see the manual."""

SENDERS = 20
"""Senders of a group, and receivers that each of them writes to."""


@dataclass(frozen=True, eq=False)
class HackbenchModel:
    """A solved model; every array has the common shape of the arguments.

    Attributes
    ----------
    groups : ndarray of int64
        Groups of 20 senders and 20 receivers.
    delay_ns : ndarray of float64
        Time of a message that does not depend on others (write, read, pipe).
    demand_ns : ndarray of float64
        Time of a message at the server that all share, the line with the load of the task group.
    throughput : ndarray of float64
        Messages per second, all senders.
    time_ns : ndarray of float64
        Time per message and sender.
    queue : ndarray of float64
        Senders at the server, on average.
    utilisation : ndarray of float64
        Part of the time that the server is busy.
    """

    groups: NDArray[np.int64]
    delay_ns: NDArray[np.float64]
    demand_ns: NDArray[np.float64]
    throughput: NDArray[np.float64]
    time_ns: NDArray[np.float64]
    queue: NDArray[np.float64]
    utilisation: NDArray[np.float64]

    def seconds(self, loops: int = 100_000) -> NDArray[np.float64]:
        """Return the seconds that ``hackbench --loops`` prints.

        Parameters
        ----------
        loops : int
            Messages of each sender to each of its 20 receivers.
        """
        n = integer("loops", loops)
        if n < 1:
            raise InvalidParameterError(f"loops: expected at least 1, found {n}")
        return self.time_ns * 1e-9 * SENDERS * n

    def with_queued_wakeups(
        self,
        kappa: float = KAPPA,
        *,
        threads: int | None = None,
        cache: int | None = None,
        rest_ns: float = REST_NS,
    ) -> HackbenchModel:
        """Return the model with wake-ups queued across caches, which leaves fewer migrations.

        Parameters
        ----------
        kappa : float
            Migrations that are left, as a share, when every wake-up is queued.
        threads, cache : int, optional
            Only wake-ups across groups of so many hardware threads, out of those that share a
            last-level cache, are queued. Default: all.
        rest_ns : float
            Part of the demand that does not come from migrations.
        """
        share = real("kappa", kappa)
        if not 0 <= share <= 1:
            raise InvalidParameterError(f"kappa: expected a share between 0 and 1, found {share}")
        if (threads is None) != (cache is None):
            raise InvalidParameterError("threads, cache: expected both or none")
        if threads is not None and cache is not None:
            group = integer("threads", threads), integer("cache", cache)
            if not 1 <= group[0] <= group[1] < 1 << 32:
                raise InvalidParameterError(
                    f"threads, cache: expected 1 <= threads <= cache, found {threads} and {cache}"
                )
            share = _core.hackbench_lock_group(share, *group)
        rest = np.minimum(_time("rest_ns", rest_ns), self.demand_ns)
        return self._with(rest + (self.demand_ns - rest) * share)

    def without_line(self) -> HackbenchModel:
        """Return the model with a rate limit on the load line, which then serves nobody."""
        return self._with(np.zeros_like(self.demand_ns))

    def _with(self, demand: NDArray[np.float64]) -> HackbenchModel:
        return _solve(self.groups, self.delay_ns, demand)

    @staticmethod
    def demand(
        migrations: Any, line_ns: float = LINE_NS, rest_ns: float = REST_NS
    ) -> NDArray[np.float64]:
        """Return the demand of so many migrations per message, ns: two writes of the line each.

        Parameters
        ----------
        migrations : array_like of float
            Migrations per message.
        line_ns : float
            Moving the line to another CPU.
        rest_ns : float
            What a message takes at the server without migrations.
        """
        each = _numbers("migrations", migrations)
        line, rest = _time("line_ns", line_ns), _time("rest_ns", rest_ns)
        if not bool(np.all((each >= 0) & np.isfinite(each))):
            raise InvalidParameterError("migrations: expected finite numbers of at least 0")
        found = [_core.hackbench_demand(float(m), line, rest) for m in each.ravel()]
        return np.array(found).reshape(each.shape)

    @staticmethod
    def fit(groups: int, delay_ns: float, time_ns: float) -> float:
        """Return the demand at which a message takes so long: the fit of one row of a table.

        Parameters
        ----------
        groups : int
        delay_ns, time_ns : float
            As in `HackbenchModel`.

        Raises
        ------
        InvalidParameterError
            For a time that is shorter than the delay.
        """
        n = _groups(np.asarray(integer("groups", groups)))
        return _core.hackbench_fit(int(n), real("delay_ns", delay_ns), real("time_ns", time_ns))


def hackbench_model(groups: Any, delay_ns: Any, demand_ns: Any) -> HackbenchModel:
    """Solve hackbench as a closed network of two stations, exactly, by mean-value analysis.

    Every sender is a customer: a message takes a delay, then one visit to a server that the whole
    machine shares. No scheduling policy is in it, nor a limit by CPUs; rows with so few groups that
    the server idles are not explained by it. `simulate` runs the same benchmark as tasks.

    Parameters
    ----------
    groups : array_like of int
        Between 1 and 100,000.
    delay_ns, demand_ns : array_like of float
        As in `HackbenchModel`; the three are broadcast against each other.

    Returns
    -------
    HackbenchModel

    Raises
    ------
    InvalidParameterError
        For a number out of range.
    InvalidTypeError
        For groups that are no integers, times that are no numbers.
    ShapeError
        For shapes that cannot be broadcast.

    Examples
    --------
    The row of 16 groups fitted, the patch that queues wake-ups predicted:

    >>> demand = HackbenchModel.fit(16, 2305.0, 3415.0)
    >>> base = hackbench_model([8, 16], 2305.0, demand)
    >>> base.seconds().round(2)
    array([4.68, 6.83])
    >>> (100 * (1 - base.with_queued_wakeups().seconds() / base.seconds())).round(0)
    array([ 1., 31.])
    """
    count = np.asarray(groups)
    if count.dtype.kind not in "iu":
        raise InvalidTypeError(f"groups: expected integers, found {count.dtype.name}")
    times = _numbers("delay_ns", delay_ns), _numbers("demand_ns", demand_ns)
    try:
        arrays = np.broadcast_arrays(count, *times)
    except ValueError:
        raise ShapeError("groups, delay_ns, demand_ns: shapes cannot be broadcast") from None
    n = _groups(arrays[0])
    delay, demand = (a.astype(np.float64) for a in arrays[1:])
    return _solve(n, delay, demand)


def _solve(
    groups: NDArray[np.int64], delay: NDArray[np.float64], demand: NDArray[np.float64]
) -> HackbenchModel:
    solved = _core.hackbench_solve(groups.ravel().astype(np.uint32), delay.ravel(), demand.ravel())
    throughput, time_ns, queue, utilisation = (a.reshape(groups.shape) for a in solved)
    return HackbenchModel(
        groups=groups,
        delay_ns=delay,
        demand_ns=demand,
        throughput=throughput,
        time_ns=time_ns,
        queue=queue,
        utilisation=utilisation,
    )


def _groups(groups: NDArray[Any]) -> NDArray[np.int64]:
    bad = (groups < 1) | (groups > 100_000)
    if bad.any():
        found = groups[bad].ravel()[0]
        raise InvalidParameterError(f"groups: {found} is not between 1 and 100,000")
    return groups.astype(np.int64)


def _numbers(name: str, value: Any) -> NDArray[np.float64]:
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise InvalidTypeError(f"{name}: expected numbers, found {array.dtype.name}")
    return array.astype(np.float64)


def _time(name: str, value: Any) -> float:
    found = real(name, value)
    if not 0 <= found <= 1e12:  # NaN too
        raise InvalidParameterError(f"{name}: {found} ns is not between 0 and 1e12")
    return found
