"""`Results` as tidy frames, csv and json; the last two round trip exactly."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tickless._arrays import text as whole_text
from tickless._files import written
from tickless.errors import InputError, InvalidParameterError, InvalidTypeError
from tickless.results import Array, Metric, PublishedTable, Results

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "tickless-results"
"""First word of our own csv, ``format`` of our own json."""
VERSION = 1
MOST_VALUES = 1 << 26
"""Values of one metric that a csv may announce: half a gigabyte of them."""
_HEAD = f"# {FORMAT} "
_PLAIN = ("benchmark", "machine", "primary", "case_title")
_LISTS = ("kernels", "cases", "kernel_labels", "case_labels")


def to_frame(res: Results) -> pd.DataFrame:
    """Return one row per sample that is there.

    Columns: benchmark, machine, kernel, case, metric, unit, better, mean, repeat, value, and
    ``extra`` if a metric has a further axis (flattened if several). Padding is left out.
    """
    import pandas as pd

    parts = []
    for name, a in res.metrics.items():
        info = res.metric_info[name]
        flat = a.reshape(*a.shape[:3], -1)
        k, c, r, x = np.nonzero(~np.isnan(flat))
        part = {
            "benchmark": res.benchmark,
            "machine": res.machine,
            "kernel": np.array(res.kernels, dtype=object)[k],
            "case": np.array(res.cases, dtype=object)[c],
            "metric": name,
            "unit": info.unit,
            "better": info.better,
            "mean": info.mean,
            "repeat": r,
        }
        if a.ndim > 3:
            part["extra"] = x
        parts.append(pd.DataFrame({**part, "value": flat[k, c, r, x]}))
    return pd.concat(parts, ignore_index=True)


def published_frame(table: PublishedTable) -> pd.DataFrame:
    """Return one row per cell of a published table."""
    import pandas as pd

    k, c = (i.ravel() for i in np.indices(table.center.shape))
    info = [table.case_info[i] for i in c]
    return pd.DataFrame(
        {
            "benchmark": table.benchmark,
            "machine": table.machine,
            "kernel": np.array(table.kernels, dtype=object)[k],
            "case": np.array(table.cases, dtype=object)[c],
            "unit": [m.unit for m in info],
            "better": [m.better for m in info],
            "mean": [m.mean for m in info],
            "center": table.center.ravel(),
            "printed_pct": table.printed_pct.ravel(),
            "cv_pct": table.cv_pct.ravel(),
            "starred": table.starred.ravel(),
            "tested": table.tested.ravel(),
            "mark": np.array(table.mark, dtype=object)[c],
        }
    )


def from_frame(
    frame: pd.DataFrame,
    *,
    kernel: str = "kernel",
    case: str | Sequence[str] = "case",
    value: str = "value",
    metric: str | None = None,
    repeat: str | None = None,
    unit: str = "",
    better: str | None = None,
    mean: str | None = None,
    decimals: int = 2,
    benchmark: str = "",
    machine: str = "",
) -> Results:
    """Return results from any tidy frame: one row per sample.

    Parameters
    ----------
    frame : DataFrame
        One row per sample.
    kernel, case, value : str
        Columns of the thing compared, of the table row (several are joined with ``-``) and of the
        number.
    metric, repeat : str, optional
        Columns of the metric's name and of the repeat; ``metric`` and ``repeat`` are used if the
        frame has them. Samples keep the order of the rows where there is no repeat.
    unit, better, mean : str, optional
        Description of the metric; columns of these names win. `better` is needed one way or the
        other; `mean` defaults to harmonic for higher and arithmetic for lower.
    decimals : int
        Decimals of printed values.
    benchmark, machine : str
        Names; columns of these names win and must be constant.

    Returns
    -------
    Results

    Raises
    ------
    InvalidParameterError
        If a column is missing, a value is no number, or the direction is not known.
    """
    import pandas as pd

    try:
        rows = pd.DataFrame(frame).reset_index(drop=True)
    except (TypeError, ValueError) as e:
        kind = type(frame).__name__
        raise InvalidTypeError(f"frame: expected a DataFrame, found {kind} ({e})") from None
    by = [case] if isinstance(case, str) else list(case)
    for column in (kernel, *by, value):
        if column not in rows.columns:
            has = ", ".join(map(str, rows.columns))
            raise InvalidParameterError(f"frame: no column {column!r}; it has {has}")
    if rows.empty:
        raise InvalidParameterError("frame: no rows")
    metric = metric or ("metric" if "metric" in rows else None)
    repeat = repeat or ("repeat" if "repeat" in rows else None)
    key = pd.DataFrame(
        {
            "kernel": rows[kernel].astype(str),
            "case": rows[by].astype(str).agg("-".join, axis=1),
            "metric": rows[metric].astype(str) if metric else "value",
            "repeat": rows[repeat] if repeat else 0,
            "value": _numbers(rows[value], value),
        }
    )
    kernels, cases, names = (tuple(dict.fromkeys(key[c])) for c in ("kernel", "case", "metric"))
    samples = key.sort_values("repeat", kind="stable")
    info = {n: _describe(rows[key["metric"] == n], unit, better, mean, decimals) for n in names}
    metrics = {n: _pad(samples[samples["metric"] == n], kernels, cases) for n in names}
    return Results(
        benchmark=_constant(rows, "benchmark", benchmark),
        machine=_constant(rows, "machine", machine),
        kernels=kernels,
        cases=cases,
        metrics=metrics,
        metric_info=info,
        primary=names[0],
        notes=_oddities(key, repeat),
    )


def to_csv(res: Results, path: str | os.PathLike[str] | None = None) -> str:
    """Return the results as csv: one comment line that describes them, then tidy rows.

    Values are written with the shortest text that reads back to the same bits.
    """
    out = io.StringIO()
    out.write(_HEAD + described(describe_all(res)) + "\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("metric", "kernel", "case", "repeat", "extra", "value"))
    for name, a in res.metrics.items():
        flat = a.reshape(*a.shape[:3], -1)
        index = np.argwhere(~np.isnan(flat)).tolist()
        values = flat[~np.isnan(flat)].tolist()
        writer.writerows(
            (name, res.kernels[k], res.cases[c], r, x, repr(v))
            for (k, c, r, x), v in zip(index, values, strict=True)
        )
    return _deliver(out.getvalue(), path)


def from_csv(text: str, path: str = "") -> Results:
    """Return the results that `to_csv` wrote.

    Raises
    ------
    InputError
        If the text is not of that form; a plain csv goes through `from_frame`.
    """
    head, _, body = whole_text("text", text).partition("\n")
    if not head.startswith(_HEAD):
        raise InputError(f"{path}: not a tickless csv", path, 1, "not-tickless")
    about = _load(head[len(_HEAD) :], path)
    try:
        return _from_rows(about, csv.reader(io.StringIO(body)), path)
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, csv.Error) as e:
        raise InputError(f"{path}: incomplete description, {e}", path, 1, "damaged") from None


def to_json(res: Results, path: str | os.PathLike[str] | None = None) -> str:
    """Return the results as json; NaN padding becomes null."""
    values = {
        n: [None if math.isnan(v) else v for v in a.ravel().tolist()]
        for n, a in res.metrics.items()
    }
    about = {**describe_all(res), "values": values}
    return _deliver(described(about) + "\n", path)


def from_json(text: str, path: str = "") -> Results:
    """Return the results that `to_json` wrote.

    Raises
    ------
    InputError
        If the text is not of that form.
    """
    about = _load(whole_text("text", text), path)
    try:
        shapes = {n: m["shape"] for n, m in about["metrics"].items()}
        metrics = {
            n: np.array(about["values"][n], dtype=np.float64).reshape(s) for n, s in shapes.items()
        }
        return make(about, metrics)
    except (KeyError, TypeError, AttributeError, ValueError) as e:
        raise InputError(f"{path}: incomplete results, {e}", path, 1, "damaged") from None


def describe_all(res: Results) -> dict[str, Any]:
    """Return everything but the numbers, as json values."""
    return {
        "format": FORMAT,
        "version": VERSION,
        **{n: getattr(res, n) for n in _PLAIN},
        **{n: list(getattr(res, n)) for n in (*_LISTS, "notes")},
        "attrs": dict(res.attrs),
        "metrics": {
            n: {**dataclasses.asdict(m), "shape": list(res.metrics[n].shape)}
            for n, m in res.metric_info.items()
        },
    }


def described(about: Mapping[str, Any]) -> str:
    """Return what `describe_all` returned as JSON.

    Raises
    ------
    InvalidTypeError
        If `Results.attrs` holds something that JSON does not.
    """
    try:
        found = json.dumps(about, ensure_ascii=False)
        found.encode()
    except (TypeError, ValueError, RecursionError) as e:
        raise InvalidTypeError(f"attrs: expected json values ({e})") from None
    return found


def make(about: Mapping[str, Any], metrics: Mapping[str, Array]) -> Results:
    """Return results from what `describe_all` returned, and the numbers."""
    info = {
        n: Metric(**{k: v for k, v in m.items() if k != "shape"})
        for n, m in about["metrics"].items()
    }
    names: dict[str, Any] = {n: about[n] for n in (*_PLAIN, "attrs")}
    lists: dict[str, Any] = {n: tuple(about[n]) for n in (*_LISTS, "notes")}
    return Results(metrics=metrics, metric_info=info, **names, **lists)


def _from_rows(about: Mapping[str, Any], rows: Any, path: str) -> Results:
    metrics = {}
    for name, m in about["metrics"].items():
        shape = m["shape"]
        check_shape(shape, path)
        flat = (*shape[:3], int(np.prod(shape[3:], dtype=int)))
        metrics[name] = np.full(flat, np.nan)
    kernels = {n: i for i, n in enumerate(about["kernels"])}
    cases = {n: i for i, n in enumerate(about["cases"])}
    for number, row in enumerate(rows, 2):
        if number == 2 or not row:
            continue
        try:
            name, kernel, case, repeat, extra, value = row
            metrics[name][kernels[kernel], cases[case], int(repeat), int(extra)] = float(value)
        except (ValueError, KeyError, IndexError) as e:
            message = f"{path}:{number}: not a row of the described results ({e})"
            raise InputError(message, path, number, "damaged") from None
    return make(about, {n: a.reshape(about["metrics"][n]["shape"]) for n, a in metrics.items()})


def check_shape(shape: Any, path: str) -> None:
    """Refuse what no array has, and what a small file must not make us allocate."""
    known = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
    if not known or len(shape) < 3 or math.prod(shape) > MOST_VALUES:
        raise InputError(
            f"{path}, line 1: shape {shape!r:.80}: expected at least three sizes and at most "
            f"{MOST_VALUES} values",
            path,
            1,
            "damaged",
        )


def _load(text: str, path: str) -> dict[str, Any]:
    try:
        about = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise InputError(f"{path}: not json ({e})", path, 1, "damaged") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InputError(f"{path}: not a {FORMAT} file", path, 1, "not-tickless")
    if about.get("version") != VERSION:
        message = f"{path}: {FORMAT} version {about.get('version')}, this package reads {VERSION}"
        raise InputError(message, path, 1, "version")
    return about


def _deliver(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        with written(path) as f:
            f.write(text)
    return text


def _numbers(column: Any, name: str) -> Any:
    import pandas as pd

    values = pd.to_numeric(column, errors="coerce")
    bad = (values.isna() & column.notna()).to_numpy()
    if bad.any():
        i = int(bad.argmax())
        raise InvalidParameterError(f"frame: {name}[{i}] = {column.iloc[i]!r}: not a number")
    return values.astype(float)


def _describe(rows: Any, unit: str, better: str | None, mean: str | None, decimals: int) -> Metric:
    """Return the metric of these rows; columns win over arguments."""
    b = _constant(rows, "better", better or "")
    if not b:
        raise InvalidParameterError("better: not given and no column of that name; higher or lower")
    m = _constant(rows, "mean", mean or "") or ("harmonic" if b == "higher" else "arithmetic")
    return Metric(_constant(rows, "unit", unit), b, m, decimals)  # type: ignore[arg-type]


def _constant(rows: Any, column: str, default: str) -> str:
    if column not in rows:
        return default
    values = [str(v) for v in rows[column].dropna().unique()]
    if len(values) > 1:
        few = ", ".join(values[:4])
        raise InvalidParameterError(
            f"frame: column {column!r} has several values ({few}); split it"
        )
    return values[0] if values else default


def _oddities(key: Any, repeat: str | None) -> tuple[str, ...]:
    notes = []
    if repeat and key.duplicated(["kernel", "case", "metric", "repeat"]).any():
        notes.append(f"rows of the same kernel, case and {repeat} are kept as further samples")
    missing = int(key["value"].isna().sum())
    if missing:
        notes.append(f"{missing} missing values (NaN) left out")
    return tuple(notes)


def _pad(rows: Any, kernels: tuple[str, ...], cases: tuple[str, ...]) -> Array:
    """Return ``(kernel, case, repeat)`` of these rows in their order, padded with NaN."""
    rows = rows[rows["value"].notna()]
    k = rows["kernel"].map({n: i for i, n in enumerate(kernels)}).to_numpy(dtype=int)
    c = rows["case"].map({n: i for i, n in enumerate(cases)}).to_numpy(dtype=int)
    r = rows.groupby(["kernel", "case"]).cumcount().to_numpy(dtype=int)
    out = np.full((len(kernels), len(cases), int(r.max(initial=0)) + 1), np.nan)
    out[k, c, r] = rows["value"].to_numpy()
    return out
