"""A local copy of the state of one subtask, in LMDB, that follows the snapshot log.

It has its epoch, and the token of the attempt that made that epoch. A task reads it only if both are those of the last commit;
otherwise it is brought forward from the log, or made again. Its loss costs time, never data. It is also made again if it was
open when a process was killed, gave an error, or is older than the system's start.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Protocol

from msgspec import Struct
from xxhash import xxh32_digest

from compat.state.delta.errors import StoreError, unwritable
from compat.state.delta.in_use import InUse, boot_id
from compat.state.delta.rows import Kind, Row

LONGEST = 160
"""The maximum bytes of a key, a namespace or a map key in the key of an entry; longer ones are replaced by a digest."""
_META = b"\0position"
_CHECKSUM = 4
"""Each entry begins with this many bytes of a checksum of its key and value."""
TIMERS = frozenset({Kind.EVENT_TIMER, Kind.PROCESSING_TIMER})
OF_MANY = frozenset({Kind.MAP, Kind.LIST, Kind.BROADCAST})
"""The kinds of states that have many entries for a key."""
_SIGN = 1 << 63
_FILE = "data.mdb"
_LEAST_SPACE = 1024 * 1024
MAP_SIZE = 1 << 36


class DamagedReplica(Exception):
    """An entry differs from what was written. The replica is useless, and the log has everything."""


class Position(Struct, frozen=True):
    """The position of a replica or the log: the epoch, and the token of the attempt that made it."""

    epoch: int
    token: str


class Reader(Protocol):
    """The interface of a replica for the operators of a task."""

    def get(self, key: bytes) -> bytes | None:
        """The entry of a key, or None."""

    def scan(self, prefix: bytes, start: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """The entries whose keys begin with ``prefix``, in order, from ``start`` on."""


class Replica(Reader, Protocol):
    """A copy of a subtask's state that knows its position."""

    @property
    def position(self) -> Position | None:
        """The position of the replica; None for an empty one."""

    def apply(self, changes: Mapping[bytes, bytes | None], before: Position | None, after: Position) -> None:
        """Take over changes (None removes) and move to position ``after``, all or nothing.

        Raises RuntimeError unless the replica is at ``before``: another attempt of the task may be at work.
        """

    def clear(self) -> None:
        """Remove all entries, and the position."""

    def close(self) -> None:
        """Close the files."""

    def discard(self) -> None:
        """Remove the files: reading them failed, perhaps because of their contents."""


def state_prefix(operator_id: str, kind: str, state: str) -> bytes:
    """The prefix of the keys of all entries of a state."""
    return b"s" + hashlib.blake2b(f"{operator_id}\0{kind}\0{state}".encode(), digest_size=7).digest()


def entry_key(prefix: bytes, key: bytes, namespace: bytes) -> bytes:
    """The key of an entry, or the prefix of the keys of a key's map entries. ``key`` is the key's identity.

    LMDB takes keys of up to 511 bytes, so that long parts are told apart by a digest.
    """
    if len(key) <= LONGEST and len(namespace) <= LONGEST:
        return b"%b%c%b%c%b" % (prefix, len(key), key, len(namespace), namespace)
    digest = hashlib.blake2b(b"%d:%b%b" % (len(key), key, namespace), digest_size=32).digest()
    return prefix + b"\xff" + digest


def map_entry(entry: bytes, map_key: bytes, value: bytes) -> tuple[bytes, bytes]:
    """Key and value of a map's entry; the value begins with a long map key, of which the key has only a digest."""
    if len(map_key) <= LONGEST:
        return entry + b"\0" + map_key, value
    digest = hashlib.blake2b(map_key, digest_size=32).digest()
    return entry + b"\1" + digest, struct.pack(">I", len(map_key)) + map_key + value


def split_map_entry(entry: bytes, key: bytes, value: bytes) -> tuple[bytes, bytes]:
    """The map key and the value in an entry that :func:`map_entry` made."""
    rest = key[len(entry) :]
    if rest[:1] == b"\0":
        return rest[1:], value
    (length,) = struct.unpack_from(">I", value)
    return value[4 : 4 + length], value[4 + length :]


