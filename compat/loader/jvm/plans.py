"""A job built by Flink as a plan: the same model, and therefore the same rules, as for Python programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from compat.compiler.errors import Location, ProgramError
from compat.loader.jvm.assumed import otherwise_of
from compat.loader.jvm.compiled import CompiledJob, compiled, kind_of, minor_version
from compat.loader.jvm.messages import Crash, DeclaredState, JavaFrame, Job, Node, Serializer, SqlStatement, Window
from compat.loader.jvm.pyflink.plans import python_detail, python_states
from compat.loader.jvm.queries import of_queries, table_settings
from compat.plan.encode import settings_of
from compat.plan.encode_graphs import execution_graph, job_graph, stream_graph
from compat.plan.fed import feeds_of
from compat.plan.recorded_states import kept_by_flink, recorded_state
from compat.plan.shapes import of_snapshot
from compat.state.flink import StateMeta
from compat.state.flink.binary import ByteReader
from compat.state.flink.errors import SavepointError
from compat.state.flink.snapshots import SerializerSnapshot, read_versioned
from compat.state.model.job import Assumed, Plan, Refusal, Refused, Statement
from compat.state.model.operators import Detail, Merged, Operator
from compat.state.model.source_line import SourceLine
from compat.state.model.states import Known, Serializers, State, StateKind, StateScope

_TYPES = {"keyed": "KEY_VALUE", "operator": "OPERATOR", "broadcast": "BROADCAST", "timer": "PRIORITY_QUEUE"}
_OPTIONS = {"keyed": "KEYED_STATE_TYPE", "operator": "OPERATOR_STATE_DISTRIBUTION_MODE"}
_TAGGERS = ("CoGroupedStreams$Input1Tagger", "CoGroupedStreams$Input2Tagger")
_COLLISION = "Hash collision on user-specified ID"


class _Around(Struct, frozen=True, kw_only=True):
    """What stands around an operator: the compiled job, and what is known of other nodes, by their ids.

    ``sides`` are the inputs that the taggers of a window join stand for, ``origins`` the names of the sources that each
    node gets records from, and ``fed`` digests of these and of the functions in between. ``line`` gives a program line's name
    in reports.
    """

    made: CompiledJob
    sides: dict[int, int]
    origins: dict[int, frozenset[str]]
    fed: dict[int, str]
    line: Callable[[JavaFrame], SourceLine]


def plan_of(job: Job, shown: str, show_path: Callable[[str], str] = str) -> Plan:
    """The plan of a job; ``shown`` is what reports call its program, and ``show_path`` gives what they call a file of Python.

    Raises Disagreement, and ProgramError if the cluster would not start it.
    """
    made = compiled(job)
    plan = _plan(job, made, shown, show_path)
    other = otherwise_of(job, made)
    return plan if other is None else replace(plan, otherwise=_plan(*other, shown, show_path))


def _plan(job: Job, made: CompiledJob, shown: str, show_path: Callable[[str], str]) -> Plan:
    nodes = {node.id: node for node in job.nodes}
    sql = bool(job.statements or job.exec_plan)
    around = _Around(
        made=made,
        sides=_sides(job.nodes),
        origins=_origins(nodes, made),
        fed=feeds_of(made.stream_graph, made.hashes, lambda id: _told(nodes[id])),
        line=lambda frame: _line(frame, show_path),
    )
    lines = tuple(SourceLine(show_path(one.file) if one.file else shown, one.line) for one in job.statements)
    return Plan(
        flink=minor_version(job.flink),
        job_name=job.name,
        language="python" if job.python else "sql" if sql else "java",
        alone=job.alone,
        assumed=tuple(Assumed(what="variable", name=name) for name in job.variables),
        statements=tuple(
            Statement(text=one.text, file=line.file, line=line.line)
            for one, line in zip(job.statements, lines, strict=True)
        ),
        settings={**settings_of(made.settings), **table_settings(job)},
        stream_graph=stream_graph(made.stream_graph),
        hashes={str(id): hashed for id, hashed in made.hashes.items()},
        user_hashes={str(node.id): node.user_hash.lower() for node in job.nodes if node.user_hash is not None},
        job_graph=job_graph(made.job_graph),
        execution_graph=execution_graph(made.execution_graph),
        operators=of_queries(
            job,
            lines,
            tuple(_operator(nodes[id], position, around) for position, id in enumerate(made.hashes)),
        ),
        empty_savepoint=job.savepoint or None,
        samples=job.samples,
    )


def refused_of(crash: Crash, flink: str, shown: str, show_path: Callable[[str], str] = str) -> Refused:
    """The plan of a job that Flink refuses; ``shown`` and ``show_path`` are as for :func:`plan_of`."""
    return Refused(
        flink=minor_version(flink),
        error=Refusal(
            stage="hashes" if _COLLISION in crash.message else "jobGraph",
            class_name=crash.type,
            message=crash.message,
            source=_line(crash.frames[0], show_path) if crash.frames else _statement_line(crash.statement, shown),
        ),
    )


def refused_by(error: ProgramError, job: Job, show_path: Callable[[str], str] = str) -> Refused:
    """The plan of a job that Flink builds but does not start."""
    lines = (node.source for node in job.nodes if node.source is not None)
    at = next((one for one in lines if error.location == Location(one.file, one.line)), None)
    return Refused(
        flink=minor_version(job.flink),
        job_name=job.name,
        error=Refusal(
            stage=error.stage,
            class_name=error.kind,
            message=error.message,
            code=error.code.value,
            value=error.value,
            operator=error.operator,
            source=None if at is None else _line(at, show_path),
        ),
    )


def _statement_line(statement: SqlStatement | None, shown: str) -> SourceLine | None:
    return None if statement is None else SourceLine(shown, statement.line)


def _operator(node: Node, position: int, around: _Around) -> Operator:
    made, line = around.made, around.line
    vertex_id = made.job_graph.vertex_of[node.id]
    vertex = next(one for one in made.execution_graph.vertices if one.id == vertex_id)
    chained = next(len(one.chained_outputs) for one in vertex.job_vertex.chain if one.node == node.id)
    states, unknown = _states(node), node.states.unknown
    detail = _detail(node, states or (), around)
    if node.python is not None:
        told = python_states(node.python, line)
        detail |= python_detail(node.python, node.operator, told)
        states, unknown = None if node.python.unknown else told, node.python.unknown
    return Operator(
        id=node.generated_id,
        user_hash=None if node.user_hash is None else node.user_hash.lower(),
        uid=node.uid,
        name=node.name,
        kind=kind_of(node),
        description=node.description or None,
        parallelism=vertex.parallelism,
        parallelism_configured=node.parallelism_configured,
        max_parallelism=vertex.max_parallelism,
        max_parallelism_configured=vertex.max_parallelism_configured,
        vertex=vertex.id,
        node=node.id,
        position=position,
        chained_outputs=chained,
        inputs=tuple(made.hashes[edge.source] for edge in made.stream_graph.edges_in[node.id]),
        source=None if node.source is None else line(node.source),
        has_state=bool(states) or bool(unknown) or node.states.more is not None,
        states=states,
        states_unknown=unknown or None,
        more=node.states.more,
        merged=tuple(
            Merged(name=one.name, uid=one.uid, source=None if one.source is None else line(one.source))
            for one in node.merged
        ),
        detail=detail,
        connector=node.connector,
        function=node.function,
        called=node.called,
        key_selectors=node.key_selectors,
        key=node.states.key,
    )


def _line(frame: JavaFrame, show_path: Callable[[str], str]) -> SourceLine:
    if not frame.class_name:
        return SourceLine(show_path(frame.file), frame.line)
    return SourceLine(frame.file or frame.class_name, frame.line, class_name=frame.class_name, method=frame.method)


def _detail(node: Node, states: tuple[State, ...], around: _Around) -> Detail:
    detail: Detail = {
        "chaining_strategy": node.chaining_strategy,
        "slot_sharing_group": node.slot_sharing_group,
        "own_max_parallelism": node.max_parallelism,
        "inputs_number": len(node.inputs),
    }
    traits = node.traits
    if node.function is not None:
        detail["class"] = node.function.name
        detail["function"] = node.function.name
    if node.states.holding is not None:
        detail["holding"] = node.states.holding
    if traits.timers is not None:
        detail["timers"] = traits.timers
    if node.drawn is not None:
        detail["uid_drawn"] = node.drawn
    if traits.asynchronous:
        detail["asynchronous"] = True
    if traits.ends:
        detail["bounded"] = True
    if traits.bounds is not None:
        detail["join_bounds"] = traits.bounds
    if traits.pattern is not None:
        detail["pattern"] = traits.pattern
    numbers = [around.sides.get(edge.source, edge.type_number) for edge in node.inputs]
    if any(numbers):
        detail["input_numbers"] = numbers
    if origins := around.origins[node.id]:
        detail["origins"] = sorted(origins)
    detail["fed"] = around.fed[node.id]
    detail.update(_window_detail(node.traits.window, states))
    return detail


def _window_detail(window: Window | None, states: tuple[State, ...]) -> Detail:
    """How the windows of an operator are cut and end; of those that SQL makes, and of other operators, the type alone."""
    if window is None:
        namespace = next((state.namespace_type for state in states if state.namespace_type is not None), None)
        return {} if namespace is None else {"window": f"{namespace}s"}
    return {
        "window": window.assigner,
        "window_class": window.assigner_class,
        "window_clock": "event time" if window.event_time else "processing time",
        "window_merging": window.merging,
        "window_function": window.function,
        "trigger": window.trigger,
        "evictor": window.evictor,
        "lateness": window.lateness,
    }


def _told(node: Node) -> Iterator[str]:
    """The code and the values of the user's function in a node, where its code is at hand."""
    code = node.function
    if code is not None and code.digest is not None:
        yield " ".join([node.operator, code.digest, *(f"{one.name} {one.digest}" for one in code.captured)])
    if node.python is not None:
        yield from (f"{node.operator} {one.code}" for one in (node.python, *node.python.chained) if one.code)


