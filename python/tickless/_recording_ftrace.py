"""Recordings of simulated runs as ftrace text."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from tickless._files import written
from tickless.recording import (
    IDLE_ENTER,
    IDLE_TASK,
    SWITCH,
    TICK,
    TICK_STOP,
    TOLD,
    WAKEUP,
    WAKING,
    Recording,
)

FIRST_PID = 1000
"""Process number of task 0; small ones belong to the kernel."""
COMM = 15
"""Longest task name of the kernel."""
PRIORITY = 120
"""Priority of nice 0."""
EXIT = 4_294_967_295
"""What `cpu_idle` prints when a state is left (Linux ``PWR_EVENT_EXIT``)."""

CHOICES = {
    "menu": "menu_select",
    "teo": "teo_select",
    "ladder": "ladder_select_state",
    "haltpoll": "haltpoll_select",
}
"""The function whose return value is a governor's choice, by the first word of its name."""

HEADER = """\
# tracer: nop
#
# entries-in-buffer/entries-written: {kept}/{all}   #P:{cpus}
#
#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
"""


def write(r: Recording, path: str | os.PathLike[str]) -> None:
    """Write `r` to `path`, whole or not at all; see `Recording.to_ftrace`."""
    choice = CHOICES.get(r.governor.partition("-")[0])
    kept = len(r) + (int((r.kind == IDLE_ENTER).sum()) if choice else 0)
    cpus = max(r.ncpus, int(r.cpu.max()) + 1 if len(r) else 1)
    with written(path) as f:
        f.write(HEADER.format(kept=kept, all=kept + r.lost, cpus=cpus))
        f.writelines(f"{line}\n" for line in _lines(r, choice))


def _lines(r: Recording, choice: str | None) -> Iterator[str]:
    current: dict[int, int] = {}
    names = _Names(r)
    columns = (r.t_ns, r.kind, r.cpu, r.a, r.b, r.asleep())
    for t, kind, cpu, a, b, sleeps in zip(*(c.tolist() for c in columns), strict=True):
        if kind == SWITCH:
            current.setdefault(cpu, a)
        who = current.get(cpu, int(IDLE_TASK))
        flags = "d..2." if kind == SWITCH else "d..1." if who == IDLE_TASK else "d.s5."
        shown = "<idle>" if who == IDLE_TASK else names.comm(who, cpu)
        stamp = f"{t // 10**9:5d}.{t % 10**9:09d}"
        head = f"{shown:>16}-{names.pid(who):<7} [{cpu:03d}] {flags} {stamp}: "
        if kind == SWITCH:
            current[cpu] = b
            yield head + names.switch(cpu, a, b, sleeps)
        elif kind in (WAKING, WAKEUP):
            word = "sched_waking" if kind == WAKING else "sched_wakeup"
            target = b if kind == WAKEUP else cpu
            yield f"{head}{word}: {names.task(a, cpu)} target_cpu={target:03d}"
        elif kind == TOLD:
            told = int(np.int64(a | b << 32))
            yield f"{head}slen: ({choice or 'select'} <- tick_nohz_get_sleep_length) ret={told}"
        elif kind == TICK_STOP:
            yield f"{head}tick_stop: success=1 dependency=NONE"
        elif kind == TICK:
            yield (
                f"{head}hrtimer_expire_entry: hrtimer=(____ptrval____) "
                f"function=tick_nohz_handler now={t}"
            )
        elif kind == IDLE_ENTER:
            if choice:
                yield f"{head}{choice}: (do_idle <- {choice}) ret={a}"
            yield f"{head}cpu_idle: state={a} cpu_id={cpu}"
        else:
            yield f"{head}cpu_idle: state={EXIT} cpu_id={cpu}"


class _Names:
    """How the kernel would print the tasks."""

    def __init__(self, r: Recording) -> None:
        self.names = [r.task_name(i)[:COMM] for i in range(len(r.tasks))]
        self.nices = r.nices

    def comm(self, task: int, cpu: int) -> str:
        if task == IDLE_TASK:
            return f"swapper/{cpu}"
        return self.names[task] if task < len(self.names) else f"child-{task}"[:COMM]

    @staticmethod
    def pid(task: int) -> int:
        return 0 if task == IDLE_TASK else FIRST_PID + task

    def priority(self, task: int) -> int:
        return PRIORITY + (self.nices[task] if task < len(self.nices) else 0)

    def task(self, task: int, cpu: int) -> str:
        return f"comm={self.comm(task, cpu)} pid={self.pid(task)} prio={self.priority(task)}"

    def switch(self, cpu: int, prev: int, nxt: int, sleeps: bool) -> str:
        state = "S" if sleeps else "R"
        return (
            f"sched_switch: prev_comm={self.comm(prev, cpu)} prev_pid={self.pid(prev)} "
            f"prev_prio={self.priority(prev)} prev_state={state} ==> "
            f"next_comm={self.comm(nxt, cpu)} next_pid={self.pid(nxt)} "
            f"next_prio={self.priority(nxt)}"
        )
