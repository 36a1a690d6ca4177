"""Format 4: Flink 1.15 to 1.20 (`MetadataV4Serializer`). Format 3, and checkpoint properties at the end."""

from __future__ import annotations

from compat.state.flink.binary import ByteReader
from compat.state.flink.metadata_v3 import read_operator
from compat.state.flink.operators import read_contents
from compat.state.flink.properties import recognise_properties
from compat.state.flink.savepoint import Contents


def read(reader: ByteReader) -> Contents:
    """Read the metadata after the version number."""
    return read_contents(reader, read_operator, recognise_properties)
