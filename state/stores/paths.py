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
    """A path on a file system; ``path`` is as one would write it, ``s3://bucket/jobs`` or ``/data/jobs``.

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
        """True on the file system of this machine."""
        return self.system.local

    @property
    def name(self) -> str:
        """The last part of the path."""
        return os.path.basename(self.path.rstrip("/"))

    @property
    def parent(self) -> Place:
        """The folder that it is in."""
        return Place(self.system, os.path.dirname(self.path.rstrip("/")))

    def absolute(self) -> Place:
        """The same, whatever the working directory is."""
        return Place(self.system, os.path.abspath(self.path)) if self.local else self

    def read(self) -> bytes:
        """The file's contents."""
        return self.system.read(self.path)

    def open(self) -> BinaryIO:
        """The file, to be read from anywhere in it."""
        return self.system.open(self.path)

    def write(self, data: bytes) -> None:
        """Put a file there, whole and to stay."""
        self.system.write(self.path, data)

    def create(self, data: bytes) -> bool:
        """Put a file there unless one is."""
        return self.system.create(self.path, data)

    def upload(self, file: BinaryIO) -> None:
        """Put there what an open file has."""
        self.system.upload(file, self.path)

    def size(self) -> int | None:
        """The bytes of the file; None if there is none."""
        return self.system.size(self.path)

    def modified(self) -> float:
        """When the file was last written."""
        return self.system.modified(self.path)

    def exists(self) -> bool:
        """True if a file or a folder is."""
        return self.system.exists(self.path)

    def list(self) -> list[Entry]:
        """The contents of the folder."""
        return self.system.list(self.path)

    def walk(self) -> Iterator[Place]:
        """All files below the folder."""
        return (Place(self.system, path) for path in self.system.walk(self.path))

    def delete(self) -> None:
        """Remove the file, if it is there."""
        self.system.delete(self.path)

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        self.system.remove(self.path)

    def move(self, target: Place) -> None:
        """Give the file another name."""
        self.system.move(self.path, target.path)


def place_of(path: str | Path | Place, what: str = "") -> Place:
    """The place that a path names, relative ones as they are. ``what`` it is for begins the error.

    Raises StoreError for what is on no storage that we know, or on one whose library is not installed.
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
