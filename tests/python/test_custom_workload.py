"""Workloads of one's own: from Python, TOML and rt-app; refused with the place to blame."""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pytest

import tickless
from conftest import ROOT
from tickless import (
    HackbenchModel,
    InputError,
    InvalidParameterError,
    ShapeError,
    TicklessError,
    UnknownNameError,
    Workload,
    hackbench_model,
)
from tickless.cli import main
from tickless.errors import InvalidTypeError

SKYLAKE = "8x-SKYLAKE-UMA"
CLIENT = [("run", 5), ("send", "request"), ("receive", "answer"), ("count", "trips")]
SERVER = [("receive", "request"), ("kernel", 2), ("send", "answer")]
PAIR = {"request": "group", "answer": "group"}
MANUAL = (ROOT / "docs" / "workloads.md").read_text()


def echo(programs=None, tasks=None, channels=PAIR, **more):
    programs = {"client": CLIENT, "server": SERVER} if programs is None else programs
    tasks = {"client": "case", "server": "case"} if tasks is None else tasks
    more = {"name": "echo", "cases": [1, 4]} | more
    return Workload.from_ops(programs, tasks, channels=channels, **more)


def run(workload, **how):
    how = {"cases": None, "repeats": 2, "duration_s": 0.02, "warmup_s": 0.005} | how
    return tickless.simulate(SKYLAKE, how.pop("kernels", "6.12"), workload, **how)


def hog(*ops, **more):
    return Workload.from_ops({"hog": list(ops)}, {"hog": 1}, **more)


# Good ones


def test_a_round_trip_of_one_pair_takes_its_work_and_four_pairs_do_four_times_as_much():
    res = run(echo(), noise=0)
    assert res.unit == "trips/s"
    assert res.cases == ("1", "4")
    one, four = res["throughput"].mean(axis=2)[0]
    assert 1e9 / one > 5000 + 2000
    assert one < 1e9 / 7000
    assert four == pytest.approx(4 * one, rel=0.1)


def test_it_works_with_several_kernels_and_any_number_as_a_case():
    res = run(echo(), kernels=["6.1", "6.12"], cases=[2, 8])
    assert res.cases == ("2", "8")
    assert "echo" in res.benchmark
    assert "6.12" in res.compare("6.1").table()


def test_the_work_of_a_task_fills_its_cpu():
    busy = run(hog(("run", 50), ("count", "turns")), noise=0)
    assert busy["cpu_busy"].sum(axis=3).mean() == pytest.approx(1.0, abs=0.05)
    assert busy["throughput"].mean() == pytest.approx(20_000, rel=0.1)


def test_times_are_microseconds_or_carry_their_unit():
    same = [hog(("run", v), ("count", "turns")) for v in (2, 2.0, np.float64(2), "2 us", "2000 ns")]
    figures = [run(w, rng=1)["throughput"] for w in same]
    for other in figures[1:]:
        assert np.array_equal(figures[0], other)


def test_python_and_toml_say_the_same():
    toml = Workload.from_toml(ROOT / "examples" / "echo.toml")
    assert (toml.name, toml.report) == ("echo", echo().report)
    assert np.array_equal(run(toml, rng=3)["throughput"], run(echo(), rng=3)["throughput"])
    text = Workload.from_toml((ROOT / "examples" / "echo.toml").read_text())
    assert str(text.graph()) == str(toml.graph())


