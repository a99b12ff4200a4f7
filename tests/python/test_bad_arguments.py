"""Arguments no caller should give: a typed error that names the argument, never another one."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest

import tickless
from interrupting import interrupt
from tickless import InvalidParameterError, ShapeError
from tickless.errors import InvalidTypeError

SURROGATE = "\udc80"
EVENTS = [(0, "FORK", 0)]


def samples(values, **metric) -> tickless.Results:
    return tickless.Results.build(
        "b", ["k", "l"], ["c"], {"t": (tickless.Metric.time("s", **metric), values)}
    )


GOOD = samples([[[1.0, 1.1]], [[1.2, 1.3]]])


def table(**changes) -> tickless.IdleTable:
    given = {"names": ["a", "b"], "exit_latency_ns": [0, 1], "target_residency_ns": [0, 1]}
    return tickless.IdleTable(**(given | changes))


def replayed(**changes) -> tickless.Replay:
    periods = tickless.IdlePeriods([1000], [10])
    given = {"periods": periods, "governors": "teo-6.12", "machine": "8x-SKYLAKE-UMA"} | changes
    return tickless.replay(**given)


def limited(c, *limit) -> None:
    tickless.assert_no_regression(c, *limit)


def run(**changes) -> tickless.Timeline:
    return tickless.timeline(**({"tasks": [0], "policy": "cfs", "events": EVENTS} | changes))


def machine(tables, **more) -> tickless.Machine:
    return tickless.Machine("m", tables=tables, **more)


def bursts(ops) -> tickless.Timeline:
    return run(events=None, programs=[(0, ops)], until_ns=1000)


def programs(given) -> tickless.Timeline:
    return run(events=None, programs=given, until_ns=1000)


MASKED = np.ma.array([1, 2], mask=[False, True])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tickless.IdlePeriods([[1], [1, 2]], [1, 2]), ShapeError, "sleep_length_ns"),
        (lambda: tickless.IdlePeriods([1, 2], MASKED), InvalidParameterError, "wake_ns[1]: masked"),
        (lambda: tickless.IdlePeriods([1], [1], notes=3), InvalidTypeError, "notes"),
        (lambda: tickless.IdlePeriods.concatenate([1]), InvalidTypeError, "parts"),
        (lambda: table(names=None), InvalidTypeError, "names"),
        (lambda: table(names=["a", SURROGATE]), InvalidParameterError, "names[1]"),
        (lambda: table(active_mw="x"), InvalidTypeError, "active_mw"),
        (lambda: table(active_mw=-1), InvalidParameterError, "active_mw"),
        (lambda: table(label=3), InvalidTypeError, "label"),
        (lambda: table(notes=[3]), InvalidTypeError, "notes[0]"),
        (lambda: tickless.Machine(SURROGATE), InvalidParameterError, "machine"),
        (lambda: machine(3), InvalidTypeError, "tables"),
        (lambda: machine([3]), InvalidTypeError, "tables"),
        (
            lambda: machine(table(), table_of=[0.5]),
            InvalidTypeError,
            "table_of",
        ),
        (lambda: machine(table(), table_of=[[0]]), ShapeError, "table_of"),
        (lambda: machine(table(), hz="x"), InvalidTypeError, "hz"),
        (lambda: machine(table()).idle_table("x"), InvalidTypeError, "cpu"),
        (lambda: replayed(governors=SURROGATE), InvalidParameterError, "governors"),
        (lambda: replayed(threads=-1), InvalidParameterError, "threads"),
        (lambda: replayed(threads=2**70), InvalidParameterError, "threads"),
        (lambda: replayed(threads=1.5), InvalidTypeError, "threads"),
        (lambda: replayed(hz=np.array([250, 100])), InvalidTypeError, "hz"),
        (lambda: replayed(add_exit_latency="no"), InvalidTypeError, "add_exit_latency"),
        (lambda: replayed(trace_decisions="no"), InvalidTypeError, "trace_decisions"),
        (lambda: replayed(recorded=3), InvalidTypeError, "recorded"),
        (lambda: run(policy=SURROGATE), InvalidParameterError, "policy"),
        (lambda: run(policy=3), InvalidTypeError, "policy"),
        (lambda: run(tasks=range(2**70)), InvalidParameterError, "tasks"),
        (lambda: run(tasks=np.array(3)), InvalidTypeError, "tasks"),
        (lambda: run(features={SURROGATE: True}), InvalidParameterError, "features"),
        (lambda: run(tunables={SURROGATE: 1}), InvalidParameterError, "tunables"),
        (lambda: run(rows=np.array([1, 2])), InvalidTypeError, "rows"),
        (lambda: run(events={"t_ns": [0], "op": "FORK", "task": [0]}), ShapeError, "events.op"),
        (lambda: bursts([[1, 2], [3]]), ShapeError, "programs[0]"),
        (lambda: bursts(np.ma.array([[5, 6]], mask=[[0, 1]])), InvalidParameterError, "masked"),
        (lambda: run(pick=np.ones(2)), InvalidTypeError, "pick"),
        (lambda: programs(np.ones(2)), InvalidParameterError, "programs[0]"),
        (lambda: programs([np.array(1)]), InvalidParameterError, "programs[0]"),
        (lambda: programs([{0, 1}]), InvalidParameterError, "programs[0]"),
        (lambda: programs(range(10**9)), InvalidParameterError, "programs: 1000000000"),
        (lambda: bursts({1, 2}), InvalidTypeError, "programs[0].ops"),
        (lambda: run(tasks=[range(10**9)]), InvalidParameterError, "tasks[0]"),
        (lambda: run(events=[{1, 2, 3}]), InvalidTypeError, "events[0]"),
        (lambda: run().plot("a", 3), InvalidTypeError, "start_ns"),
        (lambda: run().plot(names=[1]), InvalidTypeError, "names[0]"),
        (lambda: samples(np.full((2, 1, 3), 1j)), InvalidTypeError, "t: not an array"),
        (lambda: samples(np.ones((2, 1, 0))), ShapeError, "no repeats"),
        (lambda: samples(np.ones((2, 1, 1)), decimals=-1), InvalidParameterError, "decimals"),
        (lambda: samples(np.ones((2, 1, 1)), decimals=10**9), InvalidParameterError, "decimals"),
        (lambda: samples(np.ones((2, 1, 1)), style=3), InvalidTypeError, "style"),
        (lambda: GOOD.replace(attrs=3), InvalidTypeError, "attrs"),
        (lambda: GOOD.compare("k", alpha="x"), InvalidTypeError, "alpha"),
        (lambda: GOOD.compare("k", min_effect_pct=None), InvalidTypeError, "min_effect_pct"),
        (lambda: GOOD.compare("k", rule="bootstrap", rng="x"), InvalidTypeError, "rng"),
        (lambda: GOOD.compare("k", correction=[3]), InvalidParameterError, "correction"),
        (lambda: tickless.Results.from_csv(b"x"), InvalidTypeError, "text"),
        (lambda: tickless.Results.from_json(None), InvalidTypeError, "text"),
        (lambda: tickless.ResultSet([1]), InvalidTypeError, "entries"),
        (lambda: tickless.ResultSet({"a": 3}), InvalidTypeError, "entries['a']"),
        (lambda: tickless.ComparisonSet({"a": 3}), InvalidTypeError, "entries['a']"),
        (lambda: GOOD[[1]], InvalidTypeError, "metric"),
        (lambda: GOOD.select(kernels=3), InvalidTypeError, "kernels"),
        (lambda: GOOD.select(cases=[3]), InvalidTypeError, "cases[0]"),
        (lambda: GOOD.compare("k", metric=[1]), InvalidTypeError, "metric"),
        (lambda: GOOD.compare("k", rule=[1]), InvalidTypeError, "rule"),
        (lambda: GOOD.compare("k").table([1]), InvalidTypeError, "style"),
        (lambda: GOOD.compare("k").table(format=[1]), InvalidTypeError, "format"),
        (lambda: GOOD.compare("k").plot([1]), InvalidTypeError, "kind"),
        (lambda: GOOD.replace(kernels=3), InvalidTypeError, "kernels"),
        (lambda: GOOD.replace(kernels="kl"), InvalidTypeError, "kernels"),
        (lambda: GOOD.replace(benchmark=3), InvalidTypeError, "benchmark"),
        (lambda: GOOD.to_csv(3.5), InvalidTypeError, "path"),
        (lambda: GOOD.to_json("a\0b"), InvalidParameterError, "path"),
        (lambda: tickless.Results.from_frame(3), InvalidTypeError, "frame"),
        (lambda: tickless.Results.join([1]), InvalidTypeError, "parts[0]"),
        (lambda: tickless.Results.join(1), InvalidTypeError, "parts"),
        (lambda: tickless.ResultSet({"a": GOOD})[[1]], InvalidTypeError, "table"),
        (lambda: tickless.ResultSet({}, notes="abc"), InvalidTypeError, "notes"),
        (lambda: tickless.published(None), tickless.UnknownNameError, "unknown report None"),
        (lambda: tickless.published([1]), InvalidTypeError, "report"),
        (lambda: tickless.governors()[None], InvalidTypeError, "governors"),
        (lambda: tickless.read(io.BytesIO(b"x")), InvalidTypeError, "an open file"),
        (lambda: tickless.read(3), InvalidTypeError, "path"),
        (lambda: tickless.read(b"x", time_unit=["x"]), InvalidTypeError, "time_unit"),
        (lambda: tickless.read_trace(b"x", time_unit=["x"]), InvalidTypeError, "time_unit"),
        (lambda: tickless.read_trace(b"", errors=None), InvalidTypeError, "errors"),
        (lambda: tickless.read_benchmark(b"x", errors=None), InvalidTypeError, "errors"),
        (lambda: tickless.read_mmtests([]), InvalidTypeError, "directory"),
        (lambda: tickless.read_mmtests(".", kernels=3), InvalidTypeError, "kernels"),
        (lambda: limited(3), InvalidTypeError, "c:"),
        (
            lambda: tickless.assert_no_regression(GOOD.compare("k"), "2%"),
            InvalidTypeError,
            "max_loss",
        ),
    ],
)
def test_a_wrong_argument_is_named(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


def test_a_masked_sample_is_a_missing_one():
    values = np.ma.array([[[1.0, 99.0]], [[2.0, 3.0]]], mask=[[[0, 1]], [[0, 0]]])
    assert np.array_equal(samples(values)["t"][0, 0], [1.0, np.nan], equal_nan=True)


def test_a_set_of_no_comparisons_is_an_empty_frame():
    assert len(tickless.ComparisonSet({}).to_frame()) == 0


def test_more_kernels_than_a_picture_holds_are_refused():
    names = [f"k{i}" for i in range(61)]
    metric = tickless.Metric.time("s")
    res = tickless.Results.build("b", names, ["c"], {"t": (metric, np.ones((61, 1, 2)))})
    with pytest.raises(InvalidParameterError, match="at most 60"):
        res.compare("k0").plot()


@pytest.mark.parametrize("body", ["time.sleep(60)", "while True: pass"])
@pytest.mark.parametrize("others", ["", ", 'teo'"])
def test_ctrl_c_stops_a_governor_that_never_answers(body, others):
    code = f"""
