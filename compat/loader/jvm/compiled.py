"""A job built by Flink, in the graphs of compat's compiler, so that one model serves programs of every language.

The StreamGraph and the ids are Flink's. Chains, exchanges and slots follow from them by the compiler's rules, and are
compared with Flink's, vertex by vertex.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from compat.compiler.configuration import JobSettings, RuntimeMode
from compat.compiler.errors import Location, ProgramError
from compat.compiler.executiongraph.generator import generate as generate_execution_graph
from compat.compiler.executiongraph.graph import ExecutionGraph
from compat.compiler.jobgraph.generator import generate as generate_job_graph
from compat.compiler.jobgraph.graph import JobGraph
from compat.compiler.streamgraph.graph import GlobalExchangeMode, StreamEdge, StreamGraph, StreamNode, Task
from compat.compiler.streamgraph.hashing import generate_hashes
from compat.compiler.transformations.operators import ChainingStrategy, Operator
from compat.compiler.transformations.partitioners import ExchangeMode, Partitioner, Ship
from compat.loader.jvm.distribution import parsed
from compat.loader.jvm.messages import Edge, Job, Node
from compat.loader.jvm.pyflink.plans import kind_of_python

_SHIPS = {ship.flink_class: ship for ship in Ship}
_UNSPECIFIED = "ForwardForUnspecifiedPartitioner"
_TASKS = {task.value: task for task in Task}
_WITH_SELECTOR = (Ship.HASH, Ship.CUSTOM)


_ASYNCHRONOUS = "org.apache.flink.runtime.asyncprocessing.operators."
"""The packages of the operators for asynchronous state, which have counterparts without ``Async`` in their names."""
_TABLE = "org.apache.flink.table."
_KEYED_TOO = ("map", "flat_map", "filter")
_KINDS = {
    "SourceOperatorFactory": "source",
    "StreamSource": "legacy_source",
    "StreamMap": "map",
    "StreamFlatMap": "flat_map",
    "StreamFilter": "filter",
    "ProcessOperator": "process",
    "KeyedProcessOperator": "keyed_process",
    "StreamGroupedReduceOperator": "reduce",
    "StreamGroupedReduceAsyncStateOperator": "reduce",
    "WindowOperator": "window",
    "EvictingWindowOperator": "window",
    "WindowOperatorFactory": "window",
    "CoStreamMap": "connect_map",
    "CoStreamFlatMap": "connect_flat_map",
    "CoProcessOperator": "connect_process",
    "KeyedCoProcessOperator": "connect_keyed_process",
    "CoBroadcastWithNonKeyedOperator": "broadcast_connect",
    "CoBroadcastWithKeyedOperator": "keyed_broadcast_connect",
    "SinkWriterOperatorFactory": "sink_writer",
    "CommitterOperatorFactory": "sink_committer",
    "GlobalCommitterOperator": "sink_global_committer",
    "StreamSink": "legacy_sink",
    "AsyncWaitOperatorFactory": "async_wait",
    "TimestampsAndWatermarksOperator": "assign_timestamps",
}
"""Flink's operator classes, by the kinds of calls that create them."""


class FlinkOperator(Operator, frozen=True, kw_only=True):
    """An operator that Flink created: only its traits are known here."""

    kind_name: str

    @property
    def kind(self) -> str:
        """The name of this kind of operator."""
        return self.kind_name

    @property
    def compared(self) -> tuple[object, ...]:
        """The key for equality, which includes the kind."""
        return *super().compared, self.kind_name


class Disagreement(Exception):
    """The compiler's ids or chains of a StreamGraph differ from Flink's; the message says where."""


class CompiledJob(Struct, frozen=True, kw_only=True):
    """The graphs of a job; ``hashes`` are the generated operator ids by node, in the order in which Flink computes them."""

    settings: JobSettings
    stream_graph: StreamGraph
    hashes: dict[int, str]
    job_graph: JobGraph
    execution_graph: ExecutionGraph


def compiled(job: Job) -> CompiledJob:
    """The graphs of a job.

    Raises Disagreement if they differ from Flink's, and ProgramError if the cluster would not start it.
    """
    made = graphs_of(job)
    for node in job.nodes:
        if made.hashes.get(node.id) != node.generated_id:
            raise Disagreement(f"The id of {node.name!r} is {node.generated_id}, and not {made.hashes.get(node.id)}.")
    flinks = {vertex.id: set(vertex.operators) for vertex in job.vertices}
    ours = {vertex.id: {pair.id for pair in vertex.operators} for vertex in made.job_graph.vertices}
    if ours != flinks:
        other = sorted(set(flinks) ^ set(ours)) or sorted(id for id in flinks if flinks[id] != ours[id])
        raise Disagreement(f"The chains of operators are not Flink's at {', '.join(other)}.")
    return made


