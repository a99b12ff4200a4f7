"""`Results` for other tools: xarray and Parquet."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tickless._arrays import place
from tickless._extras import wanted
from tickless._files import written
from tickless.errors import InputError, unreadable
from tickless.results import Results
from tickless.results_io import FORMAT, check_shape, describe_all, described, make

if TYPE_CHECKING:
    import xarray as xr

KEY = b"tickless"
"""Name of the description in the metadata of a Parquet file."""


def to_xarray(res: Results) -> xr.Dataset:
    """Return a dataset with one variable per metric; see `Results.to_xarray`."""
    with wanted():
        import xarray as xr

    axes = _axes(res)
    coordinates: dict[str, Any] = {
        "kernel": list(res.kernels),
        "case": list(res.cases),
    }
    variables = {}
    for name, values in res.metrics.items():
        info = res.metric_info[name]
        dims = ["kernel", "case", f"repeat_{values.shape[2]}"]
        for i in range(3, values.ndim):
            dim, labels = axes.get(name, (f"{name}_{i}", list(range(values.shape[i]))))
            dims.append(dim)
            coordinates[dim] = labels
        about = {"units": info.unit, "better": info.better, "mean": info.mean}
        variables[name] = (dims, values, about)
    repeats = {d[0][2] for d in variables.values()}
    if len(repeats) == 1:  # the usual case: one number of repeats for all
        only = repeats.pop()
        variables = {
            n: (["repeat" if d == only else d for d in dims], v, a)
            for n, (dims, v, a) in variables.items()
        }
    whole = {name: getattr(res, name) for name in ("benchmark", "machine", "primary")}
    return xr.Dataset(variables, coordinates, {**whole, "notes": list(res.notes)})


def _axes(res: Results) -> dict[str, tuple[str, list[Any]]]:
    """Return name and labels of the fourth axis of each metric whose attributes tell both."""
    told = res.attrs.get("axes")
    known = {}
    for name, axis in told.items() if isinstance(told, Mapping) else ():
        values = res.metrics.get(name)
        if values is None or values.ndim != 4 or not isinstance(axis, list | tuple):
            continue
        if len(axis) == 2 and isinstance(axis[0], str) and isinstance(axis[1], list | tuple):
            dim, labels = axis
            if len(labels) == values.shape[3]:
                known[name] = dim, list(labels)
    return known


def to_parquet(res: Results, path: str | os.PathLike[str]) -> None:
    """Write one row per sample, and the description; see `Results.to_parquet`."""
    with wanted():
        import pyarrow as pa
        import pyarrow.parquet as pq

    columns: dict[str, list[Any]] = {
        c: [] for c in ("metric", "kernel", "case", "repeat", "extra", "value")
    }
    for name, a in res.metrics.items():
        flat = a.reshape(*a.shape[:3], -1)
        k, c, r, x = np.nonzero(~np.isnan(flat))
        columns["metric"].append(np.full(len(k), name, dtype=object))
        columns["kernel"].append(np.array(res.kernels, dtype=object)[k])
        columns["case"].append(np.array(res.cases, dtype=object)[c])
        columns["repeat"].append(r.astype(np.int32))
        columns["extra"].append(x.astype(np.int32))
        columns["value"].append(flat[k, c, r, x])
    table = pa.table({name: np.concatenate(parts) for name, parts in columns.items()})
    about = described(describe_all(res)).encode()
    with written(path, "wb") as f:
        pq.write_table(table.replace_schema_metadata({KEY: about}), f)


def from_parquet(path: str | os.PathLike[str]) -> Results:
    """Return what `to_parquet` wrote; see `Results.from_parquet`."""
    with wanted():
        import pyarrow as pa
        import pyarrow.parquet as pq

    file = place("path", path)
    name = str(file)
    try:
        source = file.open("rb")
    except OSError as e:
        raise unreadable(file, e) from None
    try:
        with source:
            table = pq.read_table(source)
    except (pa.ArrowException, OSError, ValueError) as e:
        raise InputError(f"{name}: not a Parquet file ({e})", name, None, "damaged") from None
    try:
        about = json.loads((table.schema.metadata or {})[KEY])
        if about["format"] != FORMAT:
            raise KeyError(FORMAT)
        for m in about["metrics"].values():
            check_shape(m["shape"], name)
        metrics = {n: np.full(m["shape"], np.nan) for n, m in about["metrics"].items()}
        kernels = {n: i for i, n in enumerate(about["kernels"])}
        cases = {n: i for i, n in enumerate(about["cases"])}
        frame = table.to_pandas()
        for metric, rows in frame.groupby("metric", sort=False):
            a = metrics[str(metric)]
            flat = a.reshape(*a.shape[:3], -1)
            k, c = rows["kernel"].map(kernels), rows["case"].map(cases)
            flat[k, c, rows["repeat"], rows["extra"]] = rows["value"]
        return make(about, metrics)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, pa.ArrowException) as e:
        message = f"{name}: a Parquet file, but not one of ours ({e}); see Results.from_frame"
        raise InputError(message, name, None, "not-tickless") from None
