"""The file system functions for the execution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Protocol

from msgspec import Struct


class Entry(Struct, frozen=True):
    """A file or folder in a folder. ``size`` is in bytes, None for a folder; ``modified`` in seconds since 1970, by the
    storage's own clock, 0 for a folder.
    """

    name: str
    size: int | None
    modified: float = 0.0


class FileSystem(Protocol):
    """Files by their paths, which are text. What fails raises an OSError; FileNotFoundError if a file is not there.

    What was written is there to stay, whole, when a method returns. Folders need not be made.
    """

    @property
    def local(self) -> bool:
        """True for the file system of this machine, whose paths every library can open."""

    def read(self, path: str) -> bytes:
        """A file's contents."""

    def open(self, path: str) -> BinaryIO:
        """A file, open for reading at any position."""

    def write(self, path: str, data: bytes) -> None:
        """Replace the file of that name: readers see the old one or the new one as a whole."""

    def create(self, path: str, data: bytes) -> bool:
        """Write a file unless it exists: of several attempts, only one returns True."""

    def upload(self, file: BinaryIO, path: str) -> None:
        """Write the contents of an open file, from its beginning, like :meth:`write`."""

    def size(self, path: str) -> int | None:
        """The bytes of a file; None if there is no file."""

    def modified(self, path: str) -> float:
        """The time of a file's last write, in seconds since 1970 by the storage's clock. Raises FileNotFoundError."""

    def exists(self, path: str) -> bool:
        """True if a file or a folder exists; a folder must have contents on storage where folders are only parts of names."""

    def list(self, folder: str) -> list[Entry]:
        """The files and folders in a folder, by their names; empty if there is no folder."""

    def walk(self, folder: str) -> Iterator[str]:
        """The paths of all files below a folder."""

    def delete(self, path: str) -> None:
        """Delete a file, if it exists."""

    def remove(self, folder: str) -> None:
        """Remove a folder with all of its contents, as far as possible."""

    def copy(self, source: str, target: str) -> None:
        """Copy a file of this file system."""

    def move(self, source: str, target: str) -> None:
        """Rename a file, and replace a file of the new name. Storage without renames has both for a moment."""
