"""Buffers between processes of one machine: in files, so that Spark carries only where they are.

Each epoch has its own folder, which its driver makes and removes. A file has the buffers of one run of a subtask. It is
complete before its name is sent, and never changes; the file of a lost run is never read. Few bytes travel without a file.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from zlib import crc32

from compat.compiler.spark.runtime_api.elements import Buffer, Stowed

TRAVELS = 64 * 1024
"""The maximum bytes of a subtask's buffers that travel with Spark."""

_FOLDER = "stowage"


class BuffersLost(Exception):
    """Stowed buffers of an epoch are missing: the task that made them has to run again."""


def stow(folder: str, buffers: list[Buffer]) -> list[Buffer]:
    """The buffers with their payloads in a file in ``folder``.

    Small ones stay as they are, as do all if there is no folder, or it takes no file: Spark carries them then.
    """
    if not folder or sum(len(buffer.payload) for buffer in buffers if isinstance(buffer.payload, bytes)) <= TRAVELS:
        return buffers
    path, start, stowed = os.path.join(folder, uuid.uuid4().hex), 0, []
    try:
        with open(path, "xb") as file:
            for buffer in buffers:
                payload = buffer.payload
                assert isinstance(payload, bytes)
                file.write(payload)
                stowed.append(buffer._replace(payload=Stowed(path, start, len(payload), crc32(payload))))
                start += len(payload)
    except OSError:
        with suppress(OSError):
            os.unlink(path)
        return buffers
    return stowed


def payloads(buffers: Iterable[Buffer]) -> Iterator[tuple[Buffer, bytes]]:
    """Each buffer with its payload, wherever that is. Raises BuffersLost."""
    with ExitStack() as stack:
        files: dict[str, int] = {}
        for buffer in buffers:
            place = buffer.payload
            if isinstance(place, bytes):
                yield buffer, place
                continue
            if place.path not in files:
                files[place.path] = _opened(place.path)
                stack.callback(os.close, files[place.path])
            payload = os.pread(files[place.path], place.size, place.start)
            if len(payload) < place.size:
                raise BuffersLost(f"{place.path} was cut off.")
            if crc32(payload) != place.checksum:
                raise BuffersLost(f"{place.path} is damaged.")
            yield buffer, payload


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY)
    except FileNotFoundError as error:
        raise BuffersLost(f"Records of the epoch were removed from {path} while it ran.") from error


@contextmanager
def folder_for_buffers(within: str) -> Iterator[str]:
    """A folder for the buffers of one run of an epoch, which ends with the block; "" where none can be made."""
    folder = os.path.join(os.path.abspath(within), _FOLDER, f"{os.getpid()}-{uuid.uuid4().hex}")
    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        os.mkdir(folder, 0o700)
    except OSError:
        yield ""
        return
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_left_buffers(within: str) -> None:
    """Remove the folders of drivers that were killed."""
    for folder in Path(within, _FOLDER).glob("*-*"):
        process = folder.name.partition("-")[0]
        with suppress(ValueError, PermissionError):
            try:
                os.kill(int(process), 0)
            except ProcessLookupError:
                shutil.rmtree(folder, ignore_errors=True)
