"""The whole registry as one file, and back: lines of JSON, compressed, with a digest at the end.

    export(database, "registry.compat.gz")
    restore(database, "registry.compat.gz")    # into an empty database, of the same kind or another one

The file is written under another name and renamed, so that there is always a complete one. It holds the hashes of
tokens: only its owner may read it. A file is read and checked to its end before anything is written, and all of it is
written or nothing.
"""

from __future__ import annotations

import base64
import gzip
import os
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from typing import Any

import msgspec
from alembic import command
from sqlalchemy import Connection, Integer, LargeBinary, MetaData, Table, func, insert, inspect, select, text

from compat.service.database import Database, migrate
from compat.service.database.tables import METADATA
from compat.service.records import Action
from compat.service.registry.audit import AT_THE_COMMAND_LINE, note
from compat.service.registry.packing import digest_of, unpack
from compat.state.safe_open import open_regular

FORMAT = 1
BATCH = 200
LONGEST_LINE = 1024 * 1024 * 1024


class BackupError(ValueError):
    """A file that cannot be written or is not a complete backup, or a database that cannot take it; the message says why."""


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    """The first line: the format of the file, and the form of the tables."""

    format: int
    revision: str
    at: float


class _Row(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A line: a row of a table. What is bytes there is base64 here."""

    table: str
    values: dict[str, Any]


class _End(msgspec.Struct, frozen=True, kw_only=True):
    """The last line: how many rows there are, and the digest of all lines before."""

    rows: dict[str, int]
    sha256: str


class Backup(msgspec.Struct, frozen=True):
    """The contents of a file: rows by table, and when it was written."""

    rows: dict[str, int]
    at: float


def export(database: Database, path: str) -> Backup:
    """Write the registry's contents, as of one moment, to a file. Raises BackupError, SQLAlchemyError."""
    unfinished = f"{path}.{os.getpid()}.tmp"
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with open(descriptor, "wb") as file:
                with gzip.GzipFile(fileobj=file, mode="wb", filename="", compresslevel=6) as packed:
                    made = _write(database, packed)
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(unfinished)
            raise
    except OSError as error:
        raise BackupError(f"{path}: cannot be written: {error.strerror or error}.") from error
    return made


def _write(database: Database, file: gzip.GzipFile) -> Backup:
    digest, rows = sha256(), Counter[str]()
    with database.snapshot() as connection:
        head = _Head(format=FORMAT, revision=migrate.revision(connection) or "", at=time.time())
        _line(file, digest, msgspec.json.encode(head))
        for table in METADATA.sorted_tables:
            rows[str(table.name)] = 0
            for row in connection.execution_options(yield_per=BATCH).execute(select(table)):
                values = {
                    str(column.name): base64.b64encode(value).decode() if isinstance(value, bytes) else value
                    for column, value in zip(table.columns, row, strict=True)
                }
                _line(file, digest, msgspec.json.encode(_Row(table=str(table.name), values=values)))
                rows[str(table.name)] += 1
    file.write(msgspec.json.encode(_End(rows=dict(rows), sha256=digest.hexdigest())) + b"\n")
    return Backup(dict(rows), head.at)


def _line(file: gzip.GzipFile, digest: Any, line: bytes) -> None:
    digest.update(line + b"\n")
    file.write(line + b"\n")


def verify(path: str) -> Backup:
    """Read a backup to its end; gives its contents. Raises BackupError if it is incomplete, or has invalid contents."""
    digest, rows = sha256(), Counter[str]()
    head: _Head | None = None
    ended: _End | None = None
    for number, line in enumerate(_lines(path), start=1):
        if ended is not None:
            raise BackupError(f"{path}:{number}: there is something behind the end.")
        try:
            if head is None:
                head = msgspec.json.decode(line, type=_Head)
            elif line.startswith(b"["):
                row = msgspec.json.decode(line, type=_Row)
                _check_row(row)
                rows[row.table] += 1
            else:
                ended = msgspec.json.decode(line, type=_End)
                continue
        except (ValueError, zlib.error) as error:
            raise BackupError(f"{path}:{number}: not a line of a backup: {error}.") from error
        if head.format != FORMAT:
            raise BackupError(f"{path}: a backup of format {head.format}; this version reads {FORMAT}.")
        digest.update(line)
    if head is None or ended is None:
        raise BackupError(f"{path}: not a whole backup: its end is missing.")
    if ended.sha256 != digest.hexdigest() or {name: count for name, count in ended.rows.items() if count} != dict(rows):
        raise BackupError(f"{path}: damaged: what it holds is not what was written.")
    return Backup(ended.rows, head.at)


def _check_row(row: _Row) -> None:
    """Raise ValueError for a row whose contents do not fit its digest, or cannot be read."""
    if row.table == "plans":
        if digest_of(unpack(base64.b64decode(row.values["body"]))) != row.values["digest"]:
            raise ValueError(f"the plan {row.values['digest']} is not the one of that digest")
    elif row.table == "checks":
        msgspec.json.decode(unpack(base64.b64decode(row.values["report"])), type=dict[str, Any])


def _lines(path: str) -> Iterator[bytes]:
    try:
        with open_regular(path) as file, gzip.GzipFile(fileobj=file) as packed:
            while line := packed.readline(LONGEST_LINE):
                yield line
    except (OSError, EOFError, zlib.error) as error:
        raise BackupError(f"{path}: cannot be read, or is no whole backup: {error}.") from error


def restore(database: Database, path: str, by: str = AT_THE_COMMAND_LINE) -> Backup:
    """Fill an empty database from a file, which may be of an older version. Raises BackupError, SQLAlchemyError."""
    found = verify(path)
    lines = _lines(path)
    head = msgspec.json.decode(next(lines), type=_Head)
    if head.revision not in migrate.revisions():
        raise BackupError(
            f"{path}: its tables have the form {head.revision!r}, which this version does not know: update compat."
        )
    with database.write() as connection:
        config = migrate.config()
        config.attributes["connection"] = connection
        _require_empty(connection, path)
        if migrate.revision(connection) is None:
            command.upgrade(config, head.revision)
        elif migrate.revision(connection) != head.revision:
            raise BackupError(f"{path} is of an older version; import it into a database that is not there yet.")
        _fill(connection, lines)
        command.upgrade(config, "head")
        note(connection, by, Action.IMPORT, file=os.path.basename(path), rows=sum(found.rows.values()))
    return found


def _require_empty(connection: Connection, path: str) -> None:
    there = set(inspect(connection).get_table_names())
    for table in METADATA.sorted_tables:
        if (
            table.name in there
            and connection.execute(select(text("1")).select_from(table).limit(1)).first() is not None
        ):
            raise BackupError(f"{path} goes into an empty database; this one has {table.name}.")


def _fill(connection: Connection, lines: Iterator[bytes]) -> None:
    tables = MetaData()
    tables.reflect(connection)
    batch: list[dict[str, Any]] = []
    of: str | None = None
    for line in lines:
        row = msgspec.json.decode(line, type=_Row) if line.startswith(b"[") else None
        if batch and of is not None and (row is None or row.table != of or len(batch) == BATCH):
            connection.execute(insert(tables.tables[of]), batch)
            batch = []
        if row is not None:
            of = row.table
            batch.append(_values(tables.tables[of], row.values))
    if connection.dialect.name == "postgresql":
        for table in tables.sorted_tables:
            if "id" in table.c and isinstance(table.c.id.type, Integer):
                highest = connection.execute(select(func.max(table.c.id))).scalar()
                if highest is not None:
                    sequence = func.pg_get_serial_sequence(table.name, "id")
                    connection.execute(select(func.setval(sequence, highest)))


def _values(table: Table, values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: base64.b64decode(value) if value is not None and isinstance(table.c[name].type, LargeBinary) else value
        for name, value in values.items()
    }
