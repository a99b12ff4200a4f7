"""Which CPUs of a machine share a core, a cache, a socket."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tickless import _core
from tickless._arrays import freeze, integer
from tickless.errors import InvalidParameterError


class Topology:
    """The CPUs of a machine and what they share; frozen. Made by `tickless.Machine`.

    Attributes
    ----------
    core_of, llc_of, socket_of, node_of : ndarray of int64, (n_cpus,)
        Core, last-level cache, socket and memory node of each CPU, numbered from 0.
    capacity : ndarray of int64, (n_cpus,)
        Relative speed of each CPU, 1024 = fastest.
    ncpus, ncores, nllcs, nsockets, nnodes : int
        How many there are.

    Examples
    --------
    >>> import tickless
    >>> t = tickless.Machine("8x-SKYLAKE-UMA").topology
    >>> t.core_of.tolist(), t.distance(0, 4)
    ([0, 1, 2, 3, 0, 1, 2, 3], 'smt')
    """

    __slots__ = ("_machine", "capacity", "core_of", "llc_of", "node_of", "socket_of")

    _machine: _core.Machine
    core_of: NDArray[np.int64]
    llc_of: NDArray[np.int64]
    socket_of: NDArray[np.int64]
    node_of: NDArray[np.int64]
    capacity: NDArray[np.int64]

    def __init__(self, core: _core.Machine) -> None:
        object.__setattr__(self, "_machine", core)
        for name, column in core.places().items():
            object.__setattr__(self, name, freeze(column))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Topology is frozen; use Machine.replace")

    @property
    def ncpus(self) -> int:
        """Logical CPUs."""
        return len(self.core_of)

    @property
    def ncores(self) -> int:
        """Cores."""
        return int(self.core_of.max()) + 1

    @property
    def nllcs(self) -> int:
        """Last-level caches."""
        return int(self.llc_of.max()) + 1

    @property
    def nsockets(self) -> int:
        """Sockets."""
        return int(self.socket_of.max()) + 1

    @property
    def nnodes(self) -> int:
        """Memory nodes."""
        return int(self.node_of.max()) + 1

    def siblings(self, cpu: int) -> NDArray[np.intp]:
        """Return the other threads of the CPU's core, without the CPU itself.

        Parameters
        ----------
        cpu : int
            CPU number.

        Raises
        ------
        InvalidParameterError
            For a CPU the machine does not have.
        """
        if not 0 <= integer("cpu", cpu) < self.ncpus:
            raise InvalidParameterError(f"cpu: expected 0 to {self.ncpus - 1}, found {cpu}")
        others = self.core_of == self.core_of[cpu]
        others[cpu] = False
        return np.flatnonzero(others)

    def distance(self, a: int, b: int) -> str:
        """Return how far two CPUs are apart.

        Parameters
        ----------
        a, b : int
            CPU numbers.

        Returns
        -------
        {"same", "smt", "llc", "socket", "node"}
            The same CPU; another thread of the core; another core below the same last-level cache;
            another cache of the socket; another socket.

        Raises
        ------
        InvalidParameterError
            For a CPU the machine does not have.
        """
        for cpu in (a, b):
            if not 0 <= integer("cpu", cpu) < self.ncpus:
                raise InvalidParameterError(f"cpu: expected 0 to {self.ncpus - 1}, found {cpu}")
        return self._machine.distance(a, b)

    def __reduce__(self) -> Any:
        return _restore, (self._machine.text(),)

    def __repr__(self) -> str:
        return (
            f"{_count(self.nsockets, 'socket')}, {_count(self.nllcs, 'last-level cache')}, "
            f"{_count(self.ncores, 'core')}, {_count(self.ncpus, 'CPU')}, "
            f"{_count(self.nnodes, 'memory node')}"
        )


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _restore(text: str) -> Topology:
    return Topology(_core.Machine.from_text(text))
