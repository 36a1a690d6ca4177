"""The driver's end of the messages from tasks while an epoch runs."""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from compat.compiler.spark.task.gateway import LONGEST, Gateway, Message, heard

_PATIENCE = 5.0
"""Seconds that who connects has to say what it wants to."""


class Listening:
    """Hears tasks at a port of ``address``, until it is closed. ``hear`` is called in a thread of its own, for one message
    after the other; tasks reach the port at ``host``. Raises OSError if none can be had.
    """

    def __init__(self, address: str, host: str, hear: Callable[[Message], None]) -> None:
        self._hear, self._closed = hear, False
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._socket = socket.create_server((address, 0), family=family)
        self._own = self._socket.getsockname()[:2]
        self.gateway = Gateway(host, self._own[1], secrets.token_bytes(32))
        self._thread = threading.Thread(target=self._listen, name="listening", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._closed = True
        with suppress(OSError):  # so that it wakes
            socket.create_connection(self._own, _PATIENCE).close()
        self._thread.join(2 * _PATIENCE)

    def _listen(self) -> None:
        with self._socket:
            while not self._closed:
                try:
                    connection, _ = self._socket.accept()
                    with connection:
                        data = _read(connection)
                except OSError:  # who connected has left
                    continue
                message = heard(self.gateway.secret, data)
                if message is not None:
                    self._hear(message)


def _read(connection: socket.socket) -> bytes:
    """All that is sent, if it is not too much. Raises OSError if it does not come in time."""
    parts: list[bytes] = []
    size, end = 0, time.monotonic() + _PATIENCE
    while size <= LONGEST:
        connection.settimeout(max(end - time.monotonic(), 0.001))
        part = connection.recv(65536)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
    return b""
