"""The compatibility of a new declaration with a state in a snapshot. Flink: ``StateMigrationException``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compat.state.compatibility.answers import Answer, Compatibility, incompatible, worst
from compat.state.compatibility.dialects import STORE
from compat.state.types import MapTypeInfo, from_json

Description = Mapping[str, Any]
"""Name, kind and type of a state, as ``StateDescriptor.to_json`` gives them."""


def resolve_state(old: Description, new: Description) -> Compatibility:
    """The compatibility of the state ``new`` with what is recorded under ``old``: first the kinds, then the types."""
    if old["kind"] != new["kind"]:
        return incompatible(f"a {old['kind'].lower()} state became a {new['kind'].lower()} state")
    before, after = from_json(old["type"]), from_json(new["type"])
    if isinstance(before, MapTypeInfo) and isinstance(after, MapTypeInfo) and old["kind"] == "MAP":
        return resolve_map(before, after)
    return STORE.resolve(before, after)


def resolve_map(old: MapTypeInfo, new: MapTypeInfo) -> Compatibility:
    """The compatibility of a map state: each entry is a row of its own, found by its key, so keys must be read as they are."""
    keys = STORE.resolve(old.key_type, new.key_type)
    if keys.answer is Answer.AFTER_MIGRATION:
        keys = incompatible(*keys.changes, "the keys of a map state are not migrated")
    return worst([keys.within("the keys"), STORE.resolve(old.value_type, new.value_type).within("the values")])
