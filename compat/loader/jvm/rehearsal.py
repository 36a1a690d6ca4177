"""The rehearsal of a restore: OLD's real state, key group by key group, restored into NEW's operators, read and written once.

Key groups are restored in portions. If a portion fails, smaller and smaller parts lead to the value that fails. Its state is
left out from then on, so that the other states are still read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import jpype
from msgspec import Struct

from compat.loader.jvm.backends import (
    Found,
    Given,
    backends,
    failure_of,
    held,
    on_hashmap,
    on_rocksdb,
    read,
)
from compat.loader.jvm.bridge import Java, byte_array, bytes_of, causes, class_name, flink
from compat.loader.jvm.graphs import Configured
from compat.loader.jvm.handles import Header, OldOperator, header_of, key_groups, keyed_header, native_files, subtask
from compat.loader.jvm.harness import Bounds, OperatorFailed, bounded
from compat.loader.jvm.locating import Located, locate
from compat.loader.jvm.messages import Backend, Limit, Moment, Rehearsal, RestoreFailure, Scope, StateReading
from compat.loader.jvm.states import canonical_snapshot, is_unsupported, scope_of
from compat.state.flink.contents import Entry, Group, Place, places, read_groups, without
from compat.state.flink.handles import Changelog, Incremental, Keyed, KeyGroups
from compat.state.flink.savepoint import OperatorState, Savepoint
from compat.state.flink.states import FIRST_READ, with_headers

T = TypeVar("T")
_BATCH = 8 << 20
"""Bytes of key groups that are restored together."""
_FEW = 1 << 20
"""The same where the limit is a number of entries."""
_SECONDS_FOR_HEADS = 5.0
_LONGEST_KEY = 80
_ONE_BYTE_OF_KEY_GROUP = 128

Name = tuple[Scope, str]


class Allowance:
    """The rest of the limit, which operators share, each taking what it needs. Without one, only file headers are read."""

    def __init__(self, limit: Limit | None) -> None:
        self.heads = limit is None
        self.size, self.entries = (None, None) if limit is None else (limit.size, limit.entries)
        self._end = time.monotonic() + (_SECONDS_FOR_HEADS if limit is None else limit.seconds)

    @property
    def batch(self) -> int:
        """How many bytes may be restored together."""
        return _BATCH if self.entries is None else _FEW

    @property
    def over(self) -> bool:
        """True when the limit is used up."""
        return (
            self.late or (self.size is not None and self.size <= 0) or (self.entries is not None and self.entries <= 0)
        )

    @property
    def left(self) -> float:
        """How many seconds are left."""
        return self._end - time.monotonic()

    @property
    def late(self) -> bool:
        """True when the time is up."""
        return self.left < 0

    def allows(self, size: int) -> bool:
        """True if this many more bytes may be read."""
        return not self.over and (self.size is None or size <= self.size)

    def take(self, size: int, entries: int) -> None:
        """Subtract what was read."""
        self.size = None if self.size is None else self.size - size
        self.entries = None if self.entries is None else self.entries - entries


class _WriteFailed(OperatorFailed):
    """Values that were restored, and cannot be written by the serializers of NEW."""


class _ReadFailed(OperatorFailed):
    """Values that were restored, and cannot be read by the serializers of NEW."""


def _is_of_this_machine(error: OperatorFailed) -> bool:
    """True for a failure that says nothing of the values: the time was up, or the memory used up."""
    return error.error is None or any("OutOfMemoryError" in (class_name(one) or "") for one in causes(error.error))


def _moment(error: OperatorFailed) -> Moment:
    if isinstance(error, _ReadFailed):
        return "first-read"
    return "checkpoint" if isinstance(error, _WriteFailed) else "restore"


class _Batch(Struct, frozen=True, kw_only=True):
    """Key groups of one handle that are restored together; ``names`` are the states of its header, in order.

    ``backends`` are those that restore its layout, ``canonical`` tells that this is the one of canonical savepoints.
    """

    header: Header
    names: tuple[Name, ...]
    groups: tuple[Group, ...]
    canonical: bool = True
    backends: tuple[Backend, ...] = ("hashmap", "rocksdb")

    @property
    def size(self) -> int:
        """The bytes of its key groups."""
        return sum(len(group.data) for group in self.groups)

    def handle(self, groups: Sequence[Group]) -> Java:
        """The handle of Flink that holds some of its key groups, which follow each other in the heap's own layout."""
        found = [(one.number, one.data) for one in groups if one.data]
        numbers = [number for number, _ in found] or [self.groups[0].number]
        return key_groups(self.header.data, found, (min(numbers), max(numbers)), canonical=self.canonical)

    def without(self, names: Collection[Name]) -> list[Group]:
        """Its key groups without the values of some states."""
        numbers = {number for number, name in enumerate(self.names) if name in names}
        return [without(group, numbers) for group in self.groups]


