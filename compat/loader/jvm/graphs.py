"""The StreamGraph and JobGraph of a job as records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from compat.loader.jvm.bridge import Java, class_name, flink, is_a, member, operator_of, text_or_none
from compat.loader.jvm.call_sites import Places
from compat.loader.jvm.connectors import connector_of
from compat.loader.jvm.drawn import drawn_by
from compat.loader.jvm.keys import selector_of
from compat.loader.jvm.messages import DeclaredStates, Edge, EdgeId, GraphSettings, JavaFrame, Node, Vertex, VertexInput
from compat.loader.jvm.traits import given_of, traits_of
from compat.loader.jvm.udfs import functions_of
from compat.loader.jvm.usercode import classes_of, code_of

_YIELDING = (
    "streaming.api.operators.YieldingOperatorFactory",
    "streaming.api.operators.legacy.YieldingOperatorFactory",
)


class Configured(msgspec.Struct, frozen=True, kw_only=True):
    """An operator in the JobGraph: the StreamConfig that a task would get, its vertex, and the job's ExecutionConfig.

    An ``unconnected`` one is set up without the parts that may connect to external systems.
    """

    node: int
    config: Java
    vertex: Java
    execution: Java
    unconnected: bool = False


def job_graph(stream_graph: Java, loader: Java) -> Java:
    """The JobGraph that Flink makes of a StreamGraph. Raises Flink's exceptions for a program that it refuses."""
    return stream_graph.getJobGraph(loader, flink("api.common.JobID")())


def configured(graph: Java, loader: Java) -> Iterator[Configured]:
    """The operators of a JobGraph: the head of each vertex, then those chained to it."""
    stream_config = flink("streaming.api.graph.StreamConfig")
    execution = graph.getSerializedExecutionConfig().deserializeValue(loader)
    for vertex in graph.getVertices():
        head = stream_config(vertex.getConfiguration())
        yield Configured(node=int(head.getVertexID()), config=head, vertex=vertex, execution=execution)
        for node, config in head.getTransitiveChainedTaskConfigs(loader).items():
            yield Configured(node=int(node), config=config, vertex=vertex, execution=execution)


def nodes(
    stream_graph: Java, operators: list[Configured], places: Places, states: Mapping[int, DeclaredStates], loader: Java
) -> tuple[Node, ...]:
    """The nodes of a StreamGraph by id. ``states`` are by node id; ``loader`` has the classes of the program."""
    by_node = {one.node: one for one in operators}
    lines = places.of_nodes(stream_graph.getStreamNodes())
    made = []
    for one in stream_graph.getStreamNodes():
        id = int(one.getId())
        if id in by_node:
            node = _node(one, by_node[id], lines.get(id), states.get(id, DeclaredStates()))
            made.append(msgspec.structs.replace(node, merged=places.merged_into(one), drawn=_drawn(node, loader)))
    return tuple(sorted(made, key=lambda node: node.id))


def _drawn(node: Node, loader: Java) -> str | None:
    """The method that draws the uid of an operator anew at each start. State is not saved under a hash that users set."""
    if node.uid is None or node.source is None or not node.source.class_name:
        return None
    name = node.source.class_name.replace(".", "/")
    return drawn_by(classes_of(loader).seen_from(name), name, node.uid)


def _node(node: Java, configured: Configured, place: JavaFrame | None, states: DeclaredStates) -> Node:
    factory = node.getOperatorFactory()
    operator = operator_of(factory)
    generated = str(configured.config.getOperatorID())
    user_hash = text_or_none(node.getUserHash())
    return Node(
        id=int(node.getId()),
        name=str(node.getOperatorName()),
        description=text_or_none(node.getOperatorDescription()) or "",
        uid=text_or_none(node.getTransformationUID()),
        user_hash=user_hash,
        generated_id=generated,
        operator_id=user_hash or generated,
        parallelism=int(node.getParallelism()),
        parallelism_configured=bool(member(node, "parallelismConfigured")),
        max_parallelism=int(member(node, "maxParallelism")),
        slot_sharing_group=text_or_none(node.getSlotSharingGroup()),
        co_location_group=text_or_none(node.getCoLocationGroup()),
        buffer_timeout=int(node.getBufferTimeout()),
        chaining_strategy=None if factory is None else str(factory.getChainingStrategy()),
        factory=class_name(factory) or "",
        operator=class_name(operator) or class_name(factory) or "",
        function=None if (given := given_of(factory, operator)) is None else code_of(given),
        called=functions_of(factory, operator),
        state_keys=len(node.getStatePartitioners() or ()),
        key_selectors=tuple(
            selector_of(one, records, node.getStateKeySerializer())
            for one, records in zip(node.getStatePartitioners() or (), node.getTypeSerializersIn(), strict=False)
        ),
        key_serializer=class_name(node.getStateKeySerializer()),
        output_serializer=class_name(node.getTypeSerializerOut()),
        vertex=str(configured.vertex.getID()),
        vertex_class=str(node.getJobVertexClass().getName()),
        yielding=is_a(factory, *_YIELDING),
        output_only_after_end_of_stream=_flag(node, "isOutputOnlyAfterEndOfStream", False),
        concurrent_attempts=_flag(node, "isSupportsConcurrentExecutionAttempts", True),
        coordinator=hasattr(factory, "getCoordinatorProvider"),
        inputs=tuple(
            EdgeId(
                source=int(edge.getSourceId()),
                target=int(edge.getTargetId()),
                type_number=int(edge.getTypeNumber()),
                index=_index(edge),
            )
            for edge in node.getInEdges()
        ),
        source=place,
        states=states,
        traits=traits_of(factory, operator),
        connector=connector_of(factory),
    )


