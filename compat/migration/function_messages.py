"""The messages between this process and that of a function, each preceded by its length."""

from __future__ import annotations

import os
import struct

from msgspec import Struct, msgpack

from compat.state.flink.python_functions import Task
from compat.state.flink.python_states import Item

LENGTH = struct.Struct(">I")


class Begin(Struct, frozen=True):
    """The function, by its file and name, and its task. ``flink`` is the version whose PyFlink it finds, ``pyfiles``
    are its further import paths.
    """

    file: str
    name: str
    task: Task
    flink: str
    pyfiles: tuple[str, ...]


class Answer(Struct, frozen=True):
    """The result for each item; or ``error``, the reason why not all could be converted."""

    items: list[list[Item]] = []
    error: str = ""


def framed(message: Begin | Answer | list[Item]) -> bytes:
    """A message preceded by its length."""
    data = msgpack.encode(message)
    return LENGTH.pack(len(data)) + data


def read_exactly(descriptor: int, number: int) -> bytes:
    """This many bytes from a pipe, or fewer if it ended."""
    found = bytearray()
    while len(found) < number and (chunk := os.read(descriptor, min(number - len(found), 1 << 20))):
        found += chunk
    return bytes(found)
