"""The file system functions that the execution needs."""

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
        """True for the file system of this machine, whose paths everybody can open."""

    def read(self, path: str) -> bytes:
        """A file's contents."""

    def open(self, path: str) -> BinaryIO:
        """A file, to be read from anywhere in it."""

    def write(self, path: str, data: bytes) -> None:
        """Replace the file of that name: readers see the old one or the new one."""

    def create(self, path: str, data: bytes) -> bool:
        """Put a file there unless one has the name: of several that try, one is told True."""

    def upload(self, file: BinaryIO, path: str) -> None:
        """The same as :meth:`write` for what an open file has, from its beginning."""

    def size(self, path: str) -> int | None:
        """The bytes of a file; None if there is no file."""

    def modified(self, path: str) -> float:
        """When a file was last written, in seconds since 1970 by the storage's clock. Raises FileNotFoundError."""

    def exists(self, path: str) -> bool:
        """True if a file is, or a folder: with something in it, where folders are but parts of names."""

    def list(self, folder: str) -> list[Entry]:
        """The files and folders in a folder, by their names; none if there is none."""

    def walk(self, folder: str) -> Iterator[str]:
        """The paths of all files below a folder."""

    def delete(self, path: str) -> None:
        """Remove a file, if it is there."""

    def remove(self, folder: str) -> None:
        """Remove a folder with all that is in it, as far as that can be."""

    def copy(self, source: str, target: str) -> None:
        """Copy a file of this file system."""

    def move(self, source: str, target: str) -> None:
        """Give a file another name, and replace the file that has it. Where there are no renames, it has both for a moment."""
