"""A compiled job as the JSON of ``compat plan``, which is also the snapshot to keep beside a job."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from compat.compiler.configuration import (
    FILE_MERGING,
    PYTHON_CHAINING,
    PYTHON_EXECUTION_MODE,
    STATE_BACKEND,
    JobSettings,
)
from compat.compiler.errors import Location, ProgramError
from compat.compiler.executiongraph.model import ExecutionJobVertex
from compat.compiler.garbage import collection_paused
from compat.compiler.streamgraph.model import StreamGraph, StreamNode
from compat.compiler.transformations.model import PhysicalTransformation
from compat.plan.compilation import Compilation, compile_apart
from compat.plan.facts import State
from compat.plan.encode_graphs import Json, execution_graph_json, job_graph_json, stream_graph_json
from compat.plan.states import Discovery, discover

FORMAT = 1
"""The version of the plan's JSON. It changes when a reader of the old one could misread the new one."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How to write a plan: whether functions may be opened, and how a path of the program is shown."""

    call_open: bool = True
    show_path: Callable[[str], str] = str


@collection_paused()
def plan_json(compilation: Compilation, encoding: Encoding | None = None) -> Json:
    """The plan of a compiled job: all graphs, the operators with their states, or the error beside what was made."""
    encoding = encoding or Encoding()
    job, graph = compilation.job, compilation.stream_graph
    plan: Json = {"format": FORMAT, "flink": "" if job is None else job.settings.flink}
    plan["job_name"] = None if graph is None else graph.job_name
    plan["error"] = None if compilation.error is None else error_json(compilation.error, encoding)
    if job is not None:
        plan["source"] = _source(job.location, encoding)
        plan["settings"] = settings_json(job.settings)
    if graph is not None:
        plan["stream_graph"] = stream_graph_json(graph)
    if compilation.hashes:
        assert graph is not None
        plan["hashes"] = {str(node): hashed for node, hashed in compilation.hashes.items()}
        plan["user_hashes"] = {
            str(node.id): node.user_hash.lower() for node in graph.nodes.values() if node.user_hash is not None
        }
    if compilation.job_graph is not None:
        plan["job_graph"] = job_graph_json(compilation.job_graph)
    if compilation.execution_graph is not None:
        plan["execution_graph"] = execution_graph_json(compilation.execution_graph)
        plan["operators"] = list(_operators(compilation, encoding))
    if job is not None and compilation.error is not None and compilation.error.stage == "hashes":
        apart, shared = compile_apart(job)
        plan["apart"] = plan_json(apart, encoding) | {"shared_uids": {str(node): uid for node, uid in shared.items()}}
    return plan


def error_json(error: ProgramError, encoding: Encoding | None = None) -> Json:
    """A refusal: the stage, the entry or operator, Flink's exception, its message, and the place in the program."""
    return {
        "stage": error.stage,
        "op": error.operator if error.stage == "build" else None,
        "class": error.kind,
        "message": error.message,
        "operator": error.operator,
        "source": _source(error.location, encoding or Encoding()),
    }


def settings_json(settings: JobSettings) -> Json:
    """The settings that matter for a restore."""
    return {
        "parallelism": settings.parallelism,
        "max_parallelism": settings.max_parallelism,
        "mode": settings.mode.value,
        "operator_chaining": settings.chaining,
        "chain_different_max_parallelism": settings.chain_different_max_parallelism,
        PYTHON_CHAINING: settings.python_chaining,
        PYTHON_EXECUTION_MODE: "thread" if settings.python_thread_mode else "process",
        FILE_MERGING: settings.file_merging,
        STATE_BACKEND: settings.options.get(STATE_BACKEND),
        "checkpoint_interval": settings.checkpoint_interval,
        "auto_generated_uids": settings.auto_generated_uids,
    }


