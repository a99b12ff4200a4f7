"""Machines: registered ones, hybrids, and one's own."""

from __future__ import annotations

import pickle
import tomllib

import pytest

import tickless
from conftest import shared_or_skip
from tickless import InvalidParameterError, Machine, UnknownNameError


def test_every_registered_machine_has_the_states_of_the_data():
    path = shared_or_skip("machines.toml")
    for want in tomllib.loads(path.read_text())["machine"]:
        m = Machine(want["name"])
        classes = want.get("cpu_class") or [{"state": want["state"]}]
        assert len(m.tables) == len(classes)
        assert m.hz == want["os"]["hz"]
        for table, c in zip(m.tables, classes, strict=True):
            states = c["state"]
            assert list(table.names) == [s["name"] for s in states]
            assert table.exit_latency_ns.tolist() == [s["exit_us"] * 1000 for s in states]
            assert table.target_residency_ns.tolist() == [s["residency_us"] * 1000 for s in states]
            assert table.polling.tolist() == [s["polling"] for s in states]
            for cpu in c.get("cpus", range(m.ncpus)):
                assert m.idle_table(cpu) is table


def test_an_alias_is_the_same_machine():
    assert Machine("skl-e3-1240v5").name == "8x-SKYLAKE-UMA"


def test_an_unknown_machine_lists_the_nearest():
    with pytest.raises(UnknownNameError, match="8x-SKYLAKE-UMA"):
        Machine("8x-SKYLAKE")


def test_a_cpu_the_machine_does_not_have_is_refused():
    with pytest.raises(InvalidParameterError, match="CPUs 0 to 7"):
        Machine("8x-SKYLAKE-UMA").idle_table(8)


def test_machines_pickle():
    m = Machine("juno-r1")
    again = pickle.loads(pickle.dumps(m))
    assert again.tables == m.tables
    assert again.table_of.tolist() == m.table_of.tolist()


def test_power_guesses_are_marked():
    assert any("estimates" in n for n in Machine("8x-SKYLAKE-UMA").idle_table().notes)


def test_own_machine_with_two_classes(table):
    little = tickless.IdleTable(["WFI"], [1_000], [1_000])
    m = Machine("mine", tables=[little, table], table_of=[0, 0, 1, 1], hz=1000)
    assert m.idle_table(0) is little
    assert m.idle_table(3) is table
    with pytest.raises(InvalidParameterError, match="table_of"):
        Machine("mine", tables=[table], table_of=[1])


def test_the_list_of_machines_prints_as_a_table():
    text = repr(tickless.machines())
    assert "8x-SKYLAKE-UMA" in text
    assert len(tickless.machines()) == 15
    assert "<table" in tickless.machines()._repr_html_()


def test_a_changed_copy_keeps_the_rest_and_is_checked():
    machine = tickless.Machine("juno-r1")
    faster = machine.replace(hz=1000)
    assert (machine.hz, faster.hz) == (250, 1000)
    assert faster.tables == machine.tables
    assert faster.table_of.tolist() == machine.table_of.tolist()
    with pytest.raises(tickless.InvalidParameterError, match="table_of"):
        machine.replace(table_of=[7])
