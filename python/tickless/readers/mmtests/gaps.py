"""What a result directory lacks: iterations, kernels, cases, samples. Data, not exceptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tickless.readers.mmtests.layout import Folder

Gap = dict[str, Any]


def iteration_gaps(folders: Sequence[Folder], kernels: Sequence[str]) -> list[Gap]:
    """Return a warning per kernel that lacks an iteration another kernel has."""
    by_kernel = {k: {f.iteration for f in folders if f.kernel == k} for k in kernels}
    every = set().union(*by_kernel.values())
    return [
        {"code": "missing-iteration", "key": f"iter-{i}", "kernel": k}
        for k, there in by_kernel.items()
        if there
        for i in sorted(every - there)
    ] + [{"code": "missing-kernel", "key": k} for k, there in by_kernel.items() if not there]


def count_gaps(
    arrays: Sequence[Sequence[NDArray[np.float64]]], kernels: Sequence[str], cases: Sequence[str]
) -> list[Gap]:
    """Return a warning per case whose kernels differ in their number of samples."""
    out: list[Gap] = []
    for j, case in enumerate(cases):
        counts = {k: len(arrays[i][j]) for i, k in enumerate(kernels)}
        if len(set(counts.values())) > 1:
            code = "missing-case" if 0 in counts.values() else "unequal-counts"
            out.append({**counts, "code": code, "key": case})
    return out


def sentence(warning: Mapping[str, Any]) -> str:
    """Return a warning as one line for people."""
    code, key = warning["code"], warning["key"]
    if code == "missing-iteration":
        return f"{code}: {warning['kernel']} has no {key}"
    if code == "missing-kernel":
        return f"{code}: {key} has no run of this benchmark"
    counts = ", ".join(f"{k} {n}" for k, n in warning.items() if k not in ("code", "key"))
    return f"{code}: {key}: samples of {counts}"
