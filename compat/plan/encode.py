"""Makes the plan of a compiled job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field, structs
from msgspec.structs import asdict

from compat.compiler.configuration import TIMER_FACTORY, JobSettings
from compat.compiler.driver import Compilation, compile_apart
from compat.compiler.errors import Location, ProgramError
from compat.compiler.gc_policy import collection_paused
from compat.compiler.job import Job
from compat.compiler.streamgraph.graph import StreamGraph, StreamNode
from compat.compiler.transformations.kinds import LegacySource, PhysicalTransformation, Source
from compat.plan.beyond import used_in_functions
from compat.plan.encode_graphs import execution_graph, job_graph, stream_graph
from compat.plan.fed import feeds_of, told_in_python
from compat.plan.keyed_by import key_selectors_of
from compat.plan.python_connectors import connector_of
from compat.plan.records import records_of
from compat.plan.states import Discovery, Opening, Records, call, discover
from compat.state.model.code import UserCode
from compat.state.model.job import (
    PYTHON_EXECUTION_MODE,
    STATE_BACKEND,
    Assumed,
    Beyond,
    Plan,
    Refusal,
    Refused,
    Settings,
    SharedUids,
)
from compat.state.model.operators import Merged, Operator
from compat.state.model.source_line import SourceLine
from compat.state.model.states import State


class Encoding(Struct, frozen=True, kw_only=True):
    """How to make a plan: whether functions may be opened, and how a path of the program is shown.

    ``opening`` calls a function's opening method, and may raise its problem. ``discovered`` are the operators' states
    found so far: no function is opened twice; ``selectors`` are their key selectors.
    """

    call_open: bool = True
    show_path: Callable[[str], str] = str
    opening: Opening = call
    discovered: dict[tuple[int, int], tuple[StreamNode, Discovery]] = field(default_factory=dict)
    selectors: dict[tuple[int, int], tuple[StreamNode, tuple[UserCode | None, ...]]] = field(default_factory=dict)


@collection_paused()
def encode(compilation: Compilation, encoding: Encoding | None = None) -> Plan | Refused:
    """The plan of a compiled job: all graphs, the operators with their states, or the error with the parts that were built."""
    encoding = encoding or Encoding()
    if compilation.error is not None:
        return _refused(compilation, compilation.error, encoding)
    job, graph = compilation.job, compilation.stream_graph
    assert job is not None
    assert graph is not None
    assert compilation.job_graph is not None
    assert compilation.execution_graph is not None
    operators = tuple(_operators(compilation, encoding))
    return Plan(
        flink=job.settings.flink,
        job_name=graph.job_name,
        source=_source(job.location, encoding),
        on_spark=job.on_spark,
        beyond=() if job.on_spark else tuple(_beyond(job, graph, encoding)),
        settings=settings_of(job.settings),
        assumed=_assumed(job, operators),
        stream_graph=stream_graph(graph),
        hashes=_hashes(compilation) or {},
        user_hashes=_user_hashes(compilation) or {},
        job_graph=job_graph(compilation.job_graph),
        execution_graph=execution_graph(compilation.execution_graph),
        operators=operators,
    )


def with_assumed(plan: Plan, read: tuple[Assumed, ...]) -> Plan:
    """The plan, with the facts that its program read from its environment and that were not given."""
    return structs.replace(plan, assumed=(*plan.assumed, *read)) if read else plan


def _assumed(job: Job, operators: Iterable[Operator]) -> tuple[Assumed, ...]:
    """The options that were not set: PyFlink's mode, where the job has functions in Python."""
    told = PYTHON_EXECUTION_MODE in job.settings.options or job.on_spark
    if told or not any("python" in one.detail for one in operators):
        return ()
    return (Assumed(what="option", name=PYTHON_EXECUTION_MODE),)


def _beyond(job: Job, graph: StreamGraph, encoding: Encoding) -> Iterator[Beyond]:
    """What the program used by now and PyFlink lacks, and what the functions of the job will use."""
    yield from as_beyond(job.beyond, "built", encoding)
    yield from as_beyond(used_in_functions(graph).items(), "run", encoding)


