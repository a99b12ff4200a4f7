"""The published reports printed again from their data, against the text of the posts.

Every table of the four reports is laid out by its style and compared with the printed lines:
reports 000 and 002 to the byte, 003 and 004 word by word, since their archived copies have
collapsed blanks and several rows on a line. Printed lines that do not come out the same are
listed with the reason; a line without a known reason fails the check.
"""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from tickless.errors import InputError
from tickless.published import published, reports
from tickless.validation import Group
from tickless.validation.published_text import lines

NUMBERS = {e.aliases[0]: e.name for e in reports()}
COLLAPSED = ("003", "004")
"""Reports whose archived copy has runs of blanks as one blank."""

PROSE = "prose, no table"
REASONS: dict[str, tuple[tuple[str, str], ...]] = {
    "000": (
        (r"no cahnge", 'the post\'s misspelling of "no change"'),
        (r"^(> > +| +)-{40,80}$", "the rule's length is by hand"),
        (r"\s$", "trailing blanks"),
        (r"(NOTES|MEASURES):|^> > \* netperf on loopback over TCP$", PROSE),
    ),
    "002": (
        (r"^2\.5\.54\+BK\+(broken-wrmsr-)?backout-patch:$|^=+$", "the post's own section heading"),
        (r"^(The tbench|I can say|change \(|the effect|BTW|I didn't|next week)", PROSE),
        (r"^(I did profile|that there is|in __switch_to)", PROSE),
    ),
    "003": ((r"^\d\.\) mmtests - ", PROSE),),
    "004": (
        (r"^o Benchmark Results", "legend of the marks, " + PROSE),
        (r"^eevdf_curb; ", "the post has a semicolon where the other lines have a colon"),
    ),
}
"""Report to (pattern of a printed line, why it is not printed the same)."""


def groups(directory: Path) -> Iterator[Group]:
    """Compare re-rendered tables with the text of each report.

    Parameters
    ----------
    directory : Path
        The folder of published results: csv files, and the posts' tables under ``text``.

    Yields
    ------
    Group
        Per report the lines that come out the same, then the irregular ones with their reasons;
        last, whether the package's copy of the csv files is the one in the directory.

    Raises
    ------
    InputError
        If the directory holds no text of a report.
    """
    found = False
    for number, name in NUMBERS.items():
        path = directory / "text" / f"report{number}_tables.txt"
        if path.is_file():
            found = True
            yield from _report(number, name, path.read_text(encoding="utf-8"))
    if not found:
        raise InputError(
            f"{directory}: no text/report*_tables.txt; give the folder of published results",
            str(directory),
            code="no-published-text",
        )
    yield _copies(directory)


def _report(number: str, name: str, text: str) -> Iterator[Group]:
    ours = lines(number, published(name))
    pair = _by_words(ours, text) if number in COLLAPSED else _by_lines(ours, text)
    same, missing = pair
    known = [(line, reason) for line in missing if (reason := _reason(number, line))]
    prose = [line for line, reason in known if reason.endswith(PROSE)]
    irregular = [f"{line.strip()[:60]!r}: {r}" for line, r in known if not r.endswith(PROSE)]
    odd = [f"not printed by any style: {x!r}" for x in missing if not _reason(number, x)]
    how = "words" if number in COLLAPSED else "bytes"
    total = same + len(odd)
    yield Group(f"{name} lines", same, total, True, tuple(odd[:5]), f"{how} of a printed line")
    note = f"each has its reason; {len(prose)} lines of prose are left out"
    yield Group(f"{name} irregular lines", 0, len(irregular), False, tuple(irregular), note)


def _by_lines(ours: Sequence[str], text: str) -> tuple[int, list[str]]:
    """Return how many printed lines are ours, and the others, blank lines aside."""
    # The mail archive writes most blanks of a run as no-break blanks.
    theirs = [x for x in text.replace("\u00a0", " ").split("\n") if x.strip()]
    mine = [x for x in ours if x]
    matcher = difflib.SequenceMatcher(None, theirs, mine, autojunk=False)
    missing = [
        x
        for op, a, b, _, _ in matcher.get_opcodes()
        if op in ("delete", "replace")
        for x in theirs[a:b]
    ]
    return len(theirs) - len(missing), missing


def _by_words(ours: Sequence[str], text: str) -> tuple[int, list[str]]:
    """Return how many of our lines follow one another in the text, and what is between them.

    The archived copy joins rows, so its printed lines are found by ours: text between two
    matches is one line that no style prints.
    """
    collapsed = " ".join(text.split())
    place, same, missing = 0, 0, []
    for line in (" ".join(x.split()) for x in ours):
        at = collapsed.find(line, place) if line else -1
        if at < 0:
            continue
        if between := collapsed[place:at].strip():
            missing.append(between)
        place, same = at + len(line), same + 1
    if rest := collapsed[place:].strip():
        missing.append(rest)
    return same, missing


def _reason(number: str, line: str) -> str:
    for pattern, reason in REASONS[number]:
        if re.search(pattern, line):
            return reason
    return ""


def _copies(directory: Path) -> Group:
    """Compare the package's csv files with those of the directory, row by row."""
    equal, total, differences = 0, 0, []
    package = files("tickless.published") / "data"
    for path in sorted(directory.glob("*.csv")):
        theirs = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
        ours = list(csv.reader((package / path.name).read_text(encoding="utf-8").splitlines()))
        total += len(theirs)
        same = sum(a == b for a, b in zip(theirs, ours, strict=False))
        equal += same
        if same != len(theirs) or len(ours) != len(theirs):
            differences.append(f"{path.name}: {same} of {len(theirs)} rows equal")
    return Group("copy of the csv rows", equal, total, True, tuple(differences), "")
