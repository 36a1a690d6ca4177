"""Restoring state into an operator of NEW on each state backend that is there, and reading what it restored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import jpype
from msgspec import Struct

from compat.loader.jvm.bridge import (
    FLINK,
    Java,
    byte_array,
    class_name,
    described,
    flink,
    is_a,
    member,
    members,
    text_or_none,
)
from compat.loader.jvm.graphs import Configured
from compat.loader.jvm.handles import OldOperator
from compat.loader.jvm.harness import SOURCE, OperatorFailed, harness, open_operator, operator_of
from compat.loader.jvm.messages import Backend, RestoreFailure, Scope
from compat.loader.jvm.partial_matches import check_matches
from compat.loader.jvm.states import canonical_snapshot, is_unsupported
from compat.state.flink.binary import ByteReader

_ROCKSDB = (
    "state.rocksdb.EmbeddedRocksDBStateBackend",
    "contrib.streaming.state.EmbeddedRocksDBStateBackend",
)
_HEAP = "runtime.state.heap.HeapKeyedStateBackend"
_HASHMAP = "runtime.state.hashmap.HashMapStateBackend"
_VERSIONED = "streaming.api.operators.util.SimpleVersionedListState"
_PARTS_OF_SINKS = f"{FLINK}streaming.runtime.operators.sink."

_LOOKED_AT = 5000
"""How many values of a state are looked at for the key group that they are in."""


class Found(Struct, frozen=True, kw_only=True):
    """What lies on the heap: how many values each keyed state holds, and how many of the first lie in a wrong key group."""

    values: Mapping[tuple[Scope, str], int]
    misplaced: int = 0


class Given(Struct, frozen=True):
    """The state of one subtask that is all there is, with the max parallelism that goes with it."""

    subtask: Java
    max_parallelism: int


def backends(old: OldOperator) -> Iterator[tuple[Backend, Java]]:
    """The backends that can be tried: RocksDB's own files are for RocksDB only, and RocksDB only concerns keyed state."""
    if not old.only_rocksdb:
        yield "hashmap", flink(_HASHMAP)
    if not old.headers:
        return
    for name in _ROCKSDB:
        try:
            backend = flink(name)
        except (jpype.JException, TypeError):
            continue
        yield "rocksdb", backend
        return


def on_hashmap(operator: Configured, given: Given, loader: Java) -> Java:
    """An operator restored and opened, with its state on the heap, where all values are read at once."""
    made = harness(operator, loader, given.max_parallelism, flink(_HASHMAP)())
    made.initializeState(given.subtask)
    open_operator(made)
    check_matches(operator_of(made))
    return made


def on_rocksdb(operator: Configured, given: Given, loader: Java, backend: Java) -> Given | None:
    """The state as RocksDB writes it after it restored it; None for asynchronous state, of which it writes nothing here."""
    made = harness(operator, loader, given.max_parallelism, backend())
    try:
        made.initializeState(given.subtask)
        open_operator(made)
        check_matches(operator_of(made))
        try:
            return Given(canonical_snapshot(made), given.max_parallelism)
        except jpype.JException as error:
            if is_unsupported(error):
                return None
            raise
    finally:
        made.close()


def read(operator: Configured, given: Given, loader: Java) -> Found:
    """Have every value read, by the serializers that the state's own header names; gives how many there are."""
    made = harness(operator, loader, given.max_parallelism, flink(_HASHMAP)())
    made.initializeState(given.subtask)
    return held(made)


def restored_values(operator: Configured, given: Given, name: str, loader: Java) -> list[Java]:
    """The values of one keyed state, read by the serializers that the state's own header names."""
    made = harness(operator, loader, given.max_parallelism, flink(_HASHMAP)())
    made.initializeState(given.subtask)
    tables = member(operator_of(made).getKeyedStateBackend(), "registeredKVStates")
    return [entry.getState() for entry in tables.get(name)]


def held(made: Java) -> Found:
    """What was restored to the heap, timers included."""
    backend = operator_of(made).getKeyedStateBackend()
    if not is_a(backend, _HEAP):
        return Found(values={})
    tables = member(backend, "registeredKVStates").items()
    groups = int(backend.getNumberOfKeyGroups())
    values: dict[tuple[Scope, str], int] = {("keyed", str(name)): int(table.size()) for name, table in tables}
    for name, queue in member(member(backend, "priorityQueuesManager"), "registeredPQStates").items():
        values["timer", str(name)] = int(queue.getPriorityQueue().size())
    return Found(values=values, misplaced=sum(_misplaced(table, groups) for _, table in tables))


def _misplaced(table: Java, groups: int) -> int:
    """How many of the first values of a state lie in another key group than the hash of their key says."""
    assign = flink("runtime.state.KeyGroupRangeAssignment").assignToKeyGroup
    first = int(table.getKeyGroupOffset())
    wrong = looked = 0
    for place, entries in enumerate(member(table, "keyGroupedStateMaps")):
        for entry in entries or ():
            looked += 1
            if looked > _LOOKED_AT:
                return wrong
            wrong += int(assign(entry.getKey(), groups)) != first + place
    return wrong


def read_versioned(operator: Configured, given: Given, values: Mapping[str, tuple[bytes, ...]], loader: Java) -> None:
    """Have an operator's own ``SimpleVersionedSerializers`` read values of its states, by name. Raises what they raise."""
    made = harness(operator, loader, given.max_parallelism, flink(_HASHMAP)())
    made.initializeState(given.subtask)
    deserialize = flink("core.io.SimpleVersionedSerialization").readVersionAndDeSerialize
    for state in _versioned_states(operator_of(made)):
        name = str(member(state, "rawState").getStateMetaInfo().getName())
        for value in values.get(name, ()):
            deserialize(member(state, "serializer"), byte_array(value))


def read_enumerator(operator: Configured, data: bytes, loader: Java) -> None:
    """Have a source read what its enumerator kept, as Flink's ``SourceCoordinator`` does. Raises what it raises."""
    factory = operator.config.getStreamOperatorFactory(loader)
    if not is_a(factory, SOURCE):
        return
    reader = ByteReader(data, "the state of a source's coordinator")
    reader.integer()
    version = reader.integer()
    serializer = member(factory, "source").getEnumeratorCheckpointSerializer()
    serializer.deserialize(version, byte_array(reader.sized("an enumerator's checkpoint")))


def _versioned_states(value: Java, depth: int = 2) -> Iterator[Java]:
    """The states of an operator, and of its parts, that are read by a ``SimpleVersionedSerializer``."""
    for inner in members(value):
        if is_a(inner, _VERSIONED):
            yield inner
        elif depth and (class_name(inner) or "").startswith(_PARTS_OF_SINKS):
            yield from _versioned_states(inner, depth - 1)


def failure_of(error: OperatorFailed) -> RestoreFailure:
    """The failure as Flink threw it, by the innermost of its exceptions."""
    if error.error is None:
        return RestoreFailure(type="TimedOut", message=str(error))
    chain = [error.error]
    while chain[-1].getCause() is not None and len(chain) < 30:
        chain.append(chain[-1].getCause())
    telling = next((one for one in chain if "StateMigrationException" in (class_name(one) or "")), chain[-1])
    return RestoreFailure(
        type=class_name(telling) or "",
        message=text_or_none(telling.getMessage()) or described(telling),
        cause=described(chain[-1]) if chain[-1] is not telling else None,
    )
