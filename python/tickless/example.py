"""The trace that ships with the package."""

from __future__ import annotations

from pathlib import Path


def example_trace() -> Path:
    """Return the path of a small ftrace text trace of Linux 6.12 with the menu governor.

    Its integer time stamps are nanoseconds; `data/README.md` beside it says how it was recorded.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tickless
    >>> trace = tickless.read_trace(tickless.example_trace(), time_unit="ns")
    >>> trace.idle_periods().column("sleep_length_ns")[:3].tolist()
    [54999, 176397, 778883]
    """
    return Path(__file__).parent / "data" / "6.12_c1_ip-expo_menu.trace.gz"
