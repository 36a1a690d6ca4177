"""The one way from a job to its graphs: plans, checks and runs all compile here, and each job once.

The steps are the layers of this package: ``streamgraph``, its hashes, ``jobgraph``, ``executiongraph``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from compat.compiler.errors import ProgramError
from compat.compiler.executiongraph.generator import generate as generate_execution_graph
from compat.compiler.executiongraph.graph import ExecutionGraph
from compat.compiler.gc_policy import collection_paused
from compat.compiler.job import Job
from compat.compiler.jobgraph.generator import generate as generate_job_graph
from compat.compiler.jobgraph.graph import JobGraph
from compat.compiler.streamgraph.generator import generate as generate_stream_graph
from compat.compiler.streamgraph.graph import StreamGraph
from compat.compiler.streamgraph.hashing import generate_hashes


@dataclass(slots=True)
class Compilation:
    """The graphs of a job. What comes after an error is None; ``hashes`` are in the order in which they were computed."""

    job: Job | None
    stream_graph: StreamGraph | None = None
    hashes: dict[int, str] = field(default_factory=dict)
    job_graph: JobGraph | None = None
    execution_graph: ExecutionGraph | None = None
    error: ProgramError | None = None

    def or_refuse(self) -> Compilation:
        """The compilation, if all graphs could be made. Raises the refusal otherwise."""
        if self.error is not None:
            raise self.error
        return self


@collection_paused()
def compile_job(job: Job) -> Compilation:
    """Make all graphs of a job; a refusal ends the work and is kept beside what was made before it."""
    compilation = Compilation(job)
    try:
        compilation.stream_graph = generate_stream_graph(job)
        _finish(compilation, compilation.stream_graph)
    except ProgramError as error:
        compilation.error = error
    return compilation


@collection_paused()
def compile_apart(job: Job) -> tuple[Compilation, Mapping[int, str]]:
    """The job that it would be if of several operators with one uid only the first had it.

    Gives it with the uid of each operator that shares one, by the number of its node.
    """
    compilation = Compilation(job)
    graph = generate_stream_graph(job)
    nodes = dict(graph.nodes)
    holders: dict[str, int] = {}
    shared: dict[int, str] = {}
    for id, node in sorted(graph.nodes.items()):
        if node.uid is None:
            continue
        first = holders.setdefault(node.uid, id)
        if first != id:
            shared |= {first: node.uid, id: node.uid}
            nodes[id] = replace(node, uid=None)
    compilation.stream_graph = replace(graph, nodes=nodes)
    try:
        _finish(compilation, compilation.stream_graph)
    except ProgramError as error:
        compilation.error = error
    return compilation, shared


def _finish(compilation: Compilation, graph: StreamGraph) -> None:
    """Make what follows from the stream graph. Raises ProgramError."""
    compilation.hashes = generate_hashes(graph)
    compilation.job_graph = generate_job_graph(graph, compilation.hashes)
    compilation.execution_graph = generate_execution_graph(compilation.job_graph)
