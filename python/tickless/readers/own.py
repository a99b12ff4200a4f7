"""csv and json written by `Results.to_csv` and `Results.to_json`: back to the same bits."""

from __future__ import annotations

import re

from tickless.readers.log import Log
from tickless.readers.reader import Reader
from tickless.results import Results

LARGEST = 1 << 28
"""Characters of text kept at most; a result file is read whole."""


def read(log: Log) -> Results:
    """Read a result file of our own.

    Raises
    ------
    InputError
        If the file is damaged, of a newer version, or larger than 256 MiB.
    """
    text = log.text(LARGEST)
    if text.lstrip().startswith("{"):
        return Results.from_json(text, log.name)
    return Results.from_csv(text, log.name)


READER = Reader(
    "tickless results",
    "csv or json that this package wrote, exactly",
    re.compile(r'\A# tickless-results |\A\s*\{"format": "tickless-results"'),
    read,
)
