"""The folded contents of event-time windows, each window with all its keys. Flink: the state of ``WindowOperator``.

In the log and the replica they have the usual form: a value of a key and window, and a timer for its end. In memory a window is
a dict, so a record costs one look into it, and a window fires as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from compat.compiler.spark.state.backend import KeyedBackend
from compat.compiler.spark.state.changes import Changes, Column
from compat.compiler.spark.state.columns import ValueColumns
from compat.compiler.spark.state.groups import key_group_array, key_groups_of
from compat.compiler.spark.state.memory import PLACE, Memory, sampled
from compat.compiler.spark.state.slots import plain_keys
from compat.state.delta.entries import entry_column, repeated, timer_column, timer_values
from compat.state.delta.replica import entry_key, split_timer, split_timestamp, state_prefix, timer_prefix
from compat.state.delta.rows import BYTES, Kind
from compat.state.names import TIMERS

_FEW = 16


class Addresses(NamedTuple):
    """The addresses of some keys in the log: their key groups, and the keys as bytes."""

    groups: pa.Array
    keys: pa.Array


class Pane:
    """A window: ``logged`` are the contents by key that the log has, ``fresh`` those that this epoch touched.

    ``again`` are the keys that the log has, too. None as content means no value. ``in_log`` are the addresses of all keys in
    the log, part by part, in the order of their arrival.
    """

    __slots__ = ("again", "end", "fresh", "in_log", "is_saved", "logged", "namespace", "start")

    def __init__(self, start: int, end: int, namespace: bytes) -> None:
        self.start, self.end, self.namespace = start, end, namespace
        self.logged: dict[Any, Any] = {}
        self.fresh: dict[Any, Any] = {}
        self.again: set[Any] = set()
        self.in_log: list[Addresses] = []
        self.is_saved = True

    def take(self, slot: Any) -> Any:
        """The stored contents of a key's window that this epoch has not used yet."""
        if slot not in self.logged:
            return None
        self.again.add(slot)
        return self.logged.pop(slot)

    def contents(self) -> Iterator[tuple[Any, Any]]:
        """All keys and their values."""
        for part in (self.logged, self.fresh):
            for slot, value in part.items():
                if value is not None:
                    yield slot, value


