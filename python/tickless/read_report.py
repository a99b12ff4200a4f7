"""What a reader says about its input: counts, reasons, places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tickless import _html

LOUD_SHARE = 0.10
"""Share of damaged lines among the event lines above which reading warns aloud."""

EXPLAINED = {
    "unknown-event": "events that no table is made of",
    "failed-to-parse": "events that trace-cmd could not print",
    "bad-fields": "events with damaged fields",
    "bad-cpu": "CPU numbers above 65535",
    "continuation": "rest of a body that held a line end",
    "not-a-trace-line": "lines that are no part of a trace",
    "cut-last-line": "the last line is cut",
    "line-too-long": "lines above 65536 bytes",
    "blank": "blank lines",
    "callchain": "call chains",
    "function-trace": "lines of the function tracer",
}
"""Reasons for which a line is skipped, in words."""


@dataclass(frozen=True, eq=False, repr=False)
class ReadReport:
    """Counts, reasons and places of one reading.

    Attributes
    ----------
    path : str
        The input as the caller named it; several are joined by commas.
    format : str
        ``ftrace-text``, ``trace-cmd-text``, ``ftrace-latency``, ``perf-script``, ``systrace-html``.
    time_base : {"absolute", "relative"}
        Relative times count from an arbitrary origin.
    lines, events, used : int
        Physical lines, lines that look like an event, events that were read.
    skipped : dict of str to int
        Lines that were skipped, by reason.
    first_lines : dict of str to list of int
        The first 20 line numbers per reason.
    damaged : int
        Event lines that were skipped for damage.
    warnings : list of dict
        ``line`` (absent for the whole file), ``code``, and ``cpu`` where time went back; in line
        order, the first 20 per code.
    header : dict or None
        What the lines in front of the events say.
    lost : list of dict
        ``line``, ``cpu``, ``events`` (None if the tracer does not know how many).
    lost_in_header : int or None
        Events that the ring buffer overwrote.
    reordered : dict of str to int
        Events older than the one before on their CPU, by ``cpuN``.
    tgids : dict of int to int
        Thread groups by process number, where the trace shows them.
    unknown_events : dict of str to int
        Events that no table is made of, by name.
    cpus_seen : ndarray of uint16
        CPUs with events.
    span_ns : tuple of int or None
        Time of the first and the last event that was read.
    cpu_id_differs : int
        ``cpu_idle`` lines whose ``cpu_id`` is not the CPU in brackets.
    idle_tail_open, idle_head_unknown, exit_without_enter, exit_after_loss : int
        Intervals without an end; CPUs that were idle before the trace; exits without an entry;
        exits whose entry was lost.
    idle_reentered, idle_zero_length, idle_broken_count : int
        Entries while idle; intervals of length 0; intervals that span a loss.
    """

    path: str
    format: str
    time_base: str
    lines: int
    events: int
    used: int
    skipped: dict[str, int]
    first_lines: dict[str, list[int]]
    damaged: int
    warnings: list[dict[str, Any]]
    header: dict[str, Any] | None
    lost: list[dict[str, Any]]
    lost_in_header: int | None
    reordered: dict[str, int]
    tgids: dict[int, int]
    unknown_events: dict[str, int]
    cpus_seen: NDArray[np.uint16]
    span_ns: tuple[int, int] | None
    cpu_id_differs: int
    idle_tail_open: int
    idle_head_unknown: int
    exit_without_enter: int
    exit_after_loss: int
    idle_reentered: int
    idle_zero_length: int
    idle_broken_count: int

    @property
    def counts(self) -> dict[str, Any]:
        """Lines, events, used, skipped."""
        return {
            "lines": self.lines,
            "events": self.events,
            "used": self.used,
            "skipped": self.skipped,
        }

    @property
    def is_damaged(self) -> bool:
        """More than a tenth of the event lines were skipped for damage."""
        return self.damaged > LOUD_SHARE * max(self.events, 1)

    def rows(self) -> list[tuple[str, str]]:
        """Return what there is to say as pairs of a heading and a text, 4 to 13 of them."""
        rows = [
            ("input", f"{self.path} ({self.format})"),
            ("lines", f"{self.lines} lines, {self.events} events, {self.used} read"),
            ("CPUs", _cpu_text(self.cpus_seen)),
            ("time", self._span_text()),
            ("idle", self._idle_text()),
        ]
        if self.lost or self.lost_in_header:
            known = sum(loss["events"] or 0 for loss in self.lost)
            ring = f"; {self.lost_in_header} overwritten" if self.lost_in_header else ""
            rows.append(("lost", f"{len(self.lost)} gaps, {known} events named{ring}"))
        for code in sorted(self.skipped, key=lambda c: (-self.skipped[c], c))[:5]:
            rows.append(("skipped", self._skip_text(code)))
        if self.reordered:
            total = sum(self.reordered.values())
            rows.append(("order", f"time went back {total} times on {len(self.reordered)} CPUs"))
        if self.cpu_id_differs:
            rows.append(("cpu_id", f"{self.cpu_id_differs} idle events name another CPU"))
        return rows

    def warning_lines(self) -> list[str]:
        """Return the warnings as sentences for a terminal, one per code; empty for a clean file."""
        first: dict[str, list[str]] = {}
        for w in self.warnings:
            place = f"{w['path']}:{w['line']}" if "path" in w else str(w.get("line", ""))
            first.setdefault(w["code"], []).append(place)
        told = []
        for code, places in first.items():
            total = self.skipped.get(code, len(places))
            where = f" (line {', '.join(places[:3])}{', ...' if total > 3 else ''})"
            count = f"{total} x " if total > 1 else ""
            told.append(f"{self.path}: {count}{code}{where if places[0] else ''}")
        return told

    def _span_text(self) -> str:
        if self.span_ns is None:
            return "no events"
        first, last = self.span_ns
        text = f"{_seconds(first)} s to {_seconds(last)} s, {_seconds(last - first)} s long"
        return text + (", from an arbitrary origin" if self.time_base == "relative" else "")

    def _idle_text(self) -> str:
        odd = {
            "open at the end": self.idle_tail_open,
            "idle before the trace": self.idle_head_unknown,
            "broken by losses": self.idle_broken_count,
            "exits without entry": self.exit_without_enter + self.exit_after_loss,
            "entered while idle": self.idle_reentered,
            "of length 0": self.idle_zero_length,
        }
        told = [f"{n} {what}" for what, n in odd.items() if n]
        return ", ".join(told) if told else "every interval is complete"

    def _skip_text(self, code: str) -> str:
        text = f"{self.skipped[code]} {EXPLAINED[code]}"
        if code == "unknown-event":
            common = sorted(self.unknown_events, key=lambda n: -self.unknown_events[n])[:4]
            return f"{text} ({', '.join(common)})"
        first = self.first_lines.get(code, [])[:3]
        return f"{text} ({code}, line {', '.join(map(str, first))})" if first else text

    def __str__(self) -> str:
        return "\n".join(f"{head:<8}{text}" for head, text in self.rows())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _html.table(("", ""), self.rows(), caption="Read report", left=(0, 1))


def _seconds(ns: int) -> str:
    """Return ns as seconds with nine decimals, in integers."""
    sign = "-" if ns < 0 else ""
    return f"{sign}{abs(ns) // 1_000_000_000}.{abs(ns) % 1_000_000_000:09d}"


def _cpu_text(cpus: NDArray[np.uint16]) -> str:
    """Return CPUs as a list of ranges, the way Linux prints them."""
    if not len(cpus):
        return "none"
    breaks = np.flatnonzero(np.diff(cpus.astype(np.int64)) != 1)
    starts = cpus[np.concatenate([[0], breaks + 1])].tolist()
    ends = cpus[np.concatenate([breaks, [len(cpus) - 1]])].tolist()
    ranges = [f"{a}" if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True)]
    shown = ",".join(ranges[:12]) + (",..." if len(ranges) > 12 else "")
    return f"{shown} ({len(cpus)})"


def report_from(raw: dict[str, Any]) -> ReadReport:
    """Make the report of what the core found; `raw` is its dictionary."""
    times = [raw[t]["time_ns"] for t in _TIMED if len(raw[t]["time_ns"])]
    idle = [raw[t]["start_ns"] for t in ("idle", "idle_broken") if len(raw[t]["start_ns"])]
    ends = raw["idle"]["end_ns"]
    ends = ends[ends != OPEN]
    lows = [int(t[0]) for t in [*times, *idle]]
    highs = [int(t[-1]) for t in [*times, *idle]] + ([int(ends.max())] if len(ends) else [])
    return ReadReport(
        path=", ".join(name for name, _ in raw["sources"]),
        format=raw["format"],
        time_base="relative" if raw["relative"] else "absolute",
        warnings=[_remark(line, code, cpu, raw["sources"]) for line, code, cpu in raw["warnings"]],
        reordered={f"cpu{cpu}": n for cpu, n in raw["reordered"].items()},
        tgids=raw["tgids"],
        unknown_events=dict(raw["unknown_events"]),
        span_ns=(min(lows), max(highs)) if lows else None,
        idle_broken_count=len(raw["idle_broken"]["cpu"]),
        **{field: raw[field] for field in _SAME},
    )


OPEN = -(2**63)
"""The core's mark for an end or value that was not seen."""

_TIMED = ("switches", "wakeups", "wakings", "idle_misses", "frequency", "marks")

_SAME = (
    "lines",
    "events",
    "used",
    "skipped",
    "first_lines",
    "damaged",
    "header",
    "lost",
    "lost_in_header",
    "cpus_seen",
    "cpu_id_differs",
    "idle_tail_open",
    "idle_head_unknown",
    "exit_without_enter",
    "exit_after_loss",
    "idle_reentered",
    "idle_zero_length",
)


def _remark(
    line: int | None, code: str, cpu: int | None, sources: list[tuple[str, int]]
) -> dict[str, Any]:
    remark: dict[str, Any] = {} if line is None else {"line": line}
    if line is not None and len(sources) > 1:
        path, before = [s for s in sources if s[1] < line][-1]
        remark = {"path": path, "line": line - before}
    remark["code"] = code
    if code == "time-went-back":
        remark["cpu"] = cpu
    return remark
