"""HDFS, by hdfs-native: a client in Rust, which delta-rs has inside as well. It needs neither a JVM nor libhdfs.

A written file gets its name by a rename: for the name node this is one step, which can fail if the name is taken.
``HADOOP_CONF_DIR`` and ``HADOOP_USER_NAME`` are read as Hadoop reads them.
"""

from __future__ import annotations

import functools
import os
import posixpath
import re
import shutil
import socket
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

from compat.state.stores.ranges import opened
from compat.state.stores.schemes import needs, split_remote
from compat.state.stores.system import Entry, FileSystem

_CONNECTING = 5.0
"""Seconds that a name node has to answer at first."""
_PORTION = 4 * 1024 * 1024
_REMOTE_ERROR = re.compile(r'RPCError\("(?:[\w$]+\.)*[\w$]+", "(?P<said>.*)"\)', re.DOTALL)
_TRACE = re.compile(r"(\n|\\n)(\t|\\t)at .*", re.DOTALL)


class HadoopFiles(FileSystem):
    """The files of an HDFS; paths are whole addresses, ``hdfs://host:8020/a/b``. ``connect`` makes a client."""

    def __init__(self, address: str, connect: Callable[[], Any]) -> None:
        self._address, self._connect = address, connect
        self._clients: dict[int, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """It travels to tasks by its address."""
        return hadoop_at, (self._address,)

    @property
    def local(self) -> bool:
        return False

    @property
    def _client(self) -> Any:
        """The client of this process: its threads do not come along when a process forks, and it cannot be closed without."""
        if os.getpid() not in self._clients:
            self._clients[os.getpid()] = self._connect()
        return self._clients[os.getpid()]

    def read(self, path: str) -> bytes:
        with self._telling(path):
            return bytes(self._client.read(_inside(path)).read())

    def open(self, path: str) -> BinaryIO:
        with self._telling(path):
            reader = self._client.read(_inside(path))
            size = len(reader)

        def part(start: int, length: int) -> bytes:
            with self._telling(path):
                return bytes(reader.read_range(start, length))

        return opened(part, size)

    def write(self, path: str, data: bytes) -> None:
        self._put(path, lambda target: target.write(data) if data else 0, over=True)

    def create(self, path: str, data: bytes) -> bool:
        try:
            self._put(path, lambda target: target.write(data) if data else 0, over=False)
        except FileExistsError:
            return False
        return True

    def upload(self, file: BinaryIO, path: str) -> None:
        file.seek(0)
        self._put(path, lambda target: shutil.copyfileobj(file, target, _PORTION), over=True)

    def size(self, path: str) -> int | None:
        found = self._info(path)
        return None if found is None or found.isdir else int(found.length)

    def modified(self, path: str) -> float:
        found = self._info(path)
        if found is None:
            raise FileNotFoundError(f"{path} is not there")
        return float(found.modification_time) / 1000

    def exists(self, path: str) -> bool:
        return self._info(path) is not None

    def list(self, folder: str) -> list[Entry]:
        entries = [
            Entry(
                posixpath.basename(found.path),
                None if found.isdir else int(found.length),
                0.0 if found.isdir else found.modification_time / 1000,
            )
            for found in self._statuses(folder, recursive=False)
        ]
        return sorted(entries, key=lambda entry: entry.name)

    def walk(self, folder: str) -> Iterator[str]:
        for found in self._statuses(folder, recursive=True):
            if not found.isdir:
                yield self._address + found.path

    def delete(self, path: str) -> None:
        with self._telling(path), suppress(FileNotFoundError):
            self._client.delete(_inside(path))

    def remove(self, folder: str) -> None:
        with self._telling(folder), suppress(FileNotFoundError):
            self._client.delete(_inside(folder), True)

    def copy(self, source: str, target: str) -> None:
        with self.open(source) as file:
            self.upload(file, target)

    def move(self, source: str, target: str) -> None:
        with self._telling(source):
            self._client.mkdirs(posixpath.dirname(_inside(target)), create_parent=True)
            self._client.rename(_inside(source), _inside(target), True)

    def _put(self, path: str, fill: Callable[[Any], object], *, over: bool) -> None:
        """Write a file under a name that nobody looks for, and then give it its own. Raises FileExistsError unless ``over``."""
        name = _inside(path)
        fresh = posixpath.join(posixpath.dirname(name), f".{posixpath.basename(name)}.{uuid.uuid4().hex}.new")
        try:
            with self._telling(path):
                with self._client.create(fresh) as target:
                    fill(target)
                self._client.rename(fresh, name, over)
        except BaseException:
            with suppress(Exception):  # the first error is told
                self._client.delete(fresh)
            raise

    def _info(self, path: str) -> Any:
        try:
            with self._telling(path):
                return self._client.get_file_info(_inside(path))
        except FileNotFoundError:
            return None

    def _statuses(self, folder: str, *, recursive: bool) -> Sequence[Any]:
        inside = _inside(folder)
        try:
            with self._telling(folder):
                return [each for each in self._client.list_status(inside, recursive) if each.path != inside]
        except FileNotFoundError:
            return []

    @contextmanager
    def _telling(self, path: str) -> Iterator[None]:
        """Errors of the library as those of a file system, in one line."""
        try:
            yield
        except FileExistsError:
            raise FileExistsError(f"{path} is there already") from None
        except FileNotFoundError:
            raise FileNotFoundError(f"{path} is not there") from None
        except Exception as error:  # it has kinds of its own, and RuntimeError for the most
            raise OSError(f"{_told(str(error))} ({self._address})") from None


@functools.lru_cache(maxsize=64)
def hadoop_at(address: str) -> HadoopFiles:
    """The file system at ``hdfs://host:port``, as this process's user. Raises StoreError if the library is missing."""
    try:
        from hdfs_native import Client
    except ModuleNotFoundError as error:
        raise needs(error.name, address) from error

    def connect() -> Any:
        _prove_reachable(address)
        return Client(address)

    return HadoopFiles(address, connect)


def _prove_reachable(address: str) -> None:
    """Raise an OSError if no name node answers, which the library itself would wait for longer."""
    host, _, port = address.removeprefix("hdfs://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), _CONNECTING).close()


def _inside(path: str) -> str:
    return "/" + split_remote(path)[1]


def _told(text: str) -> str:
    """What a name node said, without the trace of its Java."""
    found = _REMOTE_ERROR.search(text)
    return " ".join(_TRACE.sub("", found["said"] if found else text).replace("\\'", "'").split())[:400]
