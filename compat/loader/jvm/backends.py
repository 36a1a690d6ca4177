"""Restores state into an operator of NEW on each available state backend, and reads what was restored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import jpype
from msgspec import Struct

from compat.loader.jvm.bridge import (
    Java,
    byte_array,
    class_name,
    described,
    exists,
    flink,
    is_a,
    java,
    member,
    text_or_none,
)
from compat.loader.jvm.fitting import misfit
from compat.loader.jvm.graphs import Configured
from compat.loader.jvm.handles import OldOperator
from compat.loader.jvm.harness import SOURCE, OperatorFailed, harness, open_operator, operator_of
from compat.loader.jvm.messages import Backend, NativeBackend, RestoreFailure, Scope
from compat.loader.jvm.partial_matches import check_matches
from compat.loader.jvm.states import canonical_snapshot, is_unsupported
from compat.loader.jvm.versioned import of_enumerator, of_states, read_version
from compat.state.flink.binary import ByteReader

_ROCKSDB = (
    "state.rocksdb.EmbeddedRocksDBStateBackend",
    "contrib.streaming.state.EmbeddedRocksDBStateBackend",
)
_HEAP = "runtime.state.heap.HeapKeyedStateBackend"
_HASHMAP = "runtime.state.hashmap.HashMapStateBackend"

_LOOKED_AT = 5000
"""The number of values of a state that are checked for their key group."""
_LOOKED_INTO = 200
"""The number of values of a state that are checked for unfit contents."""


class Found(Struct, frozen=True, kw_only=True):
    """The restored state on the heap: the number of values of each keyed state, and how many of the first are in a
    wrong key group.

    ``unfit`` are sentences on values, by state, whose contents differ from the declarations of their class. ``used`` is
    when the last
    of the values with a time to live was used, by state, in milliseconds since 1970.
    """

    values: Mapping[tuple[Scope, str], int]
    misplaced: int = 0
    unfit: Mapping[tuple[Scope, str], str] = {}
    used: Mapping[tuple[Scope, str], int] = {}


class Given(Struct, frozen=True):
    """A snapshot that consists of the state of one subtask, with its max parallelism."""

    subtask: Java
    max_parallelism: int


def backends(old: OldOperator) -> Iterator[tuple[Backend, Java]]:
    """The backends that can be tried: RocksDB's own files are only for RocksDB, and RocksDB holds only keyed state."""
    if not old.only_rocksdb:
        yield "hashmap", flink(_HASHMAP)
    if old.headers and (rocksdb := backend_of("rocksdb")) is not None:
        yield "rocksdb", rocksdb


def backend_of(name: NativeBackend) -> Java:
    """The class of a state backend; None if its jar is not there."""
    return next((flink(one) for one in (_ROCKSDB if name == "rocksdb" else (_HASHMAP,)) if exists(one)), None)


def on_hashmap(operator: Configured, given: Given, loader: Java) -> Java:
    """An operator restored and opened, with its state on the heap, where all values are read at once."""
    made = harness(operator, loader, given.max_parallelism, flink(_HASHMAP)())
    made.initializeState(given.subtask)
    open_operator(made, unconnected=operator.unconnected)
    check_matches(operator_of(made))
    return made


def on_rocksdb(operator: Configured, given: Given, loader: Java, backend: Java) -> Given | None:
    """The state as RocksDB writes it after the restore; None for asynchronous state, which it does not write here."""
    made = harness(operator, loader, given.max_parallelism, backend())
    try:
        made.initializeState(given.subtask)
        open_operator(made, unconnected=operator.unconnected)
        check_matches(operator_of(made))
        try:
            return Given(canonical_snapshot(operator, made), given.max_parallelism)
        except jpype.JException as error:
            if is_unsupported(error):
                return None
            raise
    finally:
        made.close()


def read(operator: Configured, given: Given, loader: Java) -> Found:
    """Have every value read, by the serializers in the state's own header; gives the number of values."""
    made = harness(operator, loader, given.max_parallelism, flink(_HASHMAP)())
    made.initializeState(given.subtask)
    return held(made)