def timer_prefix(prefix: bytes, timestamp: int) -> bytes:
    """The key prefix of all timers of one time; prefixes sort as their times do."""
    return prefix + (timestamp + _SIGN).to_bytes(8, "big")


def timer_key(prefix: bytes, timestamp: int, key: bytes, namespace: bytes) -> bytes:
    """The key of a timer; keys sort as their timestamps do."""
    return entry_key(timer_prefix(prefix, timestamp), key, namespace)


def timer_value(key: bytes, namespace: bytes) -> bytes:
    """The value of a timer's entry: its encoded key and its namespace."""
    return struct.pack(">I", len(key)) + key + namespace


def split_timer(prefix: bytes, key: bytes, value: bytes) -> tuple[int, bytes, bytes]:
    """Timestamp, encoded key and namespace of a timer's entry."""
    timestamp = int.from_bytes(key[len(prefix) : len(prefix) + 8], "big") - _SIGN
    (length,) = struct.unpack_from(">I", value)
    return timestamp, value[4 : 4 + length], value[4 + length :]


Identity = Callable[[bytes], bytes]


def entry_of(row: Row, identity: Identity) -> tuple[bytes, bytes]:
    """Key and value of the entry that a row sets or removes."""
    prefix = state_prefix(row.operator_id, row.kind, row.state)
    value = row.value if row.value is not None else b""
    if row.kind in TIMERS:
        assert row.timestamp is not None
        return timer_key(prefix, row.timestamp, identity(row.key), row.namespace), timer_value(row.key, row.namespace)
    entry = entry_key(prefix, identity(row.key), row.namespace)
    if row.kind in OF_MANY:
        key, value = map_entry(entry, row.map_key, value)
    else:
        key = entry
    return key, with_timestamp(row.timestamp, value)


def with_timestamp(timestamp: int | None, value: bytes) -> bytes:
    """A value after the time of its last use, for states whose values expire."""
    return b"\0" + value if timestamp is None else b"\1" + timestamp.to_bytes(8, "big", signed=True) + value


def split_timestamp(value: bytes) -> tuple[int | None, bytes]:
    """The time and the value in an entry that :func:`with_timestamp` made."""
    if value[:1] == b"\0":
        return None, value[1:]
    return int.from_bytes(value[1:9], "big", signed=True), value[9:]


