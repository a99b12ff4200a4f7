"""Kernels: registered ones, printed headings, patches, and one's own."""

from __future__ import annotations

import csv
import ctypes
import pickle
import re
import tomllib

import numpy as np
import pytest

import tickless
from conftest import ROOT, shared_or_skip
from tickless import InvalidParameterError, Kernel, Machine, UnknownNameError
from tickless.errors import InvalidTypeError

ALIASES = ROOT / "python" / "tickless" / "published" / "data" / "aliases.csv"
FITTED = {"4.18-teo-v1": "teo-rfc-v1-tolerant", "4.18-teo-v2": "teo-rfc-v2-strict"}


class Shallow:
    """Always the first state."""

    def select(self, ctx):
        return 0, False

    def reflect(self, ctx, outcome):
        pass


def test_every_kernel_has_the_fields_of_the_data():
    data = tomllib.loads(shared_or_skip("kernels.toml").read_text())["kernel"]
    assert tickless.kernels().names == tuple(data)
    for name, want in data.items():
        k = Kernel(name)
        assert k.governor == FITTED.get(name, want["governor"])
        tunables = dict(want["tunables"])
        assert list(k.scaled) == tunables.pop("scaled")
        del tunables["tunable_scaling"]
        assert k.tunables == tunables
        assert list(k.patches) == want["patches"]
        assert k.label == want.get("column", name)
        for field in (
            "summary",
            "policy",
            "hz",
            "preemption",
            "poll_limit",
            "poll_flag",
            "above_below",
            "queued_wakeup_group",
            "queued_wakeup_idle",
            "load_avg_min_interval_ns",
            "wrmsr_per_switch",
            "features",
        ):
            assert getattr(k, field) == want[field], (name, field)
        words = dict(want["source"])
        assert k.sources == (words | {"governor": "derived"} if name in FITTED else words)


def test_every_printed_heading_of_a_published_kernel_finds_it():
    rows = [r for r in csv.DictReader(ALIASES.open()) if r["kind"] == "kernel"]
    assert len(rows) > 40
    for row in rows:
        assert Kernel(row["printed"]).name == row["name"]
        entry = tickless.kernels()[row["name"]]
        assert row["printed"] in (entry.name, *entry.aliases)


def test_kernels_of_the_published_tables_are_registered():
    for report in tickless.reports():
        for table in tickless.published(report.name).values():
            for name in table.kernels:
                assert Kernel(name).report == report.name


def test_the_list_names_governor_policy_and_how_the_fields_are_known():
    entry = tickless.kernels()["base"]
    assert (entry.governor, entry.policy, entry.hz) == ("menu-6.1", "cfs", 250)
    assert entry.source == "eevdf-2023; 3 assumed, 7 read, 4 derived"
    assert tickless.kernels()["6.1"].source.startswith("release; ")


def test_a_patched_kernel_is_the_registered_one_if_there_is_one():
    assert Kernel("eevdf+run-to-parity+mathieu") == Kernel("eevdf-curb+mathieu")
    assert Kernel("6.1+mathieu").name == "6.1+queued-wakeup-l2"
    with pytest.raises(InvalidParameterError, match="already"):
        Kernel("6.1+mathieu+queued-wakeup-l2")
    with pytest.raises(UnknownNameError, match="load-avg-ratelimit"):
        Kernel("base+load-avg-limit")


def test_an_unknown_kernel_lists_the_nearest():
    with pytest.raises(UnknownNameError, match="eevdf-curb"):
        Kernel("eevdf-crub")
    with pytest.raises(InvalidTypeError, match="kernel"):
        Kernel(6.1)


def test_tunables_grow_with_the_cpus_and_set_ones_do_not():
    k = Kernel("eevdf")
    assert k.tunables["base_slice_ns"] == 750_000
    assert [k.tunables_on(n)["base_slice_ns"] for n in (1, 2, 4, 8, 256)] == [
        750_000,
        1_500_000,
        2_250_000,
        3_000_000,
        3_000_000,
    ]
    k = k.replace(base_slice_ns=np.int64(5_000_000))
    assert k.set_tunables == {"base_slice_ns": 5_000_000}
    assert k.tunables_on(1) == k.tunables_on(256) == {"base_slice_ns": 5_000_000}
    assert Kernel("2.5.54").tunables_on(2) == {}
    with pytest.raises(InvalidParameterError, match="ncpus"):
        k.tunables_on(0)


