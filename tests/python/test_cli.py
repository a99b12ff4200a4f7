"""What holds for every command: formats, exit codes, and packages that may be missing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

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
