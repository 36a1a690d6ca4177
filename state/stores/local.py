"""The file system of this machine: files are on the disk when a method returns."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from compat.state.stores.system import Entry, FileSystem


class LocalFiles(FileSystem):
    """The file system of this machine."""

    @property
    def local(self) -> bool:
        return True

    def read(self, path: str) -> bytes:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # an open file asks the system for more than it needs
        try:
            parts = []
            while part := os.read(descriptor, os.fstat(descriptor).st_size + 1):
                parts.append(part)
            return b"".join(parts)
        finally:
            os.close(descriptor)

    def open(self, path: str) -> BinaryIO:
        return open(path, "rb")

    def write(self, path: str, data: bytes) -> None:
        os.replace(_written(path, data), path)
        sync(os.path.dirname(path) or ".")

    def create(self, path: str, data: bytes) -> bool:
        fresh = _written(path, data)
        try:
            os.link(fresh, path)
        except FileExistsError:
            return False
        finally:
            os.unlink(fresh)
        sync(os.path.dirname(path) or ".")
        return True

    def upload(self, file: BinaryIO, path: str) -> None:
        file.seek(0)
        make_folder(os.path.dirname(path) or ".")
        fresh = _fresh(path)
        with open(fresh, "wb") as target:
            shutil.copyfileobj(file, target)
            target.flush()
            os.fsync(target.fileno())
        os.replace(fresh, path)
        sync(os.path.dirname(path) or ".")

    def size(self, path: str) -> int | None:
        return os.path.getsize(path) if os.path.isfile(path) else None

    def modified(self, path: str) -> float:
        return os.stat(path).st_mtime

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def list(self, folder: str) -> list[Entry]:
        try:
            with os.scandir(folder) as found:
                return sorted(map(_entry, found), key=lambda entry: entry.name)
        except FileNotFoundError:
            return []

    def walk(self, folder: str) -> Iterator[str]:
        for top, _, names in os.walk(folder):
            for name in names:
                yield os.path.join(top, name)

    def delete(self, path: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(path)

    def remove(self, folder: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)

    def copy(self, source: str, target: str) -> None:
        shutil.copyfile(source, target)
        sync(target)

    def move(self, source: str, target: str) -> None:
        os.replace(source, target)


def _fresh(path: str) -> str:
    return os.path.splitext(path)[0] + f".{os.getpid()}.new"


def _written(path: str, data: bytes) -> str:
    """A file beside the one that is meant, with the data, on the disk."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        os.makedirs(folder, exist_ok=True)
    fresh = _fresh(path)
    with open(fresh, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return fresh


def _entry(found: os.DirEntry[str]) -> Entry:
    if found.is_dir():
        return Entry(found.name, None)
    status = found.stat(follow_symlinks=False)
    return Entry(found.name, status.st_size, status.st_mtime)


def make_folder(path: str | Path) -> None:
    """Make a folder and the folders above it, if missing; their names survive a power cut."""
    if not os.path.isdir(path):
        above = os.path.dirname(path) or "."
        make_folder(above)
        try:
            os.mkdir(path)
        except FileExistsError:  # somebody else made it at the same time
            if not os.path.isdir(path):
                raise
        sync(above)


def sync(path: str | Path) -> None:
    """Make a file's contents, or the names in a folder, survive a power cut, if the file system can."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:
        return  # somebody else's folder, which was there before
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # of file systems that know no folders
            raise
    finally:
        os.close(descriptor)
