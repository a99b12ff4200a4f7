"""Replay from Python: shapes, frozen results, notes, comparison, errors."""

from __future__ import annotations

import multiprocessing
import pickle
import threading

import numpy as np
import pytest

import tickless
from tickless import IdlePeriods, IdleTable, InvalidParameterError, UnknownNameError, replay

TWO = ["menu-6.12", "teo-6.12"]


def test_results_have_the_documented_shapes_and_dtypes(periods, table):
    r = replay(periods, TWO, states=table)
    shape = (2, len(periods))
    assert (r.state.shape, r.state.dtype) == (shape, np.uint8)
    assert (r.stop_tick.shape, r.stop_tick.dtype) == (shape, np.bool_)
    assert (r.verdict.shape, r.verdict.dtype) == (shape, np.uint8)
    assert (r.residency_ns.shape, r.residency_ns.dtype) == (shape, np.int64)
    assert (r.wake_latency_ns.shape, r.wake_latency_ns.dtype) == (shape, np.int64)
    assert (r.energy_uj.shape, r.energy_uj.dtype) == (shape, np.float64)


def test_result_arrays_are_read_only(periods, table):
    r = replay(periods, TWO, states=table)
    for array in (r.state, r.stop_tick, r.verdict, r.residency_ns, r.energy_uj):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


def test_one_name_is_one_row_and_aliases_are_resolved(periods, table):
    r = replay(periods, "teo", states=table)
    assert r.governors == ("teo-7.2",)
    assert r.state.shape == (1, len(periods))


def test_the_verdict_is_the_kernels_rule_recomputed_by_hand(periods, table):
    r = replay(periods, list(tickless.governors().names), states=table)
    wake = periods.column("wake_ns")
    target, exit_ = table.target_residency_ns, table.exit_latency_ns
    for g in range(len(r.governors)):
        s = r.state[g]
        above = (wake < target[s]) & (s > 0)
        deeper = np.minimum(s + 1, len(table) - 1)
        fits_deeper = (wake > exit_[s]) & (wake - exit_[s] >= target[deeper]) & (s + 1 < len(table))
        expected = np.where(above, 1, np.where(fits_deeper, 2, 0))
        np.testing.assert_array_equal(r.verdict[g], expected, err_msg=r.governors[g])


def test_residency_adds_the_exit_latency_only_when_asked(periods, table):
    without = replay(periods, TWO, states=table)
    wake = periods.column("wake_ns")
    np.testing.assert_array_equal(without.residency_ns, [wake, wake])
    added = replay(periods, TWO, states=table, add_exit_latency=True)
    np.testing.assert_array_equal(added.residency_ns, wake + table.exit_latency_ns[added.state])


def test_energy_is_power_times_time(table):
    p = IdlePeriods([10_000_000], [5_000_000], latency_limit_ns=3_000)
    r = replay(p, "teo-6.12", states=table.replace(active_mw=5000.0))
    s = int(r.state[0, 0])
    by_hand = table.power_mw[s] * 1e-3 * 5e-3 + 5.0 * table.exit_latency_ns[s] * 1e-9
    assert r.energy_uj[0, 0] == pytest.approx(by_hand * 1e6)


def test_energy_without_power_numbers_is_nan(periods):
    bare = IdleTable(["C1", "C6"], [2_000, 100_000], [2_000, 300_000])
    assert np.isnan(replay(periods, "menu", states=bare).energy_uj).all()


def test_a_rejected_period_has_no_residency_and_is_counted(table):
    p = IdlePeriods([5_000_000] * 3, [4_000_000] * 3, rejected=[0, 1, 0])
    r = replay(p, "menu-6.12", states=table)
    assert r.residency_ns[0, 1] == 0
    assert r.summary()["rejected"].sum() == 1
    assert r.summary()["usage"].sum() == 2


def test_the_result_does_not_depend_on_the_number_of_threads(periods, table):
    names = list(tickless.governors().names)
    one = replay(periods, names, states=table, threads=1)
    for threads in (2, 5):
        many = replay(periods, names, states=table, threads=threads)
        np.testing.assert_array_equal(one.state, many.state)
        np.testing.assert_array_equal(one.stop_tick, many.stop_tick)
        np.testing.assert_array_equal(one.verdict, many.verdict)


def test_each_cpu_has_its_own_governor(periods, table):
    both = replay(periods, TWO, states=table)
    for cpu in (0, 1):
        mine = periods.column("cpu") == cpu
        alone = replay(periods[mine], TWO, states=table)
        np.testing.assert_array_equal(both.state[:, mine], alone.state)


def test_states_the_table_disables_are_not_chosen(periods, table):
    off = table.replace(disabled=[False, False, True, False])
    r = replay(periods, ["menu-6.12", "teo-6.12"], states=off)
    assert not (r.state == 2).any()
    same = replay(periods.replace(disabled=0b100), ["menu-6.12", "teo-6.12"], states=table)
    np.testing.assert_array_equal(r.state, same.state)


