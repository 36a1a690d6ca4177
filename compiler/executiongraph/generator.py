"""From the JobGraph to the ExecutionGraph. Flink: ``DefaultExecutionGraphBuilder`` and ``VertexParallelismStore``."""

from __future__ import annotations

from collections.abc import Mapping

from compat.compiler.executiongraph.edges import EdgeGroup
from compat.compiler.executiongraph.model import (
    ExecutionEdge,
    ExecutionGraph,
    ExecutionJobVertex,
    IntermediateResult,
)
from compat.compiler.executiongraph.slots import SlotSharingGroup, slot_sharing_groups
from compat.compiler.jobgraph.model import JobGraph, JobVertex
from compat.state.key_groups import default_max_parallelism


def generate(graph: JobGraph) -> ExecutionGraph:
    """The ExecutionGraph of a JobGraph.

    A parallelism that a batch job leaves to the scheduler is taken to be the job's; a max parallelism that the program
    did not set is derived from the parallelism.
    """
    by_id = {vertex.id: vertex for vertex in graph.vertices}
    parallelism = {
        id: vertex.parallelism if vertex.parallelism > 0 else graph.settings.parallelism for id, vertex in by_id.items()
    }
    ordered = [by_id[id] for id in graph.topological]
    groups = slot_sharing_groups(ordered, parallelism)
    return ExecutionGraph(
        job_name=graph.job_name,
        vertices=tuple(_vertex(vertex, parallelism, groups[vertex.slot_sharing_group]) for vertex in ordered),
        slots={group.name: group.slots for group in groups.values()},
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
