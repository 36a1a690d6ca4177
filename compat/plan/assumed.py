"""The same job with another default parallelism, an input that may be missing and that its ids and chains may depend on.

Operator ids depend on which operators are chained, and chains on which parallelisms are equal. So Flink's default, 1,
and one value that no operator uses represent all values of a cluster.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import count

from msgspec import structs
from msgspec.structs import replace

from compat.compiler.configuration import DEFAULT_PARALLELISM, PARALLELISM
from compat.compiler.driver import Compilation, compile_job
from compat.compiler.job import Job
from compat.compiler.jobgraph.graph import JobGraph
from compat.compiler.transformations.alignment import align
from compat.compiler.transformations.merging import merge
from compat.compiler.transformations.pipeline import Pipeline
from compat.plan.encode import Encoding, encode
from compat.state.model.job import Plan, Refused


def with_otherwise(plan: Plan, compilation: Compilation, encoding: Encoding) -> Plan:
    """The plan, with the plan under the other default parallelism beside it if that changes ids or chains."""
    job = compilation.job
    if job is None or job.settings.parallelism != DEFAULT_PARALLELISM or PARALLELISM in job.settings.options:
        return plan
    named = {one.parallelism for one in job.built or () if one.physical and one.parallelism_configured}
    if job.built is None or not named:
        return plan
    other = compile_job(_with_default(job, job.built, another_default(named)))
    if (
        other.job_graph is None
        or compilation.job_graph is None
        or chains(other.job_graph) == chains(compilation.job_graph)
    ):
        return plan
    otherwise = encode(other, encoding)
    return plan if isinstance(otherwise, Refused) else structs.replace(plan, otherwise=otherwise)


def _with_default(job: Job, built: Pipeline, parallelism: int) -> Job:
    """The job as it would be with another default: PyFlink's passes go by parallelisms, too."""
    pipeline = built.copy()
    for one in tuple(pipeline):
        if one.physical and not one.parallelism_configured:
            pipeline.update(one.id, parallelism=parallelism)
        elif not one.physical and one.inputs:
            pipeline.update(one.id, parallelism=pipeline[one.inputs[0]].parallelism)
    align(pipeline)
    if job.settings.python_chaining:
        merge(pipeline)
    return replace(job, pipeline=pipeline, settings=replace(job.settings, parallelism=parallelism))


def another_default(named: Container[int]) -> int:
    """A default parallelism that is neither Flink's nor any operator's own."""
    return next(number for number in count(DEFAULT_PARALLELISM + 1) if number not in named)


def chains(graph: JobGraph) -> list[tuple[str, ...]]:
    """The ids of the operators, chain by chain."""
    return sorted(tuple(operator.id for operator in vertex.operators) for vertex in graph.vertices)
