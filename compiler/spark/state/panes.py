"""The contents of windows of event time that are folded, each window with all its keys. Flink: the state of ``WindowOperator``.

In the log and in the replica they are what they always are: a value of a key and window, and a timer for its end. In memory a
window is a dict, so that a record costs one look into it, and a window fires as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from compat.compiler.spark.state.backend import KeyedBackend, Unhashable
from compat.compiler.spark.state.changes import Changes, Column
from compat.compiler.spark.state.columns import column_encoder
from compat.compiler.spark.state.groups import key_group_array, key_groups_of
from compat.compiler.spark.state.memory import PLACE, Memory, sampled
from compat.state.delta.replica import entry_key, split_timer, split_timestamp, state_prefix, timer_key, timer_value
from compat.state.delta.rows import BYTES, Kind
from compat.state.names import TIMERS
from compat.state.serializers import codec_of, exactness_of

_FEW = 16


class Pane:
    """A window: ``logged`` are the contents by key that the log has, ``fresh`` those that this epoch touched.

    ``again`` are the keys of those that the log has too. Contents of None are those of no value.
    """

    __slots__ = ("again", "end", "fresh", "is_saved", "logged", "namespace", "start")

    def __init__(self, start: int, end: int, namespace: bytes) -> None:
        self.start, self.end, self.namespace = start, end, namespace
        self.logged: dict[Any, Any] = {}
        self.fresh: dict[Any, Any] = {}
        self.again: set[Any] = set()
        self.is_saved = True

    def take(self, slot: Any) -> Any:
        """What a key has in the window that this epoch has not touched yet."""
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
    """All windows of an operator in a subtask, by their start. ``spilled`` when they were too large for the memory."""

    def __init__(
        self,
        backend: KeyedBackend,
        descriptor: Any,
        encode_window: Callable[[int, int], bytes],
        decode_window: Callable[[bytes], tuple[int, int]],
    ) -> None:
        self._backend, self._state = backend, descriptor.name
        self._window = encode_window
        self._codec, self._columns = codec_of(descriptor.type_info), column_encoder(descriptor.type_info)
        self._exact = exactness_of(descriptor.type_info)
        self._contents = state_prefix(backend.operator_id, Kind.VALUE, descriptor.name)
        self._timers = state_prefix(backend.operator_id, Kind.EVENT_TIMER, TIMERS)
        self.memory: Memory = backend.memory
        self.spilled = False
        self.by_start: dict[int, Pane] = {}
        self._gone: list[tuple[Pane, list[Any]]] = []
        self._gone_from_replica: list[tuple[Pane, list[Any]]] = []
        self._replica_is_empty = True
        self._load(decode_window)
        self.memory.hold(self)

    def pane(self, start: int, end: int) -> Pane:
        """The window of a start; a new one where there is none."""
        found = self.by_start.get(start)
        if found is None:
            found = self.by_start[start] = Pane(start, end, self._window(start, end))
        return found

    def due(self, watermark: int) -> list[Pane]:
        """The windows that end with a watermark, in order, taken out."""
        ended = sorted(
            (pane for pane in self.by_start.values() if pane.end - 1 <= watermark), key=lambda pane: pane.end
        )
        for pane in ended:
            del self.by_start[pane.start]
            if known := [*pane.logged, *pane.again]:
                self._gone.append((pane, known))
        return ended

    def snapshot(self, changes: Changes) -> None:
        """Add what the epoch changed."""
        for pane, slots in self._gone:
            self._log(changes, pane, slots, None, slots)
            if not self._replica_is_empty:
                self._gone_from_replica.append((pane, slots))
        self._gone = []
        for pane in self.by_start.values():
            if pane.fresh:
                slots = list(pane.fresh)
                self._log(changes, pane, slots, pane.fresh, [slot for slot in slots if slot not in pane.again])
                pane.logged.update(pane.fresh)
                pane.fresh, pane.again, pane.is_saved = {}, set(), False

    def _log(
        self, changes: Changes, pane: Pane, slots: list[Any], values: dict[Any, Any] | None, timers: list[Any]
    ) -> None:
        backend = self._backend
        encoded = pa.nulls(len(slots), BYTES) if values is None else self._column(slots, values)
        groups, keys = self._addresses(slots)
        namespace = pa.scalar(pane.namespace, BYTES)
        changes.columns.append(
            Column(backend.operator_id, Kind.VALUE, self._state, groups, keys, encoded, namespace=namespace)
        )
        if not timers:
            return
        if len(timers) < len(slots):
            groups, keys = self._addresses(timers)
        set_or_not = pa.nulls(len(timers), BYTES) if values is None else pa.repeat(pa.scalar(b"", BYTES), len(timers))
        time = pa.scalar(pane.end - 1, pa.int64())
        changes.columns.append(
            Column(
                backend.operator_id, Kind.EVENT_TIMER, TIMERS, groups, keys, set_or_not, namespace=namespace, time=time
            )
        )

    def _column(self, slots: list[Any], values: dict[Any, Any]) -> pa.Array:
        """Values as their bytes. What is not quite of its type, or may be changed, is from now on what its bytes say."""
        cells = list(values.values())
        column = None if self._columns is None else self._columns(cells)
        if column is not None:
            return column
        encode, decode, exact = self._codec.encode, self._codec.decode, self._exact
        try:
            encoded = [None if cell is None else encode(cell) for cell in cells]
        except TypeError as error:
            raise TypeError(f"State {self._state!r}: {error}") from error
        for slot, cell, data in zip(slots, cells, encoded, strict=True):
            if data is not None and not exact(cell):
                values[slot] = decode(data)
        return pa.array(encoded, BYTES)

    def _addresses(self, slots: list[Any]) -> tuple[pa.Array, pa.Array]:
        keys = list(map(_plain, slots))
        if len(keys) < _FEW:
            groups: Any = np.array(key_groups_of(keys, self._backend.max_parallelism), np.int32)
        else:
            groups = key_group_array(keys, self._backend.max_parallelism)
        return pa.array(groups), self._backend.key_column(keys)

    def __len__(self) -> int:
        live = sum(len(pane.logged) for pane in self.by_start.values() if not pane.is_saved)
        return 2 * (live + sum(len(slots) for _, slots in self._gone_from_replica))

    def unsaved(self) -> Iterator[tuple[bytes, bytes | None]]:
        """The entries that the replica does not have as they are."""
        for pane, slots in self._gone_from_replica:
            for _, place, timer in self._entries(pane, slots):
                yield place, None
                yield timer, None
        for pane in self.by_start.values():
            if not pane.is_saved:
                for value, (key, place, timer) in zip(
                    pane.logged.values(), self._entries(pane, pane.logged), strict=True
                ):
                    yield place, None if value is None else b"\0" + self._codec.encode(value)
                    yield timer, timer_value(key, pane.namespace)

    def _entries(self, pane: Pane, slots: Iterable[Any]) -> Iterator[tuple[bytes, bytes, bytes]]:
        """The keys as bytes, and the keys of the entries of their contents and timers."""
        codec = self._backend.key_codec
        for slot in slots:
            key = codec.encode(_plain(slot))
            identity = codec.identity(key)
            place = entry_key(self._contents, identity, pane.namespace)
            yield key, place, timer_key(self._timers, pane.end - 1, identity, pane.namespace)

    def saved(self) -> None:
        """The replica has them."""
        self._gone_from_replica = []
        for pane in self.by_start.values():
            pane.is_saved = True
            self._replica_is_empty = self._replica_is_empty and not pane.logged

    def size(self) -> int:
        """The bytes that they take in memory, about."""
        return sum(len(pane.logged) * PLACE + sampled(pane.logged) for pane in self.by_start.values())

    def shrink(self) -> None:
        """Leave them to the replica: from now on they are states and timers like others."""
        self.by_start.clear()
        self.spilled = True

    def _load(self, decode_window: Callable[[bytes], tuple[int, int]]) -> None:
        codec = self._backend.key_codec
        for entry, value in self.memory.stored(self._timers):
            self._replica_is_empty = False
            _, key, namespace = split_timer(self._timers, entry, value)
            pane = self.pane(*decode_window(namespace))
            identity = codec.identity(key)
            data = self.memory.value(entry_key(self._contents, identity, namespace))
            slot = codec.decode(key)
            try:
                hash(slot)
            except TypeError:
                slot = Unhashable(slot, identity)
            pane.logged[slot] = None if data is None else self._codec.decode(split_timestamp(data)[1])


def _plain(slot: Any) -> Any:
    return slot.key if type(slot) is Unhashable else slot
