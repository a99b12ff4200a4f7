"""Simulated runs: what comes back, what it depends on, and what is refused before anything runs."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tickless
from tickless import (
    InvalidParameterError,
    Kernel,
    Machine,
    Results,
    UnknownNameError,
    Workload,
    simulate,
)
from tickless.errors import InvalidTypeError
from tickless.recording import IDLE_ENTER, IDLE_EXIT, SWITCH
from tickless.simulate_notes import two_groups

SKYLAKE = "8x-SKYLAKE-UMA"
SHORT = {"cases": [1], "repeats": 2, "duration_s": 0.005, "warmup_s": 0.001}


def short(kernels="4.18-vanilla", workload="tbench", machine=SKYLAKE, **changes):
    return simulate(machine, kernels, workload, **(SHORT | changes))


def same(a: Results, b: Results) -> bool:
    return all(np.array_equal(a[n], b[n], equal_nan=True) for n in a.metrics)


# What comes back


def test_the_reported_metric_comes_first_with_the_workloads_unit_direction_and_mean():
    res = short(["4.18-vanilla", "4.18-teo-v5"], cases=[1, 2], repeats=3)
    assert isinstance(res, Results)
    assert res["throughput"].shape == (2, 2, 3)
    assert res["throughput"].dtype == np.float64
    assert not res["throughput"].flags.writeable
    assert next(iter(res.metrics)) == res.primary == "throughput"
    info = res.metric_info["throughput"]
    assert (res.units["throughput"], info.better, info.mean) == ("MB/s", "higher", "harmonic")
    assert (res.benchmark, res.machine) == ("tbench", SKYLAKE)
    assert res.kernels == ("4.18-vanilla", "4.18-teo-v5")
    assert res.cases == ("1", "2")
    assert res.case_labels == ("mb/sec-1", "mb/sec-2")


def test_states_and_cpus_have_an_axis_of_their_own():
    res = short()
    states = res.attrs["axes"]["idle_usage"][1]
    assert states == list(Machine(SKYLAKE).idle_table(0).names)
    for name in ("idle_usage", "idle_time_s", "idle_above", "idle_below"):
        assert res[name].shape == (1, 1, 2, len(states)), name
    assert res["cpu_busy"].shape == (1, 1, 2, 8)


def test_rates_totals_and_shares_agree_with_each_other():
    res = short(duration_s=0.02)
    seconds = res["elapsed_s"]
    assert seconds == pytest.approx(0.02)
    for name in ("context_switches", "wakeups", "blocks", "voluntary", "migrations"):
        assert res[name] * seconds == pytest.approx(res[f"{name}_total"])
    # One round trip is two messages; an idle machine sleeps and wakes once for each.
    assert res["wakeups_per_op"] == pytest.approx(2, abs=0.01)
    assert res["blocks_per_op"] == pytest.approx(2, abs=0.01)
    assert res["voluntary_share"] == pytest.approx(1, abs=0.01)
    assert res["utilisation"] == pytest.approx(res["cpu_busy"].mean(axis=3))
    wall = 8 * seconds
    idle = res["idle_time_s"].sum(axis=3)
    assert idle + res["utilisation"] * wall == pytest.approx(wall, rel=0.02)
    assert res["energy_j"] == pytest.approx(res["power_w"] * seconds)
    assert (res["latency_p50_us"] <= res["latency_p99_us"]).all()
    assert (res["latency_p99_us"] <= res["latency_max_us"]).all()


def test_nice_shares_are_those_of_the_weights():
    res = simulate(SKYLAKE, ["6.1", "6.12"], "hogs", cases=[2], repeats=2, duration_s=6)
    # Weights 1024 at nice 0 and 335 at nice 5.
    assert res["share"] == pytest.approx(1024 / (1024 + 335), abs=0.01)


def test_power_lies_between_all_asleep_and_all_busy_and_is_missing_where_unknown():
    machine = Machine(SKYLAKE)
    power = {k: v for k, v in machine.settings.items() if k.startswith("power.")}
    res = short(noise=0)
    least = power["power.package_idle_w"]
    most = least + power["power.uncore_w"] + 4 * power["power.core_active_w"]
    assert (res["power_w"] > least).all()
    assert (res["power_w"] < most).all()
    flat = Machine("flat", tables=[tickless.IdleTable(["C1"], [1000], [1000])], table_of=[0, 0])
    res = short(machine=flat)
    assert np.isnan(res["power_w"]).all()
    assert (res["throughput"] > 0).all()
    assert "not known" in res.attrs["power"]


def test_a_deeper_idle_state_slows_the_benchmark():
    fast = short(machine=Machine(SKYLAKE).replace({"c1.wake_us": 0.1}), noise=0)
    slow = short(machine=Machine(SKYLAKE).replace({"c1.wake_us": 5.0}), noise=0)
    assert (slow["throughput"] < 0.8 * fast["throughput"]).all()


def test_names_and_objects_give_the_same():
    by_name = short(["6.12"])
    by_object = short([Kernel("6.12")], Workload("tbench"), Machine(SKYLAKE))
    assert by_name == by_object


def test_a_table_is_printed_in_the_style_of_the_workload():
    res = short(["4.18-vanilla", "4.18-teo-v5"], cases=[1, 2], repeats=3, duration_s=0.02)
    compared = res.compare("4.18-vanilla")
    assert compared.improvement_pct.shape == (2, 2)
    text = compared.table()
    assert "Hmean mb/sec-1" in text
    assert "MB/s" in text
    lat = res.compare("4.18-vanilla", metric="latency_p99_us")
    assert lat.case_info[0].better == "lower"


def test_results_pickle_and_survive_json_csv_and_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    res = short(record=True)
    assert pickle.loads(pickle.dumps(res)) == res
    assert same(Results.from_json(res.to_json()), res)
    assert same(Results.from_csv(res.to_csv()), res)
    res.to_parquet(tmp_path / "r.parquet")
    back = Results.from_parquet(tmp_path / "r.parquet")
    assert same(back, res)
    assert back.metric_info == res.metric_info
    assert back.attrs == json.loads(json.dumps(dict(res.attrs)))
    (tmp_path / "no.parquet").write_bytes(b"not parquet")
    with pytest.raises(tickless.InputError, match="not a Parquet file"):
        Results.from_parquet(tmp_path / "no.parquet")


def test_xarray_names_the_axes():
    pytest.importorskip("xarray")
    data = short(cases=[1, 2]).to_xarray()
    assert data["throughput"].dims == ("kernel", "case", "repeat")
    assert data["idle_usage"].dims == ("kernel", "case", "repeat", "state")
    assert data["cpu_busy"].dims == ("kernel", "case", "repeat", "cpu")
    assert data["throughput"].sel(case="2").shape == (1, 2)
    assert data["throughput"].attrs["units"] == "MB/s"
    assert list(data["state"].values) == list(Machine(SKYLAKE).idle_table(0).names)


# Randomness


@pytest.fixture(scope="module")
def reference():
    return short(["4.18-vanilla", "6.12"], cases=[1, 2], repeats=3)


def test_the_same_arguments_give_the_same_bits_for_any_number_of_threads(reference):
    for threads in (1, 2, 5):
        again = short(["4.18-vanilla", "6.12"], cases=[1, 2], repeats=3, threads=threads)
        assert same(again, reference)


def test_more_kernels_cases_or_repeats_change_none_that_were_there(reference):
    few = short("4.18-vanilla", cases=[1], repeats=2)
    assert np.array_equal(few["throughput"], reference["throughput"][:1, :1, :2])


def test_repeats_and_seeds_differ(reference):
    busy = reference["cpu_busy"].reshape(-1, 8)
    assert len(np.unique(busy, axis=0)) == len(busy) == 12
    other = short(rng=1)["cpu_busy"]
    assert not (other == reference["cpu_busy"][:1, :1, :2]).all(axis=3).any()


def test_without_noise_only_the_workload_itself_varies():
    quiet, loud = (short(noise=n, repeats=6, duration_s=0.02) for n in (0, 3))
    spread = [r["throughput"].std() / r["throughput"].mean() for r in (quiet, loud)]
    assert spread[0] < spread[1]


def test_rng_takes_what_spec_7_lists():
    seed = np.random.SeedSequence
    of = lambda rng: short(rng=rng)["throughput"].tolist()  # noqa: E731
    assert of(7) == of(seed(7)) == of(np.int64(7))
    assert of(seed(7)) == of(seed(7))
    # Generators move on, equal ones alike.
    one, other = np.random.default_rng(7), np.random.default_rng(7)
    first, second = of(one), of(one)
    assert first != second
    assert [first, second] == [of(other), of(other)]
    assert of(np.random.PCG64(7)) == first
    assert of(None) != of(None)


@pytest.mark.parametrize("rng", [1.5, "7", True, object(), [1, "a"]])
def test_any_other_rng_is_a_wrong_type(rng):
    with pytest.raises(InvalidTypeError, match="rng"):
        short(rng=rng)


def test_common_arrivals_give_every_kernel_the_streams_of_the_first():
    twins = [Kernel("6.12"), Kernel("6.12").replace(name="twin")]
    assert np.diff(short(twins)["throughput"], axis=0).any()
    assert not np.diff(short(twins, common_arrivals=True)["throughput"], axis=0).any()


# Shares of a machine


def test_a_share_reports_figures_of_the_whole():
    whole = simulate("epyc-2x64-nps1", "eevdf", "tbench", cases=[16], repeats=2,
                     duration_s=0.01, warmup_s=0.002)  # fmt: skip
    share = simulate("epyc-2x64-nps1", "eevdf", "tbench", cases=[16], repeats=2,
                     duration_s=0.01, warmup_s=0.002, slice="llc")  # fmt: skip
    assert share.cases == ("16",)
    assert share.machine == "epyc-2x64-nps1"
    assert share["throughput"] == pytest.approx(whole["throughput"], rel=0.05)
    assert share["wakeups"] == pytest.approx(whole["wakeups"], rel=0.05)
    assert share["power_w"] == pytest.approx(whole["power_w"], rel=0.1)


def test_a_share_that_is_not_exact_is_refused_with_the_reason():
    for case, workload, reason in [
        (8, "tbench", "no multiple of 16"),
        (64, "schbench", "2 groups"),
        (16, "hogs", "confined to certain CPUs"),
    ]:
        with pytest.raises(InvalidParameterError, match=reason):
            short("eevdf", workload, "epyc-2x64-nps1", cases=[case], slice="llc")
    with pytest.raises(InvalidParameterError, match="slice"):
        short(slice="socket")


def test_cases_of_the_table_that_cannot_be_divided_are_left_out_with_a_note():
    machine = Machine(SKYLAKE).replace({"topology.llcs_per_socket": 4})
    res = simulate(machine, "6.12", "periodic", repeats=1, duration_s=0.02, warmup_s=0, slice="llc")
    assert res.cases == ("4", "8")
    assert any("1, 2 cannot be divided by 4" in n for n in res.notes)


# Governors of one's own


class Shallow:
    """Always state 1, with the tick on."""

    name = "shallow"

    def __init__(self):
        self.asked = 0

    def select(self, ctx):
        self.asked += 1
        return 1, False

    def reflect(self, ctx, outcome):
        assert outcome.state == 1


def custom(governor):
    return Kernel("4.18-vanilla").replace(governor=governor, name="own")


def test_a_python_governor_decides_and_every_cpu_and_run_has_its_own_copy():
    governor = Shallow()
    res = short([custom(governor), "4.18-vanilla"])
    usage = res["idle_usage"][0]
    assert (usage[..., 1] > 100).all()
    assert usage[..., [0, 2, 3, 4, 5, 6]].sum() == 0
    assert governor.asked == 0
    assert same(short([custom(governor), "4.18-vanilla"]), res)


def test_a_c_function_decides_like_the_python_object_of_the_same_rule():
    numba = pytest.importorskip("numba")

    @numba.cfunc("int64(CPointer(int64), CPointer(int64), CPointer(int64))")
    def shallow(memory, context, table):
        return 1 + 256  # keeps the tick

    assert same(short(custom(shallow)), short(custom(Shallow())))


def test_an_exception_of_a_governor_passes_unchanged():
    class Fails(Shallow):
        def select(self, ctx):
            if ctx.index == 5:
                raise ZeroDivisionError("mine")
            return 1

    with pytest.raises(ZeroDivisionError, match="mine") as e:
        short(custom(Fails()))
    assert any("period 5" in note for note in e.value.__notes__)


def test_a_state_that_does_not_exist_names_the_period():
    class Deep(Shallow):
        def select(self, ctx):
            return 12

    with pytest.raises(InvalidParameterError, match="state 12 in period 0"):
        short(custom(Deep()))


# Recordings


def test_a_recording_reads_back_as_the_same_idle_periods(tmp_path):
    res = short(record=True, cases=[1, 2], duration_s=0.01)
    assert [(r.kernel, r.case) for r in res.recordings] == [("4.18-vanilla", "1"),
                                                            ("4.18-vanilla", "2")]  # fmt: skip
    res.to_ftrace(tmp_path / "t.txt", case="2")
    trace = tickless.read_trace(tmp_path / "t.txt")
    read = trace.idle.to_frame()
    read = read[read["end_ns"] >= 0].sort_values(["cpu", "start_ns"])
    mine = res.recording(case="2").idle_periods()
    assert len(read) == len(mine["cpu"]) > 500
    for column in ("cpu", "start_ns", "end_ns", "state"):
        assert (read[column].to_numpy() == mine[column]).all(), column
    assert len(trace.switches) == (res.recording(case="2").kind == SWITCH).sum()


def test_a_recording_holds_what_the_counts_hold():
    res = short(record=True, noise=0)
    r = res.recording()
    assert (r.kind == SWITCH).sum() == res["context_switches_total"][0, 0, 0]
    entered = np.bincount(r.a[r.kind == IDLE_ENTER], minlength=7).sum()
    assert abs(entered - res["idle_usage"][0, 0, 0].sum()) <= 8  # one open per CPU
    assert (np.diff(r.t_ns) >= 0).all()
    assert abs((r.kind == IDLE_EXIT).sum() - entered) <= 8


def test_a_recording_opens_in_perfetto(tmp_path):
    short(record=True).to_perfetto(tmp_path / "p.json")
    events = json.loads((tmp_path / "p.json").read_text())["traceEvents"]
    tracks = {e["args"]["name"] for e in events if e["ph"] == "M"}
    assert {"CPU 0", "CPU 1", "client-0", "server-1", "idle states"} <= tracks
    assert all(e["dur"] >= 0 for e in events if e["ph"] == "X")
    assert {e["name"] for e in events if e["ph"] == "X"} >= {"client-0", "C1"}


def test_without_a_recording_there_is_nothing_to_write(tmp_path):
    with pytest.raises(InvalidParameterError, match="record=True"):
        short().to_perfetto(tmp_path / "p.json")


# Notes


def test_a_window_that_is_not_steady_is_noted():
    # Without warm-up half of the window is spent on starting.
    res = simulate(SKYLAKE, "6.1", "hogs", cases=[1], repeats=1, warmup_s=0, duration_s=0.02,
                   noise=0)  # fmt: skip
    assert any(n.startswith("not steady: 6.1 1") for n in res.notes), res.notes
    res = short(noise=0, duration_s=0.1, warmup_s=None)
    assert not any(n.startswith("not steady") for n in res.notes), res.notes


@pytest.mark.parametrize(
    ("values", "split"),
    [
        ([100, 100.2, 100.4, 120, 120.1], True),
        ([100, 104, 108, 112, 116], False),
        ([100, 100.01, 100.02, 100.5, 100.51], False),
        ([100, 100.1, 120], False),
    ],
)
def test_repeats_in_two_groups_are_told_from_noise(values, split):
    assert bool(two_groups(np.array([[values]], float))[0, 0]) is split


def test_a_cell_on_the_knife_edge_is_marked():
    res = short(["4.18-teo-v5", "4.18-vanilla"], duration_s=0.02)
    marked = [n for n in res.notes if n.startswith("knife-edge")]
    median = float(np.median(res["idle_period_p50_us"][0]))
    assert len(marked) == (4 / 1.5 < median < 4 * 1.5), (median, marked)
    assert not any("4.18-vanilla" in n for n in marked)


# Refused before anything runs


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"machine": "8x-SKYLAKE"}, UnknownNameError, "8x-SKYLAKE-UMA"),
        ({"machine": 3}, InvalidTypeError, "machine"),
        ({"kernels": "4.18-vanila"}, UnknownNameError, "4.18-vanilla"),
        ({"kernels": []}, InvalidParameterError, "kernels"),
        ({"kernels": ["6.12", "6.12"]}, InvalidParameterError, "more than once"),
        ({"kernels": [7]}, InvalidTypeError, "kernels"),
        ({"workload": "tbech"}, UnknownNameError, "tbench"),
        ({"workload": None}, InvalidTypeError, "workload"),
        ({"cases": ["many"]}, UnknownNameError, "many"),
        ({"cases": [0]}, InvalidParameterError, "'0'|\"0\""),
        ({"cases": [-1]}, InvalidParameterError, "-1"),
        ({"cases": []}, InvalidParameterError, "cases"),
        ({"cases": [1, 1]}, InvalidParameterError, "more than once"),
        ({"cases": [1.5]}, InvalidTypeError, "case"),
        ({"cases": [10_000_000]}, InvalidParameterError, "as many tasks need 10.2 GB"),
        ({"repeats": 0}, InvalidParameterError, "repeats"),
        ({"repeats": 2_000_000}, InvalidParameterError, "repeats"),
        ({"repeats": 2.0}, InvalidTypeError, "repeats"),
        ({"duration_s": 0}, InvalidParameterError, "duration_s"),
        ({"duration_s": -1}, InvalidParameterError, "duration_s"),
        ({"duration_s": float("nan")}, InvalidParameterError, "duration_s"),
        ({"duration_s": 1e12}, InvalidParameterError, "duration_s"),
        ({"duration_s": "1"}, InvalidTypeError, "duration_s"),
        ({"warmup_s": -0.1}, InvalidParameterError, "warmup_s"),
        ({"noise": float("nan")}, InvalidParameterError, "noise"),
        ({"noise": -1}, InvalidParameterError, "noise"),
        ({"noise": "no"}, InvalidTypeError, "noise"),
        ({"threads": 0}, InvalidParameterError, "threads"),
        ({"threads": 1.0}, InvalidTypeError, "threads"),
        ({"rng": -1}, InvalidParameterError, "rng"),
        ({"progress": 3}, InvalidTypeError, "progress"),
        ({"slice": 1}, InvalidTypeError, "slice"),
        ({"record": 1}, InvalidTypeError, "record"),
        ({"common_arrivals": "yes"}, InvalidTypeError, "common_arrivals"),
    ],
)
def test_bad_arguments_are_typed_errors(changes, error, said):
    ran = []
    with pytest.raises(error, match=said):
        short(**({"progress": ran.append} | changes))
    assert not ran


def test_an_impossible_machine_cannot_be_made_and_an_unknown_feature_not_be_set():
    with pytest.raises(InvalidParameterError, match="threads_per_core"):
        Machine(SKYLAKE).replace({"topology.threads_per_core": 0})
    with pytest.raises(UnknownNameError, match="RUN_TO_PARITY"):
        Kernel("6.12").replace(features={"RUN_TO_PARTY": True})


# Workloads


def test_the_list_of_workloads_has_an_entry_for_each_with_its_unit():
    listed = tickless.workloads()
    assert {"pingpong", "tbench", "schbench", "hogs", "periodic"} <= set(listed.names)
    assert listed["tbench4"].name == "tbench"
    for entry in listed:
        w = Workload(entry.name)
        assert w.report.unit == entry.unit
        assert w.cases(SKYLAKE)
        assert entry.source


@pytest.mark.parametrize("name", [w.name for w in tickless.workloads()])
def test_every_workload_runs_and_reports_a_number(name):
    first = Workload(name).cases(SKYLAKE)[0]
    res = simulate(SKYLAKE, "6.1", name, cases=first, repeats=1, warmup_s=0.02)
    assert np.isfinite(res[res.primary]).all()
    assert (res[res.primary] > 0).all()
    assert not any(n.startswith(("cut", "nothing counted")) for n in res.notes), res.notes


def test_a_changed_parameter_changes_the_result_and_the_workload_stays_as_it_was():
    plain = Workload("pingpong")
    slow = plain.replace(send=5.0)
    assert plain.parameters["send"].value != 5.0
    assert slow.parameters["send"].value == 5.0
    assert slow.parameters_on(SKYLAKE)["send"].value == 5.0
    assert slow != plain
    assert pickle.loads(pickle.dumps(slow)) == slow
    assert hash(pickle.loads(pickle.dumps(slow))) == hash(slow)
    fast, late = (short(workload=w, noise=0)["latency"].mean() for w in (plain, slow))
    assert late > fast + 2 * 4.5  # twice a round trip


def test_a_workload_describes_itself_with_the_source_of_each_number():
    text = Workload("tbench").replace(copy=0.2).describe(SKYLAKE)
    for word in ("throughput (MB/s", "client_send", "guess", "set", "1, 2, 4, 8, 16, 32"):
        assert word in text
    with pytest.raises(AttributeError, match="frozen"):
        Workload("tbench").name = "other"
    assert "tbench" in Workload("tbench")._repr_html_()


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"coppy": 1.0}, UnknownNameError),
        ({"copy": -1.0}, InvalidParameterError),
        ({"copy": float("nan")}, InvalidParameterError),
        ({"copy": "much"}, InvalidTypeError),
    ],
)
def test_a_parameter_that_cannot_be_is_refused(changes, error):
    with pytest.raises(error):
        Workload("tbench").replace(changes)


ECHO = {
    "name": "echo",
    "cases": [1, 2],
    "report": {"rate": "answers", "unit": "1/s"},
    "channels": {"request": {"per": "group"}, "answer": {"per": "group"}},
    "programs": {
        "client": [{"run": "2 us"}, {"send": "request"}, {"receive": "answer"},
                   {"count": "answers"}],
        "server": [{"receive": "request"}, {"kernel": "1 us"}, {"send": "answer"}],
    },
    "tasks": [{"program": "client", "groups": "case"}, {"program": "server", "groups": "case"}],
}  # fmt: skip


def test_a_workload_of_ones_own_is_simulated_like_any_other():
    echo = Workload.from_ops(**ECHO)
    assert pickle.loads(pickle.dumps(echo)) == echo
    res = short(["6.1", "6.12"], echo, cases=None, noise=0)
    assert res.cases == ("1", "2")
    # 3 us of work, and two wake-ups with their switches and idle exits.
    assert (res[res.primary] < 1e6 * np.array([1, 2])[:, np.newaxis] / 3).all()
    assert (res[res.primary] > 5e4).all()
    assert res["wakeups_per_op"] == pytest.approx(2, abs=0.05)


def test_a_workload_that_cannot_work_is_refused_before_it_runs():
    silent = {**ECHO["programs"], "server": [{"receive": "request"}, {"kernel": "1 us"}]}
    with pytest.raises(InvalidParameterError, match="deadlock: task 0 .* nobody can send"):
        short("6.1", Workload.from_ops(**ECHO | {"programs": silent}))
    with pytest.raises(InvalidTypeError, match="programs"):
        Workload.from_ops("echo", {})


# Long calls


def test_progress_counts_simulated_time():
    seen = []
    short(duration_s=0.05, warmup_s=0.05, repeats=4, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 4 * 100


def test_other_threads_run_meanwhile():
    ticks = []
    stop = threading.Event()

    def count():
        while not stop.wait(0.01):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=count)
    thread.start()
    start = time.monotonic()
    simulate(SKYLAKE, "6.1", "tbench", cases=[8], repeats=1, duration_s=0.3, warmup_s=0)
    spent = time.monotonic() - start
    stop.set()
    thread.join()
    assert len(ticks) > spent / 0.01 / 10


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("case", [4, 32])  # with and without idle CPUs, which ask the governor
@pytest.mark.parametrize("kernel", ["'6.1'", "Kernel('6.1').replace(governor=Slow())"])
def test_ctrl_c_ends_a_run(kernel, case):
    code = f"""
import time, tickless
from tickless import Kernel
class Slow:
    def select(self, ctx): return 1
    def reflect(self, ctx, outcome): pass
print("ready", flush=True)
try:
    tickless.simulate("8x-SKYLAKE-UMA", {kernel}, "tbench", cases=[{case}], duration_s=1000)
except KeyboardInterrupt:
    print(time.time(), flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        sent = time.time()
        child.send_signal(signal.SIGINT)
        ended = float(child.stdout.readline())
        assert child.wait(20) == 0
    assert ended - sent < 2  # 0.2 s on a machine of one's own


def test_a_task_that_is_moved_to_another_cpu_on_its_way_to_sleep_is_woken_again():
    # Going to sleep takes so long that balancing often moves a task in the middle of it.
    machine = Machine("48x-HASWELL-NUMA").replace({"costs.block_ns": 20_000})
    load = Workload("hackbench").replace(loops=50)
    res = simulate(machine, "4.18-vanilla", load, cases="2-groups", repeats=8, rng=0)
    # 2 x 400 x 50 messages, and for each of 80 tasks one to say that it is there and one to start.
    assert (res["messages_received_total"] == 40_000 + 160).all()