def test_a_hybrid_gives_each_cpu_the_table_of_its_class():
    rng = np.random.default_rng(3)
    wake = rng.integers(1_000, 20_000_000, 400)
    p = IdlePeriods(wake * 2, wake, cpu=rng.integers(0, 8, 400))
    r = replay(p, TWO, machine="snapdragon-845")
    assert len(r.tables) == 2
    for cpu, table in ((0, r.tables[0]), (7, r.tables[1])):
        mine = p.column("cpu") == cpu
        alone = replay(p[mine].replace(cpu=0), TWO, states=table)
        np.testing.assert_array_equal(r.state[:, mine], alone.state)
    assert {"table"} <= set(r.summary().index.names)
    with pytest.raises(InvalidParameterError, match="several"):
        assert r.states


def test_a_cpu_outside_the_machine_is_refused():
    with pytest.raises(InvalidParameterError, match="CPUs 0 to 7.*CPU 9"):
        replay(IdlePeriods([10], [5], cpu=9), "menu", machine="8x-SKYLAKE-UMA")


def test_single_state_tables_choose_state_zero_with_a_note(periods):
    r = replay(periods, "teo", states=IdleTable(["HLT"], [0], [0]))
    assert not r.state.any()
    assert any("one state" in n for n in r.notes)


def test_all_states_disabled_is_the_kernels_zero_with_a_note(periods, table):
    off = table.replace(disabled=[True] * 4)
    r = replay(periods, ["menu-6.12", "teo-6.12"], states=off)
    assert not r.state.any()
    assert any("disabled" in n for n in r.notes)


def test_modelled_wake_latency_is_marked(periods):
    r = replay(periods, "menu", machine="8x-SKYLAKE-UMA")
    assert any("modelled wake" in n for n in r.notes)
    assert any("estimates" in n for n in r.notes)
    table = r.states
    np.testing.assert_array_equal(r.wake_latency_ns, table.wake_ns[r.state])


def test_traced_decisions_name_the_rule(periods, table):
    r = replay(periods, TWO, states=table, trace_decisions=True)
    assert r.predicted_ns.shape == r.rule.shape == (2, len(periods))
    assert int(r.rule.max()) < len(r.rules)
    assert set(r.to_frame().columns) >= {"predicted_ns", "rule"}
    assert replay(periods, TWO, states=table).rule is None


def test_summary_counts_add_up(periods, table):
    s = replay(periods, TWO, states=table).summary()
    per_governor = s.groupby(level="governor", sort=False)
    assert per_governor["usage"].sum().tolist() == [2000, 2000]
    total = int(periods.column("wake_ns").sum())
    assert per_governor["time_ns"].sum().tolist() == [total, total]


def test_compare_with_itself_is_no_change(periods, table):
    c = replay(periods, ["menu", "menu"], states=table).compare("menu")
    assert c.governors == ("menu-7.2", "menu-7.2#2")
    assert c.agreement.tolist() == [[1, 1], [1, 1]]
    assert c.energy_change_pct.tolist() == [0, 0]
    assert c.wake_latency_change_pct.tolist() == [0, 0]


def test_compare_knows_aliases_and_refuses_others(periods, table):
    r = replay(periods, TWO, states=table)
    assert r.compare("teo-6.12").baseline == "teo-6.12"
    assert replay(periods, ["teo"], states=table).compare("teo").baseline == "teo-7.2"
    with pytest.raises(UnknownNameError, match="menu-6.12, teo-6.12"):
        r.compare("ladder")


def test_text_and_html_show_the_same_numbers(periods, table):
    c = replay(periods, TWO, states=table).compare()
    html = c._repr_html_()
    for row in c.rows()[1]:
        for cell in row:
            assert cell in repr(c)
            assert cell in html


def recorded(periods, table, governor):
    chosen = replay(periods, governor, states=table).state[0]
    return periods.replace(entered=chosen, selected=chosen)


def test_agreement_is_measured_on_the_recorded_states(periods, table):
    p = recorded(periods, table, "teo-6.1")
    r = replay(p, ["teo-6.1", "menu-6.1"], states=table, recorded="teo-6.1")
    assert r.agreement[0] == 1.0
    assert r.agreement[1] < 1.0
    follow = replay(p, "menu-6.1", states=table, follow="recorded")
    assert r.agreement[1] == (follow.state[0] == p.column("selected")).mean()
    assert any("100.0 % of its choices" in n for n in r.compare().notes)


def test_without_a_name_the_best_match_is_said_to_be_one(periods, table):
    r = replay(recorded(periods, table, "teo-6.1"), ["menu-6.1", "teo-6.1"], states=table)
    assert any("best match: teo-6.1" in n for n in r.compare().notes)