import time, tickless
class Stuck:
    def select(self, ctx):
        print("go", flush=True)
        {body}
    def reflect(self, ctx, outcome): pass
periods = tickless.IdlePeriods([1, 2], [1, 1])
tickless.replay(periods, [Stuck(){others}], machine="8x-SKYLAKE-UMA", progress=lambda done: None)
"""
    _, said, _ = interrupt(code, after=0.2)  # it is stuck by then
    assert "KeyboardInterrupt" in said
    assert "raised by select of a governor in period 0" in said


def test_objects_and_registered_governors_keep_their_rows():
    class Deepest:
        def select(self, ctx):
            return ctx.n_states - 1

        def reflect(self, ctx, outcome):
            pass

    counts: list[int] = []
    periods = tickless.IdlePeriods([10**6] * 50, [3000] * 50, cpu=np.arange(50) % 3)
    mixed = ["menu", Deepest(), "teo", Deepest()]
    r = tickless.replay(periods, mixed, machine="8x-SKYLAKE-UMA", progress=counts.append)
    own = tickless.replay(periods, ["menu", "teo"], machine="8x-SKYLAKE-UMA")
    assert np.array_equal(r.state[[0, 2]], own.state)
    assert np.array_equal(r.stop_tick[[0, 2]], own.stop_tick)
    assert (r.state[[1, 3]] == len(r.states) - 1).all()
    assert counts[-1] == 200


def test_an_exception_of_a_progress_function_stops_an_object():
    class Slow:
        def select(self, ctx):
            time.sleep(0.001)
            return 0

        def reflect(self, ctx, outcome):
            pass

    periods = tickless.IdlePeriods([10**6] * 200_000, 3000)
    with pytest.raises(ZeroDivisionError):
        tickless.replay(periods, Slow(), machine="8x-SKYLAKE-UMA", progress=lambda done: 1 // 0)


LONGEST = 2**63 - 1


def test_a_wake_time_to_which_no_exit_latency_can_be_added_is_refused():
    """The core's arithmetic has 64 bits; a measured interval is 292 years shorter."""
    table_ = table(exit_latency_ns=[0, 7], target_residency_ns=[0, 9])
    most = LONGEST - 7
    for wake, fits in ((most, True), (most + 1, False)):
        call = {"periods": tickless.IdlePeriods([1, 1], [5, wake]), "states": table_}
        call |= {"machine": None, "add_exit_latency": True}
        if fits:
            assert replayed(**call).residency_ns.min() > 0
            continue
        with pytest.raises(InvalidParameterError, match=r"wake_ns\[1\]: .* do not fit 64 bits"):
            replayed(**call)
        # Nothing is added without the option.
        assert replayed(**call | {"add_exit_latency": False}).residency_ns.max() == wake


