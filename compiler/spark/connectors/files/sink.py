"""The file sink. Flink: ``FileSink``: writers write hidden files, the committer gives them their names.

All files are closed at every checkpoint, whatever the rolling policy says, so that no file has to be cut after a crash. Within
an epoch, a file in a row format is also closed at the policy's size.
"""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from compat.compiler.spark.connectors.arrow import as_dict, schema_of
from compat.compiler.spark.runtime_api.sinks import ProvingCommitter, WriterContext, unwritable_sink
from compat.state.stores.local import make_folder, sync
from compat.state.stores.paths import Place, place_of
from compat.state.stores.schemes import why_no_place
from compat.state.types import RowTypeInfo

_JAVA_PATTERNS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
_BULK_FORMATS = ("parquet", "csv", "avro", "avro-parquet")


def unsupported(settings: Any) -> str | None:
    """Why a file sink cannot be run; None for one that can."""
    if settings.get("compact_strategy") is not None:
        return "the file sink makes no small files one: take enable_compact(…) out, or call disable_compact()"
    factory = settings.get("writer_factory")
    if factory is not None and factory.format not in _BULK_FORMATS:
        return f"there is no writer for files of the format {factory.format!r}: there are {', '.join(_BULK_FORMATS)}"
    assigner = settings.get("bucket_assigner")
    if assigner is not None and assigner.name not in ("base-path", "date-time"):
        return f"the bucket assigner {assigner.name} cannot be run: there are those of BucketAssigner"
    return why_no_place(settings["base_path"])


class _Part(Struct, frozen=True):
    """A file that is being written: in ``file``, a hidden one of the folder, or where that is elsewhere a temporary one of this
    machine. ``stream`` is the open file, or the records of one that is written at once.
    """

    stream: Any
    file: Path
    hidden: Place
    final: Place

    def remove(self) -> None:
        """Nothing of it is needed."""
        with suppress(OSError, AttributeError):  # a list, where the file is written at once
            self.stream.close()
        self.file.unlink(missing_ok=True)


class FileWriter:
    """Writes the records of one subtask into hidden files, one a bucket at a time."""

    def __init__(self, settings: Any, context: WriterContext) -> None:
        self._settings = settings
        self._context = context
        self._base = place_of(settings["base_path"], "The sink's folder")
        self._encoder = settings.get("encoder")
        self._largest = getattr(settings.get("rolling_policy"), "part_size", None)
        self._open: dict[str, _Part] = {}
        self._done: list[tuple[str, str, int]] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        """A record, into the file of its bucket."""
        try:
            self._write(value)
        except OSError as error:
            raise unwritable_sink(self._base, error) from error

    def _write(self, value: Any) -> None:
        bucket = self._bucket()
        if bucket not in self._open:
            self._open[bucket] = self._file(bucket)
        stream = self._open[bucket].stream
        if self._encoder is None:
            stream.append(value)
            return
        self._encoder.encode(value, stream)
        if self._largest is not None and stream.tell() >= self._largest:
            self._close(bucket)

    def prepare_commit(self) -> list[Any]:
        """Close the files; gives (hidden path, final path, size) of each."""
        try:
            for bucket in list(self._open):
                self._close(bucket)
        except OSError as error:
            raise unwritable_sink(self._base, error) from error
        done, self._done = self._done, []
        return done

    def close(self) -> None:
        """Remove the files that are open, or closed but not handed over."""
        for part in self._open.values():
            part.remove()
        for path, *_ in self._done:
            place_of(path).delete()
        self._open, self._done = {}, []

    def _close(self, bucket: str) -> None:
        part = self._open[bucket]
        stream = part.stream
        if self._encoder is None:
            _write_bulk(self._settings["writer_factory"], stream, part.file)
            stream = open(part.file, "rb")  # noqa: SIM115
        stream.flush()
        size = os.fstat(stream.fileno()).st_size
        if part.hidden.local:
            os.fsync(stream.fileno())
            stream.close()
        else:
            stream.close()
            with open(part.file, "rb") as written:
                part.hidden.upload(written)
            part.file.unlink()
        del self._open[bucket]
        self._done.append((str(part.hidden), str(part.final), size))

    def _bucket(self) -> str:
        assigner = self._settings.get("bucket_assigner")
        if assigner is not None and assigner.name == "base-path":
            return ""
        pattern = getattr(assigner, "format", None) or "yyyy-MM-dd--HH"
        for java, python in _JAVA_PATTERNS.items():
            pattern = pattern.replace(java, python)
        zone = getattr(assigner, "timezone", None)
        return datetime.fromtimestamp(time.time(), ZoneInfo(zone) if zone else None).strftime(pattern)

    def _file(self, bucket: str) -> _Part:
        config = self._settings.get("output_file_config")
        prefix, suffix = (config.part_prefix, config.part_suffix) if config is not None else ("part", "")
        # Two jobs may write into one directory, and two attempts of a task at the same time.
        name = f"{prefix}-{uuid.uuid4()}-{self._context.subtask}{suffix}"
        directory = self._base / bucket
        hidden = directory / f".{name}.{self._context.mark}.inprogress"
        if hidden.local:
            make_folder(directory.path)
            file = Path(hidden)
        else:
            descriptor, temporary = tempfile.mkstemp(prefix="compat-part-")
            os.close(descriptor)
            file = Path(temporary)
        stream: Any = [] if self._encoder is None else open(file, "wb")  # noqa: SIM115
        return _Part(stream, file, hidden, directory / name)


