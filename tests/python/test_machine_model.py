"""The full machine model: settings, topology, copies, and the running machine."""

from __future__ import annotations

import pickle
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest

import tickless
from conftest import ROOT, shared_or_skip
from tickless import InvalidParameterError, Machine, UnknownNameError
from tickless.errors import InvalidTypeError

PRESETS = ROOT / "src" / "machine" / "presets"
NAMES = list(tickless.machines().names)


def test_the_preset_files_hold_the_numbers_of_the_data():
    path = shared_or_skip("machines.toml")
    files = [tomllib.loads(p.read_text()) for p in PRESETS.glob("*.toml")]
    ours = {f["name"]: f for f in files}
    for want in tomllib.loads(path.read_text())["machine"]:
        for section, content in want.items():
            assert ours[want["name"]][section] == content, (want["name"], section)


@pytest.mark.parametrize("name", NAMES)
def test_every_price_of_a_preset_has_a_source(name):
    [preset] = [f for f in map(_toml, PRESETS.glob("*.toml")) if f["name"] == name]
    machine = Machine(name)
    for key, cost in preset["cost"].items():
        assert cost["src"]
        assert machine.costs[key] == cost["value"]
        assert any(s.startswith(f"costs.{key} = ") and cost["src"] in s for s in machine.sources)


def _toml(path: Path):
    return tomllib.loads(path.read_text())


def test_topology_arrays_say_who_shares_what():
    t = Machine("epyc-2x64-nps1").topology
    assert (t.ncpus, t.ncores, t.nllcs, t.nsockets, t.nnodes) == (256, 128, 16, 2, 2)
    assert t.core_of.tolist() == [*range(128)] * 2
    assert t.llc_of[[0, 7, 8, 127, 128]].tolist() == [0, 0, 1, 15, 0]
    assert t.socket_of[[63, 64, 191, 192]].tolist() == [0, 1, 0, 1]
    assert t.siblings(130).tolist() == [2]
    pairs = [(5, 5), (0, 128), (0, 1), (0, 8), (0, 64)]
    assert [t.distance(*p) for p in pairs] == ["same", "smt", "llc", "socket", "node"]
    assert "16 last-level caches" in repr(t)
    with pytest.raises(ValueError):
        t.core_of[0] = 9
    with pytest.raises(InvalidParameterError, match="0 to 255"):
        t.distance(0, 256)
    with pytest.raises(InvalidParameterError, match="0 to 255"):
        t.siblings(-1)
    assert pickle.loads(pickle.dumps(t)).llc_of.tolist() == t.llc_of.tolist()


def test_costs_are_a_read_only_mapping_with_units_in_the_names():
    costs = Machine("8x-SKYLAKE-UMA").costs
    assert costs["wake_ns"] == 350
    assert costs["smt_run"] == 0.78
    assert costs["line_ns.llc"] == 45
    assert costs["demote_to"] == "C1E"
    with pytest.raises(TypeError):
        costs["wake_ns"] = 1


def test_a_mapping_and_keywords_change_settings():
    m = Machine("8x-SKYLAKE-UMA")
    changed = m.replace(
        {
            "costs.wake_us": 0.5,
            "states.C1.wake_us": np.float64(1.5),
            "c6.exit_latency_ns": np.int64(75_000),
            "clock.turbo_ghz": np.array([3.0, 2.5]),
            "topology.numbering": "threads together",
            "mwait": np.bool_(False),
        },
        hz=1000,
        name="mine",
    )
    assert (changed.name, changed.hz, changed.aliases) == ("mine", 1000, ())
    assert changed.costs["wake_ns"] == 500
    assert changed.clock_ghz == (3.0, 2.5)
    assert changed.topology.siblings(0).tolist() == [1]
    assert changed.idle_table().wake_ns.tolist()[1] == 1500
    assert changed.idle_table().exit_latency_ns.tolist()[4] == 75_000
    assert changed.idle_table().label == "8x-SKYLAKE-UMA"
    assert changed.settings["mwait"] is False
    assert any("costs.wake_ns = 500 (was 350)" in s for s in changed.sources)
    assert m.costs["wake_ns"] == 350 and m.idle_table().exit_latency_ns[4] == 85_000


@pytest.mark.parametrize("name", NAMES)
def test_settings_read_back_what_replace_was_given(name):
    m = Machine(name)
    for key, value in m.settings.items():
        if value == "listed" or (isinstance(value, float) and np.isnan(value)):
            continue
        again = m.replace({key: value}).settings[key]
        assert again == value, key


