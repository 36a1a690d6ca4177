"""Opens state streams: bytes in the metadata, or a bounded piece of a local file."""

from __future__ import annotations

from compat.state.flink.errors import MissingStateFile, RefusedStateFile, UnreadableSavepoint
from compat.state.flink.handles import EmptySegment, InlineBytes, KeyGroups, Segment, Stream
from compat.state.flink.locate import LOCAL, REFUSED, SHORT, locate
from compat.state.flink.savepoint import Savepoint


def read_window(savepoint: Savepoint, stream: Stream, start: int, length: int) -> bytes:
    """Up to `length` bytes of a stream from `start` on; fewer where the stream or its file ends.

    Raises `MissingStateFile` if there is no local file, `RefusedStateFile` if its name leads out of the
    savepoint, `UnreadableSavepoint` if the operating system refuses.
    """
    length = max(0, length)
    if isinstance(stream, KeyGroups):
        return read_window(savepoint, stream.stream, start, length)
    if isinstance(stream, EmptySegment):
        return b""
    if isinstance(stream, InlineBytes):
        return stream.data[start : start + length]
    found = locate(savepoint, stream)
    if found.status == REFUSED:
        raise RefusedStateFile(f"`{found.name}` leads out of the savepoint's folders", path=savepoint.path)
    if found.path is None or found.status not in (LOCAL, SHORT):
        raise MissingStateFile(f"no local file for `{found.name}`", path=savepoint.path, why=found.status)
    if isinstance(stream, Segment):
        length = min(length, max(0, stream.size - start))
        start += stream.start
    try:
        return savepoint.storage.read(found.path, start, length)
    except (OSError, OverflowError, ValueError) as error:
        raise UnreadableSavepoint("cannot read a state file", path=found.path, why=str(error)) from error
