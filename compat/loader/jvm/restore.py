"""Restoring OLD's state into NEW's operators by Flink itself: in the test harness, on each state backend that is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import jpype

from compat.loader.jvm.bridge import (
    Java,
    array_of,
    byte_array,
    class_name,
    described,
    flink,
    is_a,
    java,
    member,
    operator_of,
    text_or_none,
)
from compat.loader.jvm.distribution import parsed
from compat.loader.jvm.graphs import Configured
from compat.loader.jvm.harness import Bounds, OperatorFailed, bounded, harness, open_operator
from compat.loader.jvm.model import (
    Backend,
    OperatorRestore,
    Part,
    Resolved,
    RestoreAttempt,
    RestoreFailure,
    StateRestore,
)
from compat.loader.jvm.partial_matches import FailedAtFirstRead, check_matches
from compat.loader.jvm.pyflink.operators import runs_python
from compat.loader.jvm.states import Infos, Snapshot, canonical_snapshot, infos, is_unsupported, serializer_of

_ROCKSDB = (
    "state.rocksdb.EmbeddedRocksDBStateBackend",
    "contrib.streaming.state.EmbeddedRocksDBStateBackend",
)
_HEAP = "runtime.state.heap.HeapKeyedStateBackend"
_HASHMAP = "runtime.state.hashmap.HashMapStateBackend"
_NEW_ASKS_OLD = (1, 19)
_LOOKED_AT = 5000
"""How many values of a state are looked at for the key group that they are in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A job of NEW that lives in this JVM: its operators, their empty snapshots, the user's class loader."""

    operators: list[Configured]
    found: Mapping[int, Snapshot]
    loader: Java
    ids: Mapping[int, tuple[str, ...]]
    flink: str
    timeout: float


def restore(built: Built, metadata: bytes, folder: str) -> list[OperatorRestore]:
    """The restore of each operator of NEW that finds state of its id in OLD's ``_metadata``; ``folder`` is where that lies.

    Operators that run Python are left out: what they would read is known in their Python processes only.
    """
    states = _operator_states(metadata, folder, built.loader)
    results = []
    for operator in built.operators:
        if runs_python(operator_of(operator.config.getStreamOperatorFactory(built.loader))):
            continue
        for operator_id in built.ids[operator.node]:
            if operator_id in states:
                results.append(_restored(operator, operator_id, states[operator_id], built))
                break
    return results


def _operator_states(metadata: bytes, folder: str, loader: Java) -> dict[str, Java]:
    """The operators' states of a ``_metadata``, by operator id."""
    stream = java("java.io.DataInputStream")(java("java.io.ByteArrayInputStream")(byte_array(metadata)))
    read = flink("runtime.checkpoint.Checkpoints").loadCheckpointMetadata(stream, loader, folder)
    return {str(one.getOperatorID()): one for one in read.getOperatorStates()}


def _restored(operator: Configured, operator_id: str, state: Java, built: Built) -> OperatorRestore:
    bounds = Bounds(loader=built.loader, timeout=built.timeout)
    attempts: list[RestoreAttempt] = []
    subtasks = list(state.getStates())
    if not subtasks:
        return OperatorRestore(node=operator.node, operator_id=operator_id)
    try:
        merged = bounded(lambda: _together(subtasks), bounds, "Reading the state")
    except OperatorFailed as error:
        attempt = RestoreAttempt(backend="any", failure=_failure(error))
        return OperatorRestore(node=operator.node, operator_id=operator_id, attempts=(attempt,))
    new = built.found[operator.node].subtask
    states: tuple[StateRestore, ...] = ()
    if new is not None:
        try:
            states = bounded(lambda: tuple(_states(merged, new, built)), bounds, "Reading the state")
        except OperatorFailed as error:
            attempts.append(RestoreAttempt(backend="any", failure=_failure(error)))
    for backend, make in _backends(merged):
        attempts.append(_attempt(operator, backend, make, _Old(merged, int(state.getMaxParallelism())), bounds))
    return OperatorRestore(node=operator.node, operator_id=operator_id, attempts=tuple(attempts), states=states)


class _Old:
    """OLD's state of an operator, and the max parallelism that goes with it."""

    def __init__(self, state: Java, max_parallelism: int) -> None:
        self.state, self.max_parallelism = state, max_parallelism


def _attempt(operator: Configured, backend: Backend, make: Java, old: _Old, bounds: Bounds) -> RestoreAttempt:
    """Restore on one backend; what RocksDB restored is then read once, by a backend that reads all there is."""
    loader = bounds.loader
    try:
        if backend == "hashmap":
            found = bounded(lambda: _on_hashmap(operator, loader, old), bounds, "The restore")
            return RestoreAttempt(backend=backend, entries=found.entries, misplaced=found.misplaced)
        again = bounded(lambda: _on_rocksdb(operator, loader, old, make()), bounds, "The restore")
    except OperatorFailed as error:
        late = isinstance(error, FailedAtFirstRead)
        return RestoreAttempt(backend=backend, failure=_failure(error), at_first_read=late)
    if again is None:
        return RestoreAttempt(backend=backend)
    try:
        found = bounded(lambda: _read(operator, loader, again), bounds, "Reading the state")
    except OperatorFailed as error:
        return RestoreAttempt(backend=backend, failure=_failure(error), at_first_read=True)
    return RestoreAttempt(backend=backend, entries=found.entries, misplaced=found.misplaced)


