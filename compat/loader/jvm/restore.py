"""Restores OLD's state into NEW's operators with Flink itself: in the test harness, on each available state backend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import jpype
import msgspec

from compat.loader.jvm.backends import (
    Given,
    backends,
    failure_of,
    on_hashmap,
    on_rocksdb,
    read,
    read_enumerator,
    read_versioned,
)
from compat.loader.jvm.bridge import Java, described, extends, member, operator_of
from compat.loader.jvm.distribution import parsed
from compat.loader.jvm.graphs import Configured
from compat.loader.jvm.handles import OldOperator, emptied, without_values
from compat.loader.jvm.harness import (
    Bounds,
    FailedAtFirstRead,
    OperatorFailed,
    acts_on_values,
    bounded,
    is_of_connector,
)
from compat.loader.jvm.messages import (
    Backend,
    Limit,
    OperatorRestore,
    Part,
    Rehearsal,
    Resolved,
    RestoreAttempt,
    Restored,
    Sampled,
    StateReading,
    StateRestore,
)
from compat.loader.jvm.pyflink.operators import runs_python
from compat.loader.jvm.reading import Reading
from compat.loader.jvm.rehearsal import Allowance, Rehearsing
from compat.loader.jvm.samples import Sampling
from compat.loader.jvm.states import COMPOSITE, Infos, Snapshot, infos, serializer_of
from compat.loader.jvm.writing import digest_of_classes
from compat.state.flink.errors import SavepointError
from compat.state.flink.metadata import of_other_kryo
from compat.state.flink.savepoint import OperatorState, Savepoint
from compat.state.model.samples import Sample

_NEW_ASKS_OLD = (1, 19)
_KRYO = "api.java.typeutils.runtime.kryo.KryoSerializerSnapshot"
_POJO = "api.java.typeutils.runtime.PojoSerializerSnapshot"


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """A job of NEW in this JVM: its operators, their empty snapshots, the user's class loader."""

    operators: list[Configured]
    found: Mapping[int, Snapshot]
    loader: Java
    ids: Mapping[int, tuple[str, ...]]
    flink: str
    timeout: float


def restore(built: Built, savepoint: Savepoint, limit: Limit | None = None, samples: Sequence[Sample] = ()) -> Restored:
    """The restore of each operator of NEW that finds state of its id in OLD's savepoint.

    Operators that run Python are left out: only their Python processes know how they read state. The savepoint has no values of
    keyed state. Operators that restore are then tried with real values, up to the limit or those in the heads of the files, and
    with the made-up values in ``samples``.
    """
    allowance = Allowance(limit)
    states = {one.id: one for one in savepoint.operators}
    results, unread = [], []
    for operator in built.operators:
        if runs_python(operator_of(operator.config.getStreamOperatorFactory(built.loader))):
            continue
        for operator_id in built.ids[operator.node]:
            if operator_id in states:
                try:
                    given = tuple(one for one in samples if one.operator == operator_id)
                    results.append(_restored(operator, states[operator_id], savepoint, built, allowance, given))
                except SavepointError as error:
                    unread.append(f"The state of {operator_id} cannot be read: {error}")
                break
    return Restored(operators=tuple(results), failure=" ".join(unread))


