"""Reading keyed state handles: full snapshots, incremental ones, and changelogs.

The layout is that of `MetadataV2V3SerializerBase.deserializeKeyedStateHandle`.
"""

from __future__ import annotations

from compat.state.flink.binary import ByteReader
from compat.state.flink.handles import (
    Changelog,
    FileChanges,
    Incremental,
    InMemoryChanges,
    Keyed,
    KeyGroups,
    LocalFile,
)
from compat.state.flink.stream_handles import (
    check_depth,
    read_key_group_offsets,
    read_key_groups,
    read_present_stream,
)

_NULL = 0
_FULL = 3
_INCREMENTAL = 5
_FULL_CANONICAL = 7
_CHANGELOG = 8
_CHANGES_IN_MEMORY = 9
_CHANGES_IN_FILES = 10
_INCREMENTAL_V2 = 11
_FULL_V2 = 12
_CHANGES_IN_FILES_V2 = 13
_CHANGELOG_V2 = 14

_SMALLEST_FILE = 3
"""A local name of no letters and a type byte."""


def read_keyed(reader: ByteReader, depth: int = 0) -> Keyed | None:
    """Read a keyed state handle that may be null."""
    check_depth(reader, depth)
    tag = reader.byte()
    if tag == _NULL:
        return None
    if tag in (_FULL, _FULL_V2, _FULL_CANONICAL):
        return _read_full(reader, tag)
    if tag in (_INCREMENTAL, _INCREMENTAL_V2):
        return _read_incremental(reader, tag)
    if tag in (_CHANGELOG, _CHANGELOG_V2):
        return _read_changelog(reader, tag, depth)
    if tag == _CHANGES_IN_MEMORY:
        return _read_changes_in_memory(reader)
    if tag in (_CHANGES_IN_FILES, _CHANGES_IN_FILES_V2):
        return _read_changes_in_files(reader, tag)
    return reader.damaged(f"keyed state handle of type {tag}", "no Flink version writes that type")


def _read_full(reader: ByteReader, tag: int) -> KeyGroups:
    key_groups, offsets = read_key_group_offsets(reader)
    stream = read_present_stream(reader)
    handle_id = reader.utf() if tag == _FULL_V2 else None
    return KeyGroups(key_groups, offsets, stream, tag == _FULL_CANONICAL, handle_id)


def _read_incremental(reader: ByteReader, tag: int) -> Incremental:
    checkpoint_id = reader.long()
    backend_id = reader.utf()
    key_groups = read_key_groups(reader)
    checkpointed_size = reader.long() if tag == _INCREMENTAL_V2 else None
    meta = read_present_stream(reader)
    shared = _read_files(reader)
    private = _read_files(reader)
    handle_id = reader.utf() if tag == _INCREMENTAL_V2 else None
    return Incremental(key_groups, checkpoint_id, backend_id, checkpointed_size, meta, shared, private, handle_id)


def _read_files(reader: ByteReader) -> tuple[LocalFile, ...]:
    number = reader.count("files", _SMALLEST_FILE)
    return tuple(LocalFile(reader.utf(), read_present_stream(reader)) for _ in range(number))


def _read_changelog(reader: ByteReader, tag: int, depth: int) -> Changelog:
    key_groups = read_key_groups(reader)
    checkpointed_size = reader.long()
    materialized = _read_nested(reader, depth)
    changes = _read_nested(reader, depth)
    materialization_id = reader.long()
    # The first layout had no checkpoint id; Flink then takes the materialization's.
    checkpoint_id = reader.long() if tag == _CHANGELOG_V2 else materialization_id
    return Changelog(
        key_groups, checkpointed_size, materialized, changes, materialization_id, checkpoint_id, reader.utf()
    )


def _read_nested(reader: ByteReader, depth: int) -> tuple[Keyed, ...]:
    number = reader.count("keyed state handles", 1)
    handles = (read_keyed(reader, depth + 1) for _ in range(number))
    return tuple(handle for handle in handles if handle is not None)


def _read_changes_in_memory(reader: ByteReader) -> InMemoryChanges:
    key_groups = read_key_groups(reader)
    first = reader.long()
    last = reader.long()
    number = reader.count("state changes", 8)
    changes = tuple(_skip_change(reader) for _ in range(number))
    return InMemoryChanges(key_groups, first, last, changes, reader.utf())


def _skip_change(reader: ByteReader) -> tuple[int, int]:
    key_group = reader.integer()
    return key_group, reader.window(reader.integer(), "a state change").remaining


def _read_changes_in_files(reader: ByteReader, tag: int) -> FileChanges:
    key_groups = read_key_groups(reader)
    number = reader.count("files of state changes", 9)
    streams = tuple((reader.long(), read_present_stream(reader)) for _ in range(number))
    size = reader.long()
    checkpointed_size = reader.long()
    handle_id = reader.utf()
    storage = reader.utf() if tag == _CHANGES_IN_FILES_V2 else "filesystem"
    return FileChanges(key_groups, streams, size, checkpointed_size, handle_id, storage)
