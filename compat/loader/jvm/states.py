"""The states of a job's operators: those of the snapshot that each writes before it has seen a record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import jpype
import msgspec

from compat.loader.jvm.bridge import Java, bytes_of, class_digest, class_name, flink, is_a, java, member, members
from compat.loader.jvm.graphs import Configured
from compat.loader.jvm.harness import (
    Bounds,
    OperatorFailed,
    bounded,
    default_max_parallelism,
    harness,
    is_source,
    open_operator,
)
from compat.loader.jvm.model import Scope, Serializer, State, States, StateUse
from compat.loader.jvm.pyflink.operators import runs_python, unknown_states

_CHECKPOINT = 1
_STREAM_LIMIT = 32 << 20
_ROWS = ".RowDataSerializer$RowDataSerializerSnapshot"
_COMPOSITE = "api.common.typeutils.CompositeTypeSerializerSnapshot"
_KEYED_BACKEND = "runtime.state.AbstractKeyedStateBackend"
_TTL = "runtime.state.ttl.AbstractTtlDecorator"
_WRAPPERS = ("runtime.state.heap.", "runtime.state.ttl.")
_WRAPS = 3
_SCOPES: dict[str, Scope] = {
    "KEY_VALUE": "keyed",
    "KEY_VALUE_V2": "keyed",
    "OPERATOR": "operator",
    "BROADCAST": "broadcast",
    "PRIORITY_QUEUE": "timer",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """An operator's states, and the ``OperatorSubtaskState`` of Flink that holds them; None where it could not be made."""

    states: States
    subtask: Java = None


def snapshots(operators: Iterable[Configured], bounds: Bounds) -> dict[int, Snapshot]:
    """The empty snapshot of every operator, by node id. One that fails leaves the others alone."""
    found = {}
    for operator in operators:
        try:
            found[operator.node] = bounded(lambda one=operator: _empty(one, bounds.loader), bounds, "open()")  # type: ignore[misc]
        except OperatorFailed as error:
            found[operator.node] = Snapshot(states=States(unknown=str(error)))
    return found


def _empty(operator: Configured, loader: Java) -> Snapshot:
    """The snapshot of an operator that has seen nothing, in the canonical format where Flink has one."""
    made = harness(operator, loader, default_max_parallelism(operator))
    made.initializeEmptyState()
    if runs_python(made.getOperator()):
        key = operator.config.getStateKeySerializer(loader)
        snapshot = None if key is None else serializer_of(key.snapshotConfiguration())
        return Snapshot(
            states=States(key_serializer=snapshot, unknown=unknown_states(made.getOperator(), key is not None))
        )
    if is_source(made):
        subtask, uses = _operator_state(made.getOperator()), {}
    else:
        open_operator(made)
        subtask, uses = canonical_snapshot(made), dict(_uses(made.getOperator()))
    told = read_states(subtask, loader)
    states = tuple(
        one if one.scope != "keyed" else msgspec.structs.replace(one, use=uses.get(one.name)) for one in told.states
    )
    return Snapshot(states=msgspec.structs.replace(told, states=states), subtask=subtask)


def _uses(operator: Java) -> Iterator[tuple[str, StateUse]]:
    """The uses of an open operator's keyed states, which no snapshot tells: their time to live, and what folds into them."""
    backend = operator.getKeyedStateBackend()
    if backend is None or not is_a(backend, _KEYED_BACKEND):
        return
    for name, state in member(backend, "keyValueStatesByName").items():
        ttl = int(member(state, "ttl")) if is_a(state, _TTL) else None
        function = _folds(state)
        yield str(name), StateUse(ttl=ttl, function=None if function is None else class_digest(function))


def _folds(value: Java, depth: int = 0) -> Java:
    """The user's function in a reducing or aggregating state, out of what Flink wraps around it."""
    for inner in members(value):
        if is_a(inner, "api.common.functions.ReduceFunction", "api.common.functions.AggregateFunction"):
            return _folds(inner, depth + 1) or inner if is_a(inner, _TTL) else inner
        wraps = inner is not None and depth < _WRAPS and any(one in (class_name(inner) or "") for one in _WRAPPERS)
        if wraps and (found := _folds(inner, depth + 1)) is not None:
            return found
    return None


def canonical_snapshot(made: Java) -> Java:
    """The snapshot of an open operator in the format of canonical savepoints; a checkpoint's where Flink cannot do that."""
    try:
        kind = flink("runtime.checkpoint.SavepointType")
        canonical = kind.savepoint(flink("core.execution.SavepointFormatType").CANONICAL)
        return made.snapshotWithLocalState(_CHECKPOINT, _CHECKPOINT, canonical).getJobManagerOwnedState()
    except jpype.JException as error:
        if "UnsupportedOperationException" not in (class_name(error) or ""):
            raise
        return made.snapshot(_CHECKPOINT, _CHECKPOINT)


def _operator_state(operator: Java) -> Java:
    """The operator state that an operator registered; its own snapshot would need it to be open."""
    backend = operator.getOperatorStateBackend()
    options = flink("runtime.checkpoint.CheckpointOptions").forCheckpointWithDefaultLocation()
    factory = flink("runtime.state.memory.MemCheckpointStreamFactory")(_STREAM_LIMIT)
    future = backend.snapshot(_CHECKPOINT, _CHECKPOINT, factory, options)
    future.run()
    handle = future.get().getJobManagerOwnedSnapshot()
    builder = flink("runtime.checkpoint.OperatorSubtaskState").builder()
    return (builder if handle is None else builder.setManagedOperatorState(handle)).build()


