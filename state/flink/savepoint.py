"""A savepoint and its operators, as plain values."""

from __future__ import annotations

from msgspec import Struct

from compat.state.flink.handles import Channel, InlineBytes, Keyed, OperatorStream
from compat.state.flink.storage import LOCAL_FILES, Storage


class MasterState(Struct, frozen=True):
    """State of a hook that runs in the checkpoint coordinator."""

    name: str
    version: int
    data: bytes


class Properties(Struct, frozen=True):
    """The Java-serialized checkpoint properties, as far as they are recognised without deserializing them.

    A field is None if nothing known was recognised. Metadata can be without any: Flink then writes null.
    """

    is_savepoint: bool | None
    class_name: str | None
    type_name: str | None
    savepoint_format: str | None


class SubtaskState(Struct, frozen=True):
    """The state of one parallel instance of an operator. A finished subtask has none."""

    index: int
    finished: bool = False
    managed_operator: OperatorStream | None = None
    raw_operator: OperatorStream | None = None
    managed_keyed: Keyed | None = None
    raw_keyed: Keyed | None = None
    input_channels: tuple[Channel, ...] = ()
    output_channels: tuple[Channel, ...] = ()

    @property
    def handles(self) -> tuple[OperatorStream | Keyed | Channel, ...]:
        """All handles, in the order in which the metadata lists them."""
        whole = (self.managed_operator, self.raw_operator, self.managed_keyed, self.raw_keyed)
        return (*(h for h in whole if h is not None), *self.input_channels, *self.output_channels)

    @property
    def has_state(self) -> bool:
        """Whether any handle exists, even an empty one: what Flink asks at a restore."""
        return bool(self.handles)

    @property
    def size(self) -> int:
        """Bytes in all handles (`OperatorSubtaskState.getStateSize`)."""
        return sum(h.size for h in self.handles)


class OperatorState(Struct, frozen=True):
    """One operator of the job that was saved.

    `id` is 32 hex digits. `name` and `uid` are None if unset, and always before format version 5.
    `max_parallelism` is that of the operator's job vertex.
    """

    id: str
    name: str | None
    uid: str | None
    parallelism: int
    max_parallelism: int
    coordinator: InlineBytes | None
    subtasks: tuple[SubtaskState, ...]
    fully_finished: bool = False

    @property
    def has_state(self) -> bool:
        """True if a restore has to find a place for this operator: it has a handle or coordinator bytes."""
        return self.coordinator is not None or any(s.has_state for s in self.subtasks)

    @property
    def size(self) -> int:
        """Bytes in all handles of all subtasks and of the coordinator."""
        coordinator = self.coordinator.size if self.coordinator else 0
        return coordinator + sum(s.size for s in self.subtasks)


class Contents(Struct, frozen=True):
    """The contents of a metadata file after the version number, as each format version's module reads them."""

    checkpoint_id: int
    master_states: tuple[MasterState, ...]
    operators: tuple[OperatorState, ...]
    properties: Properties | None


class Savepoint(Struct, frozen=True):
    """A savepoint or checkpoint.

    `path` is its `_metadata` file, `folder` that file's folder, `metadata_bytes` its size. `storage` is the storage of
    `folder`. `digest` is the digest of the file, which names each state file with its length.
    """

    path: str
    folder: str
    format_version: int
    metadata_bytes: int
    checkpoint_id: int
    master_states: tuple[MasterState, ...]
    operators: tuple[OperatorState, ...]
    properties: Properties | None
    storage: Storage = LOCAL_FILES
    digest: str = ""
