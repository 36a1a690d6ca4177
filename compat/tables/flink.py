"""Savepoints and checkpoints of Flink as tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from compat.state.flink import (
    EntryKind,
    SavepointError,
    StateEntry,
    StoredState,
    Undecoded,
    entries,
    stored_states,
)
from compat.state.flink.remote import read_savepoint
from compat.state.types import ListTypeInfo, OpaqueTypeInfo, TypeInformation
from compat.tables.snapshots import TableEntry, TableState, Window


class UnreadableState(SavepointError):
    """A wanted state cannot be read."""

    advice = "Choose other states."


class FlinkSnapshot:
    """A savepoint or checkpoint that Flink wrote. Raises SavepointError if it cannot be read."""

    def __init__(self, path: str) -> None:
        self._savepoint = read_savepoint(path)
        self._stored = {_table_state(each): each for each in stored_states(self._savepoint)}

    def __reduce__(self) -> tuple[type[FlinkSnapshot], tuple[str]]:
        return FlinkSnapshot, (self._savepoint.path,)

    @property
    def address(self) -> str:
        """The path of the savepoint."""
        return self._savepoint.path

    @property
    def states(self) -> Sequence[TableState]:
        """All states, even unreadable ones: to ask for one of these is an error."""
        return list(self._stored)

    def parts(self) -> Sequence[range | None]:
        """A single part: a state file is read from its beginning."""
        return [None]

    def entries(self, states: Collection[TableState], part: range | None = None) -> Iterator[TableEntry]:
        """The entries of some states, or of those in one range of key groups.

        Raises UnreadableState for a state that cannot be read, or another SavepointError.
        """
        for each in states:
            problem = self._stored[each].problem
            if problem is not None:
                what = f"the state {each.name!r} of {each.uid or each.operator} cannot be read"
                raise UnreadableState(what, path=self._savepoint.path, why=problem)
        wanted = {self._stored[each]: each for each in states}
        for entry in entries(self._savepoint, lambda stored: stored in wanted):
            self._require_read(entry)
            if part is None or (entry.key_group if entry.key_group is not None else -1) in part:
                yield _table_entry(wanted[entry.state], entry)

    def _require_read(self, entry: StateEntry) -> None:
        """Raise UnreadableState for a value of a state that has a type, where this one is of a class that is not recorded."""
        if isinstance(entry.value, Undecoded) and entry.state.value_type is not None:
            state = entry.state
            of = state.operator_uid or state.operator_name or state.operator_id
            what = f"a value of the state {state.declared_name!r} of {of} cannot be read"
            raise UnreadableState(what, path=self._savepoint.path, why=entry.value.serializer)


def _table_state(stored: StoredState) -> TableState:
    value = _declared(stored.value_type)
    return TableState(
        operator=stored.operator_name or stored.operator_uid or stored.operator_id,
        uid=stored.operator_uid,
        operator_id=stored.operator_id,
        name=stored.declared_name,
        kind=stored.kind.value,
        key_type=_declared(stored.key_type) if stored.kind.keyed else None,
        map_key_type=_declared(stored.map_key_type) if stored.kind in (EntryKind.MAP, EntryKind.BROADCAST) else None,
        value_type=None if stored.kind.timers else ListTypeInfo(value) if stored.kind is EntryKind.LIST else value,
    )


def _declared(type_info: TypeInformation | None) -> TypeInformation:
    return OpaqueTypeInfo("unknown") if type_info is None else type_info


def _table_entry(state: TableState, entry: StateEntry) -> TableEntry:
    timer = entry.state.kind.timers
    return TableEntry(
        state,
        entry.key_group,
        _bytes(entry.key),
        _window(entry.namespace),
        _bytes(entry.map_key),
        None if timer else _bytes(entry.value),
        entry.value if timer else max(entry.last_used, default=None),
    )


def _bytes(value: Any) -> Any:
    """A value; its bytes where nobody but the program can read them."""
    if isinstance(value, Undecoded):
        return value.data
    return [_bytes(each) for each in value] if type(value) is list else value


def _window(namespace: Any) -> Window | None:
    """A namespace: windows of time have a start and an end, windows of numbers a number, the global one and none nothing."""
    parts = () if namespace is None else tuple(namespace)
    if len(parts) == 2:
        return Window(*parts, None)
    return Window(None, None, parts[0]) if parts else None
