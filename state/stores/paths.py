"""Places: paths, each on its file system."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from compat.state.delta.errors import StoreError
from compat.state.stores.local import LocalFiles
from compat.state.stores.schemes import HDFS, is_remote, split_remote, why_no_place, without_scheme
from compat.state.stores.system import Entry, FileSystem

LOCAL = LocalFiles()
_PLAIN = re.compile(r"(?:/[^/.:][^/:]*)+")
"""An absolute path that names no scheme and is as one writes it: most are, and a job asks for many."""


class Place(Struct, frozen=True):
    """A path on a file system; ``path`` is in the user's spelling, ``s3://bucket/jobs`` or ``/data/jobs``.

    The methods are those of :class:`~compat.state.stores.system.FileSystem`.
    """

    system: FileSystem
    path: str

    def __truediv__(self, name: str) -> Place:
        plain = name[:1] != "/" and self.path[-1:] not in ("", "/")
        return Place(self.system, f"{self.path}/{name}" if plain else os.path.join(self.path, name))

    def __str__(self) -> str:
        return self.path

    def __fspath__(self) -> str:
        if not self.local:
            raise TypeError(f"{self.path} is no path of this machine")
        return self.path

    @property
    def local(self) -> bool:
        """True if it is on the file system of this machine."""
        return self.system.local

    @property
    def name(self) -> str:
        """The last part of the path."""
        return os.path.basename(self.path.rstrip("/"))

    @property
    def parent(self) -> Place:
        """The folder that contains it."""
        return Place(self.system, os.path.dirname(self.path.rstrip("/")))

    def absolute(self) -> Place:
        """The same place, whatever the working directory is."""
        return Place(self.system, os.path.abspath(self.path)) if self.local else self

    def read(self) -> bytes:
        """The file's contents."""
        return self.system.read(self.path)

    def open(self) -> BinaryIO:
        """The file, open for reading at any position."""
        return self.system.open(self.path)

    def write(self, data: bytes) -> None:
        """Replace the file as a whole; it lasts."""
        self.system.write(self.path, data)

    def create(self, data: bytes) -> bool:
        """Write the file unless it exists."""
        return self.system.create(self.path, data)

    def upload(self, file: BinaryIO) -> None:
        """Write the contents of an open file."""
        self.system.upload(file, self.path)

    def size(self) -> int | None:
        """The bytes of the file; None if there is none."""
        return self.system.size(self.path)

    def modified(self) -> float:
        """The time of the file's last write."""
        return self.system.modified(self.path)

    def exists(self) -> bool:
        """True if a file or a folder exists."""
        return self.system.exists(self.path)

    def list(self) -> list[Entry]:
        """The contents of the folder."""
        return self.system.list(self.path)

    def walk(self) -> Iterator[Place]:
        """All files below the folder."""
        return (Place(self.system, path) for path in self.system.walk(self.path))

    def delete(self) -> None:
        """Delete the file, if it exists."""
        self.system.delete(self.path)

    def remove(self) -> None:
        """Remove the folder with all of its contents."""
        self.system.remove(self.path)

    def move(self, target: Place) -> None:
        """Rename the file."""
        self.system.move(self.path, target.path)


def place_of(path: str | Path | Place, what: str = "") -> Place:
    """The place of a path; relative paths stay relative. ``what`` it is for begins the error.

    Raises StoreError for a path on an unknown storage, or on one whose library is not installed.
    """
    if isinstance(path, Place):
        return path
    text = str(path)
    if _PLAIN.fullmatch(text):
        return Place(LOCAL, text)
    problem = why_no_place(text)
    if problem is not None:
        raise StoreError(f"{what}: {problem}." if what else f"{problem}.")
    if not is_remote(text):
        return Place(LOCAL, str(Path(without_scheme(text))))
    bucket, key = split_remote(text)
    return Place(_system_at(bucket), f"{bucket}/{key}" if key else bucket)


def _system_at(address: str) -> FileSystem:
    if address.startswith(f"{HDFS}://"):
        from compat.state.stores.hdfs import hadoop_at

        return hadoop_at(address)
    from compat.state.stores.objects import bucket_at

    return bucket_at(address)
