"""Old bytes in the new form, by the two types alone: nothing is unpickled, and no code of the program is run."""

from __future__ import annotations

from collections.abc import Callable

from compat.state.compatibility.answers import Answer
from compat.state.compatibility.dialects import STORE, is_named
from compat.state.compatibility.states import Description, resolve_state
from compat.state.serializers.avro import reader, writer
from compat.state.serializers.codecs import join, split
from compat.state.types import (
    ExternalTypeInfo,
    GenericRecordAvroTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    from_json,
)

Migrate = Callable[[bytes], bytes]


def migration_of(old: TypeInformation, new: TypeInformation) -> Migrate | None:
    """The function from bytes of ``old`` to bytes of ``new``; None if they are the same.

    Raises ValueError if ``new`` cannot read what ``old`` wrote. A field that was added is None in what was written before.
    """
    found = STORE.resolve(old, new)
    if not found.readable:
        raise ValueError(f"{new} cannot read what {old} wrote: {'; '.join(found.changes)}.")
    return _migrate(old, new) if found.answer is Answer.AFTER_MIGRATION else None


def state_migration(old: Description, new: Description) -> Migrate | None:
    """The function from a row's value in the log, written under ``old``, to the value that ``new`` reads.

    None if the bytes are the same. Raises ValueError if :func:`resolve_state` says that they cannot be read.
    """
    found = resolve_state(old, new)
    if not found.readable:
        raise ValueError(f"State {old['name']!r} cannot be read: {'; '.join(found.changes)}.")
    before, after = from_json(old["type"]), from_json(new["type"])
    if isinstance(before, MapTypeInfo) and isinstance(after, MapTypeInfo) and old["kind"] == "MAP":
        return _of_map(before.value_type, after.value_type, marked=old.get("scope") != "broadcast")
    return migration_of(before, after)


def _of_map(old: TypeInformation, new: TypeInformation, *, marked: bool) -> Migrate | None:
    """Values of a map: in keyed state, a byte before them tells None (0) from what has a value (1)."""
    migrate = migration_of(old, new)
    if migrate is None or not marked:
        return migrate
    return lambda data: data if data == b"\0" else data[:1] + migrate(data[1:])


def _migrate(old: TypeInformation, new: TypeInformation) -> Migrate:
    if isinstance(old, ExternalTypeInfo):
        return _migrate(old.type_info, new)
    if isinstance(new, ExternalTypeInfo):
        return _migrate(old, new.type_info)
    if STORE.resolve(old, new).answer is not Answer.AFTER_MIGRATION:
        return _same
    if isinstance(old, RowTypeInfo) and isinstance(new, RowTypeInfo):
        return _row(old, new)
    if isinstance(old, TupleTypeInfo) and isinstance(new, TupleTypeInfo):
        fields = [_migrate(*pair) for pair in zip(old.field_types, new.field_types, strict=True)]
        return lambda data: join(_each(fields, split(data)))
    if isinstance(old, GenericRecordAvroTypeInfo) and isinstance(new, GenericRecordAvroTypeInfo):
        read, write = reader(old.schema, new.schema), writer(new.schema)
        return lambda data: write(read(data))
    if isinstance(old, MapTypeInfo) and isinstance(new, MapTypeInfo):
        entry = [_migrate(old.key_type, new.key_type), _migrate(old.value_type, new.value_type)]
        return lambda data: join(_each(entry * (len(parts := split(data)) // 2), parts))
    if old.kind == "LONG":
        return lambda data: b"%d" % int.from_bytes(data, "big", signed=True)
    element = _migrate(*old.children(), *new.children())
    return lambda data: join(None if part is None else element(part) for part in split(data))


def _row(old: RowTypeInfo, new: RowTypeInfo) -> Migrate:
    places = {name: place for place, name in enumerate(old.field_names)}
    types = dict(zip(old.field_names, old.field_types, strict=True))
    by_place = not (is_named(old) and is_named(new))
    wanted: list[tuple[int | None, Migrate]] = []
    for place, (name, field) in enumerate(zip(new.field_names, new.field_types, strict=True)):
        if by_place:
            wanted.append((place, _migrate(old.field_types[place], field)))
        elif name in places:
            wanted.append((places[name], _migrate(types[name], field)))
        else:
            wanted.append((None, _same))

    def migrate(data: bytes) -> bytes:
        parts = split(data[1:])
        fields = [None if place is None else parts[place] for place, _ in wanted]
        return data[:1] + join(_each([each for _, each in wanted], fields))

    return migrate


def _each(migrations: list[Migrate], parts: list[bytes | None]) -> list[bytes | None]:
    return [None if part is None else each(part) for each, part in zip(migrations, parts, strict=True)]


def _same(data: bytes) -> bytes:
    return data
