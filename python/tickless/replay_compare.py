"""What a replay amounts to: counts per state, and governors side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tickless import _html
from tickless.errors import UnknownNameError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from tickless.replay import Replay

FITS, ABOVE, BELOW = 0, 1, 2


def summary(r: Replay) -> pd.DataFrame:
    """Return one row per governor, table and state; see `Replay.summary`."""
    import pandas as pd

    kind = np.zeros(len(r.periods), np.uint8) if r.table_of is None else r.table_of
    refused = r.periods.column("rejected") != 0 if r.periods.rejected is not None else None
    rows: list[dict[str, Any]] = []
    for g, governor in enumerate(r.governors):
        for t, table in enumerate(r.tables):
            mine = kind == t
            state, verdict = r.state[g, mine], r.verdict[g, mine]
            entered = np.ones(len(state), bool) if refused is None else ~refused[mine]
            size = len(table)

            def count(mask: NDArray[np.bool_], state: Any = state, size: int = size) -> Any:
                return np.bincount(state[mask], minlength=size)

            time = _sums(state, r.residency_ns[g, mine], size)
            latency = _sums(state[entered], r.wake_latency_ns[g, mine][entered], size)
            energy = np.bincount(state, weights=r.energy_uj[g, mine], minlength=size)
            columns = {
                "usage": count(entered),
                "time_ns": time,
                "above": count(verdict == ABOVE),
                "below": count(verdict == BELOW),
                "rejected": count(~entered),
                "wake_latency_ns": latency,
                "energy_uj": energy,
            }
            for s, name in enumerate(table.names):
                row = {"governor": governor, "table": table.label, "state": s, "name": name}
                rows.append(row | {c: v[s] for c, v in columns.items()})
    frame = pd.DataFrame(rows)
    if len(r.tables) == 1:
        return frame.drop(columns="table").set_index(["governor", "state"])
    return frame.set_index(["governor", "table", "state"])


def _sums(state: NDArray[np.uint8], values: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return exact integer sums per state; `bincount` would add floats.

    A sum of more than 64 bits hold, 292 years, stays at the largest number.
    """
    most, sums = np.iinfo(np.int64).max, []
    for s in range(size):
        own = values[state == s]
        total = int(own.sum())
        sums.append(most if total < 0 or own.sum(dtype=np.float64) >= 2.0**63 else total)
    return np.array(sums, np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class ReplayComparison:
    """Governors side by side with one of them.

    Attributes
    ----------
    governors : tuple of str
    baseline : str
    n_periods : int
    agreement : ndarray of float64, (n_governors, n_governors)
        Share of periods in which two governors choose the same state.
    verdicts : ndarray of int64, (n_governors, 3)
        Periods that fit, are above (too deep), are below (too shallow).
    tick_stopped : ndarray of int64, (n_governors,)
        Periods in which the governor let the tick be stopped.
    wake_latency_ns : ndarray of int64, (n_governors,)
        Sum over the periods.
    energy_uj : ndarray of float64, (n_governors,)
        Sum over the periods, NaN without power numbers.
    recorded_agreement : ndarray of float64 or None, (n_governors,)
        Share of the machine's own choices each governor reproduces.
    notes : tuple of str
    """

    governors: tuple[str, ...]
    baseline: str
    n_periods: int
    agreement: NDArray[np.float64]
    verdicts: NDArray[np.int64]
    tick_stopped: NDArray[np.int64]
    wake_latency_ns: NDArray[np.int64]
    energy_uj: NDArray[np.float64]
    recorded_agreement: NDArray[np.float64] | None
    notes: tuple[str, ...]

    @property
    def wake_latency_change_pct(self) -> NDArray[np.float64]:
        """Change of the summed wake latency against the baseline, percent, (n_governors,)."""
        return _change(self.wake_latency_ns, self._base)

    @property
    def energy_change_pct(self) -> NDArray[np.float64]:
        """Change of the energy estimate against the baseline, percent, (n_governors,)."""
        return _change(self.energy_uj, self._base)

    @property
    def _base(self) -> int:
        return self.governors.index(self.baseline)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per governor with all columns of the comparison."""
        import pandas as pd

        n = max(self.n_periods, 1)
        columns: dict[str, Any] = {
            "agrees_with_baseline": self.agreement[self._base],
            "fits": self.verdicts[:, FITS],
            "above": self.verdicts[:, ABOVE],
            "below": self.verdicts[:, BELOW],
            "above_pct": 100 * self.verdicts[:, ABOVE] / n,
            "below_pct": 100 * self.verdicts[:, BELOW] / n,
            "tick_stopped": self.tick_stopped,
            "wake_latency_ns": self.wake_latency_ns,
            "wake_latency_change_pct": self.wake_latency_change_pct,
            "energy_uj": self.energy_uj,
            "energy_change_pct": self.energy_change_pct,
        }
        if self.recorded_agreement is not None:
            columns["agrees_with_recorded"] = self.recorded_agreement
        return pd.DataFrame(columns, index=pd.Index(self.governors, name="governor"))

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and formatted cells; text and HTML show these."""
        n = max(self.n_periods, 1)
        energy = not np.isnan(self.energy_uj).all()
        head = ["governor", "same as base", "fits", "above", "below", "tick stopped"]
        head += ["wake latency us", "(change)"] + (["energy mJ", "(change)"] if energy else [])
        head += ["as recorded"] if self.recorded_agreement is not None else []
        cells = []
        for g, name in enumerate(self.governors):
            row = [name + (" (base)" if g == self._base else "")]
            row += [_percent(self.agreement[self._base, g])]
            row += [f"{self.verdicts[g, v]} {_percent(self.verdicts[g, v] / n)}" for v in range(3)]
            row += [_percent(self.tick_stopped[g] / n)]
            row += [f"{self.wake_latency_ns[g] / n / 1e3:.2f}"]
            row += [f"{self.wake_latency_change_pct[g]:+.1f} %"]
            if energy:
                row += [f"{self.energy_uj[g] / 1e3:.3f}", f"{self.energy_change_pct[g]:+.1f} %"]
            if self.recorded_agreement is not None:
                row += [_percent(self.recorded_agreement[g])]
            cells.append(row)
        return head, cells

    @property
    def title(self) -> str:
        """One line above the table."""
        return f"{self.n_periods:,} idle periods; wake latency is the mean per period"

    def __repr__(self) -> str:
        return "\n".join([self.title, _aligned(*self.rows()), *(f"note: {n}" for n in self.notes)])

    def _repr_html_(self) -> str:
        head, cells = self.rows()
        return _html.table(head, cells, caption=self.title, notes=self.notes)


def compare(r: Replay, baseline: str | None) -> ReplayComparison:
    """Return every governor of `r` beside one of them; see `Replay.compare`."""
    from tickless.catalogue import governors

    name = r.governors[0] if baseline is None else baseline
    if name not in r.governors:
        name = next((e.name for e in governors() if name in e.aliases), name)
    if name not in r.governors:
        raise UnknownNameError(
            f"unknown baseline {baseline!r}; this replay holds {', '.join(r.governors)}"
        )
    count = len(r.governors)
    n = len(r.periods)
    agreement = np.ones((count, count))
    for a in range(count):
        for b in range(a):
            same = float((r.state[a] == r.state[b]).mean()) if n else np.nan
            agreement[a, b] = agreement[b, a] = same
    verdicts = np.stack([np.bincount(v, minlength=3)[:3] for v in r.verdict]).astype(np.int64)
    return ReplayComparison(
        governors=r.governors,
        baseline=name,
        n_periods=n,
        agreement=agreement,
        verdicts=verdicts,
        tick_stopped=r.stop_tick.sum(axis=1, dtype=np.int64),
        wake_latency_ns=r.wake_latency_ns.sum(axis=1, dtype=np.int64),
        energy_uj=r.energy_uj.sum(axis=1),
        recorded_agreement=r.agreement,
        notes=(*_recorded_notes(r), *r.notes),
    )


def _recorded_notes(r: Replay) -> list[str]:
    share = r.agreement
    if share is None:
        return []
    best = float(share.max())
    names = [g for g, s in zip(r.governors, share, strict=True) if s == best]
    text = f"{' = '.join(names)} ({_percent(best)} of the recorded choices)"
    if r.recorded is None:
        notes = [f"the recorded governor is not named; best match: {text}"]
    elif r.recorded in r.governors:
        own = float(share[r.governors.index(r.recorded)])
        notes = [f"recorded governor {r.recorded}: {_percent(own)} of its choices reproduced"]
    else:
        notes = [f"recorded governor {r.recorded} is not among these; best match: {text}"]
    return notes


def overview_text(r: Replay) -> str:
    """Return the comparison with the first governor as text."""
    return repr(compare(r, None))


def overview_html(r: Replay) -> str:
    """Return the comparison with the first governor as HTML."""
    return compare(r, None)._repr_html_()


def _change(values: NDArray[Any], base: int) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        change = 100.0 * (values - values[base]) / values[base]
    return np.where(values == values[base], 0.0, change)


def _percent(share: float) -> str:
    return "-" if np.isnan(share) else f"{100 * share:.1f} %"


def _aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(r[j]) for r in (head, *rows)) for j in range(len(head))]
    return "\n".join(
        "  ".join(
            c.rjust(w) if j else c.ljust(w) for j, (c, w) in enumerate(zip(r, widths, strict=True))
        )
        for r in (head, *rows)
    )
