"""The key groups in RocksDB's own files, of a native savepoint or a checkpoint: entry by entry, as canonical ones have it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from compat.state.flink.contents import DELIMITER, Entry, prefix_of
from compat.state.flink.handles import Incremental
from compat.state.flink.headers import BackendHeader
from compat.state.flink.keyed_entries import tables_of
from compat.state.flink.savepoint import Savepoint
from compat.state.flink.sst_files import merged


class TableGroups:
    """The key groups of a subtask, to be asked for in their order: for one that is passed, the files are read once more.

    What is there of other key groups was left by a restore, and does not count.
    """

    def __init__(self, savepoint: Savepoint, handle: Incremental, header: BackendHeader, max_parallelism: int) -> None:
        self._families = tables_of(savepoint, handle, max_parallelism)
        self._names = tuple(meta.name for meta in header.states)
        self._prefix = prefix_of(max_parallelism)
        self._groups = range(handle.key_groups.first, handle.key_groups.last + 1)
        self._passed = -1
        self._streams: list[Iterator[Entry]] = []
        self._next: list[Entry | None] = []

    @property
    def numbers(self) -> Collection[int]:
        """The key groups of the subtask."""
        return self._groups

    def entries(self, group: int) -> Iterator[Entry]:
        """The entries of a key group, state by state. Raises a `SavepointError` for damaged bytes."""
        if group not in self._groups:
            return
        if group <= self._passed or not self._streams:
            self._streams = [self._all(number) for number in range(len(self._names))]
            self._next = [next(stream, None) for stream in self._streams]
        self._passed = group
        for number in range(len(self._names)):
            yield from self._of_state(number, group)

    def _of_state(self, number: int, group: int) -> Iterator[Entry]:
        while (entry := self._next[number]) is not None and (of := self._group(entry)) <= group:
            self._next[number] = next(self._streams[number], None)
            if of == group:
                yield entry

    def _all(self, number: int) -> Iterator[Entry]:
        """All entries of a state, in the order of their keys, which begin with the key group."""
        for key, value in merged(self._families.get(self._names[number], []), DELIMITER):
            yield Entry(number, key, value)

    def _group(self, entry: Entry) -> int:
        return int.from_bytes(entry.key[: self._prefix], "big")
