"""The differences between two serializers in words: the field, the constant, the class, from their snapshots."""

from __future__ import annotations

import json
from collections.abc import Iterator

from compat.loader.jvm.messages import Serializer
from compat.plan.shapes import of_snapshot
from compat.state.flink.binary import ByteReader
from compat.state.flink.errors import SavepointError
from compat.state.flink.snapshots import SerializerSnapshot, read_versioned


def differences(old: Serializer, new: Serializer) -> tuple[str, ...]:
    """Sentences on how NEW's serializer differs from OLD's; empty if their snapshots do not show it."""
    if old.columns and new.columns and old.columns != new.columns:
        return (f"Rows of ({', '.join(old.columns)}) became rows of ({', '.join(new.columns)}).",)
    read = snapshots(old, new)
    if read is None:
        return (
            () if old.serializer == new.serializer else (f"{_short(old.serializer)} became {_short(new.serializer)}.",)
        )
    return tuple(dict.fromkeys(between(*read, "")))


def snapshots(old: Serializer, new: Serializer) -> tuple[SerializerSnapshot, SerializerSnapshot] | None:
    """Both serializer snapshots, read; None if one of them cannot be read."""
    before, after = _read(old), _read(new)
    return None if before is None or after is None else (before, after)


def _read(serializer: Serializer) -> SerializerSnapshot | None:
    try:
        return read_versioned(ByteReader(serializer.written, serializer.snapshot), 0)
    except SavepointError:
        return None


def between(old: SerializerSnapshot, new: SerializerSnapshot, where: str = "") -> Iterator[str]:
    """Sentences on how two snapshots differ; ``where`` is their place."""
    prefix = f"{where}: " if where else ""
    before, after = dict(old.details), dict(new.details)
    if old.class_name != new.class_name:
        if _name(old) == _name(new):
            yield f"{prefix}values of {_name(old)} are written by another serializer: {_writer(old)} became {_writer(new)}."
        else:
            yield f"{prefix}{_name(old)} became {_name(new)}."
        return
    for key in ("pojo_class", "serialized_class", "enum_class", "tuple_class", "case_class"):
        if before.get(key) != after.get(key):
            yield f"{prefix}the class {before.get(key)} became {after.get(key)}."
    if "fields" in before and "fields" in after:
        yield from _pojo(old, new, prefix)
        return
    yield from _lists(before.get("constants"), after.get("constants"), "constant", prefix)
    yield from _lists(before.get("registrations"), after.get("registrations"), "registered class", prefix)
    if before.get("schema") != after.get("schema"):
        yield from _schemas(str(before.get("schema")), str(after.get("schema")), prefix)
    if len(old.nested) != len(new.nested):
        yield f"{prefix}{len(old.nested)} fields became {len(new.nested)}."
    for place, (one, other) in enumerate(zip(old.nested, new.nested, strict=False)):
        inner = f"field f{place}" if "tuple_class" in before else ""
        yield from between(one, other, ", ".join(part for part in (where, inner) if part))


def _pojo(old: SerializerSnapshot, new: SerializerSnapshot, prefix: str) -> Iterator[str]:
    before = dict(zip(old.texts("fields"), old.nested, strict=False))
    after = dict(zip(new.texts("fields"), new.nested, strict=False))
    cls = _short(str(dict(old.details).get("pojo_class")))
    for name, snapshot in before.items():
        if name not in after:
            yield f"{prefix}the field {name} of {cls} is gone."
        else:
            yield from between(snapshot, after[name], f"{prefix}the field {name} of {cls}")
    yield from (f"{prefix}the field {name} of {cls} is new." for name in after if name not in before)
    owners = dict(zip(after, new.owners, strict=False))
    for name, owner in zip(before, old.owners, strict=False):
        if owners.get(name, owner) != owner:
            was = owner or "a class that NEW does not have with it"
            yield f"{prefix}the field {name} of {cls} was declared by {was}, and is by {owners[name]}."
    yield from _lists(old.texts("subclasses"), new.texts("subclasses"), "subclass", prefix)


def _lists(old: object, new: object, what: str, prefix: str) -> Iterator[str]:
    if not isinstance(old, tuple) or not isinstance(new, tuple) or old == new:
        return
    gone = [one for one in old if one not in new]
    added = [one for one in new if one not in old]
    yield from (f"{prefix}the {what} {one} is gone." for one in gone)
    yield from (f"{prefix}the {what} {one} is new." for one in added)
    if not gone and not added:
        yield f"{prefix}the {what}s stand in another order."


def _schemas(old: str, new: str, prefix: str) -> Iterator[str]:
    """The fields of two Avro records that only one of them has, or that have another type."""
    try:
        before, after = (
            {str(field["name"]): json.dumps(field["type"], sort_keys=True) for field in json.loads(text)["fields"]}
            for text in (old, new)
        )
    except (ValueError, KeyError, TypeError):
        yield f"{prefix}the Avro schema differs."
        return
    yield from (f"{prefix}the Avro field {name} is gone." for name in before if name not in after)
    yield from (f"{prefix}the Avro field {name} is new." for name in after if name not in before)
    for name in before:
        if name in after and before[name] != after[name]:
            yield f"{prefix}the Avro field {name} changed from {before[name]} to {after[name]}."


def _name(snapshot: SerializerSnapshot) -> str:
    shape = of_snapshot(snapshot)
    return str(shape) if shape is not None else _short(snapshot.serializer or snapshot.class_name)


def _writer(snapshot: SerializerSnapshot) -> str:
    return (snapshot.serializer or snapshot.class_name).rpartition(".")[2].removesuffix("Snapshot")


def _short(name: str) -> str:
    return name.rpartition(".")[2] if name.startswith("org.apache.flink.") else name
