"""From a job to its graphs, as far as they can be made."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.errors import ProgramError
from compiler.executiongraph.generator import generate as generate_execution_graph
from compiler.executiongraph.model import ExecutionGraph
from compiler.garbage import collection_paused
from compiler.job import Job
from compiler.jobgraph.generator import generate as generate_job_graph
from compiler.jobgraph.model import JobGraph
from compiler.streamgraph.generator import generate as generate_stream_graph
from compiler.streamgraph.hashing import generate_hashes
from compiler.streamgraph.model import StreamGraph


@dataclass(slots=True)
class Compilation:
    """The graphs of a job. What comes after an error is None; ``hashes`` are in the order in which they were computed."""

    job: Job | None
    stream_graph: StreamGraph | None = None
    hashes: dict[int, str] = field(default_factory=dict)
    job_graph: JobGraph | None = None
    execution_graph: ExecutionGraph | None = None
    error: ProgramError | None = None


@collection_paused()
def compile_job(job: Job) -> Compilation:
    """Make all graphs of a job; a refusal ends the work and is kept beside what was made before it."""
    compilation = Compilation(job)
    try:
        compilation.stream_graph = generate_stream_graph(job)
        compilation.hashes = generate_hashes(compilation.stream_graph)
        compilation.job_graph = generate_job_graph(compilation.stream_graph, compilation.hashes)
        compilation.execution_graph = generate_execution_graph(compilation.job_graph)
    except ProgramError as error:
        compilation.error = error
    return compilation
