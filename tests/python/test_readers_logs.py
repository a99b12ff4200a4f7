"""A log of any size, wrapping and damage gives lines, a note or a typed error."""

import gzip
import io
import lzma
import pickle
import tracemalloc

import pytest

import tickless
from tickless.readers import read_log
from tickless.readers.log import LONGEST_LINE, Log

HACKBENCH = b"Running in process mode with 4 groups using 40 file descriptors each (== 160 tasks)\n"
RUNS = HACKBENCH + b"Time: 0.541\n" + HACKBENCH + b"Time: 0.618\n"


def values(source: object, **options: object) -> list[float]:
    res = tickless.read_benchmark(source, **options)
    return res[res.primary].ravel().tolist()


@pytest.mark.parametrize("wrap", [bytes, gzip.compress, lzma.compress], ids=["plain", "gz", "xz"])
def test_wrappers_are_opened_by_their_first_bytes(tmp_path, wrap):
    path = tmp_path / "no-ending"
    path.write_bytes(wrap(RUNS))
    assert values(path) == values(io.BytesIO(wrap(RUNS))) == [0.541, 0.618]


def test_crlf_a_byte_order_mark_and_foreign_bytes_do_not_matter():
    text = b"\xef\xbb\xbf" + RUNS.replace(b"\n", b"\r\n") + b"caf\xe9 \xff\r\n"
    assert values(text) == [0.541, 0.618]


def test_a_pipe_that_cannot_seek_is_read():
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    assert values(Pipe(RUNS)) == [0.541, 0.618]


def test_a_value_in_an_unfinished_last_line_is_kept_and_named():
    res = tickless.read_benchmark(RUNS[:-2])
    assert res["time"].ravel().tolist() == [0.541, 0.61]
    assert res.attrs["log_notes"][0]["code"] == "cut-last-line"
    assert res.attrs["log_notes"][0]["lines"] == [4]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty"),
        (b"\n \n\n", "empty"),
        (b"\0" * 100, "binary"),
        (bytes(range(256)) * 8, "binary"),
        ("Time: 0.5\n".encode("utf-16"), "binary"),
        (b"\x28\xb5\x2f\xfd" + b"x" * 40, "zstd"),
        (b"BZh91AY" + b"x" * 40, "bzip2"),
        (b"dear list,\nno numbers here\n", "unknown-format"),
        (HACKBENCH, "no-values"),
        (HACKBENCH + b"Time: abc\n", "no-values"),
    ],
)
def test_what_is_no_readable_log_is_a_typed_error(data, code):
    with pytest.raises(tickless.InputError) as e:
        tickless.read_benchmark(data)
    assert e.value.code == code
    assert e.value.path == "<bytes>"
    assert pickle.loads(pickle.dumps(e.value)).code == code


def test_a_missing_file_and_a_directory_are_told_apart(tmp_path):
    with pytest.raises(FileNotFoundError):
        tickless.read_benchmark(tmp_path / "nothing")
    with pytest.raises(tickless.InputError, match="read_mmtests") as e:
        tickless.read_benchmark(tmp_path)
    assert e.value.code == "is-a-directory"


@pytest.mark.parametrize("bad", ["nan", "inf", "-inf", "1_000", "0x10", "٣", "1,5", "--"])
def test_a_number_that_is_none_is_left_out_alone(bad):
    data = HACKBENCH + f"Time: {bad}\nTime: 0.5\nTime: 0.6\n".encode() + b"Time: 0.7\n" * 20
    res = tickless.read_benchmark(data)
    assert res["time"].ravel().tolist() == [0.5, 0.6, *[0.7] * 20]
    (note,) = res.attrs["log_notes"]
    assert note["lines"] == [2]
    assert note["code"] in ("not-finite", "not-a-number")
    assert values(data, errors="ignore") == res["time"].ravel().tolist()
    with pytest.raises(tickless.InputError, match=r"line 2: .*Time: ") as e:
        tickless.read_benchmark(data, errors="strict")
    assert (e.value.line, e.value.code) == (2, note["code"])


def test_a_unit_that_is_not_known_loses_its_value_only():
    data = b"Total time: 0.5 [sec]\n" * 20 + b"Total time: 7 [fortnights]\n"
    res = tickless.read_benchmark(data)
    assert res["time"].size == 20
    assert [n["code"] for n in res.attrs["log_notes"]] == ["unknown-unit"]


def test_a_log_that_is_mostly_damaged_warns():
    with pytest.warns(tickless.TicklessWarning, match="not-finite"):
        tickless.read_benchmark(b"Time: 0.5\nTime: nan\n")


def test_the_first_twenty_line_numbers_are_kept():
    data = b"Time: 0.5\n" * 1000 + b"Time: nan\n" * 30
    note = tickless.read_benchmark(data).attrs["log_notes"][0]
    assert note["count"] == 30
    assert note["lines"] == list(range(1001, 1021))


