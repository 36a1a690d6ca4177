"""The operators that share a task. Flink: ``StreamingJobGraphGenerator.setChaining`` and ``createChain``.

The walk is Flink's, on a list of frames instead of the call stack.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from compat.compiler.streamgraph.chainable import is_chainable, is_chainable_input
from compat.compiler.streamgraph.graph import StreamEdge, StreamGraph, Task
from compat.compiler.transformations.operators import ChainingStrategy

HEAD_INDEX = 1
CHAINED_SOURCE_INDEX = 0


@dataclass(slots=True)
class Chain:
    """A chain in the making. ``nodes`` are in the order in which they were finished, the head last.

    ``index`` is each node's place, ``outputs`` the edges from a node to the next ones of the chain and ``leaving`` the
    edges to other chains, in Flink's order. ``sources`` are the sources that run inside the head.
    """

    head: int
    nodes: list[int] = field(default_factory=list)
    index: dict[int, int] = field(default_factory=dict)
    outputs: dict[int, list[StreamEdge]] = field(default_factory=dict)
    leaving: list[StreamEdge] = field(default_factory=list)
    sources: list[StreamEdge] = field(default_factory=list)


@dataclass(slots=True)
class _Frame:
    node: int
    chain: Chain
    steps: list[tuple[StreamEdge, bool]]


def build_chains(graph: StreamGraph) -> list[Chain]:
    """The chains of a job, in the order in which Flink makes their vertices: a chain after all those below it."""
    entries = _entry_points(graph)
    built: dict[int, Chain] = {}
    for head in sorted(entries):
        _build_from(entries[head], graph, entries, built)
    return list(built.values())


def _entry_points(graph: StreamGraph) -> dict[int, Chain]:
    """The chains that start at a source; a source that runs inside its only reader makes the reader the head."""
    entries: dict[int, Chain] = {}
    for source in graph.sources:
        edges = graph.edges_out[source]
        if graph.nodes[source].task is Task.SOURCE and len(edges) == 1:
            target = graph.nodes[edges[0].target]
            if target.chaining is ChainingStrategy.HEAD_WITH_SOURCES and is_chainable_input(edges[0], graph):
                entries.setdefault(target.id, Chain(target.id)).sources.append(edges[0])
                continue
        entries.setdefault(source, Chain(source))
    return entries


def _build_from(chain: Chain, graph: StreamGraph, entries: dict[int, Chain], built: dict[int, Chain]) -> None:
    frames = [_open(chain.head, chain, HEAD_INDEX, graph)] if chain.head not in built else []
    while frames:
        frame = frames[-1]
        if frame.steps:
            edge, chained = frame.steps.pop()
            if chained:
                index = frame.chain.index[frame.node] + 1
                frames.append(_open(edge.target, frame.chain, index, graph))
                continue
            frame.chain.leaving.append(edge)
            if edge.target not in built:
                below = entries.setdefault(edge.target, Chain(edge.target))
                frames.append(_open(edge.target, below, HEAD_INDEX, graph))
            continue
        frames.pop()
        frame.chain.nodes.append(frame.node)
        if frame.node == frame.chain.head:
            built[frame.node] = frame.chain


def _open(node: int, chain: Chain, index: int, graph: StreamGraph) -> _Frame:
    """A frame for a node, its steps in reverse: chained outputs come first, then the others."""
    chained: list[StreamEdge] = []
    others: list[StreamEdge] = []
    for edge in graph.edges_out[node]:
        (chained if is_chainable(edge, graph) else others).append(edge)
    chain.index[node] = index
    chain.outputs[node] = chained
    steps = [(edge, True) for edge in chained] + [(edge, False) for edge in others]
    return _Frame(node, chain, steps[::-1])


def nodes_that_block(chain: Chain, graph: StreamGraph) -> set[int]:
    """The nodes of a chain that give output only at the end of the input.

    A node does when an operator before it in the chain, itself, or one chained after it emits only at the end.
    """
    own = {
        node for node in chain.nodes if (operator := graph.nodes[node].operator) is not None and operator.output_at_end
    }
    if not own:
        return own
    blocking = set(own)
    for node in chain.nodes:  # children come before their parents
        if any(edge.target in blocking for edge in chain.outputs[node]):
            blocking.add(node)
    after = set(own)
    for node in reversed(chain.nodes):
        if node in after:
            after.update(edge.target for edge in chain.outputs[node])
    return blocking | after


def chain_of_nodes(chains: list[Chain]) -> Mapping[int, Chain]:
    """The chain of each node; sources inside a head are in the head's."""
    found: dict[int, Chain] = {}
    for chain in chains:
        for node in chain.nodes:
            found[node] = chain
        for edge in chain.sources:
            found[edge.source] = chain
    return found
