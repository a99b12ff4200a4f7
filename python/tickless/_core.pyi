"""Types of the compiled core; one section per room."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

VERSION: Final[str]
DEBUG_BUILD: Final[bool]

# Machines ------------------------------------------------------------------------------------

def machine_names() -> list[str]: ...
def machine(name: str) -> dict[str, Any]: ...

@final
class IdleTable:
    def __new__(
        cls,
        names: Sequence[str],
        exit_latency_ns: Sequence[int],
        target_residency_ns: Sequence[int],
        polling: Sequence[bool],
        disabled: Sequence[bool],
        power_mw: Sequence[float | None],
    ) -> IdleTable: ...
    @property
    def warnings(self) -> list[str]: ...

# Idle governors and replay -------------------------------------------------------------------

RULES: Final[list[str]]
FOREIGN_CONTEXT: Final[list[str]]

@final
class IdleContext:
    @property
    def index(self) -> int: ...
    @property
    def cpu(self) -> int: ...
    @property
    def hz(self) -> int: ...
    @property
    def n_states(self) -> int: ...
    @property
    def exit_latency_ns(self) -> tuple[int, ...]: ...
    @property
    def target_residency_ns(self) -> tuple[int, ...]: ...
    @property
    def polling(self) -> tuple[bool, ...]: ...
    @property
    def sleep_length_ns(self) -> int: ...
    @property
    def delta_tick_ns(self) -> int: ...
    @property
    def latency_limit_ns(self) -> int: ...
    @property
    def tick_stopped(self) -> bool: ...
    @property
    def disabled(self) -> int: ...
    @property
    def nr_iowait(self) -> int: ...
    @property
    def cpu_util(self) -> int: ...
    @property
    def cpu_load(self) -> int: ...

@final
class IdleOutcome:
    @property
    def state(self) -> int: ...
    @property
    def residency_ns(self) -> int: ...
    @property
    def span_ns(self) -> int: ...
    @property
    def got_tick(self) -> bool: ...
    @property
    def poll_timed_out(self) -> bool: ...

def governors() -> list[dict[str, Any]]: ...
def canonical_governor(name: str) -> str: ...
def nearest_governors(version: str) -> list[dict[str, str]]: ...
def replay(
    governors: Sequence[str | tuple[str, int] | object],
    table: IdleTable,
    columns: Mapping[str, NDArray[Any] | int | None],
    *,
    hz: int,
    add_exit_latency: bool = False,
    recorded_state: NDArray[np.uint8] | None = None,
    trace_decisions: bool = False,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> dict[str, Any]: ...

# Traces and idle tables from files -----------------------------------------------------------

def read_trace(
    sources: Sequence[Any],
    errors: str,
    unit_ns: int | None,
    progress: Callable[[int], object] | None = None,
) -> dict[str, Any]: ...
def read_idle_dump(source: Any) -> dict[str, Any]: ...
def detect_format(head: bytes) -> str: ...
