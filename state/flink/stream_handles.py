"""Reads stream handles: one type byte, then the place of the bytes.

The layout is that of `MetadataV2V3SerializerBase`, which all format versions share.
"""

from __future__ import annotations

from compat.state.flink.binary import ByteReader, Part
from compat.state.flink.handles import (
    EmptySegment,
    InlineBytes,
    KeyGroupRange,
    KeyGroups,
    RelativeFile,
    Segment,
    StateFile,
    Stream,
)
from compat.state.key_groups import HIGHEST_MAX_PARALLELISM

MAX_NESTING = 16
"""The maximum depth of nested handles. Flink nests two or three deep; anything beyond this is an attack on the stack."""


_NULL = 0
_INLINE = 1
_FILE = 2
_KEY_GROUPS = 3
_RELATIVE = 6
_SEGMENT = 15
_EMPTY_SEGMENT = 16

_SCOPES = ("SHARED", "EXCLUSIVE")


def read_stream(reader: ByteReader, depth: int = 0) -> Stream | None:
    """Read a stream handle that may be null."""
    check_depth(reader, depth)
    begin = reader.position
    tag = reader.byte()
    if tag == _NULL:
        return None
    if tag == _INLINE:
        return InlineBytes(reader.utf(), reader.sized("bytes in place"))
    if tag in (_RELATIVE, _FILE):
        reader.position = begin
        file = read_file(reader)
        reader.note(Part.FILE, begin)
        return file
    if tag in (_SEGMENT, _EMPTY_SEGMENT):
        segment = _read_segment(reader) if tag == _SEGMENT else EmptySegment()
        reader.note(Part.MERGED_FILE, begin)
        return segment
    if tag == _KEY_GROUPS:
        key_groups, offsets = read_key_group_offsets(reader)
        return KeyGroups(key_groups, offsets, read_present_stream(reader, depth + 1), canonical=False)
    return reader.damaged(f"stream handle of type {tag}", "no Flink version writes that type")


def read_file(reader: ByteReader) -> RelativeFile | StateFile:
    """Read the handle of a whole file."""
    return _read_relative(reader) if reader.byte() == _RELATIVE else _read_absolute(reader)


def read_present_stream(reader: ByteReader, depth: int = 0) -> Stream:
    """Read a stream handle that must not be null."""
    stream = read_stream(reader, depth)
    if stream is None:
        reader.damaged("no stream handle where one must be", "a handle without a place for its bytes")
    return stream


def read_key_groups(reader: ByteReader) -> KeyGroupRange:
    """Read a range of key groups: the first one and how many."""
    first = reader.integer()
    count = reader.integer()
    if first < 0 or count < 0 or first + count > HIGHEST_MAX_PARALLELISM:
        reader.damaged(
            f"key groups {first} to {first + count - 1}", f"key groups run from 0 to {HIGHEST_MAX_PARALLELISM - 1}"
        )
    return KeyGroupRange(first, count)


def read_key_group_offsets(reader: ByteReader) -> tuple[KeyGroupRange, tuple[int, ...]]:
    """Read a range of key groups and an offset for each."""
    key_groups = read_key_groups(reader)
    return key_groups, reader.longs(key_groups.count, "key group offsets")


def check_depth(reader: ByteReader, depth: int) -> None:
    """Raise `DamagedSavepoint` if handles are nested deeper than Flink ever does."""
    if depth > MAX_NESTING:
        reader.damaged(f"more than {MAX_NESTING} handles within each other", "Flink nests two or three")


def _read_relative(reader: ByteReader) -> RelativeFile:
    path = reader.utf()
    return RelativeFile(path, _read_size(reader))


def _read_absolute(reader: ByteReader) -> StateFile:
    size = _read_size(reader)
    return StateFile(reader.utf(), size)


def _read_size(reader: ByteReader) -> int:
    size = reader.long()
    if size < 0:
        reader.damaged(f"a file of {size} bytes", "a size cannot be negative")
    return size


def _read_segment(reader: ByteReader) -> Segment:
    start = reader.long()
    size = reader.long()
    scope = reader.integer()
    if start < 0 or size < 0:
        reader.damaged(f"a segment of {size} bytes from {start} on", "neither can be negative")
    if not 0 <= scope < len(_SCOPES):
        reader.damaged(f"segment scope {scope}", "only 0 (shared) and 1 (exclusive) exist")
    return Segment(reader.utf(), start, size, _SCOPES[scope], reader.utf())
