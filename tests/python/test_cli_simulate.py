"""``tickless simulate``: options, formats, files, and what is said when it cannot work."""

from __future__ import annotations

import json

import pytest

import tickless
from tickless.cli import main

BASE = ["simulate", "--machine", "8x-SKYLAKE-UMA", "--kernels", "4.18-vanilla,4.18-teo-v5",
        "--workload", "tbench", "--cases", "1,2", "--repeats", "2", "--duration", "0.005",
        "--warmup", "0.001"]  # fmt: skip


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
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(changed, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([*BASE, *changed]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert not captured.out


def test_the_list_command_shows_workloads(capsys):
    assert main(["list", "workloads"]) == 0
    assert "tbench" in capsys.readouterr().out
