"""Benchmark results among the example inputs: raw logs and a small MMTests tree."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from tickless.readers import read_benchmark, read_mmtests
from tickless.results import Results

CLOSE = 1e-12
"""Relative difference allowed in a mean: the order of the sum is not part of the format."""

Flat = dict[str, Any]


def check(folder: Path) -> tuple[int, int, list[str]]:
    """Compare one example folder with its ``expected.json``.

    Parameters
    ----------
    folder : Path
        A folder whose format is ``raw-benchmark`` or ``mmtests-tree``.

    Returns
    -------
    equal, total : int
        Values that agree, values compared.
    differences : list of str
        Place, expected and found value of each that does not.
    """
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    if expected["files"]:
        pairs = [(want, _log(folder / n, want), f"{n}: ") for n, want in expected["files"].items()]
    else:
        keys = ("runs", "benchmark", "values", "amean", "pct_vs_base", "better", "warnings")
        pairs = [({k: expected[k] for k in keys}, _tree(folder), "")]
    equal, total, differences = 0, 0, list[str]()
    for want, found, place in pairs:
        got = _flat(found)
        for key, value in _flat(want).items():
            total += 1
            if _same(value, got.get(key)):
                equal += 1
            else:
                differences.append(f"{place}{key}: expected {value!r}, found {got.get(key)!r}")
    return equal, total, differences


def _log(path: Path, want: Flat) -> Flat:
    """Return what a raw log says, under the names the expected file uses."""
    res = read_benchmark(path)
    info = res.metric_info[res.primary]
    found = {**res.attrs["parameters"], "benchmark": res.benchmark}
    found |= {"metric": res.primary, "unit": info.unit, "better": info.better}
    found["values"] = _all(res, res.primary)
    if res.benchmark == "schbench":
        for name, key in (("wakeup", "wakeup_us"), ("request", "request_us"), ("rps", "rps")):
            found[key] = {_percentile(c): _all(res, name, c) for c in res.cases}
            found[key] = {c: v[0] for c, v in found[key].items() if v}
        found["average_rps"] = found["rps"].pop("average", None)
    if "throughput" in res.metrics:
        found["throughput_mb_s"] = _all(res, "throughput")[0]
        found["max_latency_ms"] = _all(res, "max_latency")[0]
        rows = (_all(res, f"{n}_samples") for n in ("throughput", "latency"))
        times = _all(res, "throughput_samples_at")
        found["samples"] = [list(row) for row in zip(times, *rows, strict=True)]
    return found


def _percentile(case: str) -> str:
    return f"{float(case[:-2]):g}" if case.endswith("th") else case


def _tree(folder: Path) -> Flat:
    """Return what an MMTests tree says; the first run is the baseline."""
    (res,) = read_mmtests(folder).values()
    assert isinstance(res, Results)
    name = res.primary
    values = {k: {c: _all(res, name, c, k) for c in res.cases} for k in res.kernels}
    mean = {k: {c: sum(v) / len(v) for c, v in of.items()} for k, of in values.items()}
    base, other = res.kernels
    sign = res.metric_info[name].sign
    return {
        "runs": list(res.kernels),
        "benchmark": res.benchmark,
        "values": values,
        "amean": mean,
        "pct_vs_base": {
            c: 100.0 * sign * (mean[other][c] / mean[base][c] - 1.0) for c in res.cases
        },
        "better": res.metric_info[name].better,
        "warnings": res.attrs["warnings"],
    }


def _all(res: Results, metric: str, case: str | None = None, kernel: str | None = None) -> Any:
    """Return the values that are there, of one case and kernel or of all."""
    a = res[metric]
    if kernel is not None:
        a = a[[res.kernels.index(kernel)]]
    if case is not None:
        a = a[:, [res.cases.index(case)]]
    return [v for v in a.ravel().tolist() if not math.isnan(v)]


def _flat(value: Any, place: str = "") -> Flat:
    """Return the leaves of nested dicts and lists by their path."""
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list) and value:
        items = dict(enumerate(value)).items()
    else:
        return {place: value}
    out: Flat = {}
    for key, inner in items:
        out |= _flat(inner, f"{place}.{key}" if place else str(key))
    return out


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        numbers = isinstance(a, (int, float)) and isinstance(b, (int, float))
        return numbers and math.isclose(a, b, rel_tol=CLOSE, abs_tol=CLOSE)
    return bool(a == b)
