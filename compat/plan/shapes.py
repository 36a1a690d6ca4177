"""Serializers and declared types in a common form, so that a savepoint can be compared with a program.

PyFlink's type information becomes Java type information, and that a serializer (``TypeInformation.createSerializer``); a
savepoint holds the serializers' snapshots. Both become a :class:`Shape` here.
"""

from __future__ import annotations

import re

from msgspec import Struct

from compat.state.flink.snapshots import SerializerSnapshot
from compat.state.names import JAVA_GLOBAL_WINDOW

VOID = "VoidNamespace"


class Shape(Struct, frozen=True):
    """A serializer by a short name, with the serializers of its parts."""

    name: str
    parts: tuple[Shape, ...] = ()

    def __str__(self) -> str:
        """The text of the type, as plans have it."""
        if not self.parts:
            return self.name
        if self.name == "Row":
            return f"Row({', '.join(f'f{number}: {part}' for number, part in enumerate(self.parts))})"
        name = f"Java Tuple{len(self.parts)}" if self.name == "Tuple" else self.name
        return f"{name}<{', '.join(map(str, self.parts))}>"


BYTES = Shape("byte[]")

_SHORT_NAMES = {
    "Int": "Integer",
    "Char": "Character",
    "BigDec": "BigDecimal",
    "BigInt": "BigInteger",
    "SqlDate": "Date",
    "SqlTime": "Time",
    "SqlTimestamp": "Timestamp",
    "ByteArrayWrapper": "byte[]",
    "StringArray": "Array",
}
_PRIMITIVE_ARRAY = re.compile(r"(\w+)PrimitiveArraySerializer$")
_OWN_PACKAGES = (
    "org.apache.flink.api.",
    "org.apache.flink.runtime.",
    "org.apache.flink.streaming.",
    "org.apache.flink.table.",
)


def of_snapshot(snapshot: SerializerSnapshot | None) -> Shape | None:
    """The shape of a recorded serializer; None if it, or a part of it, could not be read."""
    if snapshot is None or not snapshot.complete:
        return None
    parts = tuple(of_snapshot(part) for part in snapshot.nested)
    if any(part is None for part in parts):
        return None
    known = tuple(part for part in parts if part is not None)
    detail = dict(snapshot.details)
    serialized = detail.get("pojo_class") or detail.get("serialized_class") or detail.get("enum_class")
    if isinstance(serialized, str):
        return Shape(serialized)
    return Shape(_name(snapshot), known)


def _name(snapshot: SerializerSnapshot) -> str:
    whole = snapshot.serializer or snapshot.class_name
    if not whole.startswith(_OWN_PACKAGES):
        return whole
    name = whole.rpartition(".")[2].replace("$Serializer", "").replace("TtlStateFactory$", "")
    array = _PRIMITIVE_ARRAY.search(name)
    if array is not None:
        return f"{array[1].lower()}[]"
    if whole.partition("$")[0] == JAVA_GLOBAL_WINDOW:
        return JAVA_GLOBAL_WINDOW
    name = name.removesuffix("Serializer").removesuffix("Snapshot")
    return _SHORT_NAMES.get(name, name)


_TOKEN = re.compile(r"\s*([A-Za-z_][\w.$ ]*(?:\[\])?|[<>(),:])")
_WORDS = {
    "PickledByteArrayTypeInfo": "byte[]",
    "PickledBytesTypeInfo": "byte[]",
    "long": "Long",
    "int": "Integer",
    "Int": "Integer",
    "integer": "Integer",
    "string": "String",
    "short": "Short",
    "double": "Double",
    "float": "Float",
    "boolean": "Boolean",
    "char": "Character",
    "LocalDate": "LocalDate",
}
_PLAIN = frozenset(
    "String Byte Boolean Short Integer Long Float Double Character BigInteger BigDecimal Instant Date Time Timestamp "
    "LocalDate LocalTime LocalDateTime byte[] boolean[] short[] int[] long[] float[] double[] char[]".split()
)


def of_type(text: str | None) -> Shape | None:
    """The serializer that Flink creates for a declared type, from its text; None for types that are not Flink's own."""
    if text is None:
        return None
    tokens = _TOKEN.findall(text)
    if "".join(tokens).replace(" ", "") != text.replace(" ", ""):
        return None
    try:
        shape, rest = _parse([token.strip() for token in tokens])
    except (_Unknown, IndexError, RecursionError):
        return None
    return None if rest else shape


class _Unknown(Exception):
    """A type whose serializer is not known here."""


def _parse(tokens: list[str]) -> tuple[Shape, list[str]]:
    head, rest = tokens[0], tokens[1:]
    if head == "Row":
        if rest[:1] != ["("]:
            return Shape("Row"), rest
        return _fields("Row", ")", rest[1:], named=True)
    if head.startswith("Java Tuple"):
        if rest[:1] != ["<"]:
            return Shape("Tuple"), rest
        return _fields("Tuple", ">", rest[1:])
    if head in ("List", "Map") and rest[:1] == ["<"]:
        return _fields(head, ">", rest[1:])
    if head in ("BasicArrayTypeInfo", "ObjectArrayTypeInfo") and rest[:1] == ["<"]:
        shape, rest = _fields("GenericArray", ">", rest[1:])
        return (Shape("Array") if head.startswith("Basic") and shape.parts == (Shape("String"),) else shape), rest
    name = _WORDS.get(head, head.removeprefix("java.lang."))
    if name not in _PLAIN:
        raise _Unknown(name)
    return Shape(name), rest


def _fields(name: str, end: str, tokens: list[str], named: bool = False) -> tuple[Shape, list[str]]:
    parts: list[Shape] = []
    while True:
        if named and tokens[1] == ":":
            tokens = tokens[2:]
        part, tokens = _parse(tokens)
        parts.append(part)
        separator, tokens = tokens[0], tokens[1:]
        if separator == end:
            return Shape(name, tuple(parts)), tokens
        if separator != ",":
            raise _Unknown(separator)
