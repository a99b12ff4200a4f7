"""``tickless compare`` and ``tickless validate mmtests``: output, exit codes, messages, imports."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile

import pytest

from conftest import ROOT
from tickless.cli import main

CUT = ROOT / "tests" / "data" / "mmtests"
BASE = "4.18.0-vanilla"
EXPECTED = CUT / "2018" / "expected"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The result directory of the 2018 cut."""
    folder = tmp_path_factory.mktemp("mmtests")
    with tarfile.open(CUT / "2018" / "input.tar.xz") as tar:
        tar.extractall(folder, filter="data")
    return folder / "input"


def order(name: str) -> str:
    line = next(
        text
        for text in (EXPECTED / "COMMANDS.tsv").read_text().splitlines()
        if text.startswith(f"{name}\t")
    )
    return line.split(" -n ")[1].split()[0]


def compare(tree, *args: str) -> int:
    return main(["compare", str(tree), "--baseline", BASE, *args])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sockperf-udp-throughput.default", []),
        ("sockperf-udp-throughput.ratio", ["--ratio"]),
        ("sockperf-udp-throughput.significance", ["--significance"]),
        ("schbench.default", []),
    ],
)
def test_the_tools_own_text_comes_out_byte_for_byte(tree, capsys, name, options):
    bench = name.rpartition(".")[0]
    code = compare(tree, "-n", order(name), "-b", bench, "--rule", "mmtests-2018", *options)
    out = capsys.readouterr().out
    expected = (EXPECTED / f"{name}.txt").read_text().splitlines(keepends=True)
    assert code == 0
    assert out == "".join(e for e in expected if not e.startswith("Comparing"))


def test_several_benchmarks_come_one_below_the_other(tree, capsys):
    assert compare(tree, "-b", "hackbench-process-pipes", "-b", "stream") == 0
    out = capsys.readouterr().out
    assert "hackbench-process-pipes: time" in out
    assert "stream: rate" in out


@pytest.mark.parametrize("suffix", [".txt", ".html", ".csv", ".json", ".md", ".tex"])
def test_the_suffix_of_the_output_file_chooses_the_format(tree, tmp_path, capsys, suffix):
    out = tmp_path / f"table{suffix}"
    assert compare(tree, "-b", "stream", "-o", str(out)) == 0
    assert capsys.readouterr().out == ""
    text = out.read_text()
    assert "triad" in text
    if suffix == ".json":
        json.loads(text)
    if suffix == ".html":
        assert text.startswith("<!doctype html>")


def test_a_regression_exits_with_one_and_says_which(tree, capsys):
    assert compare(tree, "-b", "hackbench-process-pipes", "--fail-on-regression", "2%") == 1
    err = capsys.readouterr().err
    assert "regression: hackbench-process-pipes: 4.18.0-teo 12: 8.19 % worse (p = 0.00" in err
    assert compare(tree, "-b", "hackbench-process-pipes", "--fail-on-regression", "50") == 0


def test_a_picture_is_drawn_on_request(tree, tmp_path):
    picture = tmp_path / "p.png"
    assert compare(tree, "-b", "stream", "--plot", str(picture)) == 0
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_files_are_compared_by_name(tmp_path, capsys):
    for name, seconds in (("old", (1.0, 1.1, 1.05)), ("new", (2.0, 2.1, 2.05))):
        lines = "".join(f"Time: {s:.3f}\n" for s in seconds)
        (tmp_path / f"{name}.log").write_text(lines)
    files = [str(tmp_path / "old.log"), f"patched={tmp_path / 'new.log'}"]
    assert main(["compare", *files, "--baseline", "old", "--style", "benchstat"]) == 0
    out = capsys.readouterr().out
    assert "patched" in out
    assert "+95.24%" in out


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (
            ["--baseline", "4.18.0-vanila"],
            "unknown kernel '4.18.0-vanila'; nearest: 4.18.0-vanilla",
        ),
        (["--baseline", BASE, "--rule", "welsh"], "unknown rule 'welsh'"),
        (["--baseline", BASE, "--style", "fancy"], "unknown style 'fancy'"),
        (["--baseline", BASE, "--alpha", "2"], "alpha = 2.0: must be between 0 and 1"),
        (["--baseline", BASE, "--rule", "mmtests-2018", "--era", "head"], "belongs to era '2018'"),
        (["--baseline", BASE, "--metric", "speed"], "unknown metric 'speed'"),
        (["--baseline", BASE, "-b", "nothing"], "unknown benchmark"),
        (["--baseline", BASE, "-o", "table.docx"], "names no format"),
    ],
)
def test_bad_input_is_one_message_and_exit_two(tree, capsys, args, words):
    assert main(["compare", str(tree), *args]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_what_is_no_result_directory_is_refused(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("nothing here\n")
    assert main(["compare", str(tmp_path), "--baseline", "a"]) == 2
    assert str(tmp_path) in capsys.readouterr().err
    assert main(["compare", str(tmp_path / "notes.txt"), "--baseline", "a"]) == 2
    assert main(["compare", str(tmp_path / "missing"), "--baseline", "a"]) == 2
    assert main(["compare", str(tmp_path), str(tmp_path / "notes.txt"), "--baseline", "a"]) == 2
    assert "alone, not with others" in capsys.readouterr().err


def test_a_percentage_that_is_none_is_a_usage_error(tree, capsys):
    with pytest.raises(SystemExit) as e:
        compare(tree, "--fail-on-regression", "much")
    assert e.value.code == 2
    assert "'much' is not a percentage" in capsys.readouterr().err


def test_a_t_test_loads_neither_scipy_stats_nor_pandas(tree):
    code = (
        "import sys\nfrom tickless.cli import main\n"
        f"main(['compare', {str(tree)!r}, '--baseline', {BASE!r}, '-b', 'stream'])\n"
        "heavy = {'scipy.stats', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)\n"
        "print('scipy.special' in sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stderr.split("\n")[:2] == ["[]", "True"]


def test_validate_prints_one_line_per_file_and_fails_on_a_difference(tmp_path, capsys):
    shutil.copytree(CUT / "edge" / "head" / "names", tmp_path / "head")
    assert main(["validate", "mmtests", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    lines = (tmp_path / "head/expected/COMMANDS.tsv").read_text().splitlines()
    assert out.count("head/stream") == len(lines) == 3
    assert "26 of 26 equal" in out
    expected = tmp_path / "head" / "expected" / "stream.default.txt"
    expected.write_text(expected.read_text() + "one line more\n")
    assert main(["validate", "mmtests", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "26 of 27 equal  DIFFERS" in out
    (tmp_path / "empty").mkdir()
    assert main(["validate", "mmtests", str(tmp_path / "empty")]) == 2