def test_the_polling_limit_is_that_of_the_version():
    table = Machine("8x-SKYLAKE-UMA").idle_table()
    names = ("4.18-vanilla", "4.18-teo-v5", "4.20-rc5-stock", "6.1", "2.5.54")
    limits = [Kernel(n).poll_limit_ns(table) for n in names]
    assert limits == [250_000, 2_000, 2_000, 20_000, 0]
    assert Kernel("6.1").replace(poll_limit=7_000).poll_limit_ns(table) == 7_000
    halt = Machine("dual-p4-1700").idle_table()
    assert Kernel("6.1").poll_limit_ns(halt) is None
    with pytest.raises(InvalidTypeError, match="table"):
        Kernel("6.1").poll_limit_ns("8x-SKYLAKE-UMA")


def test_changes_make_another_kernel_and_leave_the_first_alone():
    k = Kernel("6.12")
    made = k.replace(
        {"features.RUN_TO_PARITY": False},
        governor="teo-6.12",
        hz=1000,
        features={"WA_IDLE": np.bool_(False)},
        tunables={"migration_cost_ns": 0},
        queued_wakeup_group="l2",
        name="mine",
    )
    assert (made.name, made.label, made.governor, made.hz) == ("mine", "mine", "teo-6.12", 1000)
    assert made.features["RUN_TO_PARITY"] is made.features["WA_IDLE"] is False
    assert made.features["WA_WEIGHT"] is True
    assert made.set_tunables == {"migration_cost_ns": 0}
    assert made.sources["hz"] == "set"
    assert "hz = 1000" in made.notes[-1]
    assert (k.name, k.hz, k.features["WA_IDLE"]) == ("6.12", 250, True)
    assert k.replace() == k


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"hz": 200}, InvalidParameterError, "tick rates"),
        ({"hz": 250.0}, InvalidTypeError, "hz"),
        ({"hz": 2**70}, InvalidParameterError, "64 bits"),
        ({"governor": "menu-6.13"}, UnknownNameError, "menu-6.12"),
        ({"governor": 3}, InvalidTypeError, "governor"),
        ({"governor": None}, InvalidTypeError, "governor"),
        ({"governor": "custom"}, UnknownNameError, "governor"),
        ({"policy": "o1"}, InvalidParameterError, "start from one"),
        ({"policy": None}, InvalidTypeError, "policy"),
        ({"preemption": "lazy"}, InvalidParameterError, "eevdf-7.2"),
        ({"poll_flag": 1}, InvalidParameterError, "True or False"),
        ({"features": {"HRTICK": True}}, InvalidParameterError, "HRTICK"),
        ({"features": {"WA_IDLE": 1}}, InvalidTypeError, "WA_IDLE"),
        ({"features": {3: True}}, InvalidTypeError, "features"),
        ({"features": ["WA_IDLE"]}, InvalidTypeError, "mapping"),
        ({"tunables": {"base_slice_ns": 1.5}}, InvalidTypeError, "base_slice_ns"),
        ({"tunables": {"base_slice": 700_000}}, UnknownNameError, "base_slice_ns"),
        ({"base_slice_ns": 7}, InvalidParameterError, "base_slice_ns"),
        ({"base_slize_ns": 700_000}, UnknownNameError, "base_slice_ns"),
        ({"name": "\ud800"}, InvalidParameterError, "UTF-8"),
        ({"core": 1}, UnknownNameError, "field"),
        ({1: 1}, InvalidTypeError, "changes"),
    ],
)
def test_a_change_that_cannot_be_is_a_typed_error(change, error, match):
    with pytest.raises(error, match=match):
        Kernel("6.12").replace(change)


def test_kernels_are_frozen():
    k = Kernel("6.12")
    with pytest.raises(AttributeError):
        k.hz = 1000
    with pytest.raises(AttributeError):
        del k.hz
    with pytest.raises(AttributeError):
        k.other = 1
    with pytest.raises(TypeError):
        k.features["WA_IDLE"] = False


