"""Sessions in the form of the log and the replica. Flink: ``MergingWindowSet``, and the state of ``WindowOperator``.

For each window of a key the one that its contents are under, these contents, and a timer for its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from compat.compiler.spark.runtime_api.elements import MIN_TIMESTAMP
from compat.compiler.spark.state.backend import KeyedBackend
from compat.compiler.spark.state.changes import Changes, Column
from compat.compiler.spark.state.columns import ValueColumns
from compat.compiler.spark.state.groups import key_groups_of
from compat.compiler.spark.state.memory import Memory
from compat.compiler.spark.state.slots import VOID, plain_keys
from compat.state.delta.entries import entry_column, fixed, repeated, timer_column, timer_values
from compat.state.delta.replica import (
    entry_key,
    map_entry,
    split_timer,
    split_timestamp,
    state_prefix,
    timer_prefix,
)
from compat.state.delta.rows import BYTES, Kind
from compat.state.names import MERGING_WINDOWS, TIMERS
from compat.state.serializers import codec_of, key_codec_of

Bounds = tuple[int, int]
"""Start and end of a window."""


class Logged(NamedTuple):
    """The place of a session in the log: its former window, and the one that its contents are stored under."""

    window: Bounds
    contents: Bounds


class Stored(NamedTuple):
    """A session of the replica; ``logged`` is None if it has no such window, or a timer that is not for its end."""

    slot: Any
    logged: Logged | None
    value: Any


class _Addresses(NamedTuple):
    """Where in the log some slots are: their key groups, and their keys as bytes."""

    groups: pa.Array
    keys: pa.Array

    def those(self, chosen: list[bool]) -> _Addresses:
        """Some of them."""
        mask = pa.array(chosen, pa.bool_())
        return _Addresses(self.groups.filter(mask), self.keys.filter(mask))


class SessionEntries:
    """Writes the sessions of an operator in a subtask into the log, makes entries of them for the replica, and reads these."""

    def __init__(self, backend: KeyedBackend, descriptor: Any) -> None:
        self._backend = backend
        self._values = ValueColumns(descriptor.name, descriptor.type_info)
        self._names, self._windows = key_codec_of(None), codec_of(None)
        self._contents = state_prefix(backend.operator_id, Kind.VALUE, descriptor.name)
        self._sets = state_prefix(backend.operator_id, Kind.MAP, MERGING_WINDOWS)
        self._timers = state_prefix(backend.operator_id, Kind.EVENT_TIMER, TIMERS)
        self.memory: Memory = backend.memory

    def log(
        self, slots: list[Any], logged: list[Logged], before: list[Logged | None], values: list[Any], changes: Changes
    ) -> dict[int, Any]:
        """Log sessions with what they are now, where the log had them ``before``; gives by their place the values that are
        from now on what their bytes say."""
        if not slots:
            return {}
        addresses = self._addresses(slots)
        encoded, read = self._values.logged(values)
        self._log_contents(addresses, [each.contents for each in logged], encoded, changes)
        is_moved = [old is None or old.window != new.window for old, new in zip(before, logged, strict=True)]
        moved = [each for each, has_moved in zip(logged, is_moved, strict=True) if has_moved]
        there = addresses if len(moved) == len(logged) else addresses.those(is_moved)
        self._log_windows(there, [each.window for each in moved], [each.contents for each in moved], changes)
        has_left = [old is not None and moves for old, moves in zip(before, is_moved, strict=True)]
        left = [old.window for old, leaves in zip(before, has_left, strict=True) if leaves and old is not None]
        if left:
            self._log_windows(addresses.those(has_left), left, None, changes)
        return read

    def log_end(self, slots: list[Any], logged: list[Logged], changes: Changes) -> None:
        """Log the end of sessions."""
        if slots:
            addresses = self._addresses(slots)
            gone = pa.nulls(len(slots), BYTES)
            self._log_contents(addresses, [each.contents for each in logged], gone, changes)
            self._log_windows(addresses, [each.window for each in logged], None, changes)

    def _log_contents(self, addresses: _Addresses, spaces: list[Bounds], values: pa.Array, changes: Changes) -> None:
        id, state = self._backend.operator_id, self._values.state
        changes.columns.append(Column(id, Kind.VALUE, state, *addresses, values, namespace=_spaces(spaces)))

    def _log_windows(
        self, addresses: _Addresses, windows: list[Bounds], contents: list[Bounds] | None, changes: Changes
    ) -> None:
        """Add windows that a session now has, with those that its contents are under; None for windows that are gone."""
        if not windows:
            return
        gone = pa.nulls(len(windows), BYTES)
        kept = gone if contents is None else pa.array(list(map(self._set_value, contents)), BYTES)
        names = pa.array(list(map(self._names.encode, windows)), BYTES)
        timers = gone if contents is None else repeated(b"", len(windows))
        times = pa.array([end - 1 for _, end in windows], pa.int64())
        id = self._backend.operator_id
        changes.columns += (
            Column(id, Kind.MAP, MERGING_WINDOWS, *addresses, kept, map_keys=names),
            Column(id, Kind.EVENT_TIMER, TIMERS, *addresses, timers, namespace=_spaces(windows), time=times),
        )

    def _set_value(self, contents: Bounds) -> bytes:
        return b"\1" + self._windows.encode(contents)

    def _addresses(self, slots: list[Any]) -> _Addresses:
        keys = plain_keys(slots)
        groups = pa.array(np.array(key_groups_of(keys, self._backend.max_parallelism), np.int32))
        return _Addresses(groups, self._backend.key_column(keys))

    def set(self, slots: list[Any], logged: list[Logged], values: list[Any]) -> Iterator[tuple[bytes, bytes | None]]:
        """The entries of sessions."""
        keys = self._backend.key_column(plain_keys(slots))
        identities = self._backend.identity_column(keys)
        windows, contents = [each.window for each in logged], [each.contents for each in logged]
        yield from zip(self._content_keys(identities, contents), self._values.stored(values), strict=True)
        yield from zip(
            self._set_keys(identities, windows), (b"\0" + self._set_value(each) for each in contents), strict=True
        )
        timers = timer_values(keys, _spaces(windows)).to_pylist()
        yield from zip(self._timer_keys(identities, windows), timers, strict=True)

    def removed(self, slots: list[Any], logged: list[Logged]) -> Iterator[tuple[bytes, bytes | None]]:
        """The entries of ended sessions, without values."""
        identities = self._identities(slots)
        yield from zip(self._content_keys(identities, [each.contents for each in logged]), repeat(None), strict=False)
        yield from self.removed_windows(slots, [each.window for each in logged], identities)

    def removed_windows(
        self, slots: list[Any], windows: list[Bounds], identities: pa.Array | None = None
    ) -> Iterator[tuple[bytes, bytes | None]]:
        """The entries of windows that sessions no longer have, but which still have their contents."""
        identities = self._identities(slots) if identities is None else identities
        for keys in (self._set_keys(identities, windows), self._timer_keys(identities, windows)):
            yield from zip(keys, repeat(None), strict=False)

    def _identities(self, slots: Iterable[Any]) -> pa.Array:
        return self._backend.identity_column(self._backend.key_column(plain_keys(slots)))

    def _content_keys(self, identities: pa.Array, contents: list[Bounds]) -> list[bytes]:
        keys: list[bytes] = entry_column(self._contents, identities, _spaces(contents)).to_pylist()
        return keys

    def _timer_keys(self, identities: pa.Array, windows: list[Bounds]) -> list[bytes]:
        times = [end - 1 for _, end in windows]
        keys: list[bytes] = timer_column(self._timers, times, identities, _spaces(windows)).to_pylist()
        return keys

    def _set_keys(self, identities: pa.Array, windows: list[Bounds]) -> list[bytes]:
        entries = entry_column(self._sets, identities, repeated(VOID, len(windows))).to_pylist()
        names = map(self._names.encode, windows)
        return [map_entry(entry, name, b"")[0] for entry, name in zip(entries, names, strict=True)]

    def count(self) -> int:
        """The number of session windows in the replica, with timers or without."""
        return sum(1 for _ in self.memory.stored(self._sets))

    def stored(self, first: int | None = None, end: int | None = None) -> Iterator[Stored]:
        """The sessions whose timers the replica has, in the order of their ends: from the end ``first`` on, before ``end``."""
        start = None if first is None else timer_prefix(self._timers, max(first - 1, MIN_TIMESTAMP))
        for entry, value in self.memory.stored(self._timers, start):
            time, key, namespace = split_timer(self._timers, entry, value)
            if end is not None and time >= end - 1:
                return
            yield self._read(time, key, _bounds(namespace))

    def _read(self, time: int, key: bytes, window: Bounds) -> Stored:
        identity = self._backend.key_codec.identity(key)
        slot = self._backend.slots.of(self._backend.key_codec.decode(key))
        name = self._names.encode(window)
        found = self.memory.value(map_entry(entry_key(self._sets, identity, VOID), name, b"")[0])
        if found is None or time != window[1] - 1:
            return Stored(slot, None, None)
        contents = self._windows.decode(split_timestamp(found)[1][1:])
        data = self.memory.value(entry_key(self._contents, identity, _namespace(contents)))
        value = None if data is None else self._values.decode(split_timestamp(data)[1])
        return Stored(slot, Logged(window, (contents[0], contents[1])), value)


def _spaces(windows: Sequence[Bounds]) -> pa.Array:
    """Windows as namespaces: start and end, 8 bytes each. Flink: ``TimeWindow.Serializer``."""
    bounds = np.fromiter(chain.from_iterable(windows), np.int64, 2 * len(windows))
    return fixed(bounds.astype(">i8").view("V16"))


def _namespace(window: Bounds) -> bytes:
    return b"".join(each.to_bytes(8, "big", signed=True) for each in window)


def _bounds(namespace: bytes) -> Bounds:
    return int.from_bytes(namespace[:8], "big", signed=True), int.from_bytes(namespace[8:], "big", signed=True)
