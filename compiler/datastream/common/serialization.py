"""Records as bytes. Flink: ``pyflink.common.serialization``."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from compat.compiler.datastream.common.utils import JavaObjectWrapper
from compat.state.types import TypeInformation, Types

if TYPE_CHECKING:
    from io import BytesIO

__all__ = [
    "BulkWriterFactory",
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
]


class SerializationSchema:
    """Turns a record into the bytes that a sink takes (Flink: ``SerializationSchema``).

    ``settings`` is everything the program set on it.
    """

    settings: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, j_serialization_schema: Any = None) -> None:
        self._j_serialization_schema = j_serialization_schema

    def serialize(self, element: Any) -> bytes:
        """The record as bytes."""
        raise NotImplementedError(f"{type(self).__name__} has no serialize().")


class DeserializationSchema:
    """Turns the bytes of a source into a record (Flink: ``DeserializationSchema``).

    ``settings`` is everything the program set on it.
    """

    settings: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, j_deserialization_schema: Any = None) -> None:
        self._j_deserialization_schema = j_deserialization_schema

    def deserialize(self, message: bytes) -> Any:
        """The record of these bytes; None to skip them."""
        raise NotImplementedError(f"{type(self).__name__} has no deserialize().")

    def get_produced_type(self) -> TypeInformation:
        """The type of the records."""
        return Types.PICKLED_BYTE_ARRAY()


def checked_charset(name: str) -> str:
    """``name`` if it is a character set; ValueError otherwise."""
    try:
        codecs.lookup(name)
    except LookupError:
        raise ValueError(f"Unknown character set {name!r}: use one that Python knows, such as 'UTF-8'.") from None
    return name


class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Text as its bytes (Flink: ``SimpleStringSchema``)."""

    def __init__(self, charset: str = "UTF-8") -> None:
        self.charset = checked_charset(charset)
        self.settings = MappingProxyType({"charset": charset})

    def serialize(self, element: str) -> bytes:
        return element.encode(self.charset)

    def deserialize(self, message: bytes) -> str:
        return message.decode(self.charset)

    def get_produced_type(self) -> TypeInformation:
        return Types.STRING()


class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Bytes as they are (Flink: ``ByteArraySchema``)."""

    def __init__(self) -> None:
        self.settings = MappingProxyType({})

    def serialize(self, element: bytes) -> bytes:
        return bytes(element)

    def deserialize(self, message: bytes) -> bytes:
        return message

    def get_produced_type(self) -> TypeInformation:
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


class RowFieldExtractorSchema(SerializationSchema):
    """One field of a row, which must hold bytes (Flink: ``RowFieldExtractorSchema``)."""

    def __init__(self, field_index: int) -> None:
        if field_index < 0:
            raise ValueError(f"Field index must be non-negative, got: {field_index}")
        self.field_index = field_index
        self.settings = MappingProxyType({"field_index": field_index})

    def serialize(self, element: Any) -> bytes:
        value = element[self.field_index]
        if not isinstance(value, (bytes, bytearray)):
            raise TypeError(
                f"Field {self.field_index} of {element!r} must hold bytes, not {type(value).__name__}: "
                "encode it before the sink."
            )
        return bytes(value)


class Encoder:
    """Writes one record into an open file (Flink: ``Encoder``)."""

    def __init__(self, j_encoder: Any) -> None:
        self._j_encoder = j_encoder
        self.settings: Mapping[str, Any] = MappingProxyType({"encoder": j_encoder})

    def encode(self, element: Any, stream: BytesIO) -> None:
        """Write the record."""
        raise NotImplementedError(f"The encoder {self._j_encoder!r} has no encode().")

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """The text of each record on a line of its own."""
        return SimpleStringEncoder(charset_name)


class SimpleStringEncoder(Encoder):
    """``str()`` of each record and a line break (Flink: ``SimpleStringEncoder``)."""

    def __init__(self, charset_name: str = "UTF-8") -> None:
        super().__init__("SimpleStringEncoder")
        self.charset = charset_name
        self.settings = MappingProxyType({"encoder": "text", "charset": charset_name})

    def encode(self, element: Any, stream: BytesIO) -> None:
        stream.write(f"{element}\n".encode(self.charset))


class BulkWriterFactory(JavaObjectWrapper):
    """Writes records into files many at a time (Flink: ``BulkWriter.Factory``).

    ``format`` names the kind of file and ``settings`` is everything the program set.
    """

    def __init__(
        self,
        j_bulk_writer_factory: Any,
        *,
        format: str = "custom",
        settings: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        super().__init__(j_bulk_writer_factory)
        self.format = format
        self.settings = MappingProxyType(dict(settings))


class RowDataBulkWriterFactory(BulkWriterFactory):
    """A factory for rows of the Table API: rows of Python are converted first."""

    def __init__(
        self,
        j_bulk_writer_factory: Any,
        row_type: Any,
        *,
        format: str = "custom",
        settings: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        super().__init__(j_bulk_writer_factory, format=format, settings=settings)
        self._row_type = row_type

    def get_row_type(self) -> Any:
        """The type of the rows."""
        return self._row_type
