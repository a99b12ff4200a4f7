"""Each tool's output gives benchmark, parameters, unit, direction, values and samples."""

import contextlib
from pathlib import Path

import numpy as np
import pytest

import tickless
from conftest import shared_or_skip
from tickless.readers import READERS, detect, read_log
from tickless.validation.inputs_results import check

INPUTS = Path(__file__).parents[1] / "data/readers/inputs"
EXAMPLES = ("18-raw-hackbench", "19-raw-schbench-tbench", "20-mmtests-tree")


def series(text: str, **options: object) -> dict[tuple[str, str], list[float]]:
    reading = read_log(text.encode(), **options)
    return {(s.metric, s.case): s.values.tolist() for s in reading.series}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_inputs_have_their_expected_values(name):
    equal, total, differences = check(INPUTS / name)
    assert total > 10
    assert (equal, differences) == (total, [])


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_copied_examples_are_the_shared_ones(name):
    for path in (shared_or_skip("inputs") / name).rglob("*"):
        if path.is_file():
            mine = INPUTS / Path(*path.parts[path.parts.index(name) :])
            assert mine.read_bytes() == path.read_bytes()


def test_an_example_with_another_value_is_noticed(tmp_path):
    import shutil

    shutil.copytree(INPUTS / EXAMPLES[0], tmp_path / "x")
    log = tmp_path / "x" / "hackbench.txt"
    log.write_text(log.read_text().replace("0.618", "0.619"))
    equal, total, differences = check(tmp_path / "x")
    assert equal == total - 1
    assert "values.1: expected 0.618, found 0.619" in differences[0]


def test_hackbench_runs_of_several_group_counts_are_cases_of_their_own():
    text = ""
    for groups, time in ((1, 0.2), (4, 0.5), (1, 0.3)):
        text += f"Running in threaded mode with {groups} groups using 40 file descriptors each "
        text += f"(== {groups * 40} tasks)\nEach sender will pass 100 messages of 100 bytes\n"
        text += f"Time: {time}\n"
    res = tickless.read_benchmark(text.encode())
    assert res.cases == ("1", "4")
    assert np.array_equal(res["time"], [[[0.2, 0.3], [0.5, np.nan]]], equal_nan=True)
    assert res.attrs["parameters"] == {"mode": "thread", "messages": 100, "bytes": 100}
    assert (res.unit, res.metric_info["time"].better) == ("s", "lower")


def test_perf_bench_pipe_gives_microseconds_per_operation():
    text = """# Running 'sched/pipe' benchmark:
# Executed 1000000 pipe operations between two processes

     Total time: 4.867 [sec]

       4.866741 usecs/op
         205476 ops/sec
"""
    reading = read_log(text.encode())
    assert reading.benchmark == "perf-bench-sched-pipe"
    assert reading.primary == "usecs-op"
    assert reading.values("usecs-op").tolist() == [4.866741]
    assert reading.values("ops-sec").tolist() == [205476.0]
    assert reading.parameters["operations"] == 1000000


def test_old_schbench_prints_one_block_and_the_star_is_no_part_of_the_value():
    text = "Latency percentiles (usec)\n\t50.0000th: 9\n\t*99.0000th: 46\n\tmin=0, max=199\n"
    assert series(text) == {
        ("wakeup", "50.0000th"): [9.0],
        ("wakeup", "99.0000th"): [46.0],
        ("wakeup", "min"): [0.0],
        ("wakeup", "max"): [199.0],
    }


def test_new_schbench_keeps_earlier_blocks_as_samples_with_their_time():
    block = "Wakeup Latencies percentiles (usec) runtime {0} (s) (9 total samples)\n"
    block += "\t  50.0th: {1}          (100 samples)\n\t* 99.0th: {2}         (100 samples)\n"
    block += "\t  min=1, max=9999\n"
    text = block.format(10, 9, 49) + "current rps: 190.00\n" + block.format(20, 8, 39)
    reading = read_log(text.encode())
    assert reading.values("wakeup", "99.0th").tolist() == [39.0]
    sampled = reading.sampled("wakeup", "99.0th")
    assert (sampled.at.tolist(), sampled.values.tolist()) == ([10.0, 20.0], [49.0, 39.0])
    assert reading.sampled("current_rps").values.tolist() == [190.0]


