"""The pytest plugin: assertions, stored baselines, messages, and what loading it costs."""

from __future__ import annotations

import json
import sys

import pytest
import scipy.special  # noqa: F401  numpy and scipy cannot be loaded anew by each inner run

import tickless.baselines
import tickless.regression  # noqa: F401

pytest_plugins = "pytester"
LEAN = ("-p", "no:hypothesispytest", "-p", "no:benchmark")
"""The inner runs do without plugins that take seconds to load."""

MEASURE = """
import numpy as np
from tickless import Metric, Results

def measured(factor=1.0, kernels=("stock", "patched")):
    x = np.random.default_rng(0).normal(100, 1, (2, 2, 8))
    x[1, 0] *= factor
    return Results.build(
        "netperf", kernels, ["64", "128"], {"throughput": (Metric.rate("MB/s"), x)}
    )
"""


def test_a_regression_fails_the_test_and_the_message_is_the_table(pytester):
    pytester.makepyfile(
        MEASURE
        + """
def test_slower(tickless):
    tickless.assert_no_regression(measured(0.9).compare("stock"), max_loss_pct=2)
"""
    )
    result = pytester.runpytest(*LEAN)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*RegressionError: 1 cell is more than 2 % worse:*",
            "*netperf: patched 64: * % worse (p = *)*",
            "*netperf: throughput [[]MB/s[]], higher is better; welch, alpha 0.05*",
            "*Hmean 64 *100.* (*0.00%)*90.* [*]*%[*]*",
        ]
    )
    result.stdout.no_fnmatch_line("*regression.py*raise*")


def test_no_regression_passes(pytester):
    pytester.makepyfile(
        MEASURE
        + """
from tickless import assert_no_regression

def test_faster(tickless):
    c = measured(1.1).compare("stock")
    tickless.assert_no_regression(c)
    assert_no_regression(c, max_loss_pct=0.5)
"""
    )
    pytester.runpytest(*LEAN).assert_outcomes(passed=1)


CHECK = """
def test_kept(tickless):
    tickless.check(measured({factor}, {kernels}))
"""


def run(pytester, factor, *args, kernels=("stock", "patched")):
    pytester.makepyfile(MEASURE + CHECK.format(factor=factor, kernels=kernels))
    return pytester.runpytest(*args, *LEAN)


@pytest.fixture(autouse=True)
def without_stale_bytecode(monkeypatch):
    """The test file changes several times within a second and keeps its size."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def test_a_baseline_is_stored_first_and_compared_afterwards(pytester):
    option = "--tickless-baseline=base.json"
    first = run(pytester, 1.0, option)
    first.assert_outcomes(passed=1)
    first.stdout.fnmatch_lines(["*1 results stored in base.json, nothing to compare with*"])
    stored = json.loads((pytester.path / "base.json").read_text())
    (name,) = stored["entries"]
    assert name.endswith("::test_kept")
    run(pytester, 1.0, option).assert_outcomes(passed=1)
    run(pytester, 1.2, option).assert_outcomes(passed=1)
    worse = run(pytester, 0.9, option)
    worse.assert_outcomes(failed=1)
    worse.stdout.fnmatch_lines(["*patched: measured-patched 64: * % worse*", "*measured-patched*"])
    assert json.loads((pytester.path / "base.json").read_text()) == stored


def test_a_baseline_is_replaced_only_on_request(pytester):
    option = "--tickless-baseline=base.json"
    run(pytester, 1.0, option).assert_outcomes(passed=1)
    run(pytester, 0.9, option, "--tickless-update").assert_outcomes(passed=1)
    run(pytester, 0.9, option).assert_outcomes(passed=1)


def test_without_the_option_nothing_is_stored_or_compared(pytester):
    run(pytester, 0.5).assert_outcomes(passed=1)
    assert not list(pytester.path.glob("*.json"))


def test_a_baseline_of_other_kernels_or_another_file_is_an_error_with_a_remedy(pytester):
    option = "--tickless-baseline=base.json"
    run(pytester, 1.0, option)
    other = run(pytester, 1.0, option, kernels=("a", "b"))
    other.assert_outcomes(failed=1)
    other.stdout.fnmatch_lines(["*holds stock, patched, this run a, b*--tickless-update*"])
    (pytester.path / "base.json").write_text("[]")
    broken = run(pytester, 1.0, option)
    broken.assert_outcomes(errors=1)
    broken.stdout.fnmatch_lines(["*InputError: base.json: not a file of tickless-baselines*"])


def test_the_plugin_costs_no_import_until_it_is_used(pytester):
    pytester.makepyfile(
        """
import sys

def test_unused():
    late = {"numpy", "scipy", "pandas", "matplotlib", "tickless.compare"} & set(sys.modules)
    assert not late
"""
    )
    pytester.runpytest_subprocess(*LEAN).assert_outcomes(passed=1)


def test_the_plugin_is_found_by_its_entry_point(pytester):
    pytester.runpytest_subprocess("--help", *LEAN).stdout.fnmatch_lines(
        ["*--tickless-baseline=FILE*"]
    )
