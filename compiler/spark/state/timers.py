"""Timers of one operator in one subtask. Flink: ``InternalTimerServiceImpl``."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any

from compat.compiler.spark.state.backend import KeyedBackend
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.memory import PLACE, sampled
from compat.compiler.spark.task.elements import MAX_WATERMARK, MIN_TIMESTAMP
from compat.state.delta.replica import split_timer, state_prefix, timer_key, timer_value
from compat.state.delta.rows import Kind, Row
from compat.state.names import TIMERS

_Timer = tuple[int, bytes, bytes]
_TIMER_BYTES = 250
_SPARE_KEYS = 10_000


class TimerQueue:
    """The timers of one clock, in order of time. Equal timers are one.

    Timers that were set since the process began are in memory; those of the replica are read as their time comes. None is due
    before ``soonest``. ``_changed`` are the timers that the log has and the replica lacks (True), and the reverse (False).
    """

    def __init__(self, backend: KeyedBackend, kind: str) -> None:
        self._backend = backend
        self._kind = kind
        self._prefix = state_prefix(backend.operator_id, kind, TIMERS)
        self._heap: list[_Timer] = []
        self._live: set[_Timer] = set()
        self._keys: dict[bytes, Any] = {}
        self._added: set[_Timer] = set()
        self._removed: set[_Timer] = set()
        self._changed: dict[_Timer, bool] = {}
        self.forget()

    def forget(self) -> None:
        """What is in memory is worth nothing; there is another memory."""
        for part in (self._heap, self._live, self._keys, self._added, self._removed, self._changed):
            part.clear()
        self._read_up_to = self.soonest = MIN_TIMESTAMP
        self._memory = self._backend.memory
        self._all_here = next(iter(self._memory.stored(self._prefix)), None) is None
        self._memory.hold(self)

    def begin(self) -> None:
        """An epoch begins."""
        if self._memory is not self._backend.memory:
            self.forget()
        self.soonest = MIN_TIMESTAMP

    def register(self, timestamp: int) -> None:
        """Set a timer for the present key and namespace."""
        timer = self._timer(timestamp)
        self._keys.setdefault(timer[1], self._backend.key)
        if timer in self._live:
            return
        self._live.add(timer)
        self.soonest = min(self.soonest, timestamp)
        heapq.heappush(self._heap, timer)
        if timer in self._removed:
            self._removed.discard(timer)
        else:
            self._added.add(timer)

    def delete(self, timestamp: int) -> None:
        """Take a timer of the present key and namespace back."""
        timer = self._timer(timestamp)
        self._live.discard(timer)
        if timer in self._added:
            self._added.discard(timer)
            if not self._stored(timer):
                return
        if timer not in self._removed and self._stored(timer):
            self._removed.add(timer)

    def due(self, until: int) -> Iterator[tuple[int, Any, bytes]]:
        """Timers up to a time, in order, each taken out; more may be set meanwhile."""
        self._read(until)
        while self._heap and self._heap[0][0] <= until:
            timer = heapq.heappop(self._heap)
            if timer not in self._live:
                continue
            self._live.discard(timer)
            if timer in self._added:
                self._added.discard(timer)
                if self._stored(timer):
                    self._removed.add(timer)
            else:
                self._removed.add(timer)
            timestamp, key, namespace = timer
            yield timestamp, self._key(key), namespace

    def look(self) -> None:
        """Find out which one is the next."""
        earliest = self.next()
        self.soonest = MAX_WATERMARK if earliest is None else earliest

    def next(self) -> int | None:
        """The time of the earliest timer, or None."""
        while self._heap and self._heap[0] not in self._live:
            heapq.heappop(self._heap)
        earliest = self._heap[0][0] if self._heap else None
        for key, value in () if self._all_here else self._memory.stored(self._prefix):
            timer = split_timer(self._prefix, key, value)
            if not self._is_gone(timer):
                return timer[0] if earliest is None else min(earliest, timer[0])
        return earliest

    def snapshot(self, changes: Changes) -> None:
        """Add what the epoch changed."""
        for timer in self._added:
            self._write(timer, b"", changes)
            self._changed[timer] = True
        for timer in self._removed:
            self._write(timer, None, changes)
            if self._all_here:
                self._changed.pop(timer, None)
            else:
                self._changed[timer] = False
        self._added.clear()
        self._removed.clear()
        if len(self._keys) > 2 * len(self._live) + _SPARE_KEYS:
            self._keys = {timer[1]: self._key(timer[1]) for timer in self._live}

    def __len__(self) -> int:
        return len(self._changed)

    def unsaved(self) -> Iterator[tuple[bytes, bytes | None]]:
        """The entries that the replica does not have as they are."""
        for timer, is_set in self._changed.items():
            yield self._entry(timer), timer_value(timer[1], timer[2]) if is_set else None

    def saved(self) -> None:
        """The replica has them."""
        self._all_here = self._all_here and not self._changed
        self._changed.clear()

    def size(self) -> int:
        """The bytes of the timers in memory."""
        return len(self._live) * (PLACE + _TIMER_BYTES) + sampled(self._keys)

    def shrink(self) -> None:
        """Leave the timers to the replica until their time comes."""
        for part in (self._heap, self._live, self._keys):
            part.clear()
        self._read_up_to, self._all_here = MIN_TIMESTAMP, False

    def _is_gone(self, timer: _Timer) -> bool:
        """True for a timer of the replica that was removed since."""
        return timer in self._removed or self._changed.get(timer) is False

    def _timer(self, timestamp: int) -> _Timer:
        backend = self._backend
        _, encoded, _, namespace = backend.encoded(backend.slot)
        return (timestamp, encoded, namespace)

    def _entry(self, timer: _Timer) -> bytes:
        timestamp, key, namespace = timer
        return timer_key(self._prefix, timestamp, self._backend.key_codec.identity(key), namespace)

    def _stored(self, timer: _Timer) -> bool:
        """True if the log has a timer, as of the last commit."""
        changed = self._changed.get(timer)
        if changed is not None or self._all_here:
            return changed is True
        return self._memory.value(self._entry(timer)) is not None

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
            if timer not in self._live and not self._is_gone(timer):
                self._live.add(timer)
                heapq.heappush(self._heap, timer)
        self._read_up_to = until

    def _key(self, encoded: bytes) -> Any:
        if encoded not in self._keys:
            self._keys[encoded] = self._backend.key_codec.decode(encoded)
        return self._keys[encoded]

    def _write(self, timer: _Timer, value: bytes | None, changes: Changes) -> None:
        timestamp, key, namespace = timer
        group = self._backend.key_group(self._key(key))
        changes.rows.append(
            Row(self._backend.operator_id, self._kind, group, TIMERS, key, namespace, b"", value, timestamp)
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

    def snapshot(self, changes: Changes) -> None:
        """Add what the epoch changed."""
        self.event.snapshot(changes)
        self.processing.snapshot(changes)
