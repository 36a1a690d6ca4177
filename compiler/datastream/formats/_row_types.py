"""Types of the Table API as type information."""

from __future__ import annotations

from typing import Any

from compat.state.types import OpaqueTypeInfo, RowTypeInfo, TypeInformation, Types

_SIMPLE = {
    "TinyIntType": Types.BYTE,
    "SmallIntType": Types.SHORT,
    "IntType": Types.INT,
    "BigIntType": Types.LONG,
    "FloatType": Types.FLOAT,
    "DoubleType": Types.DOUBLE,
    "DecimalType": Types.BIG_DEC,
    "BooleanType": Types.BOOLEAN,
    "VarCharType": Types.STRING,
    "CharType": Types.STRING,
    "DateType": Types.SQL_DATE,
    "TimeType": Types.SQL_TIME,
    "TimestampType": Types.SQL_TIMESTAMP,
}


def type_of(data_type: Any) -> TypeInformation:
    """The type information of a ``DataType``; type information as it is; opaque for anything else."""
    if isinstance(data_type, TypeInformation):
        return data_type
    name = type(data_type).__name__
    if name in _SIMPLE:
        return _SIMPLE[name]()
    if name == "ArrayType":
        return Types.OBJECT_ARRAY(type_of(data_type.element_type))
    if name == "MapType":
        return Types.MAP(type_of(data_type.key_type), type_of(data_type.value_type))
    if name == "RowType":
        return RowTypeInfo([type_of(f.data_type) for f in data_type.fields], [f.name for f in data_type.fields])
    if name in ("VarBinaryType", "BinaryType"):
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    return OpaqueTypeInfo(str(data_type))