def test_bad_changes_are_refused_by_name():
    m = Machine("8x-SKYLAKE-UMA")
    with pytest.raises(UnknownNameError, match=r"costs\.wake_ns"):
        m.replace({"costs.wakeup_ns": 1})
    with pytest.raises(UnknownNameError, match="machine setting .turbo.; nearest"):
        m.replace(turbo=1)
    with pytest.raises(InvalidParameterError, match=r"costs\.smt_run: a speed"):
        m.replace({"costs.smt_run": 1.5})
    with pytest.raises(InvalidParameterError, match=r"topology\.llcs_per_socket"):
        m.replace({"topology.llcs_per_socket": 3})
    for bad in (None, [["a"]], object(), {"a": 1}, 1j, ["x"]):
        with pytest.raises(InvalidTypeError, match=r"costs\.wake_ns"):
            m.replace({"costs.wake_ns": bad})
    with pytest.raises(InvalidTypeError, match="changes"):
        m.replace({3: 3})


def test_equal_machines_are_equal_and_hash_alike():
    a, b = Machine("8x-SKYLAKE-UMA"), Machine("skl-e3-1240v5")
    assert a == b and hash(a) == hash(b)
    assert a != a.replace(hz=1000)
    assert a != "8x-SKYLAKE-UMA"
    assert len({a, b, a.replace(hz=1000)}) == 2


@pytest.mark.parametrize("name", NAMES)
def test_any_machine_pickles_whole(name):
    m = Machine(name).replace({"costs.wake_ns": 123})
    again = pickle.loads(pickle.dumps(m))
    assert again == m and again.tables == m.tables
    assert dict(again.costs) == dict(m.costs)


def test_new_tables_keep_the_rest_of_the_machine(table):
    m = Machine("8x-SKYLAKE-UMA").replace({"costs.wake_ns": 123})
    shallow = m.idle_table().replace(disabled=[0, 0, 0, 1, 1, 1, 1])
    changed = m.replace(tables=[shallow])
    assert changed.costs["wake_ns"] == 123
    assert changed.topology.siblings(0).tolist() == [4]
    assert changed.settings["states.C6.disabled"] is True
    assert changed.settings["states.C6.entry_us"] == 20
    assert changed.idle_table(3) is shallow
    fewer = m.replace(tables=[shallow], table_of=[0, 0])
    assert fewer.ncpus == fewer.topology.ncores == 2


def test_a_machine_of_tables_is_flat_with_start_prices(table):
    m = Machine("mine", tables=[table], table_of=[0, 0, 0])
    assert m.topology.llc_of.tolist() == [0, 0, 0]
    assert m.topology.core_of.tolist() == [0, 1, 2]
    assert m.costs["wake_ns"] == 350 and m.clock_ghz == ()
    changed = m.replace({"topology.threads_per_core": 2, "topology.cores_per_socket": 2})
    assert changed.ncpus == 4 and changed.idle_table(3) is table


def test_a_slice_has_one_cache():
    s = Machine("epyc-2x64-nps1").slice_llc()
    assert (s.name, s.ncpus, s.topology.nllcs) == ("epyc-2x64-nps1-llc", 16, 1)
    assert any("one of 16" in line for line in s.sources)
    assert Machine("juno-r1").slice_llc().idle_table(3).label == "juno-r1 A53"


def test_describe_and_html_show_prices_and_sources():
    m = Machine("8x-SKYLAKE-UMA")
    text = m.describe()
    for part in ("costs.wake_ns = 350", "clock.turbo_ghz = 3.9, 3.9, 3.8, 3.7", "sources"):
        assert part in text
    assert "poll_quantum_ns" in m._repr_html_()
    hostile = m.replace(name="<script>alert(1)</script>")
    assert "<script>" not in hostile._repr_html_()


def test_a_machine_is_frozen():
    m = Machine("vm-2cpu")
    with pytest.raises(AttributeError, match="frozen"):
        m.hz = 3
    with pytest.raises(AttributeError, match="frozen"):
        del m.hz


# --- the running machine ---------------------------------------------------------------------


def put(root: Path, files: dict[str, object]) -> None:
    for name, value in files.items():
        path = root / "devices" / "system" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")


