"""The events of a job: its processes write them one after the other, and readers go on from a cursor.

An event is a line of JSON in a file. Its first field says what happened; its last one, ``at``, says when, in milliseconds since
1970. When a file is large, the next one begins, and only the last two files stay.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

LARGEST = 16 * 1024 * 1024
PORTION = 1024 * 1024
"""The bytes of events that are read at once."""

Event = dict[str, Any]
_BEGINNING = b'{"event": "'


class Cursor(NamedTuple):
    """A place between two events: the number of the file, and the bytes before it."""

    file: int = 0
    at: int = 0

    def __str__(self) -> str:
        return f"{self.file}.{self.at}"

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """The cursor that a client sends back. Raises ValueError."""
        file, _, at = text.partition(".")
        if not (file.isdigit() and at.isdigit()) or len(text) > 40:
            raise ValueError(f"{text!r} is no place among events.")
        return cls(int(file), int(at))


class EventLog:
    """The events in a job's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def add(self, event: Event) -> None:
        """Write an event; lines of two processes do not mix."""
        told = {**event, "at": int(time.time() * 1000)}
        line = (json.dumps(told, ensure_ascii=False, default=str) + "\n").encode("utf-8", "surrogatepass")
        with self._lock:
            number = max(self._numbers(), default=0)
            path = self._path(number)
            if path.exists() and path.stat().st_size > LARGEST:
                for old in self._numbers():
                    if old < number:
                        self._path(old).unlink(missing_ok=True)
                path = self._path(number + 1)
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, line)
            finally:
                os.close(file)

    def read(self, after: Cursor) -> tuple[list[Event], Cursor]:
        """A portion of the events after a cursor, and the next cursor."""
        lines, cursor = self.lines(after)
        return [json.loads(line) for line in lines], cursor

    def lines(self, after: Cursor) -> tuple[list[bytes], Cursor]:
        """The events as raw lines: unneeded ones need not be parsed (:func:`kind_of`)."""
        numbers = sorted(self._numbers())
        if not numbers:
            return [], after
        file, at = (
            after if after.file in numbers else Cursor(next((n for n in numbers if n > after.file), numbers[-1]), 0)
        )
        with open(self._path(file), "rb") as opened:
            opened.seek(at)
            data = opened.read(PORTION)
            if b"\n" not in data:  # of a line that is longer than a portion, the rest
                data += opened.readline()
        whole = data[: data.rfind(b"\n") + 1]
        if not whole and file < numbers[-1]:
            return self.lines(Cursor(file + 1, 0))
        return whole.splitlines(), Cursor(file, at + len(whole))

    def _path(self, number: int) -> Path:
        return self._folder / f"events.{number}"

    def _numbers(self) -> list[int]:
        return [int(path.suffix[1:]) for path in self._folder.glob("events.*") if path.suffix[1:].isdigit()]


def kind_of(line: bytes) -> str:
    """The kind of the event in a line; empty for any other line."""
    start = len(_BEGINNING)
    return line[start : line.find(b'"', start)].decode("ascii", "replace") if line.startswith(_BEGINNING) else ""
