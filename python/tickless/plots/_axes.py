"""Axes that a caller gives."""

from __future__ import annotations

from typing import Any

from tickless.errors import InvalidTypeError


def checked(name: str, axes: Any) -> Any:
    """Return `axes` if one can draw on them.

    Raises
    ------
    InvalidTypeError
        For anything but matplotlib Axes.
    """
    from matplotlib.axes import Axes

    if not isinstance(axes, Axes):
        kind = type(axes).__name__
        raise InvalidTypeError(f"{name}: expected matplotlib Axes, found {kind}; plt.subplots()")
    return axes
