"""Reads state of any size: holds a piece of a stream, and fetches the next one when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from compat.state.flink.binary import ByteReader
from compat.state.flink.errors import SavepointTooLarge
from compat.state.flink.handles import Stream
from compat.state.flink.savepoint import Savepoint
from compat.state.flink.snappy import read_frames
from compat.state.flink.streams import read_window

PIECE = 1 << 20
"""The bytes of a state file that are read at once."""

LARGEST_VALUE = 1 << 30
"""The maximum bytes of one value in memory: RocksDB takes values up to 2 GiB, JNI half of that."""


def pieces(savepoint: Savepoint, stream: Stream, start: int, end: int) -> Iterator[bytes]:
    """The bytes of a stream between two places, piece by piece. Raises a `SavepointError` for what cannot be read."""
    while start < end:
        data = read_window(savepoint, stream, start, min(PIECE, end - start))
        if not data:
            return
        start += len(data)
        yield data


class StreamReader(ByteReader):
    """A reader of pieces that come one by one; `offset` counts the bytes that came.

    `window` and `remaining` know only of what was fetched.
    """

    __slots__ = ("_kept", "_pieces")

    def __init__(self, pieces: Iterator[bytes], path: str, *, origin: int = 0) -> None:
        super().__init__(b"", path, origin=origin)
        self._pieces = pieces
        self._kept: int | None = None

    def span(self, read: Callable[[ByteReader], object]) -> bytes:
        """The bytes that a read function passes."""
        self._kept = self.position
        read(self)
        found = self.data[self._kept : self.position]
        self._kept = None
        return found

    def at_end(self) -> bool:
        """True if nothing is left."""
        return self.position >= self.end and not self._fetch(1)

    def require(self, length: int, what: str) -> None:
        if length > self.end - self.position and not self._fetch(length):
            super().require(length, what)

    def _fetch(self, length: int) -> bool:
        """Have `length` more bytes at hand; False if the stream ends before."""
        begin = self.position if self._kept is None else self._kept
        ahead = self.position - begin
        if ahead + length > LARGEST_VALUE:
            raise SavepointTooLarge(
                f"a value of {ahead + length:,} bytes",
                path=self.path,
                offset=self.offset,
                why=f"at most {LARGEST_VALUE:,} are read at once",
                advice="If the bytes are not damaged, this state cannot be read here.",
            )
        kept = [self.data[begin : self.end]]
        size = len(kept[0])
        # A value that is kept grows by as much as there is of it, so that it is not copied for each piece.
        while size < ahead + max(length, ahead):
            piece = next(self._pieces, b"")
            if not piece:
                break
            kept.append(piece)
            size += len(piece)
        self.origin += begin
        self.data = b"".join(kept)
        self.position, self.end = ahead, len(self.data)
        self._kept = None if self._kept is None else 0
        return size >= ahead + length

    def _advance(self, length: int) -> int:
        if length > self.end - self.position:
            self.require(length, "a value")
        at = self.position
        self.position = at + length
        return at


def decompressed(reader: StreamReader) -> StreamReader:
    """The uncompressed bytes of a reader of compressed ones; places in errors are those in the uncompressed bytes."""
    return StreamReader(read_frames(reader), reader.path)
