"""Minimal HTML: escaped tables that follow the page's own colours, light or dark.

Nothing here knows what the cells mean. Colours are taken from the surrounding page
(``currentColor``), so the same markup reads well in JupyterLab's light and dark themes and in a
page of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_STYLE = """<style>
.tickless{font-variant-numeric:tabular-nums;border-collapse:collapse;margin:.5em 0;font-size:90%}
.tickless caption{text-align:left;font-weight:600;padding:.2em 0;caption-side:top}
.tickless th,.tickless td{padding:.15em .55em;text-align:right;white-space:nowrap;border:0}
.tickless th{border-bottom:1px solid currentColor;font-weight:600;vertical-align:bottom}
.tickless tbody tr:nth-child(even){background:rgba(127,127,127,.10)}
table.tickless td.l,table.tickless th.l{text-align:left}
.tickless .good{color:#1a7f37}.tickless .bad{color:#d1242f}
@media (prefers-color-scheme:dark){.tickless .good{color:#3fb950}.tickless .bad{color:#ff7b72}}
[data-jp-theme-light="false"] .tickless .good{color:#3fb950}
[data-jp-theme-light="false"] .tickless .bad{color:#ff7b72}
.tickless-notes{font-size:85%;opacity:.85;margin:.3em 0 0 1em}
</style>"""


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = "",
    left: Iterable[int] = (0,),
    classes: dict[tuple[int, int], str] | None = None,
    notes: Sequence[str] = (),
) -> str:
    """Return an HTML table of already formatted, not yet escaped cells.

    Parameters
    ----------
    columns : sequence of str
        Headings.
    rows : iterable of sequence of str
        Cells, one sequence per row.
    caption : str
        Title above the table.
    left : iterable of int
        Columns to align left; the others are numbers and align right.
    classes : dict, optional
        ``(row, column)`` to a CSS class: ``"good"`` or ``"bad"``.
    notes : sequence of str
        Lines below the table.

    Returns
    -------
    str
        Markup with its own scoped style.
    """
    at_left = set(left)
    css = classes or {}

    def attributes(row: int, column: int) -> str:
        names = [css.get((row, column), "")] + (["l"] if column in at_left else [])
        joined = " ".join(n for n in names if n)
        return f' class="{escape(joined)}"' if joined else ""

    head = "".join(f"<th{attributes(-1, j)}>{escape(c)}</th>" for j, c in enumerate(columns))
    body = "".join(
        "<tr>"
        + "".join(f"<td{attributes(i, j)}>{escape(c)}</td>" for j, c in enumerate(row))
        + "</tr>\n"
        for i, row in enumerate(rows)
    )
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    below = "".join(f"<li>{escape(n)}</li>" for n in notes)
    below = f'<ul class="tickless-notes">{below}</ul>' if below else ""
    return (
        f'{_STYLE}<div style="overflow-x:auto"><table class="tickless">{title}'
        f"<thead><tr>{head}</tr></thead>"
        f"<tbody>\n{body}</tbody></table></div>{below}"
    )


def page(title: str, parts: Iterable[str]) -> str:
    """Return one self-contained page: no script, no outside reference.

    Parameters
    ----------
    title : str
        Title of the page, escaped here.
    parts : iterable of str
        Markup, put one below the other.
    """
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>body{{font-family:system-ui,sans-serif;"
        "max-width:95em;margin:2em auto;padding:0 1em}h1{font-size:1.4em}"
        "svg,img{max-width:100%;height:auto}"
        f"</style></head><body><h1>{escape(title)}</h1>\n{body}\n</body></html>\n"
    )
