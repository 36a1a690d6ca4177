"""The format of a savepoint's keyed state.

A canonical savepoint is the same whatever backend wrote it. In a native one and in a checkpoint, RocksDB and ForSt leave files
of the same form (`IncrementalRemoteKeyedStateHandle`; ForSt's asynchronous operators name their states there as
`KEY_VALUE_V2`), RocksDB also leaves a full scan, without a place for empty key groups. The heap backend begins each key group
with its number (`HeapSnapshotStrategy`). A changelog's handle holds such a snapshot, and the changes since.
"""

from __future__ import annotations

from compat.state.flink.errors import SavepointError
from compat.state.flink.formats import RESTORES, KeyedFormat, Restores
from compat.state.flink.handles import Changelog, Incremental, Keyed, KeyGroups
from compat.state.flink.measure import Layout, layout
from compat.state.flink.savepoint import OperatorState, Savepoint
from compat.state.flink.states import HeaderReader, with_headers

_OWN = {Layout.SCAN: KeyedFormat.ROCKSDB_SCAN, Layout.HEAP: KeyedFormat.HEAP, None: KeyedFormat.UNTOLD}
_OVER = {
    KeyedFormat.CANONICAL: KeyedFormat.CHANGELOG_CANONICAL,
    KeyedFormat.HEAP: KeyedFormat.CHANGELOG_HEAP,
    KeyedFormat.ROCKSDB_SCAN: KeyedFormat.CHANGELOG_ROCKSDB_SCAN,
    KeyedFormat.FILES: KeyedFormat.CHANGELOG_FILES,
}


def keyed_format(
    savepoint: Savepoint, operator: OperatorState, headers: HeaderReader | None = None
) -> KeyedFormat | None:
    """The format of an operator's keyed state; None if it has none. Of several, one that fewer backends restore from.

    `headers` is a reader to share with whoever else reads the operator's states.
    """
    headers = headers or HeaderReader(savepoint)
    found = {
        _format(savepoint, subtask.managed_keyed, headers)
        for subtask in operator.subtasks
        if subtask.managed_keyed is not None
    }
    return min(found, key=_readers, default=None)


def _readers(format: KeyedFormat) -> int:
    """How many backends restore from it for certain, and, to break ties, where it stands."""
    answers = list(RESTORES[format].values())
    return len(RESTORES) * answers.count(Restores.YES) + list(RESTORES).index(format)


def _format(savepoint: Savepoint, handle: Keyed, headers: HeaderReader) -> KeyedFormat:
    inner = [_plain_format(savepoint, each, headers) for each in with_headers(handle)]
    whole = min(inner, key=_readers, default=KeyedFormat.CHANGES)
    return _OVER.get(whole, whole) if isinstance(handle, Changelog) else whole


def _plain_format(savepoint: Savepoint, handle: Keyed, headers: HeaderReader) -> KeyedFormat:
    if isinstance(handle, Incremental):
        return KeyedFormat.ASYNCHRONOUS if _asynchronous(handle, headers) else KeyedFormat.FILES
    if not isinstance(handle, KeyGroups):
        return KeyedFormat.CHANGES
    if handle.canonical:
        return KeyedFormat.CANONICAL
    return _OWN[layout(savepoint, handle)]


def _asynchronous(handle: Incremental, headers: HeaderReader) -> bool:
    try:
        header = headers.keyed(handle)
    except SavepointError:  # the reader of the states reports it
        return False
    return header is not None and any(state.type == "KEY_VALUE_V2" for state in header.states)
