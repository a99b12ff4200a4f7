"""The border of the replay: what it takes, what it refuses, governors from outside."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time

import numpy as np
import pytest

from tickless import InvalidParameterError, ShapeError, UnknownNameError, _core

EXIT = [0, 2_000, 10_000, 70_000]
TARGET = [0, 2_000, 20_000, 200_000]
TABLE = _core.IdleTable(
    ["POLL", "C1", "C1E", "C6"], EXIT, TARGET, [True, False, False, False], [False] * 4, [None] * 4
)


def columns(n: int = 1000, **more: object) -> dict[str, object]:
    rng = np.random.default_rng(3)
    sleep = rng.integers(1_000, 5_000_000, n)
    return {
        "sleep_length_ns": sleep,
        "wake_ns": np.minimum(sleep, rng.integers(0, 400_000, n)),
        **more,
    }


def replay(governors, cols=None, **options):
    options = {"hz": 250} | options
    return _core.replay(governors, TABLE, columns() if cols is None else cols, **options)


def test_every_entry_of_the_catalogue_says_where_it_is_from():
    entries = _core.governors()
    assert len(entries) == 32
    for e in entries:
        assert e["text"] in ("exact", "reconstructed")
        assert e["confidence"] in ("full", "high", "medium", "low")
        assert e["era"] in ("us", "ns")
        assert e["source"]
        assert e["kernel"]
    fitted = [e["name"] for e in entries if e["fitted"]]
    assert fitted == ["teo-rfc-v1-tolerant", "teo-rfc-v2-strict"]


def test_aliases_lead_to_the_newest_and_unknown_names_to_the_nearest():
    newest = {"menu": "menu-7.2", "teo": "teo-7.2", "ladder": "ladder-6.1"}
    newest |= {"haltpoll": "haltpoll-7.2", "teo-v5": "teo-rfc-v5", "menu-4.18": "menu-4.18.0"}
    newest |= {"menu-4.20": "menu-5.0"}
    for alias, name in newest.items():
        assert _core.canonical_governor(alias) == name
    with pytest.raises(UnknownNameError, match=r"teo-6\.12"):
        replay(["teo-6.11"])


def test_a_kernel_between_two_entries_says_how_sure_the_nearest_is():
    claims = {d["family"]: (d["name"], d["claim"]) for d in _core.nearest_governors("6.8")}
    assert claims["menu"] == ("menu-6.12", "unknown")
    assert claims["ladder"] == ("ladder-6.1", "identical")
    with pytest.raises(InvalidParameterError, match="no kernel version"):
        _core.nearest_governors("latest")


def test_results_have_one_row_per_governor_and_small_dtypes():
    r = replay(["menu", "teo", "ladder"], trace_decisions=True)
    shapes = {k: (v.shape, v.dtype.name) for k, v in r.items()}
    assert shapes == {
        "state": ((3, 1000), "uint8"),
        "stop_tick": ((3, 1000), "bool"),
        "verdict": ((3, 1000), "uint8"),
        "predicted_ns": ((3, 1000), "int64"),
        "rule": ((3, 1000), "uint8"),
    }
    assert r["rule"].max() < len(_core.RULES)
    assert set(replay(["menu"])) == {"state", "stop_tick", "verdict"}


def test_scalars_are_as_good_as_full_columns():
    given = {"latency_limit_ns": 50_000, "nr_iowait": 2, "tick_stopped": 1, "cpu": 9}
    full = {
        "latency_limit_ns": np.full(1000, 50_000),
        "nr_iowait": np.full(1000, 2, np.uint32),
        "tick_stopped": np.ones(1000, bool),
        "cpu": np.full(1000, 9, np.uint32),
    }
    a = replay(["menu-6.1"], columns(**given))
    b = replay(["menu-6.1"], columns(**full))
    assert all((a[k] == b[k]).all() for k in a)


def test_none_takes_the_default():
    a, b = replay(["teo"], columns(got_tick=None, cpu=None)), replay(["teo"])
    assert all((a[k] == b[k]).all() for k in a)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("wake_ns", np.full(1000, np.nan)),
        ("wake_ns", np.zeros(1000, np.int32)),
        ("wake_ns", 1.5),
        ("wake_ns", [1] * 1000),
        ("nr_iowait", np.zeros(1000, np.int64)),
        ("disabled", np.zeros((2, 500), np.uint16)),
        ("wake_ns", np.zeros(2000, np.int64)[::2]),
        ("got_tick", np.zeros(1000, np.int8)),
    ],
)
def test_a_wrong_type_is_a_type_error_that_names_the_column(name, value):
    with pytest.raises(TypeError, match=rf"^{name}: expected an int or a 1-D C-contiguous array"):
        replay(["menu"], columns(**{name: value}))


def test_values_out_of_range_name_their_place():
    wake = np.zeros(1000, np.int64)
    wake[123] = -1
    with pytest.raises(InvalidParameterError, match=r"wake_ns\[123\]"):
        replay(["menu"], columns(wake_ns=wake))
    with pytest.raises(InvalidParameterError, match="disabled: 65536 does not fit into uint16"):
        replay(["menu"], columns(disabled=65536))
    with pytest.raises(InvalidParameterError, match='unknown column "wake"'):
        replay(["menu"], columns(wake=0))
    with pytest.raises(InvalidParameterError, match="wake_ns: this column is required"):
        replay(["menu"], {"sleep_length_ns": np.zeros(3, np.int64)})
    with pytest.raises(ShapeError, match="cpu: expected length 1000, found 3"):
        replay(["menu"], columns(cpu=np.zeros(3, np.uint32)))
    with pytest.raises(InvalidParameterError, match="hz"):
        replay(["menu"], hz=1024)


class Deepest:
    """Believes the timer; keeps what it heard."""

    def __init__(self):
        self.heard = []

    def select(self, ctx):
        fits = [i for i, t in enumerate(ctx.target_residency_ns) if t <= ctx.sleep_length_ns]
        return fits[-1], ctx.sleep_length_ns > 4_000_000

    def reflect(self, ctx, outcome):
        self.heard.append((ctx.index, outcome.state, outcome.residency_ns))


def test_an_object_decides_and_hears_what_became_of_it():
    governor, cols = Deepest(), columns(50)
    r = replay([governor, "menu"], cols, add_exit_latency=True)
    expected = np.searchsorted(TARGET, cols["sleep_length_ns"], side="right") - 1
    assert (r["state"][0] == expected).all()
    assert (r["stop_tick"][0] == (cols["sleep_length_ns"] > 4_000_000)).all()
    slept = cols["wake_ns"] + np.array(EXIT)[expected]
    assert governor.heard == list(zip(range(50), expected, slept, strict=True))


def test_a_refused_entry_is_not_reflected():
    governor = Deepest()
    replay([governor], columns(5, rejected=np.array([0, 1, 0, 0, 1], bool)))
    assert [index for index, *_ in governor.heard] == [0, 2, 3]


def test_every_cpu_gets_its_own_copy_of_an_object_or_instance_of_a_class():
    class Counter:
        def __init__(self):
            self.asked = 0

        def select(self, ctx):
            self.asked += 1
            return self.asked % 4

    cpu = np.array([5, 5, 900_000, 5, 900_000], np.uint32)
    for governor in (Counter(), Counter):
        r = replay([governor], columns(5, cpu=cpu))
        assert r["state"].tolist() == [[1, 2, 1, 3, 2]]


def test_numpy_integers_are_states_too():
    class One:
        def select(self, ctx):
            return np.int64(1)

    assert (replay([One()])["state"] == 1).all()


@pytest.mark.parametrize("moment", ["select", "reflect"])
def test_an_exception_of_the_governor_passes_with_a_note_that_names_the_period(moment):
    class Own(Exception):
        pass

    class Bad(Deepest):
        def fail(self, ctx):
            if ctx.index == 17:
                raise Own("oops")

        def select(self, ctx):
            if moment == "select":
                self.fail(ctx)
            return 0

        def reflect(self, ctx, outcome):
            self.fail(ctx)

    with pytest.raises(Own, match="oops") as caught:
        replay(["menu", Bad()])
    assert caught.value.__notes__ == [f"raised by {moment} of a governor in period 17"]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(4, InvalidParameterError), (-1, InvalidParameterError), (10**30, InvalidParameterError)]
    + [(a, TypeError) for a in (None, "C1", 1.0, True, (1, True, 2), (None, True))],
)
def test_a_state_that_is_none_names_the_period(answer, kind):
    class Odd:
        def select(self, ctx):
            return answer if ctx.index == 3 else 0

    with pytest.raises(kind, match="period 3"):
        replay([Odd()])


@pytest.mark.parametrize("governor", [object(), 5, ("cfunc",), ("so", 5), ("cfunc", -1)])
def test_what_cannot_govern_is_refused(governor):
    with pytest.raises(TypeError, match="governors: expected"):
        replay([governor])


Signature = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.POINTER(ctypes.c_int64)] * 3)


def address(function) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value


def test_a_c_function_gets_the_documented_numbers():
    seen = []

    @Signature
    def governor(memory, context, table):
        n = len(_core.FOREIGN_CONTEXT)
        seen.append(dict(zip(_core.FOREIGN_CONTEXT, context[:n], strict=True)))
        memory[63] += 1
        assert table[:4] == EXIT
        assert table[10:14] == TARGET
        assert table[20:24] == [1, 0, 0, 0]
        return (memory[63] % 4) + (256 if memory[63] == 2 else 0)

    cols = columns(3, cpu=7, nr_iowait=4, poll_timeout=1)
    r = replay([("cfunc", address(governor))], cols, add_exit_latency=True, threads=1)
    assert r["state"].tolist() == [[1, 2, 3]]
    assert r["stop_tick"].tolist() == [[True, False, True]]
    assert [c["last_state"] for c in seen] == [-1, 1, 2]
    assert seen[1]["last_residency_ns"] == cols["wake_ns"][0] + EXIT[1]
    assert seen[1]["sleep_length_ns"] == cols["sleep_length_ns"][1]
    assert (seen[0]["cpu"], seen[0]["hz"], seen[0]["nr_iowait"]) == (7, 250, 4)


def test_a_c_function_that_leaves_the_table_names_the_period():
    @Signature
    def governor(memory, context, table):
        return 77

    with pytest.raises(InvalidParameterError, match="chose state 77 in period 0"):
        replay([("cfunc", address(governor))])
    with pytest.raises(InvalidParameterError, match="address 0"):
        replay([("cfunc", 0)])


def test_the_thread_count_changes_nothing():
    n = 20_000
    cols = columns(n, cpu=(np.arange(n) * 2_654_435_761 % 5).astype(np.uint32))
    names = [g["name"] for g in _core.governors()]
    one, two, all_cores = (replay(names, cols, threads=t) for t in (1, 2, None))
    for key in one:
        assert (one[key] == two[key]).all()
        assert (one[key] == all_cores[key]).all()


def test_progress_ends_with_all_decisions():
    told = []
    replay(["menu", "teo"], progress=told.append)
    assert told[-1] == 2000


def interrupted_after(seconds: float, governors, cols) -> float:
    """Time from Ctrl-C to the return of the replay."""
    pressed = []

    def press():
        time.sleep(seconds)
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            replay(governors, cols)
    thread.join()
    return time.perf_counter() - pressed[0]


@pytest.mark.parametrize("kind", ["own", "object"])
def test_ctrl_c_stops_a_long_replay(kind):
    governors = ["menu", "teo-rfc-v1"] * 8 if kind == "own" else [Deepest()]
    took = interrupted_after(0.3, governors, columns(2_000_000))
    assert took < 2.0  # 0.2 s on an idle machine; a busy one must not fail the suite