class MemoryReplica(Replica):
    """A replica in a dict, for tests and for tasks without state."""

    def __init__(self) -> None:
        self.entries: dict[bytes, bytes] = {}
        self._position: Position | None = None
        self._sorted: list[bytes] | None = None

    @property
    def position(self) -> Position | None:
        return self._position

    def get(self, key: bytes) -> bytes | None:
        return self.entries.get(key)

    def scan(self, prefix: bytes, start: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        from bisect import bisect_left

        if self._sorted is None:
            self._sorted = sorted(self.entries)
        keys = self._sorted
        for place in range(bisect_left(keys, start or prefix), len(keys)):
            if not keys[place].startswith(prefix):
                return
            yield keys[place], self.entries[keys[place]]

    def apply(self, changes: Mapping[bytes, bytes | None], before: Position | None, after: Position) -> None:
        if self._position != before:
            raise RuntimeError("The replica was changed by another attempt of the task.")
        for key, value in changes.items():
            if value is None:
                self.entries.pop(key, None)
            else:
                self.entries[key] = value
        self._sorted = None
        self._position = after

    def clear(self) -> None:
        self.entries.clear()
        self._sorted = None
        self._position = None

    def close(self) -> None:
        """Do nothing: no file is held open."""

    def discard(self) -> None:
        """Do nothing: there are no files."""


class LmdbReplica(Replica):
    """A replica in a directory of this host."""

    def __init__(self, directory: str) -> None:
        import lmdb

        self._directory = directory
        self._lmdb = lmdb
        self._environment: Any = None
        self._reading: Any = None
        try:
            if not os.path.isdir(directory):
                os.makedirs(directory, exist_ok=True)
            _expect_space(directory)
            self._use = InUse(os.path.join(directory, _FILE))
        except OSError as error:
            raise self._unwritable(error) from error
        if not self._use.trusted:
            self._remove()
        try:
            self._open()
        except self._lmdb.Error:
            self._remove()  # a damaged replica is worth nothing: the log has everything
            try:
                self._open()
            except self._lmdb.Error as error:
                self._use.close()
                raise self._unwritable(error) from error

    def _open(self) -> None:
        synced = not boot_id()  # else a start of the system tells that it was not
        self._environment = self._lmdb.open(self._directory, map_size=MAP_SIZE, sync=synced, metasync=synced)
        self._reading = self._environment.begin(buffers=False)

    @property
    def position(self) -> Position | None:
        return _position(self._reading.get(_META))

    def get(self, key: bytes) -> bytes | None:
        found: bytes | None = self._reading.get(key)
        return None if found is None else self._proven(key, found)

    def _proven(self, key: bytes, found: bytes) -> bytes:
        value = found[_CHECKSUM:]
        if xxh32_digest(key + value) != found[:_CHECKSUM]:
            raise DamagedReplica(
                f"The copy of the job's state in {self._directory} is damaged. It is made anew from the log, which has all."
            )
        return value

    def scan(self, prefix: bytes, start: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        with self._reading.cursor() as cursor:
            if not cursor.set_range(start or prefix):
                return
            for key, value in cursor:
                if not key.startswith(prefix):
                    return
                yield key, self._proven(key, value)

    def apply(self, changes: Mapping[bytes, bytes | None], before: Position | None, after: Position) -> None:
        self._reading.abort()
        try:
            self._put(changes, before, after)
        except (self._lmdb.DiskError, self._lmdb.MapFullError) as error:
            raise self._unwritable(error) from error
        except self._lmdb.Error as error:
            if "No space left" in str(error) or "Read-only file system" in str(error):
                raise self._unwritable(error) from error
            raise
        self._reading = self._environment.begin(buffers=False)

    def _unwritable(self, error: Exception) -> StoreError:
        return unwritable(
            "The folder of local state", self._directory, error, "have it elsewhere with --replicas FOLDER"
        )

    def _put(self, changes: Mapping[bytes, bytes | None], before: Position | None, after: Position) -> None:
        with self._environment.begin(write=True) as writing:
            if _position(writing.get(_META)) != before:
                raise RuntimeError(f"The replica {self._directory} was changed by another attempt of the task.")
            keys = sorted(changes)  # neighbours share pages
            values = list(map(changes.__getitem__, keys))
            if None in values:
                for key in (key for key, value in zip(keys, values, strict=True) if value is None):
                    writing.delete(key)
            with writing.cursor() as cursor:
                cursor.putmulti(
                    (key, xxh32_digest(key + value) + value)
                    for key, value in zip(keys, values, strict=True)
                    if value is not None
                )
            writing.put(_META, f"{after.epoch} {after.token}".encode())

    def clear(self) -> None:
        """Remove all entries."""
        self._let_go()
        self._remove()
        self._open()

    def close(self) -> None:
        """Close the files."""
        self._let_go()
        self._use.close()

    def discard(self) -> None:
        """Remove the files."""
        self.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _let_go(self) -> None:
        if self._reading is not None:
            self._reading.abort()
        if self._environment is not None:
            self._environment.close()
        self._environment = self._reading = None

    def _remove(self) -> None:
        self._let_go()
        for name in (_FILE, "lock.mdb"):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(self._directory, name))


def _expect_space(directory: str) -> None:
    """Raise an OSError if LMDB could not even write its lock file: it is mapped, and a full disk would kill the process."""
    found = os.statvfs(directory)
    if found.f_bavail * found.f_frsize < _LEAST_SPACE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _position(meta: bytes | None) -> Position | None:
    if meta is None:
        return None
    epoch, token = meta.decode().split(" ", 1)
    return Position(int(epoch), token)