def test_everything_of_the_language_can_be_said_in_python():
    ops = [
        ("barrier", "start"),
        ("repeat", 3, [
            ("spin", 30), ("lock", "log"), ("line", "counter"), ("unlock", "log"), ("io", "disk"),
            ("memory", "1 MiB"), ("touch", 65536), ("draw", "sizes"),
            ("run", 1, {"per": [0.01], "lognormal": 0.2}), ("chance", 0.5, [("sleep", 10)]),
            "stamp", ("send", "queue", {"reply": "own"}), ("receive", "own"), ("record", "wait"),
            ("fork", "child"), "wait", "yield",
        ]),
        "exit",
    ]  # fmt: skip
    w = Workload.from_ops(
        {
            "worker": ops,
            "child": [("run", 5, {"exponential": True}), "exit"],
            "server": [("repeat", 9, [("receive", "queue"), ("send", "caller")]), "exit"],
        },
        [{"program": "worker", "count": "case", "nice": 5}, {"program": "server", "start": 1}],
        channels={"queue": {"capacity": 100}, "own": "task"},
        locks={"log": {"spin": True}},
        lines=["counter"],
        barriers={"start": {"parties": "case", "spin": 5}},
        devices={"disk": {"service": 100, "uniform": 0.1}},
        tables={"sizes": [[3, 4096], [1, "64 KiB"]]},
        cases=[3],
        limit="2 s",
        spare=4,
    )
    assert w.report.unit == "s"
    res = run(w, duration_s=None, warmup_s=None, repeats=1)
    # 9 rounds, each at least 130 us of spinning and disk, 3 of them one after the other per worker.
    assert 390e-6 < res["time"].item() < 0.1
    assert not [n for n in res.notes if "cut" in n]
    text = w.describe()
    for line in ("worker (tasks: 3)", "asks --> server", "uses --> device disk", "lock log"):
        assert line in text


def test_a_workload_is_equal_to_its_pickled_self_and_to_no_other():
    one, again, other = echo(), echo(), echo(cases=[1])
    back = pickle.loads(pickle.dumps(one))
    assert one == again == back
    assert hash(one) == hash(again) == hash(back)
    assert one != other
    assert np.array_equal(run(back)["throughput"], run(one)["throughput"])
    with pytest.raises(AttributeError, match="frozen"):
        one.name = "x"
    with pytest.raises(UnknownNameError, match="parameter"):
        one.replace(run=3)


def test_html_escapes_names_and_shows_the_graph():
    html = echo(summary="<b>", name="a&b")._repr_html_()
    assert "&lt;b&gt;" in html
    assert "a&amp;b" in html
    assert "sends to server" in html


def test_a_slice_of_a_machine_works_for_pairs():
    res = tickless.simulate("epyc-2x64-nps1", "base", echo(cases=[32]), slice="llc", repeats=1,
                            duration_s=0.005, warmup_s=0.001)  # fmt: skip
    assert res["throughput"].item() > 0


# The graph


def test_the_graph_says_who_sends_to_whom():
    graph = echo().graph(case=4)
    assert [(n.name, n.kind, n.count) for n in graph.nodes] == [
        ("client", "program", 4),
        ("server", "program", 4),
    ]
    assert [(e.source, e.target, e.verb, e.count) for e in graph.edges] == [
        (0, 1, "sends", 4),
        (1, 0, "sends", 4),
    ]
    assert "task graph" in echo().describe()


@pytest.mark.parametrize("workload", [e.name for e in tickless.workloads()])
def test_every_registered_workload_tells_its_graph(workload):
    w = Workload(workload)
    graph = w.graph()
    assert str(graph).splitlines()[0].split(" (")[0] == graph.nodes[0].name
    assert str(graph).splitlines()[0] in w.describe()