def test_kernels_are_equal_by_name_and_behaviour():
    k = Kernel("eevdf-curb")
    assert k == Kernel("eevdf_curb")
    assert len({k, Kernel("eevdf-curb"), Kernel("eevdf"), k.replace(hz=1000)}) == 3
    assert k.replace(hz=1000).replace(hz=250) == k
    assert k.replace(name="other") != k
    assert k != "eevdf-curb"
    a, b = Shallow(), Shallow()
    assert k.replace(governor=a) == k.replace(governor=a)
    assert k.replace(governor=a) != k.replace(governor=b)


@pytest.mark.parametrize("name", ["2.5.54", "4.18-teo-v1", "6.1+mathieu", "7.2"])
def test_kernels_pickle(name):
    k = Kernel(name)
    assert pickle.loads(pickle.dumps(k)) == k


def test_changed_kernels_pickle_with_their_notes():
    features = dict(Kernel("6.12").features) | {"WA_IDLE": False}
    k = Kernel("6.12").replace(features=features, name="mine").replace(base_slice_ns=3_000_000)
    again = pickle.loads(pickle.dumps(k))
    assert again == k
    assert again.notes == k.notes
    features["WA_IDLE"] = True  # the caller's own mapping
    assert pickle.loads(pickle.dumps(k)) == k
    same = Kernel("6.12").replace(features=k.features)
    assert pickle.loads(pickle.dumps(same)).features == k.features


def test_a_governor_of_ones_own_stays_with_the_kernel():
    mine = Shallow()
    k = Kernel("6.12").replace(governor=mine, name="shallow")
    assert (k.governor, k.custom_governor) == ("custom", mine)
    assert k.replace(hz=1000).custom_governor is mine
    assert k.replace(governor="menu").custom_governor is None
    assert isinstance(pickle.loads(pickle.dumps(k)).custom_governor, Shallow)
    numbers = ctypes.POINTER(ctypes.c_int64)
    signature = ctypes.CFUNCTYPE(ctypes.c_int64, numbers, numbers, numbers)
    function = signature(lambda memory, context, table: 0)
    assert Kernel("6.12").replace(governor=function).custom_governor is function


def test_a_kernel_can_do_without_governors():
    k = Kernel("6.12").replace(governor="none")
    assert (k.governor, k.poll_limit, k.poll_flag) == ("none", "none", False)
    with pytest.raises(InvalidParameterError, match="poll_limit"):
        k.replace(governor="menu")
    with pytest.raises(InvalidParameterError, match="poll_limit"):
        k.replace(governor=Shallow())


def test_a_description_shows_every_field_as_replace_takes_it_with_its_source():
    k = Kernel("base").replace({"features.WA_BIAS": False}, latency_ns=9_000_000)
    text, html = k.describe(), k._repr_html_()
    for line in (
        r"governor +menu-6.1 +assumed",
        r"queued_wakeup_group +llc +read",
        r"features.WA_IDLE +on +read",
        r"features.WA_BIAS +off +set",
        r"latency_ns +9,000,000 +set",
        r"min_granularity_ns +750,000, grows with the CPUs +read",
        r"migration_cost_ns +500,000 +read",
    ):
        assert re.search(f"(?m)^{line}$", text), line
    for field in k.sources:
        assert field in ("features", "tunables") or re.search(rf"(?m)^{field} ", text), field
    for note in k.notes:
        assert note in text
        assert note in html
    assert "menu-6.1" in repr(k)
    assert "&lt;b&gt;" in k.replace(label="<b>")._repr_html_()


def test_the_table_of_the_manual_is_the_catalogue():
    page = (ROOT / "docs" / "kernels.md").read_text()
    rows = re.findall(r"(?m)^\| `[^|]*(?:\|[^|\n]*){6}$", page)
    shown = [tuple(cell.strip(" `") for cell in row.split("|")[1:-1]) for row in rows]
    assert shown == [
        (k.name, k.governor, k.policy, str(k.hz), k.poll_limit, ", ".join(k.patches))
        for k in tickless.kernels()
    ]
