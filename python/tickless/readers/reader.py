"""What a reader of one tool's output is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tickless.readers.log import Log
from tickless.readers.reading import Reading
from tickless.results import Results


@dataclass(frozen=True)
class Reader:
    """One entry of the list of readers.

    Attributes
    ----------
    name : str
        Name of the tool.
    summary : str
        One line: what is taken from its output.
    signature : compiled pattern
        Found near the beginning of this tool's output and of no other's listed before it.
    read : callable
        Reads one log; a file of our own gives `Results` at once.
    """

    name: str
    summary: str
    signature: re.Pattern[str]
    read: Callable[[Log], Reading | Results]
