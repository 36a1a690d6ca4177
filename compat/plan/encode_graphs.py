"""The graphs of a compiled job as the records of a plan."""

from __future__ import annotations

from compat.compiler.executiongraph.graph import ExecutionGraph, ExecutionJobVertex
from compat.compiler.jobgraph.graph import JobGraph, JobVertex
from compat.compiler.streamgraph.chainable import is_chainable
from compat.compiler.streamgraph.graph import StreamEdge, StreamGraph, StreamNode
from compat.compiler.transformations.partitioners import Ship
from compat.state.model import graphs


def stream_graph(graph: StreamGraph) -> graphs.StreamGraph:
    """The StreamGraph: nodes by id, edges by their source, each node's edges in its own order."""
    ids = sorted(graph.nodes)
    edges = [edge for node in ids for edge in graph.edges_out[node]]
    place = {id(edge): index for index, edge in enumerate(edges)}
    partitioners: dict[object, int] = {}
    return graphs.StreamGraph(
        job_name=graph.job_name,
        job_type=_job_type(graph.job_type),
        dynamic=graph.dynamic,
        exchange_mode=graph.exchange_mode.value,
        chaining=graph.settings.chaining,
        chain_different_max_parallelism=graph.settings.chain_different_max_parallelism,
        sources=tuple(sorted(graph.sources)),
        sinks=tuple(sorted(graph.sinks)),
        nodes=tuple(
            _node(
                graph.nodes[node],
                tuple(place[id(edge)] for edge in graph.edges_in[node]),
                tuple(place[id(edge)] for edge in graph.edges_out[node]),
            )
            for node in ids
        ),
        edges=tuple(_edge(edge, graph, partitioners) for edge in edges),
    )


def _job_type(text: str) -> graphs.JobType:
    return "BATCH" if text == "BATCH" else "STREAMING"