class Panes:
    """All windows of an operator in a subtask, by their start.

    If they are too large for the memory, only the replica has the windows without new records, until a record comes or they
    end. If that is not enough, they are ``spilled``: then they are ordinary states and timers.
    """

    def __init__(
        self,
        backend: KeyedBackend,
        descriptor: Any,
        encode_window: Callable[[int, int], bytes],
        decode_window: Callable[[bytes], tuple[int, int]],
    ) -> None:
        self._backend = backend
        self._window = encode_window
        self._values = ValueColumns(descriptor.name, descriptor.type_info)
        self._contents = state_prefix(backend.operator_id, Kind.VALUE, descriptor.name)
        self._timers = state_prefix(backend.operator_id, Kind.EVENT_TIMER, TIMERS)
        self.memory: Memory = backend.memory
        self.spilled = False
        self.by_start: dict[int, Pane] = {}
        self._touched = frozenset[int]()
        self._left: dict[int, int] = {}
        self._gone: list[Pane] = []
        self._gone_from_replica: list[Pane] = []
        self._replica_is_empty = True
        self._load(decode_window)
        self.memory.hold(self)

    def pane(self, start: int, end: int) -> Pane:
        """The window of a start; a new one if there is none."""
        found = self.by_start.get(start)
        if found is None:
            found = self.by_start[start] = Pane(start, end, self._window(start, end))
            if self._left.pop(start, None) is not None:
                self._load_left(found)
        return found

    def due(self, watermark: int) -> list[Pane]:
        """The windows that end with a watermark, in order; they are removed."""
        for start, end in list(self._left.items()):
            if end - 1 <= watermark:
                self.pane(start, end)
        ended = sorted(
            (pane for pane in self.by_start.values() if pane.end - 1 <= watermark), key=lambda pane: pane.end
        )
        for pane in ended:
            del self.by_start[pane.start]
            if pane.in_log:
                self._gone.append(pane)
        return ended

    def snapshot(self, changes: Changes) -> None:
        """Add the epoch's changes."""
        for pane in self._gone:
            pane.logged, pane.fresh, pane.again = {}, {}, set()
            for places in pane.in_log:
                gone = pa.nulls(len(places.keys), BYTES)
                changes.columns += (self._contents_of(pane, places, gone), self._timers_of(pane, places, gone))
        if not self._replica_is_empty:
            self._gone_from_replica += self._gone
        self._gone = []
        touched = [pane for pane in self.by_start.values() if pane.fresh]
        self._touched = frozenset(pane.start for pane in touched)
        for pane in touched:
            self._log(pane, changes)

    def _log(self, pane: Pane, changes: Changes) -> None:
        """Add what the epoch touched in a window: its contents, and timers for keys that the log has not."""
        fresh, again = pane.fresh, pane.again
        slots = list(fresh)
        (encoded, read), places = self._values.logged(list(fresh.values())), self._addresses(slots)
        for place, value in read.items():
            fresh[slots[place]] = value
        changes.columns.append(self._contents_of(pane, places, encoded))
        if again:
            places = self._addresses([slot for slot in slots if slot not in again])
        if len(places.keys):
            pane.in_log.append(places)
            changes.columns.append(self._timers_of(pane, places, repeated(b"", len(places.keys))))
        pane.logged.update(fresh)
        pane.fresh, pane.again, pane.is_saved = {}, set(), False

    def _contents_of(self, pane: Pane, places: Addresses, values: pa.Array) -> Column:
        namespace = pa.scalar(pane.namespace, BYTES)
        return Column(self._backend.operator_id, Kind.VALUE, self._values.state, *places, values, namespace=namespace)

    def _timers_of(self, pane: Pane, places: Addresses, values: pa.Array) -> Column:
        namespace, time = pa.scalar(pane.namespace, BYTES), pa.scalar(pane.end - 1, pa.int64())
        id = self._backend.operator_id
        return Column(id, Kind.EVENT_TIMER, TIMERS, *places, values, namespace=namespace, time=time)

    def _addresses(self, slots: Iterable[Any]) -> Addresses:
        keys = plain_keys(slots)
        if len(keys) < _FEW:
            groups: Any = np.array(key_groups_of(keys, self._backend.max_parallelism), np.int32)
        else:
            groups = key_group_array(keys, self._backend.max_parallelism)
        return Addresses(pa.array(groups), self._backend.key_column(keys))

    def __len__(self) -> int:
        live = sum(len(pane.logged) for pane in self.by_start.values() if not pane.is_saved)
        return 2 * (live + sum(len(places.keys) for pane in self._gone_from_replica for places in pane.in_log))

    def unsaved(self) -> Iterator[tuple[bytes, bytes | None]]:
        """The entries that the replica lacks, or has in an older form."""
        for pane in self._gone_from_replica:
            for places in pane.in_log:
                for entries in self._entries(pane, places.keys):
                    yield from zip(entries, repeat(None), strict=False)
        for pane in self.by_start.values():
            if not pane.is_saved:
                keys = self._backend.key_column(plain_keys(pane.logged))
                contents, timers = self._entries(pane, keys)
                yield from zip(contents, self._values.stored(list(pane.logged.values())), strict=True)
                yield from zip(timers, timer_values(keys, repeated(pane.namespace, len(keys))).to_pylist(), strict=True)

    def _entries(self, pane: Pane, keys: pa.Array) -> tuple[list[bytes], list[bytes]]:
        """The keys of the entries of contents and timers."""
        identities, namespaces = self._backend.identity_column(keys), repeated(pane.namespace, len(keys))
        contents = entry_column(self._contents, identities, namespaces)
        return contents.to_pylist(), timer_column(self._timers, pane.end - 1, identities, namespaces).to_pylist()

    def saved(self) -> None:
        """Note that the replica has them."""
        self._gone_from_replica = []
        for pane in self.by_start.values():
            pane.is_saved = True
            self._replica_is_empty = self._replica_is_empty and not pane.logged

    def size(self) -> int:
        """The approximate bytes that they take in memory."""
        return sum(
            len(pane.logged) * PLACE
            + sampled(pane.logged)
            + sum(part.nbytes for places in pane.in_log for part in places)
            for pane in self.by_start.values()
        )

    def shrink(self) -> None:
        """Leave to the replica the windows that the last epoch did not touch; if those are less than half, all windows."""
        cold = [pane for pane in self.by_start.values() if pane.start not in self._touched]
        if 2 * sum(len(pane.logged) for pane in cold) < sum(len(pane.logged) for pane in self.by_start.values()):
            self.by_start.clear()
            self._left.clear()
            self.spilled = True
            return
        for pane in cold:
            self._left[pane.start] = pane.end
            del self.by_start[pane.start]

    def _load(self, decode_window: Callable[[bytes], tuple[int, int]]) -> None:
        for entry, value in self.memory.stored(self._timers):
            self._replica_is_empty = False
            _, key, namespace = split_timer(self._timers, entry, value)
            self._fill(self.pane(*decode_window(namespace)), key)
        for pane in self.by_start.values():
            pane.in_log.append(self._addresses(pane.logged))

    def _load_left(self, pane: Pane) -> None:
        """Have a window again that was left to the replica."""
        for entry, value in self.memory.stored(timer_prefix(self._timers, pane.end - 1)):
            _, key, _ = split_timer(self._timers, entry, value)
            self._fill(pane, key)
        pane.in_log.append(self._addresses(pane.logged))

    def _fill(self, pane: Pane, key: bytes) -> None:
        """Have what a key has in a window as the replica has it."""
        codec = self._backend.key_codec
        data = self.memory.value(entry_key(self._contents, codec.identity(key), pane.namespace))
        slot = self._backend.slots.of(codec.decode(key))
        pane.logged[slot] = None if data is None else self._values.decode(split_timestamp(data)[1])
