"""CPU-idle governors and schedulers of the Linux kernel, bit-exact and vectorised.

Everything public is named here, grouped by what one does with it; each name is loaded when it is
first used, so ``import tickless`` costs little more than numpy.
"""

from __future__ import annotations

import warnings as _warnings
from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from tickless._core import DEBUG_BUILD as _DEBUG_BUILD
from tickless._core import VERSION as __version__
from tickless.errors import (
    InputError,
    InvalidParameterError,
    ShapeError,
    TicklessError,
    TicklessWarning,
    UnknownNameError,
)

if TYPE_CHECKING:
    from tickless.catalogue import governors, machines
    from tickless.example import example_trace
    from tickless.idle_counters import IdleCounters, read_idle_counters
    from tickless.idle_csv import read_idle_csv
    from tickless.idle_dump import CpuidleDump, read_idle_dump, read_idle_table, read_sysfs
    from tickless.idle_table import IdleTable
    from tickless.machine import Machine
    from tickless.periods import IdlePeriods
    from tickless.reading import read
    from tickless.replay import Replay, replay
    from tickless.trace import Trace, read_trace

_HOME = {
    # lists
    "governors": "tickless.catalogue",
    "machines": "tickless.catalogue",
    # replay
    "IdlePeriods": "tickless.periods",
    "IdleTable": "tickless.idle_table",
    "Machine": "tickless.machine",
    "Replay": "tickless.replay",
    "replay": "tickless.replay",
    # results from elsewhere
    "CpuidleDump": "tickless.idle_dump",
    "IdleCounters": "tickless.idle_counters",
    "Trace": "tickless.trace",
    "example_trace": "tickless.example",
    "read": "tickless.reading",
    "read_idle_counters": "tickless.idle_counters",
    "read_idle_csv": "tickless.idle_csv",
    "read_idle_dump": "tickless.idle_dump",
    "read_idle_table": "tickless.idle_dump",
    "read_sysfs": "tickless.idle_dump",
    "read_trace": "tickless.trace",
}

__all__ = [
    "CpuidleDump",
    "IdleCounters",
    "IdlePeriods",
    "IdleTable",
    "InputError",
    "InvalidParameterError",
    "Machine",
    "Replay",
    "ShapeError",
    "TicklessError",
    "TicklessWarning",
    "Trace",
    "UnknownNameError",
    "__version__",
    "example_trace",
    "governors",
    "machines",
    "read",
    "read_idle_counters",
    "read_idle_csv",
    "read_idle_dump",
    "read_idle_table",
    "read_sysfs",
    "read_trace",
    "replay",
]

if _DEBUG_BUILD:
    _warnings.warn(
        "tickless was compiled without optimisation and is slow; build it with --release",
        TicklessWarning,
        stacklevel=2,
    )


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tickless' has no attribute {name!r}")
    value = getattr(_import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