def test_the_picture_has_every_program_and_verb(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    for w, case in ((echo(), 4), (Workload("deathstar"), None)):
        figure = w.plot(case=case)
        figure.canvas.draw()
        words = " ".join(t.get_text() for t in figure.findobj(plt.Text))
        graph = w.graph(case=case)
        assert all(n.name in words for n in graph.nodes)
        assert all(e.verb in words for e in graph.edges)
        plt.close(figure)
    figure, ax = plt.subplots()
    assert echo().plot(ax=ax) is figure
    plt.close(figure)
    many = Workload.from_ops({f"p{i}": [("run", 1)] for i in range(41)}, {"p0": 1})
    with pytest.raises(InvalidParameterError, match="41 nodes"):
        many.plot()


# Bad ones


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tasks": {"client": 0, "server": 1}}, "workload.tasks[0].groups: is 0"),
        ({"tasks": {}}, "no task"),
        ({"tasks": {"client": 2**40, "server": 1}}, "GB"),
        ({"tasks": {"client": "case+1"}}, "workload.tasks[0].groups"),
        ({"tasks": {"klient": 1}}, 'no program "klient"'),
        ({"tasks": {"client": {"groups": 1, "nise": 3}}}, "workload.tasks[0].nise"),
        ({"programs": {"client": [*CLIENT[:3], ("send", "reply")], "server": SERVER}},
         'workload.programs.client[3].send: no channel "reply"; defined: request, answer'),
        ({"programs": {"client": [*CLIENT, ("walk", 3)], "server": SERVER}},
         "workload.programs.client[4]: needs exactly one of run"),
        ({"programs": {"client": [("memory", 2**50)], "server": SERVER}}, "client"),
        ({"programs": {"client": [("touch", 2**40)], "server": SERVER}}, "4 GiB"),
        ({"programs": {"client": CLIENT, "server": SERVER[:2]}}, "deadlock"),
        ({"programs": {"client": CLIENT, "server": []}}, "server"),
        ({"programs": {}}, "no program"),
        ({"channels": {"request": "gruop", "answer": "group"}}, "workload.channels.request.per"),
        ({"channels": {"request": {"capacity": 0}, "answer": "all"}}, "channels.request.capacity"),
        ({"cases": []}, "workload.cases"),
        ({"cases": [1.5]}, "workload.cases[0]"),
        ({"report": "pages"}, 'no program counts "pages"'),
        ({"window": -1}, "workload.window"),
        ({"window": "5 parsecs"}, "workload.window"),
        ({"colour": 3}, "workload.colour: is not known here"),
    ],
)  # fmt: skip
def test_a_mistake_is_refused_with_its_place(change, said):
    with pytest.raises(InvalidParameterError, match=re.escape(said)):
        echo(**change)


@pytest.mark.parametrize(
    ("ops", "said"),
    [
        ([("count", "n")], "without time passing"),
        ([("run", 0)], "takes 0 ns"),
        ([("repeat", 5, [("count", "n")])], "without time passing"),
        ([("run", -3)], '"-3 us" is out of range'),
        ([("run", float("nan"))], '"nan us" is out of range'),
        ([("sleep", float("inf"))], '"inf us" is out of range'),
        ([("run", 1e300)], "out of range"),
        ([("run", 2**200)], "out of range"),
        ([("run", True)], "hog[0].run: expected a time"),
        ([("run",)], "run needs an argument"),
        ([("run", None)], "hog[0].run: expected a time"),
        ([("chance", float("nan"), [("run", 5)])], "hog[0].chance: expected a finite number"),
        ([("chance", 2, [("run", 5)])], "hog[0].chance: 2"),
        ([("run", 5), ("lock", "m")], 'no lock "m": none is defined'),
        ([("run", 5), ("receive", "c")], 'no channel "c"'),
        ([("run", 5, {"uniform": 3})], "hog[0].uniform"),
        ([("run", 5, {"colour": 3})], "hog[0].colour"),
        (["jump"], '"jump" is none of run'),
        ([("repeat", 2**40, [("run", 1)])], "hog[0].repeat"),
        ([("run", 1), "exit", ("fork", "nobody")], 'no program "nobody"'),
    ],
)
def test_an_operation_that_cannot_be_is_refused(ops, said):
    with pytest.raises(InvalidParameterError, match=re.escape(said)):
        hog(*ops)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Workload.from_ops([("run", 5)], {"hog": 1}), "programs: expected a mapping"),
        (lambda: Workload.from_ops({"hog": "run"}, {"hog": 1}), "programs.hog: expected a list"),
        (lambda: Workload.from_ops({"hog": 5}, {"hog": 1}), "programs.hog: expected a list"),
        (lambda: Workload.from_ops({5: []}, {"hog": 1}), "programs: expected texts as keys"),
        (lambda: hog(["run", 5]), "programs.hog[0]: expected an operation"),
        (lambda: hog(("run", 5, 6)), "programs.hog[0]: run takes one argument"),
        (lambda: hog(("run", object())), "hog[0].run: expected a number"),
        (lambda: hog(("run", 5), name=3), "name"),
        (lambda: hog(("run", 5), channels=3), "channels: expected a mapping"),
        (lambda: Workload.from_toml(3), "toml: expected a path or a text"),
        (lambda: Workload.from_rtapp(None), "rtapp: expected a path or a text"),
        (lambda: Workload.from_rtapp("{}", partly="yes"), "partly"),
    ],
)
def test_a_wrong_type_is_said_with_its_place(make, said):
    with pytest.raises(InvalidTypeError, match=re.escape(said)):
        make()


