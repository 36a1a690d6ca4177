"""Flink SQL's types, from the Java objects that serializer snapshots of tables hold, as text: `DECIMAL(10, 2) NOT NULL`.

The objects were read by the grammar of Java's format; no class was loaded. They may refer to each other in circles, or so often
that the text would never end. So the text is cut if it is too deep, or too long for its bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from compat.state.flink.binary import ByteReader
from compat.state.flink.java_objects import JavaArray, JavaClass, JavaEnum, JavaObject, JavaValue, read_java_object

PACKAGE = "org.apache.flink.table.types.logical."
_DEEPEST = 24
_CUT = "…"
_MOST = 2**31 - 1


def read_logical_type(reader: ByteReader) -> str:
    """Read a `LogicalType` in a stream of its own: the text that Flink's `asSummaryString` has, or the name of another class.

    Raises `DamagedSavepoint` or `TruncatedSavepoint`.
    """
    value, longest = _read(reader)
    return _Text(longest).whole(value)


def read_data_type(reader: ByteReader) -> str:
    """Read a `DataType`: its logical type, and the class in which the program sees its values where that is told."""
    value, longest = _read(reader)
    if not isinstance(value, JavaObject):
        return _Text(longest).whole(value)
    logical = _Text(longest).whole(value.fields.get("logicalType"))
    conversion = value.fields.get("conversionClass")
    return f"{logical} as {conversion.name}" if isinstance(conversion, JavaClass) else logical


def _read(reader: ByteReader) -> tuple[JavaValue, int]:
    """An object, and how long its text may be: what is written once in the bytes stays far below."""
    begin = reader.position
    value = read_java_object(reader)
    return value, 1_000 + 8 * (reader.position - begin)


def items_of(value: JavaValue) -> list[JavaValue]:
    """The items of a list: of an `ArrayList`, one behind a view, an array, or any list that writes its items as objects."""
    for _ in range(_DEEPEST):
        if isinstance(value, JavaArray):
            return value.items
        if not isinstance(value, JavaObject):
            return []
        behind = (value.fields.get(name) for name in ("list", "c", "a", "array"))
        inner = next((each for each in behind if each is not None), None)
        if inner is None:
            return [item for item in value.data if not isinstance(item, bytes)]
        value = inner
    return []


class _Text:
    def __init__(self, longest: int) -> None:
        self._written = 0
        self._longest = longest

    def whole(self, value: JavaValue) -> str:
        text = self.of(value, 0)
        return text if len(text) <= self._longest else text[: self._longest] + _CUT

    def of(self, value: JavaValue, depth: int) -> str:
        if not isinstance(value, JavaObject):
            return value if isinstance(value, str) else _CUT
        if depth > _DEEPEST or self._written > self._longest:
            return _CUT
        short = value.class_name.removeprefix(PACKAGE)
        written = _SHOWN.get(short)
        text = _plain_name(short) if written is None else written(self, value, depth + 1)
        self._written += len(text)
        return text if value.fields.get("isNullable") != b"\x00" else f"{text} NOT NULL"

    def part(self, value: JavaObject, field: str, depth: int) -> str:
        return self.of(value.fields.get(field), depth)

    def row(self, value: JavaObject, depth: int) -> str:
        fields = [field for field in items_of(value.fields.get("fields")) if isinstance(field, JavaObject)]
        parts = (f"`{_name(field)}` {self.part(field, 'type', depth)}" for field in fields)
        return f"ROW<{', '.join(parts)}>"

    def structured(self, value: JavaObject, depth: int) -> str:
        implementation = value.fields.get("implementationClass")
        attributes = [field for field in items_of(value.fields.get("attributes")) if isinstance(field, JavaObject)]
        name = implementation.name if isinstance(implementation, JavaClass) else _identifier(value)
        parts = (f"`{_name(field)}` {self.part(field, 'type', depth)}" for field in attributes)
        return f"STRUCTURED<'{name}', {', '.join(parts)}>"

    def map(self, value: JavaObject, depth: int) -> str:
        return f"MAP<{self.part(value, 'keyType', depth)}, {self.part(value, 'valueType', depth)}>"


_Shown = Callable[[_Text, JavaObject, int], str]


def _plain_name(short: str) -> str:
    return short.removesuffix("Type").upper() if "." not in short else short


def _name(field: JavaObject) -> str:
    name = field.fields.get("name")
    return name if isinstance(name, str) else _CUT


def _identifier(value: JavaObject) -> str:
    identifier = value.fields.get("objectIdentifier")
    parts = [] if not isinstance(identifier, JavaObject) else list(identifier.fields.values())
    return ".".join(part for part in parts if isinstance(part, str))


def _number(value: JavaObject, field: str) -> int:
    number = value.fields.get(field)
    return int.from_bytes(number, "big", signed=True) if isinstance(number, bytes) else 0


def _sized(name: str, unbounded: str | None = None) -> _Shown:
    """A type with a length, which has another name where it has no bound."""

    def show(_: _Text, value: JavaObject, __: int) -> str:
        length = _number(value, "length")
        return unbounded if unbounded is not None and length == _MOST else f"{name}({length})"

    return show


def _time(name: str, behind: str = "") -> _Shown:
    def show(_: _Text, value: JavaObject, __: int) -> str:
        kind = value.fields.get("kind")
        special = isinstance(kind, JavaEnum) and kind.constant != "REGULAR"
        return f"{name}({_number(value, 'precision')}){behind}" + (f" *{kind.constant}*" if special else "")  # type: ignore[union-attr]

    return show


def _converter(name: str) -> _Shown:
    return lambda text, value, depth: f"{name}<{text.part(value, 'elementType', depth)}>"


def _interval(_: _Text, value: JavaObject, __: int) -> str:
    resolution = value.fields.get("resolution")
    return f"INTERVAL {resolution.constant.replace('_', ' ')}" if isinstance(resolution, JavaEnum) else "INTERVAL"


def _raw(_: _Text, value: JavaObject, __: int) -> str:
    kept = value.fields.get("clazz")
    return f"RAW('{kept.name}')" if isinstance(kept, JavaClass) else "RAW"


_SHOWN: dict[str, _Shown] = {
    "CharType": _sized("CHAR"),
    "VarCharType": _sized("VARCHAR", "STRING"),
    "BinaryType": _sized("BINARY"),
    "VarBinaryType": _sized("VARBINARY", "BYTES"),
    "DecimalType": lambda _, value, __: f"DECIMAL({_number(value, 'precision')}, {_number(value, 'scale')})",
    "IntType": lambda *_: "INT",
    "TimeType": _time("TIME"),
    "TimestampType": _time("TIMESTAMP"),
    "LocalZonedTimestampType": _time("TIMESTAMP_LTZ"),
    "ZonedTimestampType": _time("TIMESTAMP", " WITH TIME ZONE"),
    "YearMonthIntervalType": _interval,
    "DayTimeIntervalType": _interval,
    "ArrayType": _converter("ARRAY"),
    "MultisetType": _converter("MULTISET"),
    "MapType": _Text.map,
    "RowType": _Text.row,
    "StructuredType": _Text.structured,
    "RawType": _raw,
    "TypeInformationRawType": lambda *_: "RAW",
}
