"""``tickless simulate``: options, formats, files, and what is said when it cannot work."""

from __future__ import annotations

import json

import pytest

import tickless
from tickless.cli import main

BASE = ["simulate", "--machine", "8x-SKYLAKE-UMA", "--kernels", "4.18-vanilla,4.18-teo-v5",
        "--workload", "tbench", "--cases", "1,2", "--repeats", "2", "--duration", "0.005",
        "--warmup", "0.001"]  # fmt: skip

GOOD = """
[programs]
a = [{ run = "5 us" }, { count = "n" }]
[[tasks]]
program = "a"
"""
TASK = '{"tasks": {"a": {"run": 5, "priority": 99}}}'


def test_the_table_is_that_of_the_python_call(capsys):
    assert main(BASE) == 0
    res = tickless.simulate("8x-SKYLAKE-UMA", ["4.18-vanilla", "4.18-teo-v5"], "tbench",
                            cases=[1, 2], repeats=2, duration_s=0.005, warmup_s=0.001)  # fmt: skip
    assert capsys.readouterr().out == res.compare("4.18-vanilla").table()


@pytest.mark.parametrize("format", ["html", "csv", "json", "markdown", "latex"])
def test_every_format_is_written_to_a_file(format, tmp_path):
    out = tmp_path / "out"
    assert main([*BASE, "--format", format, "-o", str(out)]) == 0
    assert "mb/sec-1" in out.read_text()


def test_all_samples_can_be_kept_and_compared_again(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    for suffix in (".json", ".csv", ".parquet"):
        file = tmp_path / f"runs{suffix}"
        assert main([*BASE, "--save", str(file)]) == 0
    first = capsys.readouterr().out
    assert main(["compare", str(tmp_path / "runs.json"), "--baseline", "4.18-vanilla"]) == 0
    assert capsys.readouterr().out == first[: len(first) // 3]
    back = tickless.Results.from_parquet(tmp_path / "runs.parquet")
    assert back["throughput"].shape == (2, 2, 2)


def test_options_reach_the_simulation(tmp_path, capsys):
    trace = tmp_path / "trace.json"
    assert main([*BASE, "--set", "copy=0.5", "--noise", "0", "--rng", "3", "--jobs", "1",
                 "--baseline", "4.18-teo-v5", "--metric", "wakeups", "--perfetto", str(trace),
                 "--style", "normalised"]) == 0  # fmt: skip
    out = capsys.readouterr().out
    assert "Units" in out
    assert out.index("teo") < out.index("vanilla")
    assert len(json.loads(trace.read_text())["traceEvents"]) > 100


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (["--kernels", "4.18-vanila"], "4.18-vanilla"),
        (["--machine", "none"], "nearest"),
        (["--workload", "tbnch"], "tbench"),
        (["--cases", "0"], "case"),
        (["--set", "copy"], "--set copy"),
        (["--set", "coppy=1"], "copy"),
        (["--save", "x.doc"], ".parquet"),
        (["--slice", "llc", "--machine", "epyc-2x64-nps1"], "16 last-level caches"),
        (["--noise", "nan"], "noise"),
        (["--duration", "0"], "duration_s"),
        (["-o", "x.doc"], "suffix"),
        # Said before the work, not after it: this run would take hours.
        (["-o", "none/x.csv", "--duration", "1e5"], "-o none/x.csv: no directory none"),
        (["-o", "folder", "--duration", "1e5"], "-o folder: a directory"),
        (["--save", "none/x.csv", "--duration", "1e5"], "--save none/x.csv: no directory"),
        (["--perfetto", "none/x", "--duration", "1e5"], "--perfetto none/x: no directory"),
        (["--perfetto", "folder", "--duration", "1e5"], "--perfetto folder: a directory"),
        (["--workload", "own.toml"], "own.toml: workload.oops: is not known here"),
        (["--workload", "task.json"], "task.json: not supported: tasks.a.priority"),
        (["--partly"], "--partly: tbench is no rt-app file"),
        (["--workload", "good.toml", "--set", "x=1"], "'x': good is one's own and has none"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(changed, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "own.toml").write_text("oops = 3\n")
    (tmp_path / "good.toml").write_text(GOOD)
    (tmp_path / "task.json").write_text(TASK)
    assert main([*BASE, *changed]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert not captured.out


def test_the_list_command_shows_workloads(capsys):
    assert main(["list", "workloads"]) == 0
    assert "tbench" in capsys.readouterr().out


def test_blanks_after_commas_are_no_part_of_a_name(capsys):
    short = ["--cases", " 1", "--repeats", "1"]
    assert main([*BASE, *short, "--kernels", "4.18-vanilla, 4.18-teo-v5"]) == 0
    assert "teo-v5" in capsys.readouterr().out


def test_what_an_rtapp_file_asks_too_much_is_left_out_on_request(tmp_path, capsys):
    file = tmp_path / "task.json"
    file.write_text(TASK)
    more = ["--workload", str(file), "--partly", "--cases", "1", "--repeats", "1"]
    assert main([*BASE, *more]) == 0
    assert "priority" in capsys.readouterr().out


def test_without_a_command_the_commands_are_listed(capsys):
    with pytest.raises(SystemExit) as done:
        main([])
    assert done.value.code == 2
    assert "run a workload on kernels" in capsys.readouterr().err
