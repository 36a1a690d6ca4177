"""Sample values of states with generic Avro records, for cases that empty states do not show and real ones may not contain.

Flink reads a generic record by OLD's schema and writes it by NEW's, field by field at its position. RocksDB does this in the
migration at the restore, the heap at the next checkpoint. A new field has no value at its position, and a field after a removed
one gets the value of another. Samples are converted like that, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

import jpype
from msgspec import Struct

from compat.loader.jvm.backends import Given, failure_of, on_hashmap, on_rocksdb, restored_values
from compat.loader.jvm.bridge import Java, bytes_of, class_name, flink, is_a, java, member
from compat.loader.jvm.graphs import Configured
from compat.loader.jvm.handles import Header, OldOperator, key_groups, subtask
from compat.loader.jvm.harness import Bounds, OperatorFailed, bounded
from compat.loader.jvm.messages import Backend, Moment, RestoreFailure, StateReading
from compat.loader.jvm.states import Infos, canonical_snapshot, scope_of
from compat.state.flink.contents import Entry, group_of

_AVRO = "formats.avro.typeutils.AvroSerializer"
_TTL = "runtime.state.ttl.TtlStateFactory$TtlSerializer"
_GENERIC = "org.apache.avro.generic.GenericRecord"
_SEEDS = range(3)


class _Sample(Struct, frozen=True):
    """A sample of a state: the entry that Flink restores, and the record in it."""

    entry: Entry
    record: Java


class Sampling(Struct, frozen=True):
    """Samples of the states of one operator, restored on its backends."""

    operator: Configured
    old: OldOperator
    bounds: Bounds

    def failures(self, names: Collection[str], fit: Collection[tuple[Backend, Java]]) -> Iterator[StateReading]:
        """The results for samples of these keyed states whose values changed: once per backend."""
        for header in self.old.headers:
            for number, info in enumerate(header.proxy.getStateMetaInfoSnapshots()):
                name = str(info.getName())
                if scope_of(info) != "keyed" or name not in names:
                    continue
                for backend, made_by in fit:
                    tries = (self._try(header, number, info, seed, backend, made_by) for seed in _SEEDS)
                    yield from islice((one for one in tries if one is not None), 1)

    def _try(
        self, header: Header, number: int, info: Java, seed: int, backend: Backend, made_by: Java
    ) -> StateReading | None:
        name = str(info.getName())
        moment: Moment = "restore"
        try:
            sample = bounded(
                lambda: _sample(header, number, info, seed, self.old.max_parallelism), self.bounds, "A sample"
            )
        except (OperatorFailed, AttributeError, TypeError):
            return (
                None  # a value that OLD could not have written either, or another Avro than those that are known here
            )
        if sample is None:
            return None
        given = self._given(header, sample.entry)
        try:
            if backend == "hashmap":
                made = bounded(lambda: on_hashmap(self.operator, given, self.bounds.loader), self.bounds, "The restore")
                moment = "checkpoint"
                written = bounded(lambda: canonical_snapshot(self.operator, made), self.bounds, "Writing the state")
                again: Given | None = Given(written, given.max_parallelism)
            else:
                again = bounded(
                    lambda: on_rocksdb(self.operator, given, self.bounds.loader, made_by), self.bounds, "The restore"
                )
                moment = "first-read"
            if again is None:
                return None
            whole = again
            values = bounded(
                lambda: restored_values(self.operator, whole, name, self.bounds.loader),
                self.bounds,
                "Reading the state",
            )
        except OperatorFailed as error:
            return StateReading(
                backend=backend, scope="keyed", name=name, failure=failure_of(error), at=moment, made_up=True
            )
        moved = [field for value in values for field in _moved(sample.record, _record_in(value))]
        if not moved:
            return None
        said = RestoreFailure(type="MovedValues", message=f"{_sentence(moved)} Fields are copied by their position.")
        return StateReading(backend=backend, scope="keyed", name=name, failure=said, at="moved", made_up=True)

    def _given(self, header: Header, entry: Entry) -> Given:
        group = group_of(0, [entry])
        among = (0, self.old.max_key_groups - 1)
        handle = key_groups(header.data, [(entry_key_group(entry, self.old.max_parallelism), group.data)], among)
        return Given(subtask(self.old, [handle]), self.old.max_parallelism)


def entry_key_group(entry: Entry, max_parallelism: int) -> int:
    """The key group at the beginning of an entry's key."""
    return int.from_bytes(entry.key[: _prefix(max_parallelism)], "big")


