"""A job that Flink built as a plan: the same model, and so the same rules, as of programs in Python."""

from __future__ import annotations

import json
from collections.abc import Callable

from compat.loader.jvm.compiled import CompiledJob, compiled, kind_of, minor_version
from compat.loader.jvm.model import Crash, JavaFrame, Job, Node, Serializer, State, Statement
from compat.loader.jvm.pyflink.plans import python_detail, python_states
from compat.plan import model
from compat.plan.encode import settings_of
from compat.plan.encode_graphs import execution_graph, job_graph, stream_graph
from compat.plan.recorded_states import kept_by_flink, recorded_state
from compat.plan.shapes import of_snapshot
from compat.state.flink import StateMeta
from compat.state.flink.binary import ByteReader
from compat.state.flink.errors import SavepointError
from compat.state.flink.snapshots import SerializerSnapshot, read_versioned

_TYPES = {"keyed": "KEY_VALUE", "operator": "OPERATOR", "broadcast": "BROADCAST", "timer": "PRIORITY_QUEUE"}
_OPTIONS = {"keyed": "KEYED_STATE_TYPE", "operator": "OPERATOR_STATE_DISTRIBUTION_MODE"}
_COLLISION = "Hash collision on user-specified ID"


def plan_of(job: Job, shown: str, show_path: Callable[[str], str] = str) -> model.Plan:
    """The plan of a job; ``shown`` is what reports call its program, and ``show_path`` gives what they call a file of Python.

    Raises Disagreement.
    """
    made = compiled(job)
    nodes = {node.id: node for node in job.nodes}
    sql = bool(job.statements or job.exec_plan)
    exec_nodes = _exec_nodes(job.exec_plan)
    return model.Plan(
        flink=minor_version(job.flink),
        job_name=job.name,
        language="python" if job.python else "sql" if sql else "java",
        statements=tuple(
            model.Statement(text=one.text, file=show_path(one.file) if one.file else shown, line=one.line)
            for one in job.statements
        ),
        settings=settings_of(made.settings),
        stream_graph=stream_graph(made.stream_graph),
        hashes={str(id): hashed for id, hashed in made.hashes.items()},
        user_hashes={str(node.id): node.user_hash.lower() for node in job.nodes if node.user_hash is not None},
        job_graph=job_graph(made.job_graph),
        execution_graph=execution_graph(made.execution_graph),
        operators=tuple(
            _operator(nodes[id], position, made, exec_nodes, lambda frame: _line(frame, show_path))
            for position, id in enumerate(made.hashes)
        ),
        empty_savepoint=job.savepoint or None,
    )


def refused_of(crash: Crash, flink: str, shown: str, show_path: Callable[[str], str] = str) -> model.Refused:
    """A job that Flink refuses, as a plan tells it; ``shown`` and ``show_path`` are as of :func:`plan_of`."""
    return model.Refused(
        flink=minor_version(flink),
        error=model.Refusal(
            stage="hashes" if _COLLISION in crash.message else "jobGraph",
            class_name=crash.type,
            message=crash.message,
            source=_line(crash.frames[0], show_path) if crash.frames else _statement_line(crash.statement, shown),
        ),
    )


def _statement_line(statement: Statement | None, shown: str) -> model.SourceLine | None:
    return None if statement is None else model.SourceLine(shown, statement.line)


def _operator(
    node: Node,
    position: int,
    made: CompiledJob,
    exec_nodes: dict[int, str],
    line: Callable[[JavaFrame], model.SourceLine],
) -> model.Operator:
    vertex_id = made.job_graph.vertex_of[node.id]
    vertex = next(one for one in made.execution_graph.vertices if one.id == vertex_id)
    chained = next(len(one.chained_outputs) for one in vertex.job_vertex.chain if one.node == node.id)
    states, unknown, detail = _states(node), node.states.unknown, _detail(node)
    if node.python is not None:
        told = python_states(node.python, line)
        detail |= python_detail(node.python, node.operator, told)
        states, unknown = None if node.python.unknown else told, node.python.unknown
    return model.Operator(
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
        has_state=bool(states) or bool(unknown),
        states=states,
        states_unknown=unknown or None,
        merged=tuple(
            model.Merged(name=one.name, uid=one.uid, source=None if one.source is None else line(one.source))
            for one in node.merged
        ),
        detail=_windows(states or ()) | detail,
        exec_node=exec_nodes.get(_number(node.name)),
    )


def _line(frame: JavaFrame, show_path: Callable[[str], str]) -> model.SourceLine:
    if not frame.class_name:
        return model.SourceLine(show_path(frame.file), frame.line)
    return model.SourceLine(
        frame.file or frame.class_name, frame.line, class_name=frame.class_name, method=frame.method
    )


def _detail(node: Node) -> model.Detail:
    detail: model.Detail = {
        "chaining_strategy": node.chaining_strategy,
        "slot_sharing_group": node.slot_sharing_group,
        "own_max_parallelism": node.max_parallelism,
        "inputs_number": len(node.inputs),
    }
    if node.function is not None:
        detail["class"] = node.function.name
        detail["function"] = node.function.name
    return detail


def _windows(states: tuple[model.State, ...]) -> model.Detail:
    """The kind of the windows that an operator keeps state for."""
    window = next((state.namespace_type for state in states if state.namespace_type is not None), None)
    return {} if window is None else {"window": f"{window}s"}


def _states(node: Node) -> tuple[model.State, ...] | None:
    """The states of an operator; None if they are unknown."""
    if node.states.unknown:
        return None
    key = node.states.key_serializer
    states = [_state(state, key) for state in node.states.states]
    if node.coordinator:
        states.append(
            model.State(
                name="coordinator",
                kind=model.StateKind.COORDINATOR,
                scope=model.StateScope.OPERATOR,
                built_in=True,
            )
        )
    return tuple(states)


def _state(state: State, key: Serializer | None) -> model.State:
    meta = StateMeta(
        name=state.name,
        type=_TYPES[state.scope],
        options=((_OPTIONS[state.scope], state.kind),) if state.scope in _OPTIONS else (),
        serializers=tuple((part, _read(serializer)) for part, serializer in state.serializers.items()),
    )
    told = recorded_state(meta, None)
    keyed = told.scope is model.StateScope.KEYED
    ttl = None if state.use is None else state.use.ttl
    return model.State(
        name=state.name,
        kind=told.kind or model.StateKind.VALUE,
        scope=told.scope,
        type=None if told.value is None else str(told.value),
        key_type=_type_of(key) if keyed and key is not None else None,
        namespace_type=None if told.namespace is None else str(told.namespace),
        ttl=ttl if ttl is not None else 0 if told.ttl else None,
        built_in=kept_by_flink(told, state.name),
        serializers=model.Serializers(
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


def _exec_nodes(plan: str | None) -> dict[int, str]:
    """The nodes of a compiled plan by their numbers, as JSON."""
    if plan is None:
        return {}
    return {int(node["id"]): json.dumps(node) for node in json.loads(plan)["nodes"]}


def _number(name: str) -> int:
    """The number of the ExecNode in the name of an operator that it made: 6 of ``GroupAggregate[6]``; -1 for others."""
    number = name.rpartition("[")[2].removesuffix("]")
    return int(number) if name.endswith("]") and number.isdigit() else -1
