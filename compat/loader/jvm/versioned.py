"""The ``SimpleVersionedSerializers`` of sources and sinks: their bytes begin with a version, and have no type."""

from __future__ import annotations

from collections.abc import Iterator

from compat.loader.jvm.bridge import FLINK, Java, byte_array, class_name, flink, is_a, member, members
from compat.loader.jvm.harness import SOURCE

_VERSIONED = "streaming.api.operators.util.SimpleVersionedListState"
_PARTS_OF_SINKS = f"{FLINK}streaming.runtime.operators.sink."
OF_ENUMERATOR = "coordinator"
"""What the state of a source's enumerator is called here: it has no name of its own."""


def versioned(factory: Java, operator: Java) -> Iterator[tuple[str, Java]]:
    """All of an operator whose state was initialized, and of its coordinator, by the name of what they write."""
    yield from of_states(operator)
    if is_a(factory, SOURCE):
        yield OF_ENUMERATOR, of_enumerator(factory)


def of_states(operator: Java) -> Iterator[tuple[str, Java]]:
    """Those of the states of an operator whose state was initialized, by the state's name."""
    for state in _versioned_states(operator):
        yield str(member(state, "rawState").getStateMetaInfo().getName()), member(state, "serializer")


def of_enumerator(factory: Java) -> Java:
    """The serializer of a source's enumerator."""
    return member(factory, "source").getEnumeratorCheckpointSerializer()


def read_version(serializer: Java, data: bytes) -> Java:
    """What one reads from bytes that begin with the version that wrote them. Raises what it raises."""
    return flink("core.io.SimpleVersionedSerialization").readVersionAndDeSerialize(serializer, byte_array(data))


def _versioned_states(value: Java, depth: int = 2) -> Iterator[Java]:
    """The states of an operator, and of its parts, that are read by a ``SimpleVersionedSerializer``."""
    for inner in members(value):
        if is_a(inner, _VERSIONED):
            yield inner
        elif depth and (class_name(inner) or "").startswith(_PARTS_OF_SINKS):
            yield from _versioned_states(inner, depth - 1)
