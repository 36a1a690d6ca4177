"""Writes of several threads in one transaction, so that they share the cost of a commit: one wait for the disk.

A thread that finds others waiting when it has written leaves the commit to them; the last one commits for all, and each
goes on
only then. Each thread's writes are a separate savepoint: a failure is only undone for its own thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import RootTransaction
from sqlalchemy.exc import TimeoutError as WaitedTooLong

MOST = 64
"""The most threads that share a transaction."""


class _Group:
    """A transaction that is open, who wrote in it, and how it ended."""

    def __init__(self, connection: Connection, transaction: RootTransaction) -> None:
        self.connection = connection
        self.transaction = transaction
        self.members = 0
        self.done = threading.Event()
        self.error: BaseException | None = None


class GroupCommit:
    """Transactions of an SQLite database that write. Safe to use from several threads."""

    def __init__(self, engine: Engine, timeout: float) -> None:
        self._engine = engine
        self._timeout = timeout
        self._turn = threading.Lock()
        self._counting = threading.Lock()
        self._waiting = 0
        self._group: _Group | None = None

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A connection to write with. Writes are kept when the context ends without an error."""
        self._take_turn()
        try:
            group = self._group or self._begin()
            self._group = group
            group.members += 1
        except BaseException:
            self._turn.release()
            raise
        try:
            with group.connection.begin_nested():
                yield group.connection
        finally:
            self._hand_over(group)
        group.done.wait()
        if group.error is not None:
            raise group.error

    def _take_turn(self) -> None:
        with self._counting:
            self._waiting += 1
        try:
            taken = self._turn.acquire(timeout=self._timeout)
        finally:
            with self._counting:
                self._waiting -= 1
        if not taken:
            self._end_what_was_left()
            raise WaitedTooLong("The database takes no writes at the moment.")

    def _end_what_was_left(self) -> None:
        """Commit what may have been left to us in the moment in which we gave up."""
        with self._turn:
            if self._group is not None:
                self._end(self._group)

    def _begin(self) -> _Group:
        connection = self._engine.connect().execution_options(writes=True)
        try:
            return _Group(connection, connection.begin())
        except BaseException:
            connection.close()
            raise

    def _hand_over(self, group: _Group) -> None:
        """Leave the transaction to the next one who waits, or end it for all."""
        try:
            if not group.connection.connection.dbapi_connection.in_transaction:  # type: ignore[union-attr]
                raise WaitedTooLong("The database gave the transaction up.")  # as it does when the disk is full
            with self._counting:
                more = self._waiting > 0
            if not more or group.members >= MOST:
                self._end(group)
        except BaseException as error:
            self._end(group, error)
        finally:
            self._turn.release()

    def _end(self, group: _Group, error: BaseException | None = None) -> None:
        """Commit, unless there is an error; tell all who wrote."""
        self._group = None
        try:
            if error is None:
                group.transaction.commit()
        except BaseException as failed:
            error = failed
        try:
            group.connection.close()
        except Exception as closing:
            error = error or closing
        group.error = error
        group.done.set()