def _prefix(max_parallelism: int) -> int:
    return int(
        flink("runtime.state.CompositeKeySerializationUtils").computeRequiredBytesInKeyGroupPrefix(max_parallelism)
    )


def _sample(header: Header, number: int, info: Java, seed: int, max_parallelism: int) -> _Sample | None:
    """A sample of a state as OLD would have written it; None for one whose values are no generic records of Avro."""
    snapshots = info.getSerializerSnapshotsImmutable()
    serializer = snapshots.get("VALUE_SERIALIZER").restoreSerializer()
    kind = Infos.kind(info)
    user_key: Java = None
    if kind == "LIST":
        serializer = serializer.getElementSerializer()
    elif kind == "MAP":
        user_key, serializer = serializer.getKeySerializer(), serializer.getValueSerializer()
    values = _inner(serializer)
    if values is None:
        return None
    record = _random(values, seed)
    value = flink("core.memory.DataOutputSerializer")(256)
    if kind == "MAP":
        value.writeBoolean(False)
    serializer.serialize(_wrapped(serializer, record), value)
    key = _key(header, snapshots.get("NAMESPACE_SERIALIZER").restoreSerializer(), max_parallelism)
    if key is None:
        return None
    if user_key is not None:
        user_key.serialize(user_key.createInstance(), key)
    return _Sample(Entry(number, bytes_of(key.getCopyOfBuffer()), bytes_of(value.getCopyOfBuffer())), record)


def _inner(serializer: Java) -> Java:
    """Avro's serializer of generic records, which may stand in one that notes when a value was last used."""
    if is_a(serializer, _TTL):
        serializer = member(serializer, "fieldSerializers")[1]
    if not is_a(serializer, _AVRO):
        return None
    return serializer if str(serializer.getType().getName()) == _GENERIC else None


def _wrapped(serializer: Java, record: Java) -> Java:
    if not is_a(serializer, _TTL):
        return record
    return flink("runtime.state.ttl.TtlValue")(record, java("java.lang.System").currentTimeMillis())


def _random(serializer: Java, seed: int) -> Java:
    """A record with values by its schema, made by Avro's own means."""
    schema = member(member(serializer, "schema"), "schema")
    random = jpype.JClass("org.apache.avro.util.RandomData", loader=schema.getClass().getClassLoader())
    return random(schema, 1, jpype.JLong(seed)).iterator().next()


def _key(header: Header, namespaces: Java, max_parallelism: int) -> Java:
    """The composite key of the sample, as the canonical format has it; None if no key can be made."""
    utils = flink("runtime.state.CompositeKeySerializationUtils")
    keys = header.proxy.getKeySerializerSnapshot().restoreSerializer()
    key, namespace = keys.createInstance(), namespaces.createInstance()
    if namespace is None and (class_name(namespaces) or "").endswith("TimeWindow$Serializer"):
        namespace = flink("streaming.api.windowing.windows.TimeWindow")(0, 1)
    if key is None or namespace is None:
        return None
    out = flink("core.memory.DataOutputSerializer")(64)
    group = flink("runtime.state.KeyGroupRangeAssignment").assignToKeyGroup(key, max_parallelism)
    ambiguous = utils.isAmbiguousKeyPossible(keys, namespaces)
    utils.writeKeyGroup(group, _prefix(max_parallelism), out)
    utils.writeKey(key, keys, out, ambiguous)
    utils.writeNameSpace(namespace, namespaces, out, ambiguous)
    return out


def _record_in(value: Java) -> Java:
    """The record in a value of a state: the value, the only one of a list or map, or the one with a time beside it."""
    if is_a(value, "runtime.state.ttl.TtlValue"):
        return _record_in(value.getUserValue())
    if isinstance(value, java("java.util.List")):
        return _record_in(value.get(0))
    if isinstance(value, java("java.util.Map")):
        return _record_in(value.values().iterator().next())
    return value


def _moved(before: Java, after: Java) -> Iterator[str]:
    """The fields that both records have, with the same type, and not with the same value."""
    if not hasattr(after, "getSchema"):
        return
    schema = before.getSchema()
    for field in after.getSchema().getFields():
        other = schema.getField(field.name())
        same_type = other is not None and other.schema().equals(field.schema())
        if same_type and str(before.get(other.pos())) != str(after.get(field.pos())):
            yield str(field.name())


def _sentence(moved: list[str]) -> str:
    if len(moved) == 1:
        return f"The field {moved[0]} gets the value of another one."
    return f"The fields {', '.join(moved)} get the values of others."
