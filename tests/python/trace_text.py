"""Trace text of any size for tests and benchmarks: the mixture of a busy machine."""

from __future__ import annotations

from pathlib import Path

LINES_PER_SECOND = 5 * 2_000
"""Idle entry, wakeup, idle exit, switch in, switch out: 2,000 times a second on 8 CPUs."""

SECOND = b"    12."
"""Stands for the seconds in the text of one second."""


def one_second() -> bytes:
    """Return the text of one second; every event is one that is read."""
    names = ["kworker/0:1", "rcu_preempt", "hackbench", "ksoftirqd/3", "tbench_srv", "bash"]
    lines = []
    for i in range(LINES_PER_SECOND // 5):
        cpu, pid, name = i % 8, 2 + i * 7919 % 60_000, names[i * 31 % len(names)]
        idle = f"          <idle>-0       [{cpu:03d}]"
        at = [f"{SECOND.decode()}{i * 500 + us:06d}" for us in (0, 300, 310, 315, 400)]
        lines += [
            f"{idle} d..1. {at[0]}: cpu_idle: state={i % 4} cpu_id={cpu}\n",
            f"{idle} d.h4. {at[1]}: sched_wakeup: comm={name} pid={pid} prio=120 "
            f"target_cpu={cpu:03d}\n",
            f"{idle} ...1. {at[2]}: cpu_idle: state=4294967295 cpu_id={cpu}\n",
            f"{idle} d..2. {at[3]}: sched_switch: prev_comm=swapper/{cpu} prev_pid=0 "
            f"prev_prio=120 prev_state=R ==> next_comm={name} next_pid={pid} next_prio=120\n",
            f"{name:>16}-{pid:<7d} [{cpu:03d}] d..2. {at[4]}: sched_switch: prev_comm={name} "
            f"prev_pid={pid} prev_prio=120 prev_state=S ==> next_comm=swapper/{cpu} next_pid=0 "
            "next_prio=120\n",
        ]
    return "".join(lines).encode()


def trace_text(seconds: int) -> bytes:
    """Return the text of some seconds, about 1.26 MB each, times increasing."""
    second = one_second()
    return b"".join(second.replace(SECOND, b"%6d." % s) for s in range(1, seconds + 1))


def write_trace(path: Path, megabytes: int) -> int:
    """Write a trace of about this size; return the number of its events."""
    second = one_second()
    seconds = max(1, megabytes * 10**6 // len(second))
    with path.open("wb") as f:
        for s in range(1, seconds + 1):
            f.write(second.replace(SECOND, b"%6d." % s))
    return seconds * LINES_PER_SECOND
