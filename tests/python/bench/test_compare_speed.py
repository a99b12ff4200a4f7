"""How fast comparisons are, beside scipy called row by row and scipy called on whole arrays.

Targets, on one core: a table of 10,000 rows with Welch's test and Benjamini-Hochberg in 50 ms; 999
bootstrap draws for 1,000 rows in 1 s; a result directory of 4 kernels, 10 parameters and 10
iterations read, computed and printed in 1/50 of the 3.8 CPU seconds the Perl tool takes.
"""

from __future__ import annotations

import io
import time
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from tickless import Metric, Results

ROWS = 10_000
BOOTSTRAP_ROWS = 1_000
PERL_CPU_SECONDS = 3.8


def table(rows: int) -> Results:
    rng = np.random.default_rng(0)
    x = rng.normal(100, 2, (2, rows, 10))
    cases = [str(i) for i in range(rows)]
    return Results.build("bench", ["base", "new"], cases, {"t": (Metric.time("s"), x)})


def sides(rows: int) -> tuple[np.ndarray, np.ndarray]:
    x = table(rows)["t"]
    return x[0], x[1]


@pytest.mark.benchmark(group="welch-bh-10000-rows")
def test_ours(benchmark) -> None:
    results = table(ROWS)
    c = benchmark(results.compare, "base", correction="fdr_bh")
    assert c.p_value.shape == (2, ROWS)


@pytest.mark.benchmark(group="welch-bh-10000-rows")
def test_scipy_on_whole_arrays(benchmark) -> None:
    base, new = sides(ROWS)

    def run() -> np.ndarray:
        p = scipy.stats.ttest_ind(new, base, axis=1, equal_var=False).pvalue
        return scipy.stats.false_discovery_control(p)

    benchmark(run)


@pytest.mark.benchmark(group="welch-bh-10000-rows")
def test_scipy_row_by_row(benchmark) -> None:
    base, new = sides(ROWS)

    def run() -> np.ndarray:
        p = [
            scipy.stats.ttest_ind(n, b, equal_var=False).pvalue
            for n, b in zip(new, base, strict=True)
        ]
        return scipy.stats.false_discovery_control(p)

    benchmark.pedantic(run, rounds=1)


@pytest.mark.benchmark(group="bootstrap-999-1000-rows")
def test_our_bootstrap(benchmark) -> None:
    results = table(BOOTSTRAP_ROWS)
    c = benchmark.pedantic(results.compare, ("base",), {"rule": "bootstrap"}, rounds=3)
    assert np.isfinite(c.ci_low[1]).all()


@pytest.mark.benchmark(group="bootstrap-999-1000-rows")
def test_scipy_bootstrap_on_whole_arrays(benchmark) -> None:
    base, new = sides(BOOTSTRAP_ROWS)

    def change(new, base, axis=-1):
        return 100 * (new.mean(axis=axis) / base.mean(axis=axis) - 1)

    def run() -> object:
        return scipy.stats.bootstrap(
            (new, base), change, n_resamples=999, vectorized=True, axis=-1, rng=0
        )

    benchmark.pedantic(run, rounds=3)


@pytest.mark.benchmark(group="bootstrap-999-1000-rows")
def test_scipy_bootstrap_row_by_row(benchmark) -> None:
    base, new = sides(BOOTSTRAP_ROWS // 10)

    def change(new, base, axis=-1):
        return 100 * (new.mean(axis=axis) / base.mean(axis=axis) - 1)

    def run() -> None:
        for n, b in zip(new, base, strict=True):
            scipy.stats.bootstrap((n, b), change, n_resamples=999, vectorized=True, rng=0)

    benchmark.pedantic(run, rounds=1)
    benchmark.extra_info["rows"] = BOOTSTRAP_ROWS // 10


def result_directory(root: Path, kernels: int = 4, parameters: int = 10, iterations: int = 10):
    """Write a directory in the layout of 2023: one log per kernel, iteration and parameter."""
    rng = np.random.default_rng(1)
    for k in range(kernels):
        for i in range(iterations):
            logs = root / f"6.5.0-kernel{k}" / f"iter-{i}" / "hackbench-process-pipes" / "logs"
            logs.mkdir(parents=True)
            for p in range(1, parameters + 1):
                seconds = rng.normal(0.2 * p, 0.004 * p)
                (logs / f"hackbench-{p}-1").write_text(
                    f"Running in process mode with {p} groups using 40 file descriptors each "
                    f"(== {p * 40} tasks)\nEach sender will pass 100 messages of 100 bytes\n"
                    f"Time: {seconds:.3f}\n"
                )


@pytest.mark.benchmark(group="result-directory", timer=time.process_time)
@pytest.mark.parametrize("rule", ["welch", "mmtests-2023"])
@pytest.mark.parametrize("parameters", [10, 100])
def test_read_compute_print(benchmark, tmp_path, rule: str, parameters: int) -> None:
    from tickless.cli import main

    result_directory(tmp_path, parameters=parameters)
    out = io.StringIO()
    command = ["compare", str(tmp_path), "--baseline", "6.5.0-kernel0", "--rule", rule]

    def run() -> None:
        out.seek(0)
        out.truncate()
        with redirect_stdout(out):
            assert main(command) == 0

    run()  # imports
    benchmark.pedantic(run, rounds=5)
    assert out.getvalue().count("mean") >= parameters
    if parameters == 10:
        benchmark.extra_info["share of the Perl tool"] = (
            benchmark.stats.stats.min / PERL_CPU_SECONDS
        )
