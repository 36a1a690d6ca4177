"""The groundwork that the rules about Kafka share: which parts of a source's subscription were removed and added.

Read from the sources of flink-connector-kafka: a restored reader continues all splits in its state, and no version up
to 5.0 removes partitions that are no longer subscribed to (``KafkaSourceEnumerator``).
"""

from __future__ import annotations

import re

from msgspec import Struct

from compat.state.model.connectors import KafkaPartition, KafkaSource

ON_FROM_THE_GROUP = (
    "To go on, take committed offsets of the same group with a reset strategy: they are of OLD's last checkpoints, and may not "
    "be of its stop, so that some records are read again."
)
"""Advice for a source that starts without its state: a job may end before it has committed its last offsets."""

_LONGEST_TOPIC = 249
_MOST_REPEATS = 3
_REPEATS = re.compile(r"[*+{]")
_REPEATED_GROUP = re.compile(r"\)[*+{?]")


class Subscribed(Struct, frozen=True):
    """The part of a subscription that the other one does not have.

    ``certain`` are topics and partitions by name; ``by_pattern`` is a pattern or topic whose matches are unknown.
    """

    certain: tuple[str, ...] = ()
    by_pattern: str | None = None

    def __bool__(self) -> bool:
        return bool(self.certain or self.by_pattern is not None)


def only_in(one: KafkaSource, other: KafkaSource) -> Subscribed:
    """The topics and partitions that ``one`` reads and ``other`` does not name."""
    if one.topic_pattern is not None:
        return Subscribed() if _covers(other.topic_pattern, one.topic_pattern) else Subscribed((), one.topic_pattern)
    if one.partitions:
        missing = tuple(str(partition) for partition in one.partitions if not _names_partition(other, partition))
        return _uncertain(other) or Subscribed(missing)
    gone = tuple(topic for topic in one.topics if not _names(other, topic))
    if gone:
        return _uncertain(other) or Subscribed(gone)
    in_part = [topic for topic in one.topics if other.partitions]
    return Subscribed((), in_part[0]) if in_part else Subscribed()


def _names(source: KafkaSource, topic: str) -> bool:
    if source.topic_pattern is not None:
        return _match(source.topic_pattern, topic) is True
    return topic in source.topics or any(partition.topic == topic for partition in source.partitions)


def _names_partition(source: KafkaSource, partition: KafkaPartition) -> bool:
    return partition in source.partitions if source.partitions else _names(source, partition.topic)


def _uncertain(source: KafkaSource) -> Subscribed | None:
    """A pattern of Java that Python cannot evaluate: its matches are unknown."""
    pattern = source.topic_pattern
    return Subscribed((), pattern) if pattern is not None and _match(pattern, "") is None else None


def _match(pattern: str, topic: str) -> bool | None:
    """Whether a pattern matches a whole name; None for a pattern that is not valid in Python, or may take long."""
    if _REPEATED_GROUP.search(pattern) or len(_REPEATS.findall(pattern)) > _MOST_REPEATS:
        return None
    try:
        return re.fullmatch(pattern, topic[:_LONGEST_TOPIC]) is not None
    except re.error:
        return None


def _covers(pattern: str | None, other: str) -> bool:
    """Whether a pattern obviously matches everything that another one does."""
    if pattern is None:
        return False
    if pattern in (".*", ".+"):
        return True
    plain = "(" not in pattern + other
    return pattern == other or (plain and set(other.split("|")) <= set(pattern.split("|")))


def listed(names: tuple[str, ...]) -> str:
    """Some names as text, and the number of further ones."""
    shown = ", ".join(map(repr, names[:5]))
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
