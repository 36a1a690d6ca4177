"""The physical plan: which operators each task runs, where their records go, in which stage and in which slot.

It is the ExecutionGraph put into stages: job vertices are sorted by topological level, the longest way from a source, and
a level is one stage of an epoch. A partition of a stage is one slot, with the level's subtasks that share it; if there are far
more slots than can run at a time, it is several slots.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from compat.compiler.driver import Compilation
from compat.compiler.executiongraph.edges import EdgeGroup
from compat.compiler.executiongraph.graph import ExecutionGraph, ExecutionJobVertex, ExecutionVertex
from compat.compiler.jobgraph.chaining import CHAINED_SOURCE_INDEX
from compat.compiler.jobgraph.graph import DistributionPattern, StreamConfig
from compat.compiler.spark.environment import Shipped
from compat.compiler.spark.resources import GroupNeeds, needs_of
from compat.compiler.streamgraph.graph import StreamEdge, StreamNode, Task
from compat.compiler.streamgraph.hashing import user_hashes
from compat.compiler.transformations.kinds import CoFeedback, Feedback
from compat.compiler.transformations.operators import BroadcastProcess, KeyedBroadcastProcess, Operator
from compat.compiler.transformations.partitioners import Partitioner


class OutputSpec(Struct, frozen=True, kw_only=True):
    """A stream out of an operator. ``edge`` numbers it in the job.

    ``vertex`` and ``group``, the connections with its subtasks, are None for a stream inside the chain.
    """

    edge: int
    target: int
    input: int
    side_output: str | None
    partitioner: Partitioner
    vertex: int | None
    group: EdgeGroup | None
    parallelism: int
    max_parallelism: int


class InputGate(Struct, frozen=True):
    """An exchange as its reader sees it: a channel from each subtask that feeds it. ``edge`` numbers the stream."""

    edge: int
    group: EdgeGroup


class Channels(Collection[tuple[int, int]]):
    """The channels (edge, producing subtask) of some gates that a subtask reads."""

    def __init__(self, gates: Iterable[InputGate], subtask: int) -> None:
        self._producers = {gate.edge: gate.group.partitions_of(subtask) for gate in gates}

    def __len__(self) -> int:
        return sum(map(len, self._producers.values()))

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return ((edge, producer) for edge, own in self._producers.items() for producer in own)

    def __contains__(self, channel: object) -> bool:
        match channel:
            case (int(edge), int(producer)):
                return edge in self._producers and producer in self._producers[edge]
            case _:
                return False


class OperatorSpec(Struct, frozen=True, kw_only=True):
    """An operator of a chain: ``operator`` is None for the ends of an iteration.

    ``tagged`` is True if one of its side outputs is read somewhere: PyFlink's merging may have split an operator into two, and
    only one of them has the side output.
    """

    node: int
    id: str
    user_hash: str | None
    uid: str | None
    name: str
    task: Task
    operator: Operator | None
    key_type: Any
    output_type: Any
    outputs: tuple[OutputSpec, ...]
    location: str | None = None
    loop: int | None = None
    wait: int = 0
    tagged: bool = False

    @property
    def is_source(self) -> bool:
        """True for an operator without an input stream, including the head of an iteration."""
        return self.task in (Task.SOURCE, Task.LEGACY_SOURCE, Task.ITERATION_HEAD)


class TaskSpec(Struct, frozen=True, kw_only=True):
    """A vertex: its operators in the order of the data, its gates by input, and the slot of each of its subtasks."""

    vertex: int
    id: str
    name: str
    level: int
    parallelism: int
    max_parallelism: int
    max_parallelism_configured: bool
    operators: tuple[OperatorSpec, ...]
    gates: Mapping[int, tuple[InputGate, ...]]
    slots: range

    def subtask(self, number: int) -> ExecutionVertex:
        """The ``SubtaskSpec`` of one of its subtasks."""
        return ExecutionVertex(self.id, self.name, number, self.parallelism, self.slots[number])


class Stage(Struct, frozen=True, dict=True):
    """The partitions of a level: each is a group of ``width`` neighbouring slots. ``slots`` are all of them, in order."""

    slots: tuple[int, ...]
    width: int = 1

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """The groups that contain any of the slots, in order."""
        return tuple(dict.fromkeys(slot // self.width for slot in self.slots))

    @property
    def partitions(self) -> int:
        """The number of the stage's partitions."""
        return len(self.groups)

    def partition_of(self, group: int) -> int:
        """The partition of a group of the level's slots."""
        return bisect_left(self.groups, group)


