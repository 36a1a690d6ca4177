"""Rows as Arrow tables, by the types that a program declares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compat.state.types import ListTypeInfo, MapTypeInfo, RowTypeInfo, TupleTypeInfo

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


def schema_of(row_type: RowTypeInfo) -> Any:
    """The Arrow schema of rows of a type. Raises ValueError for a type that has no column type."""
    import pyarrow as pa

    fields = zip(row_type.field_names, row_type.field_types, strict=True)
    return pa.schema([pa.field(name, _type(type_info)) for name, type_info in fields])


def _type(type_info: Any) -> Any:
    import pyarrow as pa

    kind = type_info.kind
    if kind in _SIMPLE:
        return getattr(pa, _SIMPLE[kind])()
    if kind == "SQL_TIMESTAMP":
        return pa.timestamp("us")
    if kind == "BIG_DEC":
        return pa.decimal128(38, 18)
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        names = getattr(type_info, "field_names", None) or [f"f{n}" for n in range(len(type_info.field_types))]
        return pa.struct([pa.field(n, _type(t)) for n, t in zip(names, type_info.field_types, strict=True)])
    if isinstance(type_info, MapTypeInfo):
        return pa.map_(_type(type_info.key_type), _type(type_info.value_type))
    if kind == "PRIMITIVE_ARRAY" and type_info.element_type.kind == "BYTE":
        return pa.binary()
    if isinstance(type_info, ListTypeInfo) or kind in ("BASIC_ARRAY", "OBJECT_ARRAY", "PRIMITIVE_ARRAY"):
        return pa.list_(_type(type_info.element_type))
    raise ValueError(f"{type_info} is no type of a column: declare the fields of the rows by simple types.")


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
