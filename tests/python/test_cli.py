"""What holds for every command: formats, exit codes, and packages that may be missing."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import pytest

import tickless
from conftest import ROOT
from tickless.cli import COMMANDS, main

INPUTS = str(ROOT / "tests" / "data" / "inputs")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_the_same_formats(command, capsys):
    with pytest.raises(SystemExit) as done:
        main([command, "--help"])
    assert done.value.code == 0
    shown = capsys.readouterr().out
    assert "{text,html,csv,json,markdown,latex}" in shown
    assert "--output" in shown


def test_validate_gives_its_groups_as_a_table(capsys):
    assert main(["validate", "inputs", INPUTS, "--format", "json"]) == 0
    ((title, rows),) = json.loads(capsys.readouterr().out).items()
    assert title.startswith("inputs: ")
    assert len(rows) == 20
    assert all(row["equal"] == row["total"] for row in rows if row["exact"] == "yes")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["compare", "LOG", "--baseline", "hackbench", "--plot", "x.png"], 2, "tickless[plot]"),
        (["replay", "example", "menu", "-o", "x.html"], 0, ""),
    ],
)
def test_without_matplotlib_a_command_says_what_to_install(arguments, code, said, tmp_path):
    log = f"{INPUTS}/18-raw-hackbench/hackbench.txt"
    arguments = [log if a == "LOG" else a for a in arguments]
    program = (
        "import sys; sys.modules['matplotlib'] = None; "
        f"from tickless.cli import main; sys.exit(main({arguments!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_python_m_tickless_is_the_command(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tickless", "--version"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, f"tickless {tickless.__version__}\n")
    done = subprocess.run(
        [sys.executable, "-m", "tickless", "replay", str(tmp_path / "none"), "--machine", "x"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("tickless: ")


LOG = f"{INPUTS}/18-raw-hackbench/hackbench.txt"
SIMULATE = "simulate --machine 8x-SKYLAKE-UMA --kernels 6.1,6.12 --workload tbench --cases 1"


@pytest.mark.parametrize(
    ("command", "note"),
    [
        ("replay example menu", "power: estimates, not measurements"),
        ("replay example menu --per-state", "power: estimates, not measurements"),
        (f"{SIMULATE} --duration 0.001 --warmup 0.01 --repeats 1", "no difference found"),
        (f"compare k={LOG} l={LOG} --baseline k", "no difference found"),
    ],
)
def test_a_csv_holds_rows_and_its_notes_go_to_stderr(command, note, capsys):
    assert main([*command.split(), "--format", "json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert any(note in n for n in notes), notes
    assert main([*command.split(), "--format", "csv"]) == 0
    said = capsys.readouterr()
    assert [f"tickless: note: {n}" for n in notes] == said.err.splitlines()
    rows = list(csv.reader(said.out.splitlines()))
    assert len({len(r) for r in rows}) == 1
    assert not rows[0][0].startswith("#")
