"""Reading state of any size: a reader that holds a piece of a stream and fetches the next one when it is needed."""

from __future__ import annotations

from collections.abc import Iterator

from compat.state.flink.binary import ByteReader
from compat.state.flink.errors import SavepointTooLarge
from compat.state.flink.handles import Stream
from compat.state.flink.savepoint import Savepoint
from compat.state.flink.streams import read_window

PIECE = 1 << 20
"""The bytes of a state file that are read at once."""

LARGEST_VALUE = 1 << 30
"""The bytes of one value that are held in memory at most: RocksDB takes values up to 2 GiB, JNI half of that."""


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

    __slots__ = ("_pieces",)

    def __init__(self, pieces: Iterator[bytes], path: str, *, origin: int = 0) -> None:
        super().__init__(b"", path, origin=origin)
        self._pieces = pieces

    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self.position >= self.end and not self._fetch(1)

    def require(self, length: int, what: str) -> None:
        if length > self.end - self.position and not self._fetch(length):
            super().require(length, what)

    def _fetch(self, length: int) -> bool:
        """Have `length` more bytes at hand; False if the stream ends before."""
        if length > LARGEST_VALUE:
            raise SavepointTooLarge(
                f"a value of {length:,} bytes",
                path=self.path,
                offset=self.offset,
                why=f"at most {LARGEST_VALUE:,} are read at once",
                advice="If the bytes are not damaged, this state cannot be read here.",
            )
        kept = [self.data[self.position : self.end]]
        size = len(kept[0])
        while size < length:
            piece = next(self._pieces, b"")
            if not piece:
                break
            kept.append(piece)
            size += len(piece)
        self.origin += self.position
        self.data = b"".join(kept)
        self.position, self.end = 0, len(self.data)
        return size >= length

    def _advance(self, length: int) -> int:
        if length > self.end - self.position:
            self.require(length, "a value")
        at = self.position
        self.position = at + length
        return at
