"""The list of table styles."""

from __future__ import annotations

from importlib import import_module

from tickless.catalogue import Catalogue, Entry
from tickless.tables import STYLES


def styles() -> Catalogue:
    """List the table styles.

    Returns
    -------
    Catalogue
        Entries with the first sentence of each style's own description.

    Examples
    --------
    >>> import tickless
    >>> tickless.styles()["benchstat"].name
    'benchstat'
    """
    return Catalogue("styles", [_entry(name, module) for name, module in STYLES.items()])


def _entry(name: str, module: str) -> Entry:
    text = (import_module(module).__doc__ or "").split("\n\n")[0]
    summary = " ".join(text.split()).partition(": ")[2].rstrip(".")
    return Entry(name, summary, (), module)