@dataclass(slots=True)
class _Account:
    """The account of one backend: how many values of each state were read, and the first failure of each.

    It is ended by a failure of which the state cannot be told, or given up for lack of time or memory on this machine.
    """

    backend: Backend
    read: dict[Name, int] = field(default_factory=dict)
    failed: dict[Name, StateReading] = field(default_factory=dict)
    ended: StateReading | None = None
    given_up: str = ""
    misplaced: int = 0
    used: dict[Name, int] = field(default_factory=dict)

    @property
    def closed(self) -> bool:
        """True when nothing more is to be tried."""
        return self.ended is not None or bool(self.given_up)

    def add(self, found: Found | None) -> int:
        """Add what was read; gives how much that is."""
        if found is None:
            return 0
        self.misplaced += found.misplaced
        for name, used in found.used.items():
            self.used[name] = max(used, self.used.get(name, used))
        for name, said in found.unfit.items():
            self.failed.setdefault(name, self._unfit(name, said))
        for name, count in found.values.items():
            if name not in self.failed:
                self.read[name] = self.read.get(name, 0) + count
        return sum(found.values.values())

    def _unfit(self, name: Name, said: str) -> StateReading:
        return StateReading(
            backend=self.backend,
            scope=name[0],
            name=name[1],
            read=self.read.get(name, 0),
            failure=RestoreFailure(type="UnfitValues", message=said),
            at="unfit",
        )

    def fail(self, name: Name, found: Located, key: str) -> None:
        """Note the first failure of a state."""
        self.failed[name] = StateReading(
            backend=self.backend,
            scope=name[0],
            name=name[1],
            read=self.read.get(name, 0),
            failure=failure_of(found.failure),
            at=_moment(found.failure),
            key_group=found.group.number,
            key=key,
        )

    def end(self, error: OperatorFailed, found: Located | None = None) -> None:
        """Note a failure of which the state cannot be told."""
        if _is_of_this_machine(error):
            self.given_up = f"on {self.backend} not everything was read: {error}"
            return
        self.ended = StateReading(
            backend=self.backend,
            scope="keyed",
            name="",
            failure=failure_of(error),
            at=_moment(error),
            key_group=None if found is None else found.group.number,
        )

    def readings(self) -> Iterator[StateReading]:
        """What is to be told."""
        for (scope, name), count in self.read.items():
            if (scope, name) not in self.failed and (count or scope != "timer"):
                used = self.used.get((scope, name))
                yield StateReading(backend=self.backend, scope=scope, name=name, read=count, used=used)
        yield from self.failed.values()
        if self.ended is not None:
            yield self.ended