def test_what_depends_on_the_machine_is_checked_where_it_runs():
    w = Workload.from_ops({"hog": [("run", 5)]}, {"hog": {"cpus": [99]}})
    with pytest.raises(InvalidParameterError, match="CPU 99 does not exist"):
        run(w)
    with pytest.raises(UnknownNameError, match="case"):
        run(echo(), cases=["many"])
    with pytest.raises(InvalidParameterError, match="groups"):
        run(echo(), cases=[0])


def test_a_deadlock_names_the_tasks_and_what_they_wait_for():
    # Each takes its first lock, sleeps, and wants the other's: no look at one program shows it.
    take = {a + b: [("run", 5), ("lock", a), ("sleep", 100), ("lock", b), ("unlock", b),
                    ("unlock", a)] for a, b in (("left", "right"), ("right", "left"))}  # fmt: skip
    w = Workload.from_ops(take, dict.fromkeys(take, 1), locks={"left": {}, "right": {}})
    with pytest.raises(InvalidParameterError) as caught:
        run(w, kernels="6.12")
    said = str(caught.value)
    assert "deadlock" in said
    assert '(leftright) waits for lock "right"' in said
    assert '(rightleft) waits for lock "left"' in said


def test_a_deadlock_names_channels():
    # The server stops answering after ten rounds.
    few = [("repeat", 10, SERVER), "exit"]
    with pytest.raises(InvalidParameterError) as caught:
        run(echo({"client": CLIENT, "server": few}, channels={"request": "all", "answer": "group"}))
    assert '(client) waits for a message on channel "answer"' in str(caught.value)


# Files


@pytest.mark.parametrize(
    ("read", "text", "line", "code"),
    [
        (Workload.from_toml, "a = 1\nb = [\n", 2, "toml-syntax"),
        (Workload.from_rtapp, '{\n"tasks" {}\n}', 2, "json-syntax"),
        (Workload.from_rtapp, '{\n"tasks": {"a": {"run": 1}', 2, "json-syntax"),
    ],
)
def test_bad_syntax_names_the_line(tmp_path, read, text, line, code):
    file = tmp_path / "bad.txt"
    file.write_text(text)
    for given, path in ((text, None), (file, str(file)), (str(file), str(file))):
        with pytest.raises(InputError) as caught:
            read(given)
        assert (caught.value.line, caught.value.code) == (line, code)
        assert path is None or caught.value.path == path


def test_files_that_are_none_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        Workload.from_toml(tmp_path / "none.toml")
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b'name = "a"\nsummary = "caf\xe9"\n')
    with pytest.raises(InputError, match="line 2: not UTF-8"):
        Workload.from_toml(latin)
    with pytest.raises(OSError, match="a directory") as caught:
        Workload.from_rtapp(tmp_path)
    assert (caught.value.path, caught.value.code) == (str(tmp_path), "is-a-directory")
    with pytest.raises(TicklessError):
        Workload.from_toml("name = 3\nprograms = 5\n")


