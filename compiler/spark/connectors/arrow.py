"""Rows as Arrow tables, by the types that a program declares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compat.state.types import ListTypeInfo, MapTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation

_ARRAYS = ("BASIC_ARRAY", "OBJECT_ARRAY", "PRIMITIVE_ARRAY")
_SIMPLE = {
    "STRING": "string",
    "CHAR": "string",
    "BOOLEAN": "bool_",
    "BYTE": "int8",
    "SHORT": "int16",
    "INT": "int32",
    "LONG": "int64",
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "SQL_DATE": "date32",
}


_EXACT = {
    "BIG_DEC": "string",
    "BIG_INT": "string",
    "SQL_TIME": "string",
    "LOCAL_TIME": "string",
    "LOCAL_DATE": "date32",
}


def schema_of(row_type: RowTypeInfo) -> Any:
    """The Arrow schema of rows of a type. Raises ValueError for a type that has no column type."""
    import pyarrow as pa

    fields = zip(row_type.field_names, row_type.field_types, strict=True)
    return pa.schema([pa.field(name, column_type(type_info)) for name, type_info in fields])


def column_type(type_info: Any, exact: bool = False) -> Any:
    """The Arrow type of a column of values of a type. Raises ValueError for a type that has none.

    ``exact`` are columns that hold every value: numbers of any size are texts in them. Otherwise decimals have 18 places.
    """
    import pyarrow as pa

    kind = type_info.kind
    if kind in _SIMPLE:
        return getattr(pa, _SIMPLE[kind])()
    if exact and kind in _EXACT:
        return getattr(pa, _EXACT[kind])()
    if kind == "SQL_TIMESTAMP" or (exact and kind == "LOCAL_DATETIME"):
        return pa.timestamp("us")
    if kind == "BIG_DEC":
        return pa.decimal128(38, 18)
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        fields = zip(field_names(type_info), type_info.field_types, strict=True)
        return pa.struct([pa.field(name, column_type(each, exact)) for name, each in fields])
    if isinstance(type_info, MapTypeInfo):
        return pa.map_(column_type(type_info.key_type, exact), column_type(type_info.value_type, exact))
    if kind == "PRIMITIVE_ARRAY" and type_info.element_type.kind == "BYTE":
        return pa.binary()
    element = element_type(type_info)
    if element is not None:
        return pa.list_(column_type(element, exact))
    raise ValueError(f"{type_info} is no type of a column: declare the fields of the rows by simple types.")


def field_names(type_info: RowTypeInfo | TupleTypeInfo) -> Sequence[str]:
    """The columns of a row or a tuple: its names, or f0, f1, …"""
    return getattr(type_info, "field_names", None) or [f"f{n}" for n in range(len(type_info.field_types))]


def element_type(type_info: Any) -> TypeInformation | None:
    """The type of the elements of a list or an array; None for any other type."""
    return type_info.element_type if isinstance(type_info, ListTypeInfo) or type_info.kind in _ARRAYS else None


def as_dict(record: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """A record by column: a named row, a dict, or values in the order of ``names`` (``f0``, ``f1``, … without them)."""
    if isinstance(record, dict):
        return record
    if hasattr(record, "get_row_kind"):
        if record._names() is not None:
            return record.as_dict(True)  # type: ignore[no-any-return]
        record = tuple(record)
    fields = record if isinstance(record, (tuple, list)) else (record,)
    return dict(zip(names or [f"f{n}" for n in range(len(fields))], fields, strict=True))
