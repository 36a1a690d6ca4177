"""Avro records. Flink: ``pyflink.datastream.formats.avro``."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from types import MappingProxyType
from typing import Any

from compat.compiler.datastream.common.io import InputFormat
from compat.compiler.datastream.common.serialization import (
    BulkWriterFactory,
    DeserializationSchema,
    SerializationSchema,
)
from compat.compiler.datastream.utils import ResultTypeQueryable
from compat.state.types import GenericRecordAvroTypeInfo, TypeInformation

__all__ = [
    "AvroBulkWriters",
    "AvroInputFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "GenericRecordAvroTypeInfo",
]


class AvroSchema:
    """The schema of an Avro record (Avro: ``Schema``). ``str()`` is its JSON text without blanks."""

    def __init__(self, j_schema: Any) -> None:
        self._text = GenericRecordAvroTypeInfo(j_schema).schema

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """From JSON text."""
        return AvroSchema(json_schema)

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """From a file with JSON text."""
        with open(file_path, encoding="utf-8") as file:
            return AvroSchema(file.read())

    def __str__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"AvroSchema({self._text})"


class AvroInputFormat(InputFormat, ResultTypeQueryable):
    """Avro files as a source of the old kind (Flink: ``AvroInputFormat``)."""

    def __init__(self, path: str, schema: AvroSchema) -> None:
        super().__init__("AvroInputFormat")
        self.settings = MappingProxyType({"path": path, "schema": schema})
        self._type_info = GenericRecordAvroTypeInfo(schema)

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        return self._type_info


class AvroBulkWriters:
    """Writers of Avro files (Flink: ``AvroWriters``)."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Files of records with this schema."""
        return BulkWriterFactory("AvroWriterFactory", format="avro", settings={"schema": schema})


def _avro_settings(record_class: str | None, avro_schema_string: str | None) -> MappingProxyType[str, Any]:
    if record_class is None and avro_schema_string is None:
        raise TypeError("record_class or avro_schema_string should be specified.")
    settings: dict[str, Any] = {"record_class": record_class}
    if record_class is None:
        settings["schema"] = AvroSchema(avro_schema_string)
    return MappingProxyType(settings)


class AvroRowDeserializationSchema(DeserializationSchema):
    """An Avro record as a row (Flink: ``AvroRowDeserializationSchema``)."""

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        super().__init__()
        self.settings = _avro_settings(record_class, avro_schema_string)

    def get_produced_type(self) -> TypeInformation:
        if "schema" not in self.settings:
            return super().get_produced_type()
        from compat.compiler.datastream.formats._avro_types import type_of_avro_schema

        return type_of_avro_schema(str(self.settings["schema"]))

    def deserialize(self, message: bytes) -> Any:
        try:
            return self._decode(message)
        except Exception as error:
            raise ValueError(f"Failed to read an Avro record from {message!r}: {error}.") from error

    @cached_property
    def _decode(self) -> Callable[[bytes], Any]:
        from compat.compiler.datastream.formats._avro_values import from_avro
        from compat.state.serializers.avro import reader

        schema, type_info = _schema_of(self), self.get_produced_type()
        read = reader(schema, schema)
        return lambda data: from_avro(read(data), type_info)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_decode"}


class AvroRowSerializationSchema(SerializationSchema):
    """A row as an Avro record (Flink: ``AvroRowSerializationSchema``)."""

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        super().__init__()
        self.settings = _avro_settings(record_class, avro_schema_string)

    def serialize(self, element: Any) -> bytes:
        return self._encode(element)

    @cached_property
    def _encode(self) -> Callable[[Any], bytes]:
        from compat.compiler.datastream.formats._avro_types import type_of_avro_schema
        from compat.compiler.datastream.formats._avro_values import to_avro
        from compat.state.serializers.avro import writer

        schema = _schema_of(self)
        type_info, write = type_of_avro_schema(schema), writer(schema)
        return lambda row: write(to_avro(row, type_info))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_encode"}


def _schema_of(schema: AvroRowSerializationSchema | AvroRowDeserializationSchema) -> str:
    """The text of an Avro schema. Raises NotImplementedError if only a class of Java knows it."""
    if "schema" not in schema.settings:
        raise NotImplementedError(f"{schema.settings['record_class']} is a class of Java: give avro_schema_string.")
    return str(schema.settings["schema"])
