"""CPU-idle governors and schedulers of the Linux kernel, bit-exact and vectorised.

Everything public is named here, grouped by what one does with it; each name is loaded when it is
first used, so ``import tickless`` costs little more than numpy.
"""

from __future__ import annotations

import sys as _sys
import warnings as _warnings
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
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
    from tickless.catalogue import governors, kernels, machines, policies, workloads
    from tickless.comparison import Comparison, ComparisonSet
    from tickless.example import example_trace
    from tickless.hackbench_model import HackbenchModel, hackbench_model
    from tickless.idle_counters import IdleCounters, read_idle_counters
    from tickless.idle_csv import read_idle_csv
    from tickless.idle_dump import CpuidleDump, read_idle_dump, read_idle_table, read_sysfs
    from tickless.idle_table import IdleTable
    from tickless.kernel import Kernel
    from tickless.machine import Machine
    from tickless.periods import IdlePeriods
    from tickless.published import published, reports
    from tickless.readers import read_benchmark, read_comparison, read_mmtests
    from tickless.reading import read
    from tickless.recording import Recording
    from tickless.regression import assert_no_regression
    from tickless.replay import Replay, replay
    from tickless.results import Metric, PublishedTable, Results, ResultSet
    from tickless.simulate import Simulation, simulate
    from tickless.tables.catalogue import styles
    from tickless.task_graph import TaskGraph
    from tickless.timeline import Timeline, timeline
    from tickless.topology import Topology
    from tickless.trace import Trace, read_trace
    from tickless.workload import Workload

_HOME = {
    # lists
    "governors": "tickless.catalogue",
    "kernels": "tickless.catalogue",
    "machines": "tickless.catalogue",
    "policies": "tickless.catalogue",
    "workloads": "tickless.catalogue",
    # results and comparison
    "Comparison": "tickless.comparison",
    "ComparisonSet": "tickless.comparison",
    "Metric": "tickless.results",
    "PublishedTable": "tickless.results",
    "ResultSet": "tickless.results",
    "Results": "tickless.results",
    "assert_no_regression": "tickless.regression",
    "styles": "tickless.tables.catalogue",
    "reports": "tickless.published",
    # replay
    "IdlePeriods": "tickless.periods",
    "IdleTable": "tickless.idle_table",
    "Machine": "tickless.machine",
    "Topology": "tickless.topology",
    "Replay": "tickless.replay",
    "replay": "tickless.replay",
    # kernels
    "Kernel": "tickless.kernel",
    # simulate
    "Recording": "tickless.recording",
    "Simulation": "tickless.simulate",
    "Workload": "tickless.workload",
    "simulate": "tickless.simulate",
    "HackbenchModel": "tickless.hackbench_model",
    "hackbench_model": "tickless.hackbench_model",
    "TaskGraph": "tickless.task_graph",
    # timeline
    "Timeline": "tickless.timeline",
    "timeline": "tickless.timeline",
    # results from elsewhere
    "published": "tickless.published",
    "read_benchmark": "tickless.readers",
    "read_comparison": "tickless.readers",
    "read_mmtests": "tickless.readers",
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
    "Comparison",
    "ComparisonSet",
    "CpuidleDump",
    "HackbenchModel",
    "IdleCounters",
    "IdlePeriods",
    "IdleTable",
    "InputError",
    "InvalidParameterError",
    "Kernel",
    "Machine",
    "Metric",
    "PublishedTable",
    "Recording",
    "Replay",
    "ResultSet",
    "Results",
    "ShapeError",
    "Simulation",
    "TaskGraph",
    "TicklessError",
    "TicklessWarning",
    "Timeline",
    "Topology",
    "Trace",
    "UnknownNameError",
    "Workload",
    "__version__",
    "assert_no_regression",
    "example_trace",
    "governors",
    "hackbench_model",
    "kernels",
    "machines",
    "policies",
    "published",
    "read",
    "read_benchmark",
    "read_comparison",
    "read_idle_counters",
    "read_idle_csv",
    "read_idle_dump",
    "read_idle_table",
    "read_mmtests",
    "read_sysfs",
    "read_trace",
    "replay",
    "reports",
    "simulate",
    "styles",
    "timeline",
    "workloads",
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


class _Package(_ModuleType):
    """A package whose functions stay themselves although their modules have the same names."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _HOME and isinstance(value, _ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package
