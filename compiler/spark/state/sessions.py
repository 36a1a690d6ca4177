"""Sessions of event time that are folded, by key. Flink: ``MergingWindowSet``, and the state of ``WindowOperator``.

In the log and in the replica they are what they always are: for each window of a key the one that its contents are under, these
contents, and a timer for its end. In memory a session is one object, so that a record costs one look at the sessions of its
key; one that begins and ends within an epoch is nowhere else.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from compat.compiler.spark.state.backend import VOID, KeyedBackend, Unhashable, plain_key
from compat.compiler.spark.state.changes import Changes, Column
from compat.compiler.spark.state.columns import ValueColumns
from compat.compiler.spark.state.groups import key_groups_of
from compat.compiler.spark.state.memory import PLACE, Memory, sampled, size_of
from compat.state.delta.entries import entry_column, fixed, repeated, timer_column, timer_values
from compat.state.delta.replica import entry_key, map_entry, split_timer, split_timestamp, state_prefix
from compat.state.delta.rows import BYTES, Kind
from compat.state.names import MERGING_WINDOWS, TIMERS
from compat.state.serializers import codec_of, key_codec_of

Bounds = tuple[int, int]
"""Start and end of a window."""
_SESSION_BYTES = 400
_START = attrgetter("start")


class Logged(NamedTuple):
    """Where the log has a session: the window that it was, and the one that its contents are under."""

    window: Bounds
    contents: Bounds


class Session:
    """A session of a key; ``is_over`` when it has fired, or became part of another. A value of None is no contents."""

    __slots__ = ("end", "is_changed", "is_over", "logged", "start", "value")

    def __init__(self, start: int, end: int, value: Any) -> None:
        self.start, self.end, self.value = start, end, value
        self.logged: Logged | None = None
        self.is_changed = self.is_over = False


class _Place(NamedTuple):
    """A window of a slot, in the log or the replica."""

    slot: Any
    window: Bounds


class Sessions:
    """All sessions of an operator in a subtask, in the order of time for each key, none of which touch.

    ``spilled`` when they were too large for the memory, or are not all such as end with their windows.
    """

    def __init__(self, backend: KeyedBackend, descriptor: Any, merge: Callable[[Any, Any], Any]) -> None:
        self._backend, self._merge = backend, merge
        self._values = ValueColumns(descriptor.name, descriptor.type_info)
        self._names, self._windows = key_codec_of(None), codec_of(None)
        self._contents = state_prefix(backend.operator_id, Kind.VALUE, descriptor.name)
        self._sets = state_prefix(backend.operator_id, Kind.MAP, MERGING_WINDOWS)
        self._timers = state_prefix(backend.operator_id, Kind.EVENT_TIMER, TIMERS)
        self.memory: Memory = backend.memory
        self.spilled = False
        self.by_key: dict[Any, list[Session]] = {}
        self._ends: list[int] = []
        self._ending: dict[int, list[tuple[Any, Session]]] = {}
        self._changed: dict[Session, Any] = {}
        self._gone: list[tuple[Any, Logged]] = []
        self._unsaved: dict[Session, Any] = {}
        self._gone_from_replica: list[tuple[_Place, _Place | None]] = []
        self._replica_is_empty = True
        self._load()
        self.memory.hold(self)

    def at(self, slot: Any, start: int, end: int) -> Session | None:
        """The session that a window is a part of, which joins those that it touches; None if it touches none."""
        sessions = self.by_key.get(slot)
        if sessions is None:
            return None
        first = last = len(sessions) if sessions[-1].start <= end else bisect_right(sessions, end, key=_START)
        while first and sessions[first - 1].end >= start:
            first -= 1
        if first == last:
            return None
        session = sessions[first]
        if last - first > 1:
            self._join(slot, sessions[first:last])
            del sessions[first + 1 : last]
        if start < session.start:
            session.start = start
        if end > session.end:
            session.end = end
        if not session.is_changed:
            self._change(slot, session)
        return session

    def begin(self, slot: Any, session: Session) -> None:
        """Have a session that touches no other."""
        sessions = self.by_key.get(slot)
        if sessions is None:
            self.by_key[slot] = [session]
        else:
            sessions.insert(bisect_right(sessions, session.start, key=_START), session)
        self._await(slot, session)
        self._change(slot, session)

    def due(self, watermark: int) -> Iterator[tuple[Any, Session]]:
        """The sessions that end with a watermark, in order, each taken out."""
        while self._ends and self._ends[0] - 1 <= watermark:
            end = heapq.heappop(self._ends)
            for slot, session in self._ending.pop(end):
                if session.is_over:
                    continue
                if session.end > end:
                    self._await(slot, session)
                    continue
                sessions = self.by_key[slot]
                sessions.remove(session)
                if not sessions:
                    del self.by_key[slot]
                self._end(slot, session)
                yield slot, session

    def _join(self, slot: Any, sessions: list[Session]) -> None:
        """Make sessions a part of the first of them."""
        first = sessions[0]
        for other in sessions[1:]:
            if other.value is not None:
                first.value = other.value if first.value is None else self._merge(first.value, other.value)
            first.end = other.end
            if first.logged is None:
                first.logged, other.logged = other.logged, None
            self._end(slot, other)

    def _end(self, slot: Any, session: Session) -> None:
        session.is_over = True
        self._changed.pop(session, None)
        self._unsaved.pop(session, None)
        if session.logged is not None:
            self._gone.append((slot, session.logged))

    def _await(self, slot: Any, session: Session) -> None:
        there = self._ending.get(session.end)
        if there is None:
            heapq.heappush(self._ends, session.end)
            self._ending[session.end] = [(slot, session)]
        else:
            there.append((slot, session))

    def _change(self, slot: Any, session: Session) -> None:
        session.is_changed = True
        self._changed[session] = slot

    def snapshot(self, changes: Changes) -> None:
        """Add what the epoch changed."""
        left = [_Place(slot, logged.window) for slot, logged in self._gone]
        emptied = [_Place(slot, logged.contents) for slot, logged in self._gone]
        if not self._replica_is_empty:
            self._gone_from_replica += zip(left, emptied, strict=True)
        filled, moved, under = [], [], []
        for session, slot in self._changed.items():
            session.is_changed = False
            window, logged = (session.start, session.end), session.logged
            contents = window if logged is None else logged.contents
            filled.append(_Place(slot, contents))
            if logged is not None:
                if logged.window == window:
                    continue
                left.append(_Place(slot, logged.window))
                if not self._replica_is_empty:
                    self._gone_from_replica.append((left[-1], None))
            session.logged = Logged(window, contents)
            moved.append(_Place(slot, window))
            under.append(contents)
        sessions = list(self._changed)
        encoded, read = self._values.logged([session.value for session in sessions])
        for place, value in read.items():
            sessions[place].value = value
        self._log_contents(filled, encoded, changes)
        self._log_contents(emptied, pa.nulls(len(emptied), BYTES), changes)
        self._log_windows(moved, under, changes)
        self._log_windows(left, None, changes)
        self._unsaved |= self._changed
        self._changed, self._gone = {}, []

    def _log_contents(self, places: list[_Place], values: pa.Array, changes: Changes) -> None:
        if places:
            groups, keys = self._addresses(places)
            id = self._backend.operator_id
            changes.columns.append(
                Column(id, Kind.VALUE, self._values.state, groups, keys, values, namespace=_spaces(places))
            )

    def _log_windows(self, places: list[_Place], contents: list[Bounds] | None, changes: Changes) -> None:
        """Add windows that a session has from now on, with those that its contents are under, or (None) has no more."""
        if not places:
            return
        groups, keys = self._addresses(places)
        gone = pa.nulls(len(places), BYTES)
        kept = gone if contents is None else pa.array(list(map(self._set_value, contents)), BYTES)
        names = pa.array([self._names.encode(place.window) for place in places], BYTES)
        timers = gone if contents is None else repeated(b"", len(places))
        times = pa.array([place.window[1] - 1 for place in places], pa.int64())
        id = self._backend.operator_id
        changes.columns += (
            Column(id, Kind.MAP, MERGING_WINDOWS, groups, keys, kept, map_keys=names),
            Column(id, Kind.EVENT_TIMER, TIMERS, groups, keys, timers, namespace=_spaces(places), time=times),
        )

    def _set_value(self, contents: Bounds) -> bytes:
        return b"\1" + self._windows.encode(contents)

    def _addresses(self, places: Iterable[_Place]) -> tuple[pa.Array, pa.Array]:
        keys = [plain_key(place.slot) for place in places]
        groups = pa.array(np.array(key_groups_of(keys, self._backend.max_parallelism), np.int32))
        return groups, self._backend.key_column(keys)

    def __len__(self) -> int:
        return 3 * (len(self._unsaved) + len(self._gone_from_replica))

    def unsaved(self) -> Iterator[tuple[bytes, bytes | None]]:
        """The entries that the replica does not have as they are."""
        left = [place for place, _ in self._gone_from_replica]
        emptied = [place for _, place in self._gone_from_replica if place is not None]
        for keys in (self._content_keys(emptied), self._set_keys(left), self._timer_keys(left)):
            yield from zip(keys, repeat(None), strict=False)
        logged = [(slot, session.logged) for session, slot in self._unsaved.items() if session.logged is not None]
        windows = [_Place(slot, each.window) for slot, each in logged]
        contents = [_Place(slot, each.contents) for slot, each in logged]
        values = [session.value for session in self._unsaved]
        yield from zip(self._content_keys(contents), self._values.stored(values), strict=True)
        yield from zip(
            self._set_keys(windows), (b"\0" + self._set_value(each.window) for each in contents), strict=True
        )
        keys = self._backend.key_column([plain_key(place.slot) for place in windows])
        yield from zip(self._timer_keys(windows), timer_values(keys, _spaces(windows)).to_pylist(), strict=True)

    def _content_keys(self, places: list[_Place]) -> list[bytes]:
        keys: list[bytes] = entry_column(self._contents, self._identities(places), _spaces(places)).to_pylist()
        return keys

    def _timer_keys(self, places: list[_Place]) -> list[bytes]:
        times = [place.window[1] - 1 for place in places]
        keys: list[bytes] = timer_column(self._timers, times, self._identities(places), _spaces(places)).to_pylist()
        return keys

    def _set_keys(self, places: list[_Place]) -> list[bytes]:
        entries = entry_column(self._sets, self._identities(places), repeated(VOID, len(places))).to_pylist()
        names = (self._names.encode(place.window) for place in places)
        return [map_entry(entry, name, b"")[0] for entry, name in zip(entries, names, strict=True)]

    def _identities(self, places: list[_Place]) -> pa.Array:
        return self._backend.identity_column(self._backend.key_column([plain_key(place.slot) for place in places]))

    def saved(self) -> None:
        """The replica has them."""
        self._gone_from_replica = []
        self._replica_is_empty = self._replica_is_empty and not self._unsaved
        self._unsaved = {}

    def size(self) -> int:
        """The bytes that they take in memory, about."""
        return len(self.by_key) * PLACE + sampled(self.by_key, _size)

    def shrink(self) -> None:
        """Leave them to the replica: from now on they are states and timers like others."""
        for part in (self.by_key, self._ends, self._ending):
            part.clear()
        self.spilled = True

    def _load(self) -> None:
        count = 0
        for entry, value in self.memory.stored(self._timers):
            self._replica_is_empty = False
            time, key, namespace = split_timer(self._timers, entry, value)
            identity = self._backend.key_codec.identity(key)
            window = _bounds(namespace)
            name = self._names.encode(window)
            found = self.memory.value(map_entry(entry_key(self._sets, identity, VOID), name, b"")[0])
            if found is None or time != window[1] - 1:
                self.shrink()  # it was kept for records that come late, or by a trigger
                return
            contents = self._windows.decode(split_timestamp(found)[1][1:])
            data = self.memory.value(entry_key(self._contents, identity, _namespace(contents)))
            session = Session(*window, None if data is None else self._values.decode(split_timestamp(data)[1]))
            session.logged = Logged(window, (contents[0], contents[1]))
            slot = self._slot(key, identity)
            self.by_key.setdefault(slot, []).append(session)
            self._await(slot, session)
            count += 1
        if count != sum(1 for _ in self.memory.stored(self._sets)):
            self.shrink()
        for sessions in self.by_key.values():
            sessions.sort(key=_START)

    def _slot(self, key: bytes, identity: bytes) -> Any:
        slot = self._backend.key_codec.decode(key)
        try:
            hash(slot)
        except TypeError:
            return Unhashable(slot, identity)
        return slot


def _spaces(places: Iterable[_Place]) -> pa.Array:
    """Windows as namespaces: start and end, 8 bytes each. Flink: ``TimeWindow.Serializer``."""
    windows = np.array([place.window for place in places], ">i8").reshape(-1, 2)
    return fixed(windows.view("V16").ravel())


def _namespace(window: Bounds) -> bytes:
    return b"".join(each.to_bytes(8, "big", signed=True) for each in window)


def _bounds(namespace: bytes) -> Bounds:
    return int.from_bytes(namespace[:8], "big", signed=True), int.from_bytes(namespace[8:], "big", signed=True)


def _size(value: Any) -> int:
    if isinstance(value, list):
        return sum(_SESSION_BYTES + size_of(session.value) for session in value)
    return size_of(value)
