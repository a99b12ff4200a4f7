"""Idle CSVs: one row per idle episode, made from a trace by another program."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np

from tickless.errors import InputError, InvalidTypeError
from tickless.idle_table import IdleTable
from tickless.periods import IdlePeriods
from tickless.readers.log import Log, Source
from tickless.trace_periods import NOT_ASKED, TOLD, delta_tick

COLUMNS = (
    "t_enter_ns",
    "cpu",
    "sleep_length_ns",
    "selected",
    "entered",
    "tick_stop",
    "interval_ns",
    "first_event",
    "miss",
)
"""Headings of an idle CSV."""


def read_idle_csv(
    path: Source,
    *,
    states: IdleTable | None = None,
    hz: int | None = None,
) -> IdlePeriods:
    """Read an idle CSV as input for `tickless.replay`.

    Parameters
    ----------
    path : path, bytes or open binary file
        The file: entry time, told sleep length, chosen and entered state, interval, first event.
    states : IdleTable, optional
        States of the recorded machine: ticks are seen at the end of the interval, late by the exit
        latency of the state entered, and the phase of the tick needs it. Without it the latency is
        taken as 0 and a note says so.
    hz : int, optional
        Tick rate of the recorded kernel. Default: the rate that the ticks show.

    Returns
    -------
    IdlePeriods

    Raises
    ------
    InputError
        For other headings or a value that is no number, with its line.
    """
    if states is not None and not isinstance(states, IdleTable):
        raise InvalidTypeError(f"states: expected an IdleTable, found {type(states).__name__}")
    name, head, rows = _read(path)
    if not set(COLUMNS[:7]) <= set(head):
        raise InputError(
            f"{name}, line 1: no idle CSV: expected the headings {','.join(COLUMNS)}; "
            f"found {','.join(head)[:80]}",
            name,
            1,
            "not-an-idle-csv",
        )

    def column(field: str, empty: int | None = None) -> np.ndarray[Any, np.dtype[np.int64]]:
        values = [_number(name, line, field, row.get(field, ""), empty) for line, row in rows]
        return np.array(values, np.int64)

    start, wake = column("t_enter_ns"), column("interval_ns")
    sleep, cpu, entered = column("sleep_length_ns", NOT_ASKED), column("cpu"), column("entered")
    selected = column("selected", -1)
    got_tick = np.array([row.get("first_event", "").startswith("tick") for _, row in rows], bool)
    notes = ["the file does not tell whether the tick was stopped: it is taken to run"]
    latency = np.zeros(len(rows), np.int64)
    if states is None:
        notes.append("no idle table given: the phase of the tick may be late by an exit latency")
    elif len(rows) and int(entered.max()) >= len(states):
        raise InputError(
            f"{name}: state {entered.max()} was entered, the idle table has {len(states)} states",
            name,
            None,
            "wrong-idle-table",
        )
    else:
        latency = states.exit_latency_ns[entered]
    ticks = (start + wake - latency)[got_tick], cpu[got_tick]
    return IdlePeriods(
        sleep,
        wake,
        delta_tick_ns=delta_tick(start, cpu, sleep, None, ticks, hz, notes),
        got_tick=got_tick,
        cpu=cpu,
        entered=entered,
        selected=np.where(selected < 0, entered, selected),
        start_ns=start,
        sleep_source=TOLD,
        notes=notes,
    )


def _read(path: Source) -> tuple[str, list[str], list[tuple[int, dict[str, str]]]]:
    """Return the name, the headings, and the rows with their line numbers."""
    log = Log(path, errors="strict")
    reader = csv.reader(text for _, text in log)
    try:
        head = next(reader, [])
        rows = [(reader.line_num, dict(zip(head, row, strict=False))) for row in reader if row]
    except csv.Error as e:
        line = reader.line_num
        raise InputError(
            f"{log.name}, line {line}: no csv: {e}", log.name, line, "not-an-idle-csv"
        ) from None
    return log.name, head, rows


def _number(name: str, line: int, field: str, text: str | None, empty: int | None) -> int:
    if text == "" and empty is not None:
        return empty
    try:
        value = int(text or "")
    except ValueError:
        value = -1
    if value < 0 or value > 2**63 - 1:
        raise InputError(
            f"{name}, line {line}: {field}: expected a whole number, found {text!r}",
            name,
            line,
            "bad-value",
        )
    return value
