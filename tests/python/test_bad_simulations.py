"""Simulations, workloads and their results asked for nonsense: a typed error with the place."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest

import tickless
from interrupting import interrupt
from tickless import InputError, InvalidParameterError, Machine, Results, Workload
from tickless.errors import InvalidTypeError

MACHINE = "8x-SKYLAKE-UMA"


def run(**changes) -> tickless.Simulation:
    given = {"machine": MACHINE, "kernels": "6.12", "workload": "tbench", "cases": [1]}
    given |= {"repeats": 1, "duration_s": 0.002, "warmup_s": 0.001} | changes
    return tickless.simulate(
        given.pop("machine"), given.pop("kernels"), given.pop("workload"), **given
    )


@pytest.fixture(scope="module")
def recorded() -> tickless.Simulation:
    return run(cases=[1, 2], record=True)


def own(ops=(("run", 5), ("count", "n")), tasks=1, **more) -> Workload:
    return Workload.from_ops({"hog": list(ops)}, {"hog": tasks}, **more)


def cyclic() -> list:
    ops: list = []
    ops.append(("repeat", 2, ops))
    return ops


def nested() -> dict:
    inner: dict = {}
    for _ in range(5000):
        inner = {"a": inner}
    return inner


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: run(machine=3), InvalidTypeError, "machine: expected a name"),
        (lambda: run(workload=[]), InvalidTypeError, "workload: expected a name"),
        (lambda: run(kernels=[3]), InvalidTypeError, "kernels: expected names"),
        (lambda: run(kernels=np.array(3)), InvalidTypeError, "kernels: expected names"),
        (lambda: run(kernels=b"6.12"), InvalidTypeError, "kernels: expected names"),
        (lambda: run(cases=np.ones((2, 2))), InvalidTypeError, "case"),
        (lambda: run(cases=int), InvalidTypeError, "case"),
        (lambda: own(cyclic()), InvalidParameterError, "nested without end"),
        (lambda: own(locks=nested()), InvalidParameterError, "nested without end"),
        (
            lambda: own(tasks={"groups": 1, "cpus": range(10**9)}),
            InvalidParameterError,
            "cpus: 1000",
        ),
        (
            lambda: own(channels=[f"c{i}" for i in range(30_000)]),
            InvalidParameterError,
            "channels: has 30000 entries",
        ),
        (lambda: own(channels=[["c"]]), InvalidTypeError, "channels[0]"),
        (lambda: own(summary="\udc80"), InvalidParameterError, "workload.summary"),
        (lambda: own(cases=[-1]), InvalidParameterError, "workload.cases[0]: -1"),
        (
            lambda: own(tasks="case*case*case", cases=[2**62]),
            InvalidParameterError,
            "more than any machine holds",
        ),
        (lambda: own((5,)), InvalidTypeError, "programs.hog[0]"),
        (
            lambda: own([("run", [])]),
            InvalidParameterError,
            "hog[0].run: expected a time: a number",
        ),
        (
            lambda: own(report={"rate": "n", "scale": -1}),
            InvalidParameterError,
            "workload.report.scale: -1e0 is not between",
        ),
        (
            lambda: own(report={"rate": "n", "scale": 1e308}),
            InvalidParameterError,
            "workload.report.scale",
        ),
        (
            lambda: own(report={"rate": "n", "metric": ""}),
            InvalidParameterError,
            "workload.report.metric: is empty",
        ),
        (
            lambda: Workload.from_rtapp(
                '{"tasks": {' + ",".join(f'"t{i}": {{"run": 1}}' for i in range(30_000)) + "}}"
            ),
            InvalidParameterError,
            "tasks: 30000 tasks",
        ),
        (lambda: Workload.from_toml("/dev/zero"), InputError, "more than 64 MiB"),
        (lambda: Workload.from_toml(""), InvalidParameterError, "an empty text is no path"),
        (lambda: Workload("tbench").replace(3), InvalidTypeError, "changes: expected a mapping"),
        (lambda: Workload("tbench").replace({3: 4}), InvalidTypeError, "changes"),
        (lambda: Machine(MACHINE).replace("x"), InvalidTypeError, "changes: expected a mapping"),
        (lambda: Machine(MACHINE).replace(name="\udc80"), InvalidParameterError, "name"),
        (lambda: tickless.Kernel("6.12").replace([1]), InvalidTypeError, "changes"),
        (lambda: Workload("tbench").plot(ax=3), InvalidTypeError, "ax: expected matplotlib Axes"),
        (lambda: tickless.machines()[int], InvalidTypeError, "machines: expected a name"),
    ],
)
def test_nonsense_is_refused_with_its_place(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


def test_arrays_of_no_dimension_count_as_one_thing():
    assert run(cases=np.array(2)).cases == ("2",)
    w = own([("run", np.array(5)), ("count", "n")])
    assert w == own([("run", 5), ("count", "n")])


def test_a_list_holds_whatever_is_asked_of_it():
    for thing in (np.array([1, 2]), [1], None, 3.5):
        assert thing not in tickless.workloads()
    first = tickless.workloads()[0]
    assert first in tickless.workloads()


def test_a_deadlock_names_its_channels():
    programs = {
        "a": [("receive", "ask"), ("send", "tell")],
        "b": [("receive", "tell"), ("send", "ask")],
    }
    with pytest.raises(InvalidParameterError) as caught:
        Workload.from_ops(programs, {"a": 1, "b": 1}, channels=["ask", "tell"])
    assert 'channel "ask", to which nobody can send' in str(caught.value)
    assert 'channel "tell"' in str(caught.value)


def test_a_recording_is_found_by_the_number_of_its_case(recorded):
    assert recorded.recording(case=2) is recorded.recording("6.12", "2")
    with pytest.raises(
        tickless.UnknownNameError, match="unknown recording '6.1 2'; nearest: 6.12 2"
    ):
        recorded.recording("6.1", 2)
    for wrong in (np.array([1, 2]), [1], 1.5):
        with pytest.raises(InvalidTypeError):
            recorded.recording(case=wrong)
        with pytest.raises(InvalidTypeError):
            recorded.recording().task_name(wrong)
    with pytest.raises(InvalidParameterError, match="task"):
        recorded.recording().task_name(-1)


@pytest.mark.parametrize("axes", [3, {"idle_usage": 3}, {"idle_usage": ["state", ["one"]]}, []])
def test_attributes_of_no_use_leave_the_axes_of_a_dataset_without_labels(recorded, axes):
    pytest.importorskip("xarray")
    usage = recorded["idle_usage"]
    ds = recorded.replace(attrs={"axes": axes}).to_xarray()
    assert ds["idle_usage"].dims == ("kernel", "case", "repeat", "idle_usage_3")
    assert ds["idle_usage"].shape == usage.shape
    assert recorded.to_xarray()["idle_usage"].dims[3] == "state"


@pytest.mark.parametrize("value", [b"x", object(), np.ones(2), {1, 2}, "\udc80", {(1, 2): 3}])
def test_attributes_that_json_does_not_hold_are_refused_when_written(recorded, value, tmp_path):
    res = recorded.replace(attrs={"x": value})
    for write in (res.to_json, res.to_csv):
        with pytest.raises(InvalidTypeError, match="attrs: expected json values"):
            write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_damaged_parquet_is_an_input_error(recorded, tmp_path):
    pytest.importorskip("pyarrow")
    good = tmp_path / "good.parquet"
    recorded.to_parquet(good)
    whole = good.read_bytes()
    bad = tmp_path / "bad.parquet"
    failed = 0
    # The end holds the description of the file; a flip inside a value goes unseen.
    for at in range(len(whole) - 3000, len(whole), 29):
        bad.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            Results.from_parquet(bad)
        except InputError as e:
            failed += 1
            assert e.path == str(bad)
    assert failed > 10
    for path, error in ((tmp_path, OSError), (tmp_path / "none", FileNotFoundError)):
        with pytest.raises(InputError) as caught:
            Results.from_parquet(path)
        assert isinstance(caught.value, error)
    for wrong in (3, io.BytesIO(whole), b"x"):
        with pytest.raises(InvalidTypeError, match="path"):
            Results.from_parquet(wrong)


def test_what_is_shown_fits_a_screen(recorded):
    t = tickless.timeline([0], policy="cfs", until_ns=10**7, programs=[(0, [("run", 10**6)])])
    graph = Workload("tbench").graph(case=4)
    for shown in (repr(recorded), repr(t), repr(graph), repr(recorded.recording())):
        assert len(shown) < 600
    assert re.search(r"wakeups, .* and \d+ more\)$", repr(recorded))
    assert repr(t).splitlines()[0] == t._caption()
    assert repr(graph) == str(graph).rstrip()


SLOW = {
    "one run": "['6.12'], 'tbench', cases=[1], repeats=1, duration_s=1e5",
    "many runs": "['6.12'], 'tbench', cases=[1], repeats=10**6, duration_s=0.001",
    "many tasks": "['6.12'], 'tbench', cases=[40_000], repeats=9, duration_s=9",
    "recorded": "['6.1'], 'hackbench', repeats=9, duration_s=1e5, record=True",
}


@pytest.mark.parametrize("name", SLOW)
def test_ctrl_c_stops_a_simulation_at_once(name):
    code = f"""
import time, tickless
try:
    print("go", flush=True)
    tickless.simulate({MACHINE!r}, {SLOW[name]})
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
"""
    out, said, sent = interrupt(code, after=1.5, within=20)  # it computes by then
    assert out, said
    assert float(out) - sent < 2  # ten times what is promised: the machine may be busy


def test_ctrl_c_stops_a_governor_that_never_answers():
    code = f"""
import tickless
class Stuck:
    def select(self, ctx):
        print("go", flush=True)
        while True: pass
    def reflect(self, ctx, outcome): pass
kernel = tickless.Kernel("6.12").replace(governor=Stuck())
tickless.simulate({MACHINE!r}, kernel, "tbench", cases=[1], repeats=3, duration_s=1)
"""
    out, said, _ = interrupt(code, after=0.2, within=20)  # it is stuck by then
    assert "KeyboardInterrupt" in said
    assert not out, "nobody is asked again"
