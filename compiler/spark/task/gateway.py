"""What tasks tell the driver while an epoch runs. Flink: ``TaskManagerGateway``, seen from the task.

A message is a connection of its own to a socket of the driver's: a signature, and what is signed. Nobody depends on it: where
the driver cannot be reached, it hears the same at the end of the epoch.
"""

from __future__ import annotations

import hmac
import socket
from contextlib import suppress
from typing import NamedTuple

import msgspec

from compat.compiler.spark.task.epochs import TaskFailure

LONGEST = 4 * 1024 * 1024
"""The bytes that a message may have."""
_SIGNATURE = 32
_PATIENCE = 5.0
"""Seconds that a task waits for the driver to take a message."""


class Failed(msgspec.Struct, frozen=True):
    """A subtask that failed, in the epoch that has the token."""

    token: str
    failure: TaskFailure


class Gateway(NamedTuple):
    """Where the driver listens, and the secret that messages are signed with."""

    host: str
    port: int
    secret: bytes

    def tell(self, message: Failed) -> None:
        """Send a message; one that is too long, or that the driver does not take, is dropped."""
        try:
            body = msgspec.msgpack.encode(message)
        except UnicodeEncodeError:  # an error may quote what is no text
            return
        if _SIGNATURE + len(body) > LONGEST:
            return
        with suppress(OSError), socket.create_connection((self.host, self.port), _PATIENCE) as connection:
            connection.sendall(_signature(self.secret, body) + body)


def heard(secret: bytes, data: bytes) -> Failed | None:
    """The message that somebody sent; None unless it was signed with the secret."""
    signature, body = data[:_SIGNATURE], data[_SIGNATURE:]
    if not hmac.compare_digest(signature, _signature(secret, body)):
        return None
    try:
        return msgspec.msgpack.decode(body, type=Failed)
    except msgspec.MsgspecError:  # of another version of this package
        return None


def _signature(secret: bytes, body: bytes) -> bytes:
    return hmac.digest(secret, body, "sha256")
