"""What this process and the one of a function say to each other: each message behind its length."""

from __future__ import annotations

import os
import struct

from msgspec import Struct, msgpack

from compat.state.flink.python_functions import Task
from compat.state.flink.python_states import Item

LENGTH = struct.Struct(">I")


class Begin(Struct, frozen=True):
    """The function, by its file and name, and what it is for. ``flink`` is the version whose PyFlink it finds, ``pyfiles`` are
    what it imports from besides its own folder."""

    file: str
    name: str
    task: Task
    flink: str
    pyfiles: tuple[str, ...]


class Answer(Struct, frozen=True):
    """What happened to each item; or why not all became others, ``error``."""

    items: list[list[Item]] = []
    error: str = ""


def framed(message: Begin | Answer | list[Item]) -> bytes:
    """A message behind its length."""
    data = msgpack.encode(message)
    return LENGTH.pack(len(data)) + data


def read_exactly(descriptor: int, number: int) -> bytes:
    """So many bytes of a pipe, or fewer where it ended."""
    found = bytearray()
    while len(found) < number and (chunk := os.read(descriptor, min(number - len(found), 1 << 20))):
        found += chunk
    return bytes(found)