def _node(node: StreamNode, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> graphs.StreamNode:
    operator = node.operator
    return graphs.StreamNode(
        id=node.id,
        name=node.name,
        description=node.description,
        uid=node.uid,
        user_hash=node.user_hash,
        parallelism=node.parallelism,
        parallelism_configured=node.parallelism_configured,
        max_parallelism=node.max_parallelism,
        slot_sharing_group=node.slot_sharing_group,
        co_location_group=node.co_location_group,
        buffer_timeout=node.buffer_timeout,
        chaining_strategy=None if node.chaining is None else node.chaining.value,
        operator_factory=None if operator is None else operator.factory,
        legacy_source=node.legacy_source,
        yielding=node.yielding,
        state_keys=node.state_keys,
        output_only_after_end_of_stream=operator is not None and operator.output_at_end,
        vertex_class=node.task.flink_class,
        inputs=inputs,
        outputs=outputs,
    )


def _edge(edge: StreamEdge, graph: StreamGraph, partitioners: dict[object, int]) -> graphs.StreamEdge:
    return graphs.StreamEdge(
        source=edge.source,
        target=edge.target,
        type_number=edge.type_number,
        partitioner=edge.partitioner.ship.name,
        partitioner_class=edge.partitioner.flink_class,
        partitioner_group=partitioners.setdefault(edge.partitioner.identity, len(partitioners)),
        exchange_mode=edge.exchange_mode.value,
        side_output=edge.side_output,
        buffer_timeout=edge.buffer_timeout,
        unaligned_checkpoints=edge.unaligned_checkpoints,
        chainable=is_chainable(edge, graph),
    )


def job_graph(graph: JobGraph) -> graphs.JobGraph:
    """The JobGraph: vertices in the order of creation, and their ids in topological order."""
    ids = {output.index: output.id for vertex in graph.vertices for output in vertex.outputs}
    return graphs.JobGraph(
        job_name=graph.job_name,
        job_type=_job_type(graph.job_type),
        dynamic=graph.dynamic,
        vertices=tuple(_vertex(vertex, graph.settings.legacy, ids) for vertex in graph.vertices),
        topological=graph.topological,
        checkpointing=None
        if not graph.checkpointing.enabled
        else graphs.Checkpointing(
            interval=graph.checkpointing.interval,
            at_least_once=not graph.checkpointing.exactly_once,
            unaligned=graph.checkpointing.unaligned,
        ),
        user_artifacts=dict(graph.user_artifacts),
        slot_sharing_group_resources={
            name: {
                "cpu_cores": needs.spec.cpu_cores,
                "task_heap_memory": needs.spec.task_heap_memory,
                "task_off_heap_memory": needs.spec.task_off_heap_memory,
                "managed_memory": needs.spec.managed_memory,
                "external_resources": dict(needs.spec.extended),
            }
            for name, needs in graph.slot_resources.items()
        },
        scheduler=graph.scheduler.value,
    )


def _vertex(vertex: JobVertex, legacy: bool, data_sets: dict[int, str | None]) -> graphs.JobVertex:
    return graphs.JobVertex(
        id=vertex.id,
        name=vertex.name,
        description=vertex.description,
        parallelism=vertex.parallelism,
        parallelism_configured=vertex.parallelism_configured,
        max_parallelism=vertex.max_parallelism,
        invokable=vertex.task.flink_class,
        slot_sharing_group=vertex.slot_sharing_group,
        slot_sharing_group_name=None if legacy else vertex.slot_sharing_group_name,
        co_location_group=vertex.co_location_group,
        supports_concurrent_execution_attempts=vertex.concurrent_attempts,
        operators=tuple(
            graphs.OperatorIds(
                id=operator.id, user_defined_id=operator.user_defined_id, name=operator.name, uid=operator.uid
            )
            for operator in vertex.operators
        ),
        coordinators=vertex.coordinators,
        inputs=tuple(
            graphs.JobEdge(
                source=edge.source,
                target=edge.target,
                data_set_index=edge.data_set,
                data_set=data_sets[edge.data_set],
                distribution_pattern=edge.pattern.value,
                result_partition_type=edge.type.value,
                ship_strategy=edge.ship.name,
                broadcast=edge.ship is Ship.BROADCAST,
                forward=edge.ship is Ship.FORWARD,
                upstream_state_mapper=edge.ship.upstream_state_mapper,
                downstream_state_mapper=edge.ship.downstream_state_mapper,
                type_number=edge.type_number,
            )
            for edge in vertex.inputs
        ),
        outputs=tuple(
            graphs.DataSet(
                data_set_index=output.index,
                data_set=output.id,
                result_partition_type=output.type.value,
                consumers=output.consumers,
            )
            for output in vertex.outputs
        ),
        chain=tuple(
            graphs.ChainedOperator(
                node=operator.node,
                name=operator.name,
                operator_id=operator.operator_id,
                index=operator.index,
                start=operator.start,
                end=operator.end,
                chained_outputs=tuple(edge.target for edge in operator.chained_outputs),
                non_chained_outputs=len(operator.non_chained_outputs),
            )
            for operator in vertex.chain
        ),
    )


def execution_graph(graph: ExecutionGraph) -> graphs.ExecutionGraph:
    """The ExecutionGraph: vertices in topological order; subtasks and partitions as counts, exchanges as groups."""
    return graphs.ExecutionGraph(
        vertices=tuple(_execution_vertex(vertex) for vertex in graph.vertices),
        slots=dict(graph.slots),
        total_slots=graph.total_slots,
        total_subtasks=graph.total_subtasks,
    )


def _execution_vertex(vertex: ExecutionJobVertex) -> graphs.ExecutionVertex:
    return graphs.ExecutionVertex(
        id=vertex.id,
        name=vertex.job_vertex.name,
        parallelism=vertex.parallelism,
        max_parallelism=vertex.max_parallelism,
        max_parallelism_configured=vertex.max_parallelism_configured,
        slot_sharing_group=vertex.slot_sharing_group,
        first_slot=vertex.slots.start,
        inputs=tuple(
            graphs.ExecutionEdge(
                source=edge.source,
                data_set_index=edge.result,
                distribution_pattern=edge.group.pattern.value,
                connections=edge.group.connections,
            )
            for edge in vertex.inputs
        ),
        results=tuple(
            graphs.IntermediateResult(
                data_set_index=result.index,
                result_partition_type=result.type.value,
                partitions=result.partition_count,
            )
            for result in vertex.results
        ),
    )
