"""Idle periods and idle tables refuse what they cannot represent, and say where."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tickless
from tickless import IdlePeriods, IdleTable, InvalidParameterError, ShapeError


def test_scalars_broadcast_and_take_no_memory():
    p = IdlePeriods(1_000_000, [1, 2, 3], nr_iowait=2)
    assert len(p) == 3
    assert p.nr_iowait == 2
    assert p.column("nr_iowait").tolist() == [2, 2, 2]


def test_a_column_that_was_not_given_is_none():
    p = IdlePeriods([5], [3])
    assert p.delta_tick_ns is None
    with pytest.raises(InvalidParameterError, match="delta_tick_ns"):
        p.column("delta_tick_ns")


@pytest.mark.parametrize(
    "bad",
    [[1.0, 2.0], np.array([1.5, 2.5]), [float("nan"), 1.0], ["1", "2"], [None, 1], [1 + 0j, 2]],
    ids=["whole floats", "floats", "nan", "strings", "objects", "complex"],
)
def test_what_is_not_an_integer_is_a_type_error_of_ours(bad):
    with pytest.raises(InvalidParameterError, match="wake_ns") as e:
        IdlePeriods([10, 10], bad)
    assert isinstance(e.value, TypeError)


def test_negative_times_are_refused_with_their_index():
    with pytest.raises(InvalidParameterError, match=r"wake_ns\[1\].*-4"):
        IdlePeriods([1, 2], [3, -4])
    with pytest.raises(InvalidParameterError, match="overhead_ns"):
        IdlePeriods([1], [3], overhead_ns=-1)


def test_sleep_length_and_delta_tick_may_be_negative():
    p = IdlePeriods([-5], [3], delta_tick_ns=[-7])
    assert p.column("sleep_length_ns")[0] == -5
    assert p.column("delta_tick_ns")[0] == -7


def test_values_that_do_not_fit_their_column_are_refused_with_their_index():
    with pytest.raises(InvalidParameterError, match=r"cpu\[1\].*-1"):
        IdlePeriods([1, 2], [3, 4], cpu=[0, -1])
    with pytest.raises(InvalidParameterError, match=r"disabled\[0\].*70000"):
        IdlePeriods([1], [3], disabled=[70_000])
    with pytest.raises(InvalidParameterError, match=r"sleep_length_ns\[0\]"):
        IdlePeriods(np.array([2**63], np.uint64), [3])


def test_unequal_lengths_name_both_columns():
    with pytest.raises(ShapeError, match=r"wake_ns.*length 2.*sleep_length_ns.*found 3"):
        IdlePeriods([1, 2], [1, 2, 3])


def test_two_dimensions_are_refused():
    with pytest.raises(ShapeError, match=r"sleep_length_ns.*\(1, 2\)"):
        IdlePeriods([[1, 2]], [1, 2])


def test_empty_periods_are_fine():
    p = IdlePeriods([], [])
    assert len(p) == 0
    assert "empty" in repr(p)


def test_int64_arrays_are_not_copied():
    wake = np.array([1, 2, 3])
    p = IdlePeriods(10, wake)
    assert np.shares_memory(p.column("wake_ns"), wake)
    assert not p.column("wake_ns").flags.writeable
    assert wake.flags.writeable


def test_periods_are_frozen_and_replace_checks_again():
    p = IdlePeriods([1, 2], [3, 4])
    with pytest.raises(AttributeError, match="replace"):
        p.wake_ns = [1]
    assert p.replace(cpu=5).cpu == 5
    with pytest.raises(InvalidParameterError):
        p.replace(wake_ns=[-1, 0])


def test_slices_and_masks_keep_all_columns():
    p = IdlePeriods([1, 2, 3], [4, 5, 6], cpu=[0, 1, 0], nr_iowait=9)
    assert p[1:].column("wake_ns").tolist() == [5, 6]
    q = p[p.column("cpu") == 0]
    assert q.column("sleep_length_ns").tolist() == [1, 3]
    assert q.nr_iowait == 9
    assert len(IdlePeriods(1, 2)[:0]) == 0


def test_periods_pickle():
    p = IdlePeriods([1, 2], [3, 4], cpu=7, notes=["from a test"])
    q = pickle.loads(pickle.dumps(p))
    assert q.column("wake_ns").tolist() == [3, 4]
    assert (q.cpu, q.notes) == (7, ("from a test",))


def test_concatenate_joins_in_order():
    a, b = IdlePeriods([1], [2], cpu=0), IdlePeriods([3], [4], cpu=[1])
    both = IdlePeriods.concatenate([a, b])
    assert both.column("cpu").tolist() == [0, 1]
    with pytest.raises(InvalidParameterError, match="nr_iowait"):
        IdlePeriods.concatenate([a, b.replace(nr_iowait=1)])


@pytest.mark.parametrize("n", [0, 11])
def test_tables_have_one_to_ten_states(n):
    with pytest.raises(InvalidParameterError, match=f"1 to 10 states, found {n}"):
        IdleTable([f"S{i}" for i in range(n)], list(range(n)), list(range(n)))


def test_only_state_zero_can_poll():
    with pytest.raises(InvalidParameterError, match=r"polling\[1\]"):
        IdleTable(["C1", "POLL"], [1, 2], [1, 2], polling=[False, True])


def test_polling_is_recognised_by_name_unless_said():
    assert IdleTable(["POLL", "C1"], [0, 2], [0, 2]).polling.tolist() == [True, False]
    assert IdleTable(["snooze", "nap"], [0, 2], [0, 2]).polling[0]
    assert not IdleTable(["HLT"], [0], [0]).polling[0]
    assert not IdleTable(["POLL", "C1"], [0, 2], [0, 2], polling=[False, False]).polling[0]


def test_an_unordered_table_warns_and_is_kept():
    with pytest.warns(tickless.TicklessWarning, match="not ordered"):
        t = IdleTable(["C1", "C2"], [10, 5], [10, 20])
    assert t.exit_latency_ns.tolist() == [10, 5]
    assert pickle.loads(pickle.dumps(t)) == t


def test_negative_latency_names_the_state():
    with pytest.raises(InvalidParameterError, match=r"exit_latency_ns\[1\].*C6"):
        IdleTable(["C1", "C6"], [1, -1], [1, 2])


def test_table_columns_of_unequal_length_are_a_shape_error():
    with pytest.raises(ShapeError, match="target_residency_ns"):
        IdleTable(["C1", "C6"], [1, 2], [1, 2, 3])


def test_a_table_prints_microseconds(table):
    assert "133" in repr(table)
    assert "600" in table._repr_html_()


def test_markup_in_state_names_is_escaped():
    t = IdleTable(["<script>"], [1], [1], label="<b>x</b>")
    assert "<script>" not in t._repr_html_()
    assert "<b>x" not in t._repr_html_()
