"""The states of a job's operators, from the snapshot that each writes before its first record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import cache

import jpype
import msgspec

from compat.loader.jvm.asking import later_of, more_of
from compat.loader.jvm.bridge import Java, bytes_of, causes, class_name, fields_of, flink, is_a, java, member, members
from compat.loader.jvm.classes import Values, written_by
from compat.loader.jvm.descriptors import is_stand_in
from compat.loader.jvm.graphs import Configured
from compat.loader.jvm.harness import (
    Bounds,
    FailedAtFirstRead,
    OperatorFailed,
    bounded,
    default_max_parallelism,
    harness,
    is_source,
    keyed_backend,
    open_operator,
    operator_of,
)
from compat.loader.jvm.holding import holding_of
from compat.loader.jvm.keys import key_of
from compat.loader.jvm.messages import DeclaredState, DeclaredStates, Scope, Serializer, StateUse
from compat.loader.jvm.pyflink.operators import runs_python, unknown_states
from compat.loader.jvm.unconnected import function_aside, is_connector, is_sink, is_told_by_code
from compat.loader.jvm.upstream import Upstream
from compat.loader.jvm.usercode import code_of, reached
from compat.loader.jvm.versioned import versioned
from compat.loader.jvm.writing import raw_samples, samples_of, versioned_samples
from compat.state.model.samples import Sample, SampleOf

NOT_OPENED = "open() is not called, as --no-open asks"
_CHECKPOINT = 1
_DRAWN_ID = re.compile(rb"(?<=\x00\x24)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HANDLE = b"%08x-0000-0000-0000-000000000000"
_STREAM_LIMIT = 32 << 20
_ROWS = ".RowDataSerializer$RowDataSerializerSnapshot"
_TYPES_OF_ROWS = ("types", "previousTypes")
"""The field with the types of a row's fields, since Flink 1.19 and before."""
COMPOSITE = "api.common.typeutils.CompositeTypeSerializerSnapshot"
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


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """An operator's states, and the ``OperatorSubtaskState`` of Flink that holds them; None if it could not be made.

    ``samples`` are made-up values of the states that the program's own code writes. ``unconnected`` says that it was set up
    without the parts that may connect to the outside world.
    """

    states: DeclaredStates
    subtask: Java = None
    samples: tuple[Sample, ...] = ()
    unconnected: bool = False


def snapshots(
    operators: Iterable[Configured], upstream: Upstream, bounds: Bounds, *, call_open: bool = True
) -> dict[int, Snapshot]:
    """The empty snapshot of every operator, by node id. One that fails leaves the others alone.

    A connector of a library is not asked to connect, and what fails is tried without what may connect.
    """
    return {one.node: _snapshot_of(one, upstream, bounds, call_open) for one in operators}


def _snapshot_of(operator: Configured, upstream: Upstream, bounds: Bounds, call_open: bool) -> Snapshot:
    factory = operator.config.getStreamOperatorFactory(bounds.loader)
    if factory is None:
        return Snapshot(states=DeclaredStates())  # the head or tail of a loop runs no operator
    why = NOT_OPENED
    if call_open and not is_connector(factory):
        try:
            return bounded(lambda: _empty(operator, upstream, bounds.loader), bounds, "open()")
        except OperatorFailed as error:
            why = str(error)
    unconnected = msgspec.structs.replace(operator, unconnected=True)
    try:
        found = bounded(lambda: _empty(unconnected, upstream, bounds.loader), bounds, "open()")
    except OperatorFailed as error:
        return Snapshot(states=DeclaredStates(unknown=str(error) if why is NOT_OPENED and call_open else why))
    if found.states.more is None:
        return found
    more = msgspec.structs.replace(found.states.more, why=f"{found.states.more.why} ({why})")
    return msgspec.structs.replace(found, states=msgspec.structs.replace(found.states, more=more))


