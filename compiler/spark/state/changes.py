"""The changes of an epoch in a subtask: for the log as rows and as whole columns, for the memory as entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from compat.state.delta.rows import BYTES, SCHEMA, Row, table_of

NO_NAMESPACE = pa.scalar(b"", BYTES)
NO_TIME = pa.scalar(None, pa.int64())


@dataclass(frozen=True, slots=True)
class Column:
    """Changes of one state of many keys, in one namespace; a value of None is a tombstone. ``time`` is that of timers."""

    operator_id: str
    kind: str
    state: str
    key_groups: pa.Array
    keys: pa.Array
    values: pa.Array
    namespace: pa.Scalar = NO_NAMESPACE
    time: pa.Scalar = NO_TIME

    def rows(self) -> Iterator[Row]:
        """The same row by row."""
        namespace, time = self.namespace.as_py(), self.time.as_py()
        columns = (self.key_groups.to_pylist(), self.keys.to_pylist(), self.values.to_pylist())
        for group, key, value in zip(*columns, strict=True):
            yield Row(self.operator_id, self.kind, group, self.state, key, namespace, b"", value, time)

    def table(self, epoch: int) -> pa.Table:
        """The same as an Arrow table."""
        count = len(self.keys)
        columns = [
            pa.repeat(pa.scalar(self.operator_id, pa.string()), count),
            pa.repeat(pa.scalar(self.kind, pa.string()), count),
            self.key_groups,
            pa.repeat(pa.scalar(self.state, pa.string()), count),
            self.keys,
            pa.repeat(self.namespace, count),
            pa.repeat(pa.scalar(b"", BYTES), count),
            self.values,
            pa.repeat(self.time, count),
            pa.repeat(pa.scalar(epoch, pa.int64()), count),
            self.values.is_null(),
        ]
        return pa.Table.from_arrays(columns, schema=SCHEMA)


@dataclass(slots=True)
class Changes:
    """Rows and columns for the log, and as entries for the replica what no holder keeps: by place, the start of their keys."""

    rows: list[Row] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)
    entries: dict[bytes, dict[bytes, bytes | None]] = field(default_factory=dict)

    def put(self, place: bytes, key: bytes, value: bytes | None) -> None:
        """An entry; None removes it."""
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
        tables = [column.table(epoch) for column in self.columns]
        return pa.concat_tables([table_of(self.rows, epoch), *tables] if self.rows else tables)