def test_a_percentile_missing_from_the_last_block_does_not_survive_from_an_earlier_one():
    text = "Wakeup Latencies percentiles (usec) runtime 10 (s) (9 total samples)\n"
    text += "\t 50.0th: 9\n\t 99.9th: 70\n\tmin=1, max=2\n"
    text += "Wakeup Latencies percentiles (usec) runtime 20 (s) (9 total samples)\n"
    text += "\t 50.0th: 8\n\tmin=1, max=2\n"
    assert ("wakeup", "99.9th") not in series(text)


DBENCH = """dbench version 4.00 - Copyright Andrew Tridgell 1999-2004

Running for 2 seconds with load 'client.txt' and minimum warmup 1 secs
^^^^   8     33330  990.00 MB/sec  warmup   1 sec  latency 8.313 ms
   8     67069  1000.00 MB/sec  execute   1 sec  latency 1.190 ms
^^ 8    100652  1010.00 MB/sec  execute   2 sec  latency 0.986 ms
   0 completed in 39 ms at time 280 ms
   8  cleanup   3 sec

 Operation      Count    AvgLat    MaxLat
 ----------------------------------------
 NTCreateX      41270     0.198    18.900
 Close          30314     0.038     3.600

Throughput 1005.5 MB/sec  8 clients  8 procs  max_latency=1.190 ms
"""


def test_dbench_takes_summary_seconds_load_file_and_operations():
    reading = read_log(DBENCH.encode(), name="run/dbench.txt")
    assert reading.benchmark == "dbench"
    assert reading.values("throughput", "8").tolist() == [1005.5]
    assert reading.values("max_latency", "8").tolist() == [1.19]
    assert reading.values("loadfile").tolist() == [39.0]
    assert reading.values("op_latency", "Close").tolist() == [0.038]
    assert reading.values("op_count", "NTCreateX").tolist() == [41270.0]
    sampled = reading.sampled("throughput")
    assert (sampled.at.tolist(), sampled.values.tolist()) == ([1.0, 2.0], [1000.0, 1010.0])
    assert reading.parameters == {"warmup_samples": 1, "clients": 8}


def test_tbench_is_told_from_dbench_by_the_logs_name_only():
    assert read_log(DBENCH.encode(), name="tbench-8.log").benchmark == "tbench"
    assert read_log(DBENCH.encode()).benchmark == "dbench"


def test_the_summary_of_2003_has_its_figures_in_parentheses():
    text = "Throughput 114.633 MB/sec (NB=143.291 MB/sec  1146.33 MBit/sec)\n"
    assert series(text) == {("throughput", ""): [114.633]}


def test_an_interrupted_dbench_run_says_that_it_has_running_figures_only():
    rows = [r for r in DBENCH.split("\n")[:6] if "completed" not in r]
    res = tickless.read_benchmark("\n".join(rows).encode())
    assert res.primary == "throughput_samples"
    assert res["throughput_samples"].ravel().tolist() == [1000.0, 1010.0]
    assert any("running figures" in n for n in res.notes)


TCP = """MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to localhost () port 0
Recv   Send    Send                          
Socket Socket  Message  Elapsed              
Size   Size    Size     Time     Throughput  
bytes  bytes   bytes    secs.    10^6bits/sec  

 87380  16384  16384    10.00    {0}   
"""  # noqa: W291
RR = """MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to localhost
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate         
bytes  Bytes  bytes    bytes   secs.    per sec   

16384  87380  1        1       10.00    36549.24   
16384  87380 
"""  # noqa: W291
UDP = """MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0
Socket  Message  Elapsed      Messages                
Size    Size     Time         Okay Errors   Throughput
bytes   bytes    secs            #      #   10^6bits/sec

212992    1024   10.00      6530493      0   5349.78
212992           10.00      6530001          5349.02
"""  # noqa: W291
OMNI = """OMNI Send TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to localhost () port 0 AF_INET
Local       Remote      Local  Elapsed Throughput Throughput
Send Socket Recv Socket Send   Time               Units
Size        Size        Size   (sec)
Final       Final
2500800     4194304     16384  10.00   46.82      10^9bits/s
"""


