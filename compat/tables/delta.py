"""Snapshots of jobs on Spark as tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from compat.compiler.spark.driver.entries import StoredState, entries, stored_states
from compat.compiler.spark.driver.restore import open_snapshot, saved_operators
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import NO_KEY_GROUP, Kind
from compat.state.types import PICKLED, Types
from compat.tables.snapshots import TableEntry, TableState, Window

_PART_ROWS = 500_000
_TIMERS = (Kind.EVENT_TIMER, Kind.PROCESSING_TIMER)
_KEYED = (Kind.VALUE, Kind.LIST, Kind.MAP, *_TIMERS)


class SparkSnapshot:
    """A savepoint, a job or a checkpoint of it (``…/state@12``). Raises StoreError if there is none.

    Pickled, it is the same version of the table, whatever is committed meanwhile.
    """

    def __init__(self, path: str) -> None:
        self._log = open_snapshot(path)
        self._stored = {_table_state(each): each for each in stored_states(self._log, saved_operators(self._log))}

    def __getstate__(self) -> tuple[str, int, dict[TableState, StoredState]]:
        return *self.table, self._stored

    def __setstate__(self, pickled: tuple[str, int, dict[TableState, StoredState]]) -> None:
        path, version, self._stored = pickled
        self._log = SnapshotLog.open(path, version)

    @property
    def table(self) -> tuple[str, int]:
        """The path of the Delta table, and the version of it that this is."""
        return self._log.path, self._log.version

    @property
    def address(self) -> str:
        """The table's path, and the number of the checkpoint."""
        return f"{self._log.path}@{self._log.epoch}"

    @property
    def states(self) -> Sequence[TableState]:
        """The states with entries."""
        return list(self._stored)

    def parts(self) -> Sequence[range | None]:
        """Ranges of key groups, each with about half a million rows."""
        files = self._log.files()
        groups = max((file.key_groups[1] for file in files), default=0) + 1
        count = max(1, min(groups, sum(file.rows for file in files) // _PART_ROWS))
        borders = [place * groups // count for place in range(count + 1)]
        borders[0] = NO_KEY_GROUP
        return [range(low, high) for low, high in pairwise(borders)]

    def entries(self, states: Collection[TableState], part: range | None = None) -> Iterator[TableEntry]:
        """The entries of some states, or of those in one range of key groups. Raises StoreError."""
        by_stored = {_address(self._stored[each]): each for each in states}
        for entry in entries(self._log, [self._stored[each] for each in states], part):
            yield TableEntry(
                by_stored[_address(entry.state)],
                None if entry.key_group == NO_KEY_GROUP else entry.key_group,
                entry.key,
                _window(entry.namespace),
                entry.map_key,
                entry.value,
                entry.timestamp,
            )


def _address(state: StoredState) -> tuple[str, str, str]:
    return state.operator.id, state.name, state.kind


def _table_state(stored: StoredState) -> TableState:
    """A state as a table. A value without a declared type is pickled; the state of the system's operators is a text."""
    keyed = stored.kind in _KEYED
    with_map_keys = stored.kind in (Kind.MAP, Kind.BROADCAST)
    return TableState(
        operator=stored.operator.name,
        uid=stored.operator.uid,
        operator_id=stored.operator.id,
        name=stored.name,
        kind=stored.kind,
        key_type=stored.key_type or PICKLED if keyed else None,
        map_key_type=stored.map_key_type or PICKLED if with_map_keys else None if keyed else Types.STRING(),
        value_type=None if stored.kind in _TIMERS else stored.value_type or Types.STRING(),
    )


def _window(namespace: tuple[int, int] | int | None) -> Window | None:
    if namespace is None:
        return None
    return Window(*namespace, None) if isinstance(namespace, tuple) else Window(None, None, namespace)