def _restored(
    operator: Configured,
    state: OperatorState,
    savepoint: Savepoint,
    built: Built,
    allowance: Allowance,
    samples: Sequence[Sample],
) -> OperatorRestore:
    bounds = Bounds(loader=built.loader, timeout=built.timeout)
    attempts: list[RestoreAttempt] = []
    if not samples and not any(one.has_state for one in state.subtasks):
        return OperatorRestore(node=operator.node, operator_id=state.id)
    hand_out = not acts_on_values(operator, built.loader)
    try:
        old = bounded(lambda: emptied(savepoint, state, built.loader, hand_out=hand_out), bounds, "Reading the state")
    except OperatorFailed as error:
        attempt = RestoreAttempt(backend="any", failure=failure_of(error))
        return OperatorRestore(node=operator.node, operator_id=state.id, attempts=(attempt,))
    given = Given(without_values(old), old.max_parallelism)
    new = built.found[operator.node].subtask
    states: tuple[StateRestore, ...] = ()
    if new is not None:
        try:
            asking = _Asking(built.flink, savepoint.format_version)
            states = bounded(
                lambda: tuple(_states(given.subtask, new, built.loader, asking)), bounds, "Reading the state"
            )
        except OperatorFailed as error:
            attempts.append(RestoreAttempt(backend="any", failure=failure_of(error)))
    keyed = bool(old.headers)
    tried = tuple(backends(old))
    made = [_attempt(operator, backend, made_by, given, bounds, keyed=keyed) for backend, made_by in tried]
    notes = old.notes
    if new is not None and any(one.failure is not None for one in made):
        # What fails with its own state before the first record as well fails for want of values, and tells nothing of OLD's.
        own = Given(new, given.max_parallelism)
        alone = [_attempt(operator, backend, made_by, own, bounds, keyed=keyed) for backend, made_by in tried]
        refused = {one.failure for one in alone if one.failure is not None}
        if any(one.failure in refused for one in made) and is_of_connector(operator, built.loader):
            notes = (*notes, "its restore, which it refuses without values, is not tried")
            made = [RestoreAttempt(backend=one.backend) if one.failure in refused else one for one in made]
        made = [
            msgspec.structs.replace(one, for_values=one.failure is not None and one.failure in refused) for one in made
        ]
    attempts += made
    if (old.versioned or old.enumerator) and all(one.failure is None for one in attempts):
        attempts += _of_versioned(operator, given, old, bounds)
    failed = {one.backend for one in attempts if one.failure is not None}
    fit = [] if "any" in failed else [one.backend for one in attempts if one.backend not in failed]
    longer = Bounds(loader=built.loader, timeout=max(built.timeout, allowance.left))
    rehearsal = Rehearsing(operator, old, savepoint, longer).rehearse(state, fit, allowance)
    sampled = _sampled(states, rehearsal)
    fitting = [one for one in tried if one[0] in fit]
    found = list(Sampling(operator, old, bounds).failures(sampled, fitting))
    same = {digest_of_classes(one) for one in built.found[operator.node].states.states}
    asked = [one for one in samples if one.classes not in same]
    read = list(Reading(operator, bounds, fitting, _converted(states), new).read(asked))
    found += [one for one in read if isinstance(one, StateReading)]
    return OperatorRestore(
        node=operator.node,
        operator_id=state.id,
        attempts=tuple(attempts),
        states=states,
        notes=notes,
        rehearsal=msgspec.structs.replace(rehearsal, states=(*rehearsal.states, *found)),
        sampled=tuple(one for one in read if isinstance(one, Sampled)),
    )


def _converted(states: Iterable[StateRestore]) -> frozenset[str]:
    """The names of the states of which a serializer says that it converts what the one before wrote."""
    return frozenset(one.name for one in states if any(part.resolved == "after-migration" for part in one.parts))


def _sampled(states: Iterable[StateRestore], rehearsal: Rehearsal) -> set[str]:
    """The names of the keyed states that are migrated as far as serializers tell, and of which no real value failed."""
    failed = {one.name for one in rehearsal.states if one.failure is not None}
    return {
        one.name
        for one in states
        if one.scope == "keyed"
        and one.name not in failed
        and any(part.resolved == "after-migration" for part in one.parts)
    }


def _attempt(
    operator: Configured, backend: Backend, made_by: Java, given: Given, bounds: Bounds, *, keyed: bool
) -> RestoreAttempt:
    """Restore on one backend; what RocksDB restored is then read once, by a backend that reads all there is.

    State without keys lies on the heap with every backend: if that fails, it fails with all of them.
    """
    try:
        if backend == "hashmap":
            bounded(lambda: on_hashmap(operator, given, bounds.loader), bounds, "The restore")
            return RestoreAttempt(backend=backend)
        again = bounded(lambda: on_rocksdb(operator, given, bounds.loader, made_by), bounds, "The restore")
    except OperatorFailed as error:
        late = isinstance(error, FailedAtFirstRead)
        fails_on: Backend = backend if keyed else "any"
        return RestoreAttempt(backend=fails_on, failure=failure_of(error), at_first_read=late)
    if again is None:
        return RestoreAttempt(backend=backend)
    try:
        bounded(lambda: read(operator, again, bounds.loader), bounds, "Reading the state")
    except OperatorFailed as error:
        return RestoreAttempt(backend=backend, failure=failure_of(error), at_first_read=True)
    return RestoreAttempt(backend=backend)


