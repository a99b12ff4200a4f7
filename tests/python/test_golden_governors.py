"""The installed package makes the recorded decisions, and says clearly when it cannot compare."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tickless import InputError
from tickless.cli import main
from tickless.validation import validate

ROOT = Path(__file__).parents[2]
CUT = ROOT / "tests/data/governors"
FULL = ROOT.parent / "shared/data/governors"


def full_set() -> Path:
    if not FULL.is_dir():
        if os.environ.get("TICKLESS_REQUIRE_SHARED") == "1":
            pytest.fail(f"{FULL} is missing")
        pytest.skip("the full golden set is not beside the clone")
    return FULL


def check(folder: Path, periods: int) -> None:
    groups = list(validate("governors", folder))
    assert len(groups) == 30
    assert [g for g in groups if g.equal != g.total] == []
    assert {g.total for g in groups} == {3 * periods}  # state, tick, verdict


def test_thirty_governors_decide_as_recorded_in_the_first_periods():
    check(CUT, 6 * 2000)


def test_thirty_governors_decide_as_recorded_in_the_full_streams():
    check(full_set(), 6 * 25_000)


def test_reconstructed_texts_are_compared_but_cannot_fail_a_run():
    inexact = {g.name for g in validate("governors", CUT) if not g.exact}
    rfc = {f"teo-rfc-v{i}" for i in (1, 2, 3, 4, 6, 7, 8)}
    assert inexact == rfc | {"menu-4.18.0", "teo-5.1"}


def altered(tmp_path: Path, **changes: object) -> Path:
    with np.load(CUT / "arm_2state_hz250.npz") as npz:
        arrays = dict(npz.items())
    for name, value in changes.items():
        if value is None:
            del arrays[name]
        else:
            arrays[name] = value
    np.savez(tmp_path / "altered.npz", **arrays)
    return tmp_path


def test_a_wrong_decision_is_counted_and_placed(tmp_path, capsys):
    with np.load(CUT / "arm_2state_hz250.npz") as npz:
        state = npz["sel__teo_6_12"].copy()
    state[17] ^= 1
    folder = altered(tmp_path, sel__teo_6_12=state)
    assert main(["validate", "governors", str(folder)]) == 1
    printed = capsys.readouterr().out
    assert "teo-6.12" in printed
    assert "5999 of 6000 equal  DIFFERS" in printed
    assert f"altered.npz, period 17: state is {state[17] ^ 1}, expected {state[17]}" in printed


@pytest.mark.parametrize("name", ["wake", "hz", "verdict__menu_6_1", "polling"])
def test_a_missing_array_is_named(tmp_path, name):
    with pytest.raises(InputError, match=f"{name}' is missing") as caught:
        list(validate("governors", altered(tmp_path, **{name: None})))
    assert caught.value.code == "missing-array"
    assert caught.value.path.endswith("altered.npz")


def test_an_array_of_another_length_is_named(tmp_path):
    short = np.zeros(7, np.uint8)
    with pytest.raises(InputError, match=r"'got_tick' has shape \(7,\), expected 1-D of length"):
        list(validate("governors", altered(tmp_path, got_tick=short)))


def test_decisions_of_an_unknown_governor_are_refused(tmp_path):
    folder = altered(tmp_path, sel__oracle_9=np.zeros(2000, np.uint8))
    with pytest.raises(InputError, match="unknown governor 'oracle_9'"):
        list(validate("governors", folder))


def test_a_folder_without_golden_files_is_refused(tmp_path, capsys):
    assert main(["validate", "governors", str(tmp_path)]) == 2
    assert "no .npz files" in capsys.readouterr().err


@pytest.mark.parametrize("size", [0, 100, 5000, 50_000])
def test_a_damaged_file_is_refused(tmp_path, size):
    whole = (CUT / "arm_2state_hz250.npz").read_bytes()
    (tmp_path / "damaged.npz").write_bytes(whole[:size])
    with pytest.raises(InputError, match="not a readable"):
        list(validate("governors", tmp_path))


def test_a_file_with_flipped_bytes_is_refused(tmp_path):
    damaged = bytearray((CUT / "arm_2state_hz250.npz").read_bytes())
    damaged[20_000:20_400] = bytes(400)
    (tmp_path / "damaged.npz").write_bytes(damaged)
    with pytest.raises(InputError, match="not a readable"):
        list(validate("governors", tmp_path))
