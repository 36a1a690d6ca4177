"""RocksDB's table files, read as they stand: entries in the order of their keys, without opening a database.

The layout is that of block-based tables (``BlockBasedTable``, footers of versions 1 to 5): blocks of entries whose keys omit
the prefix that they share with the key before, an index of the blocks, and properties that name the column family. A key ends
in eight bytes: a number that grows with each write, and the kind of the write. A checksum follows each block, and is compared
with its bytes, so a damaged file is always refused.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from enum import IntEnum
from itertools import groupby
from operator import attrgetter
from typing import NoReturn

from msgspec import Struct

from compat.state.flink.binary import ByteReader
from compat.state.flink.checksums import masked_crc32c, xxh3
from compat.state.flink.errors import UnreadableTable
from compat.state.flink.handles import Stream
from compat.state.flink.savepoint import Savepoint
from compat.state.flink.snappy import decompress
from compat.state.flink.streams import read_window

_FOOTER = 53
_MAGIC = bytes.fromhex("f7cff485b741e288")
_VERSIONS = range(1, 6)
_TRAILER = 5
_NO_COMPRESSION, _SNAPPY = 0, 1
_COMPRESSIONS = {2: "zlib", 3: "bzip2", 4: "LZ4", 5: "LZ4HC", 6: "xpress", 7: "Zstandard"}
_CHECKSUMS = {0: "none", 2: "xxHash", 3: "xxHash64"}
_CRC32C, _XXH3 = 1, 4
_LAST_BYTE = 0x6B9083D9
"""What the last byte of a block goes into its XXH3 checksum with (``ModifyChecksumForLastByte``)."""
LARGEST_BLOCK = 1 << 30
_PARTITIONED = 2
_SUM_BITS = 0x7FFFFFFF


class Write(IntEnum):
    """The kind of a write."""

    DELETE = 0
    PUT = 1
    MERGE = 2
    SINGLE_DELETE = 7


class Written(Struct, frozen=True):
    """One write of a key; of two writes, the one with the higher number is later."""

    key: bytes
    number: int
    kind: int
    value: bytes


class _Handle(Struct, frozen=True):
    offset: int
    size: int


class TableFile:
    """A table file of a savepoint. Raises a `SavepointError` if it is unreadable or unknown."""

    def __init__(self, savepoint: Savepoint, stream: Stream, name: str) -> None:
        self._savepoint, self._stream, self._name = savepoint, stream, name
        footer = self._read(max(0, stream.size - _FOOTER), _FOOTER)
        if len(footer) < _FOOTER or footer[-8:] != _MAGIC:
            self.refuse("it does not end as a table of RocksDB's does")
        version = int.from_bytes(footer[41:45], "little")
        if version not in _VERSIONS:
            self.refuse(f"it is a table of version {version}, and 1 to 5 are known")
        self._checksum = footer[0]
        if self._checksum not in (_CRC32C, _XXH3):
            kind = _CHECKSUMS.get(self._checksum, f"method {self._checksum}")
            self.refuse(f"the checksums of its blocks are {kind}, and CRC-32C and XXH3 are known")
        reader = ByteReader(footer, name, start=1)
        meta, self._index = _handle(reader), _handle(reader)
        entries = {entry.key: ByteReader(entry.value, name) for entry in self._entries(meta)}
        properties = entries.get(b"rocksdb.properties")
        if properties is None:
            self.refuse("it has no properties")
        self._properties = {entry.key: entry.value for entry in self._entries(_handle(properties))}
        if b"rocksdb.external_sst_file.version" in self._properties:
            self.refuse("it was made outside of its database, whose order of writes it does not know")
        self._ranges = entries.get(b"rocksdb.range_del")
        self.column_family = self._properties.get(b"rocksdb.column.family.name", b"").decode("utf-8", "replace")

    def writes(self) -> Iterator[Written]:
        """All writes, by key and from the latest on."""
        count = 0
        for block in self._blocks(
            self._index, partitioned=self._number("block.based.table.index.type") == _PARTITIONED
        ):
            for entry in self._entries(block):
                if len(entry.key) < 8:
                    self.refuse("a key has no number")
                packed = int.from_bytes(entry.key[-8:], "little")
                count += 1
                yield Written(entry.key[:-8], packed >> 8, packed & 0xFF, entry.value)
        told = self._number("num.entries")
        if count not in (told, told - self._number("num.range-deletions")):
            self.refuse(f"it has {count:,} entries, and its properties tell of {told:,}")

    def deleted_ranges(self) -> Iterator[tuple[bytes, bytes]]:
        """The first key and the end of each range of keys that was deleted at once."""
        if self._ranges is not None:
            for entry in self._entries(_handle(self._ranges)):
                yield entry.key[:-8], entry.value

    def _blocks(self, index: _Handle, *, partitioned: bool) -> Iterator[_Handle]:
        for handle in self._handles(index):
            if partitioned:
                yield from self._handles(handle)
            else:
                yield handle

    def _number(self, name: str) -> int:
        """A property that is a number of four bytes, as the kind of the index is, or one in groups of seven bits."""
        data = self._properties.get(f"rocksdb.{name}".encode(), b"\0")
        if name == "block.based.table.index.type":
            return int.from_bytes(data, "little")
        return _sevens(ByteReader(data, self._name))

    def _handles(self, handle: _Handle) -> Iterator[_Handle]:
        """The places of blocks in an index; where they are told as differences, a block follows the one before."""
        block = self._block(handle)
        if not self._number("index.value.is.delta.encoded"):
            for entry in _entries_of(block, self._name):
                yield _handle(ByteReader(entry.value, self._name))
            return
        before = _Handle(0, 0)
        reader = _without_restarts(block, self._name)
        while reader.remaining:
            shared, unshared = _sevens(reader), _sevens(reader)
            reader.raw(unshared, "a key of an index")
            if shared:
                change = _sevens(reader)
                size = before.size + (change >> 1 ^ -(change & 1))
                before = _Handle(before.offset + before.size + _TRAILER, size)
            else:
                before = _handle(reader)
            yield before

    def _entries(self, handle: _Handle) -> Iterator[_Entry]:
        return _entries_of(self._block(handle), self._name)

    def _block(self, handle: _Handle) -> bytes:
        if not 0 <= handle.size <= LARGEST_BLOCK:
            self.refuse(f"it has a block of {handle.size:,} bytes")
        data = self._read(handle.offset, handle.size + _TRAILER)
        if len(data) < handle.size + _TRAILER:
            self.refuse("a block ends behind the file")
        if not self._is_whole(data):
            self.refuse(f"the block at byte {handle.offset:,} does not have its checksum: its bytes are damaged")
        kind, data = data[handle.size], data[: handle.size]
        if kind == _NO_COMPRESSION:
            return data
        if kind != _SNAPPY:
            self.refuse(f"it is compressed by {_COMPRESSIONS.get(kind, f'method {kind}')}, and only Snappy is read")
        try:
            return decompress(data, LARGEST_BLOCK)
        except (ValueError, IndexError) as error:
            self.refuse(f"a compressed block cannot be read: {error}")

    def _is_whole(self, block: bytes) -> bool:
        """Whether a block with the kind of its compression has the checksum behind it."""
        data, kept = block[:-4], int.from_bytes(block[-4:], "little")
        if self._checksum == _CRC32C:
            return masked_crc32c(data) == kept
        return (xxh3(data[:-1]) ^ data[-1] * _LAST_BYTE) & 0xFFFFFFFF == kept

    def _read(self, start: int, length: int) -> bytes:
        return read_window(self._savepoint, self._stream, start, length)

    def refuse(self, why: str) -> NoReturn:
        """Raise UnreadableTable."""
        raise UnreadableTable(f"the table file `{self._name}` cannot be read", path=self._savepoint.path, why=why)


class _Entry(Struct, frozen=True):
    key: bytes
    value: bytes


def _sevens(reader: ByteReader) -> int:
    """A number of up to 64 bits in groups of seven, the lowest first."""
    value = 0
    for shift in range(0, 70, 7):
        byte = reader.byte()
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
    return reader.damaged("a number of more than ten groups of seven bits")


def _handle(reader: ByteReader) -> _Handle:
    return _Handle(_sevens(reader), _sevens(reader))


def _without_restarts(block: bytes, name: str) -> ByteReader:
    """The entries of a block, without the table of places at its end."""
    restarts = int.from_bytes(block[-4:], "little") & _SUM_BITS
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        ByteReader(block, name).damaged("a block that is shorter than its table of places")
    return ByteReader(block, name, end=end)


def _entries_of(block: bytes, name: str) -> Iterator[_Entry]:
    reader = _without_restarts(block, name)
    key = b""
    while reader.remaining:
        shared, unshared, length = _sevens(reader), _sevens(reader), _sevens(reader)
        if shared > len(key):
            reader.damaged(f"a key that shares {shared} bytes with one of {len(key)}")
        key = key[:shared] + reader.raw(unshared, "a key")
        yield _Entry(key, reader.raw(length, "a value"))


def merged(files: list[TableFile], delimiter: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values as a database of these files has them: the latest writes count, and what was merged into a value is
    appended to it behind the delimiter (``StringAppendTESTOperator``)."""
    writes = heapq.merge(*(file.writes() for file in files), key=lambda write: (write.key, -write.number))
    for key, group in groupby(writes, attrgetter("key")):
        value = _value(group, delimiter)
        if value is not None:
            yield key, value


def _value(writes: Iterator[Written], delimiter: bytes) -> bytes | None:
    parts: list[bytes] = []
    for write in writes:
        if write.kind in (Write.DELETE, Write.SINGLE_DELETE):
            break
        if write.kind not in (Write.PUT, Write.MERGE):
            raise UnreadableTable(
                "a table file cannot be read", path=str(write.key[:40]), why=f"it has a write of kind {write.kind}"
            )
        parts.append(write.value)
        if write.kind == Write.PUT:
            break
    return delimiter.join(reversed(parts)) if parts else None
