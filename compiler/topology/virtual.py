"""The calls that only say where records go: Flink makes virtual nodes of them."""

from __future__ import annotations

from compat.compiler.errors import illegal_argument, unsupported
from compat.compiler.topology.in_making import JobInMaking, forbid_key
from compat.compiler.topology.parse import Entry
from compat.compiler.topology.streams import Stream
from compat.compiler.transformations import kinds
from compat.compiler.transformations.partitioners import (
    BROADCAST,
    FORWARD,
    GLOBAL,
    REBALANCE,
    RESCALE,
    SHUFFLE,
    Partitioner,
    Ship,
)

PARTITIONERS = {
    "forward": FORWARD,
    "rebalance": REBALANCE,
    "rescale": RESCALE,
    "shuffle": SHUFFLE,
    "global": GLOBAL,
    "broadcast": BROADCAST,
}
"""The partitionings without a key, by their calls."""


def key_by(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """A partitioning by key."""
    stream = inputs[0]
    partition = job.partition(stream, Partitioner(Ship.HASH, job.selector()), entry)
    told = entry.get("keyType")
    key_type = None if told is None else told[:1].upper() + told[1:]
    return Stream(partition.id, stream.type, keyed=True, key_type=key_type)


def repartition(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """A partitioning without a key."""
    forbid_key(inputs[0])
    return Stream(job.partition(inputs[0], PARTITIONERS[entry.kind], entry).id, inputs[0].type)


def partition_custom(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """A partitioning by the program's own function."""
    forbid_key(inputs[0])
    partitioner = Partitioner(Ship.CUSTOM, job.selector())
    return Stream(job.partition(inputs[0], partitioner, entry).id, inputs[0].type)


def union(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """A union of streams of one type."""
    first = inputs[0]
    for other in inputs[1:]:
        if other.type != first.type:
            raise illegal_argument(f"Cannot union streams of different types: {first.type} and {other.type}")
    union = kinds.Union(
        **job.common(entry, name="Union", parallelism=job.pipeline[first.id].parallelism),
        input_list=tuple(stream.id for stream in inputs),
    )
    return Stream(job.pipeline.add(union, register=False).id, first.type)


def side_output(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """A side output; each tag of a stream has one type."""
    stream = inputs[0]
    tag = entry.get("tag", "side")
    out_type = entry.get("outType", "long").capitalize()
    asked = job.side_output_types.setdefault((stream.id, tag), out_type)
    if asked != out_type:
        raise unsupported(
            "A side output with a matching id was already requested with a different type. "
            "This is not allowed, side output ids need to be unique."
        )
    side = kinds.SideOutput(
        **job.common(entry, name="SideOutput", parallelism=job.pipeline[stream.id].parallelism),
        input=stream.id,
        tag=tag,
    )
    return Stream(job.pipeline.add(side, register=False).id, out_type)
