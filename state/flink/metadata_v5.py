"""Format 5 (`MetadataV5Serializer`). Format 4, and name and uid before each operator."""

from __future__ import annotations

from compat.state.flink.binary import ByteReader, Part
from compat.state.flink.operator_handles import ChannelReader, read_channel
from compat.state.flink.operators import read_contents, read_modern_operator
from compat.state.flink.properties import recognise_properties
from compat.state.flink.savepoint import Contents, OperatorState


def read(reader: ByteReader) -> Contents:
    """Read the metadata after the version number."""
    return read_contents(reader, lambda r: read_named_operator(r, read_channel), recognise_properties)


def read_named_operator(reader: ByteReader, read_one_channel: ChannelReader) -> OperatorState:
    """Read one operator with its name and uid; empty strings stand for none."""
    name = reader.utf() or None
    begin = reader.position
    uid = reader.utf() or None
    reader.note(Part.OPERATOR_UID, begin)
    return read_modern_operator(reader, read_one_channel, name, uid)