def _sides(nodes: Iterable[Node]) -> dict[int, int]:
    """The nodes that mark the records of the two sides of a window join or coGroup, and the side."""
    return {
        node.id: side
        for node in nodes
        if node.function is not None
        for side, tagger in enumerate(_TAGGERS, start=1)
        if node.function.name.endswith(tagger)
    }


def _origins(nodes: Mapping[int, Node], made: CompiledJob) -> dict[int, frozenset[str]]:
    """The names of the sources whose records come to each node; inputs stand before what they feed."""
    found: dict[int, frozenset[str]] = {}
    for id in made.hashes:
        inputs = [found.get(edge.source, frozenset()) for edge in made.stream_graph.edges_in[id]]
        found[id] = frozenset[str]().union(*inputs) if inputs else frozenset({nodes[id].name})
    return found


def _states(node: Node) -> tuple[State, ...] | None:
    """The states of an operator; None if they are unknown."""
    if node.states.unknown:
        return None
    key = node.states.key_serializer
    states = [_state(state, key) for state in node.states.states]
    if node.coordinator:
        states.append(
            State(
                name="coordinator",
                kind=StateKind.COORDINATOR,
                scope=StateScope.OPERATOR,
                built_in=True,
                known=Known.BUILT_IN,
            )
        )
    return tuple(states)


