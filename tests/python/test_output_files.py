"""Files the package writes: whole or not at all, and nothing but what was named."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading

import pytest

import tickless
from tickless._files import written
from tickless.cli import main


def leftovers(folder) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".")]


def test_a_pipe_is_written_and_stays_a_pipe(tmp_path):
    pipe, got = tmp_path / "pipe.csv", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    assert main(["list", "machines", "-o", str(pipe)]) == 0
    reader.join(10)
    assert got and got[0].startswith("name,")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path):
    (tmp_path / "link.csv").symlink_to("target.csv")
    assert main(["list", "machines", "-o", str(tmp_path / "link.csv")]) == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "target.csv").read_text().startswith("name,")


def test_the_permissions_of_a_replaced_file_stay(tmp_path):
    path = tmp_path / "secret.csv"
    path.touch(mode=0o600)
    assert main(["list", "machines", "-o", str(path)]) == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), written(path) as f:
        f.write("new")
        raise RuntimeError
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.txt"]


def test_results_are_replaced_whole(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("old")
    metric = tickless.Metric.time("s")
    res = tickless.Results.build("b", ["k"], ["c"], {"t": (metric, [[[1.0]]])})
    before = path.stat().st_ino
    res.to_csv(path)
    assert path.stat().st_ino != before  # a new file took its place in one step
    assert tickless.Results.from_csv(path.read_text()) == res


@pytest.mark.parametrize("name", ["missing/x.csv", "folder.csv"])
def test_a_file_that_cannot_be_written_is_named_as_the_caller_named_it(tmp_path, capsys, name):
    (tmp_path / "folder.csv").mkdir()
    assert main(["list", "machines", "-o", str(tmp_path / name)]) == 2
    said = capsys.readouterr().err
    assert f"{tmp_path / name}:" in said
    assert not leftovers(tmp_path)


def test_a_picture_of_unknown_kind_is_refused_by_name(tmp_path, capsys):
    metric = tickless.Metric.time("s")
    res = tickless.Results.build("b", ["k", "l"], ["c"], {"t": (metric, [[[1.0]], [[2.0]]])})
    res.to_csv(tmp_path / "r.csv")
    to = tmp_path / "x.foo"
    args = ["compare", str(tmp_path / "r.csv"), "--baseline", "k", "--plot", str(to)]
    assert main(args) == 2
    assert "'.foo' names no picture" in capsys.readouterr().err
    assert not to.exists()


SPEC = """
policy = "eevdf-6.12"
until_ns = 1_000_000
[[tasks]]
name = "é→"
program = [["run", 1000]]
"""


MAIN = "import sys; from tickless.cli import main; sys.exit(main())"


def tickless_command(*args, **options) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", MAIN, *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)


@pytest.mark.parametrize("format", ["text", "html", "csv", "markdown"])
def test_names_are_printed_where_stdout_knows_ascii_only(tmp_path, format):
    (tmp_path / "s.toml").write_text(SPEC, encoding="utf-8")
    done = tickless_command(
        "timeline",
        str(tmp_path / "s.toml"),
        "--format",
        format,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert r"\xe9\u2192" in done.stdout


def test_a_file_name_that_is_no_utf8_can_be_shown(tmp_path):
    source = os.fsencode(tmp_path) + b"/t\xff.txt"
    with open(source, "wb") as f:
        f.write(b"  <idle>-0 [000] d..1 1.000001: cpu_idle: state=1 cpu_id=0\n" * 2)
    done = tickless_command("read", os.fsdecode(source), "--format", "html")
    assert (done.returncode, done.stderr) == (0, "")
    out = tmp_path / "out.html"
    assert main(["read", os.fsdecode(source), "-o", str(out)]) == 0
    assert "<html" in out.read_text(encoding="utf-8")


def test_a_closed_stdout_is_no_traceback():
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" -c "$1" list machines >&-', sys.executable, MAIN],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_damage_is_no_failure_where_warnings_are_errors(tmp_path):
    line = "  <idle>-0 [000] d..1 1.00000%d: cpu_idle: state=1 cpu_id=%s\n"
    (tmp_path / "t.txt").write_text("".join(line % (i, "0" if i else "x") for i in range(4)))
    strict = os.environ | {"PYTHONWARNINGS": "error"}
    done = tickless_command("read", str(tmp_path / "t.txt"), env=strict)
    assert done.returncode == 0
    assert "damaged" in done.stderr and "Traceback" not in done.stderr
