"""The hardware of a machine as the kernel tells it below ``/sys/devices/system``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tickless.errors import InputError
from tickless.machine import Machine

MOST_CPUS = 8192
"""Most CPUs an x86 kernel can be configured with."""

_MOST_BYTES = 65_536
_SIZES = {"": 1 / 1024, "K": 1, "M": 1024}


@dataclass
class _Hardware:
    """Columns by CPU; a group is named by its smallest CPU or by its own number."""

    core: list[int] = field(default_factory=list)
    llc: list[int] = field(default_factory=list)
    socket: list[int] = field(default_factory=list)
    node: list[int] = field(default_factory=list)
    capacity: list[int] = field(default_factory=list)
    mhz: list[int] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)


def with_hardware(machine: Machine, root: str, *, mwait: bool) -> Machine:
    """Return the machine with the topology, caches and clocks found below `root`.

    Parameters
    ----------
    machine : Machine
        Made from the idle tables of the same tree.
    root : str
        Where sysfs is mounted, or a copy of it.
    mwait : bool
        Whether halted CPUs watch the need-resched flag.

    Raises
    ------
    InputError
        For a file that holds something else than numbers of CPUs.

    Notes
    -----
    A CPU that has no topology (it is offline) is a core of its own beside CPU 0; the sources say
    so. A tree without any topology leaves the machine flat.
    """
    system = Path(root) / "devices" / "system"
    found = _hardware(system, machine.ncpus)
    if len(found.missing) == machine.ncpus:
        return machine
    first = system / "cpu" / "cpu0"
    caches = {level: kib for level, _, kib in _caches(first)}
    caches[1] = next(
        (kib for level, kind, kib in _caches(first) if (level, kind) == (1, "Data")), 0
    )
    clock = (
        max(found.mhz),
        _khz(first / "cpufreq" / "base_frequency"),
        _khz(first / "cpufreq" / "cpuinfo_min_freq"),
    )
    core = machine.core.with_hardware(
        found.core,
        found.llc,
        found.socket,
        found.node,
        _relative(found),
        clock,
        (caches[1], caches.get(2, 0), caches.get(3, 0)),
        mwait,
    )
    told = [s for s in machine.sources if not s.startswith("topology:")]
    told.append(f"topology, caches, clocks: {system}")
    if found.missing:
        listed = ", ".join(map(str, found.missing[:20]))
        told.append(f"topology: not told for CPUs {listed}; each taken as a core beside CPU 0")
    return machine._with(core.with_about(machine.summary, told))


def _hardware(system: Path, ncpus: int) -> _Hardware:
    nodes = _nodes(system / "node")
    found = _Hardware()
    for cpu in range(ncpus):
        folder = system / "cpu" / f"cpu{cpu}"
        socket = _number(folder / "topology" / "physical_package_id")
        threads = _cpus(folder / "topology" / "thread_siblings_list")
        if socket is None and threads is None:
            found.missing.append(cpu)
        found.socket.append(max(socket or 0, 0))  # -1: the firmware does not tell
        found.core.append(min(threads or [cpu]))
        found.llc.append(_last_cache(folder))
        found.node.append(nodes.get(cpu, 0))
        found.capacity.append(_number(folder / "cpu_capacity") or 0)
        found.mhz.append(_khz(folder / "cpufreq" / "cpuinfo_max_freq"))
    told = [cpu for cpu in range(ncpus) if cpu not in set(found.missing)]
    for cpu in found.missing:
        beside = told[0] if told else 0
        for column in (found.socket, found.llc, found.node):
            column[cpu] = column[beside]
    # Without caches the socket is the last level; its name must not meet that of a cache.
    found.llc = [
        llc if llc >= 0 else MOST_CPUS + found.socket[cpu] for cpu, llc in enumerate(found.llc)
    ]
    return found


def _last_cache(cpu: Path) -> int:
    """Return the smallest CPU that shares the last-level cache, -1 if there is none."""
    shared = [(level, cpus) for level, cpus, _ in _shared_caches(cpu) if cpus and level > 1]
    return min(max(shared)[1]) if shared else -1


def _indices(cpu: Path) -> list[Path]:
    return sorted((cpu / "cache").glob("index[0-9]"))


def _shared_caches(cpu: Path) -> list[tuple[int, list[int], str]]:
    return [
        (
            _number(index / "level") or 0,
            _cpus(index / "shared_cpu_list") or [],
            _text(index / "type") or "",
        )
        for index in _indices(cpu)
    ]


def _caches(cpu: Path) -> list[tuple[int, str, int]]:
    """Return level, type and size in KiB of each cache of a CPU."""
    return [
        (_number(index / "level") or 0, _text(index / "type") or "", _size(index / "size"))
        for index in _indices(cpu)
    ]


def _size(path: Path) -> int:
    match = re.fullmatch(r"([0-9]{1,8})([KM]?)", _text(path) or "0")
    if match is None:
        raise _error(path, "a size such as 256K")
    return int(int(match[1]) * _SIZES[match[2]])


def _relative(found: _Hardware) -> list[int]:
    """Return the capacities with 1024 for the fastest; empty if the kernel tells none."""
    most = max(found.capacity)
    if most == 0 or len(set(found.capacity)) == 1:
        return []
    scaled = np.rint(np.array(found.capacity) * (1024 / most)).astype(int)
    return [max(1, int(c)) if c else 1024 for c in scaled]


def _nodes(folder: Path) -> dict[int, int]:
    found: dict[int, int] = {}
    for path in sorted(folder.glob("node[0-9]*")):
        number = path.name.removeprefix("node")
        if number.isdecimal() and int(number) < MOST_CPUS:
            found.update(dict.fromkeys(_cpus(path / "cpulist") or [], int(number)))
    return found


def _khz(path: Path) -> int:
    """Return a clock in MHz, 0 if it is not told."""
    khz = _number(path) or 0
    if khz > 100_000_000:
        raise _error(path, "a clock in kHz")
    return round(max(khz, 0) / 1000)


def _number(path: Path) -> int | None:
    text = _text(path)
    if text is None or text == "":
        return None
    if not re.fullmatch(r"-?[0-9]{1,9}", text):
        raise _error(path, "a number")
    return int(text)


def _cpus(path: Path) -> list[int] | None:
    """Return the CPUs of a list such as ``0-3,8``."""
    text = _text(path)
    if text is None or text == "":
        return None
    cpus: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last or last >= MOST_CPUS:
            raise _error(path, "a list of CPUs such as 0-3,8")
        cpus.extend(range(first, last + 1))
    return cpus


def _text(path: Path) -> str | None:
    if not path.is_file():  # a pipe in a copied tree would block
        return None
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("ascii", "replace").strip()
    except OSError:
        return None  # sysfs refuses to read some files of an offline CPU


def _error(path: Path, expected: str) -> InputError:
    found = (_text(path) or "")[:40]
    return InputError(
        f"{path}: expected {expected}, found {found!r}", str(path), None, "bad-topology"
    )