def test_netperf_classic_tables():
    assert series(TCP.format(40157.23)) == {("throughput", "16384"): [40157.23]}
    reading = read_log(RR.encode())
    assert [(s.case, s.unit, s.values.tolist()) for s in reading.series] == [
        ("1/1", "transactions/s", [36549.24])
    ]
    reading = read_log(UDP.encode())
    assert reading.primary == "recv"
    assert series(UDP) == {("send", "1024"): [5349.78], ("recv", "1024"): [5349.02]}
    assert reading.parameters["test"] == "UDP_STREAM"


def test_netperf_omni_table_and_key_value_output_name_their_unit():
    (one,) = read_log(OMNI.encode()).series
    assert (one.unit, one.values.tolist()) == ("Gbit/s", [46.82])
    text = "PROTOCOL=TCP\nTHROUGHPUT=46823.24\nTHROUGHPUT_UNITS=10^6bits/s\n"
    (one,) = read_log(text.encode()).series
    assert (one.unit, one.values.tolist()) == ("Mbit/s", [46823.24])


def test_netperf_runs_one_after_another_are_repeats():
    text = TCP.format(100.0) + TCP.format(200.0)
    assert series(text) == {("throughput", "16384"): [100.0, 200.0]}


def test_netperf_streams_that_ran_together_are_summed_and_counted():
    head, row = TCP.format(100.0).split("\n\n")
    other = TCP.format(250.0).split("\n\n")[1]
    reading = read_log(f"{head}\n{head}\n\n{row}{other}".encode())
    assert reading.values("throughput", "16384").tolist() == [350.0]
    assert reading.parameters["streams"] == 2


def test_netperf_interim_results_are_samples():
    text = "Interim result: 9384.12 10^6bits/s over 1.000 seconds ending at 1374.2\n" * 2
    sampled = read_log((TCP.format(9000) + text).encode()).sampled("interim")
    assert (sampled.at.tolist(), sampled.values.tolist()) == ([1.0, 2.0], [9384.12, 9384.12])


LATENCY = """sockperf: == version #3.7-no.git ==
sockperf: [Valid Duration] RunTime=9.549 sec; SentMessages=502233; ReceivedMessages=502233
sockperf: \x1b[2;35m====> avg-latency=9.486 ({0})\x1b[0m
sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0
sockperf: Summary: Latency is 9.486 usec
sockperf: ---> <MAX> observation =  317.553
sockperf: ---> percentile 99.000 =   14.263
sockperf: ---> <MIN> observation =    4.400
"""


@pytest.mark.parametrize("inside", ["std-dev=2.330", "std-dev=2.330, mean-ad=0.9, cv=0.246"])
def test_sockperf_latency_with_a_short_or_long_list_of_deviations(inside):
    assert series(LATENCY.format(inside)) == {
        ("latency", ""): [9.486],
        ("latency_std_dev", ""): [2.33],
        ("percentile", "max"): [317.553],
        ("percentile", "99.000th"): [14.263],
        ("percentile", "min"): [4.4],
    }


def test_sockperf_throughput_is_the_figure_in_megabits():
    text = "sockperf: Summary: Message Rate is 423518 [msg/sec]\n"
    text += "sockperf: Summary: BandWidth is 42.352 MBps (338.815 Mbps)\n"
    reading = read_log(text.encode())
    assert (reading.primary, reading.series[0].better) == ("bandwidth", "higher")
    assert series(text) == {("bandwidth", ""): [338.815], ("message_rate", ""): [423518.0]}


def test_stream_best_rates_of_several_iterations():
    text = "Number of Threads counted = 16\nFunction    Best Rate MB/s  Avg time     Min\n"
    text += "Copy:   45076.4  0.011  0.010  0.012\nTriad:  35121.1  0.011  0.010  0.012\n"
    reading = read_log((text * 2).encode())
    assert reading.parameters == {"threads": 16}
    assert series(text * 2) == {
        ("rate", "Copy"): [45076.4] * 2,
        ("rate", "Triad"): [35121.1] * 2,
    }


