"""Savepoints on storage that is not a file system, through fsspec: the folder that the user names, and nothing else."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace
from typing import Any

from compat.state.flink import NotASavepoint, Savepoint, UnreadableSavepoint, read_metadata

_EXTRA = "pip install 'stream-compat[remote]'"


def is_remote(path: str) -> bool:
    """True for a URI of other storage than the file system: ``s3://bucket/savepoint-1``."""
    return "://" in path and not path.startswith("file:")


def read_savepoint(path: str) -> Savepoint:
    """The savepoint at a path or URI. Raises :class:`compat.state.flink.SavepointError`, and nothing else."""
    if not is_remote(path):
        return read_metadata(path)
    try:
        import fsspec  # type: ignore[import-untyped]
    except ImportError as error:
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
        raise UnreadableSavepoint(
            "this storage cannot be reached",
            path=path,
            why=_said(error),
            advice="Install the package that fsspec names for it, and give the credentials that it wants.",
        ) from error
    savepoint = read_metadata(there, RemoteFiles(system))
    return replace(savepoint, path=f"{path.rstrip('/').removesuffix('/_metadata')}/_metadata")


@dataclass(frozen=True, slots=True)
class RemoteFiles:
    """The files of an fsspec file system; implements :class:`compat.state.flink.storage.Storage`."""

    system: Any

    def resolve(self, path: str) -> str:
        """The path without ``..``; object storage has no links."""
        return posixpath.normpath(path)

    def size(self, path: str) -> int | None:
        """The size of a file, None for a folder."""
        found = self._call("info", path)
        return int(found["size"]) if found.get("type") == "file" and found.get("size") is not None else None

    def read(self, path: str, start: int, length: int) -> bytes:
        """A piece of a file."""
        size = self.size(path) or 0
        end = min(size, start + length)
        if start >= end:
            return b""
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
