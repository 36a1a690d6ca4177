"""The calls that make an operator with two inputs or more."""

from __future__ import annotations

from compat.compiler.errors import illegal_argument, unsupported
from compat.compiler.topology.in_making import JobInMaking, forbid_key
from compat.compiler.topology.parse import Entry
from compat.compiler.topology.streams import Stream
from compat.compiler.transformations import kinds
from compat.compiler.transformations.operators import Call
from compat.compiler.transformations.partitioners import BROADCAST

_CO_PROCESS = ("connect_process", "connect_keyed_process")
"""Calls of connected streams that take functions with timers; ``LegacyKeyedCoProcessOperator`` is the former's."""
_UNTOLD_KEY = "Long"
"""The key's type that a stream has to have in common with another one, where the topology tells none."""


def two_inputs(job: JobInMaking, entry: Entry, inputs: list[Stream], *, call: Call | None = None) -> Stream:
    """An operator with two inputs, as ``call`` if the entry names another one."""
    left, right = inputs
    first, second = left.key_type or _UNTOLD_KEY, right.key_type or _UNTOLD_KEY
    if left.keyed and right.keyed and first != second:
        raise unsupported(f"Key types if input KeyedStreams don't match: {first} and {second}.")
    transformation = kinds.TwoInputTransformation(
        **job.common(entry, output_type="Long"),
        operator=job.operator(entry, call, timers=left.keyed and right.keyed and entry.kind in _CO_PROCESS),
        chaining=job.two_input_chaining,
        input1=left.id,
        input2=right.id,
        keyed1=left.keyed,
        keyed2=right.keyed,
        key_type=left.key_type or right.key_type,
    )
    return Stream(job.pipeline.add(transformation).id)


def connect(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """Functions on two connected streams."""
    return two_inputs(job, entry, inputs)


def connect_keyed_process(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """A function with timers on two streams with keys."""
    if not all(stream.keyed for stream in inputs):
        raise unsupported("KeyedCoProcessFunction can only be used when both input streams are of type KeyedStream.")
    return two_inputs(job, entry, inputs)


def broadcast_connect(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """A function on a stream and a broadcast one."""
    left, right = inputs
    forbid_key(right)
    partition = job.partition(right, BROADCAST, entry)
    keyed = entry.kind == "keyed_broadcast_connect"
    if keyed and not left.keyed:
        raise illegal_argument("A KeyedBroadcastProcessFunction can only be used on a keyed stream.")
    if left.keyed and not keyed:
        raise illegal_argument("A BroadcastProcessFunction can only be used on a non-keyed stream.")
    shared = {
        **job.common(entry, output_type="Long"),
        "operator": job.operator(entry, timers=keyed),
        "regular_input": left.id,
        "broadcast_input": partition.id,
    }
    transformation: kinds.BroadcastStateTransformation
    if keyed:
        transformation = kinds.KeyedBroadcastStateTransformation(**shared, key_type=left.key_type)
    else:
        transformation = kinds.BroadcastStateTransformation(**shared)
    return Stream(job.pipeline.add(transformation).id)


def multi_input(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """An operator with any number of inputs."""
    shared = {
        **job.common(entry, output_type="Long", parallelism_configured=True),
        "operator": job.operator(entry, factory="ManyInputFactory"),
        "input_list": tuple(stream.id for stream in inputs),
    }
    transformation: kinds.MultipleInputTransformation
    if entry.get("keyed", False):
        transformation = kinds.KeyedMultipleInputTransformation(**shared, key_type=inputs[0].key_type)
    else:
        transformation = kinds.MultipleInputTransformation(**shared)
    return Stream(job.pipeline.add(transformation).id)
