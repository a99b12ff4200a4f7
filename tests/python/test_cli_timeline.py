"""``tickless timeline``: what it prints, and how it says what is wrong with a file."""

from __future__ import annotations

import csv
import io
import json
import tomllib

import pytest

import tickless
from conftest import ROOT
from tickless.cli import main

DESKTOP = ROOT / "examples" / "desktop.toml"

GOOD = """
policy = "eevdf-6.12"
ncpus = 1
until_ns = 40_000_000
[[tasks]]
name = "hog"
program = [["run", 1_000_000_000]]
[[tasks]]
name = "light"
nice = 19
bursts = [[200_000, 3_000_000]]
"""


@pytest.fixture
def spec(tmp_path):
    """Return a function that writes a file and returns its path."""

    def write(text: str) -> str:
        path = tmp_path / "spec.toml"
        path.write_text(text)
        return str(path)

    return write


def test_the_totals_are_those_of_the_same_call_in_python(spec, capsys):
    assert main(["timeline", spec(GOOD), "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    t = tickless.timeline(
        [0, 19],
        policy="eevdf-6.12",
        ncpus=1,
        until_ns=40_000_000,
        programs=[(0, [("run", 10**9)]), (0, [(200_000, 3_000_000)])],
    )
    assert found["policy"] == "eevdf-6.12"
    assert [total["name"] for total in found["totals"]] == ["hog", "light"]
    for name in t.totals.dtype.names:
        assert [total[name] for total in found["totals"]] == t.totals[name].tolist()


def test_text_has_a_table_per_policy(spec, capsys):
    assert main(["timeline", spec(GOOD), "--policy", "cfs", "--policy", "o1"]) == 0
    out = capsys.readouterr().out
    assert out.index("cfs: 40 ms") < out.index("o1: 40 ms")
    assert sum(line.startswith("light") for line in out.splitlines()) == 2


def test_rows_as_csv_are_the_rows_of_the_timeline(spec, capsys):
    assert main(["timeline", spec(GOOD), "--rows", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {"policy", "t_ns", "op", "arg_vruntime"} <= set(rows[0])
    assert rows[0]["op"] == "FORK"
    times = [int(row["t_ns"]) for row in rows]
    assert times == sorted(times)


def test_an_open_loop_script_names_its_tasks(spec, capsys):
    text = """
    policy = "cfs"
    until_ns = 9_000_000
    events = [[0, "FORK", "a"], [1_000_000, "FORK", "b"], [4_000_000, "BLOCK"],
              [5_000_000, "NICE", "b", 5]]
    [[tasks]]
    name = "a"
    [[tasks]]
    name = "b"
    """
    assert main(["timeline", spec(text), "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert [total["exec_ns"] for total in found["totals"]] == [4_000_000, 5_000_000]
    assert found["carried_out"] == 4


def test_messages_go_to_tasks_by_name(capsys):
    assert main(["timeline", str(DESKTOP), "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    totals = {total["name"]: total for total in found["totals"]}
    assert totals["helper"]["rounds"] == totals["editor"]["rounds"] > 0


def test_the_html_page_holds_totals_and_picture_and_nothing_from_elsewhere(tmp_path):
    pytest.importorskip("matplotlib")
    page = tmp_path / "out.html"
    assert main(["timeline", str(DESKTOP), "-o", str(page), "--policy", "eevdf"]) == 0
    text = page.read_text()
    assert text.count("<svg") == 1
    assert "eevdf: 120 ms" in text
    assert ">compiler<" in text
    assert "<script" not in text
    for reference in ('src="', "<link", "url(http"):
        assert reference not in text


def test_perfetto_gets_the_names_of_the_file(tmp_path):
    path = tmp_path / "t.json"
    arguments = ["timeline", str(DESKTOP), "--perfetto", str(path), "-o", str(tmp_path / "t.txt")]
    assert main(arguments) == 0
    names = {e["name"] for e in json.loads(path.read_text())["traceEvents"]}
    assert {task["name"] for task in tomllib.loads(DESKTOP.read_text())["tasks"]} <= names


def wrong(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


BAD = {
    "policy": ('"eevdf-6.12"', '"eevdf-9"', ["eevdf-9", "eevdf-6.12"]),
    "policy type": ('"eevdf-6.12"', "612", ["policy", "612"]),
    "no policy": ('policy = "eevdf-6.12"', "", ["policy: missing", "--policy"]),
    "field": ("ncpus = 1", "cpus = 1", ["cpus: unknown field", "ncpus"]),
    "task field": ("nice = 19", "niec = 19", ["tasks[1].niec: unknown field", "nice"]),
    "nice": ("nice = 19", "nice = 20", ["tasks[1]", "nice 20"]),
    "nice type": ("nice = 19", 'nice = "low"', ["tasks[1].nice", "low"]),
    "operation": ('"run"', '"rnu"', ["tasks[0].program[0]", "rnu", "run"]),
    "negative run": ("1_000_000_000", "-1", ["tasks[0].program[0]", "-1"]),
    "float": ("1_000_000_000", "1.5", ["tasks[0].program[0]", "1.5"]),
    "shape": ("[[200_000, 3_000_000]]", "[[200_000]]", ["tasks[1]", "shape"]),
    "receiver": ('["run", 1_000_000_000]', '["send", "hgo"]', ["tasks[0].program[0]", "hgo"]),
    "no end": ("until_ns = 40_000_000", "", ["until_ns"]),
    "huge end": ("40_000_000", "99999999999999999999999", ["until_ns"]),
    "hz": ("ncpus = 1", "hz = 60", ["hz", "60", "250"]),
    "feature": (
        '[[tasks]]\nname = "hog"',
        "features = {LAST_BUDDY = true}\n[[tasks]]",
        ["LAST_BUDDY"],
    ),
    "tunable": ("ncpus = 1", "tunables = {base_slice_ns = -5}", ["base_slice_ns", "-5"]),
    "cost": ("ncpus = 1", "costs = {swich_ns = 5}", ["swich_ns", "switch_ns"]),
    "same name": ('"light"', '"hog"', ["tasks[1].name", "two tasks"]),
    "no tasks": (GOOD[GOOD.index("[[tasks]]") :], "", ["tasks: none"]),
    "events too": ("ncpus = 1", "events = []", ["tasks[0]", "events"]),
    "not TOML": ("ncpus = 1", "ncpus = ", ["not TOML", "line 3"]),
}


@pytest.mark.parametrize("case", sorted(BAD))
def test_a_bad_file_is_one_message_that_names_the_field(case, spec, capsys):
    old, new, words = BAD[case]
    path = spec(wrong(GOOD, old, new))
    assert main(["timeline", path]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith(f"tickless: {path}: "), line
    for word in words:
        assert word in line


def test_a_task_without_a_program_beside_others_never_starts(spec, capsys):
    without = wrong(GOOD, 'program = [["run", 1_000_000_000]]', "")
    assert main(["timeline", spec(without), "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["totals"][0]["exec_ns"] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.toml"], ["missing.toml", "no such file"]),
        ([str(DESKTOP), "-o", "x.pdf"], ["x.pdf", ".pdf", ".html"]),
        ([str(DESKTOP), "--policy", "cfs", "--policy", "o1", "--perfetto", "x"], ["--perfetto"]),
        ([str(DESKTOP), "--window-ns", "5", "5", "--format", "html"], ["start_ns, end_ns"]),
        ([str(ROOT / "examples")], ["examples"]),
    ],
)
def test_bad_arguments_are_one_message(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["timeline", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    for word in words:
        assert word in line
    assert list(tmp_path.iterdir()) == []
