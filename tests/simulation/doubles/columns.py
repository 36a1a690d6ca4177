"""In the place of ``pyarrow.parquet``: a file's columns stay in memory, and the file itself only names them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from types import TracebackType
from typing import Any

import pyarrow as pa
from msgspec import Struct

from tests.simulation.doubles.names import name_file, named


class ColumnFiles:
    """The files that were written. A copy of one is as good; one that is cut or scribbled on cannot be read."""

    def __init__(self) -> None:
        self._files: dict[bytes, ColumnFile] = {}
        self.opened: Callable[..., ColumnFile] = self._open

    def write_table(self, table: pa.Table, target: Any, **options: Any) -> None:
        """Write a file, by its path or opened."""
        name = b"columns %024d" % len(self._files)
        self._files[name] = ColumnFile(table)
        if isinstance(target, str | os.PathLike):
            name_file(str(target), name)
        else:
            target.write(name)

    def _open(self, source: Any, **options: Any) -> ColumnFile:
        found = self._files.get(named(source) if isinstance(source, str) else source.read())
        if found is None:
            raise pa.ArrowInvalid(f"{source} is no file of columns")
        return found


class RowGroup(Struct, frozen=True):
    """All rows of a file."""

    num_rows: int
    total_byte_size: int


class ColumnFile(Struct, frozen=True, dict=True):
    """In the place of ``ParquetFile``."""

    table: pa.Table

    def __enter__(self) -> ColumnFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Nothing is held open."""

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All columns, or some."""
        return self.table if columns is None or columns == self.table.column_names else self.table.select(list(columns))

    @property
    def num_row_groups(self) -> int:
        """All rows are in one."""
        return 1

    @property
    def metadata(self) -> ColumnFile:
        """What the file says of itself."""
        return self

    def row_group(self, place: int) -> RowGroup:
        """The group of rows."""
        return self._rows

    @cached_property
    def _rows(self) -> RowGroup:
        return RowGroup(self.table.num_rows, self.table.nbytes)

    def iter_batches(
        self, batch_size: int, row_groups: Sequence[int], columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """The rows of row groups, of which there is one."""
        for _ in row_groups:
            yield from self.read(columns).to_batches(batch_size)
