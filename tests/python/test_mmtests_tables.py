"""MMTests tables: the real tool's text, byte for byte, from its own result directories."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT, shared_or_skip
from tickless import InvalidParameterError, Metric, Results, UnknownNameError, read_mmtests
from tickless.tables import mmtests, mmtests_eras
from tickless.validation import validate

CUT = ROOT / "tests" / "data" / "mmtests"


def assert_all_equal(directory: Path, at_least: int) -> None:
    groups = list(validate("mmtests", directory))
    wrong = [f"{g}: {g.differences}" for g in groups if g.failed]
    assert not wrong, "\n".join(wrong)
    assert sum(g.exact for g in groups) == at_least
    assert all(g.total > 0 for g in groups)


def test_the_cut_sets_print_the_same_bytes():
    assert_all_equal(CUT, 67)


def test_the_full_sets_print_the_same_bytes():
    assert_all_equal(shared_or_skip("mmtests"), 168)


def test_a_changed_byte_is_found(tmp_path):
    """The check can fail: one digit less in an expected file is a difference."""
    import shutil

    shutil.copytree(CUT / "edge" / "head" / "names", tmp_path / "head")
    expected = tmp_path / "head" / "expected" / "stream.default.txt"
    expected.write_text(expected.read_text().replace("(   0.00%)", "(  -0.00%)", 1))
    groups = {g.name: g for g in validate("mmtests", tmp_path)}
    assert groups["head/stream.default"].failed
    assert groups["head/stream.default"].total - groups["head/stream.default"].equal == 1
    assert not groups["head/stream.ratio"].failed


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("4.18.0-vanilla", ("4.18.0", "vanilla")),
        ("4.20-rc5-teo6", ("4.20-rc5", "teo6")),
        ("6.5.0-eevdf-rc1", ("6.5.0", "eevdf-rc1")),
        ("6.12.0-teo-rc1", ("6.12.0-teo", "rc1")),
        ("mainline", ("mainlin", "mainline")),
    ],
)
def test_eras_split_kernel_names_as_the_tool_does(name, expected):
    assert mmtests_eras.split_name(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("4.18.0-vanilla", ("4.18.0", "vanilla")),
        ("4.20-rc15-teo6", ("4.20-rc15", "teo6")),
        ("6.12.0-teo-rc1", ("6.12.0", "teo-rc1")),
        ("mainline", ("", "mainline")),
        ("eevdf-curb+mathieu", ("", "eevdf-curb+mathieu")),
    ],
)
def test_the_sound_table_splits_where_the_version_ends(name, expected):
    assert mmtests.split(name) == expected


def wide(n_kernels: int) -> Results:
    rng = np.random.default_rng(3)
    x = rng.normal(1e13, 1e10, (n_kernels, 3, 5))
    x[1, 2] = np.nan
    kernels = ["6.12.0-base"] + [
        f"6.12.0-a-very-long-kernel-name-number-{i}" for i in range(1, n_kernels)
    ]
    cases = ["a", "b-long-case-name", "c"]
    return Results.build("bench", kernels, cases, {"t": (Metric.rate("x"), x)})


@pytest.mark.parametrize("n_kernels", [2, 5, 14])
@pytest.mark.parametrize(
    "options", [{}, {"statistics": "all"}, {"ratio": True}, {"compare": False}]
)
def test_columns_are_aligned_and_apart_for_any_number_of_kernels(n_kernels, options):
    text = wide(n_kernels).compare("6.12.0-base").table("mmtests", **options)
    lines = text.split("\n\n")[0].splitlines()[1:]
    width = max(map(len, lines))
    rows = [line.ljust(width) for line in lines[:2] + lines[3:]]
    # A column border is blank in every row; there must be one before each kernel.
    blank = [all(r[i] == " " for r in rows) for i in range(width)]
    borders = sum(b and not a for a, b in zip([False, *blank], blank, strict=False))
    assert borders >= n_kernels
    assert lines[2] == "-" * width
    assert "very-long-kernel-name-number-1" in lines[1]


def test_a_missing_cell_reads_as_missing_without_an_era_and_as_zero_with_one():
    res = wide(2)
    sound = res.compare("6.12.0-base").table("mmtests", sub_heading="c")
    assert [line.split()[-3:] for line in sound.splitlines() if line.startswith("Hmean")] == [
        ["-", "(", "-)"]
    ]
    tool = res.compare("6.12.0-base", rule="mmtests-2018").table("mmtests", sub_heading="c")
    assert "0.00 *   0.00%*" in tool


def test_era_and_rule_must_agree():
    c = wide(2).compare("6.12.0-base", rule="mmtests-2018")
    with pytest.raises(InvalidParameterError, match="belongs to era '2018'"):
        c.table(era="2023")
    assert c.table(era="2018") == c.table()
    with pytest.raises(UnknownNameError, match="unknown era"):
        c.table(era="2019")
    with pytest.raises(InvalidParameterError, match="only style 'mmtests' has eras"):
        c.table("summary", era="2018")
    sound = wide(2).compare("6.12.0-base")
    assert sound.table(era="2018").splitlines()[2].startswith("Min ")


def test_a_sub_heading_nobody_has_is_refused():
    with pytest.raises(InvalidParameterError, match="no case starts with it"):
        wide(2).compare("6.12.0-base").table(sub_heading="send")


def test_constant_samples_are_starred_by_the_tool_only():
    """The tool stars constant data whose mean is off in the last bit; the sound rules do not."""
    tree = CUT / "edge" / "head" / "zerovar"
    import tarfile
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(tree / "input.tar.xz") as tar:
            tar.extractall(scratch, filter="data")
        results = read_mmtests(Path(scratch) / "input")
    res = results["hackbench-process-pipes"]
    assert res.compare("6.1.0-base", rule="mmtests-head").significant.sum() == 3
    sound = res.compare("6.1.0-base")
    assert not sound.significant.any()
    assert any("zero variance" in n for n in sound.notes)
    assert res.compare("6.1.0-base", rule="mann-whitney").significant[1].all()