def as_beyond(
    noted: Iterable[tuple[str, Location | None]], when: Literal["built", "run", "ended"], encoding: Encoding
) -> Iterator[Beyond]:
    """Names that PyFlink lacks with the lines of their first use, in the form of a plan."""
    return (Beyond(name=name, when=when, source=_source(place, encoding)) for name, place in noted)


def _refused(compilation: Compilation, error: ProgramError, encoding: Encoding) -> Refused:
    job, graph = compilation.job, compilation.stream_graph
    source: SourceLine | UnsetType | None = UNSET if job is None else _source(job.location, encoding)
    return Refused(
        flink="" if job is None else job.settings.flink,
        job_name=None if graph is None else graph.job_name,
        error=_refusal(error, encoding),
        source=source,
        settings=None if job is None else settings_of(job.settings),
        stream_graph=None if graph is None else stream_graph(graph),
        hashes=_hashes(compilation),
        user_hashes=_user_hashes(compilation),
        job_graph=None if compilation.job_graph is None else job_graph(compilation.job_graph),
        apart=_apart(compilation, encoding) if error.stage == "hashes" else None,
    )


def _apart(compilation: Compilation, encoding: Encoding) -> SharedUids | None:
    """The plan of the job without the uids that are there twice; None if it is refused for more than that."""
    if compilation.job is None:
        return None
    apart, shared = compile_apart(compilation.job)
    plan = encode(apart, encoding)
    if isinstance(plan, Refused):
        return None
    return SharedUids(**asdict(plan), shared_uids={str(node): uid for node, uid in shared.items()})


def _refusal(error: ProgramError, encoding: Encoding) -> Refusal:
    return Refusal(
        stage=error.stage,
        op=error.operator if error.stage == "build" else None,
        class_name=error.kind,
        message=error.message,
        code=error.code.value,
        value=error.value,
        operator=error.operator,
        source=_source(error.location, encoding),
    )


def settings_of(settings: JobSettings) -> Settings:
    """The settings of a job that matter for a restore."""
    found: Settings = {
        "parallelism": settings.parallelism,
        "max_parallelism": settings.max_parallelism,
        "mode": settings.mode.value,
        "operator_chaining": settings.chaining,
        "chain_different_max_parallelism": settings.chain_different_max_parallelism,
        "python.operator-chaining.enabled": settings.python_chaining,
        PYTHON_EXECUTION_MODE: "thread" if settings.python_thread_mode else "process",
        "execution.checkpointing.file-merging.enabled": settings.file_merging,
        STATE_BACKEND: settings.options.get(STATE_BACKEND),
        "checkpoint_interval": settings.checkpoint_interval,
        "auto_generated_uids": settings.auto_generated_uids,
    }
    if (factory := settings.options.get(TIMER_FACTORY)) is not None:
        found["state.backend.rocksdb.timer-service.factory"] = factory.upper()
    if settings.ignore_unclaimed:
        found["execution.state-recovery.ignore-unclaimed-state"] = True
    return found


def _hashes(compilation: Compilation) -> dict[str, str] | None:
    return {str(node): hashed for node, hashed in compilation.hashes.items()} or None


def _user_hashes(compilation: Compilation) -> dict[str, str] | None:
    graph = compilation.stream_graph
    if graph is None or not compilation.hashes:
        return None
    return {str(node.id): node.user_hash.lower() for node in graph.nodes.values() if node.user_hash is not None}