class PhysicalPlan(Struct, frozen=True, kw_only=True):
    """All tasks of a job, and the stages that they run in, one a level. ``shipped`` is what travels with the job.

    ``read_first`` are the nodes of a batch's sources that have to end before others are read, ``groups`` the slot sharing
    groups with declared resources.
    """

    job_name: str
    bounded: bool
    batch: bool
    tasks: tuple[TaskSpec, ...]
    stages: tuple[Stage, ...]
    execution_graph: ExecutionGraph
    options: Mapping[str, str] = field(default_factory=dict)
    shipped: Shipped | None = None
    read_first: frozenset[int] = frozenset()
    groups: tuple[GroupNeeds, ...] = ()

    @property
    def slots(self) -> int:
        """The number of slots that the job needs."""
        return max(task.slots.stop for task in self.tasks)

    @property
    def widest(self) -> int:
        """The number of partitions of the widest stage."""
        return max(stage.partitions for stage in self.stages)

    def operators(self) -> list[tuple[TaskSpec, OperatorSpec]]:
        """Every operator with its task."""
        return [(task, operator) for task in self.tasks for operator in task.operators]

    @property
    def fingerprint(self) -> str:
        """A fingerprint, equal for plans whose tasks can continue from one another's state."""
        shape = [
            (
                task.id,
                task.level,
                task.parallelism,
                task.max_parallelism if task.max_parallelism_configured else None,
                [(spec.id, spec.user_hash, spec.name, spec.task.name, len(spec.outputs)) for spec in task.operators],
                [(input, tuple(map(_identity, gates))) for input, gates in sorted(task.gates.items())],
            )
            for task in self.tasks
        ]
        return sha256(repr(shape).encode()).hexdigest()[:32]


def _identity(gate: InputGate) -> tuple[int, int, bool]:
    return gate.edge, gate.group.producers, gate.group.pattern is DistributionPattern.POINTWISE


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
    """The physical plan of a compiled job. Raises a ProgramError if one of the graphs was refused."""
    return _Planning(compilation.or_refuse()).run()


