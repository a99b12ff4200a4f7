"""Files no reader should choke on: a typed error or a remark, in bounded time and memory."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import os
import pickle

import pytest

import tickless
from interrupting import interrupt
from tickless import InputError
from tickless.cli import main
from tickless.errors import InvalidTypeError
from tickless.idle_csv import COLUMNS

ABOUT = {
    "format": "tickless-results", "version": 1, "benchmark": "b", "machine": "", "primary": "t",
    "case_title": "", "kernels": ["k"], "cases": ["c"], "kernel_labels": [], "case_labels": [],
    "notes": [], "attrs": {},
}  # fmt: skip
METRIC = {"unit": "s", "better": "lower", "mean": "arithmetic"}


@pytest.mark.parametrize("shape", [[1, 1, 10**11], [-1, 1, 1], "x", [1, 1], [1, 1, 1.5]])
def test_a_csv_that_announces_no_possible_array_is_damaged(shape):
    about = ABOUT | {"metrics": {"t": METRIC | {"shape": shape}}}
    with pytest.raises(InputError) as caught:
        tickless.Results.from_csv(f"# tickless-results {json.dumps(about)}\n", "r.csv")
    assert (caught.value.code, caught.value.line) == ("damaged", 1)


def test_json_nested_without_end_is_damaged():
    with pytest.raises(InputError, match="not json"):
        tickless.Results.from_json("[" * 200_000, "r.json")


def test_a_number_of_thousands_of_digits_is_an_error_with_its_line():
    banner = b"Running in process mode with %s groups using 40 file descriptors each (== 4 tasks)"
    log = b"\n" + banner + b"\nTime: 1\n"
    with pytest.raises(InputError, match="5000 digits") as caught:
        tickless.read_benchmark(log % (b"9" * 5000), tool="hackbench")
    assert caught.value.line == 2


def idle_csv() -> bytes:
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerow([1000, 0, 5000, 1, 1, 0, 700, "irq", ""])
    rows.writerow([9000, 0, 5000, 1, 1, 0, 800, "irq", ""])
    return out.getvalue().encode()


def test_an_idle_csv_is_read_packed_and_from_an_open_file(tmp_path):
    packed = tmp_path / "idle.csv.gz"
    packed.write_bytes(gzip.compress(idle_csv()))
    for found in (tickless.read(packed), tickless.read_idle_csv(io.BytesIO(idle_csv()))):
        assert found.column("wake_ns").tolist() == [700, 800]


@pytest.mark.parametrize("damage", [b"\r1,2\r3", b"\0" * 9, b'"' + b"x" * 200_000])
def test_an_idle_csv_that_is_none_is_an_input_error(damage):
    with pytest.raises(InputError):
        tickless.read_idle_csv(idle_csv() + damage)


def test_a_directory_is_no_idle_csv(tmp_path):
    with pytest.raises(InputError, match="a directory"):
        tickless.read_idle_csv(tmp_path)


def test_every_flipped_byte_of_an_archive_is_a_typed_error_or_a_result(tmp_path):
    line = b"  <idle>-0 [000] d..1 1.%06d: cpu_idle: state=%d cpu_id=0\n"
    text = b"".join(line % (i, 1 if i % 2 else 4294967295) for i in range(200))
    whole, path = gzip.compress(text), tmp_path / "t.gz"
    for at in range(0, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        with contextlib.suppress(InputError):
            tickless.read(path)


def test_digits_of_other_scripts_are_no_task_state():
    line = (
        "  a-5 [000] d..1 1.000001: sched_switch: prev_comm=a prev_pid=5 prev_prio=1 "
        "prev_state=² ==> next_comm=b next_pid=0 next_prio=1\n"
    )
    trace = tickless.read_trace((line * 2).encode())
    assert trace.switch_classes.tolist() == ["blocked-or-dead"] * 2


@pytest.mark.parametrize("source", [3, io.StringIO("x"), bytearray(b"x"), {}, None])
def test_what_is_no_source_is_named(source):
    for reader in (tickless.read_benchmark, tickless.read_comparison, tickless.read_idle_csv):
        with pytest.raises(InvalidTypeError):
            reader(source)


def sysfs(root, **files: str):
    state = root / "devices/system/cpu/cpu0/cpuidle/state0"
    state.mkdir(parents=True)
    for name, text in ({"name": "C1", "latency": "2", "residency": "4"} | files).items():
        (state / name).write_text(text)
    return state


def test_a_pipe_in_a_sysfs_tree_is_passed_over(tmp_path):
    os.mkfifo(sysfs(tmp_path) / "above")
    assert tickless.read_sysfs(tmp_path).idle_table().names == ("C1",)


def test_ctrl_c_stops_the_wait_for_a_pipes_writer(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    code = (
        f"import tickless; print('go', flush=True); tickless.read_trace({str(tmp_path / 'pipe')!r})"
    )
    _, said, _ = interrupt(code, after=0.5)  # it waits in open() by then
    assert "KeyboardInterrupt" in said


@pytest.mark.parametrize("text", ["a = " + "[" * 50_000, "a = " + "9" * 10_000])
def test_a_timeline_file_that_no_parser_takes_is_one_message(tmp_path, capsys, text):
    path = tmp_path / "s.toml"
    path.write_text(text)
    assert main(["timeline", str(path)]) == 2
    assert f"{path}: not TOML" in capsys.readouterr().err


def test_a_log_of_endless_results_is_refused(monkeypatch):
    monkeypatch.setattr("tickless.readers.log.MOST_NUMBERS", 1000)
    banner = b"Running in process mode with 1 groups using 40 file descriptors each (== 40 tasks)\n"
    packed = gzip.compress(banner + b"Time: 1.0\n" * 2000)
    with pytest.raises(InputError, match="more than 1000 numbers") as caught:
        tickless.read_benchmark(packed)
    assert caught.value.code == "too-large"


READS = (
    tickless.read,
    tickless.read_trace,
    tickless.read_benchmark,
    tickless.read_comparison,
    tickless.read_idle_csv,
    tickless.read_idle_dump,
    tickless.Workload.from_toml,
    tickless.Workload.from_rtapp,
)


@pytest.mark.parametrize("read", READS, ids=lambda f: f.__name__)
def test_a_missing_file_is_an_input_error_and_a_file_not_found(read, tmp_path):
    path = str(tmp_path / "missing")
    with pytest.raises(InputError) as caught:
        read(path)
    assert isinstance(caught.value, FileNotFoundError)
    assert (caught.value.path, caught.value.filename, caught.value.code) == (
        path,
        path,
        "not-found",
    )
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.path) == (type(caught.value), str(caught.value), path)


@pytest.mark.parametrize("read", READS, ids=lambda f: f.__name__)
def test_a_file_whose_reading_fails_is_an_input_error_with_its_name(read):
    with pytest.raises(InputError, match="/proc/self/mem: can"):
        read("/proc/self/mem")
