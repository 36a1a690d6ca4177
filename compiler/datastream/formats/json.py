"""Rows as JSON. Flink: ``pyflink.datastream.formats.json``."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from compat.compiler.datastream.common.serialization import DeserializationSchema, SerializationSchema
from compat.compiler.datastream.connectors.file_source import StreamFormat
from compat.compiler.datastream.formats._values import from_plain, to_plain
from compat.state.types import RowTypeInfo, TypeInformation

__all__ = ["JsonReaderFormat", "JsonRowDeserializationSchema", "JsonRowSerializationSchema"]


class JsonReaderFormat(StreamFormat):
    """Files with a JSON value on each line as a source; Flink's DataStream API has none."""

    @staticmethod
    def for_type(type_info: TypeInformation) -> JsonReaderFormat:
        """Files whose values are of this type: objects for rows, arrays for tuples and lists."""
        return JsonReaderFormat("json", produced_type=type_info)


class JsonRowDeserializationSchema(DeserializationSchema):
    """A JSON object as a row (Flink: ``JsonRowDeserializationSchema``). Fields that it does not have are None."""

    def __init__(
        self,
        type_info: TypeInformation,
        *,
        json_schema: str | None = None,
        fail_on_missing_field: bool = False,
        ignore_parse_errors: bool = False,
    ) -> None:
        super().__init__()
        self.type_info = type_info
        self.settings = MappingProxyType(
            {
                "type_info": type_info,
                "json_schema": json_schema,
                "fail_on_missing_field": fail_on_missing_field,
                "ignore_parse_errors": ignore_parse_errors,
            }
        )

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Start without a type."""
        return JsonRowDeserializationSchema.Builder()

    def get_produced_type(self) -> TypeInformation:
        return self.type_info

    def deserialize(self, message: bytes) -> Any:
        import json

        try:
            data = json.loads(message)
            if self.settings["fail_on_missing_field"] and isinstance(self.type_info, RowTypeInfo):
                missing = [name for name in self.type_info.field_names if name not in data]
                if missing:
                    raise ValueError(f"Could not find fields {missing} in the JSON object {data!r}.")
            return from_plain(data, self.type_info)
        except (ValueError, TypeError, AttributeError) as error:
            if self.settings["ignore_parse_errors"]:
                return None
            raise ValueError(f"Failed to read a row of type {self.type_info} from {message!r}: {error}.") from error

    class Builder:
        """Collects the settings; a type or a JSON schema is required."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None
            self._json_schema: str | None = None
            self._fail = False
            self._ignore = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """The type of the rows."""
            self._type_info = type_info
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """A JSON schema that tells the type of the rows."""
            if json_schema is None:
                raise TypeError("The json_schema must not be None.")
            from compat.compiler.datastream.formats._json_schema import type_of_json_schema

            self._json_schema = json_schema
            self._type_info = type_of_json_schema(json_schema)
            return self

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """A missing field is an error."""
            self._fail = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Skip messages that cannot be read."""
            self._ignore = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """The schema."""
            if self._type_info is None:
                raise TypeError("Typeinfo should be set: call type_info(…) or json_schema(…) on the builder.")
            if self._fail and self._ignore:
                raise ValueError("JSON format doesn't support failOnMissingField and ignoreParseErrors both enabled.")
            return JsonRowDeserializationSchema(
                self._type_info,
                json_schema=self._json_schema,
                fail_on_missing_field=self._fail,
                ignore_parse_errors=self._ignore,
            )


class JsonRowSerializationSchema(SerializationSchema):
    """A row as a JSON object (Flink: ``JsonRowSerializationSchema``)."""

    def __init__(self, type_info: TypeInformation) -> None:
        super().__init__()
        self.type_info = type_info
        self.settings = MappingProxyType({"type_info": type_info})

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """Start without a type."""
        return JsonRowSerializationSchema.Builder()

    def serialize(self, element: Any) -> bytes:
        import json

        return json.dumps(to_plain(element, self.type_info), ensure_ascii=False, separators=(",", ":")).encode()

    class Builder:
        """Collects the type of the rows, which is required."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """The type of the rows."""
            self._type_info = type_info
            return self

        def build(self) -> JsonRowSerializationSchema:
            """The schema."""
            if self._type_info is None:
                raise TypeError("Typeinfo should be set: call with_type_info(…) on the builder.")
            return JsonRowSerializationSchema(self._type_info)
