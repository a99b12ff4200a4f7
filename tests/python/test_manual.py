"""What the README and the manual print is what the commands and snippets there give."""

from __future__ import annotations

import gzip
import re
import shlex
import shutil
from pathlib import Path

import pytest

import tickless
from conftest import ROOT
from tickless.cli import main

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SNIPPETS = [p for p in PAGES if "```python\n" in p.read_text()]
INPUTS = ROOT / "tests" / "data" / "inputs"
DUMP = "\n".join(
    f"/sys/devices/system/cpu/cpu0/cpuidle/state{i}/{name}:{value}"
    for i, state in enumerate([("POLL", 0, 0), ("C1", 2, 2), ("C6", 133, 600)])
    for name, value in zip(("name", "latency", "residency"), state, strict=True)
)


def blocks(page: Path, language: str) -> list[str]:
    every = re.findall(r"^```(\S*)\n(.*?)^```$", page.read_text(), re.M | re.S)
    return [text for found, text in every if found == language]


def seconds(trace: str) -> str:
    """Return the trace with the time stamps of the default clock, as a user's trace has them."""
    return re.sub(
        r"(?m)^(.{16,}?\] \S+ +)(\d+)(\d{9}):",
        lambda m: f"{m[1]}{int(m[2])}.{m[3]}:",
        trace,
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that the manual takes for granted."""
    with gzip.open(tickless.example_trace(), "rt") as f:
        (tmp_path / "trace.txt").write_text(seconds(f.read()))
    (tmp_path / "cpuidle.txt").write_text(DUMP + "\n")
    for place in ("results", "work/log"):
        shutil.copytree(INPUTS / "20-mmtests-tree", tmp_path / place)
        (tmp_path / place / "base").rename(tmp_path / place / "6.12-vanilla")
    for log in ("old.log", "run2.log"):
        shutil.copy(INPUTS / "18-raw-hackbench" / "hackbench.txt", tmp_path / log)
    shutil.copy(INPUTS / "17-cpupower-idle-info" / "info.txt", tmp_path / "idle-info.txt")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", SNIPPETS, ids=lambda p: p.stem)
def test_the_snippets_of_a_page_run_one_after_the_other(page, folder, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names: dict[str, object] = {"tickless": tickless}
    for code in blocks(page, "python"):
        exec(compile(code, str(page), "exec"), names)


COMMANDS = [
    line.removeprefix(".venv/bin/")
    for page in PAGES
    for block in (*blocks(page, "sh"), *blocks(page, ""))
    for line in re.split(r"\n|&&", block.replace("\\\n", " "))
    for line in [line.split("#")[0].strip()]
    if re.match(r"(\.venv/bin/)?tickless ", line)
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_manual_does_its_work(command, folder, capsys):
    if "--machine this" in command and not Path("/sys/devices/system/cpu/cpu0/cpuidle").exists():
        pytest.skip("this machine has no idle states")
    assert main(shlex.split(command)[1:]) == 0, capsys.readouterr().err
    for written in re.findall(r"(?:-o|--perfetto) (\S+)", command):
        assert (folder / written).stat().st_size > 1_000


@pytest.mark.parametrize(
    ("page", "arguments", "first"),
    [
        ("README.md", "replay example menu-6.12 menu-7.2 teo-6.12 teo-7.2 ladder", "8x-"),
        (
            "docs/timeline.md",
            "timeline examples/desktop.toml --policy cfs-uncapped --policy eevdf-7.2",
            "cfs-uncapped: ",
        ),
    ],
)
def test_a_printed_output_of_the_manual_is_that_of_the_command(page, arguments, first, capsys):
    shown = next(b for b in blocks(ROOT / page, "text") if b.startswith(first))
    words = [str(ROOT / w) if w.startswith("examples/") else w for w in arguments.split()]
    assert arguments in (ROOT / page).read_text()
    assert main(words) == 0
    assert capsys.readouterr().out == shown


def test_the_table_of_the_tbench_example_is_its_recorded_output():
    shown = next(b for b in blocks(ROOT / "docs/timeline.md", "text") if b.startswith("client"))
    assert shown == (ROOT / "examples" / "tbench_preemption.out").read_text()
