"""The row type that an Avro schema describes. Flink: ``AvroSchemaConverter.convertToTypeInfo``."""

from __future__ import annotations

import json
from typing import Any

from compat.state.types import PICKLED, TypeInformation, Types

_SIMPLE = {
    "string": Types.STRING,
    "enum": Types.STRING,
    "int": Types.INT,
    "long": Types.LONG,
    "float": Types.FLOAT,
    "double": Types.DOUBLE,
    "boolean": Types.BOOLEAN,
}
_LOGICAL = {
    "date": Types.SQL_DATE,
    "time-millis": Types.SQL_TIME,
    "time-micros": Types.SQL_TIME,
    "timestamp-millis": Types.SQL_TIMESTAMP,
    "timestamp-micros": Types.SQL_TIMESTAMP,
    "decimal": Types.BIG_DEC,
}


def type_of_avro_schema(text: str) -> TypeInformation:
    """The type of the rows; pickled where a union has no one type."""
    return _type(json.loads(text), {})


def _type(schema: Any, named: dict[str, Any]) -> TypeInformation:
    if isinstance(schema, list):
        others = [each for each in schema if each != "null"]
        return _type(others[0], named) if len(others) == 1 else PICKLED
    if isinstance(schema, str):
        if schema in named:
            return _type(named[schema], named)
        if schema in _SIMPLE:
            return _SIMPLE[schema]()
        if schema == "bytes":
            return Types.PRIMITIVE_ARRAY(Types.BYTE())
        raise ValueError(f"The type {schema!r} of an Avro schema is not known.")
    if schema.get("logicalType") in _LOGICAL:
        return _LOGICAL[schema["logicalType"]]()
    match schema["type"]:
        case "record":
            fields = schema["fields"]
            known = {**named, schema["name"]: schema}
            return Types.ROW_NAMED([f["name"] for f in fields], [_type(f["type"], known) for f in fields])
        case "array":
            return Types.OBJECT_ARRAY(_type(schema["items"], named))
        case "map":
            return Types.MAP(Types.STRING(), _type(schema["values"], named))
        case "fixed":
            return Types.PRIMITIVE_ARRAY(Types.BYTE())
    return _type(schema["type"], named)
