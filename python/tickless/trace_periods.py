"""From recorded idle intervals to input for replay: sleep length, tick, what the kernel chose.

The rules are those under which the governors of real 6.12 kernels are reproduced best: the measured
time is the whole interval, and the next tick follows from the phase of the ticks that are seen.

Limits: the phase is that of the first tick of each CPU. In a trace of many minutes whose clock is
disciplined differently from the kernel's timer clock the true phase drifts away from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tickless._arrays import integers
from tickless.errors import InputError, InvalidParameterError
from tickless.periods import SLEEP_SOURCES, IdlePeriods
from tickless.read_report import OPEN

if TYPE_CHECKING:
    from tickless.trace import Trace

TICK_RATES = (100, 250, 300, 1000)
"""Values of CONFIG_HZ."""

NOT_ASKED = 2**62
"""Sleep length, ns, of a period whose governor did not ask for one: longer than everything."""

NO_CHOICE = 255
"""The core's mark for a period without a recorded choice."""

TOLD, HINDSIGHT, ARGUMENT = range(len(SLEEP_SOURCES))


def idle_periods(trace: Trace, sleep_length_ns: ArrayLike | None, hz: int | None) -> IdlePeriods:
    """Return the complete intervals of a trace; see `Trace.idle_periods`."""
    idle, beside = trace.idle, trace._episodes
    closed = ~np.ma.getmaskarray(idle.end_ns)
    start, cpu = idle.start_ns[closed], idle.cpu[closed].astype(np.uint32)
    entered = idle.state[closed]

    def column(name: str) -> NDArray[Any] | None:
        return beside[name][closed] if len(beside[name]) else None

    notes: list[str] = []
    sleep, source = _sleep_lengths(
        trace, cpu, column("told_ns"), column("next_timer_ns"), sleep_length_ns, notes
    )
    stopped = column("tick_stopped")
    if stopped is None:
        notes.append("the trace has no tick_stop events: the tick is taken to run at every select")
    is_tick = trace.marks._columns["kind"].codes == _TICK  # type: ignore[union-attr]
    ticks = trace.marks.time_ns[is_tick], trace.marks.cpu[is_tick]
    chosen = column("chosen")
    selected = entered
    if chosen is None:
        notes.append("no probe shows the governor's choice: the state entered stands for it")
    else:
        selected = np.where(chosen == NO_CHOICE, entered, chosen)
    return IdlePeriods(
        sleep,
        np.ma.getdata(idle.end_ns)[closed] - start,
        delta_tick_ns=delta_tick(start, cpu, sleep, stopped, ticks, hz, notes),
        tick_stopped=stopped,
        got_tick=column("got_tick"),
        cpu=cpu,
        entered=entered,
        selected=selected,
        start_ns=start,
        sleep_source=source,
        notes=notes,
    )


_TICK = 3
"""Code of a tick in the kinds of ``Trace.marks``."""


def _sleep_lengths(
    trace: Trace,
    cpu: NDArray[np.uint32],
    told: NDArray[np.int64] | None,
    next_timer: NDArray[np.int64] | None,
    given: ArrayLike | None,
    notes: list[str],
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the sleep length and its source per period, by the first source that has one."""
    sleep = np.full(len(cpu), OPEN, np.int64)
    source = np.full(len(cpu), ARGUMENT, np.uint8)
    if told is not None:
        # A CPU whose probe fired at all would have shown every question.
        probed = np.isin(cpu, np.unique(cpu[told != OPEN]))
        sleep[probed] = np.where(told == OPEN, NOT_ASKED, told)[probed]
        source[probed] = TOLD
        silent = int(np.count_nonzero(told[probed] == OPEN))
        if silent:
            notes.append(f"{silent} periods: the governor did not ask for the sleep length")
    if next_timer is not None:
        seen = (sleep == OPEN) & (next_timer != OPEN)
        sleep[seen] = next_timer[seen]
        source[seen] = HINDSIGHT
        if seen.any():
            notes.append(
                f"{int(seen.sum())} sleep lengths are hindsight: the next timer expiry on the CPU"
            )
    missing = sleep == OPEN
    if missing.any():
        if given is None:
            raise _no_sleep_length(trace, int(missing.sum()))
        values = integers("sleep_length_ns", given, np.int64)
        if not isinstance(values, int) and len(values) != len(sleep):
            raise InvalidParameterError(
                f"sleep_length_ns: expected one value or one per complete interval ({len(sleep)}), "
                f"found {len(values)}"
            )
        sleep[missing] = np.broadcast_to(np.asarray(values, np.int64), sleep.shape)[missing]
        notes.append(f"{int(missing.sum())} sleep lengths are the caller's argument")
    return sleep, source


def _no_sleep_length(trace: Trace, n: int) -> InputError:
    return InputError(
        f"{trace.report.path}: the sleep length of {n} idle periods is unknown; it comes from the "
        "return probe of tick_nohz_get_sleep_length (an event named slen with ret=), or from timer "
        "events on the CPU (hrtimer_expire_entry), or from the argument sleep_length_ns",
        trace.report.path,
        None,
        "no-sleep-length",
    )


def delta_tick(
    start: NDArray[np.int64],
    cpu: NDArray[Any],
    sleep: NDArray[np.int64],
    stopped: NDArray[np.bool_] | None,
    ticks: tuple[NDArray[np.int64], NDArray[Any]],
    hz: int | None,
    notes: list[str],
) -> NDArray[np.int64] | None:
    """Return the time to the next programmed event, or None for the default of `IdlePeriods`."""
    if hz is not None and hz not in TICK_RATES:
        raise InvalidParameterError(
            f"hz: expected one of {', '.join(map(str, TICK_RATES))}, found {hz}"
        )
    times, tick_cpu = ticks
    if not len(times):
        notes.append("no tick events: the next tick is taken to be at most one tick away")
        return None
    hz = tick_rate(times, tick_cpu) if hz is None else hz
    if hz is None:
        notes.append("too few tick events to tell the tick rate; give hz= to use their phase")
        return None
    tick = 1_000_000_000 // hz
    delta = np.minimum(sleep, tick)
    seen, first = np.unique(tick_cpu, return_index=True)
    for number, phase in zip(seen.tolist(), times[first].tolist(), strict=True):
        here = cpu == number
        delta[here] = np.minimum(sleep[here], (phase - start[here]) % tick)
    if stopped is not None:
        delta = np.where(stopped, sleep, delta)
    return delta


def tick_rate(times: NDArray[np.int64], cpu: NDArray[Any]) -> int | None:
    """Return the tick rate that tick events show, or None if there are too few.

    Parameters
    ----------
    times : ndarray of int64, (n,)
        Times of ticks, ns.
    cpu : ndarray of int, (n,)
        Their CPUs.

    Returns
    -------
    int or None
        The slowest of `TICK_RATES` on whose grid nine in ten gaps lie, some of them one tick long.
    """
    order = np.lexsort((times, cpu))
    same = np.diff(cpu[order].astype(np.int64)) == 0
    gaps = np.diff(times[order])[same]
    if len(gaps) < 3:
        return None
    for hz in TICK_RATES:
        tick = 1e9 / hz
        whole = np.round(gaps / tick)
        on_grid = np.abs(gaps - whole * tick) < 0.05 * tick
        if on_grid.mean() >= 0.9 and (whole[on_grid] == 1).any():
            return hz
    return None
