"""From the JobGraph to the ExecutionGraph. Flink: ``DefaultExecutionGraphBuilder`` and ``VertexParallelismStore``."""

from __future__ import annotations

from collections.abc import Mapping

from compat.compiler.errors import ErrorCode, Where, illegal_argument, job_exception
from compat.compiler.executiongraph.edges import EdgeGroup
from compat.compiler.executiongraph.graph import (
    ExecutionEdge,
    ExecutionGraph,
    ExecutionJobVertex,
    IntermediateResult,
)
from compat.compiler.executiongraph.slots import SlotSharingGroup, slot_sharing_groups
from compat.compiler.jobgraph.graph import JobGraph, JobVertex
from compat.compiler.jobgraph.scheduling import is_reactive
from compat.state.key_groups import HIGHEST_MAX_PARALLELISM, default_max_parallelism


def generate(graph: JobGraph) -> ExecutionGraph:
    """The ExecutionGraph of a JobGraph.

    If a batch job leaves a parallelism to the scheduler, the job's parallelism is used. A max parallelism that the program did
    not set is derived from the parallelism. Raises ProgramError if a vertex has more subtasks than key groups, which
    Flink finds when it starts the job.
    """
    by_id = {vertex.id: vertex for vertex in graph.vertices}
    parallelism = {
        id: vertex.parallelism if vertex.parallelism > 0 else graph.settings.parallelism for id, vertex in by_id.items()
    }
    ordered = [by_id[id] for id in graph.topological]
    if graph.job_type == "BATCH" or not is_reactive(graph.settings.options):
        for vertex in ordered:
            _require_key_groups(vertex)
    groups = slot_sharing_groups(ordered, parallelism)
    return ExecutionGraph(
        job_name=graph.job_name,
        vertices=tuple(_vertex(vertex, parallelism, groups[vertex.slot_sharing_group]) for vertex in ordered),
        slots={group.name: group.slots for group in groups.values()},
    )


def _require_key_groups(vertex: JobVertex) -> None:
    """Refuse more subtasks than key groups. Flink: ``ExecutionJobVertex``."""
    wanted, most = vertex.parallelism, vertex.max_parallelism
    where = Where(stage="executionGraph", operator=vertex.name, location=vertex.location)
    if most <= 0 and wanted > HIGHEST_MAX_PARALLELISM:
        raise illegal_argument(f"Operator parallelism not within bounds: {wanted}", **where)
    if not 0 < most < wanted:
        return
    where |= {"code": ErrorCode.PARALLELISM_ABOVE_MAX, "value": str(most)}
    raise job_exception(
        f"Vertex {vertex.name}'s parallelism ({wanted}) is higher than the max parallelism ({most}). "
        "Please lower the parallelism or increase the max parallelism.",
        **where,
    )


def _vertex(vertex: JobVertex, parallelism: Mapping[str, int], group: SlotSharingGroup) -> ExecutionJobVertex:
    own = parallelism[vertex.id]
    configured = vertex.max_parallelism > 0
    return ExecutionJobVertex(
        job_vertex=vertex,
        parallelism=own,
        max_parallelism=vertex.max_parallelism if configured else default_max_parallelism(own),
        max_parallelism_configured=configured,
        slot_sharing_group=group.name,
        slots=group.slots_of(own),
        inputs=tuple(
            ExecutionEdge(
                result=edge.data_set,
                source=edge.source,
                target=edge.target,
                group=EdgeGroup(edge.pattern, parallelism[edge.source], own),
                stream_edge=edge.stream_edge,
            )
            for edge in vertex.inputs
        ),
        results=tuple(
            IntermediateResult(
                index=output.index,
                id=output.id,
                producer=output.producer,
                type=output.type,
                partition_count=own,
            )
            for output in vertex.outputs
        ),
    )
