"""Posted comparison tables are read in both house styles, whatever mail did to them."""

import numpy as np
import pytest

import tickless
from conftest import shared_or_skip
from tickless.results import PublishedTable

HEAD = """                              4.18.0                 4.18.0
                             vanilla        teo-v2+backport
"""
ROWS = """Hmean     14        48.16 (   0.00%)       42.50 * -11.77%*
Hmean     100      346.77 (   0.00%)      347.52 (   0.22%)
"""
RULE = "-" * 60 + "\n"
BLOCK = """==================================================================
Test          : hackbench
Units         : Normalized time in seconds
Interpretation: Lower is better
Statistic     : AMean
==================================================================
Case:           base[pct imp](CV)           eevdf[pct imp](CV)
 1-groups     1.00 [ -0.00]( 2.64)     1.02 [ -1.98]( 1.89)
16-groups     1.00 [ -0.00]( 3.31)     0.74 [ 26.35](12.22)  ^
"""


def one(text: str) -> PublishedTable:
    (table,) = tickless.read_comparison(text).values()
    return table


def check(table: PublishedTable) -> None:
    assert table.kernels == ("4.18.0-vanilla", "4.18.0-teo-v2+backport")
    assert table.cases == ("14", "100")
    assert table.center.tolist() == [[48.16, 346.77], [42.5, 347.52]]
    assert table.printed_pct.tolist() == [[0.0, 0.0], [-11.77, 0.22]]
    assert table.starred.tolist() == [[False, False], [True, False]]
    assert [m.better for m in table.case_info] == ["higher", "higher"]
    assert [m.decimals for m in table.case_info] == [2, 2]


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t,
        lambda t: "> > " + t.replace("\n", "\n> > "),
        lambda t: ">" + t.replace("\n", "\n>"),
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.replace("  ", "\u00a0\u00a0"),
        lambda t: "\n".join(" ".join(x.split()) for x in t.split("\n")),
        lambda t: "Hi,\nhere are numbers:\n\n" + t + "\nThanks\n",
    ],
    ids=["plain", "quoted", "quoted-tight", "crlf", "no-break", "collapsed", "in-a-mail"],
)
@pytest.mark.parametrize("rule", ["", RULE])
def test_mmtests_tables_survive_what_mail_does(change, rule):
    check(one(change(HEAD + rule + ROWS)))


def test_the_posted_run_together_heading_vanillasched_x():
    row = "Amean     1      10.00 (   0.00%)       11.00 * -10.00%*"
    ends = row.index(")") + 1
    line = "vanilla".rjust(ends) + "sched-x-rc1-with-long-n"
    table = one(line + "\n" + row + "\n")
    assert table.kernels == ("vanilla", "sched-x-rc1-with-long-n")


def test_names_without_a_dash_come_back_whole():
    head = "                       mainlin                patche\n"
    head += "                      mainline               patched\n"
    assert one(head + ROWS).kernels == ("mainline", "patched")


def test_a_table_without_heading_is_read_and_says_so():
    table = one("see below\n\n" + ROWS)
    assert table.kernels == ("column 1", "column 2")
    assert "headings are missing" in table.notes[0]


def test_trailing_marks_belong_to_the_row():
    rows = ROWS.replace("-11.77%*\n", "-11.77%*   ^\n").replace("0.22%)\n", "0.22%) *\n")
    assert one(HEAD + rows).mark == ("^", "*")


def test_two_quoting_depths_are_two_tables():
    quoted = "> > " + (HEAD + ROWS).strip("\n").replace("\n", "\n> > ") + "\n"
    results = tickless.read_comparison(quoted + HEAD + ROWS)
    assert list(results) == ["table-1", "table-2"]
    for table in results.values():
        check(table)


def test_the_rows_of_other_statistics_are_tables_of_their_own_and_cv_joins_the_mean():
    text = HEAD
    text += "Min       14        40.00 (   0.00%)       41.00 (   2.50%)\n"
    text += "Hmean     14        48.16 (   0.00%)       42.50 * -11.75%*\n"
    text += "CoeffVar  14         1.50 (   0.00%)        2.50 ( -66.67%)\n"
    results = tickless.read_comparison(text)
    assert list(results) == ["table-1.Min", "table-1"]
    assert results["table-1"].cv_pct.tolist() == [[1.5], [2.5]]
    assert results["table-1"].statistic == "Hmean"


def test_a_change_that_does_not_follow_from_its_values_is_noted():
    text = HEAD + "Amean     syscall-512   7606400.73 (   0.00%)   7790656.20 *   2.42%*\n"
    (note,) = one(text).notes
    assert "syscall-512" in note
    assert "does not follow" in note
    assert one(text.replace("  2.42", " -2.42")).notes == ()


def test_zero_with_zero_percent_is_a_missing_value():
    text = HEAD + "Hmean     14        48.16 (   0.00%)        0.00 *   0.00%*\n"
    table = one(text)
    assert np.isnan(table.center[1, 0])
    assert "missing value" in table.notes[0]


def test_a_value_that_touches_the_parameter_is_left_out_with_a_note():
    text = HEAD + "Hmean     dhry2reg-5126249312063.30 (   0.00%) 6249312000.10 (  -0.00%)\n" + ROWS
    table = one(text)
    assert table.cases == ("14", "100")
    assert any("touches the value" in n for n in table.notes)