def tree(root: Path) -> Path:
    """Make the sysfs of two sockets, each of two cores with two threads, one cache each."""
    put(root, {"cpu/cpuidle/current_driver": "intel_idle", "cpu/cpuidle/current_governor": "menu"})
    for cpu in range(8):
        core, socket = cpu % 4, cpu % 4 // 2
        cpus = f"{2 * socket}-{2 * socket + 1},{2 * socket + 4}-{2 * socket + 5}"
        put(
            root,
            {
                f"cpu/cpu{cpu}/cpuidle/state0/{file}": value
                for file, value in (
                    ("name", "C1"),
                    ("desc", "MWAIT 0x00"),
                    ("latency", 2),
                    ("residency", 2),
                )
            }
            | {
                f"cpu/cpu{cpu}/topology/physical_package_id": socket,
                f"cpu/cpu{cpu}/topology/core_id": core % 2,
                f"cpu/cpu{cpu}/topology/thread_siblings_list": f"{core},{core + 4}",
                f"cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq": 3_600_000,
                f"cpu/cpu{cpu}/cpufreq/cpuinfo_min_freq": 800_000,
                f"cpu/cpu{cpu}/cache/index0/level": 1,
                f"cpu/cpu{cpu}/cache/index0/type": "Data",
                f"cpu/cpu{cpu}/cache/index0/size": "48K",
                f"cpu/cpu{cpu}/cache/index0/shared_cpu_list": f"{core},{core + 4}",
                f"cpu/cpu{cpu}/cache/index3/level": 3,
                f"cpu/cpu{cpu}/cache/index3/type": "Unified",
                f"cpu/cpu{cpu}/cache/index3/size": "30M",
                f"cpu/cpu{cpu}/cache/index3/shared_cpu_list": cpus,
            },
        )
    put(root, {"node/node0/cpulist": "0-1,4-5", "node/node1/cpulist": "2-3,6-7"})
    return root


def test_the_running_machine_tells_its_topology(tmp_path):
    m = Machine.this(tree(tmp_path), hz=1000)
    assert (m.ncpus, m.hz) == (8, 1000)
    t = m.topology
    assert t.core_of.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert t.llc_of.tolist() == t.socket_of.tolist() == t.node_of.tolist() == [0, 0, 1, 1] * 2
    assert m.clock_ghz == (3.6,)
    assert m.settings["clock.min_ghz"] == 0.8
    assert (m.settings["cache.l1d_kib"], m.settings["cache.l3_kib"]) == (48, 30_720)
    assert m.settings["mwait"] is True
    assert m == tickless.read_sysfs(tmp_path, hz=1000)
    assert pickle.loads(pickle.dumps(m)) == m
    with pytest.raises(InvalidParameterError, match="listed one by one"):
        m.replace({"topology.sockets": 4})
    doubled = m.replace(
        {"topology.numbering": "cores first", "topology.sockets": 4, "topology.numa_nodes": 4}
    )
    assert doubled.ncpus == 16


def test_an_offline_cpu_is_named(tmp_path):
    shutil.rmtree(tree(tmp_path) / "devices/system/cpu/cpu6/topology")
    m = Machine.this(tmp_path)
    assert m.topology.siblings(6).tolist() == [] and m.topology.socket_of[6] == 0
    assert any("not told for CPUs 6" in s for s in m.sources)


def test_without_caches_the_socket_is_the_last_level(tmp_path):
    for folder in tree(tmp_path).glob("devices/system/cpu/cpu*/cache"):
        shutil.rmtree(folder)
    m = Machine.this(tmp_path)
    assert m.topology.llc_of.tolist() == m.topology.socket_of.tolist()


def test_capacities_of_a_hybrid_are_relative_to_the_fastest(tmp_path):
    tree(tmp_path)
    put(tmp_path, {f"cpu/cpu{cpu}/cpu_capacity": 500 if cpu < 4 else 800 for cpu in range(8)})
    assert Machine.this(tmp_path).topology.capacity.tolist() == [640] * 4 + [1024] * 4


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("cpu/cpu0/topology/thread_siblings_list", "0-999999999"),
        ("cpu/cpu0/topology/thread_siblings_list", "4-0"),
        ("cpu/cpu0/topology/thread_siblings_list", "zero"),
        ("cpu/cpu0/topology/physical_package_id", "1e3"),
        ("cpu/cpu0/cache/index3/shared_cpu_list", ","),
        ("cpu/cpu0/cache/index3/size", "-5K"),
        ("cpu/cpu0/cpufreq/cpuinfo_max_freq", "999999999"),
        ("node/node0/cpulist", "0-9000"),
    ],
)
def test_a_broken_file_of_the_topology_is_an_error_with_its_path(tmp_path, file, content):
    put(tree(tmp_path), {file: content})
    with pytest.raises(tickless.InputError, match="expected") as caught:
        Machine.this(tmp_path)
    assert caught.value.code == "bad-topology" and file in caught.value.path


def test_a_core_below_two_caches_is_refused(tmp_path):
    put(tree(tmp_path), {"cpu/cpu0/cache/index3/shared_cpu_list": "2-3"})
    with pytest.raises(InvalidParameterError, match="joins two last-level caches"):
        Machine.this(tmp_path)