def _on_hashmap(operator: Configured, loader: Java, old: _Old) -> _Found:
    made = harness(operator, loader, old.max_parallelism, flink(_HASHMAP)())
    made.initializeState(old.state)
    open_operator(made)
    check_matches(made.getOperator())
    return _found(made)


def _on_rocksdb(operator: Configured, loader: Java, old: _Old, backend: Java) -> _Old | None:
    """The state as RocksDB writes it after it restored it; None for asynchronous state, of which it writes nothing here."""
    made = harness(operator, loader, old.max_parallelism, backend)
    try:
        made.initializeState(old.state)
        open_operator(made)
        check_matches(made.getOperator())
        try:
            return _Old(canonical_snapshot(made), old.max_parallelism)
        except jpype.JException as error:
            if is_unsupported(error):
                return None
            raise
    finally:
        made.close()


def _read(operator: Configured, loader: Java, again: _Old) -> _Found:
    made = harness(operator, loader, again.max_parallelism, flink(_HASHMAP)())
    made.initializeState(again.state)
    return _found(made)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What lies on the heap: the number of values of each keyed state, and of those in a wrong key group."""

    entries: dict[str, int]
    misplaced: int


def _found(made: Java) -> _Found:
    """What was restored to the heap."""
    backend = made.getOperator().getKeyedStateBackend()
    if not is_a(backend, _HEAP):
        return _Found(entries={}, misplaced=0)
    tables = member(backend, "registeredKVStates").items()
    groups = int(backend.getNumberOfKeyGroups())
    return _Found(
        entries={str(name): int(table.size()) for name, table in tables},
        misplaced=sum(_misplaced(table, groups) for _, table in tables),
    )


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


def _together(subtasks: list[Java]) -> Java:
    """The states of all subtasks as that of one."""
    if len(subtasks) == 1:
        return subtasks[0]
    subtask = flink("runtime.checkpoint.OperatorSubtaskState")
    return flink("streaming.util.AbstractStreamOperatorTestHarness").repackageState(array_of(subtask)(subtasks))


def _backends(merged: Java) -> Iterator[tuple[Backend, Java]]:
    """The backends that can be tried: RocksDB's own handles are for RocksDB only, and RocksDB only concerns keyed state."""
    native = any("Incremental" in (class_name(one) or "") for one in merged.getManagedKeyedState())
    if not native:
        yield "hashmap", flink(_HASHMAP)
    if merged.getManagedKeyedState().isEmpty():
        return
    for name in _ROCKSDB:
        try:
            backend = flink(name)
        except (jpype.JException, TypeError):
            continue
        yield "rocksdb", backend
        return


def _failure(error: OperatorFailed) -> RestoreFailure:
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


def _states(old: Java, new: Java, built: Built) -> Iterator[StateRestore]:
    """OLD's states beside NEW's of the same name, each part asked of Flink's serializers."""
    before, after = infos(old, built.loader), infos(new, built.loader)
    if before.key is not None and after.key is not None:
        yield StateRestore(name="", scope="keyed", parts=(_part("KEY_SERIALIZER", before.key, after.key, built.flink),))
    for key, info in before.states.items():
        other = after.states.get(key)
        if other is None:
            yield StateRestore(name=key[1], scope=key[0], missing=True)
            continue
        olds, news = info.getSerializerSnapshotsImmutable(), other.getSerializerSnapshotsImmutable()
        parts = tuple(
            _part(str(name), snapshot, news.get(name), built.flink)
            for name, snapshot in olds.items()
            if news.get(name) is not None
        )
        yield StateRestore(
            name=key[1], scope=key[0], parts=parts, old_kind=Infos.kind(info), new_kind=Infos.kind(other)
        )


def _part(name: str, old: Java, new: Java, version: str) -> Part:
    try:
        if parsed(version) >= _NEW_ASKS_OLD:
            answer = new.resolveSchemaCompatibility(old)
        else:
            answer = old.resolveSchemaCompatibility(new.restoreSerializer())
        resolved = _resolved(answer)
        why = ""
    except jpype.JException as error:
        resolved, why = "failed", described(error)
    return Part(name=name, resolved=resolved, why=why, old=serializer_of(old), new=serializer_of(new))


def _resolved(answer: Java) -> Resolved:
    if answer.isIncompatible():
        return "incompatible"
    if answer.isCompatibleAfterMigration():
        return "after-migration"
    return "reconfigured" if answer.isCompatibleWithReconfiguredSerializer() else "as-is"
