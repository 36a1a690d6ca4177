"""The formats of keyed state, and which state backends restore from which.

From Flink's sources: `StateBackendLoader` has the names; `HeapRestoreOperation`, `RocksDBKeyedStateBackendBuilder` and
`ForStKeyedStateBackendBuilder` have the accepted formats.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

HEAP = "hashmap"
ROCKSDB = "rocksdb"
FORST = "forst"
BACKENDS = (HEAP, ROCKSDB, FORST)

_OTHER_NAMES = {
    "jobmanager": HEAP,
    "filesystem": HEAP,
    "HashMapStateBackendFactory": HEAP,
    "MemoryStateBackendFactory": HEAP,
    "FsStateBackendFactory": HEAP,
    "RocksDBStateBackendFactory": ROCKSDB,
    "EmbeddedRocksDBStateBackendFactory": ROCKSDB,
    "ForStStateBackendFactory": FORST,
}
_PACKAGES = ("org.apache.flink.runtime.state.", "org.apache.flink.contrib.", "org.apache.flink.state.")


class KeyedFormat(Enum):
    """The format of an operator's keyed state."""

    CANONICAL = "canonical"
    HEAP = "the own format of hashmap"
    ROCKSDB_SCAN = "the own format of rocksdb"
    FILES = "files of rocksdb or forst"
    ASYNCHRONOUS = "files of forst with asynchronous state"
    CHANGES = "a changelog that has only changes"
    CHANGELOG_CANONICAL = "a changelog over a canonical snapshot"
    CHANGELOG_HEAP = "a changelog over the own format of hashmap"
    CHANGELOG_ROCKSDB_SCAN = "a changelog over the own format of rocksdb"
    CHANGELOG_FILES = "a changelog over files of rocksdb"
    UNTOLD = "a backend's own format, which one is not told"


class Restores(Enum):
    """The answer whether a backend restores from a format."""

    YES = "yes"
    NO = "no"
    UNTOLD = "untold"


_ANY = {HEAP: Restores.YES, ROCKSDB: Restores.YES, FORST: Restores.NO}
_OF_HEAP = {HEAP: Restores.YES, ROCKSDB: Restores.NO, FORST: Restores.NO}
_OF_ROCKSDB = {HEAP: Restores.NO, ROCKSDB: Restores.YES, FORST: Restores.NO}

RESTORES: Mapping[KeyedFormat, Mapping[str, Restores]] = {
    KeyedFormat.CANONICAL: _ANY,
    KeyedFormat.HEAP: _OF_HEAP,
    KeyedFormat.ROCKSDB_SCAN: _OF_ROCKSDB,
    KeyedFormat.FILES: {HEAP: Restores.NO, ROCKSDB: Restores.YES, FORST: Restores.YES},
    KeyedFormat.ASYNCHRONOUS: {HEAP: Restores.NO, ROCKSDB: Restores.NO, FORST: Restores.YES},
    KeyedFormat.CHANGES: _ANY,
    KeyedFormat.CHANGELOG_CANONICAL: _ANY,
    KeyedFormat.CHANGELOG_HEAP: _OF_HEAP,
    KeyedFormat.CHANGELOG_ROCKSDB_SCAN: _OF_ROCKSDB,
    KeyedFormat.CHANGELOG_FILES: _OF_ROCKSDB,
    KeyedFormat.UNTOLD: {HEAP: Restores.UNTOLD, ROCKSDB: Restores.UNTOLD, FORST: Restores.NO},
}
"""By format and backend. ForSt restores from files alone (`ForStKeyedStateBackendBuilder`: from an incremental handle, else
\"Not support restoring yet\"), and has no changelog. It and RocksDB read each other's files, as native savepoints of PyFlink
and of SQL showed in 2.3. But the states of ForSt's asynchronous operators are of another class, which RocksDB takes for its
own (`ClassCastException` at the first record); RocksDB keeps those of the same operators in the older one."""

OWN_FORMATS: Mapping[str, frozenset[KeyedFormat]] = {
    HEAP: frozenset({KeyedFormat.HEAP}),
    ROCKSDB: frozenset({KeyedFormat.ROCKSDB_SCAN, KeyedFormat.FILES}),
    FORST: frozenset({KeyedFormat.FILES}),
}
"""The native format of each backend, in native savepoints and checkpoints of operators without asynchronous state."""

WITHOUT_HEAP_TIMERS = OWN_FORMATS[ROCKSDB] | {KeyedFormat.CHANGELOG_FILES}
"""Formats of RocksDB's that leave out timers on the heap beside it; of a changelog it is what was materialized."""


def backend_of(name: str) -> str | None:
    """The backend of a value of `state.backend.type`: a name or a factory's class; None for other people's backends."""
    if name.startswith(_PACKAGES):
        name = name.rpartition(".")[2]
    lower = name.lower()
    return lower if lower in BACKENDS else _OTHER_NAMES.get(name, _OTHER_NAMES.get(lower))


def restores(format: KeyedFormat, backend: str) -> Restores:
    """The answer whether the backend of this name, as in a job's settings, restores from the format."""
    known = backend_of(backend)
    return Restores.UNTOLD if known is None else RESTORES[format][known]