PLAYER = """{
    /* a decoder wakes an output, */
    "tasks" : {
        "decoder" : { "run" : 900, "resume" : "output",
                      "timer" : { "ref" : "t", "period" : 10000 } },
        "output" : { "suspend" : "output", "run" : 300, },
    },
    "global" : { "duration" : 1 },
}"""


def test_an_rtapp_file_runs_at_its_period(tmp_path):
    file = tmp_path / "player.json"
    file.write_text(PLAYER)
    w = Workload.from_rtapp(file)
    assert (w.name, w.cases(SKYLAKE), w.report.unit) == ("player", ("player",), "loops/s")
    res = run(w, duration_s=1.0, warmup_s=0.0, noise=0)
    # Two threads, one loop each in 10 ms.
    assert res["throughput"].mean() == pytest.approx(200, rel=0.02)
    assert w.notes == res.notes[: len(w.notes)]
    assert pickle.loads(pickle.dumps(w)) == w


def test_unsupported_keys_are_all_listed_and_left_out_only_on_request():
    text = json.dumps(
        {
            "tasks": {
                "a": {"run": 100, "sleep": 100, "taskgroup": "/tg", "util_min": 5},
                "b": {"policy": "SCHED_FIFO", "run": 10, "sleep": 50},
            },
            "global": {"pi_enabled": True},
        }
    )
    keys = ["tasks.a.taskgroup", "tasks.a.util_min", "tasks.b.policy", "global.pi_enabled"]
    with pytest.raises(InputError) as caught:
        Workload.from_rtapp(text)
    assert caught.value.code == "rtapp-unsupported"
    assert all(key in str(caught.value) for key in keys)
    w = Workload.from_rtapp(text, name="odd", partly=True)
    assert all(any(key in note for note in w.notes) for key in keys)
    assert pickle.loads(pickle.dumps(w)) == w
    res = run(w)
    assert all(any(key in note for note in res.notes) for key in keys)
    with pytest.raises(InputError, match=r"tasks\.a\.taskgroup"):
        Workload.from_rtapp(text, name="odd")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "tasks: is missing"),
        ('{"tasks": {"a": {"run": -1}}}', "tasks.a.run: -1"),
        ('{"tasks": {"a": {"run": NaN}}}', "expected value"),
        ('{"tasks": {"a": {"mem": 1099511627776}}}', "tasks.a.mem"),
        ('{"tasks": {"a": {"run": 5, "instance": 99999999}}}', "tasks.a.instance"),
        ('{"tasks": {"a": {"lock": "m", "unlock": "m"}}}', "without time passing"),
        ('{"tasks": {"a": {"run": 5, "suspend": "x"}}}', "deadlock"),
    ],
)
def test_bad_rtapp_values_name_their_key(text, said):
    with pytest.raises(TicklessError, match=re.escape(said)):
        run(Workload.from_rtapp(text))


def test_the_command_takes_files(tmp_path, capsys):
    player, bad = tmp_path / "player.json", tmp_path / "bad.toml"
    player.write_text(PLAYER)
    bad.write_text("programs = [\n")
    base = ["simulate", "--machine", SKYLAKE, "--kernels", "6.1,6.12", "--repeats", "2",
            "--duration", "0.05", "--warmup", "0.01", "--workload"]  # fmt: skip
    assert main([*base, str(player)]) == 0
    assert "player" in capsys.readouterr().out
    assert main([*base, str(ROOT / "examples" / "echo.toml"), "--cases", "2"]) == 0
    assert capsys.readouterr().out
    assert main([*base, str(bad)]) == 2
    assert "bad.toml" in capsys.readouterr().err
    assert main([*base, str(tmp_path / "none.toml")]) == 2
    assert "none.toml" in capsys.readouterr().err


# The manual


