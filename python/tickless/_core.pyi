"""Compiled core; use the names in `tickless`."""

from collections.abc import Sequence
from typing import Any, final

VERSION: str
DEBUG_BUILD: bool

# machines and idle tables

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
