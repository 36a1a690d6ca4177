"""How files are read from a position: lines, CSV, JSON, Parquet, Avro. Flink: ``StreamFormat``, ``BulkFormat``.

A position is a number that the format understands: bytes where a record can be found by them, records where not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from compat.compiler.datastream.common.types import Row
from compat.compiler.datastream.formats._values import from_plain
from compat.compiler.spark.runtime_api.records import converter
from compat.state.stores.paths import place_of
from compat.state.types import ExternalTypeInfo, RowTypeInfo

Part = tuple[list[Any], int, bool]
"""Records, the position behind them, and whether the file ends there."""
ReadFile = Callable[[str, int, int], Part]
"""Reads from a file at a position at most this many records."""


def reader_of_format(format: Any) -> ReadFile | None:
    """The function that reads files of a format; None for a format that is not known."""
    name = format.name
    produced = format.get_produced_type()
    row_type = produced.type_info if isinstance(produced, ExternalTypeInfo) else produced
    if name == "text":
        return _lines(lambda line: line, format.settings.get("charset", "UTF-8"))
    if name == "json":
        return _lines(lambda line: from_plain(json.loads(line), row_type), "UTF-8")
    if name == "csv":
        return _csv(format.settings["schema"])
    if name in ("parquet", "avro-parquet"):
        return _parquet(row_type if isinstance(row_type, RowTypeInfo) else None)
    return None


def _lines(record_of: Callable[[str], Any], charset: str) -> ReadFile:
    def read(path: str, position: int, limit: int) -> Part:
        with place_of(path).open() as file:
            file.seek(position)
            lines = list(islice(file, limit))
        values = [record_of(line.rstrip(b"\n").removesuffix(b"\r").decode(charset)) for line in lines]
        return values, position + sum(map(len, lines)), len(lines) < limit

    return read


def _csv(schema: Any) -> ReadFile:
    import csv

    settings = schema.settings
    quote = settings.get("quote_char", '"')
    dialect = {
        "delimiter": settings.get("column_separator", ","),
        "quotechar": quote,
        "quoting": csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        "escapechar": settings.get("escape_char"),
    }
    header = bool(settings.get("use_header"))
    skipped = header or bool(settings.get("skip_first_data_row"))
    names = [name for name, _, _ in schema.columns]
    types = dict(zip(names, schema.row_type.field_types, strict=True))

    def columns(file: Any) -> list[str]:
        return next(csv.reader([file.readline().decode()], **dialect), [])

    def read(path: str, position: int, limit: int) -> Part:
        values: list[Any] = []
        with place_of(path).open() as file:
            first = columns(file) if skipped else []
            file.seek(max(position, file.tell()))
            counted = _Counted(file, bool(settings.get("allow_comments")))
            end = file.tell()
            order = first if header else names
            rows = csv.reader(counted, **dialect)
            while len(values) < limit and (cells := next(rows, None)) is not None:
                end += counted.taken()
                if cells:
                    values.append(_row(names, types, dict(zip(order, cells, strict=False)), settings))
            done = not file.readline()
        return values, end, done and len(values) <= limit

    return read


class _Counted:
    """The lines of a file as text, and how many bytes the last ones had: a record may have several."""

    def __init__(self, file: Any, comments: bool) -> None:
        self._file, self._comments = file, comments
        self._bytes = 0

    def __iter__(self) -> Iterator[str]:
        while line := self._file.readline():
            self._bytes += len(line)
            if not (self._comments and line.startswith(b"#")):
                yield line.decode()

    def taken(self) -> int:
        """The bytes since the last call."""
        taken, self._bytes = self._bytes, 0
        return taken


def _row(names: list[str], types: dict[str, Any], cells: dict[str, str], settings: Any) -> Row:
    missing, separators = settings.get("null_value"), settings.get("array_separators", {})
    fields: list[Any] = []
    for name in names:
        cell: Any = cells.get(name)
        if cell == missing or (cell == "" and types[name].kind != "STRING"):
            cell = None
        if cell is not None and name in separators:
            cell = cell.split(separators[name])
        fields.append(from_plain(cell, types[name]))
    row = Row(*fields)
    row.set_field_names(list(names))
    return row


def _parquet(row_type: RowTypeInfo | None) -> ReadFile:
    wanted = None if row_type is None else list(row_type.field_names)
    convert = converter(row_type)

    def read(path: str, position: int, limit: int) -> Part:
        import pyarrow.parquet as pq

        rows: list[Any] = []
        place = place_of(path)
        with pq.ParquetFile(place.path if place.local else place.open()) as file:
            start = 0
            for number in range(file.num_row_groups):
                count = file.metadata.row_group(number).num_rows
                if start + count > position + len(rows) and len(rows) < limit:
                    group = file.read_row_group(number, columns=wanted)
                    rows += group.slice(position + len(rows) - start, limit - len(rows)).to_pylist()
                start += count
        end = position + len(rows)
        return convert(rows) if convert is not None else rows, end, end >= start

    return read


def read_avro(path: str, position: int, limit: int) -> Part:
    """The records of an Avro file, as dicts."""
    from avro.datafile import DataFileReader
    from avro.io import DatumReader

    with place_of(path).open() as file, DataFileReader(file, DatumReader()) as records:
        values = list(islice(records, position, position + limit))
    return values, position + len(values), len(values) < limit
