"""Types made of other types: rows, tuples, arrays, lists, maps, Avro records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from compat.state.types.base import ImmutableTypeInformation, TypeInformation, checked
from compat.state.types.basic import BasicTypeInfo

_PRIMITIVES = {
    "BOOLEAN": "boolean",
    "BYTE": "byte",
    "SHORT": "short",
    "INT": "int",
    "LONG": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
    "CHAR": "char",
}
_LARGEST_TUPLE = 25


def _field_types(given: Iterable[Any], where: str) -> tuple[TypeInformation, ...]:
    if isinstance(given, TypeInformation):
        raise TypeError(f"{where} takes a list of types: write {where}([{given!r}, …]).")
    return tuple(checked(field, f"Field {number} of {where}") for number, field in enumerate(given))


class RowTypeInfo(ImmutableTypeInformation):
    """A row: fields with a name and a type (Flink: ``RowTypeInfo``). Unnamed fields are called f0, f1, …"""

    __slots__ = ("field_names", "field_types")
    kind: ClassVar[str] = "ROW"

    field_types: tuple[TypeInformation, ...]
    field_names: tuple[str, ...]

    def __init__(self, field_types: Sequence[TypeInformation], field_names: Sequence[str] | None = None) -> None:
        types = _field_types(field_types, "Types.ROW")
        names = tuple(f"f{i}" for i in range(len(types))) if field_names is None else tuple(field_names)
        if len(names) != len(types):
            raise ValueError(
                f"Number of field types and names is different: {len(types)} types, {len(names)} names {list(names)}."
            )
        if len(set(names)) != len(names):
            raise ValueError(f"Field names are not unique: {list(names)}.")
        self._set(field_types=types, field_names=names)

    def get_field_names(self) -> list[str]:
        """Names of the fields, in order."""
        return list(self.field_names)

    def get_field_index(self, field_name: str) -> int:
        """The position of the field, from 0; -1 if there is none of that name."""
        return self.field_names.index(field_name) if field_name in self.field_names else -1

    def get_field_types(self) -> list[TypeInformation]:
        """Types of the fields, in order."""
        return list(self.field_types)

    def parts(self) -> tuple[Any, ...]:
        return (self.field_names, self.field_types)

    def children(self) -> tuple[TypeInformation, ...]:
        return self.field_types

    def to_json(self) -> Any:
        fields = zip(self.field_names, self.field_types, strict=True)
        return {"type": self.kind, "fields": [{"name": name, "type": type_.to_json()} for name, type_ in fields]}

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """The kind of the change as a number, then the fields, of a row, dict, sequence or object."""
        if obj is None:
            return None
        kind, values = 0, obj
        if hasattr(obj, "get_row_kind"):
            kind = obj.get_row_kind().value
            values = obj.get_fields_by_names(list(self.field_names))
        elif isinstance(obj, dict):
            values = [obj.get(name) for name in self.field_names]
        elif not isinstance(obj, (list, tuple)):
            if not hasattr(obj, "__dict__"):
                raise ValueError(f"{obj!r} is not a value of {self}: a Row, dict, tuple or list is needed.")
            values = [vars(obj).get(name) for name in self.field_names]
        return (kind, *_each(self.field_types, values, to_internal=True))

    def from_internal_type(self, obj: Any) -> Any:
        return None if obj is None else tuple(_each(self.field_types, obj, to_internal=False))

    def __str__(self) -> str:
        if not self.field_types:
            return "Row"
        return f"Row({', '.join(f'{n}: {t}' for n, t in zip(self.field_names, self.field_types, strict=True))})"

    def __repr__(self) -> str:
        if self.field_names == tuple(f"f{i}" for i in range(len(self.field_types))):
            return f"RowTypeInfo({', '.join(map(repr, self.field_types))})"
        fields = zip(self.field_names, self.field_types, strict=True)
        return f"RowTypeInfo({', '.join(f'{name}: {type_!r}' for name, type_ in fields)})"


class TupleTypeInfo(ImmutableTypeInformation):
    """A tuple of up to 25 fields (Flink: ``TupleTypeInfo``)."""

    __slots__ = ("field_types",)
    kind: ClassVar[str] = "TUPLE"

    field_types: tuple[TypeInformation, ...]

    def __init__(self, field_types: Sequence[TypeInformation]) -> None:
        types = _field_types(field_types, "Types.TUPLE")
        if len(types) > _LARGEST_TUPLE:
            raise ValueError(
                f"The tuple arity must be in [0, {_LARGEST_TUPLE}], got {len(types)}: use Types.ROW for more fields."
            )
        self._set(field_types=types)

    def get_field_types(self) -> list[TypeInformation]:
        """Types of the fields, in order."""
        return list(self.field_types)

    def parts(self) -> tuple[Any, ...]:
        return (self.field_types,)

    def children(self) -> tuple[TypeInformation, ...]:
        return self.field_types

    def to_json(self) -> Any:
        return {"type": self.kind, "fields": [field.to_json() for field in self.field_types]}

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        if obj is None:
            return None
        if not isinstance(obj, (list, tuple)) and not hasattr(obj, "get_row_kind"):
            raise ValueError(f"{obj!r} is not a value of {self}: a tuple, list or Row is needed.")
        return tuple(_each(self.field_types, obj, to_internal=True))

    def from_internal_type(self, obj: Any) -> Any:
        return None if obj is None else tuple(_each(self.field_types, obj, to_internal=False))

    def __str__(self) -> str:
        fields = f"<{', '.join(map(str, self.field_types))}>" if self.field_types else ""
        return f"Java Tuple{len(self.field_types)}{fields}"

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(repr, self.field_types))})"


def _each(types: Sequence[TypeInformation], values: Iterable[Any], *, to_internal: bool) -> list[Any]:
    pairs = zip(types, values, strict=False)
    if to_internal:
        return [type_.to_internal_type(value) for type_, value in pairs]
    return [type_.from_internal_type(value) for type_, value in pairs]


class _OneElementType(ImmutableTypeInformation):
    """A collection whose elements share one type."""

    __slots__ = ("element_type",)

    element_type: TypeInformation

    def __init__(self, element_type: TypeInformation) -> None:
        self._set(element_type=checked(element_type, f"Types.{self.kind}"))

    def parts(self) -> tuple[Any, ...]:
        return (self.element_type,)

    def children(self) -> tuple[TypeInformation, ...]:
        return (self.element_type,)

    def to_json(self) -> Any:
        return {"type": self.kind, "element": self.element_type.to_json()}

    def __str__(self) -> str:
        return f"{type(self).__name__}<{self.element_type}>"

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.element_type!r}>"


class PrimitiveArrayTypeInfo(_OneElementType):
    """An array of primitive values (Flink: ``PrimitiveArrayTypeInfo``)."""

    __slots__ = ()
    kind: ClassVar[str] = "PRIMITIVE_ARRAY"

    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__(element_type)
        if element_type.kind not in _PRIMITIVES:
            raise TypeError(f"{element_type} is no primitive type: use Types.OBJECT_ARRAY({element_type!r}).")

    def __str__(self) -> str:
        return f"{_PRIMITIVES[self.element_type.kind]}[]"


class BasicArrayTypeInfo(_OneElementType):
    """An array of basic values, any of which may be None (Flink: ``BasicArrayTypeInfo``)."""

    __slots__ = ()
    kind: ClassVar[str] = "BASIC_ARRAY"

    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__(element_type)
        if element_type.kind not in _PRIMITIVES and element_type.kind != "STRING":
            raise TypeError(f"{element_type} is no basic type: use Types.OBJECT_ARRAY({element_type!r}).")


class ObjectArrayTypeInfo(_OneElementType):
    """An array of any other type (Flink: ``ObjectArrayTypeInfo``)."""

    __slots__ = ()
    kind: ClassVar[str] = "OBJECT_ARRAY"


class ListTypeInfo(_OneElementType):
    """A list (Flink: ``ListTypeInfo``)."""

    __slots__ = ()
    kind: ClassVar[str] = "LIST"

    @property
    def elem_type(self) -> TypeInformation:
        """PyFlink's name of the element type."""
        return self.element_type

    def __str__(self) -> str:
        return f"List<{self.element_type}>"


