"""The calls at the ends of a topology: sources and sinks."""

from __future__ import annotations

from typing import Any

from compat.compiler.topology.in_making import JobInMaking, choice
from compat.compiler.topology.parse import Entry
from compat.compiler.topology.sinks import SINK_TOPOLOGIES
from compat.compiler.topology.streams import Stream
from compat.compiler.transformations import kinds
from compat.compiler.transformations.operators import Call, ChainingStrategy


def source(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """A source of `from_source`, bounded or not."""
    changes: dict[str, Any] = {}
    if entry.kind == "source_data":
        changes = {"parallelism": 1, "parallelism_configured": True}
    source = kinds.Source(
        **job.common(entry, **changes),
        operator=job.operator(entry, Call.SOURCE, factory="SourceOperatorFactory", coordinated=True),
        bounded=entry.kind != "source_unbounded",
    )
    return Stream(job.pipeline.add(source, register=False).id)


def legacy_source(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """A source of `add_source`, or a collection."""
    parallel = entry.kind == "legacy_source" and entry.get("parallelSource", False)
    changes = {} if parallel else {"parallelism": 1, "parallelism_configured": True}
    source = kinds.LegacySource(
        **job.common(entry, **changes),
        operator=job.operator(entry, Call.LEGACY_SOURCE),
        chaining=ChainingStrategy.HEAD,
        bounded=entry.kind == "collection",
        parallel=parallel,
    )
    return Stream(job.pipeline.add(source, register=False).id)


def sink(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """A sink of `sink_to`, with the operators of its topology."""
    stream = inputs[0]
    sink = kinds.Sink(
        **job.common(entry),
        input=stream.id,
        keyed=stream.keyed,
        key_type=stream.key_type,
        topology=choice(entry, "topology", SINK_TOPOLOGIES, "writer"),
    )
    return Stream(job.pipeline.add(sink).id)


def legacy_sink(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """A sink of `add_sink`, or `print`."""
    stream = inputs[0]
    sink = kinds.LegacySink(
        **job.common(entry),
        operator=job.operator(entry),
        concurrent_attempts=entry.kind == "print",
        input=stream.id,
        keyed=stream.keyed,
        key_type=stream.key_type,
    )
    return Stream(job.pipeline.add(sink).id)
