"""What pictures and exports need of a timeline: waits, wake-ups, preemptions and lag per task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tickless._arrays import texts
from tickless.errors import InvalidParameterError

if TYPE_CHECKING:
    from tickless.timeline import Timeline

SPAN = np.dtype([("start_ns", np.int64), ("end_ns", np.int64), ("task", np.int64)])
WAKEUP = np.dtype([("t_ns", np.int64), ("task", np.int64), ("preempts", np.bool_)])
SWITCH = np.dtype([("t_ns", np.int64), ("task", np.int64)])


def _codes(*words: str) -> list[int]:
    from tickless.timeline import OPERATIONS

    return [OPERATIONS.index(word) for word in words]


def _valid(t: Timeline, *names: str) -> tuple[NDArray[np.int64], ...]:
    keep = t.rows["valid"].data == 1
    return tuple(t.rows[name].data[keep] for name in names)


def wakeups(t: Timeline) -> NDArray[np.void]:
    """Return forks and wake-ups, and whether each took the CPU from the running task.

    Returns
    -------
    ndarray, shape (n_wakeups,)
        Structured: ``t_ns``, ``task``, ``preempts``.
    """
    names = ("t_ns", "op", "arg", "prev", "resched", "next")
    time, op, arg, prev, asked, after = _valid(t, *names)
    chosen = np.flatnonzero(np.isin(op, _codes("FORK", "WAKE", "SWAKE")))
    found = np.empty(len(chosen), WAKEUP)
    found["t_ns"], found["task"] = time[chosen], arg[chosen]
    # In kernel mode the switch waits for a later row.
    switches = np.flatnonzero(after != prev)
    at = np.append(switches, -1)[np.searchsorted(switches, chosen)]
    forced = ~np.isin(op, _codes("BLOCK", "SBLOCK", "YIELD"))[at] & (at >= 0)
    busy = (prev[chosen] >= 0) & (asked[chosen] == 1)
    found["preempts"] = busy & forced & (after[at] == arg[chosen])
    return found


def preemptions(t: Timeline) -> NDArray[np.void]:
    """Return when a task was switched out although it could and would have gone on.

    Returns
    -------
    ndarray, shape (n_preemptions,)
        Structured: ``t_ns``, ``task`` that was switched out.
    """
    time, op, prev, after = _valid(t, "t_ns", "op", "prev", "next")
    out = (prev >= 0) & (after != prev) & ~np.isin(op, _codes("BLOCK", "SBLOCK", "YIELD"))
    found = np.empty(int(out.sum()), SWITCH)
    found["t_ns"], found["task"] = time[out], prev[out]
    return found


def waits(t: Timeline) -> NDArray[np.void]:
    """Return who was ready to run but did not.

    Returns
    -------
    ndarray, shape (n_waits,)
        Structured: ``start_ns``, ``end_ns``, ``task``; in order of the task, then of time.
    """
    (time,) = _valid(t, "t_ns")
    task, first, last = _wait_rows(t)
    found = np.empty(len(task), SPAN)
    found["task"], found["start_ns"] = task, time[first]
    found["end_ns"] = np.append(time, t.end_ns)[last]
    kept: NDArray[np.void] = found[found["end_ns"] > found["start_ns"]]
    return kept


def _wait_rows(t: Timeline) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return task, first row and end row of each wait; the end is one beyond the rows if open."""
    op, arg, prev, after = _valid(t, "op", "arg", "prev", "next")
    order = np.arange(len(op))
    roused = np.isin(op, _codes("FORK", "WAKE", "SWAKE", "MIGIN"))
    dropped = (prev >= 0) & (after != prev) & ~np.isin(op, _codes("BLOCK", "SBLOCK"))
    taken = (after >= 0) & (after != prev)
    left = np.isin(op, _codes("MIGOUT"))
    # Within a row a task becomes ready (0) before it is taken (1).
    parts = [(roused, arg, 0), (dropped, prev, 0), (taken, after, 1), (left, arg, 1)]
    task = np.concatenate([who[mask] for mask, who, _ in parts])
    row = np.concatenate([order[mask] for mask, _, _ in parts])
    kind = np.concatenate([np.full(int(mask.sum()), k) for mask, _, k in parts])
    by = np.lexsort((kind, row, task))
    task, row, kind = task[by], row[by], kind[by]
    follows = np.append(task[1:] == task[:-1], False)
    next_row, next_kind = np.append(row[1:], len(op)), np.append(kind[1:], 1)
    begins = (kind == 0) & ~(follows & (next_kind == 0))
    end = np.where(follows, next_row, len(op))
    return task[begins], row[begins], end[begins]


