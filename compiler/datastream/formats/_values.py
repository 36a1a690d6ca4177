"""Values of a type as plain JSON data, and back."""

from __future__ import annotations

from typing import Any

from compat.compiler.datastream.common.types import Row
from compat.state.types import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

_ARRAYS = (ListTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)
_NUMBERS = {"BYTE": int, "SHORT": int, "INT": int, "LONG": int, "BIG_INT": int, "FLOAT": float, "DOUBLE": float}


def to_plain(value: Any, type_info: TypeInformation) -> Any:
    """``value`` as plain JSON data: rows as objects, bytes in base64, dates and times in ISO form."""
    if value is None:
        return None
    if isinstance(type_info, RowTypeInfo):
        values = value.get_fields_by_names(list(type_info.field_names)) if isinstance(value, Row) else value
        fields = zip(type_info.field_names, type_info.field_types, values, strict=True)
        return {name: to_plain(each, type_) for name, type_, each in fields}
    if isinstance(type_info, TupleTypeInfo):
        return [to_plain(each, type_) for type_, each in zip(type_info.field_types, value, strict=True)]
    if isinstance(type_info, MapTypeInfo):
        return {str(key): to_plain(each, type_info.value_type) for key, each in value.items()}
    if isinstance(value, (bytes, bytearray)):
        from base64 import b64encode

        return b64encode(value).decode()
    if isinstance(type_info, _ARRAYS):
        return [to_plain(each, type_info.element_type) for each in value]
    if type_info.kind == "BIG_DEC":
        return float(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value


def from_plain(data: Any, type_info: TypeInformation) -> Any:
    """The value of plain JSON data. Raises ValueError or TypeError if the two do not fit."""
    if data is None:
        return None
    if isinstance(type_info, RowTypeInfo):
        row = Row(
            *(
                from_plain(data.get(name), type_)
                for name, type_ in zip(type_info.field_names, type_info.field_types, strict=True)
            )
        )
        row.set_field_names(list(type_info.field_names))
        return row
    if isinstance(type_info, TupleTypeInfo):
        return tuple(from_plain(each, type_) for type_, each in zip(type_info.field_types, data, strict=True))
    if isinstance(type_info, MapTypeInfo):
        return {
            from_plain(key, type_info.key_type): from_plain(each, type_info.value_type) for key, each in data.items()
        }
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.element_type.kind == "BYTE":
        from base64 import b64decode

        return b64decode(data)
    if isinstance(type_info, _ARRAYS):
        return [from_plain(each, type_info.element_type) for each in data]
    return _simple(data, type_info.kind)


def _simple(data: Any, kind: str) -> Any:
    if kind in _NUMBERS:
        return _NUMBERS[kind](data)
    if kind == "BOOLEAN":
        return data if isinstance(data, bool) else str(data).lower() == "true"
    if kind == "STRING":
        return data if isinstance(data, str) else str(data)
    if kind == "BIG_DEC":
        from decimal import Decimal

        return Decimal(str(data))
    if kind in ("SQL_DATE", "SQL_TIME", "SQL_TIMESTAMP"):
        import datetime

        classes: dict[str, Any] = {
            "SQL_DATE": datetime.date,
            "SQL_TIME": datetime.time,
            "SQL_TIMESTAMP": datetime.datetime,
        }
        return classes[kind].fromisoformat(data)
    return data
