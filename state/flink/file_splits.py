"""The state of a file source of Flink: the splits of its readers, and the unassigned files of its enumerator.

A split is a file, or a part of one, and the number of its records that were read (``FileSourceSplitSerializer``). The
enumerator writes the splits that no reader has yet (``PendingSplitsCheckpointSerializer``). If it searches for more files, it
also writes all files that it has found: ``ContinuousFileSplitEnumerator`` does, ``StaticFileSplitEnumerator`` does not.
"""

from __future__ import annotations

from msgspec import Struct

from compat.state.flink.binary import ByteReader
from compat.state.flink.savepoint import OperatorState

VERSION = 1
"""The version of both serializers, in all versions of Flink from 1.12 on."""
_MAGIC = 0xDEADBEEF
_NO_OFFSET = -1


class FileSplit(Struct, frozen=True):
    """A part of a file: where it begins, its bytes and those of the whole file, and where its reader was.

    That is ``skipped`` records behind the byte ``offset``, or behind the beginning where that is None.
    """

    path: str
    begin: int
    length: int
    file_size: int
    offset: int | None = None
    skipped: int = 0


class Pending(Struct, frozen=True):
    """What an enumerator has: the splits that no reader has yet, and the files found, which only a source that looks for more
    notes."""

    splits: tuple[FileSplit, ...] = ()
    found: tuple[str, ...] = ()


def enumerator_of(operator: OperatorState, version: int | None = VERSION) -> ByteReader | None:
    """The state of a source's enumerator (``SourceCoordinatorSerdeUtils``); None if it is not in the savepoint.

    Raises a SavepointError, for another ``version`` of its serializer as well, if one is given.
    """
    if operator.coordinator is None:
        return None
    reader = ByteReader(operator.coordinator.data, "a coordinator")
    versions = reader.integer(), reader.integer()
    body = reader.window(reader.integer(), "what is still to be read")
    if versions != (1, versions[1] if version is None else version) or reader.remaining:
        reader.damaged(f"a coordinator of the versions {versions}")
    return body


def read_split(reader: ByteReader) -> FileSplit:
    """A split, behind its version and length. Raises a SavepointError."""
    reader.utf()  # its id
    path = _path(reader)
    begin, length, _, size = reader.long(), reader.long(), reader.long(), reader.long()
    for _ in range(reader.count("hosts", 2)):
        reader.utf()
    offset, skipped = (reader.long(), reader.long()) if reader.boolean() else (_NO_OFFSET, 0)
    if reader.remaining or skipped < 0 or offset < _NO_OFFSET:
        reader.damaged("a split of files of another form")
    return FileSplit(path, begin, length, size, None if offset == _NO_OFFSET else offset, skipped)


def read_pending(reader: ByteReader) -> Pending:
    """The state of an enumerator, after its version and length. Raises a SavepointError."""
    magic, version = _little(reader), _little(reader)
    if (magic, version) != (_MAGIC, VERSION):
        reader.damaged(f"pending splits of version {version}, behind {magic:#x}")
    splits, paths = _little(reader), _little(reader)
    found = tuple(read_split(reader.window(_little(reader), "a split")) for _ in range(splits))
    names = tuple(reader.raw(_little(reader), "a path").decode("utf-8", "replace") for _ in range(paths))
    if reader.remaining:
        reader.damaged("bytes behind pending splits")
    return Pending(found, names)


def _little(reader: ByteReader) -> int:
    return int.from_bytes(reader.raw(4, "a number"), "little")


def _path(reader: ByteReader) -> str:
    """A path as ``Path.write`` writes it: the parts of a URI, each behind whether it is there."""
    if not reader.boolean():
        reader.damaged("a split without a path")
    scheme, _, host = (_text(reader) for _ in range(3))
    port, path = reader.integer(), _text(reader)
    _text(reader), _text(reader)
    at = f"//{host}{f':{port}' if port >= 0 else ''}" if host else ""
    return f"{scheme}:{at}{path or ''}" if scheme else path or ""


def _text(reader: ByteReader) -> str | None:
    return reader.text() if reader.boolean() else None
