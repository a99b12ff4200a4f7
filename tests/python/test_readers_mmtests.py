"""MMTests directories of three eras give the reference tool's samples in its order."""

import csv
import gzip
import lzma
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest

import tickless
from conftest import shared_or_skip
from tickless.readers.mmtests.layout import natural

DATA = Path(__file__).parents[1] / "data/readers"
TREES = sorted(p.name for p in (DATA / "mmtests").iterdir())
FULL = ("2018", "2023", "head")


def unpack(folder: Path, target: Path) -> Path:
    with tarfile.open(folder / "input.tar.xz") as tar:
        tar.extractall(target, filter="data")
    return target / "input"


def expected(folder: Path) -> dict[tuple[str, str, str], list[float]]:
    """Return the samples the reference tool extracted: by benchmark, kernel and operation."""
    packed = folder / "values.csv.xz"
    plain = folder / "values.csv"
    text = (
        lzma.decompress(packed.read_bytes()) if packed.exists() else plain.read_bytes()
    ).decode()
    out: dict[tuple[str, str, str], list[float]] = {}
    for row in csv.DictReader(text.splitlines()):
        key = (row["benchmark"], row["kernel"], row["operation"])
        out.setdefault(key, []).append(float(row["value"]))
    return out


def found(directory: Path, era: str) -> dict[tuple[str, str, str], list[float]]:
    out = {}
    for res in tickless.read_mmtests(directory).values():
        assert res.attrs["mmtests_era"] == era
        for i, kernel in enumerate(res.kernels):
            for j, case in enumerate(res.cases):
                values = res[res.primary][i, j]
                values = values[~np.isnan(values)].tolist()
                # The extraction of the reference names stream's rows as the log does, in MB/s,
                # and leaves the share of a CPU out.
                if res.benchmark == "stream" and era != "head":
                    case = case.split("-")[0].capitalize()
                    factor = 1024 if era == "2023" else 1
                    values = [round(v * factor, 6) for v in values]
                if values and case != "CPU":
                    out[res.benchmark, kernel, case] = values
    return out


@pytest.mark.parametrize("name", TREES)
def test_samples_and_their_order_are_the_tools(name, tmp_path):
    want = expected(DATA / "mmtests" / name)
    got = found(unpack(DATA / "mmtests" / name, tmp_path), name.removeprefix("edge-").split("-")[0])
    assert len(want) > 4
    assert got.keys() == want.keys()
    assert {k: v for k, v in got.items() if v != want[k]} == {}


@pytest.mark.full
@pytest.mark.parametrize("name", FULL)
def test_samples_of_the_full_trees(name, tmp_path):
    folder = shared_or_skip("mmtests") / name
    assert found(unpack(folder, tmp_path), name) == expected(folder)


def logs(root: Path, kernel: str, iteration: int, bench: str = "hackbench-process-pipes") -> Path:
    path = root / kernel / f"iter-{iteration}" / bench / "logs"
    path.mkdir(parents=True)
    return path


def tree(root: Path, kernels: dict[str, list[dict[str, str]]]) -> Path:
    """Write a hackbench tree: kernel to iterations to file name to text."""
    for kernel, iterations in kernels.items():
        for n, files in enumerate(iterations):
            folder = logs(root, kernel, n)
            for name, text in files.items():
                (folder / name).write_text(text)
    return root


def times(*values: float) -> str:
    return "".join(f"Total time: {v} [sec]\n" for v in values)


def test_a_missing_iteration_and_unequal_counts_are_notes_and_blanks(tmp_path):
    one = {"hackbench-1": times(1.0, 1.1), "hackbench-4": times(2.0)}
    tree(tmp_path, {"a-1": [one, one], "b-1": [{"hackbench-1": times(1.2)}]})
    (res,) = tickless.read_mmtests(tmp_path).values()
    assert res.cases == ("time-1", "time-4")
    nan = np.nan
    want = [[[1.0, 1.1, 1.0, 1.1], [2.0, 2.0, nan, nan]], [[1.2, nan, nan, nan], [nan] * 4]]
    assert np.array_equal(res["time"], want, equal_nan=True)
    assert res.attrs["warnings"] == [
        {"code": "missing-iteration", "key": "iter-1", "kernel": "b-1"},
        {"code": "unequal-counts", "key": "time-1", "a-1": 4, "b-1": 1},
        {"code": "missing-case", "key": "time-4", "a-1": 2, "b-1": 0},
    ]
    assert "missing-iteration: b-1 has no iter-1" in res.notes
    assert "unequal-counts: time-1: samples of a-1 4, b-1 1" in res.notes


