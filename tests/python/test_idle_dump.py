"""Idle tables and counters from dumps, trees and cpupower; idle CSVs; `read`."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import numpy as np
import pytest

import tickless
from conftest import ROOT, shared_or_skip

INPUTS = ROOT / "tests" / "data" / "inputs"
TRACES = ROOT / "tests" / "data" / "traces"

GUEST_STATES = {
    # The table in the README of the recorded traces, us.
    "POLL": (0, 0),
    "C1": (2, 2),
    "C1E": (10, 20),
    "C3": (70, 100),
    "C6": (85, 200),
    "C7s": (124, 800),
    "C8": (200, 800),
}


@pytest.fixture
def guest() -> tickless.IdleTable:
    latency, residency = zip(*GUEST_STATES.values(), strict=True)
    return tickless.IdleTable(
        list(GUEST_STATES), [v * 1000 for v in latency], [v * 1000 for v in residency]
    )


def sysfs(root: Path, cpus: dict[int, list[tuple[str, int, int]]]) -> Path:
    """Make a sysfs with the given states: name, latency, residency (us)."""
    base = root / "devices" / "system" / "cpu"
    (base / "cpuidle").mkdir(parents=True)
    (base / "cpuidle" / "current_driver").write_text("intel_idle\n")
    (base / "cpuidle" / "current_governor").write_text("teo\n")
    for cpu, states in cpus.items():
        for i, (name, latency, residency) in enumerate(states):
            folder = base / f"cpu{cpu}" / "cpuidle" / f"state{i}"
            (folder / "s2idle").mkdir(parents=True)
            for file, value in (
                ("name", name),
                ("latency", latency),
                ("residency", residency),
                ("disable", int(name == "C3")),
                ("power", 4294967295),
                ("usage", 10 * i),
                ("s2idle/usage", 1),
            ):
                (folder / file).write_text(f"{value}\n")
    return root


SMALL = [("POLL", 0, 0), ("C1", 2, 2), ("C3", 70, 100)]
BIG = [("POLL", 0, 0), ("C1", 1, 1), ("C6", 150, 500)]


def test_the_running_machine_is_read_from_a_sysfs_root(tmp_path: Path):
    machine = tickless.read_sysfs(sysfs(tmp_path, {0: SMALL, 1: SMALL, 10: SMALL}))
    assert machine.ncpus == 11 and len(machine.tables) == 1
    table = machine.idle_table(10)
    assert table.names == ("POLL", "C1", "C3")
    assert table.exit_latency_ns.tolist() == [0, 2_000, 70_000]
    assert table.target_residency_ns.tolist() == [0, 2_000, 100_000]
    assert table.polling.tolist() == [True, False, False]
    assert table.disabled.tolist() == [False, False, True]
    assert np.isnan(table.power_mw).all()
    assert "intel_idle" in machine.summary and "teo" in machine.summary


def test_a_hybrid_has_one_table_per_class_of_cpus(tmp_path: Path):
    root = sysfs(tmp_path, {0: SMALL, 1: BIG, 2: SMALL, 3: BIG})
    machine = tickless.read_sysfs(root)
    assert machine.table_of.tolist() == [0, 1, 0, 1]
    assert machine.idle_table(3).names == ("POLL", "C1", "C6")
    assert tickless.read_sysfs(root, cpu=2).idle_table(0).names == ("POLL", "C1", "C3")
    with pytest.raises(tickless.InputError, match=r"CPUs 0,2; CPUs 1,3.*cpu="):
        tickless.read_idle_table(root)
    assert tickless.read_idle_table(root, cpu=1).names == ("POLL", "C1", "C6")
    with pytest.raises(tickless.InputError, match="CPU 9 has no idle states"):
        tickless.read_idle_table(root, cpu=9)


def test_a_machine_without_cpuidle_is_told_so(tmp_path: Path):
    (tmp_path / "devices" / "system" / "cpu" / "cpu0").mkdir(parents=True)
    with pytest.raises(tickless.InputError, match="no cpuidle driver") as caught:
        tickless.read_sysfs(tmp_path)
    assert caught.value.code == "no-idle-states"
    with pytest.raises(tickless.InputError, match="no cpuidle files"):
        tickless.read_sysfs(tmp_path / "devices")


def test_two_dumps_give_differences_that_are_never_negative():
    folder = INPUTS / "15-sysfs-grep-pair"
    counters = tickless.read_idle_counters(folder / "before.txt", folder / "after.txt")
    first, second = counters.delta["cpu0"]
    assert (first["usage"], first["time_us"], first["above"], first["below"]) == (60, 150, 0, 15)
    assert second["usage"] is None and second["time_us"] == 50_000
    codes = [(w["code"], w["cpu"]) for w in counters.warnings]
    assert codes == [("counter-went-back", 0), ("missing-fields", 1)]
    shares = counters.shares()
    assert shares["usage"].isna().tolist() == [True, False]
    frame = counters.to_frame()
    assert frame.loc[frame["cpu"] == 1, "below"].isna().all()


def test_shares_are_counts_over_the_usage_of_all_states():
    line = "/cpu0/cpuidle/state{}/{}:{}\n"
    fields = ("usage", "time", "above", "below")

    def dump(rows: list[tuple[int, int, int, int]]) -> bytes:
        cells = [
            line.format(i, f, v) for i, r in enumerate(rows) for f, v in zip(fields, r, strict=True)
        ]
        return "".join(cells).encode()

    before, after = dump([(0, 0, 0, 0), (0, 0, 0, 0)]), dump([(30, 9, 0, 12), (70, 9, 8, 0)])
    shares = tickless.read_idle_counters(before, after).shares()
    assert shares.iloc[0].tolist() == [0, 100, 0.08, 0.12]


def test_a_table_without_residency_is_refused_by_state():
    text = (INPUTS / "17-cpupower-idle-info" / "info.txt").read_text()
    table = tickless.read_idle_table(text.encode())
    assert table.names == ("POLL", "C1_ACPI", "C1E", "C6")
    assert table.target_residency_ns.tolist() == [0, 2_000, 20_000, 276_000]
    assert table.disabled.tolist() == [False, False, False, True]
    old = "".join(x for x in text.splitlines(keepends=True) if not x.startswith("Residency"))
    with pytest.raises(tickless.InputError, match="C1_ACPI of CPU 0 has no target_residency_us"):
        tickless.read_idle_table(old.encode())
    indented = "".join(f"    {x}" for x in text.splitlines(keepends=True))
    assert tickless.read_idle_table(indented.encode()) == table


def test_a_translated_text_and_other_files_are_refused():
    with pytest.raises(tickless.InputError, match="LC_ALL=C") as caught:
        tickless.read_idle_table(b"CPUidle-Treiber: intel_idle\nanalysiere CPU 0:\n")
    assert caught.value.code == "translated"
    for data, code in ((b"", "empty-file"), (b"hello\n", "not-an-idle-table")):
        with pytest.raises(tickless.InputError) as caught:
            tickless.read_idle_table(data)
        assert caught.value.code == code


def test_a_dump_with_a_hole_makes_no_table():
    path = INPUTS / "16-sysfs-block" / "piped.txt"
    assert tickless.read_idle_dump(path).states["cpu0"][0]["index"] == 2
    with pytest.raises(tickless.InputError, match=r"CPU 0 lacks the states \[0, 1\]"):
        tickless.read_idle_table(path)


def test_dumps_print_and_pickle():
    dump = tickless.read_idle_dump(INPUTS / "16-sysfs-block" / "dump.txt")
    again = pickle.loads(pickle.dumps(dump))
    assert again.states == dump.states
    assert "intel_idle" in repr(dump) and "<table" in dump._repr_html_()
    assert dump.to_frame()["target_residency_us"].isna().tolist() == [True, False]


# idle CSVs


def test_an_idle_csv_and_its_trace_give_the_same_periods(guest: tickless.IdleTable):
    csv = tickless.read_idle_csv(TRACES / "idle_6.12_c1_menu_ip-expo.csv", states=guest)
    trace = tickless.read_trace(tickless.example_trace(), time_unit="ns").idle_periods()
    for column in ("sleep_length_ns", "wake_ns", "got_tick", "entered", "selected", "start_ns"):
        assert np.array_equal(csv.column(column), trace.column(column)), column
    # The two phases differ by the few us from the timer to its event, which matters only where the
    # CPU enters idle in between.
    late = np.abs(csv.column("delta_tick_ns") - trace.column("delta_tick_ns"))
    assert (late < 10_000).mean() > 0.99


def test_a_governor_that_did_not_ask_has_a_very_long_sleep_length():
    rows = (
        "t_enter_ns,cpu,sleep_length_ns,selected,entered,tick_stop,interval_ns,first_event,miss\n"
    )
    rows += "1000,0,,1,1,,500,hrtimer_wakeup,\n2000,1,7,,2,,0,,below\n"
    periods = tickless.read_idle_csv(rows.encode())
    assert periods.column("sleep_length_ns").tolist() == [2**62, 7]
    assert periods.column("selected").tolist() == [1, 2]
    assert periods.delta_tick_ns is None


@pytest.mark.parametrize("bad", ["x", "-1", "1.5", str(2**63)])
def test_a_bad_value_of_an_idle_csv_is_named_by_line(bad: str):
    rows = (
        "t_enter_ns,cpu,sleep_length_ns,selected,entered,tick_stop,interval_ns,first_event,miss\n"
    )
    with pytest.raises(tickless.InputError, match="line 2: interval_ns") as caught:
        tickless.read_idle_csv(f"{rows}1,0,2,1,1,,{bad},,\n".encode())
    assert caught.value.line == 2
    with pytest.raises(tickless.InputError, match="headings"):
        tickless.read_idle_csv(b"a,b\n1,2\n")


AGREEMENT = {"menu": 0.987, "teo": 0.972}
"""Shares measured on the 6.12 ip-expo recordings, as the README of the recorded traces has them."""


@pytest.mark.parametrize("governor", sorted(AGREEMENT))
def test_recorded_choices_are_reproduced_as_often_as_measured(
    governor: str, guest: tickless.IdleTable
):
    folder = shared_or_skip("real_traces")
    for run, share in (("ip-expo", AGREEMENT[governor]), ("ip-fixed200", 1.0)):
        path = folder / f"idle_6.12_c1_{governor}_{run}.csv"
        periods = tickless.read_idle_csv(path, states=guest)
        result = tickless.replay(
            periods, f"{governor}-6.12", states=guest, follow="recorded", hz=250
        )
        assert round(float(result.agreement[0]), 3) >= share, run


def test_the_example_trace_is_reproduced_as_often_as_its_csv(guest: tickless.IdleTable):
    periods = tickless.read_trace(tickless.example_trace(), time_unit="ns").idle_periods()
    result = tickless.replay(periods, "menu-6.12", states=guest, follow="recorded", hz=250)
    assert round(float(result.agreement[0]), 3) >= AGREEMENT["menu"]


# read


def test_read_finds_out_what_a_file_is(tmp_path: Path):
    packed = tmp_path / "anything"
    packed.write_bytes(gzip.compress((INPUTS / "16-sysfs-block" / "dump.txt").read_bytes()))
    found = {
        "Trace": INPUTS / "09-tracecmd-raw-ns" / "trace.txt",
        "IdlePeriods": TRACES / "idle_6.12_c1_menu_ip-expo.csv",
        "CpuidleDump": packed,
    }
    for kind, path in found.items():
        assert type(tickless.read(path)).__name__ == kind
        assert type(tickless.read(str(path))).__name__ == kind
    tree = sysfs(tmp_path / "tree", {0: SMALL})
    assert type(tickless.read(tree)).__name__ == "CpuidleDump"
    with pytest.raises(tickless.InputError, match="no such file"):
        tickless.read(tmp_path / "missing")
    with pytest.raises(tickless.InputError):
        tickless.read(tmp_path)
