"""The same job with another default parallelism: what the input does not say, and its ids and chains may hang on.

Operator ids depend on which operators are chained, and chains on which parallelisms are equal. So Flink's default, 1, and one
that no operator names stand for all that a cluster may set.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from msgspec import structs

from compat.compiler.configuration import DEFAULT_PARALLELISM, PARALLELISM
from compat.compiler.driver import Compilation, compile_job
from compat.compiler.job import Job
from compat.compiler.transformations.alignment import align
from compat.compiler.transformations.merging import merge
from compat.compiler.transformations.pipeline import Pipeline
from compat.plan.encode import Encoding, encode
from compat.state.model.job import Plan, Refused


def with_otherwise(plan: Plan, compilation: Compilation, encoding: Encoding) -> Plan:
    """The plan, with that of the other default parallelism beside it where that makes other ids or chains."""
    job = compilation.job
    if job is None or job.settings.parallelism != DEFAULT_PARALLELISM or PARALLELISM in job.settings.options:
        return plan
    named = {one.parallelism for one in job.built or () if one.physical and one.parallelism_configured}
    if job.built is None or not named:
        return plan
    parallelism = next(number for number in count(DEFAULT_PARALLELISM + 1) if number not in named)
    other = compile_job(_with_default(job, job.built, parallelism))
    if other.error is not None or _ids(other) == _ids(compilation):
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


def _ids(compilation: Compilation) -> list[tuple[str, ...]]:
    """The ids of the operators, chain by chain."""
    assert compilation.job_graph is not None
    hashes = compilation.hashes
    return sorted(
        tuple(hashes[operator.node] for operator in vertex.chain) for vertex in compilation.job_graph.vertices
    )
