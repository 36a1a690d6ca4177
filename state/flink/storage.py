"""The storage of a savepoint's files: the machine's own file system, or any other that gives sizes and bytes."""

from __future__ import annotations

import os
import stat
from typing import Protocol

from msgspec import Struct

from compat.state.safe_open import open_regular


class Storage(Protocol):
    """Files by their paths. Errors are `OSError` or `ValueError`."""

    def resolve(self, path: str) -> str:
        """The path without links and `..`, which shows its real folder."""

    def size(self, path: str) -> int | None:
        """The size of a regular file in bytes; None for anything else. Raises if nothing is there."""

    def read(self, path: str, start: int, length: int) -> bytes:
        """Up to `length` bytes from `start` on; fewer where the file ends."""


class LocalFiles(Struct, frozen=True):
    """The file system of this machine."""

    def resolve(self, path: str) -> str:
        """The path without links."""
        return os.path.realpath(path)

    def size(self, path: str) -> int | None:
        """The size of a regular file."""
        status = os.stat(path)
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def read(self, path: str, start: int, length: int) -> bytes:
        """A piece of a file."""
        with open_regular(path) as file:
            file.seek(start)
            return file.read(length)


LOCAL_FILES = LocalFiles()
