"""Every example runs as a script and prints what is recorded beside it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from conftest import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_prints_its_recorded_output(path):
    done = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stderr
    recorded = path.with_suffix(".out")
    assert recorded.exists(), f"run {path.name}, look at what it prints, and keep it in {recorded}"
    assert done.stdout == recorded.read_text()