class Rehearsing(Struct, frozen=True):
    """The rehearsal of one operator."""

    operator: Configured
    old: OldOperator
    savepoint: Savepoint
    bounds: Bounds

    def rehearse(self, state: OperatorState, fit: Sequence[Backend], allowance: Allowance) -> Rehearsal:
        """Restore what the allowance allows on the backends that are ``fit``: those that restore the state without values."""
        accounts = [(_Account(name), made_by) for name, made_by in backends(self.old) if name in fit]
        keyed = [part.managed_keyed for part in state.subtasks if part.managed_keyed is not None and accounts]
        handles = [one for handle in keyed for one in with_headers(handle)]
        numbers: set[int] = set()
        size = 0
        for handle in handles:
            for batch in self._batches(handle, allowance):
                numbers.update(group.number for group in batch.groups)
                size += batch.size
                entries = max(self._try(batch, account, made_by) for account, made_by in accounts)
                allowance.take(batch.size, entries)
            if isinstance(handle, Incremental) and not allowance.heads and allowance.allows(handle.size):
                entries = max(self._try_files(handle, account, made_by) for account, made_by in accounts)
                allowance.take(handle.size, entries)
                numbers.update(range(handle.key_groups.first, handle.key_groups.last + 1))
                size += handle.size
        notes = list(self.old.notes)
        if any(isinstance(one, Changelog) for one in keyed):
            notes.append("changes since the changelog was last materialized are not read")
        notes += [account.given_up for account, _ in accounts if account.given_up]
        if allowance.late:
            notes.append("the time was up")
        return Rehearsal(
            states=(*(one for account, _ in accounts for one in account.readings()), *self._versioned(fit)),
            key_groups=len({number for handle in handles for number in _numbers(handle)}),
            key_groups_read=len(numbers),
            size=sum(_size(handle) for handle in handles),
            size_read=size,
            misplaced=max((account.misplaced for account, _ in accounts), default=0),
            notes=tuple(notes),
        )

    def _versioned(self, fit: Sequence[Backend]) -> Iterator[StateReading]:
        """What sources and sinks keep, which was read before this began: here it is counted."""
        for name, values in self.old.versioned.items() if fit else ():
            yield StateReading(backend="any", scope="operator", name=name, read=len(values))

    def _batches(self, handle: Keyed, allowance: Allowance) -> Iterator[_Batch]:
        """The key groups of a full snapshot, some at a time; what the allowance does not allow is left out."""
        if not isinstance(handle, KeyGroups):
            return
        waiting = places(handle)
        if allowance.heads:
            waiting = [place for place in waiting if place.start + place.size <= FIRST_READ]
        header = header_of(self.savepoint, handle, self.bounds.loader) if waiting else None
        if header is None:
            return
        fit: tuple[Backend, ...] = ("hashmap", "rocksdb")
        if not handle.canonical:
            fit = ("rocksdb",) if 0 in handle.offsets else ("hashmap",)
        while waiting and not allowance.over:
            taken: list[Place] = []
            size = 0
            while waiting and (not taken or size + waiting[0].size <= allowance.batch):
                if not allowance.allows(size + waiting[0].size):
                    break
                size += waiting[0].size
                taken.append(waiting.pop(0))
            if not taken:
                waiting.pop(0)
                continue
            groups = tuple(read_groups(self.savepoint, handle, taken))
            yield _Batch(header=header, names=_names(header), groups=groups, canonical=handle.canonical, backends=fit)

    def _try(self, batch: _Batch, account: _Account, made_by: Java) -> int:
        """Restore key groups on a backend, and note what happened to them; gives how many values were read."""
        if account.backend not in batch.backends or account.closed:
            return 0
        if account.backend == "hashmap":
            found = self._through(batch, account, lambda groups: self._on_hashmap(batch, groups))
            return account.add(found)
        again = self._through(batch, account, lambda groups: self._on_rocksdb(batch.handle(groups), made_by))
        return 0 if again is None else self._read_again(again, account)

    def _try_files(self, handle: Incremental, account: _Account, made_by: Java) -> int:
        """Restore RocksDB's own files, and have what is in them read."""
        try:
            again = self._on_rocksdb(native_files(self.savepoint, handle), made_by)
        except OperatorFailed as error:
            account.end(error)
            return 0
        return 0 if again is None else self._read_again(again, account)

    def _on_hashmap(self, batch: _Batch, groups: Sequence[Group]) -> Found:
        """Restore key groups on the heap, where all values are read, and write them as the next checkpoint would."""
        given = self._given(batch.handle(groups))
        made = bounded(lambda: on_hashmap(self.operator, given, self.bounds.loader), self.bounds, "The restore")
        found = held(made)
        try:
            bounded(lambda: canonical_snapshot(self.operator, made), self.bounds, "Writing the state")
        except OperatorFailed as error:
            if not is_unsupported(error.error):
                raise _WriteFailed(str(error), error.error) from error
        return found

    def _on_rocksdb(self, handle: Java, made_by: Java) -> Given | None:
        given = self._given(handle)
        return bounded(
            lambda: on_rocksdb(self.operator, given, self.bounds.loader, made_by), self.bounds, "The restore"
        )

    def _read_again(self, again: Given, account: _Account) -> int:
        """Read what RocksDB restored and wrote: its values in the form that NEW's serializers are to read."""
        found = 0
        for handle in again.subtask.getManagedKeyedState():
            batch = _of_flink(handle, self.bounds.loader)
            if batch is not None:
                read_now = self._through(batch, account, lambda groups, one=batch: self._read(one, groups))  # type: ignore[misc]
                found += account.add(read_now)
        return found

    def _read(self, batch: _Batch, groups: Sequence[Group]) -> Found:
        given = self._given(batch.handle(groups))
        try:
            return bounded(lambda: read(self.operator, given, self.bounds.loader), self.bounds, "Reading the state")
        except OperatorFailed as error:
            raise _ReadFailed(str(error), error.error) from error

    def _given(self, handle: Java) -> Given:
        return Given(subtask(self.old, [handle]), self.old.max_parallelism)

    def _through(self, batch: _Batch, account: _Account, attempt: Callable[[Sequence[Group]], T]) -> T | None:
        """What an attempt gives of the key groups without the states that fail; None if that is missing."""
        while not account.closed:
            groups = batch.without(account.failed)
            try:
                return attempt(groups)
            except OperatorFailed as error:
                found = None if _is_of_this_machine(error) else locate(groups, attempt)
                if found is None or found.entry is None:
                    account.end(error if found is None else found.failure, found)
                    break
                name = batch.names[found.entry.state]
                key = _key_in_words(found.entry, name, batch.header, self.old.max_parallelism)
                account.fail(name, found, key)
        return None


