"""Whether NEW's serializer reads what OLD's wrote, as far as their snapshots show without Flink's own classes.

Equal snapshots are one serializer. A POJO that gains or loses fields migrates (``PojoSerializerSnapshot``), the
constants of an
enum may move. For all other differences, Flink asks the serializers' code; without that code, nothing counts as readable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from compat.loader.jvm.differences import differences
from compat.loader.jvm.messages import Serializer
from compat.state.flink.binary import ByteReader
from compat.state.flink.errors import SavepointError
from compat.state.flink.snapshots import SerializerSnapshot, read_versioned
from compat.state.model.states import State, StateScope

_TTL = "TtlSerializerSnapshot"
_ENUM, _POJO = "enum_class", "pojo_class"


class Told(Enum):
    """The answer from two serializer snapshots."""

    SAME = "same"
    MIGRATES = "migrates"
    UNKNOWN = "unknown"


_ORDER = list(Told)


def told(old: bytes, new: bytes) -> tuple[Told, tuple[str, ...]]:
    """The answer from two serializer snapshots, and their differences in sentences."""
    if old == new:
        return Told.SAME, ()
    before, after = _read(old), _read(new)
    if before is None or after is None or before == after:  # the differences are in unread parts
        answer = Told.UNKNOWN
    else:
        answer = _resolved(_value(before), _value(after))
    return answer, differences(_record(old), _record(new))


def of_states(old: State, new: State) -> tuple[Told, tuple[str, ...]] | None:
    """The answer for the values of two states; None if one of them has no snapshot."""
    if old.serializers is None or new.serializers is None:
        return None
    if old.serializers.value is None or new.serializers.value is None:
        return None
    return told(old.serializers.value, new.serializers.value)


def value_of(state: State) -> SerializerSnapshot | None:
    """The snapshot of the serializer of a state's values; None if there is none that can be read."""
    return None if state.serializers is None or state.serializers.value is None else _read(state.serializers.value)


def entry_key_of(state: State) -> SerializerSnapshot | None:
    """The snapshot of the serializer of a broadcast map's keys, which Flink migrates like values; None for other states."""
    if state.scope is not StateScope.BROADCAST or state.serializers is None or state.serializers.key is None:
        return None
    return _read(state.serializers.key)


def placed(old: State, new: State) -> tuple[Told, tuple[str, ...]] | None:
    """The answer for the parts that locate values, keys and namespaces, which are never migrated."""
    if old.serializers is None or new.serializers is None:
        return None
    for before, after in (
        (old.serializers.key, new.serializers.key),
        (old.serializers.namespace, new.serializers.namespace),
    ):
        if before is not None and after is not None and before != after:
            return Told.UNKNOWN, told(before, after)[1]
    return Told.SAME, ()


def _read(written: bytes) -> SerializerSnapshot | None:
    try:
        return read_versioned(ByteReader(written, "serializer"), 0)
    except SavepointError:
        return None


def _record(written: bytes) -> Serializer:
    return Serializer(serializer="", snapshot="serializer", version=0, written=written)


def _value(snapshot: SerializerSnapshot) -> SerializerSnapshot:
    """The serializer of the value itself: with a time to live, a time stamp is stored beside it."""
    return snapshot.nested[-1] if _TTL in snapshot.class_name and snapshot.nested else snapshot


def _resolved(old: SerializerSnapshot, new: SerializerSnapshot) -> Told:
    """The answer for a composite: the worst of its parts. Flink: ``CompositeTypeSerializerSnapshot``."""
    if old == new:
        return Told.SAME
    if old.class_name != new.class_name or not (old.complete and new.complete):
        return Told.UNKNOWN
    before, after = dict(old.details), dict(new.details)
    if _ENUM in before:
        return Told.SAME if _is_kept(before, after) else Told.UNKNOWN
    if _POJO in before:
        return _resolved_fields(old, new)
    if before != after or len(old.nested) != len(new.nested):
        return Told.UNKNOWN
    return _worst(_resolved(one, other) for one, other in zip(old.nested, new.nested, strict=True))


def _is_kept(old: Mapping[str, object], new: Mapping[str, object]) -> bool:
    """True if each constant of an enum is still there: they are mapped by name (``EnumSerializerSnapshot``)."""
    before, after = old.get("constants"), new.get("constants")
    same = old.get(_ENUM) == new.get(_ENUM)
    return same and isinstance(before, tuple) and isinstance(after, tuple) and set(before) <= set(after)


def _resolved_fields(old: SerializerSnapshot, new: SerializerSnapshot) -> Told:
    """The answer for a POJO: fields may come and go, remaining ones have to be readable, everything else unchanged."""
    before, after = dict(old.details), dict(new.details)
    olds, news = before.pop("fields", None), after.pop("fields", None)
    if before != after or not isinstance(olds, tuple) or not isinstance(news, tuple):
        return Told.UNKNOWN
    if len(olds) != len(old.nested) or len(news) != len(new.nested):
        return Told.UNKNOWN
    owners = dict(zip(news, new.owners, strict=False))
    if any(owners.get(name, owner) != owner for name, owner in zip(olds, old.owners, strict=False)):
        return Told.UNKNOWN  # whether the class that declared it still has it, only the classes tell
    parts = dict(zip(news, new.nested, strict=True))
    kept = _worst(_resolved(one, parts[name]) for name, one in zip(olds, old.nested, strict=True) if name in parts)
    return max(kept, Told.SAME if olds == news else Told.MIGRATES, key=_ORDER.index)


def _worst(answers: Iterable[Told]) -> Told:
    return max(answers, key=_ORDER.index, default=Told.SAME)