def _empty(operator: Configured, upstream: Upstream, loader: Java) -> Snapshot:
    """The snapshot of an operator that has seen nothing, in the canonical format where Flink has one.

    Raises OperatorFailed for one that is unconnected if its code does not tell its states.
    """
    task = harness(operator, loader, default_max_parallelism(operator))
    task.initializeEmptyState()
    if operator.unconnected and not (
        is_source(task) or is_sink(task.getOperatorFactory()) or is_told_by_code(operator_of(task))
    ):
        raise OperatorFailed("what it asks for when it is opened is not known")
    if runs_python(operator_of(task)):
        return Snapshot(states=_of_python(operator, operator_of(task), loader))
    why: str | None = None
    if is_source(task):
        subtask, uses, holding = _operator_state(operator_of(task)), {}, None
        later = later_of(operator_of(task))
        why = later.why or ("it asks for state when records come" if later.asked else None)
    else:
        try:
            why = open_operator(task, unconnected=operator.unconnected)
        except FailedAtFirstRead as error:
            why = f"what it asks for when records come cannot be declared: {error}"
        subtask, uses = _snapshot(operator, task), dict(_uses(operator_of(task)))
        holding = holding_of(operator_of(task))
    found = infos(subtask, loader)
    told = _told(found)
    values = Values(_made(operator_of(task)), lambda: upstream.classes(operator.node))
    states = tuple(
        msgspec.structs.replace(
            one,
            use=uses.get(one.name) if one.scope == "keyed" else None,
            classes=written_by(found.states[one.scope, one.name].getSerializerSnapshotsImmutable().values(), values),
        )
        for one in told.states
    )
    key = None if found.key is None else key_of(found.key, values)
    more = more_of(why, operator.config.getStreamOperatorFactory(loader), loader)
    return Snapshot(
        states=msgspec.structs.replace(told, states=states, holding=holding, key=key, more=more),
        subtask=subtask,
        samples=_samples(operator, task, states),
        unconnected=operator.unconnected,
    )


def _samples(operator: Configured, task: Java, states: Iterable[DeclaredState]) -> tuple[Sample, ...]:
    """Made-up values of an operator's states, as its own serializers write them."""
    made, id = operator_of(task), str(operator.config.getOperatorID())
    kept = tuple(versioned_samples(id, versioned(task.getOperatorFactory(), made)))
    if is_source(task):
        return kept

    def take(of: SampleOf) -> bytes:
        subtask = canonical_snapshot(operator, task) if of is SampleOf.KEYED else _operator_state(made)
        return empty_savepoint((operator,), {operator.node: Snapshot(states=DeclaredStates(), subtask=subtask)})

    return (*kept, *samples_of(id, made, states, take), *raw_samples(id, made, task.getExecutionConfig()))


def _of_python(operator: Configured, made: Java, loader: Java) -> DeclaredStates:
    """What is known of the states of an operator that runs Python, which is not opened: the type of its keys."""
    key = operator.config.getStateKeySerializer(loader)
    return DeclaredStates(
        key_serializer=None if key is None else serializer_of(key.snapshotConfiguration()),
        unknown=unknown_states(made, key is not None),
    )


def _made(operator: Java) -> Callable[[], frozenset[str]]:
    """The classes that the function of an operator makes objects of, found when somebody asks."""

    @cache
    def told() -> frozenset[str]:
        function = operator.getUserFunction() if hasattr(operator, "getUserFunction") else None
        return frozenset() if function is None else reached(function).made

    return told


def _uses(operator: Java) -> Iterator[tuple[str, StateUse]]:
    """The uses of an open operator's keyed states, which no snapshot tells: their time to live, and what folds into them."""
    backend = keyed_backend(operator)
    if backend is None:
        return
    for name, state in member(backend, "keyValueStatesByName").items():
        ttl = int(member(state, "ttl")) if is_a(state, _TTL) else None
        function = _folds(state)
        told = function is not None and not is_stand_in(function)
        yield str(name), StateUse(ttl=ttl, function=code_of(function) if told else None)


def _folds(value: Java, depth: int = 0) -> Java:
    """The user's function in a reducing or aggregating state, out of what Flink wraps around it."""
    for inner in members(value):
        if is_a(inner, "api.common.functions.ReduceFunction", "api.common.functions.AggregateFunction"):
            return _folds(inner, depth + 1) or inner if is_a(inner, _TTL) else inner
        wraps = inner is not None and depth < _WRAPS and any(one in (class_name(inner) or "") for one in _WRAPPERS)
        if wraps and (found := _folds(inner, depth + 1)) is not None:
            return found
    return None


def canonical_snapshot(operator: Configured, made: Java) -> Java:
    """The snapshot of an operator that was opened, in the format of canonical savepoints.

    Raises what Flink raises if it has none.
    """
    kind = flink("runtime.checkpoint.SavepointType")
    canonical = kind.savepoint(flink("core.execution.SavepointFormatType").CANONICAL)
    # A function that was not opened has nothing to write.
    with function_aside(operator_of(made)) if operator.unconnected else nullcontext():
        return made.snapshotWithLocalState(_CHECKPOINT, _CHECKPOINT, canonical).getJobManagerOwnedState()


