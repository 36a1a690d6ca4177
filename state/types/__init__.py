"""Type information: the types of a program's records, keys and states.

:class:`Types` makes them, in PyFlink's spelling. A type without any given is pickled: :data:`PICKLED`.
"""

# ruff: noqa: N802 - the names are PyFlink's
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compat.state.types.base import TypeInformation, checked
from compat.state.types.basic import (
    BASIC_TYPES,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    LocalTimeTypeInfo,
    OpaqueTypeInfo,
    PickledBytesTypeInfo,
    SqlTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from compat.state.types.composite import (
    BasicArrayTypeInfo,
    ExternalTypeInfo,
    GenericRecordAvroTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)

__all__ = [
    "PICKLED",
    "BasicArrayTypeInfo",
    "BasicType",
    "BasicTypeInfo",
    "DateTypeInfo",
    "ExternalTypeInfo",
    "GenericRecordAvroTypeInfo",
    "InstantTypeInfo",
    "ListTypeInfo",
    "LocalTimeTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "OpaqueTypeInfo",
    "PickledBytesTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RowTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
    "checked",
    "from_json",
]

PICKLED = PickledBytesTypeInfo()


class Types:
    """Makes type information (Flink: ``Types``)."""

    @staticmethod
    def STRING() -> TypeInformation:
        """Text."""
        return BASIC_TYPES["STRING"]

    @staticmethod
    def BYTE() -> TypeInformation:
        """A whole number of 8 bits."""
        return BASIC_TYPES["BYTE"]

    @staticmethod
    def BOOLEAN() -> TypeInformation:
        """True or False."""
        return BASIC_TYPES["BOOLEAN"]

    @staticmethod
    def SHORT() -> TypeInformation:
        """A whole number of 16 bits."""
        return BASIC_TYPES["SHORT"]

    @staticmethod
    def INT() -> TypeInformation:
        """A whole number of 32 bits."""
        return BASIC_TYPES["INT"]

    @staticmethod
    def LONG() -> TypeInformation:
        """A whole number of 64 bits."""
        return BASIC_TYPES["LONG"]

    @staticmethod
    def FLOAT() -> TypeInformation:
        """A floating-point number of 32 bits."""
        return BASIC_TYPES["FLOAT"]

    @staticmethod
    def DOUBLE() -> TypeInformation:
        """A floating-point number of 64 bits."""
        return BASIC_TYPES["DOUBLE"]

    @staticmethod
    def CHAR() -> TypeInformation:
        """One character."""
        return BASIC_TYPES["CHAR"]

    @staticmethod
    def BIG_INT() -> TypeInformation:
        """A whole number of any size."""
        return BASIC_TYPES["BIG_INT"]

    @staticmethod
    def BIG_DEC() -> TypeInformation:
        """A decimal number of any size."""
        return BASIC_TYPES["BIG_DEC"]

    @staticmethod
    def INSTANT() -> TypeInformation:
        """A point in time."""
        return BASIC_TYPES["INSTANT"]

    @staticmethod
    def SQL_DATE() -> TypeInformation:
        """A ``datetime.date``."""
        return SqlTimeTypeInfo.DATE()

    @staticmethod
    def SQL_TIME() -> TypeInformation:
        """A ``datetime.time``."""
        return SqlTimeTypeInfo.TIME()

    @staticmethod
    def SQL_TIMESTAMP() -> TypeInformation:
        """A ``datetime.datetime``."""
        return SqlTimeTypeInfo.TIMESTAMP()

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation:
        """Any Python object, pickled."""
        return PICKLED

    @staticmethod
    def ROW(field_types: Sequence[TypeInformation]) -> RowTypeInfo:
        """A row whose fields are called f0, f1, …"""
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(field_names: Sequence[str], field_types: Sequence[TypeInformation]) -> RowTypeInfo:
        """A row with named fields."""
        return RowTypeInfo(field_types, field_names)

    @staticmethod
    def TUPLE(field_types: Sequence[TypeInformation]) -> TupleTypeInfo:
        """A tuple of at most 25 fields."""
        return TupleTypeInfo(field_types)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> PrimitiveArrayTypeInfo:
        """An array of primitive values, None not among them."""
        return PrimitiveArrayTypeInfo(element_type)

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation) -> BasicArrayTypeInfo:
        """An array of basic values, None among them."""
        return BasicArrayTypeInfo(element_type)

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation) -> ObjectArrayTypeInfo:
        """An array of any type."""
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def MAP(key_type_info: TypeInformation, value_type_info: TypeInformation) -> MapTypeInfo:
        """A map."""
        return MapTypeInfo(key_type_info, value_type_info)

    @staticmethod
    def LIST(element_type_info: TypeInformation) -> ListTypeInfo:
        """A list."""
        return ListTypeInfo(element_type_info)


_WORDS: dict[str, TypeInformation] = {
    **BASIC_TYPES,
    **{type_.kind: type_ for type_ in (DateTypeInfo(), TimeTypeInfo(), TimestampTypeInfo(), PICKLED)},
    **{each.name: LocalTimeTypeInfo(each) for each in LocalTimeTypeInfo.TimeType},
}

_OBJECTS: dict[str, Callable[[Mapping[str, Any]], TypeInformation]] = {
    "ROW": lambda data: RowTypeInfo(
        [from_json(field["type"]) for field in data["fields"]], [field["name"] for field in data["fields"]]
    ),
    "TUPLE": lambda data: TupleTypeInfo([from_json(field) for field in data["fields"]]),
    "PRIMITIVE_ARRAY": lambda data: PrimitiveArrayTypeInfo(from_json(data["element"])),
    "BASIC_ARRAY": lambda data: BasicArrayTypeInfo(from_json(data["element"])),
    "OBJECT_ARRAY": lambda data: ObjectArrayTypeInfo(from_json(data["element"])),
    "LIST": lambda data: ListTypeInfo(from_json(data["element"])),
    "MAP": lambda data: MapTypeInfo(from_json(data["key"]), from_json(data["value"])),
    "AVRO": lambda data: _avro(data["schema"]),
    "EXTERNAL": lambda data: ExternalTypeInfo(from_json(data["of"]), bool(data["internal"])),
    "OPAQUE": lambda data: OpaqueTypeInfo(data["name"]),
}


def _avro(schema: Any) -> GenericRecordAvroTypeInfo:
    import json

    return GenericRecordAvroTypeInfo(json.dumps(schema))


def from_json(data: Any) -> TypeInformation:
    """The type of the JSON data that ``to_json`` wrote. Raises ValueError for anything else."""
    if isinstance(data, str) and data in _WORDS:
        return _WORDS[data]
    if isinstance(data, Mapping):
        read = _OBJECTS.get(data.get("type", ""))
        if read is not None:
            try:
                return read(data)
            except (KeyError, TypeError) as error:
                raise ValueError(f"Not the description of a {data['type']} type: {data!r} ({error}).") from None
    raise ValueError(f"Not the description of a type: {data!r}. Known words: {', '.join(sorted(_WORDS))}.")