def _flag(target: Java, name: str, default: bool) -> bool:
    """The answer of a method that not every version of Flink has."""
    return bool(getattr(target, name)()) if hasattr(target, name) else default


def edges(stream_graph: Java) -> tuple[Edge, ...]:
    """The edges of a StreamGraph, by source node, in the order of its outgoing edges."""
    in_order = sorted(stream_graph.getStreamNodes(), key=lambda node: int(node.getId()))
    partitioners: list[Java] = []
    return tuple(_edge(edge, _group(edge, partitioners)) for node in in_order for edge in node.getOutEdges())


def _group(edge: Java, partitioners: list[Java]) -> int:
    """The number of the first partitioner that equals the edge's."""
    partitioner = edge.getPartitioner()
    for number, other in enumerate(partitioners):
        if partitioner.equals(other):
            return number
    partitioners.append(partitioner)
    return len(partitioners) - 1


def graph_settings(graph: Java) -> GraphSettings:
    """The settings of a StreamGraph as a whole."""
    config = graph.getExecutionConfig()
    checkpoints = graph.getCheckpointConfig()
    return GraphSettings(
        batch=str(graph.getJobType()) == "BATCH",
        dynamic=bool(graph.isDynamic()),
        exchange_mode=str(graph.getGlobalStreamExchangeMode()),
        sources=tuple(sorted(int(one) for one in graph.getSourceIDs())),
        sinks=tuple(sorted(int(one) for one in graph.getSinkIDs())),
        chaining=bool(graph.isChainingEnabled()),
        chain_different_max_parallelism=_flag(graph, "isChainingOfOperatorsWithDifferentMaxParallelismEnabled", True),
        parallelism=int(config.getParallelism()),
        max_parallelism=int(config.getMaxParallelism()),
        auto_generated_uids=bool(config.hasAutoGeneratedUIDsEnabled()),
        checkpoint_interval=int(checkpoints.getCheckpointInterval()) if checkpoints.isCheckpointingEnabled() else None,
    )


def _index(edge: Java) -> int:
    """Which of the edges between the same two nodes this is: the number that its id ends in."""
    return int(str(member(edge, "edgeId")).rpartition("_")[2])


def _edge(edge: Java, group: int) -> Edge:
    tag = edge.getOutputTag()
    return Edge(
        source=int(edge.getSourceId()),
        target=int(edge.getTargetId()),
        type_number=int(edge.getTypeNumber()),
        index=_index(edge),
        partitioner=str(edge.getPartitioner()),
        partitioner_class=class_name(edge.getPartitioner()) or "",
        partitioner_group=group,
        exchange_mode=str(edge.getExchangeMode()),
        side_output=None if tag is None else str(tag.getId()),
        buffer_timeout=int(edge.getBufferTimeout()),
        unaligned_checkpoints=bool(edge.supportsUnalignedCheckpoints()),
    )


def vertices(graph: Java) -> tuple[Vertex, ...]:
    """The vertices of a JobGraph, in the order in which Flink sorts them from the sources."""
    return tuple(_vertex(vertex) for vertex in graph.getVerticesSortedTopologicallyFromSources())


def _vertex(vertex: Java) -> Vertex:
    group = vertex.getSlotSharingGroup()
    return Vertex(
        id=str(vertex.getID()),
        name=str(vertex.getName()),
        parallelism=int(vertex.getParallelism()),
        parallelism_configured=_flag(vertex, "isParallelismConfigured", True),
        max_parallelism=int(vertex.getMaxParallelism()),
        invokable=str(vertex.getInvokableClassName()),
        slot_sharing_group=text_or_none(group.getSlotSharingGroupName())
        if group is not None and hasattr(group, "getSlotSharingGroupName")
        else None,
        operators=tuple(str(pair.getGeneratedOperatorID()) for pair in vertex.getOperatorIDs()),
        inputs=tuple(_input(edge) for edge in vertex.getInputs()),
    )


def _input(edge: Java) -> VertexInput:
    result = edge.getSource()
    return VertexInput(
        source=str(result.getProducer().getID()),
        distribution_pattern=str(edge.getDistributionPattern()),
        result_partition_type=str(result.getResultType()),
        ship_strategy=text_or_none(edge.getShipStrategyName()),
    )
