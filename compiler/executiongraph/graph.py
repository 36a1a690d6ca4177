"""The ExecutionGraph's parts. Flink: ``org.apache.flink.runtime.executiongraph``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from compat.compiler.executiongraph.edges import EdgeGroup
from compat.compiler.jobgraph.graph import JobVertex, ResultPartitionType
from compat.compiler.streamgraph.graph import StreamEdge


class ExecutionVertex(Struct, frozen=True):
    """One subtask: number ``subtask`` (from 0) of ``of``, in the job's slot number ``slot``."""

    vertex: str
    name: str
    subtask: int
    of: int
    slot: int

    @property
    def task_name(self) -> str:
        """The name in logs, counted from 1."""
        return f"{self.name} ({self.subtask + 1}/{self.of})"


class IntermediateResult(Struct, frozen=True, kw_only=True):
    """A data set with a partition for each subtask of its producer."""

    index: int
    id: str | None
    producer: str
    type: ResultPartitionType
    partition_count: int


class ExecutionEdge(Struct, frozen=True, kw_only=True):
    """An exchange: the result that is read, the vertex that reads it, and the connections between the subtasks.

    ``stream_edge`` is the stream that it carries.
    """

    result: int
    source: str
    target: str
    group: EdgeGroup
    stream_edge: StreamEdge


class ExecutionJobVertex(Struct, frozen=True, kw_only=True):
    """A vertex as it runs. ``max_parallelism`` is decided; ``max_parallelism_configured`` says that the program set it.

    ``slots`` are the job's slots that the subtasks run in, one each, in order.
    """

    job_vertex: JobVertex
    parallelism: int
    max_parallelism: int
    max_parallelism_configured: bool
    slot_sharing_group: str
    slots: range
    inputs: tuple[ExecutionEdge, ...]
    results: tuple[IntermediateResult, ...]

    @property
    def id(self) -> str:
        """The id of the job vertex."""
        return self.job_vertex.id

    def subtasks(self) -> Iterator[ExecutionVertex]:
        """The subtasks, in order."""
        name = self.job_vertex.name
        return (
            ExecutionVertex(self.id, name, number, self.parallelism, slot) for number, slot in enumerate(self.slots)
        )


class ExecutionGraph(Struct, frozen=True, kw_only=True):
    """All vertices in topological order. ``slots`` gives the number of slots that the job needs, by slot sharing group."""

    job_name: str
    vertices: tuple[ExecutionJobVertex, ...]
    slots: Mapping[str, int]

    @property
    def total_subtasks(self) -> int:
        """The number of the job's subtasks."""
        return sum(vertex.parallelism for vertex in self.vertices)

    @property
    def total_slots(self) -> int:
        """The number of slots that the job needs."""
        return sum(self.slots.values())
