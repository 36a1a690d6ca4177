"""In the place of the module ``lmdb``: entries in memory, of a file that only names them."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from types import TracebackType
from typing import Any

import lmdb

from tests.simulation.doubles.names import name_file, named

_NAME = "data.mdb"


@dataclass(slots=True)
class _Entries:
    """What was committed last, never changed: a transaction that reads keeps what it began with."""

    values: dict[bytes, bytes] = field(default_factory=dict)
    keys: list[bytes] | None = None

    def sorted(self) -> list[bytes]:
        if self.keys is None:
            self.keys = sorted(self.values)
        return self.keys


class Environments:
    """The environments of all machines. One whose file was cut, or replaced, is damaged, as it is where it has lost pages."""

    def __init__(self) -> None:
        self._numbers = count()
        self._files: dict[bytes, list[_Entries]] = {}

    def open(self, directory: str, **options: Any) -> Environment:
        """Open the environment of a directory, or make one. Raises lmdb.Error for a damaged one."""
        path = os.path.join(directory, _NAME)
        try:
            name = named(path)
        except FileNotFoundError:
            name = b"entries %024d" % next(self._numbers)
            name_file(path, name)
            self._files[name] = [_Entries()]
        if name not in self._files:
            raise lmdb.InvalidError(f"{path}: MDB_INVALID: File is not an LMDB file")
        return Environment(self._files[name])


class Environment:
    """In the place of ``lmdb.Environment``."""

    def __init__(self, committed: list[_Entries]) -> None:
        self._committed = committed

    def begin(self, write: bool = False, buffers: bool = False) -> Transaction:
        """A transaction on what is committed now."""
        return Transaction(self._committed, write)

    def close(self) -> None:
        """Nothing is held open."""


class Transaction:
    """In the place of ``lmdb.Transaction``: it is committed where its block ends without an error."""

    def __init__(self, committed: list[_Entries], write: bool) -> None:
        self._committed, self._entries, self._write = committed, committed[-1], write
        if write:
            self._entries = _Entries(dict(self._entries.values))

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None and self._write:
            self._committed[:] = [self._entries]

    def abort(self) -> None:
        """Forget it."""

    def get(self, key: bytes) -> bytes | None:
        """The value of a key, or None."""
        return self._entries.values.get(key)

    def put(self, key: bytes, value: bytes) -> bool:
        """Set a value."""
        if not 0 < len(key) <= 511:
            raise lmdb.BadValsizeError(
                "mdb_put: MDB_BAD_VALSIZE: Unsupported size of key/DB name/data, or wrong DUPFIXED size"
            )
        self._entries.values[key] = value
        return True

    def delete(self, key: bytes) -> bool:
        """Remove a key; False where it is not there."""
        return self._entries.values.pop(key, None) is not None

    def cursor(self) -> Cursor:
        """A cursor."""
        return Cursor(self, self._entries)


class Cursor:
    """In the place of ``lmdb.Cursor``."""

    def __init__(self, transaction: Transaction, entries: _Entries) -> None:
        self._transaction, self._entries, self._place = transaction, entries, 0

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Nothing is held open."""

    def putmulti(self, items: Iterable[tuple[bytes, bytes]]) -> tuple[int, int]:
        """Set many values; gives how many there were, and how many of them were set."""
        count = sum(self._transaction.put(key, value) for key, value in items)
        return count, count

    def set_range(self, key: bytes) -> bool:
        """Go to the first key that is not before this one; False where there is none."""
        self._place = bisect_left(self._entries.sorted(), key)
        return self._place < len(self._entries.sorted())

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        keys = self._entries.sorted()
        for place in range(self._place, len(keys)):
            yield keys[place], self._entries.values[keys[place]]
