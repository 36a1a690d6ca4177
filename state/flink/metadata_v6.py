"""Format 6: Flink 2.x (`MetadataV6Serializer`). Format 5, and a type byte before each channel handle."""

from __future__ import annotations

from compat.state.flink.binary import ByteReader
from compat.state.flink.metadata_v5 import read_named_operator
from compat.state.flink.operator_handles import read_tagged_channel
from compat.state.flink.operators import read_contents
from compat.state.flink.properties import recognise_properties
from compat.state.flink.savepoint import Contents


def read(reader: ByteReader) -> Contents:
    """Read the metadata after the version number."""
    return read_contents(reader, lambda r: read_named_operator(r, read_tagged_channel), recognise_properties)
