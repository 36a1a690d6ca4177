"""The working state of a subtask in the memory of its process, ahead of the replica. Flink: ``HeapKeyedStateBackend``.

While nothing fails, the changes of an epoch stay in memory, where the next epoch finds them; the log has them from the commit
on. The replica is written later: it has the cold entries, and a new process begins with it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import merge
from itertools import islice
from typing import Any, Protocol

from compat.compiler.configuration import parse_bytes
from compat.compiler.spark.state.changes import Changes
from compat.state.delta.replica import MemoryReplica, Position, Replica

SAVE_AFTER = 100_000
"""The number of changes after which a replica is written, if most of them are changes of the same entries."""
SAVE_AT_LAST = 5_000_000
"""The number of changes after which a replica is written in any case: a new process reads them from the log, at 1 to
2 µs each.
"""
MANAGED_MEMORY = "taskmanager.memory.managed.size"
SLOTS = "taskmanager.numberOfTaskSlots"
_DEFAULT_BUDGET = 512 << 20
_SAMPLE = 50
PLACE = 120
"""The approximate bytes of an entry in a dict and a set."""
_FOLDED = 16


class Holder(Protocol):
    """A part of the working state that itself keeps its changes, instead of giving them to the memory as entries."""

    def __len__(self) -> int:
        """The number of entries that were changed since the replica was written."""

    def unsaved(self) -> Iterable[tuple[bytes, bytes | None]]:
        """The unsaved entries, in the replica's form."""

    def saved(self) -> None:
        """Note that the replica has the changes."""

    def size(self) -> int:
        """The approximate bytes that it takes in memory."""

    def shrink(self) -> None:
        """Drop entries that were not used lately; the replica has them."""


class Memory:
    """The state of a subtask: a replica, and the changes since it was written. ``base`` is the replica's position then."""

    def __init__(self, replica: Replica, base: Position | None = None, budget: int = _DEFAULT_BUDGET) -> None:
        self.base = base
        self._budget = budget
        self._replica = replica
        self._entries: dict[bytes, dict[bytes, bytes | None]] = {}
        self._holders: list[Holder] = []
        self._count = 0
        self._logged = 0
        self._full = False

    @classmethod
    def empty(cls) -> Memory:
        """The memory of tasks without state."""
        return cls(MemoryReplica())

    def stands_on(self, replica: Replica) -> bool:
        """True if a replica is in the state that this memory left: another attempt may have changed it."""
        return replica.position == self.base

    def begin(self, replica: Replica) -> None:
        """Begin an epoch, with the replica open."""
        self._replica = replica

    def hold(self, holder: Holder) -> None:
        """Register a part that keeps its changes itself."""
        self._holders.append(holder)

    def value(self, key: bytes) -> bytes | None:
        """The replica's entry of a key: the key's holder knows the changes since."""
        return self._replica.get(key)

    def stored(self, prefix: bytes, start: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """The replica's entries with a prefix, in order."""
        return self._replica.scan(prefix, start)

    def find(self, place: bytes, key: bytes) -> bytes | None:
        """The entry of a key at a place, or None."""
        changed = self._entries.get(place)
        if changed is not None and key in changed:
            return changed[key]
        return self._replica.get(key)

    def items(self, place: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All entries at a place, in order."""
        changed = self._entries.get(place)
        if not changed:
            return self._replica.scan(place)
        kept = (each for each in self._replica.scan(place) if each[0] not in changed)
        own = [(key, value) for key, value in sorted(changed.items()) if value is not None]
        return merge(kept, own)

    def take(self, changes: Changes) -> None:
        """Take over the changes of an epoch."""
        self._logged += len(changes)
        for place, entries in changes.entries.items():
            known = self._entries.setdefault(place, {})
            before = len(known)
            known.update(entries)
            self._count += len(known) - before
        self._full = self.size() > self._budget

    def size(self) -> int:
        """The approximate bytes that it takes."""
        return sum(holder.size() for holder in self._holders) + self._count * PLACE + sampled(self._entries)

    @property
    def is_due(self) -> bool:
        """True if the replica should be written: memory is full, or it has fallen far behind."""
        distinct = self._count + sum(map(len, self._holders))
        folded = self._logged >= SAVE_AFTER and self._logged >= _FOLDED * distinct
        return self._full or folded or self._logged >= SAVE_AT_LAST

    def save(self, position: Position) -> None:
        """Write all changes into the replica, whose position is ``position`` then; drop entries beyond the limit."""
        entries: dict[bytes, bytes | None] = {}
        for each in self._entries.values():
            entries.update(each)
        for holder in self._holders:
            entries.update(holder.unsaved())
        self._replica.apply(entries, self.base, position)
        self.base = position
        self._entries.clear()
        self._count = self._logged = 0
        for holder in self._holders:
            holder.saved()
            if self._full:
                holder.shrink()
        self._full = False


def budget_of(options: Mapping[str, str], sharers: int) -> int:
    """The bytes for each of the ``sharers`` that keep state in a slot. Flink: a slot's share of the managed memory."""
    given = options.get(MANAGED_MEMORY)
    slots = max(int(options.get(SLOTS, "1")), 1)
    return (_DEFAULT_BUDGET if given is None else parse_bytes(given) // slots) // max(sharers, 1)


def sampled(values: Mapping[Any, Any], measure: Callable[[Any], int] | None = None) -> int:
    """The approximate bytes of keys and values of a dict, from a sample."""
    if not values:
        return 0
    some = list(islice(values.items(), _SAMPLE))
    size = measure or size_of
    return sum(size(key) + size(value) for key, value in some) * len(values) // len(some)


def size_of(value: Any) -> int:
    """The bytes of a value and its contents."""
    size = sys.getsizeof(value)
    if isinstance(value, (tuple, list, set, frozenset)):
        return size + sum(map(size_of, value))
    if isinstance(value, dict):
        return size + sum(size_of(key) + size_of(each) for key, each in value.items())
    return size
