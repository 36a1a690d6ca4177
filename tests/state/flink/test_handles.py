"""Every kind of handle, old and new layouts."""

from __future__ import annotations

import pytest

from compat.state.flink import SubtaskState, parse_metadata
from compat.state.flink.files import streams_of
from compat.state.flink.handles import (
    Changelog,
    Channel,
    EmptySegment,
    FileChanges,
    Incremental,
    InlineBytes,
    InMemoryChanges,
    KeyGroupRange,
    KeyGroups,
    LocalFile,
    MergedFolders,
    OperatorStream,
    Partition,
    RelativeFile,
    Segment,
    StateFile,
)
from tests.state.flink import writer as w

ALL_GROUPS = KeyGroupRange(0, 128)


def read_subtask(subtask: bytes, version: int = 6) -> SubtaskState:
    data = w.metadata(w.operator(subtask, version=version), version=version)
    (operator,) = parse_metadata(data, "_metadata").operators
    (found,) = operator.subtasks
    return found


def read_keyed(handle: bytes) -> object:
    return read_subtask(w.subtask(managed_keyed=handle)).managed_keyed


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (w.inline(b"abc", "n"), InlineBytes("n", b"abc")),
        (w.file("hdfs://nn/a", 5), StateFile("hdfs://nn/a", 5)),
        (w.relative("a", 5), RelativeFile("a", 5)),
        (w.segment("file:/a", 3, 5, 1), Segment("file:/a", 3, 5, "EXCLUSIVE", "logical")),
        (w.EMPTY_SEGMENT, EmptySegment()),
        (
            b"\x03" + w.integer(2, 1) + w.long(9) + w.inline(b""),
            KeyGroups(KeyGroupRange(2, 1), (9,), InlineBytes("bytes", b""), False),
        ),
    ],
)
def test_streams(written: bytes, expected: object) -> None:
    found = read_subtask(w.subtask(managed_operator=w.operator_stream(written)))
    assert found.managed_operator == OperatorStream((), expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(("tag", "canonical", "handle_id"), [(3, False, None), (7, True, None), (12, False, "handle")])
def test_full_snapshots(tag: int, canonical: bool, handle_id: str | None) -> None:
    found = read_keyed(w.full(w.inline(b"1234"), 5, [0, 4], tag))
    stream = InlineBytes("bytes", b"1234")
    assert found == KeyGroups(KeyGroupRange(5, 2), (0, 4), stream, canonical, handle_id)
    assert found.size == 4


@pytest.mark.parametrize(("tag", "size", "handle_id"), [(5, None, None), (11, 99, "handle")])
def test_incremental_snapshots(tag: int, size: int | None, handle_id: str | None) -> None:
    shared = [w.local_file("1.sst", w.file("file:/x/shared/a", 30))]
    private = [w.local_file("CURRENT", w.inline(b"16"))]
    found = read_keyed(w.incremental(w.inline(b"meta"), shared, private, tag))
    assert found == Incremental(
        ALL_GROUPS,
        4,
        "backend",
        size,
        InlineBytes("bytes", b"meta"),
        (LocalFile("1.sst", StateFile("file:/x/shared/a", 30)),),
        (LocalFile("CURRENT", InlineBytes("bytes", b"16")),),
        handle_id,
    )
    assert found.size == 4 + 30 + 2


@pytest.mark.parametrize(("tag", "checkpoint_id"), [(8, 3), (14, 8)])
def test_changelogs(tag: int, checkpoint_id: int) -> None:
    materialized = [w.incremental(w.file("file:/x/shared/m", 20))]
    changes = [w.file_changes(w.file("file:/x/shared/c", 40)), w.memory_changes((-1, b"ab"), (7, b"c"))]
    found = read_keyed(w.changelog(materialized, changes, tag))
    assert isinstance(found, Changelog)
    assert (found.key_groups, found.checkpointed_size) == (ALL_GROUPS, 77)
    assert (found.materialization_id, found.checkpoint_id) == (3, checkpoint_id)
    assert found.changes == (
        FileChanges(ALL_GROUPS, ((12, StateFile("file:/x/shared/c", 40)),), 30, 20, "handle", "filesystem"),
        InMemoryChanges(ALL_GROUPS, 1, 5, ((-1, 2), (7, 1)), "handle"),
    )
    assert found.size == 20 + 30 + 3
    assert [s.size for s in streams_of(found)] == [20, 40]


def test_the_older_layout_of_changes_in_files() -> None:
    found = read_keyed(w.file_changes(w.inline(b""), tag=10))
    assert isinstance(found, FileChanges)
    assert found.storage == "filesystem"


@pytest.mark.parametrize("empty", [True, False])
def test_operator_state_of_file_merging(empty: bool) -> None:
    stream = w.EMPTY_SEGMENT if empty else w.segment("file:/x/taskowned/f", 3, 5)
    written = w.merged_operator_stream(stream, w.partition("s", 2, [1]), empty=empty)
    found = read_subtask(w.subtask(managed_operator=written)).managed_operator
    assert found is not None
    assert found.partitions == (Partition("s", "BROADCAST", (1,)),)
    assert found.merged == MergedFolders("file:/owned", "file:/shared", empty)
    assert found.size == (0 if empty else 5)


@pytest.mark.parametrize("version", [3, 4, 5, 6])
def test_channels(version: int) -> None:
    tagged = version >= 6
    stream = w.relative("in-flight", 50)
    found = read_subtask(
        w.subtask(
            inputs=[w.channel(stream, (0, 1), 1 if tagged else None)],
            outputs=[w.channel(stream, (2, 3), 2 if tagged else None)],
        ),
        version,
    )
    file = RelativeFile("in-flight", 50)
    assert found.input_channels == (Channel(False, 3, (0, 1), (5, 6), 40, file),)
    assert found.output_channels == (Channel(True, 3, (2, 3), (5, 6), 40, file),)
    assert found.size == 80


def test_merged_channels() -> None:
    stream = w.relative("in-flight", 50)
    found = read_subtask(w.subtask(inputs=[w.merged_channel(stream, 3)], outputs=[w.merged_channel(stream, 4)]))
    assert [c.info for c in found.input_channels + found.output_channels] == [None, None]
    assert [c.output for c in found.input_channels + found.output_channels] == [False, True]
