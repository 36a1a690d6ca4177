"""Avro records as bytes, by the library ``avro``, which is imported when a schema is met."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def parsed(schema: str) -> Any:
    """A parsed schema. Raises ValueError for anything else."""
    import avro.schema

    try:
        return avro.schema.parse(schema)
    except avro.errors.AvroException as error:
        raise ValueError(f"Not an Avro schema: {error}") from None


def writer(schema: str) -> Callable[[Any], bytes]:
    """The function that writes a record (a dict) in Avro's binary form, without its schema."""
    from avro.io import BinaryEncoder, DatumWriter

    datum_writer = DatumWriter(parsed(schema))

    def encode(value: Any) -> bytes:
        data = io.BytesIO()
        datum_writer.write(value, BinaryEncoder(data))
        return data.getvalue()

    return encode


def reader(written: str, wanted: str) -> Callable[[bytes], Any]:
    """The function that reads a record written with one schema as another schema wants it."""
    from avro.io import BinaryDecoder, DatumReader

    datum_reader = DatumReader(parsed(written), parsed(wanted))
    return lambda data: datum_reader.read(BinaryDecoder(io.BytesIO(data)))