UNIXBENCH = """BYTE UNIX Benchmarks (Version 5.1.3)
8 CPUs in system; running 1 parallel copy of tests

Dhrystone 2 using register variables       41407024.8 lps   (10.0 s, 7 samples)
File Copy 1024 bufsize 2000 maxblocks        645027.2 KBps  (30.0 s, 2 samples)
Odd One                                           1.0 furlongs  (30.0 s, 2 samples)

System Benchmarks Index Values               BASELINE       RESULT    INDEX
Dhrystone 2 using register variables         116700.0   41407024.8   3548.2
File Copy 1024 bufsize 2000 maxblocks          3960.0     645027.2   1628.9
System Benchmarks Index Score                                        2404.1
8 CPUs in system; running 8 parallel copies of tests
System Benchmarks Partial Index              BASELINE       RESULT    INDEX
System Call Overhead                          15000.0    7606400.7   5070.9
"""


def test_unixbench_results_units_index_and_copies():
    with pytest.warns(tickless.TicklessWarning, match="unknown-unit"):
        got = series(UNIXBENCH)
    assert got == {
        ("result", "dhry2reg-1"): [41407024.8],
        ("result_kbps", "fstime-1"): [645027.2],
        ("index", "dhry2reg-1"): [3548.2],
        ("index", "fstime-1"): [1628.9],
        ("score", "1"): [2404.1],
        ("result", "syscall-8"): [7606400.7],
        ("index", "syscall-8"): [5070.9],
    }


def test_unixbench_count_lines_have_their_unit():
    assert series("COUNT|2914501|1|lps\nCOUNT|2958852|1|lps\n") == {
        ("result", ""): [2914501.0, 2958852.0]
    }


LMBENCH = """cc -O -c lat_ctx.c
lat_ctx.c:12: warning: 3 4
[lmbench3.0 results for Linux]
Simple syscall: 0.0496 microseconds
Pipe latency: 3.4567 microseconds
UDP latency using localhost: 5.6 microseconds

"size=0k ovr=0.95
2 0.97
16 1.50

"size=16k ovr=1.23
2 1.10

"libc bcopy unaligned
0.000512 123.45

"Furlongs of something
1 2
"""


def test_lmbench_lines_and_blocks_with_noise_before():
    notes = read_log(LMBENCH.encode()).notes
    assert [(n.code, n.lines) for n in notes] == [("unknown-unit", (18,))]
    assert series(LMBENCH) == {
        ("latency", "Simple syscall"): [0.0496],
        ("latency", "Pipe"): [3.4567],
        ("latency", "UDP"): [5.6],
        ("ctxsw_overhead", "0K"): [0.95],
        ("ctxsw", "2p/0K"): [0.97],
        ("ctxsw", "16p/0K"): [1.5],
        ("ctxsw_overhead", "16K"): [1.23],
        ("ctxsw", "2p/16K"): [1.1],
        ("libc bcopy unaligned", "0.000512"): [123.45],
    }


YCSB = """2023-08-01 10:00:10:123 10 sec: 120000 operations; 12000.5 current ops/sec; [READ: ...]
2023-08-01 10:00:20:123 20 sec: 240000 operations; 11990 current ops/sec;
[OVERALL], RunTime(ms), 20001
[OVERALL], Throughput(ops/sec), 301757.33
[READ], Operations, 120000
[READ], AverageLatency(us), 456.7
[READ], 99thPercentileLatency(us), 1200
[READ], Return=OK, 120000
"""


def test_ycsb_throughput_latencies_and_status_lines():
    reading = read_log(YCSB.encode())
    assert series(YCSB) == {
        ("throughput", ""): [301757.33],
        ("operations", "READ"): [120000.0],
        ("AverageLatency_us", "READ"): [456.7],
        ("99thPercentileLatency_us", "READ"): [1200.0],
    }
    assert reading.sampled("throughput").values.tolist() == [12000.5, 11990.0]
    assert reading.parameters == {"runtime_ms": 20001.0}


