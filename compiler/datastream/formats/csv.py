"""Rows as CSV. Flink: ``pyflink.datastream.formats.csv``."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, TypeVar

from compat.compiler.datastream.common.serialization import (
    BulkWriterFactory,
    DeserializationSchema,
    RowDataBulkWriterFactory,
    SerializationSchema,
)
from compat.compiler.datastream.common.types import Row
from compat.compiler.datastream.connectors.file_source import StreamFormat
from compat.compiler.datastream.formats._values import from_plain, to_plain
from compat.compiler.datastream.formats.csv_schema import CsvSchema, CsvSchemaBuilder
from compat.state.types import ExternalTypeInfo, RowTypeInfo, TypeInformation

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]

B = TypeVar("B", bound="_Builder")


class CsvReaderFormat(StreamFormat):
    """CSV files as a source (Flink: ``CsvReaderFormat``)."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """Files with these columns; the records are rows of the Table API."""
        return CsvReaderFormat("csv", produced_type=ExternalTypeInfo(schema.row_type, internal=True), schema=schema)


class CsvBulkWriters:
    """Writers of CSV files (Flink: ``CsvBulkWriters``)."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory:
        """Files with these columns."""
        return RowDataBulkWriterFactory("CsvBulkWriter", schema.row_type, format="csv", settings={"schema": schema})


class _Builder:
    """The settings that reading and writing share."""

    def __init__(self, type_info: TypeInformation) -> None:
        if type_info is None:
            raise TypeError("Type information must not be None")
        if not isinstance(type_info, RowTypeInfo):
            raise TypeError(f"A CSV schema takes a row type such as Types.ROW([…]), got {type_info!r}.")
        self._type_info = type_info
        self._settings: dict[str, Any] = {"field_delimiter": ",", "array_element_delimiter": ";", "quote": '"'}

    def _set(self: B, **settings: Any) -> B:
        self._settings.update(settings)
        return self

    def set_array_element_delimiter(self: B, delimiter: str) -> B:
        """The delimiter of values inside a column; ; if not set."""
        return self._set(array_element_delimiter=delimiter)

    def set_quote_character(self: B, c: str) -> B:
        """The quote around texts with delimiters inside; " if not set."""
        return self._set(quote=c)

    def set_escape_character(self: B, c: str) -> B:
        """The character that takes the next one's meaning away; none if not set."""
        return self._set(escape=c)


class CsvRowDeserializationSchema(DeserializationSchema):
    """A line as a row (Flink: ``CsvRowDeserializationSchema``)."""

    def __init__(self, type_info: RowTypeInfo, settings: dict[str, Any]) -> None:
        super().__init__()
        self.type_info = type_info
        self.settings = MappingProxyType({"type_info": type_info, **settings})

    def get_produced_type(self) -> TypeInformation:
        return self.type_info

    def deserialize(self, message: bytes) -> Any:
        import csv

        try:
            text = message.decode()
            if self.settings.get("allow_comments") and text.startswith("#"):
                return None
            reader = csv.reader([text], **_dialect(self.settings))
            cells = next(reader)
            if len(cells) != len(self.type_info.field_types):
                raise ValueError(f"{len(self.type_info.field_types)} columns expected, but {len(cells)} found")
            row = Row(*map(self._value, cells, self.type_info.field_types))
            row.set_field_names(list(self.type_info.field_names))
            return row
        except (ValueError, TypeError, StopIteration) as error:
            if self.settings.get("ignore_parse_errors"):
                return None
            raise ValueError(f"Failed to read a row of type {self.type_info} from {message!r}: {error}.") from error

    def _value(self, cell: str, type_info: TypeInformation) -> Any:
        if cell == self.settings.get("null_literal"):
            return None
        if type_info.kind in ("LIST", "OBJECT_ARRAY", "BASIC_ARRAY"):
            return from_plain(cell.split(self.settings["array_element_delimiter"]), type_info)
        return from_plain(cell, type_info)

    class Builder(_Builder):
        """Collects the settings; the type of the rows is required."""

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """The delimiter of columns; a comma if not set."""
            return self._set(field_delimiter=delimiter)

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:
            """Set whether lines that begin with # are skipped."""
            return self._set(allow_comments=allow_comments)

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            """The text for None."""
            return self._set(null_literal=null_literal)

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> CsvRowDeserializationSchema.Builder:
            """Set whether unreadable lines are skipped."""
            return self._set(ignore_parse_errors=ignore_parse_errors)

        def build(self) -> CsvRowDeserializationSchema:
            """The schema."""
            return CsvRowDeserializationSchema(self._type_info, self._settings)


class CsvRowSerializationSchema(SerializationSchema):
    """A row as a line (Flink: ``CsvRowSerializationSchema``)."""

    def __init__(self, type_info: RowTypeInfo, settings: dict[str, Any]) -> None:
        super().__init__()
        self.type_info = type_info
        self.settings = MappingProxyType({"type_info": type_info, **settings})

    def serialize(self, element: Any) -> bytes:
        import csv
        import io

        plain = to_plain(element, self.type_info)
        delimiter = self.settings["array_element_delimiter"]
        line = io.StringIO()
        writer = csv.writer(line, lineterminator=self.settings.get("line_delimiter", "\n"), **_dialect(self.settings))
        writer.writerow([self._cell(value, delimiter) for value in plain.values()])
        return line.getvalue().encode()

    def _cell(self, value: Any, delimiter: str) -> str:
        if value is None:
            return str(self.settings.get("null_literal", ""))
        if isinstance(value, (list, dict)):
            return delimiter.join(map(str, value.values() if isinstance(value, dict) else value))
        return str(value).lower() if isinstance(value, bool) else str(value)

    class Builder(_Builder):
        """Collects the settings; the type of the rows is required."""

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            """The delimiter of columns; a comma if not set."""
            return self._set(field_delimiter=c)

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """The end of a line; a line break if not set."""
            return self._set(line_delimiter=delimiter)

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            """No quotes."""
            return self._set(quote=None)

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            """The text for None; empty if not set."""
            return self._set(null_literal=s)

        def build(self) -> CsvRowSerializationSchema:
            """The schema."""
            return CsvRowSerializationSchema(self._type_info, self._settings)


def _dialect(settings: Any) -> dict[str, Any]:
    """The settings as Python's ``csv`` takes them."""
    quote = settings["quote"]
    return {
        "delimiter": settings["field_delimiter"],
        "quotechar": quote or None,
        "quoting": 3 if quote is None else 0,
        "escapechar": settings.get("escape"),
    }
