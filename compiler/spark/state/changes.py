"""The changes of an epoch in a subtask: as rows and whole columns for the log, as entries for the memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
from msgspec import Struct

from compat.state.delta.rows import BYTES, SCHEMA_OF_MANY, Row, one_value, table_of

NOTHING = pa.scalar(b"", BYTES)
NO_TIME = pa.scalar(None, pa.int64())


class Column(Struct, frozen=True):
    """Changes of one state of many keys; a value of None is a tombstone. ``time`` is that of timers.

    Namespace, map key and time are the same for all, or each has its own.
    """

    operator_id: str
    kind: str
    state: str
    key_groups: pa.Array
    keys: pa.Array
    values: pa.Array
    namespace: pa.Scalar | pa.Array = NOTHING
    time: pa.Scalar | pa.Array = NO_TIME
    map_keys: pa.Scalar | pa.Array = NOTHING

    def rows(self) -> Iterator[Row]:
        """The changes as rows."""
        count = len(self.keys)
        common = (_of_each(each, count) for each in (self.namespace, self.map_keys, self.time))
        columns = [each.to_pylist() for each in (self.key_groups, self.keys, self.values, *common)]
        for group, key, value, namespace, map_key, time in zip(*columns, strict=True):
            yield Row(self.operator_id, self.kind, group, self.state, key, namespace, map_key, value, time)

    def table(self, epoch: int) -> pa.Table:
        """The changes as an Arrow table."""
        count = len(self.keys)
        columns = [
            one_value("operator_id", self.operator_id, count),
            one_value("kind", self.kind, count),
            self.key_groups,
            one_value("state", self.state, count),
            self.keys,
            _once("namespace", self.namespace, count),
            _once("map_key", self.map_keys, count),
            self.values,
            _of_each(self.time, count),
            pa.repeat(pa.scalar(epoch, pa.int64()), count),
            self.values.is_null(),
        ]
        return pa.Table.from_arrays(columns, schema=SCHEMA_OF_MANY)


def _of_each(value: pa.Scalar | pa.Array, count: int) -> pa.Array:
    return pa.repeat(value, count) if isinstance(value, pa.Scalar) else value


def _once(name: str, value: pa.Scalar | pa.Array, count: int) -> pa.Array:
    if isinstance(value, pa.Scalar):
        return one_value(name, value.as_py(), count)
    return value.cast(SCHEMA_OF_MANY.field(name).type.value_type).dictionary_encode()


@dataclass(slots=True)
class Changes:
    """Rows and columns for the log, and entries for the replica that no holder keeps: by place, the start of their keys."""

    rows: list[Row] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)
    entries: dict[bytes, dict[bytes, bytes | None]] = field(default_factory=dict)

    def put(self, place: bytes, key: bytes, value: bytes | None) -> None:
        """Set an entry; None removes it."""
        self.entries.setdefault(place, {})[key] = value

    def __len__(self) -> int:
        return len(self.rows) + sum(len(column.keys) for column in self.columns)

    @property
    def bytes(self) -> int:
        """The bytes of all values."""
        size: int = sum(column.values.nbytes for column in self.columns)
        return size + sum(len(row.value) for row in self.rows if row.value)

    def all_rows(self) -> list[Row]:
        """Every change as a row."""
        return [*self.rows, *(row for column in self.columns for row in column.rows())]

    def table(self, epoch: int) -> pa.Table:
        """Every change as one Arrow table."""
        if not self.columns:
            return table_of(self.rows, epoch)
        rows = [table_of(self.rows, epoch).cast(SCHEMA_OF_MANY)] if self.rows else []
        return pa.concat_tables(rows + [column.table(epoch) for column in self.columns]).unify_dictionaries()