class Infos:
    """The ``StateMetaInfoSnapshots`` in the headers of a subtask's handles, by scope and name, and the key's serializer."""

    def __init__(self) -> None:
        self.key: Java = None
        self.states: dict[tuple[Scope, str], Java] = {}

    def add(self, found: Java) -> None:
        """Add what a header lists."""
        for info in found:
            self.states[_SCOPES.get(str(info.getBackendStateType()), "keyed"), str(info.getName())] = info

    @staticmethod
    def kind(info: Java) -> str:
        """Flink's kind of a state: that of keyed state, or how operator state is distributed."""
        options = {str(name): str(value) for name, value in info.getOptionsImmutable().items()}
        told = options.get("KEYED_STATE_TYPE") or options.get("OPERATOR_STATE_DISTRIBUTION_MODE")
        return told or str(info.getBackendStateType())


def infos(subtask: Java, loader: Java) -> Infos:
    """The states of an ``OperatorSubtaskState``, as its headers tell of them."""
    found = Infos()
    for handle in subtask.getManagedKeyedState():
        opened = handle if hasattr(handle, "openInputStream") else handle.getMetaDataStateHandle()
        proxy = _header(opened, flink("runtime.state.KeyedBackendSerializationProxy")(loader))
        found.key = proxy.getKeySerializerSnapshot()
        found.add(proxy.getStateMetaInfoSnapshots())
    for handle in subtask.getManagedOperatorState():
        proxy = _header(handle, flink("runtime.state.OperatorBackendSerializationProxy")(loader))
        found.add(proxy.getOperatorStateMetaInfoSnapshots())
        found.add(proxy.getBroadcastStateMetaInfoSnapshots())
    return found


def read_states(subtask: Java, loader: Java) -> States:
    """The states of an ``OperatorSubtaskState``."""
    found = infos(subtask, loader)
    states = (_state(scope, name, info) for (scope, name), info in found.states.items())
    return States(states=tuple(states), key_serializer=None if found.key is None else serializer_of(found.key))


def _header(handle: Java, proxy: Java) -> Java:
    stream = handle.openInputStream()
    try:
        proxy.read(flink("core.memory.DataInputViewStreamWrapper")(stream))
    finally:
        stream.close()
    return proxy


def _state(scope: Scope, name: str, info: Java) -> State:
    snapshots_by_part = info.getSerializerSnapshotsImmutable()
    return State(
        name=name,
        scope=scope,
        kind=Infos.kind(info),
        serializers={str(part): serializer_of(snapshot) for part, snapshot in snapshots_by_part.items()},
    )


def serializer_of(snapshot: Java) -> Serializer:
    """A serializer by its snapshot."""
    out = flink("core.memory.DataOutputSerializer")(256)
    flink("api.common.typeutils.TypeSerializerSnapshot").writeVersionedSnapshot(out, snapshot)
    try:
        serializer = class_name(snapshot.restoreSerializer()) or ""
    except jpype.JException:
        serializer = ""  # its class is not at hand: the snapshot tells the rest
    return Serializer(
        serializer=serializer,
        snapshot=class_name(snapshot) or "",
        version=int(snapshot.getCurrentVersion()),
        written=bytes_of(out.getCopyOfBuffer()),
        columns=_columns(snapshot),
    )


def _columns(snapshot: Java) -> tuple[str, ...]:
    """The types of the fields of rows, in a serializer of rows or in the first part of another one that has rows."""
    if (class_name(snapshot) or "").endswith(_ROWS):
        return tuple(str(one) for one in member(snapshot, "types"))
    if not is_a(snapshot, _COMPOSITE):
        return ()
    delegate = member(snapshot, "nestedSerializersSnapshotDelegate")
    nested = () if delegate is None else delegate.getNestedSerializerSnapshots()
    return next((columns for one in nested if (columns := _columns(one))), ())


def empty_savepoint(operators: Iterable[Configured], found: dict[int, Snapshot]) -> bytes:
    """The ``_metadata`` of a savepoint of a job that has seen nothing: what another version would be restored from."""
    states = java("java.util.ArrayList")()
    operator_state = flink("runtime.checkpoint.OperatorState")
    named = any(len(one.getParameterTypes()) == 5 for one in operator_state.class_.getDeclaredConstructors())
    for operator in operators:
        subtask = found[operator.node].subtask
        if subtask is None:
            continue
        size = max(int(operator.vertex.getParallelism()), 1), default_max_parallelism(operator)
        identity = operator.config.getOperatorID()
        given = (str(operator.config.getOperatorName()), None, identity) if named else (identity,)
        state = operator_state(*given, *size)
        state.putState(0, subtask)
        states.add(state)
    metadata = flink("runtime.checkpoint.metadata.CheckpointMetadata")(
        _CHECKPOINT, states, java("java.util.ArrayList")()
    )
    stream = java("java.io.ByteArrayOutputStream")()
    flink("runtime.checkpoint.Checkpoints").storeCheckpointMetadata(metadata, java("java.io.DataOutputStream")(stream))
    return bytes_of(stream.toByteArray())
