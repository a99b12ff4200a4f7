"""MMTests' tab-separated extraction: metric, factorA, factorB, interval, value, extra."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tickless.errors import InputError
from tickless.readers.log import Log, LogNote
from tickless.readers.mmtests.rules import Rule

FIELDS = 6
HEADER = ("metric", "factora", "factorb", "interval", "value", "extra")


def read_extraction(
    path: str, rule: Rule, errors: str, notes: list[LogNote]
) -> Iterator[tuple[str, str, tuple[Any, ...], NDArray[np.float64]]]:
    """Yield (table, case, order, values) of an extraction, nothing for any other file.

    The case is the metric with its factors, ``_`` and empty ones left out. The format names
    neither unit nor direction; they are those of the benchmark's rule: the table whose
    sub-heading the case begins with, else the only one.
    """
    log = Log(path, errors=errors)
    values: dict[str, list[float]] = {}
    try:
        for number, line in log:
            fields = line.split("\t")
            if len(fields) != FIELDS:
                if number == 1:
                    return
                if line.strip():
                    log.fault("not-a-row", f"{len(fields)} fields instead of {FIELDS}")
                continue
            if tuple(f.strip().lower() for f in fields) == HEADER:
                continue
            value = log.number(fields[4].strip())
            if value is not None:
                parts = (f.strip() for f in fields[:3])
                case = "-".join(p for p in parts if p not in ("", "_"))
                values.setdefault(case, []).append(value)
    except InputError as e:
        if errors == "strict":
            raise
        notes.append(LogNote(e.code, str(e), path, (), 1))
    notes += log.notes
    for rank, (case, numbers) in enumerate(values.items()):
        table = next((t for t in rule.tables if t and case.startswith(t)), "")
        if table in rule.tables:
            yield table, case, (rank,), np.array(numbers)
