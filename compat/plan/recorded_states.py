"""A state as a snapshot of Flink records it: its kind, and the shapes of its serializers."""

from __future__ import annotations

import builtins

from msgspec import Struct
from msgspec.structs import replace

from compat.plan.shapes import VOID, Shape, of_snapshot
from compat.state import names as framework
from compat.state.flink import SerializerSnapshot, StateMeta
from compat.state.flink.headers import KIND, MODE, QUEUE
from compat.state.model.states import StateKind, StateScope

_KINDS = {
    "VALUE": StateKind.VALUE,
    "LIST": StateKind.LIST,
    "MAP": StateKind.MAP,
    "REDUCING": StateKind.REDUCING,
    "AGGREGATING": StateKind.AGGREGATING,
}
_KRYO = ".kryo.KryoSerializerSnapshot"
_SCOPES = {"UNION": StateScope.UNION, "BROADCAST": StateScope.BROADCAST}


class RecordedState(Struct, frozen=True):
    """A state as the backend knows it.

    ``kind`` is the backend's: PyFlink keeps value, reducing and aggregating states as lists. ``kind`` and the shapes
    are None if the savepoint does not record them. ``value`` is without the wrapper of a time to live (``ttl``).
    ``elements`` are a few of the byte arrays that PyFlink keeps, of the first element of a list. ``kryo`` says that
    Kryo wrote some of it.
    """

    name: str
    kind: StateKind | None
    scope: StateScope
    value: Shape | None = None
    namespace: Shape | None = None
    ttl: bool = False
    bytes: int | None = None
    elements: tuple[builtins.bytes, ...] = ()
    kryo: bool = False

    @property
    def timers(self) -> bool:
        """True for a queue of timers."""
        return self.kind is StateKind.TIMERS


def kept_by_flink(state: RecordedState, name: str) -> bool:
    """True for internal states of Flink's operators, under a ``name`` that no function gave."""
    if state.timers or name.startswith(framework.PYTHON_REDUCE):
        return True
    if state.namespace is not None and name in framework.OF_TRIGGERS:
        return True
    return name in framework.OF_OPERATORS or name in framework.OF_CONNECTORS


def has_kryo(snapshot: SerializerSnapshot | None) -> bool:
    """Whether a serializer, or one within it, is Kryo's."""
    if snapshot is None:
        return False
    return snapshot.class_name.endswith(_KRYO) or any(map(has_kryo, snapshot.nested))


def recorded_state(meta: StateMeta, size: int | None) -> RecordedState:
    """A state from its header; ``size`` is the size of its values in bytes, if known."""
    kryo = any(has_kryo(snapshot) for _, snapshot in meta.serializers)
    return replace(_without_kryo(meta, size), kryo=kryo) if kryo else _without_kryo(meta, size)


def _without_kryo(meta: StateMeta, size: int | None) -> RecordedState:
    value = of_snapshot(meta.serializer("VALUE_SERIALIZER"))
    namespace = of_snapshot(meta.serializer("NAMESPACE_SERIALIZER"))
    if meta.type == QUEUE:
        if value is not None and len(value.parts) == 2:
            namespace = value.parts[1]
        return RecordedState(meta.name, StateKind.TIMERS, StateScope.KEYED, None, _window(namespace), False, size)
    if meta.type in ("OPERATOR", "BROADCAST"):
        scope = _SCOPES.get(meta.option(MODE) or meta.type, StateScope.OPERATOR)
        kind = StateKind.MAP if scope is StateScope.BROADCAST else StateKind.LIST
        if scope is StateScope.BROADCAST:
            key = of_snapshot(meta.serializer("KEY_SERIALIZER"))
            value = None if key is None or value is None else Shape("Map", (key, value))
        return RecordedState(meta.name, kind, scope, value, None, False, size)
    plain, ttl = _without_ttl(value)
    kind_name = meta.option(KIND) or ""
    return RecordedState(meta.name, _KINDS.get(kind_name), StateScope.KEYED, plain, _window(namespace), ttl, size)


def _window(namespace: Shape | None) -> Shape | None:
    return None if namespace is None or namespace.name == VOID else namespace


def _without_ttl(value: Shape | None) -> tuple[Shape | None, bool]:
    """The shape of what the program stores, and whether it is kept with the time of its last use."""
    if value is None:
        return None, False
    if value.name == "Ttl":
        return value.parts[-1], True
    if value.name in ("List", "Map") and value.parts and value.parts[-1].name == "Ttl":
        inner, _ = _without_ttl(value.parts[-1])
        assert inner is not None
        return Shape(value.name, (*value.parts[:-1], inner)), True
    return value, False
