"""Messages from tasks to the driver while an epoch runs. Flink: ``TaskManagerGateway``, seen from the task.

Each message has its own connection to a socket of the driver: a signature, and the signed bytes. Nothing depends on it: if the
driver cannot be reached, it gets the same news at the end of the epoch.
"""

from __future__ import annotations

import hmac
import socket
from typing import NamedTuple

import msgspec

from compat.compiler.executiongraph.states import ExecutionState
from compat.compiler.spark.task.epochs import EpochSpec, TaskFailure

LONGEST = 4 * 1024 * 1024
"""The bytes that a message may have."""
_SIGNATURE = 32
_PATIENCE = 5.0
"""Seconds that a task waits for the driver to take a message."""


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The failure of a subtask, in the epoch that has the token."""

    token: str
    failure: TaskFailure


class Changed(msgspec.Struct, frozen=True, tag=True):
    """The new state of a subtask, in the epoch that has the token."""

    token: str
    vertex: int
    subtask: int
    state: ExecutionState


Message = Failed | Changed
_unreached: set[tuple[str, int]] = set()
"""The unreachable addresses of this process: progress messages are no longer sent there."""


class Gateway(NamedTuple):
    """The driver's address, and the secret that messages are signed with."""

    host: str
    port: int
    secret: bytes

    def changed(self, spec: EpochSpec, vertex: int, subtask: int, state: ExecutionState) -> None:
        """Report the state of a subtask."""
        if (self.host, self.port) not in _unreached:
            self.tell(Changed(spec.token, vertex, subtask, state))

    def tell(self, message: Message) -> None:
        """Send a message; if it is too long, or the driver does not take it, it is dropped."""
        try:
            body = msgspec.msgpack.encode(message)
        except UnicodeEncodeError:  # an error may quote bytes that are no text
            return
        if _SIGNATURE + len(body) > LONGEST:
            return
        try:
            with socket.create_connection((self.host, self.port), _PATIENCE) as connection:
                connection.sendall(_signature(self.secret, body) + body)
        except OSError:
            _unreached.add((self.host, self.port))


def heard(secret: bytes, data: bytes) -> Message | None:
    """The message that arrived; None unless it was signed with the secret."""
    signature, body = data[:_SIGNATURE], data[_SIGNATURE:]
    if not hmac.compare_digest(signature, _signature(secret, body)):
        return None
    try:
        message: Message = msgspec.msgpack.decode(body, type=Message)
        return message
    except msgspec.MsgspecError:  # of another version of this package
        return None


def _signature(secret: bytes, body: bytes) -> bytes:
    return hmac.digest(secret, body, "sha256")
