"""The lists, and what happens with a name that is not on them."""

from __future__ import annotations

import pytest

import tickless
from tickless.cli import main
from tickless.cli.list import FAMILIES

LISTS = {family: getattr(tickless, family)() for family in FAMILIES}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_list_prints_every_entry_as_text_and_as_html(family):
    text, html = repr(LISTS[family]), LISTS[family]._repr_html_()
    for entry in LISTS[family]:
        assert entry.name in text
        assert entry.name in html
        assert entry.summary
        assert entry.source


@pytest.mark.parametrize("style", ["text", "html", "csv", "json", "markdown", "latex"])
def test_the_list_command_prints_all_families_in_every_format(style, capsys):
    assert main(["list", "--format", style]) == 0
    printed = capsys.readouterr().out
    for family in FAMILIES:
        for entry in LISTS[family]:
            assert entry.name in printed.replace("\\_", "_")


def test_governors_say_whether_their_text_was_exact():
    exact = [e.name for e in tickless.governors() if e.text == "exact"]
    assert {"menu-6.12", "teo-7.2", "ladder-6.1", "haltpoll-5.4"} <= set(exact)
    assert tickless.governors()["teo-rfc-v2"].text == "reconstructed"
    assert tickless.governors()["teo-rfc-v2"].confidence == "low"


@pytest.mark.parametrize("family", FAMILIES)
def test_an_unknown_entry_is_refused_with_the_nearest_names(family):
    name = LISTS[family][0].name
    with pytest.raises(tickless.UnknownNameError, match=name):
        LISTS[family][name + "x"]
    assert name + "x" not in LISTS[family]
    assert name in LISTS[family]
    assert LISTS[family][0] in LISTS[family]


def test_aliases_name_the_entry_they_stand_for():
    assert "menu" in tickless.governors()
    assert tickless.governors()["menu-4.20"].name == "menu-5.0"


def test_mappings_of_tables_know_what_they_do_not_hold():
    tables = tickless.published("teo-v8")
    for mapping in (tables, tables.compare()):
        assert "nothing" not in mapping
        assert mapping.get("nothing") is None
        with pytest.raises(tickless.UnknownNameError, match=r"unknown table 'nothing'; nearest: "):
            mapping["nothing"]


def test_results_of_all_kinds_give_changed_copies_and_stay_as_they_are():
    periods = tickless.IdlePeriods([1_000_000] * 4, [3_000, 700_000, 5_000, 900_000])
    replay = tickless.replay(periods, "menu", machine="8x-SKYLAKE-UMA")
    timeline = tickless.timeline([0], policy="cfs", events=[(0, "FORK", 0)])
    comparison = next(iter(tickless.published("teo-v8").compare().values()))
    for result, change in (
        (replay, {"notes": ("mine",)}),
        (timeline, {"policy": "eevdf"}),
        (comparison, {"notes": ("mine",)}),
    ):
        ((name, value),) = change.items()
        assert getattr(result.replace(**change), name) == value
        assert getattr(result, name) != value
        with pytest.raises(AttributeError):
            setattr(result, name, value)
