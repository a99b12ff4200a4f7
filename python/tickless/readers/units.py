"""Units as tools print them, by one spelling, and the direction each implies.

An unknown unit is an error for its value: a number of unknown meaning is worse than none.
"""

from __future__ import annotations

from functools import lru_cache

from tickless.readers.log import Log

LOWER, HIGHER = "lower", "higher"

UNITS: dict[str, tuple[str, str]] = {
    "s": ("s", LOWER),
    "sec": ("s", LOWER),
    "secs": ("s", LOWER),
    "second": ("s", LOWER),
    "seconds": ("s", LOWER),
    "ms": ("ms", LOWER),
    "msec": ("ms", LOWER),
    "msecs": ("ms", LOWER),
    "milliseconds": ("ms", LOWER),
    "us": ("us", LOWER),
    "usec": ("us", LOWER),
    "usecs": ("us", LOWER),
    "microseconds": ("us", LOWER),
    "usecs/op": ("us", LOWER),
    "ns": ("ns", LOWER),
    "nsec": ("ns", LOWER),
    "nsecs": ("ns", LOWER),
    "nanoseconds": ("ns", LOWER),
    "minutes": ("min", LOWER),
    "watts": ("W", LOWER),
    "joules": ("J", LOWER),
    "b/s": ("B/s", HIGHER),
    "kb/s": ("kB/s", HIGHER),
    "kbps": ("kB/s", HIGHER),
    "mb/s": ("MB/s", HIGHER),
    "mb/sec": ("MB/s", HIGHER),
    "mbps": ("MB/s", HIGHER),
    "mib/s": ("MiB/s", HIGHER),
    "gb/s": ("GB/s", HIGHER),
    "gib/s": ("GiB/s", HIGHER),
    "mbit/s": ("Mbit/s", HIGHER),
    "mbits/sec": ("Mbit/s", HIGHER),
    "gbit/s": ("Gbit/s", HIGHER),
    "gbits/sec": ("Gbit/s", HIGHER),
    "10^3bits/s": ("kbit/s", HIGHER),
    "10^6bits/s": ("Mbit/s", HIGHER),
    "10^9bits/s": ("Gbit/s", HIGHER),
    "10^3bits/sec": ("kbit/s", HIGHER),
    "10^6bits/sec": ("Mbit/s", HIGHER),
    "10^9bits/sec": ("Gbit/s", HIGHER),
    "bytes/s": ("B/s", HIGHER),
    "kbytes/s": ("kB/s", HIGHER),
    "mbytes/s": ("MB/s", HIGHER),
    "gbytes/s": ("GB/s", HIGHER),
    "trans/s": ("transactions/s", HIGHER),
    "transactions per second": ("transactions/s", HIGHER),
    "tps": ("transactions/s", HIGHER),
    "ops/s": ("operations/s", HIGHER),
    "ops/sec": ("operations/s", HIGHER),
    "op/s": ("operations/s", HIGHER),
    "operations per second": ("operations/s", HIGHER),
    "requests per second": ("requests/s", HIGHER),
    "requests/sec": ("requests/s", HIGHER),
    "queries per second": ("queries/s", HIGHER),
    "nodes per second": ("nodes/s", HIGHER),
    "nodes/second": ("nodes/s", HIGHER),
    "frames per second": ("frames/s", HIGHER),
    "fps": ("frames/s", HIGHER),
    "iops": ("operations/s", HIGHER),
    "iterations per minute": ("iterations/min", HIGHER),
    "iterations/min": ("iterations/min", HIGHER),
    "bogo ops/s": ("bogo operations/s", HIGHER),
    "mips": ("MIPS", HIGHER),
    "mflops": ("MFLOPS", HIGHER),
    "mflop/s": ("MFLOPS", HIGHER),
    "gflops": ("GFLOPS", HIGHER),
    "gflop/s": ("GFLOPS", HIGHER),
    "mop/s": ("Mop/s", HIGHER),
    "total mop/s": ("Mop/s", HIGHER),
    "files/s": ("files/s", HIGHER),
    "score": ("score", HIGHER),
    "points": ("points", HIGHER),
}
"""Printed unit in small letters to (our spelling, better direction)."""


@lru_cache(maxsize=256)
def _known(printed: str) -> tuple[str, str] | None:
    return UNITS.get(printed.strip().strip("[]()").lower())


def unit(log: Log, printed: str) -> tuple[str, str] | None:
    """Return our spelling and the direction of a printed unit, or None after noting it."""
    known = _known(printed)
    if known is None:
        log.fault("unknown-unit", f"unit {printed[:40]!r} is not known; the value is left out")
    return known
