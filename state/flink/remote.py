"""Savepoints on other storage than the file system: only the folder that the user names.

fsspec reads them. If its package for a storage is missing, the library that jobs on Spark use reads them
(:mod:`compat.state.stores`).
"""

from __future__ import annotations

import os
import posixpath
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from compat.state.flink import (
    NotASavepoint,
    NotWritten,
    Remapped,
    Savepoint,
    StateCopy,
    UnreadableSavepoint,
    read_metadata,
    require_free,
    write_folder,
)
from compat.state.flink.metadata import METADATA_FILE, newest_first
from compat.state.flink.remapping import Unfinished, unfinished
from compat.state.stores.schemes import is_remote as is_place
from compat.state.stores.system import FileSystem

READ_AHEAD = 1 << 18
"""The minimum bytes that are fetched at once."""
MOST_AHEAD = 256
"""The files of which such bytes are kept: so many of RocksDB's are read at once."""

_EXTRA = "pip install 'stream-compat[remote]'"


def is_remote(path: str) -> bool:
    """True for a URI of other storage than the file system: ``s3://bucket/savepoint-1``."""
    return "://" in path and not path.startswith("file:")


def read_savepoint(path: str) -> Savepoint:
    """The savepoint at a path or URI. Raises :class:`compat.state.flink.SavepointError`, and nothing else."""
    if not is_remote(path):
        return read_metadata(path)
    system, there = _storage(path)
    folder, at = path.rstrip("/").removesuffix(f"/{METADATA_FILE}"), there.rstrip("/").removesuffix(f"/{METADATA_FILE}")
    try:
        return replace(read_metadata(at, RemoteFiles(system)), path=f"{folder}/{METADATA_FILE}")
    except NotASavepoint:
        for name in newest_first(_names(system, at)):
            with suppress(NotASavepoint):
                return replace(
                    read_metadata(f"{at}/{name}", RemoteFiles(system)), path=f"{folder}/{name}/{METADATA_FILE}"
                )
        raise


def _names(system: Any, folder: str) -> list[str]:
    """The names in a folder; none if there is none, or the storage does not tell."""
    try:
        return [posixpath.basename(str(name).rstrip("/")) for name in system.ls(folder, detail=False)]
    except Exception:  # each storage has its own errors; the reason about the folder itself is kept
        return []


def require_nothing(path: str) -> None:
    """Raise :class:`compat.state.flink.NotWritten` if something is at the path or URI already."""
    if not is_remote(path):
        require_free(_local(path))
        return
    system, there = _storage(path)
    if _writing(path, system.exists, there):
        raise NotWritten("something is there already", path=path, why="nothing is ever written over")


def write_savepoint(path: str, remapped: Remapped) -> None:
    """Write a savepoint under other ids to a path or URI where nothing is; its metadata last, so that no part of it passes for
    a savepoint. Raises a :class:`compat.state.flink.SavepointError`.
    """
    if not is_remote(path):
        write_folder(_local(path), remapped)
        return
    require_nothing(path)
    with _whole(path) as (system, place):
        for copy in remapped.copies:
            _copy(path, system, copy, place(copy.name), remapped)
        _writing(path, system.pipe_file, place(METADATA_FILE), remapped.metadata)


@contextmanager
def _whole(path: str) -> Iterator[tuple[Any, Callable[[str], str]]]:
    """The file system of a URI, and what gives the places of files there, of which none stays where one fails."""
    system, there = _storage(path)
    written: list[str] = []

    def place(name: str) -> str:
        written.append(f"{there}/{name}")
        return written[-1]

    try:
        yield system, place
    except BaseException:
        for file in written:
            with suppress(Exception):  # each storage has its own errors; the first one is reported
                system.rm_file(file)
        raise


@contextmanager
def unfinished_at(path: str) -> Iterator[Unfinished | Uploading]:
    """A folder to fill for a path or URI where nothing is; it is filled here. Raises `NotWritten`."""
    if not is_remote(path):
        with unfinished(_local(path)) as making:
            yield making
        return
    require_nothing(path)
    with TemporaryDirectory() as here, unfinished(os.path.join(here, "made")) as making:
        yield Uploading(path, making)


class Uploading(Struct, frozen=True):
    """A folder that is filled here, and uploaded to other storage when it is finished."""

    path: str
    making: Unfinished

    @property
    def folder(self) -> str:
        """The folder to fill."""
        return self.making.folder

    @property
    def metadata(self) -> str:
        """The folder's metadata, under a temporary name."""
        return self.making.metadata

    def take(self, remapped: Remapped) -> None:
        """Take the state files, and the metadata."""
        self.making.take(remapped)

    def finish(self) -> None:
        """Upload the folder; its metadata comes last, and nothing stays of a failed upload."""
        with _whole(self.path) as (system, place):
            for entry in os.scandir(self.folder):
                if entry.path != self.metadata:
                    _writing(self.path, system.put_file, entry.path, place(entry.name))
            _writing(self.path, system.put_file, self.metadata, place(METADATA_FILE))


def _copy(path: str, system: Any, copy: StateCopy, to: str, remapped: Remapped) -> None:
    if isinstance(remapped.storage, RemoteFiles) and remapped.storage.system is system:
        _writing(path, system.cp_file, copy.source, to)
        return
    try:
        data = remapped.storage.read(copy.source, 0, remapped.storage.size(copy.source) or 0)
    except (OSError, ValueError) as error:
        raise UnreadableSavepoint("cannot read a state file", path=copy.source, why=str(error)) from error
    _writing(path, system.pipe_file, to, data)


