"""``tickless read`` and ``tickless validate inputs``."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, shared_or_skip
from tickless.cli import main

INPUTS = ROOT / "tests" / "data" / "inputs"
NOISE = str(INPUTS / "08-ftrace-noise" / "trace.txt")


def test_a_readable_file_with_damage_exits_with_0_and_reports_on_stderr(
    capsys: pytest.CaptureFixture[str],
):
    assert main(["read", str(INPUTS / "07-ftrace-disorder" / "trace.txt")]) == 0
    out, err = capsys.readouterr()
    assert "time-went-back (line 4)" in err and "time went back 1 times" in out
    assert main(["read", NOISE, "--errors", "ignore"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([NOISE, "--errors", "strict"], "line 2"),
        ([str(INPUTS / "12-ftrace-integer-clock" / "trace.txt")], "--time-unit ns"),
        ([str(INPUTS / "missing")], "no such file"),
        ([str(INPUTS / "17-cpupower-idle-info" / "info.txt"), "--table", "idle"], "no trace"),
    ],
)
def test_unreadable_input_exits_with_2_and_one_message(
    arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["read", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and part in err and err.count("\n") == 1


def test_csv_and_json_hold_every_row(capsys: pytest.CaptureFixture[str]):
    path = str(INPUTS / "01-ftrace-modern" / "trace.txt")
    assert main(["read", path, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert rows[0] == {
        "cpu": "0",
        "state": "2",
        "start_ns": "100000010000",
        "end_ns": "100000510000",
    }
    assert rows[1]["end_ns"] == ""
    assert main(["read", path, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["report"]["used"] == 8
    assert document["switches"]["next_comm"] == ["worker", "other", "swapper/0"]


def test_a_page_shows_the_report_and_escapes_names(tmp_path: Path):
    trace = tmp_path / "t"
    text = (INPUTS / "04-ftrace-odd-names" / "trace.txt").read_text()
    trace.write_text(text.replace("io-9", "<b>x"))
    page = tmp_path / "t.html"
    assert main(["read", str(trace), "--table", "switches", "-o", str(page)]) == 0
    html = page.read_text()
    assert "&lt;b&gt;x" in html and "<b>x" not in html


def test_the_example_inputs_are_all_equal(capsys: pytest.CaptureFixture[str]):
    assert main(["validate", "inputs", str(INPUTS)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 21
    for line in lines[:17]:
        equal, total = (int(w) for w in line.split()[1:4:2])
        assert equal == total > 0, line


def test_the_full_set_of_inputs_is_equal():
    assert main(["validate", "inputs", str(shared_or_skip("inputs"))]) == 0


def test_a_difference_is_shown_with_both_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "01"
    shutil.copytree(INPUTS / "01-ftrace-modern", folder)
    expected = json.loads((folder / "expected.json").read_text())
    expected["idle"][2][3] += 1
    expected["idle_tail_open"] = 4
    (folder / "expected.json").write_text(json.dumps(expected))
    assert main(["validate", "inputs", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "28 of 30 equal  DIFFERS" in out
    assert "trace.txt idle_tail_open: expected 4, found 1" in out
    assert main(["validate", "inputs", str(folder)]) == 2


def test_a_benchmark_log_is_read_as_a_table_and_as_values(capsys: pytest.CaptureFixture[str]):
    path = str(INPUTS / "18-raw-hackbench" / "hackbench.txt")
    assert main(["read", path]) == 0
    assert "hackbench: time [s], lower is better" in capsys.readouterr().out
    assert main(["read", path, "--format", "csv"]) == 0
    values = [float(r["value"]) for r in csv.DictReader(io.StringIO(capsys.readouterr().out))]
    expected = json.loads((INPUTS / "18-raw-hackbench" / "expected.json").read_text())
    assert values == expected["files"]["hackbench.txt"]["values"]
    assert main(["read", path, "--format", "json"]) == 0
    assert [row["value"] for row in json.loads(capsys.readouterr().out)] == values


def test_a_result_directory_and_a_posted_table_are_found_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["read", str(INPUTS / "20-mmtests-tree")]) == 0
    assert "base, patched" in capsys.readouterr().out
    mail = tmp_path / "mail.txt"
    mail.write_text(
        ">                 4.18.0                 4.18.0\n"
        ">                vanilla                    teo\n"
        "> Hmean 14        48.16 (   0.00%)       50.94 *   5.77%*\n"
    )
    assert main(["read", str(mail), "--format", "markdown"]) == 0
    assert "4.18.0-vanilla, 4.18.0-teo" in capsys.readouterr().out


def test_a_file_of_no_known_kind_is_refused_with_the_kinds_that_are_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "note.txt"
    path.write_text("nothing in here\n")
    assert main(["read", str(path)]) == 2
    assert "known are: cpuidle tree" in capsys.readouterr().err


def test_a_trace_is_read_from_a_pipe(capfd: pytest.CaptureFixture[str]):
    program = "import sys; from tickless.cli import main; sys.exit(main())"
    trace = INPUTS / "01-ftrace-modern" / "trace.txt"
    command = f"{sys.executable} -c '{program}' read <(cat {trace})"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "8 read" in done.stdout


def test_a_closed_pipe_is_silent():
    program = "import sys; from tickless.cli import main; sys.exit(main())"
    command = f"{sys.executable} -c '{program}' read {NOISE} --errors ignore --format json"
    done = subprocess.run(
        f"{command} | head -c 1", shell=True, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and done.stderr == ""