def lag_reference(t: Timeline) -> str | None:
    """Return the column that virtual run times are compared with; None without virtual time."""
    if "avg_vruntime" in t.columns and t.policy.startswith("eevdf"):
        return "avg_vruntime"
    return "min_vruntime" if "min_vruntime" in t.columns else None


def lag(t: Timeline, task: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return how far a task's virtual run time lies behind the queue's, row by row.

    While a task waits its virtual run time stands still, so the value seen when it is switched in
    holds for the whole wait.

    Parameters
    ----------
    t : Timeline
    task : int
        Number of the task.

    Returns
    -------
    t_ns : ndarray of int64, shape (n,)
        Times of the rows.
    lag : ndarray of float64, shape (n,)
        Virtual ns; NaN while the task is neither running nor waiting. Positive: it is owed time.
    """
    reference = lag_reference(t)
    if reference is None:
        return np.empty(0, np.int64), np.empty(0)
    names = ("t_ns", "op", "arg", "next", "arg_vruntime", "next_vruntime", reference)
    time, op, arg, after, own, nexts, ref = _valid(t, *names)
    running = after == task
    blocks = (arg == task) & np.isin(op, _codes("BLOCK", "SBLOCK"))
    told = running | blocks | ((arg == task) & ~np.isin(op, _codes("MIGOUT")))
    at = np.flatnonzero(told)
    if not len(at):
        return time, np.full(len(time), np.nan)
    vruntime = np.where(running, nexts, own)
    # The next row that tells. For a wait that the run's end cuts short it is the last one, if that
    # lies in this wait; otherwise the place where the task was preempted is not known.
    order = np.arange(len(time))
    seen = at[np.minimum(np.searchsorted(at, order), len(at) - 1)]
    first = _first_row_of_wait(t, task, len(time))
    waiting = (first >= 0) & (seen >= first)
    # A row shows the queue without the task that has left it: look at the row before.
    ref = np.where(blocks, np.roll(ref, 1), ref)
    value = ref - vruntime[seen]
    if reference == "avg_vruntime":
        # There the lag as it was stored when leaving is known, and a delayed task has not left.
        vlag, delayed, now = _valid(t, "arg_vlag", "arg_delayed", reference)
        value[blocks] = (now - own)[blocks]
        left = blocks & (delayed == 0)
        value[left] = vlag[left]
    shown = value.astype(np.float64)
    shown[~(running | blocks | waiting)] = np.nan
    return time, shown


def _first_row_of_wait(t: Timeline, task: int, n: int) -> NDArray[np.int64]:
    """Return, per row, where the task's wait around it began; -1 where it does not wait."""
    tasks, first, end = _wait_rows(t)
    found = np.full(n, -1)
    for begin, stop in zip(first[tasks == task], end[tasks == task], strict=True):
        found[begin:stop] = begin
    return found


def task_names(names: Sequence[str], n: int) -> list[str]:
    """Return the caller's names of the tasks, checked: one text per task."""
    found = texts("names", names)
    if len(found) != n:
        raise InvalidParameterError(f"names: {len(found)} names for {n} tasks")
    return list(found)
