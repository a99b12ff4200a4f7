"""Output of the commands: the same tables as text, HTML, csv, JSON, Markdown or LaTeX."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tickless import _html
from tickless._files import written
from tickless.errors import InvalidParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("text", "html", "csv", "json", "markdown", "latex")
SUFFIXES = {
    ".txt": "text",
    ".html": "html",
    ".htm": "html",
    ".csv": "csv",
    ".json": "json",
    ".md": "markdown",
    ".tex": "latex",
}

Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""Title, headings, formatted cells."""


def add_output(parser: argparse.ArgumentParser) -> None:
    """Declare ``--format`` and ``-o``."""
    parser.add_argument("--format", choices=FORMATS, help="default: that of -o's suffix, or text")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write here, not to stdout"
    )


def chosen_format(args: argparse.Namespace) -> str:
    """Return the format asked for, by option or by the suffix of the output file.

    Raises
    ------
    InvalidParameterError
        For a suffix that means no format.
    """
    if args.output is not None:
        check_place("-o", args.output)
    if args.format or args.output is None:
        return args.format or "text"
    suffix = args.output.suffix.lower()
    if suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise InvalidParameterError(
            f"-o {args.output}: the suffix {suffix!r} names no format; use one of {known}, "
            "or --format"
        )
    return SUFFIXES[suffix]


def check_place(option: str, path: Path) -> None:
    """Refuse a file that can never be written, before the work and not after it.

    Raises
    ------
    InvalidParameterError
        For a directory, or a file in a directory that is not there.
    """
    if path.is_dir():
        raise InvalidParameterError(f"{option} {path}: a directory; name a file in it")
    if not path.absolute().parent.is_dir():
        raise InvalidParameterError(f"{option} {path}: no directory {path.parent}; make it first")


def emit(
    args: argparse.Namespace,
    tables: Sequence[Table],
    *,
    left: bool = False,
    notes: Sequence[str] = (),
) -> None:
    """Write tables in the chosen format.

    Parameters
    ----------
    args : Namespace
        With the options of `add_output`.
    tables : sequence of (title, headings, rows)
    left : bool
        Align all columns left; otherwise only the first.
    notes : sequence of str
        Lines after the last table.
    """
    text = render(chosen_format(args), tables, left=left, notes=notes)
    write(args, text)


def write(args: argparse.Namespace, text: str) -> None:
    """Write finished text to stdout or, whole or not at all, to the output file."""
    if args.output is None:
        sys.stdout.write(text)
        return
    with written(args.output) as f:
        f.write(text)


def say(notes: Iterable[str]) -> None:
    """Print notes to stderr, where they are in nobody's way: a csv holds rows only."""
    for note in dict.fromkeys(notes):
        print(f"tickless: note: {note}", file=sys.stderr)


def render(
    style: str, tables: Sequence[Table], *, left: bool = False, notes: Sequence[str] = ()
) -> str:
    """Return tables in one of `FORMATS`."""
    if style == "json":
        document = {
            title: [dict(zip(head, row, strict=True)) for row in rows]
            for title, head, rows in tables
        }
        return json.dumps(document | ({"notes": list(notes)} if notes else {}), indent=1) + "\n"
    if style == "html":
        return _html.page("tickless", [*html_parts(tables, left=left, notes=notes)])
    make = {"text": _text, "csv": _csv, "markdown": _markdown, "latex": _latex}[style]
    blocks = [make(title, head, rows, left) for title, head, rows in tables]
    mark = {"csv": "# ", "latex": "% "}.get(style, "note: ")
    after = "".join(f"{mark}{n}\n" for n in notes)
    return "\n".join(blocks) + after


def html_parts(
    tables: Sequence[Table], *, left: bool = False, notes: Sequence[str] = ()
) -> list[str]:
    """Return one piece of markup per table, notes below the last."""
    last = len(tables) - 1
    return [
        _html.table(
            head,
            rows,
            caption=title,
            left=range(len(head)) if left else (0,),
            notes=notes if i == last else (),
        )
        for i, (title, head, rows) in enumerate(tables)
    ]


def svg(draw: Callable[[], Figure]) -> str:
    """Return the picture that `draw` makes as inline SVG, its text as text.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    import matplotlib as mpl

    mpl.use("svg", force=False)
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "tickless"}):
        figure, out = draw(), io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None}, facecolor="white")
    text = out.getvalue()
    return text[text.index("<svg") :]


def _text(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], left: bool) -> str:
    widths = [max(len(r[j]) for r in (head, *rows)) for j in range(len(head))]
    lines = [title] + [
        "  ".join(
            c.ljust(w) if left or j == 0 else c.rjust(w)
            for j, (c, w) in enumerate(zip(r, widths, strict=True))
        ).rstrip()
        for r in (head, ["-" * w for w in widths], *rows)
    ]
    return "\n".join(lines) + "\n"


def _csv(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], left: bool) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([head, *rows])
    return out.getvalue()


def _markdown(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], left: bool) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"

    rule = [":--" if left or j == 0 else "--:" for j in range(len(head))]
    return "\n".join([f"**{title}**", "", line(head), line(rule), *map(line, rows)]) + "\n"


_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def _latex(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], left: bool) -> str:
    def line(cells: Sequence[str]) -> str:
        return " & ".join(c.translate(_LATEX) for c in cells) + r" \\"

    columns = "".join("l" if left or j == 0 else "r" for j in range(len(head)))
    lines = [rf"\begin{{tabular}}{{{columns}}}", rf"% {title}", line(head), r"\hline"]
    return "\n".join([*lines, *map(line, rows), r"\end{tabular}"]) + "\n"