def test_a_kernel_without_the_benchmark_is_a_note_and_a_blank(tmp_path):
    tree(tmp_path, {"a-1": [{"hackbench-1": times(1.0)}], "b-1": []})
    logs(tmp_path, "b-1", 0, "schbench").joinpath("schbench-1.log").write_text(
        "Latency percentiles (usec)\n\t50.0000th: 9\n\tmin=0, max=1\n"
    )
    results = tickless.read_mmtests(tmp_path)
    assert list(results) == ["hackbench-process-pipes", "schbench"]
    assert (
        "missing-kernel: b-1 has no run of this benchmark"
        in results["hackbench-process-pipes"].notes
    )
    assert results["schbench"].attrs["mmtests_era"] == "2023"


def test_iterations_and_repeats_are_pooled_in_numeric_order(tmp_path):
    for iteration in (10, 2, 0):
        folder = logs(tmp_path, "k-1", iteration)
        for repeat in (10, 9, 1):
            (folder / f"hackbench-4-{repeat}").write_text(times(iteration + repeat / 100))
    (res,) = tickless.read_mmtests(tmp_path).values()
    want = [i + r / 100 for i in (0, 2, 10) for r in (1, 9, 10)]
    assert res["time"].ravel().tolist() == want


def test_cases_are_ordered_by_number_not_by_text(tmp_path):
    files = {f"hackbench-{g}": times(1.0) for g in (128, 4, 30, 1)}
    (res,) = tickless.read_mmtests(tree(tmp_path, {"k": [files]})).values()
    assert res.cases == ("time-1", "time-4", "time-30", "time-128")


def test_logs_may_be_compressed(tmp_path):
    folder = logs(tmp_path, "k-1", 0)
    (folder / "hackbench-1.gz").write_bytes(gzip.compress(times(1.0).encode()))
    (folder / "hackbench-4.xz").write_bytes(lzma.compress(times(2.0).encode()))
    (res,) = tickless.read_mmtests(tmp_path).values()
    assert res["time"].ravel().tolist() == [1.0, 2.0]


def test_a_tree_without_the_benchmark_level_is_read(tmp_path):
    folder = tmp_path / "k-1" / "iter-0" / "logs"
    folder.mkdir(parents=True)
    (folder / "hackbench-4").write_text(times(2.0))
    (res,) = tickless.read_mmtests(tmp_path).values()
    assert res.benchmark.startswith("hackbench")
    assert res["time"].ravel().tolist() == [2.0]


def test_the_tab_separated_extraction_is_read_where_there_are_no_logs(tmp_path):
    folder = logs(tmp_path, "k-1", 0)
    rows = ["metric\tfactorA\tfactorB\tinterval\tvalue\textra"]
    rows += ["time\t1\t_\t1\t0.30\t", "time\t4\t_\t1\t0.80\t", "time\t4\t_\t2\t0.82\t"]
    (folder / "extract.tsv").write_text("\n".join(rows) + "\n")
    (res,) = tickless.read_mmtests(tmp_path).values()
    assert res.cases == ("time-1", "time-4")
    assert np.array_equal(res["time"][0], [[0.3, np.nan], [0.8, 0.82]], equal_nan=True)


def test_2018_folders_are_split_by_the_longest_known_benchmark(tmp_path):
    for kernel in ("4.18.0-teo-v2+backport", "syscall-kernel"):
        path = tmp_path / f"unixbench-syscall-{kernel}" / "noprofile"
        path.mkdir(parents=True)
        text = "System Benchmarks Partial Index  BASELINE  RESULT  INDEX\n"
        text += "System Call Overhead    15000.0 2915908.0  1943.9\n"
        (path / "syscall-1-1.log").write_text(text)
    (res,) = tickless.read_mmtests(tmp_path).values()
    assert res.benchmark == "unixbench-syscall"
    assert res.kernels == ("4.18.0-teo-v2+backport", "syscall-kernel")
    assert res.metric_info[res.primary].better == "lower"