def _state(state: DeclaredState, key: Serializer | None) -> State:
    meta = StateMeta(
        name=state.name,
        type=_TYPES[state.scope],
        options=((_OPTIONS[state.scope], state.kind),) if state.scope in _OPTIONS else (),
        serializers=tuple((part, _read(serializer)) for part, serializer in state.serializers.items()),
    )
    told = recorded_state(meta, None)
    keyed = told.scope is StateScope.KEYED
    ttl = None if state.use is None else state.use.ttl
    by_flink = kept_by_flink(told, state.name)
    return State(
        name=state.name,
        kind=told.kind or StateKind.VALUE,
        scope=told.scope,
        type=None if told.value is None else str(told.value),
        key_type=_type_of(key) if keyed and key is not None else None,
        namespace_type=None if told.namespace is None else str(told.namespace),
        ttl=ttl if ttl is not None else 0 if told.ttl else None,
        built_in=by_flink,
        known=Known.BUILT_IN if by_flink else Known.OPENED,
        function=None if state.use is None else state.use.function,
        classes=state.classes,
        serializers=Serializers(
            key=_written(key if keyed else state.serializers.get("KEY_SERIALIZER")),
            namespace=_written(state.serializers.get("NAMESPACE_SERIALIZER")),
            value=_written(state.serializers.get("VALUE_SERIALIZER")),
        ),
    )


def _written(serializer: Serializer | None) -> bytes | None:
    return None if serializer is None else serializer.written


def _type_of(serializer: Serializer) -> str:
    """The type that a serializer is for: told by its snapshot, else the serializer's own name."""
    shape = of_snapshot(_read(serializer))
    return serializer.serializer.rpartition(".")[2] if shape is None else str(shape)


def _read(serializer: Serializer) -> SerializerSnapshot:
    try:
        return read_versioned(ByteReader(serializer.written, serializer.snapshot), 0)
    except SavepointError as error:
        return SerializerSnapshot(serializer.snapshot, serializer.version, unknown=str(error), complete=False)
