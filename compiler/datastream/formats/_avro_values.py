"""Rows as the values of Avro's library (records as dicts, points in time with their zone), and back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from compat.compiler.datastream.common.types import Row
from compat.state.types import MapTypeInfo, ObjectArrayTypeInfo, RowTypeInfo, TypeInformation


def from_avro(value: Any, type_info: TypeInformation) -> Any:
    """A value of Avro's library as one of this type; times are without zone, in UTC."""
    if value is None:
        return None
    if isinstance(type_info, RowTypeInfo):
        fields = zip(type_info.field_names, type_info.field_types, strict=True)
        row = Row(*(from_avro(value[name], each) for name, each in fields))
        row.set_field_names(list(type_info.field_names))
        return row
    if isinstance(type_info, ObjectArrayTypeInfo):
        return [from_avro(each, type_info.element_type) for each in value]
    if isinstance(type_info, MapTypeInfo):
        return {key: from_avro(each, type_info.value_type) for key, each in value.items()}
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def to_avro(value: Any, type_info: TypeInformation) -> Any:
    """A value of this type as Avro's library takes it."""
    if value is None:
        return None
    if isinstance(type_info, RowTypeInfo):
        names = type_info.field_names
        values = value.get_fields_by_names(list(names)) if isinstance(value, Row) else value
        fields = zip(names, type_info.field_types, values, strict=True)
        return {name: to_avro(each, kind) for name, kind, each in fields}
    if isinstance(type_info, ObjectArrayTypeInfo):
        return [to_avro(each, type_info.element_type) for each in value]
    if isinstance(type_info, MapTypeInfo):
        return {key: to_avro(each, type_info.value_type) for key, each in value.items()}
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value