def restored_entries(operator: Configured, given: Given, name: str, loader: Java) -> list[tuple[Java, Java]]:
    """The keys and values of one keyed state, read by the serializers in the state's own header."""
    made = harness(operator, loader, given.max_parallelism, flink(_HASHMAP)())
    made.initializeState(given.subtask)
    tables = member(operator_of(made).getKeyedStateBackend(), "registeredKVStates")
    return [(entry.getKey(), entry.getState()) for entry in tables.get(name)]


def restored_lists(given: Given, name: str, loader: Java) -> list[Java]:
    """The values of a list of operator state, as Flink reads them before the operator asks for them."""
    handles = given.subtask.getManagedOperatorState()
    config, registry = flink("api.common.ExecutionConfig")(), flink("core.fs.CloseableRegistry")()
    builder = flink("runtime.state.DefaultOperatorStateBackendBuilder")
    backend = builder(loader, config, False, handles, registry).build()
    return list(member(backend, "registeredOperatorStates").get(name).get())


def restored_values(operator: Configured, given: Given, name: str, loader: Java) -> list[Java]:
    """The values of one keyed state, read by the serializers in the state's own header."""
    return [value for _, value in restored_entries(operator, given, name, loader)]


def held(made: Java) -> Found:
    """The state restored to the heap, including timers."""
    backend = operator_of(made).getKeyedStateBackend()
    if not is_a(backend, _HEAP):
        return Found(values={})
    tables = member(backend, "registeredKVStates").items()
    groups = int(backend.getNumberOfKeyGroups())
    values: dict[tuple[Scope, str], int] = {("keyed", str(name)): int(table.size()) for name, table in tables}
    for name, queue in member(member(backend, "priorityQueuesManager"), "registeredPQStates").items():
        values["timer", str(name)] = int(queue.getPriorityQueue().size())
    unfit: dict[tuple[Scope, str], str] = {}
    for name, table in tables:
        said = (misfit(entry.getState()) for entry in islice(table, _LOOKED_INTO))
        if (first := next(filter(None, said), None)) is not None:
            unfit["keyed", str(name)] = first
    misplaced = sum(_misplaced(table, groups) for _, table in tables)
    times = ((name, max(_last_uses(table), default=None)) for name, table in tables)
    used: dict[tuple[Scope, str], int] = {("keyed", str(name)): time for name, time in times if time is not None}
    return Found(values=values, misplaced=misplaced, unfit=unfit, used=used)


def _last_uses(table: Java) -> Iterator[int]:
    """When the first values of a state with a time to live were last used."""
    for entry in islice(table, _LOOKED_AT):
        value = entry.getState()
        if isinstance(value, java("java.util.Map")):
            value = value.values()
        parts = islice(value, _LOOKED_AT) if isinstance(value, java("java.util.Collection")) else (value,)
        told = [one for one in parts if is_a(one, "runtime.state.ttl.TtlValue")]
        if not told:
            return
        yield from (int(one.getLastAccessTimestamp()) for one in told)


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
    """Have an operator's own ``SimpleVersionedSerializers`` read values of its states, by name. Raises their exceptions."""
    made = harness(operator, loader, given.max_parallelism, flink(_HASHMAP)())
    made.initializeState(given.subtask)
    for name, serializer in of_states(operator_of(made)):
        for value in values.get(name, ()):
            read_version(serializer, value)


def read_enumerator(operator: Configured, data: bytes, loader: Java) -> None:
    """Have a source read its enumerator's state, as Flink's ``SourceCoordinator`` does. Raises its exceptions."""
    factory = operator.config.getStreamOperatorFactory(loader)
    if not is_a(factory, SOURCE):
        return
    reader = ByteReader(data, "the state of a source's coordinator")
    reader.integer()
    version = reader.integer()
    of_enumerator(factory).deserialize(version, byte_array(reader.sized("an enumerator's checkpoint")))


def failure_of(error: OperatorFailed) -> RestoreFailure:
    """The failure as Flink threw it, from the innermost exception."""
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