class MapTypeInfo(ImmutableTypeInformation):
    """A map (Flink: ``MapTypeInfo``)."""

    __slots__ = ("key_type", "value_type")
    kind: ClassVar[str] = "MAP"

    key_type: TypeInformation
    value_type: TypeInformation

    def __init__(self, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        self._set(
            key_type=checked(key_type_info, "The key of Types.MAP"),
            value_type=checked(value_type_info, "The value of Types.MAP"),
        )

    def parts(self) -> tuple[Any, ...]:
        return (self.key_type, self.value_type)

    def children(self) -> tuple[TypeInformation, ...]:
        return (self.key_type, self.value_type)

    def to_json(self) -> Any:
        return {"type": self.kind, "key": self.key_type.to_json(), "value": self.value_type.to_json()}

    def __str__(self) -> str:
        return f"Map<{self.key_type}, {self.value_type}>"

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self.key_type!r}, {self.value_type!r}>"


class GenericRecordAvroTypeInfo(ImmutableTypeInformation):
    """An Avro record, described by its schema (Flink: ``GenericRecordAvroTypeInfo``).

    ``schema`` is JSON text, or an object whose ``str()`` is; two schemas are equal when their JSON data are.
    """

    __slots__ = ("schema",)
    kind: ClassVar[str] = "AVRO"

    schema: str

    def __init__(self, schema: object) -> None:
        import json

        try:
            data = json.loads(str(schema))
        except ValueError as error:
            raise ValueError(f"An Avro schema is JSON text; this is not: {error}.") from None
        self._set(schema=json.dumps(data, separators=(",", ":")))

    def parts(self) -> tuple[Any, ...]:
        return (self.schema,)

    def to_json(self) -> Any:
        import json

        return {"type": self.kind, "schema": json.loads(self.schema)}

    def __str__(self) -> str:
        return f'GenericRecord("{self.schema}")'

    def __repr__(self) -> str:
        return f"GenericRecordAvroTypeInfo({self.schema})"


