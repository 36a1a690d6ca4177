"""The data sets that chains exchange. Flink: ``setAllOperatorNonChainedOutputsConfigs`` and ``connect``."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from compat.compiler.errors import unsupported
from compat.compiler.jobgraph.chaining import Chain, nodes_that_block
from compat.compiler.jobgraph.graph import NonChainedOutput, ResultPartitionType
from compat.compiler.jobgraph.parallelism import VertexParallelism
from compat.compiler.streamgraph.graph import GlobalExchangeMode, StreamEdge, StreamGraph
from compat.compiler.transformations.partitioners import RESCALE, ExchangeMode, Partitioner

_MASK = (1 << 64) - 1

_BY_GLOBAL_MODE = {
    GlobalExchangeMode.ALL_EDGES_PIPELINED: ResultPartitionType.PIPELINED_BOUNDED,
    GlobalExchangeMode.ALL_EDGES_BLOCKING: ResultPartitionType.BLOCKING,
    GlobalExchangeMode.ALL_EDGES_PIPELINED_APPROXIMATE: ResultPartitionType.PIPELINED_APPROXIMATE,
    GlobalExchangeMode.ALL_EDGES_HYBRID_FULL: ResultPartitionType.HYBRID_FULL,
    GlobalExchangeMode.ALL_EDGES_HYBRID_SELECTIVE: ResultPartitionType.HYBRID_SELECTIVE,
}


def chain_outputs(
    chain: Chain,
    graph: StreamGraph,
    hashes: Mapping[int, str],
    parallelisms: Mapping[int, VertexParallelism],
) -> list[tuple[StreamEdge, NonChainedOutput]]:
    """The data sets that the edges leaving the chain read, in order.

    ``parallelisms`` are those of the vertices, by the node id of their head. Raises Flink's error for a buffer timeout on a
    blocking exchange.
    """
    blocking = nodes_that_block(chain, graph)
    shared: dict[tuple[object, ...], NonChainedOutput] = {}
    found = []
    for edge in chain.leaving:
        partitioner = _final_partitioner(edge)
        type = _kept(_partition_type(edge, graph, blocking), edge)
        persistent = type is ResultPartitionType.BLOCKING_PERSISTENT
        output = NonChainedOutput(
            source=edge.source,
            id=None if graph.settings.legacy or persistent else _data_set_id(hashes[chain.head], edge, graph),
            type=type,
            partitioner=partitioner,
        )
        if type.shareable:
            key = (
                edge.source,
                parallelisms[edge.target].parallelism,
                parallelisms[edge.target].max_parallelism,
                type,
                edge.side_output,
                partitioner.identity,
                edge.target if persistent else None,
            )
            output = shared.setdefault(key, output)
        found.append((edge, output))
    return found


def _final_partitioner(edge: StreamEdge) -> Partitioner:
    """In a dynamic graph, a FORWARD that nobody asked for and that ends a chain leaves the parallelism free."""
    return RESCALE if edge.partitioner.unspecified else edge.partitioner


def _partition_type(edge: StreamEdge, graph: StreamGraph, blocking: set[int]) -> ResultPartitionType:
    timeout = edge.buffer_timeout
    if edge.exchange_mode is ExchangeMode.PIPELINED:
        type = ResultPartitionType.PIPELINED_BOUNDED
    elif edge.exchange_mode is ExchangeMode.BATCH:
        type = ResultPartitionType.BLOCKING
    elif edge.source in blocking:
        return ResultPartitionType.BLOCKING  # Flink switches the timeout of such an edge off
    else:
        type = _BY_GLOBAL_MODE[graph.exchange_mode]
    if timeout >= 0 and not type.pipelined:
        raise unsupported(
            f"only canBePipelinedConsumed partition support buffer timeout {timeout} for src operator in edge "
            f"{_described(edge, graph)}. \nPlease either disable buffer timeout (via -1) or use the "
            "canBePipelinedConsumed partition.",
            stage="jobGraph",
            operator=graph.nodes[edge.source].name,
            location=graph.nodes[edge.source].location,
        )
    return type


def _kept(type: ResultPartitionType, edge: StreamEdge) -> ResultPartitionType:
    """The partition's type; one that is written to the end before it is read, and that a cache keeps, outlives the job."""
    kept = edge.data_set and type is ResultPartitionType.BLOCKING
    return ResultPartitionType.BLOCKING_PERSISTENT if kept else type


def _described(edge: StreamEdge, graph: StreamGraph) -> str:
    """The edge as Flink prints it."""
    source, target = graph.nodes[edge.source], graph.nodes[edge.target]
    final = replace(edge, partitioner=_final_partitioner(edge))
    tag = "null" if edge.side_output is None else f"OutputTag(Long, {edge.side_output})"
    return (
        f"({source.name}-{source.id} -> {target.name}-{target.id}, typeNumber={edge.type_number}, "
        f"outputPartitioner={final.partitioner.ship.name}, exchangeMode={edge.exchange_mode.value}, "
        f"bufferTimeout={edge.buffer_timeout}, outputTag={tag}, uniqueId={edge.index})"
    )


def _data_set_id(vertex: str, edge: StreamEdge, graph: StreamGraph) -> str:
    """The id of the data set: the producer's, moved by a hash of the edge's own id (Flink 2.3)."""
    source, target = graph.nodes[edge.source], graph.nodes[edge.target]
    ship = edge.partitioner.ship.name
    text = f"{source.name}-{source.id}_{target.name}-{target.id}_{edge.type_number}_{ship}_{edge.index}"
    moved = java_hash(text)
    producer = bytes.fromhex(vertex)
    lower = int.from_bytes(producer[:8], "big")
    upper = int.from_bytes(producer[8:], "big")
    return f"{(upper + moved) & _MASK:016x}{(lower + moved) & _MASK:016x}"


def java_hash(text: str) -> int:
    """``String.hashCode`` of Java: over UTF-16 code units, as a signed 32-bit number."""
    hashed = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for place in range(0, len(encoded), 2):
        hashed = (31 * hashed + (encoded[place] << 8) + encoded[place + 1]) & 0xFFFFFFFF
    return hashed - (1 << 32) if hashed & 0x80000000 else hashed
