"""The changes to sessions that the log and the replica lack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.session import END, LOGGED, QUIET, SLOT, START, STATE, VALUE, Session
from compat.compiler.spark.state.session_entries import Logged, SessionEntries


class SessionLog:
    """Writes sessions into the log, and knows which changes the replica lacks.

    ``_gone`` are those that the log has and that are no more.
    """

    def __init__(self, entries: SessionEntries) -> None:
        self._entries = entries
        self._gone: list[tuple[Any, Logged]] = []
        self._unsaved: dict[int, Session] = {}
        self._gone_from_replica: list[tuple[Any, Logged]] = []
        self._left_in_replica: list[tuple[Any, Logged]] = []
        self.replica_is_empty = True

    def forget(self, session: Session) -> None:
        """Note that a session has ended, and another one has its place in the log."""
        self._unsaved.pop(id(session), None)

    def end(self, session: Session) -> None:
        """Note that a session in the log has ended."""
        self._unsaved.pop(id(session), None)
        self._gone.append((session[SLOT], session[LOGGED]))

    def log(self, changed: list[Session], changes: Changes) -> None:
        """Log the present form of sessions, and the end of others."""
        before = [session[LOGGED] for session in changed]
        for session in changed:
            self._settle(session)
        logged = [session[LOGGED] for session in changed]
        slots, values = [session[SLOT] for session in changed], [session[VALUE] for session in changed]
        for place, value in self._entries.log(slots, logged, before, values, changes).items():
            changed[place][VALUE] = value
        self._entries.log_end([slot for slot, _ in self._gone], [each for _, each in self._gone], changes)
        if not self.replica_is_empty:
            self._gone_from_replica += self._gone
            self._left_in_replica += [
                (slot, old)
                for slot, old, new in zip(slots, before, logged, strict=True)
                if old is not None and old.window != new.window
            ]
        self._gone = []

    def _settle(self, session: Session) -> None:
        """The log has a session as it is now."""
        session[STATE] = QUIET
        window, logged = (session[START], session[END]), session[LOGGED]
        if logged is None or logged.window != window:
            session[LOGGED] = Logged(window, window if logged is None else logged.contents)
        self._unsaved[id(session)] = session

    def __len__(self) -> int:
        gone = len(self._gone_from_replica) + len(self._left_in_replica)
        return 3 * (len(self._unsaved) + gone)

    def unsaved(self) -> Iterator[tuple[bytes, bytes | None]]:
        """The entries that the replica lacks, or has in an older form."""
        gone, left = self._gone_from_replica, self._left_in_replica
        yield from self._entries.removed([slot for slot, _ in gone], [each for _, each in gone])
        yield from self._entries.removed_windows([slot for slot, _ in left], [each.window for _, each in left])
        sessions = self._unsaved.values()
        yield from self._entries.set(
            [session[SLOT] for session in sessions],
            [session[LOGGED] for session in sessions],
            [session[VALUE] for session in sessions],
        )

    def saved(self) -> None:
        """Note that the replica has them."""
        self._gone_from_replica, self._left_in_replica = [], []
        self.replica_is_empty = self.replica_is_empty and not self._unsaved
        self._unsaved = {}
