"""Snappy in frames, as `SnappyStreamCompressionDecorator` writes it where snapshots are compressed.

Google's Snappy describes the two formats. A stream has chunks, each after a byte for its kind and three bytes for its length. A
chunk has the checksum of its plain bytes, then literals and copies of earlier bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from compat.state.flink.binary import ByteReader
from compat.state.flink.checksums import masked_crc32c

_COMPRESSED, _PLAIN = 0x00, 0x01
_FIRST_SKIPPED = 0x80
_CHECKSUM = 4
LARGEST_CHUNK = 1 << 16
"""The maximum uncompressed bytes of a chunk."""


def read_frames(reader: ByteReader, at_end: bool = False) -> Iterator[bytes]:
    """The plain bytes of the chunks up to the end of a stream. Raises `DamagedSavepoint` or `TruncatedSavepoint`."""
    while not _ended(reader):
        kind = reader.byte()
        length = int.from_bytes(reader.raw(3, "the length of a chunk"), "little")
        if kind in (_COMPRESSED, _PLAIN):
            if length < _CHECKSUM:
                reader.damaged(f"a chunk of {length} bytes", "it has no room for its checksum")
            data = reader.raw(length, "a chunk")
            plain = data[_CHECKSUM:] if kind == _PLAIN else _plain(reader, data[_CHECKSUM:])
            if masked_crc32c(plain) != int.from_bytes(data[:_CHECKSUM], "little"):
                reader.damaged("a chunk that does not have its checksum", "its bytes are not those that were written")
            yield plain
        elif kind >= _FIRST_SKIPPED:
            reader.raw(length, "a chunk")  # the name of the format, or padding
        else:
            reader.damaged(f"a chunk of kind {kind:#x}", "Snappy's frames have none such")


def _ended(reader: ByteReader) -> bool:
    at_end = getattr(reader, "at_end", None)
    return at_end() if at_end is not None else reader.remaining == 0


def _plain(reader: ByteReader, data: bytes) -> bytes:
    try:
        plain = decompress(data)
    except (IndexError, ValueError) as error:
        reader.damaged("a compressed chunk that cannot be read", str(error))
    return plain


def decompress(data: bytes, largest: int = LARGEST_CHUNK) -> bytes:
    """One uncompressed block of Snappy's, by pyarrow if it is installed. Raises ValueError or IndexError for damaged bytes."""
    size, position = _size(data)
    if size > largest:
        raise ValueError(f"it announces {size} bytes")
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        return _decompress(data, position, size)
    try:
        return bytes(pa.decompress(data, decompressed_size=size, codec="snappy"))
    except (OSError, pa.ArrowException) as error:
        raise ValueError(str(error)) from error


def _size(data: bytes) -> tuple[int, int]:
    size = 0
    for position in range(5):
        size |= (data[position] & 0x7F) << 7 * position
        if data[position] < 0x80:
            return size, position + 1
    raise ValueError("its length has no end")


def _decompress(data: bytes, position: int, size: int) -> bytes:
    plain = bytearray()
    while position < len(data):
        tag = data[position]
        position += 1
        kind = tag & 3
        if kind == 0:
            length = (tag >> 2) + 1
            if length > 60:
                width = length - 60
                length = _number(data, position, width) + 1
                position += width
            if position + length > len(data):
                raise ValueError("it ends within a literal")
            plain += data[position : position + length]
            position += length
        else:
            if kind == 1:
                length = (tag >> 2 & 7) + 4
                back = (tag >> 5) << 8 | data[position]
                position += 1
            else:
                width = 2 if kind == 2 else 4
                length = (tag >> 2) + 1
                back = _number(data, position, width)
                position += width
            if not 0 < back <= len(plain):
                raise ValueError("a copy of what is not there")
            for _ in range(-(-length // back)):
                piece = plain[-back:][: min(length, back)]
                plain += piece
                length -= len(piece)
                if length <= 0:
                    break
        if len(plain) > size:
            raise ValueError("it is longer than announced")
    if len(plain) != size:
        raise ValueError("it is shorter than announced")
    return bytes(plain)


def _number(data: bytes, position: int, width: int) -> int:
    if position + width > len(data):
        raise ValueError("it ends within a number")
    return int.from_bytes(data[position : position + width], "little")