PHORONIX = """\x1b[1;33mPhoronix Test Suite v10.8\x1b[0m
PHP Warning:  Undefined array key 3 in /usr/share/x.php on line 77

PostgreSQL pgbench 14.0:
    pts/pgbench-1.11.1 [Scaling Factor: 1 - Clients: 1 - Mode: Read Only]
    Test 1 of 2
        Started Run 1 @ 12:00:00

    Scaling Factor: 1 - Clients: 1 - Mode: Read Only:
        31234.567
        31300.1
        31250.2

    Average: 31261.6 TPS
    Deviation: 0.11%

    pts/build-linux-kernel-1.14.0 [Build: defconfig]
    Build: defconfig:
        55.1
        nan

    Average: 55.1 Seconds
    Deviation: 0.00%

    pts/odd-1.0.0
    Average: 12 Parsecs
"""


def test_phoronix_trials_have_the_unit_of_their_average():
    with pytest.warns(tickless.TicklessWarning):
        reading = read_log(PHORONIX.encode())
    got = {(s.unit, s.better, s.case): s.values.tolist() for s in reading.series}
    assert got == {
        ("transactions/s", "higher", "Scaling Factor: 1 - Clients: 1 - Mode: Read Only"): [
            31234.567,
            31300.1,
            31250.2,
        ],
        ("%", "lower", "Scaling Factor: 1 - Clients: 1 - Mode: Read Only"): [0.11],
        ("s", "lower", "Build: defconfig"): [55.1],
        ("%", "lower", "Build: defconfig"): [0.0],
    }
    assert {n.code for n in reading.notes} == {"not-finite", "unknown-unit"}


def test_gnu_time_rounds_minutes_as_printed():
    text = "591.71user 81.03system 2:56.67elapsed 1552%CPU (0avgtext+0avgdata 2maxresident)k\n"
    text += "1.0user 2.0system 1:00:00.5elapsed 89%CPU (0avgtext+0avgdata 30100maxresident)k\n"
    assert series(text) == {
        ("user", ""): [591.71, 1.0],
        ("system", ""): [81.03, 2.0],
        ("elapsed", ""): [176.67, 3600.5],
        ("cpu", ""): [1552.0, 89.0],
    }


@pytest.mark.parametrize(
    "rows",
    [
        "warmup 60530.578\nexecute 60151.440\n",
        "warmup 0.00 0.50 61636.115\nexecute 1.50 0.50 60151.440\n",
        "warmup  0.00  0.50  31616  63232.647\nexecute  1.00  0.50  32966  60151.440\n",
    ],
)
def test_phase_rows_of_three_ages_give_the_rate_of_the_measured_phase(rows):
    assert series(rows) == {("rate", ""): [60151.44]}


SAMPLES = {
    "hackbench": "Time: 0.5\n",
    "dbench and tbench": DBENCH,
    "netperf": TCP.format(1.0),
    "sockperf": LATENCY.format("std-dev=1"),
    "unixbench": UNIXBENCH,
    "lmbench": LMBENCH,
    "ycsb": YCSB,
    "phoronix": PHORONIX,
}


@pytest.mark.parametrize("name", SAMPLES)
def test_detection_finds_each_tool_whatever_noise_comes_first(name):
    noise = "+ make -j8\ncc1: warning: 12 things (3.5%)\n" * 500
    for text in (SAMPLES[name], noise + SAMPLES[name]):
        assert detect(text).name == name


def test_hostile_heads_do_not_hang_detection():
    # A pattern of quadratic cost would need 10**12 steps here.
    for filler in ("\n", " ", "a", "1 ", "(", "TEST ", "Time: ", '"', "\t\t"):
        head = filler * ((1 << 20) // len(filler))
        assert [r.name for r in READERS if r.signature.search(head)] == []


def test_hostile_lines_give_a_result_or_an_error():
    fillers = (" ", "a", "1", "1 ", "(", "a:", "TEST ", "  x", "1.5 ", "% ", ": ", "=1 ")
    data = "\n".join(f * (8000 // len(f)) for f in fillers).encode()
    for reader in READERS:
        with contextlib.suppress(tickless.InputError):
            read_log(data, tool=reader.name, errors="ignore")
