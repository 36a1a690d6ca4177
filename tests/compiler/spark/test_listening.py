"""What tasks tell the driver while an epoch runs."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from compat.compiler.spark.driver.listening import Listening
from compat.compiler.spark.task.epochs import TaskFailure
from compat.compiler.spark.task.gateway import LONGEST, Failed

FAILED = Failed("token", TaskFailure("Map (1/2)", "Map", "7", "ValueError: no", 1, 0))


@pytest.fixture
def told() -> queue.Queue[Failed]:
    return queue.Queue()


@pytest.fixture
def listening(told: queue.Queue[Failed]) -> Iterator[Listening]:
    made = Listening("127.0.0.1", "127.0.0.1", told.put)
    yield made
    made.close()


def test_a_message_is_heard(listening: Listening, told: queue.Queue[Failed]) -> None:
    listening.gateway.tell(FAILED)
    assert told.get(timeout=60) == FAILED


@pytest.mark.parametrize(
    "sent", [b"", b"short", bytes(100), bytes(LONGEST + 1)], ids=["none", "short", "zeros", "long"]
)
def test_what_is_not_signed_is_not_heard(listening: Listening, told: queue.Queue[Failed], sent: bytes) -> None:
    # It hangs up where it is too much.
    with suppress(ConnectionError), socket.create_connection(("127.0.0.1", listening.gateway.port)) as connection:
        connection.sendall(sent)
    listening.gateway._replace(secret=bytes(32)).tell(FAILED)
    listening.gateway.tell(Failed("later", FAILED.failure))
    assert told.get(timeout=60).token == "later"


@pytest.mark.parametrize("cause", ["x" * LONGEST, "\udc80"], ids=["long", "no text"])
def test_what_cannot_be_sent_is_dropped(listening: Listening, told: queue.Queue[Failed], cause: str) -> None:
    listening.gateway.tell(Failed("token", TaskFailure("Map", None, None, cause)))
    listening.gateway.tell(FAILED)
    assert told.get(timeout=60) == FAILED


def test_nothing_is_left_of_one_that_is_closed(told: queue.Queue[Failed]) -> None:
    listening = Listening("127.0.0.1", "127.0.0.1", told.put)
    before = threading.active_count()
    listening.close()
    assert threading.active_count() == before - 1
    listening.gateway.tell(FAILED)  # nobody hears it, and nobody minds
    assert told.empty()
