"""Simulate: machine x kernels x workload as a closed loop, repeated, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tickless import _core
from tickless._arrays import flag, integer, named, real, text
from tickless._foreign import as_core
from tickless._progress import Progress
from tickless._random import entropy, seed_sequence
from tickless.errors import InvalidParameterError, unknown_name
from tickless.kernel import Kernel
from tickless.machine import Machine
from tickless.recording import Recording
from tickless.results import Results
from tickless.simulate_metrics import metrics
from tickless.simulate_notes import notes
from tickless.workload import Case, Workload, as_label, as_machine, as_workload

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Simulation", "simulate"]

MOST_RUNS = 1_000_000
"""Runs of one call; more belong into a sweep, which can be continued."""
LONGEST_S = 1_000_000.0
"""Longest window and warm-up, s."""
MS = 1_000_000
"""ns; progress is reported in simulated ms."""


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Results):
    """Results of simulated runs; see `Results` for everything but the recordings.

    Attributes
    ----------
    recordings : tuple of Recording
        With ``record=True``, what happened in the first repeat of each kernel and case.
    """

    recordings: tuple[Recording, ...] = ()

    def recording(self, kernel: str | None = None, case: str | int | None = None) -> Recording:
        """Return the recording of one kernel and case.

        Parameters
        ----------
        kernel : str, optional
            Its name; the first one recorded by default.
        case : str or int, optional
            Its label; the first one recorded by default.

        Raises
        ------
        InvalidParameterError
            If nothing was recorded.
        UnknownNameError
            For a pair that is not there.
        """
        if not self.recordings:
            raise InvalidParameterError("record: nothing was recorded; simulate with record=True")
        kernel = None if kernel is None else text("kernel", kernel)
        case = None if case is None else as_label(case)
        for r in self.recordings:
            if kernel in (None, r.kernel) and case in (None, r.case):
                return r
        wanted = " ".join(name for name in (kernel, case) if name is not None)
        raise unknown_name("recording", wanted, [f"{r.kernel} {r.case}" for r in self.recordings])

    def to_perfetto(
        self, path: Any, *, kernel: str | None = None, case: str | int | None = None
    ) -> None:
        """Write one recording as a trace that https://ui.perfetto.dev opens; needs ``record=True``.

        Parameters
        ----------
        path : str or path
            A ``.json`` file.
        kernel, case : str or int, optional
            Which recording; the first by default.
        """
        self.recording(kernel, case).to_perfetto(path)

    def to_ftrace(
        self, path: Any, *, kernel: str | None = None, case: str | int | None = None
    ) -> None:
        """Write one recording as ftrace text that `read_trace` reads; needs ``record=True``.

        Parameters
        ----------
        path : str or path
            A text file.
        kernel, case : str or int, optional
            Which recording; the first by default.
        """
        self.recording(kernel, case).to_ftrace(path)

    def plot_timeline(
        self,
        start_ns: int | None = None,
        end_ns: int | None = None,
        *,
        kernel: str | None = None,
        case: str | int | None = None,
    ) -> Figure:
        """Draw what each CPU does in one recording; needs ``record=True``.

        Parameters
        ----------
        start_ns, end_ns : int, optional
            Part to draw, in the times of `Recording.t_ns`; all of it if None.
        kernel, case : str or int, optional
            Which recording; the first by default.

        Returns
        -------
        matplotlib.figure.Figure
            See `Recording.plot`.
        """
        return self.recording(kernel, case).plot(start_ns, end_ns)


def simulate(
    machine: str | Machine,
    kernels: str | Kernel | Sequence[str | Kernel],
    workload: str | Workload,
    *,
    cases: str | int | Sequence[str | int] | None = None,
    repeats: int = 5,
    rng: Any = 0,
    duration_s: float | None = None,
    warmup_s: float | None = None,
    threads: int | None = None,
    progress: bool | Callable[[int], object] | None = None,
    noise: float = 1.0,
    slice: str | None = None,
    record: bool = False,
    common_arrivals: bool = False,
) -> Simulation:
    """Run a workload on kernels of a simulated machine and report what a benchmark would.

    Runs go on all cores with the interpreter lock released. Equal arguments give equal bits,
    whatever the number of threads.

    Parameters
    ----------
    machine : str or Machine
        A registered name, ``"this"`` for the running machine, or an object.
    kernels : str, Kernel, or sequence of them
        Columns of the table; names must differ.
    workload : str or Workload
        A registered name or an object.
    cases : str, int, or sequence of them, optional
        Rows of the table: labels, or the numbers behind them. Default: those that the table of the
        workload has on this machine.
    repeats : int
        Runs per kernel and case, each with its own random numbers.
    rng : None, int, SeedSequence, BitGenerator or Generator
        Source of all random numbers (SPEC 7). Run (kernel, case, repeat) has a stream of its own:
        more kernels, cases or repeats at the end change none of the others.
    duration_s : float, optional
        Simulated time that counts. Default: the workload's. For a workload that ends by itself, the
        longest time it may take.
    warmup_s : float, optional
        Simulated time before it. Default: what workload and kernel need; with more tasks than CPUs
        at least 0.2 s, under CFS 1 s. A workload that ends by itself has none.
    threads : int, optional
        Worker threads. Default: all cores.
    progress : bool or callable, optional
        True shows a bar (needs tqdm); a callable gets the simulated time so far, ms.
    noise : float
        Strength of the variation between runs: 1 as on a real machine, 0 for none.
    slice : {None, "llc"}
        ``"llc"`` simulates one last-level cache of the machine with its share of each case, and
        reports figures of the whole. Only where that is exact.
    record : bool
        Keep what happened in the first repeat of each kernel and case, for `Simulation.to_perfetto`
        and `Simulation.to_ftrace`; 16 million happenings in all.
    common_arrivals : bool
        Give every kernel the random numbers of the first, so that differences vary less. The
        samples of two kernels are then no longer independent, as the tests of a comparison assume.

    Returns
    -------
    Simulation
        `Results` whose metrics are the reported figures of the workload first; then, of the window,
        counts per second (``context_switches``, ``wakeups``, ``migrations`` ...), the same as
        ``..._total`` and ``..._per_op``, quantiles of wake-up latency (``latency_p99_us``), slices
        and idle periods, ``utilisation``, ``power_w``, ``energy_j``, and per idle state
        ``idle_usage``, ``idle_time_s``, ``idle_above``, ``idle_below``.

    Raises
    ------
    UnknownNameError
        For a machine, kernel, workload or case that does not exist.
    InvalidParameterError
        Before anything runs, for arguments out of range, a workload that cannot work, more tasks
        than fit into memory, or a slice that is not exact. For a workload that comes to a
        standstill, with the tasks and what each waits for.
    InvalidTypeError
        For an argument of the wrong type.

    Notes
    -----
    `Results.notes` says which cells are not steady, fall into several states, were cut or lost
    messages, or lie where a governor changes its mind.

    Examples
    --------
    >>> import tickless
    >>> res = tickless.simulate("8x-SKYLAKE-UMA", ["4.18-vanilla", "4.18-teo-v5"], "tbench",
    ...                         cases=[1, 2], repeats=3, duration_s=0.01)
    >>> res["throughput"].shape, res.unit
    ((2, 2, 3), 'MB/s')
    """
    model, load = as_machine(machine), as_workload(workload)
    columns = _kernels(kernels)
    sliced = _sliced(slice)
    rows, left_out = _cases(load, model, cases, sliced)
    shape = (len(columns), len(rows), _repeats(repeats, len(columns) * len(rows)))
    seeds = entropy(seed_sequence(rng), shape, flag("common_arrivals", common_arrivals))
    batch = _core.Batch(
        model.core,
        [(k.core, _governor(k)) for k in columns],
        load.core,
        [(c.label, c.value) for c in rows],
        sliced=sliced,
        noise=real("noise", noise),
        warmup_ns=_nanoseconds("warmup_s", warmup_s, 0.0),
        window_ns=_nanoseconds("duration_s", duration_s, 1e-9),
        record=flag("record", record),
    )
    total = batch.simulated_ns(shape[2]) // MS
    with Progress(progress, " ms simulated", total) as report:
        raw = batch.run(seeds, threads=_threads(threads), progress=_in_ms(report))
    labels = [c.label for c in rows]
    found = list(metrics(raw, load))
    first = next(iter(load.reports))
    return Simulation(
        benchmark=load.name,
        machine=model.name,
        kernels=tuple(k.name for k in columns),
        cases=tuple(labels),
        metrics={name: values for name, _, values in found},
        metric_info={name: info for name, info, _ in found},
        primary=first,
        kernel_labels=tuple(k.label for k in columns),
        case_labels=tuple(load.prefix + label for label in labels),
        case_title=load.row,
        notes=(*left_out, *load.notes, *dict.fromkeys(notes(raw, model, columns, labels))),
        attrs=_attrs(model, load, raw, noise, sliced),
        recordings=_recordings(raw, batch, columns, labels, model),
    )


def _kernels(kernels: Any) -> list[Kernel]:
    found = [_kernel(k) for k in _several(kernels, Kernel)]
    if not found:
        raise InvalidParameterError("kernels: expected at least one")
    names = [k.name for k in found]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise InvalidParameterError(
            f"kernels: {twice!r} occurs more than once; give a changed kernel a name of its own, "
            "replace(name=...)"
        )
    return found


def _kernel(kernel: Any) -> Kernel:
    given = named("kernels", kernel, Kernel, "names (tickless.kernels()) or Kernels")
    return Kernel(given) if isinstance(given, str) else given


def _several(values: Any, *single: type) -> list[Any]:
    """Return what was given, one thing or several, as a list."""
    if isinstance(values, (str, bytes, *single)) or not isinstance(values, Iterable):
        return [values]
    if isinstance(values, np.ndarray) and values.ndim == 0:
        return [values.item()]
    return list(values)


def _sliced(slice: Any) -> bool:
    if slice is None:
        return False
    if text("slice", slice) != "llc":
        raise InvalidParameterError(f'slice: expected None or "llc", found {slice!r}')
    return True


def _cases(
    load: Workload, machine: Machine, cases: Any, sliced: bool
) -> tuple[list[Case], list[str]]:
    """Return the cases to run, and a note on those of the table that a slice leaves out."""
    if cases is None:
        every = [load.case(machine, label) for label in load.cases(machine)]
        parts = len(set(machine.topology.llc_of.tolist())) if sliced else 1
        kept = [c for c in every if c.value % parts == 0]
        if len(kept) == len(every) or not kept:
            return every, []
        out = ", ".join(c.label for c in every if c not in kept)
        return kept, [f"slice: cases {out} cannot be divided by {parts} last-level caches"]
    found = [load.case(machine, c) for c in _several(cases)]
    if not found:
        raise InvalidParameterError("cases: expected at least one")
    labels = [c.label for c in found]
    twice = next((x for x in labels if labels.count(x) > 1), None)
    if twice is not None:
        raise InvalidParameterError(f"cases: {twice!r} occurs more than once")
    return found, []


def _repeats(repeats: Any, cells: int) -> int:
    n = integer("repeats", repeats)
    if not 1 <= n * cells <= MOST_RUNS:
        raise InvalidParameterError(
            f"repeats: expected at least 1 and at most {MOST_RUNS // cells}, so that {cells} pairs "
            f"of kernel and case make at most {MOST_RUNS:,} runs; found {n}"
        )
    return n


def _nanoseconds(name: str, seconds: Any, least: float) -> int | None:
    if seconds is None:
        return None
    value = real(name, seconds)
    if not least <= value <= LONGEST_S:  # NaN too
        raise InvalidParameterError(
            f"{name}: expected {'more than 0' if least else 'at least 0'} and at most "
            f"{LONGEST_S:,.0f} s, found {value}"
        )
    return round(value * 1e9)


def _threads(threads: Any) -> int | None:
    if threads is None:
        return None
    n = integer("threads", threads)
    if n < 1:
        raise InvalidParameterError(f"threads: expected at least 1, found {n}")
    return n


def _governor(kernel: Kernel) -> Any:
    if kernel.custom_governor is None:
        return None
    return as_core(kernel.custom_governor)


def _in_ms(report: Callable[[int], object] | None) -> Callable[[int], object] | None:
    return None if report is None else lambda ns: report(ns // MS)


def _attrs(
    machine: Machine, load: Workload, raw: Mapping[str, Any], noise: float, sliced: bool
) -> dict[str, Any]:
    """Return what is needed to read the numbers, as json values."""
    states = list(max(machine.tables, key=len).names)
    per_state = ["state", states]
    return {
        "source": "simulate",
        "version": _core.VERSION,
        "parameters": {n: p.value for n, p in load.parameters_on(machine).items()},
        "noise": float(noise),
        "slice": "llc" if sliced else None,
        "power": _power(machine),
        "warmup_s": (raw["warmup_ns"][:, :, 0, 0] * 1e-9).tolist(),
        "axes": {
            **{f"idle_{x}": per_state for x in ("usage", "time_s", "above", "below")},
            "cpu_busy": ["cpu", list(range(raw["busy"].shape[-1]))],
        },
    }


def _power(machine: Machine) -> str:
    """Return how much the power numbers are worth."""
    said = [s.removeprefix("power: ") for s in machine.sources if s.startswith("power")]
    return "; ".join(said) or f"not known for {machine.name}: power and energy are missing"


def _recordings(
    raw: Mapping[str, Any],
    batch: _core.Batch,
    kernels: Sequence[Kernel],
    cases: Sequence[str],
    machine: Machine,
) -> tuple[Recording, ...]:
    made = []
    for i, columns in enumerate(raw["recordings"]):
        k, c = divmod(i, len(cases))
        lost = columns.pop("lost")
        made.append(
            Recording(
                kernel=kernels[k].name,
                case=cases[c],
                machine=machine.name,
                states=tuple(max(machine.tables, key=len).names),
                tasks=tuple(batch.task_names(int(c))),
                nices=tuple(batch.task_nices(int(c))),
                governor=kernels[k].governor,
                ncpus=machine.ncpus,
                lost=lost,
                **columns,
            )
        )
    return tuple(made)
