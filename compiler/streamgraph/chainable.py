"""The condition for two operators to run in one thread. Flink: ``StreamingJobGraphGenerator.isChainable`` and what it calls."""

from __future__ import annotations

from compat.compiler.streamgraph.graph import StreamEdge, StreamGraph, StreamNode, Task
from compat.compiler.transformations.operators import ChainingStrategy
from compat.compiler.transformations.partitioners import ExchangeMode, Ship


def is_chainable(edge: StreamEdge, graph: StreamGraph) -> bool:
    """True if the edge's target joins the chain of its source."""
    return len(graph.edges_in[edge.target]) == 1 and is_chainable_input(edge, graph)


def is_chainable_input(edge: StreamEdge, graph: StreamGraph) -> bool:
    """True if the edge's target may join the chain, whatever other inputs it has: the test for a source inside its reader."""
    settings = graph.settings
    upstream, downstream = graph.nodes[edge.source], graph.nodes[edge.target]
    return (
        settings.chaining
        and upstream.slot_sharing_group == downstream.slot_sharing_group
        and upstream.operator is not None
        and downstream.operator is not None
        and upstream.parallelism == downstream.parallelism
        and edge.partitioner.ship is Ship.FORWARD
        and edge.exchange_mode is not ExchangeMode.BATCH
        and (settings.chain_different_max_parallelism or upstream.max_parallelism == downstream.max_parallelism)
        and _strategies_allow(upstream, downstream)
        and not (downstream.yielding and _headed_by_legacy_source(upstream, graph))
        and _feeds_its_input_alone(edge, graph)
    )


def _strategies_allow(upstream: StreamNode, downstream: StreamNode) -> bool:
    if upstream.chaining is ChainingStrategy.NEVER:
        return False
    if downstream.chaining is ChainingStrategy.HEAD_WITH_SOURCES:
        return upstream.task is Task.SOURCE
    return downstream.chaining is ChainingStrategy.ALWAYS


def _headed_by_legacy_source(node: StreamNode, graph: StreamGraph) -> bool:
    """True if the chain that the node is in starts at a legacy source, whose lock a yielding operator would break."""
    while len(edges := graph.edges_in[node.id]) == 1 and is_chainable(edges[0], graph):
        node = graph.nodes[edges[0].source]
    return node.legacy_source


def _feeds_its_input_alone(edge: StreamEdge, graph: StreamGraph) -> bool:
    """False for one of several streams that a union brings into the same input."""
    return all(other is edge or other.type_number != edge.type_number for other in graph.edges_in[edge.target])