class _Planning:
    def __init__(self, compilation: Compilation) -> None:
        job, graph = compilation.job, compilation.stream_graph
        job_graph, execution = compilation.job_graph, compilation.execution_graph
        assert job is not None and graph is not None and job_graph is not None and execution is not None  # noqa: PT018
        self._job, self._graph, self._job_graph, self._execution = job, graph, job_graph, execution
        self._user_hashes = user_hashes(graph)
        self._numbers = {vertex.id: number for number, vertex in enumerate(self._execution.vertices)}
        self._exchanges = {id(edge.stream_edge): edge for vertex in self._execution.vertices for edge in vertex.inputs}
        self._edges = {
            id(edge): number
            for number, edge in enumerate(edge for edges in self._graph.edges_out.values() for edge in edges)
        }
        self._levels = self._level_of_vertices()
        self._tagged = {
            _last(node.operator)
            for number, node in self._graph.nodes.items()
            if any(edge.side_output is not None for edge in self._graph.edges_out[number])
        } - {None}

    def run(self) -> PhysicalPlan:
        tasks = tuple(self._task(vertex) for vertex in self._execution.vertices)
        sources = [self._job.pipeline[id] for id in self._graph.sources if id in self._job.pipeline]
        return PhysicalPlan(
            job_name=self._graph.job_name,
            bounded=all(getattr(source, "bounded", True) for source in sources),
            batch=self._graph.batch,
            tasks=tasks,
            stages=stages_of(tasks),
            execution_graph=self._execution,
            options=dict(self._job.settings.options),
            read_first=self._above_broadcasts() if self._graph.batch else frozenset(),
            groups=needs_of(self._execution.vertices, self._job_graph.slot_resources),
        )

    def _above_broadcasts(self) -> frozenset[int]:
        """The sources of what is broadcast: a batch has all of it before the records that it is for.

        PyFlink: ``ExternalPythonBatchCoBroadcastProcessOperator``, which selects its second input first.
        """
        found: set[int] = set()
        left = [
            edge.source
            for number, node in self._graph.nodes.items()
            if isinstance(node.operator, BroadcastProcess | KeyedBroadcastProcess)
            for edge in self._graph.edges_in[number]
            if _input(edge) == 1
        ]
        while left:
            node = left.pop()
            if node not in found:
                found.add(node)
                left += [edge.source for edge in self._graph.edges_in[node]]
        return frozenset(found.intersection(self._graph.sources))

    def _level_of_vertices(self) -> dict[str, int]:
        levels: dict[str, int] = {}
        for vertex in self._execution.vertices:
            above = [levels[edge.source] for edge in vertex.inputs]
            levels[vertex.id] = max(above, default=-1) + 1
        return levels

    def _task(self, vertex: ExecutionJobVertex) -> TaskSpec:
        configs = {config.node: config for config in vertex.job_vertex.chain}
        chained = [node for node, config in configs.items() if config.index == CHAINED_SOURCE_INDEX]
        ordered = self._in_order_of_data([*(pair.node for pair in vertex.job_vertex.operators), *chained])
        gates: dict[int, list[InputGate]] = {}
        for node in ordered:
            for edge in self._graph.edges_in[node]:
                exchange = self._exchanges.get(id(edge))
                if exchange is not None:
                    gates.setdefault(_input(edge), []).append(InputGate(self._edges[id(edge)], exchange.group))
        return TaskSpec(
            vertex=self._numbers[vertex.id],
            id=vertex.id,
            name=vertex.job_vertex.name,
            level=self._levels[vertex.id],
            parallelism=vertex.parallelism,
            max_parallelism=vertex.max_parallelism,
            max_parallelism_configured=vertex.max_parallelism_configured,
            operators=tuple(self._operator(configs[node], vertex) for node in ordered),
            gates={input: tuple(own) for input, own in gates.items()},
            slots=vertex.slots,
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

    def _operator(self, config: StreamConfig, vertex: ExecutionJobVertex) -> OperatorSpec:
        node = self._graph.nodes[config.node]
        loop, wait = self._loop(node)
        return OperatorSpec(
            node=config.node,
            id=config.operator_id,
            user_hash=self._user_hashes.get(config.node),
            uid=node.uid,
            name=config.name,
            task=config.task,
            operator=config.operator,
            key_type=config.key_type,
            output_type=config.output_type,
            outputs=tuple(self._output(edge, vertex) for edge in self._graph.edges_out[config.node]),
            location=None if node.location is None else str(node.location),
            loop=loop,
            wait=wait,
            tagged=_last(config.operator) in self._tagged,
        )

    def _output(self, edge: StreamEdge, vertex: ExecutionJobVertex) -> OutputSpec:
        exchange = self._exchanges.get(id(edge))
        target = vertex if exchange is None else self._execution.vertices[self._numbers[exchange.target]]
        return OutputSpec(
            edge=self._edges[id(edge)],
            target=edge.target,
            input=_input(edge),
            side_output=edge.side_output,
            partitioner=edge.partitioner,
            vertex=None if exchange is None else self._numbers[target.id],
            group=None if exchange is None else exchange.group,
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


def stages_of(tasks: Sequence[TaskSpec]) -> tuple[Stage, ...]:
    """The stages of tasks, with the slots in which a level's tasks run together."""
    slots: dict[int, set[int]] = {}
    for task in tasks:
        slots.setdefault(task.level, set()).update(task.slots)
    return tuple(Stage(tuple(sorted(slots[level]))) for level in range(len(slots)))


def _last(operator: Operator | None) -> int | None:
    """Which function object gives the records that an operator emits, of those that were merged into it."""
    return None if operator is None else id(operator.chained[-1].function if operator.chained else operator.function)


def _input(edge: StreamEdge) -> int:
    """The input that an edge feeds, from 0."""
    return max(edge.type_number - 1, 0)
