"""A state as a snapshot describes it, and what a new declaration makes of its values. Flink: ``StateMigrationException``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from state.compatibility.answers import Answer, Compatibility, incompatible, worst
from state.compatibility.dialects import STORE
from state.compatibility.migration import migration_of
from state.types import MapTypeInfo, TypeInformation, from_json

Description = Mapping[str, Any]
"""Name, kind and type of a state, as ``StateDescriptor.to_json`` gives them."""


def resolve_state(old: Description, new: Description) -> Compatibility:
    """Whether the state that ``new`` declares can read what is recorded under ``old``: the kinds, then the types."""
    if old["kind"] != new["kind"]:
        return incompatible(f"a {old['kind'].lower()} state became a {new['kind'].lower()} state")
    before, after = from_json(old["type"]), from_json(new["type"])
    if isinstance(before, MapTypeInfo) and isinstance(after, MapTypeInfo) and old["kind"] == "MAP":
        return resolve_map(before, after)
    return STORE.resolve(before, after)


def resolve_map(old: MapTypeInfo, new: MapTypeInfo) -> Compatibility:
    """A map state: each entry is a row of its own, found by its key, so keys must be read as they are."""
    keys = STORE.resolve(old.key_type, new.key_type)
    if keys.answer is Answer.AFTER_MIGRATION:
        keys = incompatible(*keys.changes, "the keys of a map state are not migrated")
    return worst([keys.within("the keys"), STORE.resolve(old.value_type, new.value_type).within("the values")])


def state_migration(old: Description, new: Description) -> Callable[[bytes], bytes] | None:
    """What makes the value of a row in the log, as ``new`` reads it, of one that was written under ``old``.

    None where the bytes are the same. Raises ValueError where :func:`resolve_state` says that they cannot be read.
    """
    found = resolve_state(old, new)
    if not found.readable:
        raise ValueError(f"State {old['name']!r} cannot be read: {'; '.join(found.changes)}.")
    before, after = from_json(old["type"]), from_json(new["type"])
    if isinstance(before, MapTypeInfo) and isinstance(after, MapTypeInfo) and old["kind"] == "MAP":
        return _of_map(before.value_type, after.value_type, marked=old.get("scope") != "broadcast")
    return migration_of(before, after)


def _of_map(old: TypeInformation, new: TypeInformation, *, marked: bool) -> Callable[[bytes], bytes] | None:
    """Values of a map: in keyed state, a byte before them tells None (0) from what has a value (1)."""
    migrate = migration_of(old, new)
    if migrate is None or not marked:
        return migrate
    return lambda data: data if data == b"\0" else data[:1] + migrate(data[1:])
