"""Reference outputs of MMTests: a result tree in, the text of the real tool out, byte for byte.

A set is a folder with ``input.tar.xz`` (or an unpacked ``input``) and ``expected`` with the texts
and, in ``COMMANDS.tsv``, the command that printed each. Its era is the part of its path that names
one. Rows that the tool draws at random are compared with a tolerance and counted on lines of their
own; debugging lines of the oldest revision are skipped.
"""

from __future__ import annotations

import re
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tickless.comparison import Comparison
from tickless.errors import InputError, TicklessError
from tickless.readers.mmtests import read_mmtests
from tickless.results import Results, ResultSet
from tickless.stats.mmtests import ERAS
from tickless.validation import Group

DIFFERENCES = 3
"""Differences a group shows."""
DEBUGGING = "Comparing ("
"""Start of lines the 2018 revision prints to standard output by mistake."""
DRAWS = 100
"""Draws of the tool's resampling, from which the tolerances follow."""


@dataclass(frozen=True)
class Command:
    """One command of ``COMMANDS.tsv``, as far as the text depends on it."""

    kernels: tuple[str, ...]
    benchmark: str
    heading: str
    options: frozenset[str]

    @classmethod
    def parse(cls, line: str) -> Command:
        """Return the command; an option that is not known is an error of the data."""
        words = line.split()[1:]
        values: dict[str, str] = {}
        flags = set()
        while words:
            word = words.pop(0)
            if word in ("-d", "-n", "-b", "--sub-heading", "--format"):
                values[word] = words.pop(0)
            else:
                flags.add(word)
        if "--format" in values:
            flags.add(values["--format"])
        return cls(
            tuple(values["-n"].split(",")),
            values["-b"],
            values.get("--sub-heading", ""),
            frozenset(flags),
        )


def groups(directory: Path) -> Iterator[Group]:
    """Compare every expected file below a directory.

    Parameters
    ----------
    directory : path
        Any folder with sets below it, or one set.

    Yields
    ------
    Group
        One per expected file, and one more if it holds random rows.

    Raises
    ------
    InputError
        If there is no set.
    """
    lists = sorted(directory.rglob("expected/COMMANDS.tsv"))
    if not lists:
        raise InputError(
            f"{directory}: no expected/COMMANDS.tsv below it", str(directory), code="no-golden-data"
        )
    for listing in lists:
        place = listing.parent.parent
        with tempfile.TemporaryDirectory() as scratch:
            yield from _set(place, _name(directory, place), Path(scratch))


def _name(directory: Path, place: Path) -> str:
    relative = place.relative_to(directory).as_posix()
    return place.name if relative == "." else relative


def _set(place: Path, name: str, scratch: Path) -> Iterator[Group]:
    era = next((p for p in reversed(place.resolve().parts) if p in ERAS), "head")
    tree = _unpacked(place, scratch)
    read: dict[tuple[str, ...], ResultSet] = {}
    for line in (place / "expected/COMMANDS.tsv").read_text().splitlines():
        title, _, text = line.partition("\t")
        command = Command.parse(text)
        expected = (place / f"expected/{title}.txt").read_text().split("\n")
        expected = [e for e in expected if not e.startswith(DEBUGGING)]
        try:
            if command.kernels not in read:
                read[command.kernels] = read_mmtests(tree, kernels=command.kernels)
            found = printed(read[command.kernels], command, era)
        except TicklessError as e:
            failure = (f"no text: {e}",)
            yield Group(f"{name}/{title}", 0, len(expected) - 1, True, failure, "")
            continue
        yield from _compared(f"{name}/{title}", expected, *found)


def _unpacked(place: Path, scratch: Path) -> Path:
    if (place / "input").is_dir():
        return place / "input"
    packed = place / "input.tar.xz"
    if not packed.is_file():
        raise InputError(f"{place}: neither input nor input.tar.xz", str(place), code="no-input")
    with tarfile.open(packed) as tar:
        tar.extractall(scratch, filter="data")
    return scratch / "input"


