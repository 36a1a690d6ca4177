"""From the JobGraph to the ExecutionGraph. Flink: ``DefaultExecutionGraphBuilder`` and ``VertexParallelismStore``."""

from __future__ import annotations

from collections import Counter

from compat.compiler.executiongraph.edges import EdgeGroup
from compat.compiler.executiongraph.model import (
    ExecutionEdge,
    ExecutionGraph,
    ExecutionJobVertex,
    IntermediateResult,
)
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
    vertices = tuple(_vertex(by_id[id], parallelism) for id in graph.topological)
    slots: dict[tuple[int, str], int] = {}
    for vertex in vertices:
        group = (vertex.job_vertex.slot_sharing_group, vertex.job_vertex.slot_sharing_group_name)
        slots[group] = max(slots.get(group, 0), vertex.parallelism)
    return ExecutionGraph(job_name=graph.job_name, vertices=vertices, slots=_named(slots))


def _vertex(vertex: JobVertex, parallelism: dict[str, int]) -> ExecutionJobVertex:
    own = parallelism[vertex.id]
    configured = vertex.max_parallelism > 0
    return ExecutionJobVertex(
        job_vertex=vertex,
        parallelism=own,
        max_parallelism=vertex.max_parallelism if configured else default_max_parallelism(own),
        max_parallelism_configured=configured,
        inputs=tuple(
            ExecutionEdge(
                result=edge.data_set,
                source=edge.source,
                target=edge.target,
                group=EdgeGroup(edge.pattern, parallelism[edge.source], own),
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


def _named(slots: dict[tuple[int, str], int]) -> dict[str, int]:
    """Slots by the name of the group; groups of the same name (one a region of a batch job) get a number behind it."""
    names = Counter(name for _, name in slots)
    return {name if names[name] == 1 else f"{name} #{number}": count for (number, name), count in slots.items()}