def test_the_manual_lists_every_registered_workload():
    rows = dict(re.findall(r"(?m)^\| `([^`]+)` \| (.*) \|$", MANUAL.split("## Who sends")[0]))
    assert list(rows) == [e.name for e in tickless.workloads()]
    for entry in tickless.workloads():
        assert rows[entry.name].startswith(entry.summary.replace("|", r"\|"))


# hackbench as two stations: the printed tables of the published analysis


def test_the_model_gives_the_printed_table_of_the_epyc():
    groups = [1, 2, 4, 8, 16]
    delay = [1765.0, 2125.0, 2305.0, 2305.0, 2305.0]
    demand = HackbenchModel.fit(16, 2305.0, 3415.0)
    assert demand == pytest.approx(10.7, abs=0.05)
    base = hackbench_model(groups, delay, demand)
    assert base.seconds() == pytest.approx([3.55, 4.28, 4.64, 4.68, 6.83], abs=0.0055)

    def better(m):
        return 100 * (1 - m.seconds() / base.seconds())

    assert better(base.with_queued_wakeups()) == pytest.approx([0.3, 0.3, 0.4, 1.1, 31.1], abs=0.1)
    assert better(base.without_line()) == pytest.approx([0.7, 0.6, 0.7, 1.6, 32.5], abs=0.055)


def test_the_line_law_is_that_of_the_six_rows():
    migrations = np.array([[0.0549, 0.0487, 0.0850], [0.0463, 0.0206, 0.0212]])
    law = 1e3 / HackbenchModel.demand(migrations)
    assert law == pytest.approx(np.array([[46.0, 50.6, 32.1], [52.6, 91.4, 89.9]]), rel=0.004)


def test_groups_of_one_thread_queue_all_and_groups_of_the_cache_none():
    base = hackbench_model(16, 100.0, 49.0)
    one = base.with_queued_wakeups(threads=1, cache=16)
    assert one.demand_ns == base.with_queued_wakeups().demand_ns
    whole = base.with_queued_wakeups(threads=16, cache=16)
    assert whole.demand_ns == pytest.approx(base.demand_ns)


def test_arrays_are_broadcast_and_one_sender_alone_never_waits():
    m = hackbench_model(np.array([[1], [2]]), 1e9, np.array([1.0, 2.0, 3.0]))
    assert m.time_ns.shape == m.seconds().shape == (2, 3)
    assert (m.utilisation < 1e-6).all()
    assert hackbench_model(4, 10.0, 10.0).throughput.shape == ()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: hackbench_model(0, 1.0, 1.0), InvalidParameterError),
        (lambda: hackbench_model(-1, 1.0, 1.0), InvalidParameterError),
        (lambda: hackbench_model(2**33, 1.0, 1.0), InvalidParameterError),
        (lambda: hackbench_model(1, -1.0, 1.0), InvalidParameterError),
        (lambda: hackbench_model(1, float("nan"), 1.0), InvalidParameterError),
        (lambda: hackbench_model(1, 0.0, 0.0), InvalidParameterError),
        (lambda: hackbench_model(1.5, 1.0, 1.0), InvalidTypeError),
        (lambda: hackbench_model(1, "x", 1.0), InvalidTypeError),
        (lambda: hackbench_model([1, 2], [1.0, 2.0, 3.0], 1.0), ShapeError),
        (lambda: HackbenchModel.fit(4, 10.0, 5.0), InvalidParameterError),
        (lambda: HackbenchModel.demand(-1.0), InvalidParameterError),
        (lambda: hackbench_model(1, 1.0, 1.0).with_queued_wakeups(2.0), InvalidParameterError),
        (
            lambda: hackbench_model(1, 1.0, 1.0).with_queued_wakeups(threads=2),
            InvalidParameterError,
        ),
        (lambda: hackbench_model(1, 1.0, 1.0).seconds(0), InvalidParameterError),
    ],
)
def test_impossible_numbers_are_refused(make, error):
    with pytest.raises(error):
        make()