@pytest.mark.parametrize(
    ("wakes", "total"),
    [
        ([2**62, 2**62 - 1], LONGEST),
        ([2**62, 2**62], LONGEST),
        ([2**62] * 5, LONGEST),
        ([LONGEST] * 9, LONGEST),
        ([2**62 - 1, 5], 2**62 + 4),
    ],
)
def test_a_total_that_64_bits_do_not_hold_stays_at_the_largest(wakes, total):
    periods = tickless.IdlePeriods([1] * len(wakes), wakes)
    assert replayed(periods=periods).summary()["time_ns"].max() == total
    assert (replayed(periods=periods).summary()["time_ns"] >= 0).all()


def test_a_c_governor_of_another_signature_is_refused():
    import ctypes

    numba = pytest.importorskip("numba")
    i64, f64 = numba.types.int64, numba.types.float64
    numbers, reals = numba.types.CPointer(i64), numba.types.CPointer(f64)

    def three(memory, context, table):
        return 0

    good = numba.cfunc(i64(numbers, numbers, numbers))(three)
    assert replayed(governors=[good]).state.tolist() == [[0]]
    wrong = [
        numba.cfunc(i64(numbers))(lambda memory: 0),
        numba.cfunc(f64(numbers, numbers, numbers))(three),
        numba.cfunc(numba.types.int32(numbers, numbers, numbers))(three),
        numba.cfunc(i64(numbers, reals, numbers))(three),
        numba.cfunc(i64(i64, i64, i64))(three),
    ]
    pointer = ctypes.POINTER(ctypes.c_int64)
    wrong += [
        ctypes.CFUNCTYPE(ctypes.c_int64, pointer)(lambda memory: 0),
        ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer, pointer)(three),
        ctypes.CFUNCTYPE(ctypes.c_int64, pointer, pointer, ctypes.c_double)(three),
    ]
    for governor in wrong:
        with pytest.raises(
            InvalidTypeError, match=r"governors: .* int64\(int64\*, int64\*, int64\*\)"
        ):
            replayed(governors=[governor])
        with pytest.raises(InvalidTypeError, match="governors"):
            tickless.Kernel("6.12").replace(governor=governor)
    for result in (ctypes.c_int64, ctypes.c_longlong):
        declared = ctypes.CFUNCTYPE(result, pointer, ctypes.c_void_p, pointer)(three)
        assert replayed(governors=[declared]).state.tolist() == [[0]]
