"""Two dumps of the idle counters and what happened between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tickless.idle_dump import COUNTERS, CpuidleDump, Source, State, _frame, read_idle_dump

if TYPE_CHECKING:
    import pandas as pd

COUNTED = (*COUNTERS, "rejected", "s2idle_usage", "s2idle_time_us")
"""Fields that count up."""


@dataclass(frozen=True, eq=False, repr=False)
class IdleCounters:
    """Difference of two dumps of one machine; frozen.

    Attributes
    ----------
    before, after : CpuidleDump
    delta : dict of str to list of dict
        By ``cpuN``: per state ``index`` and the counted fields; None where a counter is missing in
        one of the dumps or went back. Never negative.
    warnings : list of dict
        Of both dumps, then counters that went back, then CPUs with missing counters.
    """

    before: CpuidleDump
    after: CpuidleDump
    delta: dict[str, list[State]]
    warnings: list[dict[str, Any]]

    @property
    def format(self) -> str:
        """The kind of the dumps."""
        return self.after.format

    @property
    def states(self) -> dict[str, list[State]]:
        """The states of the later dump."""
        return self.after.states

    def shares(self) -> pd.DataFrame:
        """Return the shares of too deep and too shallow idle periods per CPU.

        Returns
        -------
        DataFrame
            Columns cpu, usage, above_share, below_share: the counts of all states of a CPU over its
            usage; NA where a counter is missing.
        """
        import pandas as pd

        frame = self.to_frame()
        rows = []
        for cpu, of_cpu in frame.groupby("cpu"):
            total = of_cpu[["usage", "above", "below"]].sum(skipna=False)
            usage = total["usage"]
            some = not pd.isna(usage) and usage > 0
            rows.append(
                {
                    "cpu": cpu,
                    "usage": usage,
                    "above_share": total["above"] / usage if some else pd.NA,
                    "below_share": total["below"] / usage if some else pd.NA,
                }
            )
        columns = ["cpu", "usage", "above_share", "below_share"]
        types = {"usage": "Int64", "above_share": "Float64", "below_share": "Float64"}
        return pd.DataFrame(rows, columns=columns).astype(types)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per CPU and state with the counted fields."""
        return _frame(self.delta, ("index", *COUNTED))

    def __repr__(self) -> str:
        return f"IdleCounters: {self.before.path} to {self.after.path}\n{self.to_frame()}"


def read_idle_counters(before: Source, after: Source) -> IdleCounters:
    """Read two dumps and return what happened between them.

    Parameters
    ----------
    before, after : path, bytes or binary file
        Dumps of the same machine, the earlier one first; see `tickless.read_idle_dump`.

    Returns
    -------
    IdleCounters

    Raises
    ------
    InputError
        If one of them is no dump.
    """
    return difference(read_idle_dump(before), read_idle_dump(after))


def difference(before: CpuidleDump, after: CpuidleDump) -> IdleCounters:
    """Return the difference of two dumps that were read before."""
    went_back: list[dict[str, Any]] = []
    missing: list[dict[str, Any]] = []
    delta: dict[str, list[State]] = {}
    for name in sorted(before.states.keys() & after.states.keys(), key=_number):
        cpu = _number(name)
        earlier = {s["index"]: s for s in before.states[name]}
        pairs = [(earlier[s["index"]], s) for s in after.states[name] if s["index"] in earlier]
        delta[name] = [_state_delta(cpu, old, new, went_back) for old, new in pairs]
        lacking = [f for f in COUNTERS for d in pairs if d[0][f] is None or d[1][f] is None]
        if lacking or not len(pairs) == len(earlier) == len(after.states[name]):
            missing.append({"code": "missing-fields", "cpu": cpu})
    for name in sorted(before.states.keys() ^ after.states.keys(), key=_number):
        missing.append({"code": "missing-cpu", "cpu": _number(name)})
    warnings = [*before.warnings, *after.warnings, *went_back, *missing]
    return IdleCounters(before=before, after=after, delta=delta, warnings=warnings)


def _number(name: str) -> int:
    return int(name.removeprefix("cpu"))


def _state_delta(cpu: int, old: State, new: State, went_back: list[dict[str, Any]]) -> State:
    delta: State = {"index": new["index"]}
    for field in COUNTED:
        delta[field] = None
        if old[field] is None or new[field] is None:
            continue
        if new[field] >= old[field]:
            delta[field] = new[field] - old[field]
        else:
            went_back.append(
                {"code": "counter-went-back", "cpu": cpu, "state": new["index"], "field": field}
            )
    return delta
