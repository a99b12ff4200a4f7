"""CPU-idle governors and schedulers of the Linux kernel, bit-exact and vectorised."""

from __future__ import annotations

from tickless._core import VERSION as __version__
from tickless.errors import (
    InputError,
    InvalidParameterError,
    ShapeError,
    TicklessError,
    TicklessWarning,
    UnknownNameError,
)

__all__ = [
    "InputError",
    "InvalidParameterError",
    "ShapeError",
    "TicklessError",
    "TicklessWarning",
    "UnknownNameError",
    "__version__",
]
