"""The StreamGraph and JobGraph of a job as records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compat.compiler.record import record
from compat.loader.jvm.bridge import Java, class_name, flink, member, text_or_none
from compat.loader.jvm.model import Edge, JavaFrame, Node, States, Vertex, VertexInput


@record
class Configured:
    """An operator in the JobGraph: the StreamConfig that a task would get, and the vertex it is in."""

    node: int
    config: Java
    vertex: Java


def job_graph(stream_graph: Java, loader: Java) -> Java:
    """The JobGraph that Flink makes of a StreamGraph. Raises what Flink raises of a program it refuses."""
    return stream_graph.getJobGraph(loader, flink("api.common.JobID")())


def configured(graph: Java, loader: Java) -> Iterator[Configured]:
    """The operators of a JobGraph: the head of each vertex, then those chained to it."""
    stream_config = flink("streaming.api.graph.StreamConfig")
    for vertex in graph.getVertices():
        head = stream_config(vertex.getConfiguration())
        yield Configured(node=int(head.getVertexID()), config=head, vertex=vertex)
        for node, config in head.getTransitiveChainedTaskConfigs(loader).items():
            yield Configured(node=int(node), config=config, vertex=vertex)


def nodes(
    stream_graph: Java, operators: list[Configured], places: Mapping[int, JavaFrame], states: Mapping[int, States]
) -> tuple[Node, ...]:
    """The nodes of a StreamGraph by id. ``places`` and ``states`` are by node id."""
    by_node = {one.node: one for one in operators}
    made = [
        _node(one, by_node[int(one.getId())], places.get(int(one.getId())), states.get(int(one.getId()), States()))
        for one in stream_graph.getStreamNodes()
        if int(one.getId()) in by_node
    ]
    return tuple(sorted(made, key=lambda node: node.id))


def _node(node: Java, configured: Configured, place: JavaFrame | None, states: States) -> Node:
    factory = node.getOperatorFactory()
    operator = _operator(factory)
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
        function=class_name(_function(operator)),
        state_keys=len(node.getStatePartitioners() or ()),
        key_serializer=class_name(node.getStateKeySerializer()),
        output_serializer=class_name(node.getTypeSerializerOut()),
        vertex=str(configured.vertex.getID()),
        coordinator=hasattr(factory, "getCoordinatorProvider"),
        source=place,
        states=states,
    )


def _operator(factory: Java) -> Java:
    """The operator that a simple factory holds; None for those that make it later."""
    return factory.getOperator() if factory is not None and hasattr(factory, "getOperator") else None


def _function(operator: Java) -> Java:
    return operator.getUserFunction() if operator is not None and hasattr(operator, "getUserFunction") else None


def edges(stream_graph: Java) -> tuple[Edge, ...]:
    """The edges of a StreamGraph, by source node, in the order of its outgoing edges."""
    in_order = sorted(stream_graph.getStreamNodes(), key=lambda node: int(node.getId()))
    return tuple(_edge(edge) for node in in_order for edge in node.getOutEdges())


def _edge(edge: Java) -> Edge:
    tag = edge.getOutputTag()
    return Edge(
        source=int(edge.getSourceId()),
        target=int(edge.getTargetId()),
        type_number=int(edge.getTypeNumber()),
        partitioner=str(edge.getPartitioner()),
        partitioner_class=class_name(edge.getPartitioner()) or "",
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
        parallelism_configured=bool(vertex.isParallelismConfigured()),
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
