"""Writes Java's `DataOutputStream` bytes, as far as metadata is rewritten: the counterpart of the readers of handles."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

from compat.state.flink.handles import (
    InlineBytes,
    KeyGroups,
    OperatorStream,
    Partition,
    RelativeFile,
    StateFile,
    Stream,
)
from compat.state.flink.operator_handles import MODES

LONGEST_TEXT = 0xFFFF
"""The maximum bytes of a text for `DataOutput.writeUTF`."""

_NULL = b"\0"
NO_COORDINATOR = _NULL
"""The handle of a coordinator without state."""

_INLINE = 1
_FILE = 2
_FULL = 3
_OPERATOR_STREAM = 4
_RELATIVE = 6
_FULL_CANONICAL = 7
_NO_CHANNELS = bytes(8)
_BEYOND = re.compile("[\U00010000-\U0010ffff]")


def write_utf(text: str) -> bytes:
    """A text as `DataOutput.writeUTF` writes it. Raises ValueError for one that is too long or holds lone surrogates."""
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError("half a character: a surrogate that stands alone")
    paired = _BEYOND.sub(lambda match: _surrogates(match[0]), text)
    encoded = paired.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")
    if len(encoded) > LONGEST_TEXT:
        raise ValueError(f"{len(encoded)} bytes of text, of which Java writes at most {LONGEST_TEXT}")
    return struct.pack(">H", len(encoded)) + encoded


def write_text(text: str) -> bytes:
    """A text as `StringValue.writeString` writes it: its length and one, and its UTF-16 units, in groups of seven bits."""
    data = text.encode("utf-16-be", "surrogatepass")
    units = struct.unpack(f">{len(data) // 2}H", data)
    return b"".join(write_sevens(number) for number in (len(units) + 1, *units))


def write_mask(fields: Sequence[bytes | None], *, kind: bool) -> bytes:
    """The mask of a row that is an insertion, whose fields that are null are None (`MaskUtils`)."""
    bits = 2 * kind + len(fields)
    size = -(-bits // 8)
    mask = 0
    for data in fields:
        mask = mask << 1 | (data is None)
    return (mask << (8 * size - bits)).to_bytes(size, "big")


def write_sevens(number: int) -> bytes:
    """A number in groups of seven bits, the lowest first, as `ByteReader.sevens` reads it."""
    written = bytearray()
    while number >= 0x80:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])


def write_file(file: RelativeFile | StateFile) -> bytes:
    """The handle of a file (`serializeStreamStateHandle` of `MetadataV2V3SerializerBase`)."""
    if isinstance(file, RelativeFile):
        return bytes([_RELATIVE]) + write_utf(file.relative_path) + struct.pack(">q", file.size)
    return bytes([_FILE]) + struct.pack(">q", file.size) + write_utf(file.uri)


def write_keyed(handle: KeyGroups | None) -> bytes:
    """The handle of a full keyed snapshot, or that of none (`serializeKeyedStateHandle`)."""
    if handle is None:
        return _NULL
    groups = handle.key_groups
    tag = _FULL_CANONICAL if handle.canonical else _FULL
    places = struct.pack(f">Bii{len(handle.offsets)}q", tag, groups.first, groups.count, *handle.offsets)
    return places + write_stream(handle.stream)


def write_operator_stream(handle: OperatorStream | None) -> bytes:
    """A flag, and the handle of operator state if there is one (`serializeOperatorStateHandle`)."""
    if handle is None:
        return bytes(4)
    partitions = b"".join(map(_write_partition, handle.partitions))
    return struct.pack(">iBi", 1, _OPERATOR_STREAM, len(handle.partitions)) + partitions + write_stream(handle.stream)


def write_subtask(index: int, operator_state: OperatorStream | None, keyed: KeyGroups | None) -> bytes:
    """A subtask with only this state, in the layout of format 3 and later ones (`serializeSubtaskState`)."""
    managed = write_operator_stream(operator_state) + bytes(4) + write_keyed(keyed) + _NULL
    return struct.pack(">i", index) + managed + _NO_CHANNELS


def _write_partition(partition: Partition) -> bytes:
    mode = struct.pack(">Bi", MODES.index(partition.mode), len(partition.offsets))
    return write_utf(partition.name) + mode + struct.pack(f">{len(partition.offsets)}q", *partition.offsets)


def write_stream(stream: Stream) -> bytes:
    """The handle of bytes in place, or of a file. Raises ValueError for any other."""
    if isinstance(stream, InlineBytes):
        return bytes([_INLINE]) + write_utf(stream.name) + struct.pack(">i", len(stream.data)) + stream.data
    if isinstance(stream, RelativeFile | StateFile):
        return write_file(stream)
    raise ValueError(f"{type(stream).__name__}: only files and bytes in place are written")


def _surrogates(char: str) -> str:
    """The two surrogates that Java keeps a character beyond U+FFFF as."""
    code = ord(char) - 0x10000
    return chr(0xD800 + (code >> 10)) + chr(0xDC00 + (code & 0x3FF))
