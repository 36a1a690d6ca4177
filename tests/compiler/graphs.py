"""Small jobs, one call a line, as the graphs of a layer."""

from __future__ import annotations

from typing import Any

from compat.compiler.executiongraph.generator import generate as generate_execution_graph
from compat.compiler.executiongraph.graph import ExecutionGraph
from compat.compiler.jobgraph.generator import generate as generate_job_graph
from compat.compiler.jobgraph.graph import JobGraph
from compat.compiler.streamgraph.generator import generate as generate_stream_graph
from compat.compiler.streamgraph.graph import StreamGraph
from compat.compiler.topology.build import build_job

BATCH = {"execution.runtime-mode": "BATCH"}


def op(id: str, kind: str, *inputs: str, **fields: Any) -> dict[str, Any]:
    """A call of a topology."""
    return {"id": id, "kind": kind, **({"inputs": list(inputs)} if inputs else {}), **fields}


def stream_graph(
    *ops: dict[str, Any], parallelism: int = 2, flink: str = "2.3", options: dict[str, str] | None = None
) -> StreamGraph:
    """The StreamGraph of the calls."""
    spec = {"env": {"parallelism": parallelism}, "ops": list(ops)}
    return generate_stream_graph(build_job(spec, flink=flink, defaults=options or {}))


def job_graph(*ops: dict[str, Any], **settings: Any) -> JobGraph:
    """The JobGraph of the calls."""
    return generate_job_graph(stream_graph(*ops, **settings))


def execution_graph(*ops: dict[str, Any], **settings: Any) -> ExecutionGraph:
    """The ExecutionGraph of the calls."""
    return generate_execution_graph(job_graph(*ops, **settings))
