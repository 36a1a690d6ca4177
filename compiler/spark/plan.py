"""The physical plan: which operators each task runs, where their records go, and in which stage.

Job vertices are sorted by topological level, the longest way from a source; a level is one stage of an epoch. Partition n
of a stage hosts subtask n of every vertex of the level, as a slot of Flink does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from compat.compiler.driver import Compilation
from compat.compiler.executiongraph.model import ExecutionGraph, ExecutionJobVertex
from compat.compiler.jobgraph.model import JobGraph
from compat.compiler.streamgraph.hashing import user_hashes
from compat.compiler.streamgraph.model import StreamEdge, StreamGraph, StreamNode, Task
from compat.compiler.transformations.model import CoFeedback, Feedback
from compat.compiler.transformations.operators import Operator
from compat.compiler.transformations.partitioners import Partitioner


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSpec:
    """A stream out of an operator. ``edge`` numbers it in the job; ``vertex`` is None for one inside the chain."""

    edge: int
    target: int
    input: int
    side_output: str | None
    partitioner: Partitioner
    vertex: int | None
    parallelism: int
    max_parallelism: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSpec:
    """An operator of a chain: ``operator`` is None for the ends of an iteration. ``inputs`` counts its inputs."""

    node: int
    id: str
    user_hash: str | None
    uid: str | None
    name: str
    task: Task
    operator: Operator | None
    key_type: Any
    output_type: Any
    inputs: int
    outputs: tuple[OutputSpec, ...]
    location: str | None = None
    loop: int | None = None
    wait: int = 0

    @property
    def is_source(self) -> bool:
        """True for an operator that has no stream to read, an iteration's head included."""
        return self.task in (Task.SOURCE, Task.LEGACY_SOURCE, Task.ITERATION_HEAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """A vertex: its operators in the order of the data, and its channels by input: (edge, producers, pointwise)."""

    vertex: int
    id: str
    name: str
    level: int
    parallelism: int
    max_parallelism: int
    max_parallelism_configured: bool
    operators: tuple[OperatorSpec, ...]
    channels: Mapping[int, tuple[tuple[int, int, bool], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicalPlan:
    """All tasks of a job. ``partitions`` gives the number of partitions of each level."""

    job_name: str
    bounded: bool
    batch: bool
    tasks: tuple[TaskSpec, ...]
    partitions: tuple[int, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    stream_graph: StreamGraph | None = None
    job_graph: JobGraph | None = None
    execution_graph: ExecutionGraph | None = None

    @property
    def levels(self) -> int:
        """How many stages an epoch has."""
        return len(self.partitions)

    def operators(self) -> list[tuple[TaskSpec, OperatorSpec]]:
        """Every operator with its task."""
        return [(task, operator) for task in self.tasks for operator in task.operators]

    @property
    def fingerprint(self) -> str:
        """The same for plans whose tasks can go on where the other's stopped."""
        shape = [
            (
                task.id,
                task.level,
                task.parallelism,
                task.max_parallelism if task.max_parallelism_configured else None,
                [(spec.id, spec.user_hash, spec.name, spec.task.name, len(spec.outputs)) for spec in task.operators],
                sorted(task.channels.items()),
            )
            for task in self.tasks
        ]
        return sha256(repr(shape).encode()).hexdigest()[:32]


def with_max_parallelism(plan: PhysicalPlan, adopted: Mapping[int, int]) -> PhysicalPlan:
    """The plan with another maximum parallelism of some vertices, given by their numbers."""

    def edge(output: OutputSpec, own: int) -> OutputSpec:
        vertex = own if output.vertex is None else output.vertex
        return replace(output, max_parallelism=adopted.get(vertex, output.max_parallelism))

    def task(each: TaskSpec) -> TaskSpec:
        operators = tuple(
            replace(spec, outputs=tuple(edge(output, each.vertex) for output in spec.outputs))
            for spec in each.operators
        )
        found = adopted.get(each.vertex, each.max_parallelism)
        return replace(each, max_parallelism=found, operators=operators)

    return replace(plan, tasks=tuple(task(each) for each in plan.tasks)) if adopted else plan


def plan(compilation: Compilation) -> PhysicalPlan:
    """The physical plan of a compiled job. Raises a ProgramError where one of the graphs was refused."""
    return _Planning(compilation.or_refuse()).run()


class _Planning:
    def __init__(self, compilation: Compilation) -> None:
        job, graph = compilation.job, compilation.stream_graph
        job_graph, execution = compilation.job_graph, compilation.execution_graph
        assert job is not None and graph is not None and job_graph is not None and execution is not None  # noqa: PT018
        self._job, self._graph, self._job_graph, self._execution = job, graph, job_graph, execution
        self._hashes = compilation.hashes
        self._user_hashes = user_hashes(graph)
        self._numbers = {vertex.id: number for number, vertex in enumerate(self._execution.vertices)}
        self._vertices = {vertex.id: vertex for vertex in self._execution.vertices}
        self._edges = {
            id(edge): number
            for number, edge in enumerate(edge for edges in self._graph.edges_out.values() for edge in edges)
        }
        self._levels = self._level_of_vertices()

    def run(self) -> PhysicalPlan:
        tasks = tuple(self._task(vertex) for vertex in self._execution.vertices)
        levels = max(task.level for task in tasks) + 1
        partitions = tuple(max(task.parallelism for task in tasks if task.level == level) for level in range(levels))
        sources = [self._job.pipeline[id] for id in self._graph.sources if id in self._job.pipeline]
        return PhysicalPlan(
            job_name=self._graph.job_name,
            bounded=all(getattr(source, "bounded", True) for source in sources),
            batch=self._graph.batch,
            tasks=tasks,
            partitions=partitions,
            options=dict(self._job.settings.options),
            stream_graph=self._graph,
            job_graph=self._job_graph,
            execution_graph=self._execution,
        )

    def _vertex_of(self, node: int) -> ExecutionJobVertex:
        return self._vertices[self._job_graph.vertex_of[node]]

    def _level_of_vertices(self) -> dict[str, int]:
        levels: dict[str, int] = {}
        for vertex in self._execution.vertices:
            above = [levels[edge.source] for edge in vertex.inputs]
            levels[vertex.id] = max(above, default=-1) + 1
        return levels

    def _task(self, vertex: ExecutionJobVertex) -> TaskSpec:
        members = [operator.node for operator in vertex.job_vertex.operators]
        members += [each.node for each in vertex.job_vertex.chain if each.index == 0]
        ordered = self._in_order_of_data(members)
        channels: dict[int, list[tuple[int, int, bool]]] = {}
        for node in ordered:
            for edge in self._graph.edges_in[node]:
                producer = self._vertex_of(edge.source)
                if producer.id != vertex.id:
                    exchange = (self._number(edge), producer.parallelism, edge.partitioner.ship.pointwise)
                    channels.setdefault(_input(edge), []).append(exchange)
        return TaskSpec(
            vertex=self._numbers[vertex.id],
            id=vertex.id,
            name=vertex.job_vertex.name,
            level=self._levels[vertex.id],
            parallelism=vertex.parallelism,
            max_parallelism=vertex.max_parallelism,
            max_parallelism_configured=vertex.max_parallelism_configured,
            operators=tuple(self._operator(self._graph.nodes[node]) for node in ordered),
            channels={input: tuple(edges) for input, edges in channels.items()},
        )

    def _in_order_of_data(self, members: list[int]) -> list[int]:
        inside = set(members)
        waiting = {node: sum(edge.source in inside for edge in self._graph.edges_in[node]) for node in members}
        ready = sorted(node for node, count in waiting.items() if count == 0)
        ordered: list[int] = []
        while ready:
            node = ready.pop(0)
            ordered.append(node)
            for edge in self._graph.edges_out[node]:
                if edge.target in inside:
                    waiting[edge.target] -= 1
                    if waiting[edge.target] == 0:
                        ready.append(edge.target)
        return ordered

    def _number(self, edge: StreamEdge) -> int:
        for candidate in self._graph.edges_out[edge.source]:
            if candidate == edge:
                return self._edges[id(candidate)]
        raise KeyError(edge)

    def _operator(self, node: StreamNode) -> OperatorSpec:
        loop, wait = self._loop(node)
        return OperatorSpec(
            node=node.id,
            id=self._hashes.get(node.id, f"{node.id & 0xFFFFFFFF:032x}"),
            user_hash=self._user_hashes.get(node.id),
            uid=node.uid,
            name=node.name,
            task=node.task,
            operator=node.operator,
            key_type=node.key_type,
            output_type=node.output_type,
            inputs=max((_input(edge) for edge in self._graph.edges_in[node.id]), default=-1) + 1,
            outputs=tuple(self._output(edge) for edge in self._graph.edges_out[node.id]),
            location=None if node.location is None else str(node.location),
            loop=loop,
            wait=wait,
        )

    def _output(self, edge: StreamEdge) -> OutputSpec:
        target = self._vertex_of(edge.target)
        inside = target.id == self._vertex_of(edge.source).id
        return OutputSpec(
            edge=self._edges[id(edge)],
            target=edge.target,
            input=_input(edge),
            side_output=edge.side_output,
            partitioner=edge.partitioner,
            vertex=None if inside else self._numbers[target.id],
            parallelism=target.parallelism,
            max_parallelism=target.max_parallelism,
        )

    def _loop(self, node: StreamNode) -> tuple[int | None, int]:
        """The iteration that a head or a tail belongs to, and how long its head waits, in milliseconds."""
        if node.task not in (Task.ITERATION_HEAD, Task.ITERATION_TAIL):
            return None, 0
        number = int(node.name.rsplit("-", 1)[1])
        feedback = self._job.pipeline[number]
        assert isinstance(feedback, Feedback | CoFeedback)
        return number, feedback.wait


def _input(edge: StreamEdge) -> int:
    """The input that an edge feeds, from 0."""
    return max(edge.type_number - 1, 0)
