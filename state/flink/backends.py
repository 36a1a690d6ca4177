"""Which state backend wrote the keyed state of a savepoint, where its files are the backend's own.

A canonical savepoint is the same whatever backend wrote it. In a native one and in a checkpoint, RocksDB leaves its own
files (`IncrementalRemoteKeyedStateHandle`) or a full scan that has no place for an empty key group; the heap backend
begins each key group with its number (`HeapSnapshotStrategy`).
"""

from __future__ import annotations

from collections.abc import Iterator

from compat.state.flink.handles import Incremental, Keyed, KeyGroups
from compat.state.flink.measure import begins_like_heap
from compat.state.flink.model import OperatorState, Savepoint
from compat.state.flink.states import with_headers

HEAP = "hashmap"
ROCKSDB = "rocksdb"


def native_backend(savepoint: Savepoint, operator: OperatorState) -> str | None:
    """The backend in whose own format an operator's keyed state is; None if canonical, absent or unknown."""
    for handle in _keyed_handles(operator):
        if isinstance(handle, Incremental):
            return ROCKSDB
        if isinstance(handle, KeyGroups) and not handle.canonical:
            if 0 in handle.offsets:
                return ROCKSDB
            if begins_like_heap(savepoint, handle):
                return HEAP
    return None


def _keyed_handles(operator: OperatorState) -> Iterator[Keyed]:
    for subtask in operator.subtasks:
        if subtask.managed_keyed is not None:
            yield from with_headers(subtask.managed_keyed)