def _operators(compilation: Compilation, encoding: Encoding) -> Iterator[Json]:
    """The operators in the order in which they were numbered."""
    assert compilation.stream_graph is not None
    assert compilation.job_graph is not None
    assert compilation.execution_graph is not None
    graph, job_graph = compilation.stream_graph, compilation.job_graph
    vertices = {vertex.id: vertex for vertex in compilation.execution_graph.vertices}
    chained = {
        operator.node: len(operator.chained_outputs) for vertex in job_graph.vertices for operator in vertex.chain
    }
    for position, (id, hashed) in enumerate(compilation.hashes.items()):
        node = graph.nodes[id]
        vertex = vertices[job_graph.vertex_of[id]]
        discovery = discover(node, call_open=encoding.call_open)
        yield {
            "operator_id": hashed,
            "user_hash": None if node.user_hash is None else node.user_hash.lower(),
            "uid": node.uid,
            "name": node.name,
            "kind": "iteration" if node.operator is None else node.operator.kind,
            "parallelism": vertex.parallelism,
            "parallelism_configured": node.parallelism_configured,
            "max_parallelism": vertex.max_parallelism,
            "max_parallelism_configured": vertex.max_parallelism_configured,
            "vertex": vertex.id,
            "node": id,
            "position": position,
            "chained_outputs": chained[id],
            "inputs": [compilation.hashes[edge.source] for edge in graph.edges_in[id]],
            "source": _source(node.location, encoding),
            "has_state": discovery.has_state,
            "states": _states(discovery),
            "states_unknown": discovery.unknown,
            "merged": _merged(node, compilation, encoding),
            "detail": {**discovery.detail, **_settings_of(node, vertex, graph)},
        }


def _states(discovery: Discovery) -> list[Json] | None:
    return None if discovery.states is None else [state_json(state) for state in discovery.states]


def state_json(state: State) -> Json:
    """One state, without the fields that say nothing."""
    shown: Json = {
        "name": state.name,
        "kind": state.kind.value,
        "scope": state.scope.value,
        "type": state.type,
        "key_type": state.key_type,
        "namespace_type": state.namespace_type,
        "ttl": state.ttl,
    }
    for flag in ("built_in", "unstable"):
        if getattr(state, flag):
            shown[flag] = True
    for size in ("keys", "bytes"):
        if getattr(state, size) is not None:
            shown[size] = getattr(state, size)
    return shown


def _merged(node: StreamNode, compilation: Compilation, encoding: Encoding) -> list[Json]:
    """The operators that PyFlink melted into this one, behind the first."""
    assert compilation.job is not None
    pipeline = compilation.job.pipeline
    if node.id not in pipeline:
        return []
    transformation = pipeline[node.id]
    parts = transformation.parts[1:] if isinstance(transformation, PhysicalTransformation) else ()
    return [
        {"name": part.name, "uid": part.uid, "source": _source(part.location, encoding)}
        for part in (pipeline[id] for id in parts)
    ]


def _settings_of(node: StreamNode, vertex: ExecutionJobVertex, graph: StreamGraph) -> Json:
    """What else a rule may ask of an operator."""
    return {
        "chaining_strategy": None if node.chaining is None else node.chaining.value,
        "slot_sharing_group": node.slot_sharing_group,
        "own_max_parallelism": node.max_parallelism,
        "inputs_number": len(graph.edges_in[node.id]),
    }


def _source(location: Location | None, encoding: Encoding) -> Json | None:
    if location is None:
        return None
    shown: Json = {"file": encoding.show_path(location.file), "line": location.line}
    if location.end is not None:
        shown["end"] = list(location.end)
    return shown


def dump_plan(plan: Mapping[str, Any]) -> str:
    """The text of a plan: one line an item of each list, so that a diff of two shows what changed."""
    lines: list[str] = ["{"]
    fields = list(plan.items())
    for index, (key, value) in enumerate(fields):
        comma = "," if index + 1 < len(fields) else ""
        lines.append(f"  {json.dumps(key)}: {_value(value, '  ')}{comma}")
    lines.append("}")
    return "\n".join(lines) + "\n"


def json_text(value: Any) -> str:
    """A value as JSON on one line. Half a surrogate pair, which UTF-8 has no bytes for, is written as an escape."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode("utf-8")


def _value(value: Any, indent: str) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict | list):
        inner = ",\n".join(f"{indent}  {json_text(item)}" for item in value)
        return f"[\n{inner}\n{indent}]"
    if isinstance(value, dict) and any(isinstance(item, dict | list) and item for item in value.values()):
        inner = ",\n".join(f"{indent}  {json_text(key)}: {_value(item, indent + '  ')}" for key, item in value.items())
        return f"{{\n{inner}\n{indent}}}"
    return json_text(value)
