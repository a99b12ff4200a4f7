"""A file of results to compare later runs with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tickless._files import written
from tickless.comparison import ComparisonSet
from tickless.errors import InputError, InvalidParameterError
from tickless.results import Results

FORMAT = "tickless-baselines"


class Baselines:
    """Results by name, kept in one json file.

    Parameters
    ----------
    path : path
        The file; it need not exist yet.

    Attributes
    ----------
    new : set of str
        Names stored since the file was read.

    Raises
    ------
    InputError
        If the file exists and is not of this kind.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.new: set[str] = set()
        self._entries = _read(path)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def __getitem__(self, name: str) -> Results:
        return Results.from_json(json.dumps(self._entries[name]), str(self.path))

    def __setitem__(self, name: str, results: Results) -> None:
        self._entries[name] = json.loads(results.to_json())
        self.new.add(name)

    def compare(self, name: str, results: Results, **options: Any) -> ComparisonSet:
        """Compare results with the stored ones, kernel by kernel.

        Parameters
        ----------
        name : str
            A stored name.
        results : Results
            The new run; its kernels, cases and primary metric must be stored.
        **options
            As in `Results.compare`.

        Returns
        -------
        ComparisonSet
            One entry per kernel: ``stored`` against ``measured``.

        Raises
        ------
        InvalidParameterError
            If the stored results have no kernel of this run.
        """
        old = self[name]
        shared = [k for k in results.kernels if k in old.kernels]
        if not shared:
            raise InvalidParameterError(
                f"{self.path}: {name!r} holds {', '.join(old.kernels)}, this run "
                f"{', '.join(results.kernels)}; store it anew (--tickless-update)"
            )
        entries = {k: beside(old, results, k).compare("stored", **options) for k in shared}
        fresh = [k for k in results.kernels if k not in shared]
        return ComparisonSet(entries, [f"not stored, not compared: {k}" for k in fresh])

    def save(self) -> None:
        """Write the file if something is new; what other processes stored meanwhile is kept."""
        if not self.new:
            return
        entries = {**_read(self.path), **{k: self._entries[k] for k in self.new}}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with written(self.path) as f:
            json.dump({"format": FORMAT, "version": 1, "entries": entries}, f, indent=1)


def beside(old: Results, new: Results, kernel: str) -> Results:
    """Return one kernel of two runs as the kernels ``stored`` and ``measured`` of one result.

    Cases and metrics of the new run are kept; what the old one lacks is missing there.
    """
    metrics = {}
    for name, array in new.metrics.items():
        mine = array[new.kernel_index(kernel)].reshape(len(new.cases), -1)
        theirs = np.full((len(new.cases), 0), np.nan)
        if name in old.metrics:
            known = old[name][old.kernel_index(kernel)].reshape(len(old.cases), -1)
            theirs = np.full((len(new.cases), known.shape[1]), np.nan)
            for i, case in enumerate(new.cases):
                if case in old.cases:
                    theirs[i] = known[old.cases.index(case)]
        width = max(mine.shape[1], theirs.shape[1])
        metrics[name] = np.stack(
            [np.pad(a, ((0, 0), (0, width - a.shape[1])), constant_values=np.nan)
             for a in (theirs, mine)]
        )  # fmt: skip
    lost = [c for c in old.cases if c not in new.cases]
    notes = (f"stored, but not measured: {', '.join(lost)}",) if lost else ()
    return new.replace(
        kernels=("stored", "measured"),
        kernel_labels=(f"stored-{kernel}", f"measured-{kernel}"),
        metrics=metrics,
        notes=(*new.notes, *notes),
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as e:
        raise InputError(f"{path}: not json ({e})", str(path), code="damaged") from None
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise InputError(f"{path}: not a file of {FORMAT}", str(path), code="not-tickless")
    return dict(whole["entries"])
