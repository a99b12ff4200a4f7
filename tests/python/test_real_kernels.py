"""The simulation beside real kernels, as the page of the manual shows it."""

import importlib.util
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def page():
    sys.path.insert(0, str(DOCS))
    spec = importlib.util.spec_from_file_location("real_kernels", DOCS / "real_kernels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.remove(str(DOCS))
    return module


def test_clients_sleep_as_often_as_on_real_kernels(page):
    rows = list(page.blocking_rows())
    assert len(rows) == 14
    for kernel, change, clients, real, found in rows:
        assert abs(found - real) <= 0.1, (kernel, change, clients, real, found)


def test_newer_kernels_lose_operations_as_real_ones_do(page):
    rows = list(page.change_rows())
    assert len(rows) == 6
    for run, kernel, real, found, plain in rows:
        assert 1 / 1.5 <= found / real <= 1.5, (run, kernel, real, found)
        assert found < plain, "the longer path costs something"


def test_switches_are_voluntary_as_often_as_on_real_kernels(page):
    rows = list(page.run_rows())
    assert len(rows) == 17
    for row, res, found in rows:
        place = (row["kernel"], row["run"])
        share = page.one(res, "voluntary_share")
        assert abs(share - float(row["voluntary_share"])) <= 0.1, place
        if row["slice_p90_us"]:
            assert found["slice"][1] == pytest.approx(float(row["slice_p90_us"]), rel=0.15), place


def test_the_page_shows_what_the_simulation_gives(page):
    shown = (DOCS / "real_kernels.md").read_text()
    for part, make in page.PARTS.items():
        assert make() in shown, f"{part}: run docs/real_kernels.py"