def graphs_of(job: Job) -> CompiledJob:
    """The graphs of a job as compat's compiler builds them, without a comparison with Flink's.

    Raises Disagreement if it cannot build them, and ProgramError if the cluster would not start it.
    """
    settings = _settings(job)
    graph = _stream_graph(job, settings)
    try:
        hashes = generate_hashes(graph)
        made = generate_job_graph(graph, hashes)
    except ProgramError as error:
        raise Disagreement(f"Flink takes the job, and our compiler does not: {error}") from error
    return CompiledJob(
        settings=settings,
        stream_graph=graph,
        hashes=hashes,
        job_graph=made,
        execution_graph=generate_execution_graph(made),
    )


def minor_version(flink: str) -> str:
    """Major and minor version as text: ``2.3`` for ``2.3.0``."""
    return ".".join(map(str, parsed(flink)))


def _settings(job: Job) -> JobSettings:
    given = job.graph
    read = JobSettings.from_options(job.options, flink=minor_version(job.flink))
    return replace(
        read,
        job_name=job.name,
        parallelism=given.parallelism,
        max_parallelism=given.max_parallelism,
        chaining=given.chaining,
        chain_different_max_parallelism=given.chain_different_max_parallelism,
        mode=RuntimeMode.BATCH if given.batch else RuntimeMode.STREAMING,
        auto_generated_uids=given.auto_generated_uids,
        checkpoint_interval=given.checkpoint_interval,
    )


def _stream_graph(job: Job, settings: JobSettings) -> StreamGraph:
    nodes = {node.id: _node(node) for node in job.nodes}
    edges = list(_edges(job.edges))
    inputs: dict[int, list[StreamEdge]] = {id: [] for id in nodes}
    outputs: dict[int, list[StreamEdge]] = {id: [] for id in nodes}
    for edge in edges:
        outputs[edge.source].append(edge)
    by_place = {(edge.source, edge.target, edge.type_number, edge.index): edge for edge in edges}
    for node in job.nodes:
        inputs[node.id] = [by_place[one.source, one.target, one.type_number, one.index] for one in node.inputs]
    return StreamGraph(
        job_name=job.name,
        batch=job.graph.batch,
        dynamic=job.graph.dynamic,
        exchange_mode=GlobalExchangeMode(job.graph.exchange_mode),
        settings=settings,
        nodes=MappingProxyType(nodes),
        edges_in=MappingProxyType({id: tuple(found) for id, found in inputs.items()}),
        edges_out=MappingProxyType({id: tuple(found) for id, found in outputs.items()}),
        sources=job.graph.sources,
        sinks=job.graph.sinks,
    )


def _node(node: Node) -> StreamNode:
    task = _TASKS.get(node.vertex_class.rpartition(".")[2], Task.ONE_INPUT)
    operator = FlinkOperator(
        kind_name=kind_of(node),
        factory=node.factory.rpartition(".")[2],
        yielding=node.yielding,
        output_at_end=node.output_only_after_end_of_stream,
        coordinated=node.coordinator,
    )
    return StreamNode(
        id=node.id,
        name=node.name,
        description=node.description,
        task=task,
        operator=operator if node.factory else None,
        chaining=None if node.chaining_strategy is None else ChainingStrategy(node.chaining_strategy),
        parallelism=node.parallelism,
        parallelism_configured=node.parallelism_configured,
        max_parallelism=node.max_parallelism,
        uid=node.uid,
        user_hash=node.user_hash,
        slot_sharing_group=node.slot_sharing_group,
        co_location_group=node.co_location_group,
        buffer_timeout=node.buffer_timeout,
        state_keys=node.state_keys,
        concurrent_attempts=node.concurrent_attempts,
        location=None if node.source is None else Location(node.source.file, node.source.line),
    )


def kind_of(node: Node) -> str:
    """The kind of an operator, as topologies name it; for kinds unknown to them, the class name."""
    name = node.operator.rpartition(".")[2]
    if node.python is not None:
        return kind_of_python(node.python, name)
    if node.operator.startswith(_ASYNCHRONOUS):
        name = name.removeprefix("Async")
    if node.function is not None and node.function.name.startswith(_TABLE):
        return node.function.name.rpartition(".")[2]
    kind = _KINDS.get(name)
    if kind in _KEYED_TOO and node.state_keys:
        return f"keyed_{kind}"
    return kind or name


def _edges(edges: tuple[Edge, ...]) -> Iterator[StreamEdge]:
    for edge in edges:
        ship = _SHIPS.get(edge.partitioner_class.rpartition(".")[2], Ship.FORWARD)
        if edge.partitioner_class.rpartition(".")[2] not in (*_SHIPS, _UNSPECIFIED):
            ship = Ship.CUSTOM
        yield StreamEdge(
            source=edge.source,
            target=edge.target,
            type_number=edge.type_number,
            partitioner=Partitioner(
                ship,
                selector=edge.partitioner_group + 1 if ship in _WITH_SELECTOR else 0,
                unspecified=edge.partitioner_class.endswith(_UNSPECIFIED),
                unaligned_allowed=edge.unaligned_checkpoints,
            ),
            exchange_mode=ExchangeMode(edge.exchange_mode),
            side_output=edge.side_output,
            buffer_timeout=edge.buffer_timeout,
            index=edge.index,
            unaligned_checkpoints=edge.unaligned_checkpoints,
        )