def printed(results: ResultSet, command: Command, era: str) -> tuple[list[str], Comparison]:
    """Return the lines we print for a command, with a last empty one, and the comparison."""
    heading = command.heading
    key = f"{command.benchmark}.{heading}" if heading else command.benchmark
    entry = results[key]
    assert isinstance(entry, Results), "a result directory holds samples"
    comparison = entry.compare(command.kernels[0], rule=f"mmtests-{era}")
    text = comparison.table(
        "mmtests",
        ratio="--print-ratio" in command.options,
        significance="--print-significance" in command.options,
        compare="--no-compare" not in command.options,
        html="html" in command.options,
        sub_heading=heading,
    )
    return text.split("\n"), comparison


def _compared(
    name: str, expected: Sequence[str], found: Sequence[str], comparison: Comparison
) -> Iterator[Group]:
    era = comparison.era or "head"
    cases = np.flatnonzero(comparison.count[0]).tolist()
    summary = comparison.mmtests_summary(era, cases)
    labels = {r.label for r in summary.rows if r.random}
    if summary.ratio_random:
        labels |= {"Ratio", "Dmean", "Dmin", "Dmax", "Gmean"}
    at_random = [_first(e) in labels for e in expected]
    exact = [(e, f) for e, f, r in zip(expected, found, at_random, strict=False) if not r]
    equal = sum(e == f for e, f in exact)
    short = abs(len(expected) - len(found))
    # The last element is what follows the final line end, hence no line.
    yield Group(
        name,
        equal - 1 if exact and exact[-1] == ("", "") else equal,
        len(exact) - 1 + short,
        True,
        tuple(f"expected {e!r}, found {f!r}" for e, f in exact if e != f)[:DIFFERENCES],
        f"{short} lines too many or too few" if short else "",
    )
    loose = [(e, f) for e, f, r in zip(expected, found, at_random, strict=False) if r]
    if loose:
        tolerance = _tolerances(comparison)
        near = [_near(e, f, tolerance) for e, f in loose]
        yield Group(
            f"{name} (random rows)",
            sum(near),
            len(near),
            False,
            tuple(
                f"expected {e!r}, found {f!r}"
                for (e, f), n in zip(loose, near, strict=True)
                if not n
            )[:DIFFERENCES],
            "unseeded resampling; equal within its own scatter",
        )


def _first(line: str) -> str:
    return line.partition(" ")[0]


def _tolerances(c: Comparison) -> dict[str, np.ndarray]:
    """Return by case four standard errors of a median of drawn means, relative to the mean."""
    size = np.maximum(np.floor(0.8 * c.count), 1)
    # Standard error of a median: 1.2533 times that of a mean; two independent draws.
    error = 4 * np.sqrt(2) * 1.2533 * np.nan_to_num(c.cv_pct) / 100 / np.sqrt(size * DRAWS)
    return dict(zip(c.case_labels, error.T, strict=True))


def _near(expected: str, found: str, tolerance: dict[str, np.ndarray]) -> bool:
    """Tell whether a random row is as close as its own scatter allows."""
    label, case = [*expected.split(), "", ""][:2]
    theirs, ours = (_values(line) for line in (expected, found))
    if len(theirs) != len(ours):
        return False
    error = tolerance.get(case, np.max(list(tolerance.values()), axis=0))
    if label.startswith("Sub") and not label.endswith("CI"):
        return bool((np.abs(ours - theirs) <= error * theirs + 0.005).all())
    if label in ("Ratio", "Gmean"):
        return bool((np.abs(ours - theirs) <= 2 * error.max() + 0.01).all())
    # Half widths and distances: the median of drawn variances of few samples scatters widely.
    return bool((np.abs(ours - theirs) <= 0.3 + 0.4 * np.abs(theirs)).all())


def _values(line: str) -> np.ndarray:
    """Return the values of a row, without its label, percentages and distances."""
    body = re.sub(r"^\S+\s+\S+", "", re.sub(r"[(*].*?[)*]", "", line))
    return np.array([float(v) for v in body.split()])
