"""Timers of one operator in one subtask. Flink: ``InternalTimerServiceImpl``."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from compat.compiler.spark.runtime_api.elements import MAX_WATERMARK, MIN_TIMESTAMP
from compat.compiler.spark.state.backend import KeyedBackend
from compat.compiler.spark.state.changes import Changes, Column
from compat.compiler.spark.state.groups import key_groups_of
from compat.compiler.spark.state.memory import PLACE, sampled
from compat.state.delta.entries import repeated, timer_column, timer_values
from compat.state.delta.replica import split_timer, state_prefix, timer_key
from compat.state.delta.rows import BYTES, Kind
from compat.state.names import TIMERS

_Timer = tuple[int, bytes, bytes]


class TimerQueue:
    """The timers of one clock, in order of time. Equal timers are one.

    Timers that were set since the process began are in memory, by their time, with their keys; those of the replica are read as
    their time comes. None is due before ``soonest``, and none is set while the queue is ``closed``. ``_changed`` are the timers
    that the log has and the replica lacks (True), and the reverse (False).
    """

    def __init__(self, backend: KeyedBackend, kind: str) -> None:
        self._backend = backend
        self._kind = kind
        self._prefix = state_prefix(backend.operator_id, kind, TIMERS)
        self._times: list[int] = []
        self._live: dict[int, dict[_Timer, Any]] = {}
        self._added: dict[_Timer, Any] = {}
        self._removed: dict[_Timer, Any] = {}
        self._changed: dict[_Timer, bool] = {}
        self.closed = False
        self.forget()

    def forget(self) -> None:
        """What is in memory is worth nothing; there is another memory."""
        for part in (self._times, self._live, self._added, self._removed, self._changed):
            part.clear()
        self._read_up_to = self.soonest = MIN_TIMESTAMP
        self._memory = self._backend.memory
        self._all_here = next(iter(self._memory.stored(self._prefix)), None) is None
        self._memory.hold(self)

    def begin(self) -> None:
        """An epoch begins."""
        if self._memory is not self._backend.memory:
            self.forget()
        self.soonest, self.closed = MIN_TIMESTAMP, False

    def register(self, timestamp: int) -> None:
        """Set a timer for the present key and namespace."""
        if self.closed:
            return
        timer = self._timer(timestamp)
        key = self._backend.key
        if not self._put(timer, key):
            return
        self.soonest = min(self.soonest, timestamp)
        if timer in self._removed:
            del self._removed[timer]
        else:
            self._added[timer] = key

    def delete(self, timestamp: int) -> None:
        """Take a timer of the present key and namespace back."""
        timer = self._timer(timestamp)
        if timestamp in self._live:
            self._live[timestamp].pop(timer, None)
        if timer in self._added:
            del self._added[timer]
            if not self._stored(timer):
                return
        if timer not in self._removed and self._stored(timer):
            self._removed[timer] = self._backend.key

    def due(self, until: int) -> Iterator[tuple[int, Any, bytes]]:
        """Timers up to a time, in order, each taken out; more may be set meanwhile."""
        self._read(until)
        while self._times and self._times[0] <= until:
            time = self._times[0]
            live = self._live[time]
            if not live:
                self._drop_first()
                continue
            for timer in sorted(live):
                if self._times[0] < time:  # one was set meanwhile that comes before
                    break
                if timer in live:  # it may have been taken back
                    key = live.pop(timer)
                    self._end(timer, key)
                    yield time, key, timer[2]

    def _end(self, timer: _Timer, key: Any) -> None:
        """A timer that is due is no more."""
        if timer in self._added:
            del self._added[timer]
            if not self._stored(timer):
                return
        self._removed[timer] = key

    def _put(self, timer: _Timer, key: Any) -> bool:
        """Have a timer in memory; False where it was there."""
        live = self._live.get(timer[0])
        if live is None:
            live = self._live[timer[0]] = {}
            heapq.heappush(self._times, timer[0])
        elif timer in live:
            return False
        live[timer] = key
        return True

    def _drop_first(self) -> None:
        """Forget the earliest time, at which there is none any more."""
        del self._live[heapq.heappop(self._times)]

    def look(self) -> None:
        """Find out which one is the next."""
        earliest = self.next()
        self.soonest = MAX_WATERMARK if earliest is None else earliest

    def next(self) -> int | None:
        """The time of the earliest timer, or None."""
        while self._times and not self._live[self._times[0]]:
            self._drop_first()
        earliest = self._times[0] if self._times else None
        for key, value in () if self._all_here else self._memory.stored(self._prefix):
            timer = split_timer(self._prefix, key, value)
            if not self._is_gone(timer):
                return timer[0] if earliest is None else min(earliest, timer[0])
        return earliest

    def snapshot(self, changes: Changes) -> None:
        """Add what the epoch changed."""
        self._write(self._added, b"", changes)
        self._write(self._removed, None, changes)
        self._changed.update(dict.fromkeys(self._added, True))
        if self._all_here:
            for timer in self._removed:
                self._changed.pop(timer, None)
        else:
            self._changed.update(dict.fromkeys(self._removed, False))
        self._added.clear()
        self._removed.clear()

    def __len__(self) -> int:
        return len(self._changed)

    def unsaved(self) -> Iterator[tuple[bytes, bytes | None]]:
        """The entries that the replica does not have as they are."""
        if not self._changed:
            return
        times, keys, spaces = zip(*self._changed, strict=True)
        encoded, namespaces = pa.array(keys, BYTES), pa.array(spaces, BYTES)
        entries = timer_column(self._prefix, times, self._backend.identity_column(encoded), namespaces).to_pylist()
        values = timer_values(encoded, namespaces).to_pylist()
        for entry, value, is_set in zip(entries, values, self._changed.values(), strict=True):
            yield entry, value if is_set else None

    def saved(self) -> None:
        """The replica has them."""
        self._all_here = self._all_here and not self._changed
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

    def _is_gone(self, timer: _Timer) -> bool:
        """True for a timer of the replica that was removed since."""
        return timer in self._removed or self._changed.get(timer) is False

    def _timer(self, timestamp: int) -> _Timer:
        backend = self._backend
        _, encoded, _, namespace = backend.encoded(backend.slot)
        return (timestamp, encoded, namespace)

    def _stored(self, timer: _Timer) -> bool:
        """True if the log has a timer, as of the last commit."""
        changed = self._changed.get(timer)
        if changed is not None or self._all_here:
            return changed is True
        timestamp, key, namespace = timer
        entry = timer_key(self._prefix, timestamp, self._backend.key_codec.identity(key), namespace)
        return self._memory.value(entry) is not None

    def _read(self, until: int) -> None:
        if until <= self._read_up_to:
            return
        start = None
        if self._read_up_to > MIN_TIMESTAMP:
            start = self._prefix + (self._read_up_to + 1 + (1 << 63)).to_bytes(8, "big")
        for key, value in () if self._all_here else self._memory.stored(self._prefix, start):
            timer = split_timer(self._prefix, key, value)
            if timer[0] > until:
                break
            if not self._is_gone(timer):
                self._put(timer, self._backend.key_codec.decode(timer[1]))
        self._read_up_to = until

    def _write(self, timers: dict[_Timer, Any], value: bytes | None, changes: Changes) -> None:
        """Log timers as set, with no bytes, or (None) as gone."""
        if not timers:
            return
        backend, (times, keys, spaces) = self._backend, zip(*timers, strict=True)
        groups = key_groups_of(list(timers.values()), backend.max_parallelism)
        changes.columns.append(
            Column(
                backend.operator_id,
                self._kind,
                TIMERS,
                pa.array(groups, pa.int32()),
                pa.array(keys, BYTES),
                pa.nulls(len(keys), BYTES) if value is None else repeated(value, len(keys)),
                namespace=pa.array(spaces, BYTES),
                time=pa.array(times, pa.int64()),
            )
        )


class InternalTimers:
    """Both queues of an operator, and the time as its functions see it."""

    def __init__(self, backend: KeyedBackend, clock: Callable[[], int]) -> None:
        self.event = TimerQueue(backend, Kind.EVENT_TIMER)
        self.processing = TimerQueue(backend, Kind.PROCESSING_TIMER)
        self.begin(clock, MIN_TIMESTAMP)

    def begin(self, clock: Callable[[], int], watermark: int) -> None:
        """An epoch begins."""
        self.clock, self.watermark = clock, watermark
        self.event.begin()
        self.processing.begin()

    def begin_key(self) -> None:
        """In a batch, the first record of a key comes."""
        self.watermark = MIN_TIMESTAMP
        self.event.closed = self.processing.closed = False

    def end_key(self) -> None:
        """In a batch, the last record of a key has come: all its timers are due, and what they set would be too late."""
        self.watermark = MAX_WATERMARK
        self.event.closed = self.processing.closed = True

    def snapshot(self, changes: Changes) -> None:
        """Add what the epoch changed."""
        self.event.snapshot(changes)
        self.processing.snapshot(changes)