def test_kernels_given_that_disagree_with_the_known_benchmark_are_an_error(tmp_path):
    (tmp_path / "hackbench-process-pipes-x-1" / "noprofile").mkdir(parents=True)
    with pytest.raises(tickless.InputError, match="correct kernels=") as e:
        tickless.read_mmtests(tmp_path, kernels=["1"])
    assert e.value.code == "ambiguous-folder"


def test_an_unknown_benchmark_is_named_and_left_out(tmp_path):
    tree(tmp_path, {"k-1": [{"hackbench-1": times(1.0)}]})
    logs(tmp_path, "k-1", 1, "frobnicate").joinpath("x").write_text("1\n")
    results = tickless.read_mmtests(tmp_path)
    assert list(results) == ["hackbench-process-pipes"]
    assert results.notes == ("unknown-benchmark: frobnicate has no reader; left out",)


def test_kernels_and_benchmarks_can_be_chosen(tmp_path):
    one = {"hackbench-1": times(1.0)}
    tree(tmp_path, {"b-1": [one], "a-1": [one], "c-1": [one]})
    (res,) = tickless.read_mmtests(tmp_path, kernels=["c-1", "a-1"]).values()
    assert res.kernels == ("c-1", "a-1")
    with pytest.raises(tickless.InvalidParameterError, match="it has a-1, b-1, c-1"):
        tickless.read_mmtests(tmp_path, kernels=["d"])
    with pytest.raises(tickless.UnknownNameError, match="'schbench'; nearest: hackbench"):
        tickless.read_mmtests(tmp_path, benchmarks=["schbench"])


@pytest.mark.parametrize("name", ["mainline", "x<b>&amp;", "ø ü", "6.12 | rm -rf", "-", "a_b"])
def test_kernel_names_without_dash_and_with_markup_stay_as_they_are(name, tmp_path):
    (res,) = tickless.read_mmtests(tree(tmp_path, {name: [{"hackbench-1": times(1.0)}]})).values()
    assert res.kernels == (name,)


def test_damaged_logs_are_noted_and_the_rest_is_read(tmp_path):
    folder = logs(tmp_path, "k-1", 0)
    (folder / "hackbench-1").write_text(times(1.0) + "Total time: nan [sec]\n")
    (folder / "hackbench-4").write_bytes(b"")
    (folder / "hackbench-7").write_bytes(b"\0\xff" * 50)
    (folder / "hackbench-12.gz").write_bytes(gzip.compress(times(2.0).encode())[:-9])
    (res,) = tickless.read_mmtests(tmp_path).values()
    said = "\n".join(res.notes)
    assert res["time"][0, 0].tolist()[:1] == [1.0]
    for word in ("hackbench-1, line 2", "hackbench-4", "hackbench-7", "hackbench-12.gz"):
        assert word in said
    with pytest.raises(tickless.InputError):
        tickless.read_mmtests(tmp_path, errors="strict")
    (res,) = tickless.read_mmtests(tmp_path, errors="ignore").values()
    assert "hackbench-4" not in "\n".join(res.notes)


def test_a_log_of_another_benchmark_under_this_ones_name_is_noted(tmp_path):
    folder = logs(tmp_path, "k-1", 0)
    (folder / "hackbench-1").write_text(times(1.0))
    (folder / "hackbench-4").write_text("[OVERALL], Throughput(ops/sec), 5.0\n")
    (res,) = tickless.read_mmtests(tmp_path).values()
    assert res.cases == ("time-1",)
    assert any("output of ycsb among the logs of hackbench" in n for n in res.notes)
    with pytest.raises(tickless.InputError) as e:
        tickless.read_mmtests(tmp_path, errors="strict")
    assert e.value.code == "mixed-benchmarks"


def test_directories_that_are_no_result_directory_say_what_one_is(tmp_path):
    with pytest.raises(tickless.InputError, match="BENCH-KERNEL/noprofile") as e:
        tickless.read_mmtests(tmp_path)
    assert e.value.code == "not-mmtests"
    tree(tmp_path / "input", {"k-1": [{"hackbench-1": times(1.0)}]})
    with pytest.raises(tickless.InputError, match=r"did you mean .*input\?"):
        tickless.read_mmtests(tmp_path)
    with pytest.raises(tickless.InputError) as e:
        tickless.read_mmtests(tmp_path / "input" / "k-1" / "iter-0" / "hackbench-process-pipes")
    assert e.value.code == "not-mmtests"
    with pytest.raises(tickless.InputError) as e:
        tickless.read_mmtests(tmp_path / "nowhere")
    assert e.value.code == "not-a-directory"
    (tmp_path / "file").write_text("x")
    with pytest.raises(tickless.InputError):
        tickless.read_mmtests(tmp_path / "file")


