"""Format 3: Flink 1.11 to 1.14 (`MetadataV3Serializer`). Coordinators, channels, finished operators."""

from __future__ import annotations

from compat.state.flink.binary import ByteReader
from compat.state.flink.operator_handles import read_channel
from compat.state.flink.operators import read_contents, read_modern_operator
from compat.state.flink.savepoint import Contents, OperatorState


def read(reader: ByteReader) -> Contents:
    """Read the metadata after the version number."""
    return read_contents(reader, read_operator)


def read_operator(reader: ByteReader) -> OperatorState:
    """Read one operator, which is identified only by its id."""
    return read_modern_operator(reader, read_channel)
