"""A name node in memory, as a client of hdfs-native shows one; what it raises was seen of a real one."""

from __future__ import annotations

import posixpath
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

_TRACE = "\\n\\tat org.apache.hadoop.hdfs.server.namenode.FSNamesystem.f(FSNamesystem.java:1)\\n"


@dataclass(slots=True)
class Node:
    """A file or a folder, as ``FileStatus`` tells of it."""

    path: str
    isdir: bool
    data: bytes = b""
    modification_time: int = field(default_factory=lambda: int(time.time() * 1000))

    @property
    def length(self) -> int:
        return len(self.data)


class Reader:
    """``FileReader``."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def read(self) -> bytes:
        return self._data

    def read_range(self, offset: int, length: int) -> bytes:
        return self._data[offset : offset + length]


class Writer:
    """``FileWriter``: what it writes grows under the name that it has."""

    def __init__(self, nodes: NameNode, node: Node) -> None:
        self._nodes, self._node = nodes, node

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._node.modification_time = int(time.time() * 1000)

    def write(self, data: bytes) -> int:
        half = len(data) // 2 if self._nodes.full else len(data)
        self._node.data += data[:half]
        if self._nodes.full:
            said = f"could only be written to 0 of the 1 minReplication nodes.{_TRACE}"
            raise RuntimeError(f'RPCError("java.io.IOException", "{said}")')
        return half


class NameNode:
    """``Client``. ``full`` has every write fail in the midst of it."""

    def __init__(self) -> None:
        self.full = False
        self._nodes = {"/": Node("/", True)}

    def get_file_info(self, path: str) -> Node:
        if path not in self._nodes:
            raise FileNotFoundError(path)
        return self._nodes[path]

    def list_status(self, path: str, recursive: bool = False) -> Iterator[Node]:
        node = self.get_file_info(path)
        if not node.isdir:
            yield node
            return
        prefix = path.rstrip("/") + "/"
        for name, found in list(self._nodes.items()):
            if name != path and name.startswith(prefix) and (recursive or "/" not in name[len(prefix) :]):
                yield found

    def read(self, path: str) -> Reader:
        node = self.get_file_info(path)
        if node.isdir:
            raise FileNotFoundError(f"Path is not a file: {path}{_TRACE}")
        return Reader(node.data)

    def create(self, path: str) -> Writer:
        if path in self._nodes:
            raise FileExistsError(f"{path} for client 127.0.0.1 already exists{_TRACE}")
        self.mkdirs(posixpath.dirname(path), create_parent=True)
        self._nodes[path] = Node(path, False)
        return Writer(self, self._nodes[path])

    def mkdirs(self, path: str, permission: int = 0o755, create_parent: bool = False) -> None:
        if path != "/":
            self.mkdirs(posixpath.dirname(path), permission, create_parent)
        self._nodes.setdefault(path, Node(path, True))

    def rename(self, src: str, dst: str, overwrite: bool = False) -> None:
        if src not in self._nodes:
            raise FileNotFoundError(f"rename source {src} is not found.{_TRACE}")
        if posixpath.dirname(dst) not in self._nodes:
            raise FileNotFoundError(f"rename destination parent {dst} not found.{_TRACE}")
        if dst in self._nodes and not overwrite:
            raise FileExistsError(f"rename destination {dst} already exists{_TRACE}")
        node = self._nodes.pop(src)
        node.path = dst
        self._nodes[dst] = node

    def delete(self, path: str, recursive: bool = False) -> bool:
        below = [name for name in self._nodes if name.startswith(path + "/")]
        if below and not recursive:
            said = f"`{path} is non empty': Directory is not empty{_TRACE}"
            raise RuntimeError(f'RPCError("org.apache.hadoop.fs.PathIsNotEmptyDirectoryException", "{said}")')
        for name in below:
            del self._nodes[name]
        return self._nodes.pop(path, None) is not None