def test_the_run_of_one_kernel_is_a_tree_of_one(tmp_path):
    tree(tmp_path, {"k-1": [{"hackbench-1": times(1.0)}]})
    (res,) = tickless.read_mmtests(tmp_path / "k-1").values()
    assert res.kernels == ("k-1",)


def test_layouts_of_two_eras_side_by_side_are_refused(tmp_path):
    tree(tmp_path, {"k-1": [{"hackbench-1": times(1.0)}]})
    (tmp_path / "stream-k-2" / "noprofile").mkdir(parents=True)
    with pytest.raises(tickless.InputError, match="two layouts") as e:
        tickless.read_mmtests(tmp_path)
    assert e.value.code == "mixed-layouts"


def test_a_tree_whose_logs_are_all_damaged_is_an_error(tmp_path):
    tree(tmp_path, {"k-1": [{"hackbench-1": "killed\n"}]})
    with pytest.raises(tickless.InputError, match="no-values") as e:
        tickless.read_mmtests(tmp_path)
    assert e.value.code == "no-benchmark"


def test_sub_headings_have_their_own_unit_direction_and_decimals(tmp_path):
    results = tickless.read_mmtests(unpack(DATA / "mmtests" / "head", tmp_path))
    info = {k: r.metric_info[r.primary] for k, r in results.items() if k.startswith("tbench")}
    assert {k: (m.unit, m.better, m.decimals) for k, m in info.items()} == {
        "tbench.loadfile": ("ms", "lower", 4),
        "tbench.tput": ("MB/sec", "higher", 4),
        "tbench.op": ("ms", "lower", 4),
    }
    assert results["tbench.op"].cases[:3] == ("op-Close-1", "op-Close-2", "op-Close-4")
    assert results["schbench.RPS"].cases[:2] == ("RPS-20.0th-1", "RPS-50.0th-1")


@pytest.mark.parametrize("era", ["2018", "2023", "head"])
def test_rows_come_in_the_order_the_tool_prints(era, tmp_path):
    # Read from the reference outputs of each era.
    want = {
        "2018": ("kernbench", ("user-2", "user-4", "user-8", "user-16", "syst-2")),
        "2023": ("kernbench", ("user-2", "syst-2", "elsp-2", "user-4", "syst-4")),
        "head": ("kernbench", ("Elapsed-2", "Elapsed-4", "Elapsed-8", "Elapsed-16", "System-2")),
    }[era]
    results = tickless.read_mmtests(unpack(DATA / "mmtests" / era, tmp_path))
    assert results[want[0]].cases[:5] == want[1]
    if era == "head":
        first = ("udpstream-send-64", "udpstream-recv-64", "udpstream-send-128")
        assert results["netperf-ipv4-udp"].cases[:3] == first
    else:
        assert results["netperf-udp"].cases[:2] == ("send-64", "send-128")
        assert results["netperf-udp"].cases[9:11] == ("recv-64", "recv-128")
        assert results["gitsource"].cases == ("User", "System", "Elapsed", "CPU")


def test_names_sort_by_their_numbers():
    names = ["6.12-teo", "6.2-teo", "6.12-rc10", "6.12-rc2", "base"]
    assert sorted(names, key=natural) == ["6.2-teo", "6.12-rc2", "6.12-rc10", "6.12-teo", "base"]


def test_random_damage_to_a_tree_never_crashes(tmp_path):
    import random

    rng = random.Random(3)
    base = unpack(DATA / "mmtests" / "edge-head-pair", tmp_path / "base")
    for i in range(12):
        copy = tmp_path / str(i)
        shutil.copytree(base, copy)
        files = [p for p in copy.rglob("*") if p.is_file()]
        for path in rng.sample(files, 20):
            data = path.read_bytes()
            cut = data[: rng.randrange(len(data))]
            path.write_bytes(rng.choice([b"", cut, rng.randbytes(200), data * 2]))
        try:
            results = tickless.read_mmtests(copy)
        except tickless.InputError:
            continue
        assert all(np.isfinite(r[r.primary]).any() for r in results.values())
