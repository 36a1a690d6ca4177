"""Timers of one operator in one subtask. Flink: ``InternalTimerServiceImpl``."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from compat.compiler.spark.runtime_api.elements import MAX_WATERMARK, MIN_TIMESTAMP
from compat.compiler.spark.state.backend import KeyedBackend
from compat.compiler.spark.state.changes import Changes, Column
from compat.compiler.spark.state.groups import key_groups_of
from compat.compiler.spark.state.memory import PLACE, sampled
from compat.compiler.spark.state.slots import InNamespace, plain_key, split_slot
from compat.state.delta.entries import repeated, timer_column, timer_values
from compat.state.delta.replica import split_timer, state_prefix, timer_key
from compat.state.delta.rows import BYTES, Kind
from compat.state.names import TIMERS

_FEW = 16
"""The number of timers that are inserted one by one."""
_Slots = dict[Any, None]
"""The slots, of keys and namespaces, that have a timer at some time, in the order of their coming."""


class TimerQueue:
    """The timers of one clock, in order of time. Equal timers are one.

    Timers set since the process began are in memory: their slots, by time. Timers of the replica are read when their time
    comes. No timer is due before ``soonest``, and none is set while the queue is ``closed``. ``_changed`` are the timers that
    the log has and the replica lacks (True), and the reverse (False).
    """

    def __init__(self, backend: KeyedBackend, kind: str) -> None:
        self._backend = backend
        self._kind = kind
        self._prefix = state_prefix(backend.operator_id, kind, TIMERS)
        self._times: list[int] = []
        self._live: dict[int, _Slots] = {}
        self._added: dict[int, _Slots] = {}
        self._removed: dict[int, _Slots] = {}
        self._changed: dict[int, dict[Any, bool]] = {}
        self.closed = False
        self.forget()

    def forget(self) -> None:
        """Drop the timers in memory: another memory has taken its place."""
        for part in (self._times, self._live, self._added, self._removed, self._changed):
            part.clear()
        self._read_up_to = self.soonest = MIN_TIMESTAMP
        self._memory = self._backend.memory
        self._all_here = next(iter(self._memory.stored(self._prefix)), None) is None
        self._memory.hold(self)

    def begin(self) -> None:
        """Begin an epoch."""
        if self._memory is not self._backend.memory:
            self.forget()
        self.soonest, self.closed = MIN_TIMESTAMP, False

    def register(self, timestamp: int) -> None:
        """Set a timer for the present key and namespace."""
        if self.closed:
            return
        slot = self._backend.slot
        live = self._live.get(timestamp)
        if live is None:
            live = self._at(timestamp)
        elif slot in live:
            return
        live[slot] = None
        if timestamp < self.soonest:
            self.soonest = timestamp
        removed = self._removed.get(timestamp)
        if removed is not None and slot in removed:
            del removed[slot]
        else:
            self._added.setdefault(timestamp, {})[slot] = None

    def delete(self, timestamp: int) -> None:
        """Delete a timer of the present key and namespace."""
        slot = self._backend.slot
        live = self._live.get(timestamp)
        if live is not None:
            live.pop(slot, None)
        self._take_added(timestamp, slot)
        if self._stored(timestamp, slot):
            self._removed.setdefault(timestamp, {})[slot] = None

    def due(self, until: int) -> Iterator[tuple[int, Any, bytes]]:
        """Timers up to a time, in order, each taken out; more may be set meanwhile. Each with its key's slot, and namespace."""
        self._read(until)
        while self._times and self._times[0] <= until:
            time = self._times[0]
            live = self._live[time]
            if not live:
                self._drop_first()
                continue
            for slot in self._in_order(list(live)):
                if self._times[0] < time:  # one was set meanwhile that comes before
                    break
                if slot in live:  # it may have been taken back
                    del live[slot]
                    if not self._take_added(time, slot) or self._stored(time, slot):
                        self._removed.setdefault(time, {})[slot] = None
                    yield time, *split_slot(slot)

    def _take_added(self, timestamp: int, slot: Any) -> bool:
        """Whether this epoch set a timer, which is as if it had not been."""
        added = self._added.get(timestamp)
        if added is None or slot not in added:
            return False
        del added[slot]
        return True

    def _in_order(self, slots: list[Any]) -> Iterable[Any]:
        """The slots by the bytes of their keys, and namespaces."""
        backend = self._backend
        if len(slots) < _FEW:
            encoded = ((*backend.encoded(slot), slot) for slot in slots)
            return [slot for *_, slot in sorted(encoded, key=itemgetter(1, 3))]
        columns = pa.table(backend.columns_of(slots), names=["key", "namespace"])
        order = pc.sort_indices(columns, sort_keys=[("key", "ascending"), ("namespace", "ascending")])
        return map(slots.__getitem__, order.to_pylist())

    def _at(self, time: int) -> _Slots:
        """The timers of a time."""
        live = self._live.get(time)
        if live is None:
            live = self._live[time] = {}
            heapq.heappush(self._times, time)
        return live

    def _drop_first(self) -> None:
        """Forget the earliest time, at which there is none any more."""
        del self._live[heapq.heappop(self._times)]

    def look(self) -> None:
        """Find the next timer."""
        earliest = self.next()
        self.soonest = MAX_WATERMARK if earliest is None else earliest

    def next(self) -> int | None:
        """The time of the earliest timer, or None."""
        while self._times and not self._live[self._times[0]]:
            self._drop_first()
        earliest = self._times[0] if self._times else None
        for time, slot in self._in_replica():
            if not self._is_gone(time, slot):
                return time if earliest is None else min(earliest, time)
        return earliest

    def snapshot(self, changes: Changes) -> None:
        """Add the epoch's changes."""
        self._write(self._added, b"", changes)
        self._write(self._removed, None, changes)
        for time, slots in self._added.items():
            if slots:
                self._changed.setdefault(time, {}).update(dict.fromkeys(slots, True))
        for time, slots in self._removed.items():
            changed = self._changed.setdefault(time, {})
            if not self._all_here:
                changed.update(dict.fromkeys(slots, False))
            elif len(slots) >= len(changed):  # at once, as all of a time are removed when it comes
                del self._changed[time]
            else:
                for slot in slots:
                    changed.pop(slot, None)
        self._added.clear()
        self._removed.clear()

    def __len__(self) -> int:
        return sum(map(len, self._changed.values()))

    def unsaved(self) -> Iterator[tuple[bytes, bytes | None]]:
        """The entries that the replica lacks, or has in an older form."""
        times, slots = _listed(self._changed)
        if not slots:
            return
        keys, namespaces = self._backend.columns_of(slots)
        entries = timer_column(self._prefix, times, self._backend.identity_column(keys), namespaces).to_pylist()
        values = timer_values(keys, namespaces).to_pylist()
        is_set = chain.from_iterable(each.values() for each in self._changed.values())
        for entry, value, there in zip(entries, values, is_set, strict=True):
            yield entry, value if there else None

    def saved(self) -> None:
        """Note that the replica has them."""
        self._all_here = self._all_here and not len(self)
        self._changed.clear()

    def size(self) -> int:
        """The bytes of the timers in memory, by those of one time."""
        some = next(filter(None, self._live.values()), {})
        return sum(map(len, self._live.values())) * (PLACE + sampled(some) // max(len(some), 1))

    def shrink(self) -> None:
        """Leave the timers to the replica until their time comes."""
        for part in (self._times, self._live):
            part.clear()
        self._read_up_to, self._all_here = MIN_TIMESTAMP, False

    def _is_gone(self, time: int, slot: Any) -> bool:
        """True for a timer of the replica that was removed since."""
        return slot in self._removed.get(time, ()) or self._changed.get(time, {}).get(slot) is False

    def _stored(self, time: int, slot: Any) -> bool:
        """True if the log has a timer, as of the last commit."""
        changed = self._changed.get(time, {}).get(slot)
        if changed is not None or self._all_here:
            return changed is True
        _, _, identity, namespace = self._backend.encoded(slot)
        return self._memory.value(timer_key(self._prefix, time, identity, namespace)) is not None

    def _in_replica(self, start: bytes | None = None) -> Iterator[tuple[int, Any]]:
        """The timers that the replica has, in order of time."""
        backend = self._backend
        for entry, value in () if self._all_here else self._memory.stored(self._prefix, start):
            time, key, namespace = split_timer(self._prefix, entry, value)
            slot = backend.slots.of(backend.key_codec.decode(key))
            yield time, InNamespace((slot, namespace)) if namespace else slot

    def _read(self, until: int) -> None:
        if until <= self._read_up_to:
            return
        start = None
        if self._read_up_to > MIN_TIMESTAMP:
            start = self._prefix + (self._read_up_to + 1 + (1 << 63)).to_bytes(8, "big")
        for time, slot in self._in_replica(start):
            if time > until:
                break
            if not self._is_gone(time, slot):
                self._at(time)[slot] = None
        self._read_up_to = until

    def _write(self, timers: dict[int, _Slots], value: bytes | None, changes: Changes) -> None:
        """Log timers as set, with no bytes, or (None) as gone."""
        times, slots = _listed(timers)
        if not slots:
            return
        backend = self._backend
        keys, namespaces = backend.columns_of(slots)
        groups = key_groups_of([plain_key(split_slot(slot)[0]) for slot in slots], backend.max_parallelism)
        changes.columns.append(
            Column(
                backend.operator_id,
                self._kind,
                TIMERS,
                pa.array(groups, pa.int32()),
                keys,
                pa.nulls(len(keys), BYTES) if value is None else repeated(value, len(keys)),
                namespace=namespaces,
                time=pa.array(times, pa.int64()),
            )
        )


def _listed(timers: Mapping[int, Mapping[Any, Any]]) -> tuple[Any, list[Any]]:
    """The time of each timer, as an array of numpy's, and its slot."""
    counts = list(map(len, timers.values()))
    return np.repeat(np.array(list(timers), np.int64), counts), list(chain.from_iterable(timers.values()))


class InternalTimers:
    """Both queues of an operator, and the time for its functions."""

    def __init__(self, backend: KeyedBackend, clock: Callable[[], int]) -> None:
        self.event = TimerQueue(backend, Kind.EVENT_TIMER)
        self.processing = TimerQueue(backend, Kind.PROCESSING_TIMER)
        self.begin(clock, MIN_TIMESTAMP)

    def begin(self, clock: Callable[[], int], watermark: int) -> None:
        """Begin an epoch."""
        self.clock, self.watermark = clock, watermark
        self.event.begin()
        self.processing.begin()

    def begin_key(self) -> None:
        """Begin a key, in a batch, with its first record."""
        self.watermark = MIN_TIMESTAMP
        self.event.closed = self.processing.closed = False

    def end_key(self) -> None:
        """End a key, in a batch, after its last record: all its timers are due, and timers that they set would be too late."""
        self.watermark = MAX_WATERMARK
        self.event.closed = self.processing.closed = True

    def snapshot(self, changes: Changes) -> None:
        """Add the epoch's changes."""
        self.event.snapshot(changes)
        self.processing.snapshot(changes)