def _names(header: Header) -> tuple[Name, ...]:
    return tuple((scope_of(info), str(info.getName())) for info in header.proxy.getStateMetaInfoSnapshots())


def _numbers(handle: Keyed) -> Iterable[int]:
    if isinstance(handle, KeyGroups):
        return [place.number for place in places(handle)]
    return range(handle.key_groups.first, handle.key_groups.last + 1)


def _size(handle: Keyed) -> int:
    return sum(place.size for place in places(handle)) if isinstance(handle, KeyGroups) else handle.size


def _of_flink(handle: Java, loader: Java) -> _Batch | None:
    """The key groups in a handle of Flink's, which holds its bytes; None if it has none."""
    stream = handle.openInputStream()
    try:
        data = bytes_of(stream.readAllBytes())
    finally:
        stream.close()
    offsets = handle.getGroupRangeOffsets()
    among = offsets.getKeyGroupRange()
    first, last = int(among.getStartKeyGroup()), int(among.getEndKeyGroup())
    begun = sorted(
        (offset, number) for number in range(first, last + 1) if (offset := int(offsets.getKeyGroupOffset(number))) > 0
    )
    ends = [*(offset for offset, _ in begun), len(data)][1:]
    groups = tuple(Group(number, data[offset:end]) for (offset, number), end in zip(begun, ends, strict=True))
    header = keyed_header(data, loader)
    return _Batch(header=header, names=_names(header), groups=groups) if groups else None


def _key_in_words(entry: Entry, name: Name, header: Header, max_parallelism: int) -> str:
    """The key of an entry, or the timer it is, as its class writes it; empty if that says nothing."""
    start = 1 if max_parallelism <= _ONE_BYTE_OF_KEY_GROUP else 2
    snapshot = header.proxy.getKeySerializerSnapshot()
    if name[0] == "timer":
        infos = {str(one.getName()): one for one in header.proxy.getStateMetaInfoSnapshots()}
        snapshot = infos[name[1]].getSerializerSnapshotsImmutable().get("VALUE_SERIALIZER")
    try:
        view = flink("core.memory.DataInputDeserializer")(byte_array(entry.key[start:]))
        text = str(snapshot.restoreSerializer().deserialize(view))
    except jpype.JException:
        return ""
    text = text if len(text) <= _LONGEST_KEY else text[:_LONGEST_KEY] + "…"
    return text if text.isprintable() else ""