def _writing(path: str, method: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return method(*arguments)
    except Exception as error:  # each storage has errors of its own
        raise NotWritten("this storage does not let us write", path=path, why=_said(error)) from error


def _local(path: str) -> str:
    """The path behind a ``file:`` URI, or the path itself."""
    if not path.startswith("file:"):
        return path
    rest = path.removeprefix("file:")
    return "/" + rest[2:].partition("/")[2] if rest.startswith("//") else rest


def _storage(path: str) -> tuple[Any, str]:
    """The file system of a URI, as fsspec has it, and the path there."""
    try:
        import fsspec  # type: ignore[import-untyped]
    except ImportError as error:
        if (own := _own_storage(path)) is not None:
            return own
        raise NotASavepoint(
            "this is other storage than the file system",
            path=path,
            why="reading it needs fsspec, which is not installed",
            advice=f"Install it ({_EXTRA}, and the package for that storage: s3fs, gcsfs, adlfs), or copy the savepoint's "
            "folder to this machine and name the copy.",
        ) from error
    try:
        system, there = fsspec.core.url_to_fs(path)
    except Exception as error:  # each storage has errors of its own
        if isinstance(error, ImportError) and (own := _own_storage(path)) is not None:
            return own
        raise UnreadableSavepoint(
            "this storage cannot be reached",
            path=path,
            why=_said(error),
            advice="Install the package that fsspec names for it, and give the credentials that it wants.",
        ) from error
    return system, there


def _own_storage(path: str) -> tuple[Any, str] | None:
    """The same by the library of jobs on Spark; None if that has none for the storage, or is not installed."""
    from compat.state.delta.errors import StoreError
    from compat.state.stores.paths import place_of

    try:
        place = place_of(path) if is_place(path) else None
    except StoreError:
        return None
    if place is None:
        return None
    scheme, _, there = place.path.partition("://")
    return _OwnStorage(place.system, f"{scheme}://"), there


class _OwnStorage(Struct, frozen=True):
    """A file system of ours, with fsspec's names for what is needed of it; paths have no scheme."""

    files: FileSystem
    scheme: str

    def exists(self, path: str) -> bool:
        return self.files.exists(self.scheme + path)

    def ls(self, path: str, detail: bool) -> list[str]:
        return [entry.name for entry in self.files.list(self.scheme + path)]

    def info(self, path: str) -> dict[str, Any]:
        size = self.files.size(self.scheme + path)
        if size is None and not self.files.exists(self.scheme + path):
            raise FileNotFoundError(self.scheme + path)
        return {"type": "directory" if size is None else "file", "size": size}

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        with self.files.open(self.scheme + path) as file:
            file.seek(start)
            return file.read(end - start)

    def pipe_file(self, path: str, data: bytes) -> None:
        self.files.write(self.scheme + path, data)

    def put_file(self, here: str, path: str) -> None:
        with open(here, "rb") as file:
            self.files.upload(file, self.scheme + path)

    def cp_file(self, source: str, target: str) -> None:
        self.files.copy(self.scheme + source, self.scheme + target)

    def rm_file(self, path: str) -> None:
        self.files.delete(self.scheme + path)


@dataclass(slots=True, eq=False)
class RemoteFiles:
    """The files of an fsspec file system; implements :class:`compat.state.flink.storage.Storage`.

    The files of a savepoint never change. So sizes are requested only once, and small pieces that are read in a row, such as
    the blocks of RocksDB's files, are fetched in larger ones.
    """

    system: Any
    _sizes: dict[str, int | None] = field(default_factory=dict, repr=False)
    _ahead: OrderedDict[str, tuple[int, bytes]] = field(default_factory=OrderedDict, repr=False)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.system,)  # another process fetches for itself

    def resolve(self, path: str) -> str:
        """The path without ``..``; object storage has no links."""
        return posixpath.normpath(path)

    def size(self, path: str) -> int | None:
        """The size of a file, None for a folder."""
        if path not in self._sizes:
            found = self._call("info", path)
            is_file = found.get("type") == "file" and found.get("size") is not None
            self._sizes[path] = int(found["size"]) if is_file else None
        return self._sizes[path]

    def read(self, path: str, start: int, length: int) -> bytes:
        """A piece of a file."""
        size = self.size(path) or 0
        end = min(size, start + length)
        if start >= end:
            return b""
        if end - start >= READ_AHEAD:
            return self._fetch(path, start, end)
        begin, data = self._ahead.pop(path, (0, b""))
        if not begin <= start <= end <= begin + len(data):
            begin, data = start, self._fetch(path, start, min(size, start + READ_AHEAD))
        self._ahead[path] = begin, data
        if len(self._ahead) > MOST_AHEAD:
            self._ahead.popitem(last=False)
        return data[start - begin : end - begin]

    def _fetch(self, path: str, start: int, end: int) -> bytes:
        return bytes(self._call("cat_file", path, start=start, end=end))

    def _call(self, method: str, *arguments: Any, **options: Any) -> Any:
        try:
            return getattr(self.system, method)(*arguments, **options)
        except OSError:
            raise
        except Exception as error:  # each storage has errors of its own
            raise OSError(_said(error)) from error


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
