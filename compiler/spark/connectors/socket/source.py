"""Lines from a socket. Flink: ``SocketTextStreamFunction``.

A socket cannot be read again. The driver reads it, and keeps lines until their epoch is committed. Lines that are not committed
when the job restarts are lost, as in Flink.
"""

from __future__ import annotations

import socket
import threading
from typing import Any

from compat.compiler.spark.runtime_api.splits import Read, Split, SplitEnumerator


class SocketEnumerator(SplitEnumerator):
    """One split; a thread of the driver reads lines, which travel with it."""

    complete = True

    def __init__(self, host: str, port: int, delimiter: str) -> None:
        self._address, self._delimiter = (host, port), delimiter.encode()
        self._lines: list[str] = []
        self._first: int | None = None
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def discover(self, known: set[str]) -> list[Split]:
        if self._thread is None:
            self._thread = threading.Thread(target=self._receive, name="socket-source", daemon=True)
            self._thread.start()
        return [] if known else [{"id": "0", "next": 0}]

    def ready(self, split: Split) -> bool:
        """True when there are lines, or when no more will come."""
        with self._lock:
            return self._closed.is_set() or self._after(split) < len(self._lines)

    def fill(self, split: Split, limit: int) -> Split:
        """The split with the lines that arrived; those before its position are committed and dropped."""
        with self._lock:
            if self._error is not None:
                raise ConnectionError(f"The socket {self._address[0]}:{self._address[1]} cannot be read: {self._error}")
            del self._lines[: self._after(split)]
            self._first = split["next"]
            lines = self._lines[:limit]
            return {**split, "lines": lines, "over": self._closed.is_set() and len(lines) == len(self._lines)}

    def _after(self, split: Split) -> int:
        """How many of the lines are before the split's position; the first line is at the first position asked for."""
        if self._first is None:
            self._first = split["next"]
        return int(split["next"] - self._first)

    def _receive(self) -> None:
        rest = b""
        try:
            with socket.create_connection(self._address) as connection:
                while data := connection.recv(1 << 16):
                    *lines, rest = (rest + data).split(self._delimiter)
                    self._keep(lines)
            self._keep([rest] if rest else [])
        except OSError as error:
            with self._lock:
                self._error = error
        self._closed.set()

    def _keep(self, lines: list[bytes]) -> None:
        with self._lock:
            self._lines += [line.removesuffix(b"\r").decode() for line in lines]


class LinesReader:
    """Gives the lines that came with the split."""

    def read(self, split: Split, limit: int) -> Read:
        lines: list[Any] = split["lines"]

        def after(count: int) -> Split:
            return {"id": split["id"], "next": split["next"] + count}

        return Read(lines, None, after(len(lines)), split["over"], after)
