"""The history of a job, from its events: checkpoints, restarts, savepoints.

Flink: ``CheckpointStatsTracker``, ``ExceptionHistoryEntry``.

Each look reads the events after the last one, and parses only the interesting ones, however much a job prints.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

import msgspec

from compat.cluster.events import Cursor, EventLog, kind_of

MOST = 100
"""The number of entries of each kind that are kept."""
CHARTED = 1000
"""The number of checkpoints that are kept for charts."""
MOST_PRINTED = 200
LONGEST_PRINTED = 2000
"""The maximum characters of a line that a program printed."""
LONGEST_ERROR = 20_000
"""The maximum characters of a traceback, from its end."""

E = TypeVar("E")


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """An epoch that was committed, ``at`` a time in milliseconds since 1970, after this many ``seconds``.

    ``changed`` are the entries of state that it wrote, ``added_bytes`` their files, ``state_bytes`` all files afterwards;
    ``watermark_lag`` is in milliseconds.
    """

    epoch: int
    at: int = 0
    seconds: float = 0.0
    records: int = 0
    changed: int = 0
    state_bytes: int = 0
    added_bytes: int | None = None
    watermark_lag: int | None = None


class Restart(msgspec.Struct, frozen=True, kw_only=True):
    """A failure that the job's own restart strategy dealt with, after ``delay`` seconds. ``error`` is a whole traceback."""

    error: str
    at: int = 0
    delay: float = 0.0
    task: str | None = None
    attempt: int = 0


class SavepointWritten(msgspec.Struct, frozen=True, kw_only=True):
    """A savepoint that was written."""

    path: str
    at: int = 0


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """The snapshot that a job started from."""

    path: str
    keys: int = 0
    entries: int = 0
    migrated: int = 0
    dropped: int = 0


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt at a job began, at a ``checkpoint`` (0 for none): ``resumed`` its own, or ``restored`` a snapshot."""

    at: int = 0
    checkpoint: int = 0
    resumed: bool = False
    restored: Restored | None = None


class _Printed(msgspec.Struct, frozen=True, kw_only=True):
    line: str


class History(msgspec.Struct, frozen=True, kw_only=True):
    """The last of each kind, the newest first; ``printed`` are lines that the program printed.

    ``committed`` and ``restarted`` count the checkpoints and restarts of all events that there still are.
    """

    checkpoints: tuple[Checkpoint, ...] = ()
    restarts: tuple[Restart, ...] = ()
    savepoints: tuple[SavepointWritten, ...] = ()
    starts: tuple[Started, ...] = ()
    printed: tuple[str, ...] = ()
    committed: int = 0
    restarted: int = 0


class _Kept(Generic[E]):
    """The last events of a kind, and how many there were."""

    def __init__(self, parse: Callable[[bytes], E | None], most: int) -> None:
        self._parse = parse
        self._fresh: deque[bytes] = deque(maxlen=most)
        self._events: deque[E] = deque(maxlen=most)
        self.count = 0

    def add(self, line: bytes) -> None:
        self._fresh.append(line)
        self.count += 1

    def take(self) -> None:
        """Parse those that are new and not gone again; without those that another version of ours wrote in another form."""
        self._events.extend(event for line in self._fresh if (event := self._parse(line)) is not None)
        self._fresh.clear()

    def all(self) -> tuple[E, ...]:
        """The newest first."""
        return tuple(reversed(self._events))


class HistoryReader:
    """Follows the events of a job. Safe to use from several threads."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._cursor = Cursor()
        self._lock = threading.Lock()
        self._checkpoints = _Kept(partial(_event, kind=Checkpoint), CHARTED)
        self._restarts = _Kept(_restart, MOST)
        self._savepoints = _Kept(partial(_event, kind=SavepointWritten), MOST)
        self._starts = _Kept(partial(_event, kind=Started), MOST)
        self._printed = _Kept(_printed, MOST_PRINTED)

    def read(self) -> History:
        """The present history. Raises OSError."""
        with self._lock:
            self._read_on()
            return History(
                checkpoints=self._checkpoints.all(),
                restarts=self._restarts.all(),
                savepoints=self._savepoints.all(),
                starts=self._starts.all(),
                printed=self._printed.all(),
                committed=self._checkpoints.count,
                restarted=self._restarts.count,
            )

    def _read_on(self) -> None:
        while True:
            lines, cursor = self._log.lines(self._cursor)
            if cursor == self._cursor:
                return
            self._cursor = cursor
            for line in lines:
                match kind_of(line):
                    case "checkpoint":
                        self._checkpoints.add(line)
                    case "restarting":
                        self._restarts.add(line)
                    case "savepoint":
                        self._savepoints.add(line)
                    case "started":
                        self._starts.add(line)
                    case "printed":
                        self._printed.add(line)
            for kept in (self._checkpoints, self._restarts, self._savepoints, self._starts, self._printed):
                kept.take()


def _event(line: bytes, kind: type[E]) -> E | None:
    try:
        return msgspec.convert(json.loads(line), kind)  # a program's texts may hold half of a pair of surrogates
    except (ValueError, msgspec.ValidationError):
        return None


def _restart(line: bytes) -> Restart | None:
    found = _event(line, Restart)
    return None if found is None else msgspec.structs.replace(found, error=found.error[-LONGEST_ERROR:])


def _printed(line: bytes) -> str | None:
    found = _event(line, _Printed)
    if found is None or len(found.line) <= LONGEST_PRINTED:
        return None if found is None else found.line
    return f"{found.line[:LONGEST_PRINTED]}… ({len(found.line)} characters)"