def _write_bulk(factory: Any, records: list[Any], path: Path) -> None:
    import pyarrow as pa

    if factory.format == "avro":
        _write_avro(str(factory.settings["schema"]), records, path)
        return
    row_type = factory.settings.get("row_type")
    if row_type is None and factory.format == "csv":
        row_type = factory.settings["schema"].row_type
    schema = schema_of(row_type) if isinstance(row_type, RowTypeInfo) else None
    rows = [as_dict(record, None if schema is None else schema.names) for record in records]
    table = pa.Table.from_pylist(rows, schema=schema)
    if factory.format == "csv":
        _write_csv(factory.settings["schema"], table.to_pylist(), path)
        return
    import pyarrow.parquet as pq

    pq.write_table(table, path)


def _write_csv(schema: Any, rows: list[dict[str, Any]], path: Path) -> None:
    import csv

    settings = schema.settings
    missing = settings.get("null_value", "")
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(
            file,
            delimiter=settings.get("column_separator", ","),
            quotechar=settings.get("quote_char", '"'),
            lineterminator=settings.get("line_separator", "\n"),
        )
        for row in rows:
            writer.writerow([missing if value is None else value for value in row.values()])


def _write_avro(schema: str, records: list[Any], path: Path) -> None:
    from avro.datafile import DataFileWriter
    from avro.io import DatumWriter

    from compat.state.serializers.avro import parsed

    with open(path, "wb") as file, DataFileWriter(file, DatumWriter(), parsed(schema)) as writer:
        for record in records:
            writer.append(as_dict(record, None))


class FileCommitter(ProvingCommitter):
    """Gives the files their final names."""

    def __init__(self, settings: Any) -> None:
        self._base = place_of(settings["base_path"], "The sink's folder")

    def sweep(self, job_id: str, epoch: int, pending: Collection[str]) -> None:
        for file in self._base.walk():
            if file.name.endswith(".inprogress") and f".{job_id}-" in file.name and str(file) not in pending:
                file.delete()

    def files(self, committables: list[Any]) -> Iterable[tuple[str, int]]:
        return ((hidden, size) for hidden, _, size in committables)

    def commit(self, committables: list[Any], transaction: tuple[str, int]) -> None:
        """Rename each file that still has its hidden name; storage without renames gets a copy, and the original is removed.

        The driver saw all files before the commit of the epoch. So a missing file was published already, even if a reader has
        moved it away since.
        """
        for hidden, final, _ in committables:
            with suppress(FileNotFoundError):
                place_of(hidden).move(place_of(final))
        for folder in {os.path.dirname(final) for _, final, _ in committables} if self._base.local else ():
            with suppress(FileNotFoundError):
                sync(folder)
