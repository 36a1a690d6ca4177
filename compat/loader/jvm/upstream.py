"""The possible classes of values whose type is not declared: those that upstream code creates or names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import jpype

from compat.loader.jvm.bridge import FLINK, Java, bytes_of, java, operator_of
from compat.loader.jvm.traits import given_of
from compat.loader.jvm.usercode import classes_of, reached

_BOXES = ("Boolean", "Byte", "Character", "Short", "Integer", "Long", "Float", "Double")
_OF_VALUES = (
    *(f"java.lang.{name}" for name in _BOXES),
    "java.math.",
    "java.time.",
    "java.util.UUID",
    "java.util.Optional",
    f"{FLINK}api.java.tuple.Tuple",
    f"{FLINK}types.",
)
"""The packages of library classes whose objects are values; code that names one may create it."""
_STATIC = 0x0008
_NO_VALUES = (FLINK, "java.lang.Throwable", "java.io.Closeable")


class Held(NamedTuple):
    """A possible class of values; ``made`` if code creates such objects, and does not only name their class."""

    cls: Java
    made: bool


class Upstream:
    """The operators of a StreamGraph, each with its upstream operators."""

    def __init__(self, stream_graph: Java, loader: Java) -> None:
        self._graph = stream_graph
        self._loader = loader
        self._told: dict[int, dict[str, bool]] = {}

    def classes(self, node: int) -> tuple[Held, ...]:
        """The classes of values in the code of an operator and of those before it, by name."""
        waiting, seen = [node], {node}
        names: dict[str, bool] = {}
        while waiting:
            one = self._graph.getStreamNode(java("java.lang.Integer")(waiting.pop()))
            for name, made in self._of_node(one).items():
                names[name] = made or names.get(name, False)
            sources = {int(edge.getSourceId()) for edge in one.getInEdges()} - seen
            seen |= sources
            waiting += sources
        return tuple(self._held(names))

    def _of_node(self, node: Java) -> dict[str, bool]:
        """The names of the classes in the code of one operator, and whether it makes objects of them."""
        id = int(node.getId())
        if id not in self._told:
            factory = node.getOperatorFactory()
            given = None if factory is None else given_of(factory, operator_of(factory))
            if given is not None:
                code = reached(given)
                self._told[id] = {name: name in code.made or name.startswith(_OF_VALUES) for name in code.named}
            else:
                named = () if factory is None else classes_of(self._loader).named_by(_serialized(factory))
                self._told[id] = dict.fromkeys((name.replace("/", ".") for name in named), True)
        return self._told[id]

    def _held(self, names: dict[str, bool]) -> Iterator[Held]:
        own = classes_of(self._loader)
        for name in sorted(names):
            if own.here(name.replace(".", "/")) or name.startswith(_OF_VALUES):
                try:
                    cls = java("java.lang.Class").forName(name, False, self._loader)
                except jpype.JException:
                    continue
                made = names[name] or bool(cls.isEnum())
                if name.startswith(_OF_VALUES) or (_may_be_value(cls) and (made or _has_fields(cls))):
                    yield Held(cls, made)


def _serialized(factory: Java) -> bytes:
    try:
        return bytes_of(java("org.apache.flink.util.InstantiationUtil").serializeObject(factory))
    except jpype.JException:
        return b""


def _has_fields(cls: Java) -> bool:
    return any(not int(field.getModifiers()) & _STATIC for field in cls.getDeclaredFields())


def _may_be_value(cls: Java) -> bool:
    """False for a function, a schema or another part of a program: what is of one of Flink's own types, or an error."""
    while cls is not None:
        if any(str(one.getName()).startswith(_NO_VALUES) for one in (cls, *cls.getInterfaces())):
            return False
        cls = cls.getSuperclass()
    return True
