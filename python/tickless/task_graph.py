"""Task graphs: who sends to whom in a workload."""

from __future__ import annotations

from dataclasses import dataclass

_TO = {"sends": "to ", "answers": "to "}


@dataclass(frozen=True)
class Node:
    """A node of a task graph.

    Attributes
    ----------
    name : str
    kind : {"program", "device", "lock", "line", "barrier"}
    count : int
        Tasks at the start, requests served at a time, parties of a barrier, locks of one name.
    """

    name: str
    kind: str
    count: int


@dataclass(frozen=True)
class Edge:
    """An edge of a task graph.

    Attributes
    ----------
    source, target : int
        Indices of nodes.
    verb : {"sends", "asks", "answers", "releases", "forks", "uses"}
    count : int
        Channels that it goes through; 1 for forks and uses.
    """

    source: int
    target: int
    verb: str
    count: int


@dataclass(frozen=True, repr=False)
class TaskGraph:
    """Who sends to whom in one case of a workload; printing shows it as text.

    Attributes
    ----------
    nodes : tuple of Node
        Programs first.
    edges : tuple of Edge
    text : str
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def edges_of(self, node: int) -> list[str]:
        """Return the edges that begin at a node as words: ``"sends to server"``.

        Parameters
        ----------
        node : int
            Index of the node.
        """
        own = (e for e in self.edges if e.source == node)
        return [f"{e.verb} {_TO.get(e.verb, '')}{self.nodes[e.target].name}" for e in own]