def test_a_value_that_touches_the_cell_before_is_read():
    text = HEAD + "Hmean     dhry   6249312063.30 (   0.00%)6249312000.10 (  -0.00%)\n"
    assert one(text).center.tolist() == [[6249312063.30], [6249312000.10]]


def test_block_headed_tables():
    table = one(BLOCK)
    assert (table.benchmark, table.case_title, table.statistic) == ("hackbench", "Case:", "AMean")
    assert table.kernels == ("base", "eevdf")
    assert table.cases == ("1-groups", "16-groups")
    assert table.normalised
    assert table.center.tolist() == [[1.0, 1.0], [1.02, 0.74]]
    assert table.printed_pct.tolist() == [[0.0, 0.0], [-1.98, 26.35]]
    assert np.signbit(table.printed_pct[0]).all()
    assert table.cv_pct.tolist() == [[2.64, 3.31], [1.89, 12.22]]
    assert table.mark == ("", "^")
    assert [(m.better, m.mean) for m in table.case_info] == [("lower", "arithmetic")] * 2


def test_a_block_on_one_line_or_wrapped_by_mail_reads_like_the_original():
    want = one(BLOCK)
    head, rows = BLOCK.split("Case:")
    for text in (head + "Case:" + " ".join(rows.split()) + "\n", BLOCK.replace("]( ", "](\n ")):
        got = one(text)
        assert got.cases == want.cases
        assert got.mark == want.mark
        assert np.array_equal(got.cv_pct, want.cv_pct)


def test_a_row_with_a_missing_cell_is_padded_and_noted():
    text = BLOCK.replace("     1.02 [ -1.98]( 1.89)", "")
    table = one(text)
    assert np.isnan(table.center[1, 0])
    assert any("'1-groups' has 1 cells" in n for n in table.notes)


def test_several_blocks_are_several_tables():
    results = tickless.read_comparison(BLOCK + "\n\n" + BLOCK.replace("hackbench", "other"))
    assert [t.benchmark for t in results.values()] == ["hackbench", "other"]


@pytest.mark.parametrize(
    ("report", "name"), [("000", "teo-v5"), ("003", "teo-v8"), ("004", "eevdf-2023")]
)
def test_the_posts_own_text_gives_the_published_cells(report, name):
    path = shared_or_skip("published") / "text" / f"report{report}_tables.txt"
    tables = list(tickless.read_comparison(path).values())
    want = {
        k: t
        for k, t in tickless.published(name).items()
        if "summary" not in k and "neutral" not in k
    }
    assert len(tables) == len(want)
    for got, (key, table) in zip(tables, want.items(), strict=True):
        same = ("cases", "kernel_labels", "mark", "printed")
        assert [getattr(got, f) for f in same] == [getattr(table, f) for f in same], key
        for array in ("printed_pct", "cv_pct", "starred"):
            a, b = getattr(got, array), getattr(table, array)
            assert np.array_equal(a, b, equal_nan=a.dtype == float), (key, array)
        assert [m.better for m in got.case_info] == [m.better for m in table.case_info], key
    flagged = [n for t in tables for n in t.notes if "does not follow" in n]
    assert len(flagged) == (report == "004")


@pytest.mark.parametrize("name", ["teo-v5", "teo-v8", "eevdf-2023"])
def test_what_the_styles_print_reads_back(name):
    for key, table in tickless.published(name).items():
        style = table.case_info[0].style
        if style == "lmbench" or "neutral" in key or "summary" in key:
            continue
        options = {"era": "2018"} if style == "mmtests" else {}
        (got,) = tickless.read_comparison(table.compare().table(style, **options)).values()
        assert got.printed == table.printed, key
        assert got.kernel_labels == table.kernel_labels, key
        assert np.array_equal(got.printed_pct, table.printed_pct, equal_nan=True), key
        assert got.mark == table.mark, key


def test_a_posted_table_compares_like_any_result():
    c = one(HEAD + ROWS).compare("4.18.0-vanilla")
    assert c.improvement_pct[1].round(2).tolist() == [-11.75, 0.22]
    assert c.significant[1].tolist() == [True, False]
    assert np.isnan(c.p_value).all()


@pytest.mark.parametrize("data", [b"", b"\0\0", b"no table here\n", b"50% of users (10%)\n"])
def test_a_text_without_a_table_is_a_typed_error(data):
    with pytest.raises(tickless.InputError):
        tickless.read_comparison(data)


def test_sources_path_bytes_and_text_are_the_same(tmp_path):
    path = tmp_path / "mail"
    path.write_text(HEAD + ROWS)
    for source in (path, str(path), path.read_bytes(), path.open("rb"), HEAD + ROWS):
        check(next(iter(tickless.read_comparison(source).values())))


def test_names_with_markup_are_kept():
    head = "                             <b>a</b>              x&y<i>\n"
    assert one(head + ROWS).kernels == ("<b>a</b>", "x&y<i>")


def test_mutated_tables_never_crash():
    import random

    rng = random.Random(11)
    for i in range(1500):
        data = bytearray((BLOCK if i % 2 else HEAD + ROWS).encode())
        for _ in range(rng.randint(1, 8)):
            at = rng.randrange(len(data))
            if rng.random() < 0.4:
                del data[at : at + rng.randint(1, 30)]
                data = data or bytearray(b"x")
            else:
                data[at] = rng.choice(b"0123456789 ()[]%*^:\n=.-a\xff")
        try:
            tickless.read_comparison(bytes(data))
        except tickless.InputError:
            continue
