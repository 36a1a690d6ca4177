"""The parallelism of vertices in a dynamic graph. Flink: ``ForwardGroupComputeUtil`` and what uses it.

In batch mode the scheduler decides the parallelism of a vertex if the program set none. Vertices joined by an explicit FORWARD
must have the same parallelism.
"""

from __future__ import annotations

from msgspec import Struct

from compat.compiler.jobgraph.chaining import Chain
from compat.compiler.streamgraph.graph import StreamGraph
from compat.compiler.transformations.partitioners import Ship


class VertexParallelism(Struct, frozen=True):
    """A vertex's parallelism (-1: left to the scheduler), whether the program set it, and its max parallelism."""

    parallelism: int
    configured: bool
    max_parallelism: int


def vertex_parallelisms(chains: list[Chain], graph: StreamGraph) -> dict[int, VertexParallelism]:
    """The parallelism of each chain's vertex, by the node id of its head."""
    decided = {chain.head: _own(chain, graph) for chain in chains}
    if not graph.dynamic:
        return decided
    for group in _forward_groups(chains):
        if len(group) < 2:
            continue
        members = [decided[head] for head in group]
        parallelism = next((m.parallelism for m in members if m.parallelism > 0), -1)
        max_parallelism = max((m.max_parallelism for m in members if m.max_parallelism > 0), default=-1)
        for head in group:
            own = decided[head]
            decided[head] = VertexParallelism(
                parallelism if parallelism > 0 else own.parallelism,
                own.configured or parallelism > 0,
                max_parallelism if max_parallelism > 0 else own.max_parallelism,
            )
    return decided


def _own(chain: Chain, graph: StreamGraph) -> VertexParallelism:
    head = graph.nodes[chain.head]
    members = [*chain.nodes, *(edge.source for edge in chain.sources)]
    configured = any(graph.nodes[node].parallelism_configured for node in members)
    free = graph.dynamic and not configured and graph.settings.auto_parallelism
    return VertexParallelism(-1 if free else head.parallelism, configured, head.max_parallelism)


def _forward_groups(chains: list[Chain]) -> list[list[int]]:
    """Heads of the chains that a FORWARD joins, group by group."""
    parent = {chain.head: chain.head for chain in chains}

    def root(head: int) -> int:
        while parent[head] != head:
            parent[head] = parent[parent[head]]
            head = parent[head]
        return head

    for chain in chains:
        for edge in chain.leaving:
            if edge.partitioner.ship is Ship.FORWARD and not edge.partitioner.unspecified:
                parent[root(edge.target)] = root(chain.head)
    groups: dict[int, list[int]] = {}
    for head in parent:
        groups.setdefault(root(head), []).append(head)
    return list(groups.values())
