"""Settings of Pulsar sources and sinks. :mod:`.pulsar` has the names."""

from __future__ import annotations

from enum import Enum
from typing import Any

from compat.state.time import Duration


class _Choice:
    """A rule by name, and what it needs."""

    def __init__(self, name: Any, **arguments: Any) -> None:
        self.name = str(name)
        self.arguments = arguments

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{key}={value!r}" for key, value in self.arguments.items())
        return f"{type(self).__name__}.{self.name}({arguments})"


class StartCursor(_Choice):
    """The position at which reading starts (Flink: ``StartCursor``). Times in milliseconds since 1970."""

    @staticmethod
    def default_start_cursor() -> StartCursor:
        """The beginning."""
        return StartCursor.earliest()

    @staticmethod
    def earliest() -> StartCursor:
        """The beginning."""
        return StartCursor("earliest")

    @staticmethod
    def latest() -> StartCursor:
        """The end."""
        return StartCursor("latest")

    @staticmethod
    def from_message_id(message_id: bytes, inclusive: bool = True) -> StartCursor:
        """A message, or the one after it."""
        return StartCursor("from_message_id", message_id=message_id, inclusive=inclusive)

    @staticmethod
    def from_publish_time(timestamp: int) -> StartCursor:
        """The first message published not before the timestamp."""
        return StartCursor("from_publish_time", timestamp=timestamp)


class StopCursor(_Choice):
    """The position at which reading stops (Flink: ``StopCursor``). "At" leaves the message out, "after" reads it."""

    @staticmethod
    def default_stop_cursor() -> StopCursor:
        """Never stop."""
        return StopCursor.never()

    @staticmethod
    def never() -> StopCursor:
        """Never stop."""
        return StopCursor("never")

    @staticmethod
    def latest() -> StopCursor:
        """Stop at the end as of the job's start."""
        return StopCursor("latest")

    @staticmethod
    def at_event_time(timestamp: int) -> StopCursor:
        """At an event time."""
        return StopCursor("at_event_time", timestamp=timestamp)

    @staticmethod
    def after_event_time(timestamp: int) -> StopCursor:
        """After an event time."""
        return StopCursor("after_event_time", timestamp=timestamp)

    @staticmethod
    def at_publish_time(timestamp: int) -> StopCursor:
        """At a time of publication."""
        return StopCursor("at_publish_time", timestamp=timestamp)

    @staticmethod
    def after_publish_time(timestamp: int) -> StopCursor:
        """After a time of publication."""
        return StopCursor("after_publish_time", timestamp=timestamp)

    @staticmethod
    def at_message_id(message_id: bytes) -> StopCursor:
        """At a message."""
        return StopCursor("at_message_id", message_id=message_id)

    @staticmethod
    def after_message_id(message_id: bytes) -> StopCursor:
        """After a message."""
        return StopCursor("after_message_id", message_id=message_id)


class RangeGenerator(_Choice):
    """The keys that a subtask reads (Flink: ``RangeGenerator``)."""

    @staticmethod
    def full() -> RangeGenerator:
        """All keys."""
        return RangeGenerator("full")

    @staticmethod
    def fixed_key(
        support_null_key: bool = False,
        keys: str | list[str] | None = None,
        key_bytes: bytes | None = None,
        ordering_key_bytes: bytes | None = None,
    ) -> RangeGenerator:
        """These keys."""
        return RangeGenerator(
            "fixed_key",
            support_null_key=support_null_key,
            keys=(keys,) if isinstance(keys, str) else tuple(keys or ()),
            key_bytes=key_bytes,
            ordering_key_bytes=ordering_key_bytes,
        )


class MessageDelayer(_Choice):
    """The delay of messages (Flink: ``MessageDelayer``)."""

    @staticmethod
    def never() -> MessageDelayer:
        """No delay."""
        return MessageDelayer("never")

    @staticmethod
    def fixed(duration: Duration) -> MessageDelayer:
        """A fixed delay."""
        return MessageDelayer("fixed", duration=duration)


class TopicRoutingMode(Enum):
    """The choice of the partition of a topic for a message (Flink: ``TopicRoutingMode``)."""

    ROUND_ROBIN = 0
    MESSAGE_KEY_HASH = 1
    CUSTOM = 2