class ExternalTypeInfo(ImmutableTypeInformation):
    """A type that the Table API knows in another form (Flink: ``ExternalTypeInfo``).

    ``internal`` says that records are ``RowData`` rather than rows, as the file formats of the Table API read them.
    """

    __slots__ = ("internal", "type_info")
    kind: ClassVar[str] = "EXTERNAL"

    type_info: TypeInformation
    internal: bool

    def __init__(self, type_info: TypeInformation, internal: bool = False) -> None:
        self._set(type_info=checked(type_info, "ExternalTypeInfo"), internal=internal)

    def parts(self) -> tuple[Any, ...]:
        return (self.type_info, self.internal)

    def children(self) -> tuple[TypeInformation, ...]:
        return (self.type_info,)

    def to_json(self) -> Any:
        return {"type": self.kind, "of": self.type_info.to_json(), "internal": self.internal}

    def __str__(self) -> str:
        if self.internal:
            conversion = (
                "org.apache.flink.table.data.RowData, org.apache.flink.table.runtime.typeutils.RowDataSerializer"
            )
        else:
            conversion = "org.apache.flink.types.Row, org.apache.flink.table.runtime.typeutils.ExternalSerializer"
        return f"{_sql_type(self.type_info)}({conversion})"

    def __repr__(self) -> str:
        return f"ExternalTypeInfo<{self.type_info!r}>"


_SQL_TYPES = {
    "STRING": "STRING",
    "BYTE": "TINYINT",
    "BOOLEAN": "BOOLEAN",
    "SHORT": "SMALLINT",
    "INT": "INT",
    "LONG": "BIGINT",
    "FLOAT": "FLOAT",
    "DOUBLE": "DOUBLE",
    "BIG_DEC": "DECIMAL(38, 18)",
    "SQL_DATE": "DATE",
    "SQL_TIME": "TIME(0)",
    "SQL_TIMESTAMP": "TIMESTAMP(3)",
}


def _sql_type(type_info: TypeInformation) -> str:
    if isinstance(type_info, RowTypeInfo):
        fields = zip(type_info.field_names, type_info.field_types, strict=True)
        return f"ROW<{', '.join(f'`{name}` {_sql_type(type_)}' for name, type_ in fields)}>"
    if isinstance(type_info, MapTypeInfo):
        return f"MAP<{_sql_type(type_info.key_type)}, {_sql_type(type_info.value_type)}>"
    if isinstance(type_info, _OneElementType):
        return f"ARRAY<{_sql_type(type_info.element_type)}>"
    if isinstance(type_info, BasicTypeInfo) or type_info.kind in _SQL_TYPES:
        return _SQL_TYPES.get(type_info.kind, str(type_info))
    return str(type_info)
