"""Packages that may be missing, and what installs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

EXTRAS = {"matplotlib": "plot", "pyarrow": "sweep", "tqdm": "sweep", "xarray": "notebook"}
"""Packages that are loaded where they are needed, and the extra that installs them."""


@contextmanager
def wanted() -> Iterator[None]:
    """Say how to install a package whose import fails in the block.

    Raises
    ------
    ModuleNotFoundError
        With the command.
    """
    try:
        yield
    except ModuleNotFoundError as e:
        package = (e.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        message = f"needs {package}: pip install 'tickless[{EXTRAS[package]}]'"
        raise ModuleNotFoundError(message, name=package) from None