def _of_versioned(operator: Configured, given: Given, old: OldOperator, bounds: Bounds) -> Iterator[RestoreAttempt]:
    """Splits of sources and what sinks keep, read by NEW's serializers; what fails does so on every backend."""
    try:
        bounded(lambda: read_versioned(operator, given, old.versioned, bounds.loader), bounds, "Reading the state")
        if old.enumerator:
            bounded(lambda: read_enumerator(operator, old.enumerator, bounds.loader), bounds, "Reading the state")
    except OperatorFailed as error:
        yield RestoreAttempt(backend="any", failure=failure_of(error))


def _states(old: Java, new: Java, loader: Java, asking: _Asking) -> Iterator[StateRestore]:
    """OLD's states beside NEW's of the same name, each part asked of Flink's serializers."""
    before, after = infos(old, loader), infos(new, loader)
    if before.key is not None and after.key is not None:
        yield StateRestore(name="", scope="keyed", parts=(asking.part("KEY_SERIALIZER", before.key, after.key),))
    for key, info in before.states.items():
        other = after.states.get(key)
        if other is None:
            yield StateRestore(name=key[1], scope=key[0], missing=True)
            continue
        olds, news = info.getSerializerSnapshotsImmutable(), other.getSerializerSnapshotsImmutable()
        parts = tuple(
            asking.part(str(name), snapshot, news.get(name))
            for name, snapshot in olds.items()
            if news.get(name) is not None
        )
        yield StateRestore(
            name=key[1], scope=key[0], parts=parts, old_kind=Infos.kind(info), new_kind=Infos.kind(other)
        )


class _Asking:
    """Asks the serializers of a version of Flink whether they read what is in a savepoint of this format."""

    def __init__(self, flink: str, format: int) -> None:
        version = parsed(flink)
        self._new_asks_old = version >= _NEW_ASKS_OLD
        self._other_kryo = of_other_kryo(format, version)

    def part(self, name: str, old: Java, new: Java) -> Part:
        """A serializer of OLD's beside NEW's."""
        why = ""
        try:
            resolved = self._resolved(old, new)
        except jpype.JException as error:
            resolved, why = "failed", described(error)
        return Part(
            name=name,
            resolved=resolved,
            why=why,
            old=serializer_of(old),
            new=serializer_of(new),
            lost=tuple(dict.fromkeys(_lost(old))),
        )

    def _resolved(self, old: Java, new: Java) -> Resolved:
        asked, of = (new, old) if self._new_asks_old else (old, new.restoreSerializer())
        answer = asked.resolveSchemaCompatibility(of)
        if answer.isIncompatible():
            return "incompatible"
        if self._other_kryo and any(snapshots_of_kryo(old)):
            return "other-kryo"
        if answer.isCompatibleAfterMigration():
            return "after-migration"
        return "reconfigured" if answer.isCompatibleWithReconfiguredSerializer() else "as-is"


def _lost(snapshot: Java) -> Iterator[tuple[str, str]]:
    """The fields of POJOs that Flink did not find in the classes of NEW: what was in them is passed over."""
    if extends(snapshot, _POJO):
        data = member(snapshot, "snapshotData")
        cls = str(member(data, "pojoClass").getName())
        for name, entry in member(member(data, "fieldSerializerSnapshots"), "underlyingMap").items():
            if member(entry, "key") is None:
                yield cls, str(name)
    for inner in nested_snapshots(snapshot):
        yield from _lost(inner)


def nested_snapshots(snapshot: Java) -> Iterator[Java]:
    """The snapshots within one: of the fields of a POJO, of the parts of a composite serializer."""
    if extends(snapshot, _POJO):
        fields = member(member(snapshot, "snapshotData"), "fieldSerializerSnapshots")
        found = (member(entry, "value") for entry in member(fields, "underlyingMap").values())
        yield from (one for one in found if one is not None)
    elif extends(snapshot, COMPOSITE):
        delegate = member(snapshot, "nestedSerializersSnapshotDelegate")
        yield from () if delegate is None else delegate.getNestedSerializerSnapshots()


def snapshots_of_kryo(snapshot: Java) -> Iterator[Java]:
    """The snapshots of Kryo's serializers in a snapshot."""
    if extends(snapshot, _KRYO):
        yield snapshot
    for inner in nested_snapshots(snapshot):
        yield from snapshots_of_kryo(inner)