def _operators(compilation: Compilation, encoding: Encoding) -> Iterator[Operator]:
    """The operators in the order in which they were numbered."""
    assert compilation.stream_graph is not None
    assert compilation.job_graph is not None
    assert compilation.execution_graph is not None
    graph, jobs = compilation.stream_graph, compilation.job_graph
    vertices = {vertex.id: vertex for vertex in compilation.execution_graph.vertices}
    chained = {operator.node: len(operator.chained_outputs) for vertex in jobs.vertices for operator in vertex.chain}
    bounded = {source.id for source in _sources(compilation) if source.bounded}
    fed = feeds_of(graph, compilation.hashes, lambda id: told_in_python(graph.nodes[id]))
    for position, (id, hashed) in enumerate(compilation.hashes.items()):
        node = graph.nodes[id]
        vertex = vertices[jobs.vertex_of[id]]
        records = cache(partial(records_of, graph, id))
        discovery = _discovered(node, records, encoding)
        detail = discovery.detail.copy()
        detail["chaining_strategy"] = None if node.chaining is None else node.chaining.value
        detail["slot_sharing_group"] = node.slot_sharing_group
        detail["own_max_parallelism"] = node.max_parallelism
        detail["inputs_number"] = len(graph.edges_in[id])
        if any(numbers := [edge.type_number for edge in graph.edges_in[id]]):
            detail["input_numbers"] = numbers
        detail["fed"] = fed[id]
        if id in bounded:
            detail["bounded"] = True
        yield Operator(
            id=hashed,
            user_hash=None if node.user_hash is None else node.user_hash.lower(),
            uid=node.uid,
            name=node.name,
            kind="iteration" if node.operator is None else node.operator.kind,
            parallelism=vertex.parallelism,
            parallelism_configured=node.parallelism_configured,
            max_parallelism=vertex.max_parallelism,
            max_parallelism_configured=vertex.max_parallelism_configured,
            vertex=vertex.id,
            node=id,
            position=position,
            chained_outputs=chained[id],
            inputs=tuple([compilation.hashes[edge.source] for edge in graph.edges_in[id]]),
            source=_source(node.location, encoding),
            has_state=discovery.has_state,
            states=_states(discovery, encoding),
            states_unknown=discovery.unknown,
            more=discovery.more,
            merged=_merged(node, compilation, encoding),
            detail=detail,
            key_selectors=_keyed_by(node, discovery, records, encoding),
            connector=None if node.operator is None else connector_of(node.operator.function),
        )


def _discovered(node: StreamNode, records: Records, encoding: Encoding) -> Discovery:
    """The states of a node, found out once for its operator, which is kept with them."""
    key = id(node.operator), node.id
    known = encoding.discovered.get(key)
    if known is None:
        opening = encoding.opening if encoding.call_open else None
        known = node, discover(node, opening=opening, records=records)
        encoding.discovered[key] = known
    return known[1]


def _keyed_by(
    node: StreamNode, discovery: Discovery, records: Records, encoding: Encoding
) -> tuple[UserCode | None, ...]:
    """The key selectors of an operator that keeps state, found out once."""
    key = id(node.operator), node.id
    if key not in encoding.selectors:
        opening = encoding.opening if encoding.call_open else None
        encoding.selectors[key] = node, key_selectors_of(node, opening, records) if discovery.has_state else ()
    return encoding.selectors[key][1]


def _sources(compilation: Compilation) -> Iterator[Source | LegacySource]:
    """The sources of the job; a file with a topology alone has none."""
    transformations = () if compilation.job is None else compilation.job.pipeline
    return (each for each in transformations if isinstance(each, Source | LegacySource))


def _merged(node: StreamNode, compilation: Compilation, encoding: Encoding) -> tuple[Merged, ...]:
    """The operators that PyFlink melted into this one, behind the first."""
    assert compilation.job is not None
    pipeline = compilation.job.pipeline
    if node.id not in pipeline:
        return ()
    transformation = pipeline[node.id]
    parts = transformation.parts[1:] if isinstance(transformation, PhysicalTransformation) else ()
    return tuple(
        Merged(name=part.name, uid=part.uid, source=_source(part.location, encoding))
        for part in (pipeline[id] for id in parts)
    )


def _states(discovery: Discovery, encoding: Encoding) -> tuple[State, ...] | None:
    """The states, with the places in the program as they are shown."""
    if discovery.states is None:
        return None
    return tuple(
        state if state.source is None else structs.replace(state, source=_shown(state.source, encoding))
        for state in discovery.states
    )


def _shown(place: SourceLine, encoding: Encoding) -> SourceLine:
    return structs.replace(place, file=encoding.show_path(place.file))


def _source(location: Location | None, encoding: Encoding) -> SourceLine | None:
    if location is None:
        return None
    return SourceLine(encoding.show_path(location.file), location.line, location.end)