def _snapshot(operator: Configured, made: Java) -> Java:
    """The snapshot of an operator: canonical, or a checkpoint's where Flink has no canonical one (asynchronous state)."""
    try:
        return canonical_snapshot(operator, made)
    except jpype.JException as error:
        if not is_unsupported(error):
            raise
        with function_aside(operator_of(made)) if operator.unconnected else nullcontext():
            return made.snapshot(_CHECKPOINT, _CHECKPOINT)


def is_unsupported(error: Java) -> bool:
    """True for Flink's exception for an unsupported operation; False if it threw nothing."""
    return error is not None and any(
        "UnsupportedOperationException" in (class_name(one) or "") for one in causes(error)
    )


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


def scope_of(info: Java) -> Scope:
    """The scope of a state by its ``StateMetaInfoSnapshot``."""
    return _SCOPES.get(str(info.getBackendStateType()), "keyed")


class Infos:
    """The ``StateMetaInfoSnapshots`` in the headers of a subtask's handles, by scope and name, and the key's serializer."""

    def __init__(self) -> None:
        self.key: Java = None
        self.states: dict[tuple[Scope, str], Java] = {}

    def add(self, found: Java) -> None:
        """Add what a header lists."""
        for info in found:
            self.states[scope_of(info), str(info.getName())] = info

    @staticmethod
    def kind(info: Java) -> str:
        """Flink's kind of a state: that of keyed state, or the distribution of operator state."""
        options = {str(name): str(value) for name, value in info.getOptionsImmutable().items()}
        told = options.get("KEYED_STATE_TYPE") or options.get("OPERATOR_STATE_DISTRIBUTION_MODE")
        return told or str(info.getBackendStateType())


def infos(subtask: Java, loader: Java) -> Infos:
    """The states of an ``OperatorSubtaskState``, from its headers."""
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


def read_states(subtask: Java, loader: Java) -> DeclaredStates:
    """The states of an ``OperatorSubtaskState``."""
    return _told(infos(subtask, loader))


def _told(found: Infos) -> DeclaredStates:
    states = (_state(scope, name, info) for (scope, name), info in found.states.items())
    return DeclaredStates(states=tuple(states), key_serializer=None if found.key is None else serializer_of(found.key))


def _header(handle: Java, proxy: Java) -> Java:
    stream = handle.openInputStream()
    try:
        proxy.read(flink("core.memory.DataInputViewStreamWrapper")(stream))
    finally:
        stream.close()
    return proxy


def _state(scope: Scope, name: str, info: Java) -> DeclaredState:
    snapshots_by_part = info.getSerializerSnapshotsImmutable()
    return DeclaredState(
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
        names = {str(one.getName()) for one in fields_of(snapshot)}
        return tuple(str(one) for one in member(snapshot, next(one for one in _TYPES_OF_ROWS if one in names)))
    if not is_a(snapshot, COMPOSITE):
        return ()
    delegate = member(snapshot, "nestedSerializersSnapshotDelegate")
    nested = () if delegate is None else delegate.getNestedSerializerSnapshots()
    return next((columns for one in nested if (columns := _columns(one))), ())


def empty_savepoint(operators: Iterable[Configured], found: dict[int, Snapshot]) -> bytes:
    """The ``_metadata`` of a savepoint of a job that has seen nothing: what another version would be restored from.

    Empty for a job that has more subtasks than key groups, which never starts.
    """
    states = java("java.util.ArrayList")()
    operator_state = flink("runtime.checkpoint.OperatorState")
    named = any(len(one.getParameterTypes()) == 5 for one in operator_state.class_.getDeclaredConstructors())
    for operator in operators:
        subtask = found[operator.node].subtask
        if subtask is None:
            continue
        size = max(int(operator.vertex.getParallelism()), 1), default_max_parallelism(operator)
        if size[0] > size[1]:
            return b""
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
    return _with_counted_handles(bytes_of(stream.toByteArray()))


def _with_counted_handles(metadata: bytes) -> bytes:
    """A ``_metadata`` whose handles of state are numbered: Flink draws their ids, and a job's plans are equal."""
    counted: dict[bytes, bytes] = {}
    return _DRAWN_ID.sub(lambda drawn: counted.setdefault(drawn[0], _HANDLE % len(counted)), metadata)
