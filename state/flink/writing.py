"""Writing Java's `DataOutputStream` bytes, as far as metadata is written anew."""

from __future__ import annotations

import re
import struct

from compat.state.flink.handles import RelativeFile, StateFile

LONGEST_TEXT = 0xFFFF
"""The bytes that `DataOutput.writeUTF` can write of a text."""

_FILE = 2
_RELATIVE = 6
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


def write_file(file: RelativeFile | StateFile) -> bytes:
    """The handle of a file (`serializeStreamStateHandle` of `MetadataV2V3SerializerBase`)."""
    if isinstance(file, RelativeFile):
        return bytes([_RELATIVE]) + write_utf(file.relative_path) + struct.pack(">q", file.size)
    return bytes([_FILE]) + struct.pack(">q", file.size) + write_utf(file.uri)


def _surrogates(char: str) -> str:
    """The two surrogates that Java keeps a character beyond U+FFFF as."""
    code = ord(char) - 0x10000
    return chr(0xD800 + (code >> 10)) + chr(0xDC00 + (code & 0x3FF))
