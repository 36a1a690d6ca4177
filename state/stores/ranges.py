"""Remote files, read like files of this machine."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, BinaryIO

_READ_AHEAD = 4 * 1024 * 1024


def opened(part: Callable[[int, int], bytes], size: int) -> BinaryIO:
    """A file of this many bytes, open for reading at any position; ``part`` gives a number of bytes from a position."""
    return io.BufferedReader(_Ranges(part, size), _READ_AHEAD)


class _Ranges(io.RawIOBase):
    """A file of which each read is a request for a range."""

    def __init__(self, part: Callable[[int, int], bytes], size: int) -> None:
        super().__init__()
        self._part, self._size = part, size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        length = min(len(buffer), self._size - self._at)
        if length <= 0:
            return 0
        data = self._part(self._at, length)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