def test_a_line_without_end_is_skipped_in_bounded_memory():
    class Endless(io.RawIOBase):
        left = 64

        def seekable(self):
            return True

        def seek(self, *_):
            self.left = 64
            return 0

        def read(self, n=-1):
            self.left -= 1
            return b"x" * (1 << 20) if self.left > 0 else b""

    log = Log(Endless(), name="endless")
    tracemalloc.start()
    lines = list(log)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert lines == [(1, "")]
    assert [n.code for n in log.notes] == ["long-line"]
    assert peak < 8 << 20


def test_a_long_line_hides_neither_its_neighbours_nor_their_numbers():
    data = b"Time: 0.5\n" + b"x" * (3 * LONGEST_LINE) + b"\nTime: nan\n" + b"Time: 0.5\n" * 30
    notes = {n["code"]: n["lines"] for n in tickless.read_benchmark(data).attrs["log_notes"]}
    assert notes == {"long-line": [2], "not-finite": [3]}


def test_a_large_log_streams(tmp_path):
    path = tmp_path / "big"
    noise = b"+ " + b"x" * 2000 + b"\n"
    path.write_bytes(RUNS + noise * 20_000 + b"Time: 0.7\n")
    tracemalloc.start()
    res = tickless.read_benchmark(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert res["time"].ravel().tolist() == [0.541, 0.618, 0.7]
    # A few blocks of 1 MiB as bytes and as text, not the 40 MB of the file.
    assert peak < 12 << 20


@pytest.mark.parametrize("cut", [40, 90])
def test_a_cut_archive_gives_what_was_before_the_cut_or_an_error(cut):
    data = gzip.compress(b"".join(b"Time: 0.%06d\n" % (i * 7919 % 999983) for i in range(50_000)))
    broken = data[: len(data) * cut // 100]
    res = tickless.read_benchmark(broken)
    codes = [n["code"] for n in res.attrs["log_notes"]]
    assert "truncated-archive" in codes
    read = res["time"].ravel().tolist()
    assert 0.3 * 50_000 < len(read) < 50_000
    assert read[:-1] == [(i * 7919 % 999983) / 1e6 for i in range(len(read) - 1)]
    with pytest.raises(tickless.InputError) as e:
        tickless.read_benchmark(broken, errors="strict")
    assert e.value.code == "truncated-archive"


def test_several_logs_are_repeats_and_other_tools_are_refused():
    res = tickless.read_benchmark([b"Time: 0.5\n", b"Time: 0.6\nTime: 0.7\n"], kernel="6.12")
    assert res.kernels == ("6.12",)
    assert res["time"].ravel().tolist() == [0.5, 0.6, 0.7]
    with pytest.raises(tickless.InputError) as e:
        tickless.read_benchmark([b"Time: 0.5\n", b"[OVERALL], Throughput(ops/sec), 5.0\n"])
    assert e.value.code == "mixed-benchmarks"
    with pytest.raises(tickless.InvalidParameterError, match="empty list"):
        tickless.read_benchmark([])


def test_arguments_are_checked():
    with pytest.raises(tickless.InvalidParameterError, match="errors="):
        tickless.read_benchmark(RUNS, errors="loud")
    with pytest.raises(tickless.UnknownNameError, match=r"known: .*hackbench"):
        tickless.read_benchmark(RUNS, tool="hackbenc")


def test_the_kernel_is_named_after_the_file(tmp_path):
    path = tmp_path / "6.12-teo.log.gz"
    path.write_bytes(gzip.compress(RUNS))
    assert tickless.read_benchmark(path).kernels == ("6.12-teo",)


def test_results_written_by_the_package_come_back_exactly(tmp_path):
    res = tickless.read_benchmark(RUNS, kernel='a, "b"\n<i>')
    for name in ("csv", "json"):
        path = tmp_path / f"r.{name}"
        getattr(res, f"to_{name}")(path)
        assert tickless.read_benchmark(path) == res
        path.write_text(path.read_text()[:-40])
        with pytest.raises(tickless.InputError):
            tickless.read_benchmark(path)


def test_mutated_logs_never_crash():
    import random

    rng = random.Random(5)
    seeds = [RUNS, b"Throughput 1005.5 MB/sec  4 clients  4 procs  max_latency=1.190 ms\n" * 3]
    seeds += [b"[OVERALL], Throughput(ops/sec), 5.0\n[READ], AverageLatency(us), 3\n"]
    seeds += [b"Latency percentiles (usec)\n\t50.0000th: 9\n\t*99.0000th: 46\n\tmin=0, max=199\n"]
    for i in range(3000):
        data = bytearray(seeds[i % len(seeds)])
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(data))
            if rng.random() < 0.3:
                del data[at : at + rng.randint(1, 20)]
                data = data or bytearray(b"x")
            else:
                data[at] = rng.randrange(256)
        try:
            read_log(bytes(data), errors="ignore")
        except tickless.InputError:
            continue
