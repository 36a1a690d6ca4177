"""The registry's database: SQLite by default, PostgreSQL by URL.

SQLite runs with a write-ahead log and full synchronisation: acknowledged writes survive a crash, and readers do not
wait for a writer. A writer takes the lock at its start, so that two of them wait for each other instead of failing half
way. Writers of one server share transactions.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, Row, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError

from compat.service.database.group import GroupCommit

if TYPE_CHECKING:
    from compat.service.database.migrate import Schema

AnyRow = Row[*tuple[Any, ...]]
"""A row of any query."""


class DatabaseUrlError(ValueError):
    """A database URL that cannot be used; the message says which ones can."""


class Database:
    """Connections to the registry's database. Safe to use from several threads."""

    def __init__(self, url: str, timeout: float = 5.0, connections: int = 10) -> None:
        self._engine = _engine(url, timeout, connections)
        self._writes = GroupCommit(self._engine, timeout) if self.sqlite else None
        self._looking = threading.Lock()
        self._look: sqlite3.Connection | None = None
        self._held = threading.local()

    @property
    def sqlite(self) -> bool:
        """True if the database is one file."""
        return self._engine.dialect.name == "sqlite"

    @property
    def file(self) -> Path | None:
        """The file of an SQLite database."""
        return Path(str(self._engine.url.database)) if self.sqlite else None

    def migrate(self, schema: Schema | None = None) -> None:
        """Bring the tables, the registry's or others, to this version's form. Safe when several servers start at once."""
        from compat.service.database.migrate import REGISTRY, migrate  # not for the processes that check

        migrate(self._engine, schema or REGISTRY)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads; within :meth:`together`, all of a thread are one."""
        held: Connection | None = getattr(self._held, "connection", None)
        if held is not None:
            yield held
            return
        with self._engine.begin() as connection:
            yield connection

    @contextmanager
    def together(self) -> Iterator[None]:
        """Let this thread read everything as of one moment, in one transaction. Nothing may be written meanwhile."""
        with self.snapshot() as connection:
            self._held.connection = connection
            try:
                yield
            finally:
                self._held.connection = None

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A transaction that reads everything as it was at its start, however long it takes."""
        with self._engine.connect() as bare:
            connection = bare if self.sqlite else bare.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                if not self.sqlite:
                    connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
                yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that changes something: all of it on leaving, or nothing."""
        if self._writes is not None:
            with self._writes.write() as connection:
                yield connection
            return
        with self._engine.connect() as bare:
            connection = bare.execution_options(writes=True)
            with connection.begin():
                yield connection

    def ready(self) -> bool:
        """True if the database answers and its tables have this version's form. Raises SQLAlchemyError if not reached."""
        from compat.service.database.migrate import migrated

        with self.read() as connection:
            connection.execute(text("SELECT 1"))
            return migrated(connection)

    def space_left(self) -> int | None:
        """The free bytes at the database's file, 0 if it may not be written; None for a database elsewhere."""
        if not self.sqlite:
            return None
        path = str(self._engine.url.database)
        if not os.access(path, os.W_OK):
            return 0
        found = os.statvfs(os.path.dirname(os.path.abspath(path)))
        return found.f_bavail * found.f_frsize

    def state(self) -> int | str:
        """A value that changes with every write of anybody: equal states, equal contents.

        With PostgreSQL it is the snapshot, which shows the visible transactions; those of other databases change it, too.
        """
        found = self.look("PRAGMA data_version" if self.sqlite else "SELECT CAST(txid_current_snapshot() AS text)")
        assert found is not None
        state: int | str = found[0]
        return state

    def look(self, query: str, **values: int | str) -> tuple[Any, ...] | None:
        """The first row of a small query, whose values stand in it as ``:name``; None for none. Raises SQLAlchemyError.

        With SQLite it takes some microseconds and never waits (``at_once``), so it needs no thread.
        """
        if not self.sqlite:
            with self.read() as connection:
                row = connection.execute(text(query), values).first()
            return None if row is None else tuple(row)
        try:
            with self._looking:
                if self._look is None:
                    path = str(self._engine.url.database)
                    self._look = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
                found: tuple[Any, ...] | None = self._look.execute(query, values).fetchone()
            return found
        except sqlite3.Error as error:
            raise OperationalError(query, values, error) from error

    @property
    def at_once(self) -> bool:
        """True if :meth:`look` and :meth:`state` answer without waiting."""
        return self.sqlite

    def close(self) -> None:
        """Close all connections."""
        with self._looking:
            if self._look is not None:
                self._look.close()
                self._look = None
        self._engine.dispose()


def _engine(url: str, timeout: float, connections: int) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.drivername in ("postgresql", "postgres"):
            parsed = parsed.set(drivername="postgresql+psycopg")
        if parsed.get_backend_name() not in ("sqlite", "postgresql"):
            raise DatabaseUrlError(f"{parsed.get_backend_name()} is not supported; use SQLite or PostgreSQL.")
        sqlite = parsed.get_backend_name() == "sqlite"
        if sqlite and parsed.database in (None, "", ":memory:"):
            raise DatabaseUrlError("A registry in memory would be lost; give a file: sqlite:///compat.db")
        options: dict[str, Any] = {"timeout": timeout} if sqlite else {"connect_timeout": max(2, int(timeout))}
        engine = create_engine(
            parsed,
            connect_args=options,
            pool_size=connections,
            pool_timeout=timeout,
            pool_pre_ping=not sqlite,
            pool_use_lifo=True,  # the connection that was used last has the most in memory
        )
    except (ArgumentError, NoSuchModuleError) as error:
        raise DatabaseUrlError(
            f"The database URL cannot be used: {error}. Write sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME."
        ) from error
    except ModuleNotFoundError as error:
        raise DatabaseUrlError(
            f"The driver {error.name!r} is not installed: pip install 'stream-compat[service,postgresql]'."
        ) from error
    if sqlite:
        _private(str(parsed.database))
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        event.listen(engine, "connect", partial(_prepare_postgresql, timeout))
    return engine


def _private(path: str) -> None:
    """Make the file readable by its owner only, as it holds the hashes of tokens."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise DatabaseUrlError(f"The database {path!r} cannot be written: {error.strerror}.") from error


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # the driver would begin transactions by itself, and too late
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _prepare_postgresql(timeout: float, connection: Any, _: Any) -> None:
    """Wait no longer for a lock than for a connection; a process that stands still in a transaction loses it."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = {int(timeout * 1000)}")
        cursor.execute(f"SET idle_in_transaction_session_timeout = {int(2 * timeout * 1000)}")
    connection.commit()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
