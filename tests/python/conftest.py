"""What every test may use: where the golden data is, and small idle periods and tables."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import tickless

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"


def shared_or_skip(name: str) -> Path:
    """Return a folder of the full golden sets, or skip where they are not required."""
    path = SHARED / name
    if not path.exists():
        if os.environ.get("TICKLESS_REQUIRE_SHARED") == "1":
            pytest.fail(f"TICKLESS_REQUIRE_SHARED=1, but {path} is missing")
        pytest.skip("the full golden sets are not beside this clone")
    return path


@pytest.fixture
def table() -> tickless.IdleTable:
    """Four states with round numbers."""
    return tickless.IdleTable(
        ["POLL", "C1", "C1E", "C6"],
        [0, 2_000, 10_000, 133_000],
        [0, 2_000, 20_000, 600_000],
        power_mw=[4000, 1500, 900, 100],
    )


@pytest.fixture
def periods() -> tickless.IdlePeriods:
    """Two thousand periods on two CPUs, short and long mixed."""
    rng = np.random.default_rng(7)
    wake = rng.exponential(200_000, 2000).astype(np.int64) + 500
    sleep = np.maximum(wake, rng.integers(10_000, 20_000_000, 2000))
    return tickless.IdlePeriods(sleep, wake, cpu=rng.integers(0, 2, 2000))
