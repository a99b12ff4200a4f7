"""The installed package reproduces the golden scheduler data, and says clearly when it cannot."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from conftest import ROOT, shared_or_skip
from tickless import InputError
from tickless.cli import main
from tickless.validation import validate

CUT = ROOT / "tests/data/schedulers"


def check(folder: Path) -> dict[str, int]:
    groups = list(validate("schedulers", folder))
    assert [str(g) for g in groups if g.equal != g.total] == []
    assert all(g.exact for g in groups)
    return {g.name: g.total for g in groups}


def test_the_cut_agrees_in_every_file():
    totals = check(CUT)
    assert len(totals) == 24
    assert all(total > 10 for total in totals.values())


def test_the_full_set_agrees_in_every_row_total_and_vector():
    totals = check(shared_or_skip("schedulers"))
    assert sum(n for name, n in totals.items() if " seq_" in name) == 235_532
    assert sum(n for name, n in totals.items() if " func_" in name) == 17_000


def altered(tmp_path: Path, name: str, change) -> Path:
    folder = tmp_path / "altered"
    shutil.copytree(CUT, folder)
    lines = gzip.decompress((folder / name).read_bytes()).decode().splitlines()
    change(lines)
    (folder / name).write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
    return folder


def test_a_different_value_is_counted_and_placed(tmp_path, capsys):
    def change(lines: list[str]) -> None:
        fields = lines[8].split(",")
        fields[10] = str(int(fields[10]) + 1)
        lines[8] = ",".join(fields)

    folder = altered(tmp_path, "seq_eevdf_7_2.csv.gz", change)
    assert main(["validate", "schedulers", str(folder)]) == 1
    printed = capsys.readouterr().out
    assert "eevdf-7.2 seq_eevdf_7_2" in printed
    assert "DIFFERS" in printed
    assert "row 7: zero_vruntime is" in printed


@pytest.mark.parametrize(
    ("name", "at", "line", "message"),
    [
        ("cases.txt.gz", 3, "task heavy", "line 4: not a line of a case"),
        ("seq_cfs.csv.gz", 5, "no_such_case,1,2", "line 6: case 'no_such_case' is in no"),
        ("stats_cfs.csv.gz", 2, "pub_hogs0,99,1", "line 3: no such case, task or total"),
        ("func_snapshot.csv.gz", 1, "1,x,3", "line 2"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, name, at, line, message):
    folder = altered(tmp_path, name, lambda lines: lines.__setitem__(at, line))
    with pytest.raises(InputError, match=message) as caught:
        list(validate("schedulers", folder))
    assert caught.value.path.endswith(name)
    assert caught.value.line == at + 1


def test_a_truncated_file_is_refused(tmp_path):
    folder = tmp_path / "cut"
    shutil.copytree(CUT, folder)
    whole = (folder / "seq_cfs.csv.gz").read_bytes()
    (folder / "seq_cfs.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="not a readable gzip text"):
        list(validate("schedulers", folder))


def test_a_folder_without_golden_files_is_refused(tmp_path, capsys):
    assert main(["validate", "schedulers", str(tmp_path)]) == 2
    assert "no seq_*.csv.gz" in capsys.readouterr().err
