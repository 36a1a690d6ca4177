"""State handles: the places of pieces of state, from the metadata.

The names are those of Flink's classes without the words `State` and `Handle` that all of them share. Sizes
and offsets are bytes.
"""

from __future__ import annotations

from msgspec import Struct


class KeyGroupRange(Struct, frozen=True):
    """`count` key groups from `first` on."""

    first: int
    count: int

    @property
    def last(self) -> int:
        """The last key group, inclusive; `first - 1` for an empty range."""
        return self.first + self.count - 1


# ---- streams: some bytes, and where to get them ----


class InlineBytes(Struct, frozen=True, tag=True):
    """Bytes in the metadata itself (`ByteStreamStateHandle`)."""

    name: str
    data: bytes

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.data)


class StateFile(Struct, frozen=True, tag=True):
    """A file by its absolute URI at the time of writing (`FileStateHandle`)."""

    uri: str
    size: int


class RelativeFile(Struct, frozen=True, tag=True):
    """A file beside the metadata (`RelativeFileStateHandle`)."""

    relative_path: str
    size: int


class Segment(Struct, frozen=True, tag=True):
    """A part of a file that several subtasks write into (`SegmentFileStateHandle`)."""

    uri: str
    start: int
    size: int
    scope: str
    logical_id: str


class EmptySegment(Struct, frozen=True, kw_only=True, tag=True):
    """No bytes at all, written by file merging (`EmptySegmentFileStateHandle`)."""

    @property
    def size(self) -> int:
        """Always 0."""
        return 0


class KeyGroups(Struct, frozen=True, tag=True):
    """A full snapshot of keyed state: a stream, and where in it each key group begins
    (`KeyGroupsStateHandle`).

    `canonical` is true for savepoints in the backend-independent layout (`KeyGroupsSavepointStateHandle`);
    there an offset of 0 means that the key group is empty.
    """

    key_groups: KeyGroupRange
    offsets: tuple[int, ...]
    stream: Stream
    canonical: bool
    handle_id: str | None = None

    @property
    def size(self) -> int:
        """The bytes of the stream."""
        return self.stream.size


Stream = InlineBytes | StateFile | RelativeFile | Segment | EmptySegment | KeyGroups


# ---- keyed state ----


class LocalFile(Struct, frozen=True):
    """A file of an incremental snapshot under its local name, such as `000019.sst`."""

    local_name: str
    stream: Stream


class Incremental(Struct, frozen=True):
    """A RocksDB snapshot: a header file and RocksDB's own files (`IncrementalRemoteKeyedStateHandle`)."""

    key_groups: KeyGroupRange
    checkpoint_id: int
    backend_id: str
    checkpointed_size: int | None
    meta: Stream
    shared: tuple[LocalFile, ...]
    private: tuple[LocalFile, ...]
    handle_id: str | None

    @property
    def size(self) -> int:
        """The bytes of the header and of all files."""
        return self.meta.size + sum(f.stream.size for f in self.shared + self.private)


class InMemoryChanges(Struct, frozen=True):
    """State changes in the metadata (`InMemoryChangelogStateHandle`).

    `changes` has the key group and the length in bytes of each; the bytes themselves are left where they are.
    """

    key_groups: KeyGroupRange
    from_sequence: int
    to_sequence: int
    changes: tuple[tuple[int, int], ...]
    handle_id: str

    @property
    def size(self) -> int:
        """The bytes of all changes."""
        return sum(length for _, length in self.changes)


class FileChanges(Struct, frozen=True):
    """State changes in files, each read from an offset on (`ChangelogStateHandleStreamImpl`)."""

    key_groups: KeyGroupRange
    streams: tuple[tuple[int, Stream], ...]
    size: int
    checkpointed_size: int
    handle_id: str
    storage: str


class Changelog(Struct, frozen=True):
    """A materialized snapshot and the changes since (`ChangelogStateBackendHandle`)."""

    key_groups: KeyGroupRange
    checkpointed_size: int
    materialized: tuple[Keyed, ...]
    changes: tuple[Keyed, ...]
    materialization_id: int
    checkpoint_id: int
    handle_id: str

    @property
    def size(self) -> int:
        """The bytes of the snapshot and of the changes."""
        return sum(h.size for h in self.materialized + self.changes)


Keyed = KeyGroups | Incremental | Changelog | InMemoryChanges | FileChanges


# ---- operator state and channel state ----


class Partition(Struct, frozen=True):
    """The offsets of the parts of one operator state, and their distribution mode at a restore."""

    name: str
    mode: str
    offsets: tuple[int, ...]


class MergedFolders(Struct, frozen=True):
    """The folders that file merging writes into, of an operator state that it wrote."""

    task_owned: str
    shared: str
    empty: bool


class OperatorStream(Struct, frozen=True):
    """Operator state: a stream, and the places of each state's parts in it (`OperatorStreamStateHandle`)."""

    partitions: tuple[Partition, ...]
    stream: Stream
    merged: MergedFolders | None = None

    @property
    def size(self) -> int:
        """The bytes of the stream."""
        return self.stream.size


class Channel(Struct, frozen=True):
    """Records in flight of one subtask, from an unaligned checkpoint.

    `info` is (gate, channel) of an input or (partition, subpartition) of an output; None when the handle
    holds all channels of the subtask (`MergedInputChannelStateHandle`,
    `MergedResultSubpartitionStateHandle`).
    """

    output: bool
    subtask: int
    info: tuple[int, int] | None
    offsets: tuple[int, ...]
    size: int
    stream: Stream