def test_following_recorded_states_needs_them(periods, table):
    with pytest.raises(InvalidParameterError, match="entered"):
        replay(periods, "menu", states=table, follow="recorded")
    with pytest.raises(InvalidParameterError, match="follow"):
        replay(periods, "menu", states=table, follow="neither")


def test_a_recorded_state_outside_the_table_cannot_be_followed(periods, table):
    p = periods.replace(entered=np.full(len(periods), 7), selected=0)
    with pytest.raises(InvalidParameterError, match="7"):
        replay(p, "menu", states=table, follow="recorded")
    r = replay(p, "menu", states=table)
    assert r.agreement is None
    assert any("up to 7" in n for n in r.notes)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({}, "exactly one"),
        ({"machine": "8x-SKYLAKE-UMA", "states": "both"}, "exactly one"),
        ({"states": "both", "hz": 60}, "hz.*100, 250, 300, 1000"),
    ],
)
def test_bad_arguments_are_named(periods, table, arguments, match):
    if arguments.get("states") == "both":
        arguments = arguments | {"states": table}
    with pytest.raises(InvalidParameterError, match=match):
        replay(periods, "menu", **arguments)


def test_unknown_names_list_the_nearest(periods, table):
    with pytest.raises(UnknownNameError, match="teo-6.12"):
        replay(periods, "teo-6.13", states=table)
    with pytest.raises(UnknownNameError, match="SKYLAKE"):
        replay(periods, "menu", machine="8x-SKYLAKE")
    with pytest.raises(UnknownNameError, match="menu-6.12"):
        replay(periods, "menu", states=table, recorded="menu-6.13")


def test_things_that_are_no_governor_are_a_type_error(periods, table):
    with pytest.raises(TypeError, match="select"):
        replay(periods, [object()], states=table)
    with pytest.raises(InvalidParameterError, match="at least one"):
        replay(periods, [], states=table)
    with pytest.raises(TypeError, match="IdlePeriods"):
        replay([1, 2, 3], "menu", states=table)


def test_empty_periods_give_empty_results(table):
    r = replay(IdlePeriods([], []), TWO, states=table)
    assert r.state.shape == (2, 0)
    assert r.compare().n_periods == 0
    assert "0 idle periods" in repr(r)
    assert r.summary()["usage"].sum() == 0


def test_progress_is_reported_and_other_threads_run_meanwhile(table):
    wake = np.full(3_000_000, 5_000)
    p = IdlePeriods(1_000_000, wake)
    seen: list[int] = []
    ran = threading.Event()
    other = threading.Timer(0.0, ran.set)
    other.start()
    replay(p, TWO, states=table, threads=1, progress=seen.append)
    assert ran.is_set()
    assert seen[-1] == 2 * len(p)
    assert seen == sorted(seen)


def test_an_exception_in_the_progress_function_stops_the_replay(periods, table):
    def stop(done: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        replay(periods, TWO, states=table, progress=stop)


def test_progress_that_is_neither_a_bar_nor_a_function_is_refused(periods, table):
    with pytest.raises(TypeError, match="progress: expected True, False or a callable, found str"):
        replay(periods, TWO, states=table, progress="bar")


def test_a_replay_pickles(periods, table):
    r = replay(periods, TWO, states=table)
    again = pickle.loads(pickle.dumps(r))
    np.testing.assert_array_equal(again.state, r.state)
    assert repr(again) == repr(r)


def test_the_picture_has_two_axes_with_a_bar_per_governor(periods, table):
    import matplotlib as mpl

    mpl.use("Agg")
    figure = replay(periods, TWO, states=table).plot()
    left, right = figure.axes[:2]
    assert [t.get_text() for t in left.get_yticklabels()] == TWO
    assert len(left.patches) == 2 * len(table)
    widths = np.array([p.get_width() for p in left.patches]).reshape(len(table), 2)
    np.testing.assert_allclose(widths.sum(axis=0), 100)
    assert len(right.patches) == 4


class Deepest:
    """A governor of one's own; at module level, where a worker process finds it."""

    def select(self, ctx):
        return ctx.n_states - 1

    def reflect(self, ctx, outcome):
        pass


def counted(periods: tickless.IdlePeriods) -> int:
    r = tickless.replay(periods, ["teo", "menu", Deepest()], machine="8x-SKYLAKE-UMA")
    trace = tickless.read(tickless.example_trace(), time_unit="ns")
    return int(r.state.sum()) + len(trace.idle)


def test_a_forked_process_works_after_its_parent_has(periods):
    expected = counted(periods)  # the parent's worker threads are up now, and a fork copies none
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map_async(counted, [periods] * 4)
        assert found.get(timeout=30) == [expected] * 4
