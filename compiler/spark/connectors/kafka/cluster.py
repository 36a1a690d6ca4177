"""The questions that the driver asks Kafka's brokers: partitions, offsets, and the committed offsets of a group."""

from __future__ import annotations

import atexit
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from compat.compiler.spark.connectors.kafka.clients import KafkaUnavailable, client_settings, consumer_settings

Partition = tuple[str, int]
"""A topic and the number of a partition."""


_NO_RECORD = -1
"""The offset of a time after the last record; below it are those of partitions that have no leader at the moment."""
_SETTLES = 3.0
"""Seconds until a topic that brokers do not know is taken for gone: those that just started know none."""


class KafkaCluster:
    """The brokers that a program names. Every method raises KafkaUnavailable if they give no answer."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = properties
        self._timeout = int(properties.get("default.api.timeout.ms", 60_000)) / 1000
        self._made: dict[str, Any] = {}
        _clusters.add(self)

    def partitions(
        self, topics: Sequence[str], pattern: str | None, partitions: Collection[Partition]
    ) -> list[Partition]:
        """The partitions of topics, or of topics whose whole name matches a pattern, or given ones, in order."""
        with self._asking():
            there = {
                (topic.topic, number)
                for topic in self._admin.list_topics(timeout=self._timeout).topics.values()
                for number in topic.partitions
            }
        names = {topic for topic, _ in there}
        missing: list[Any] = sorted({*topics} - names) or sorted({*partitions} - there)
        if missing:
            raise KafkaUnavailable(f"{missing[0]} is not on the Kafka brokers {self._properties['bootstrap.servers']}.")
        if pattern is not None:
            topics = [name for name in names if re.fullmatch(pattern, name) and not name.startswith("__")]
        return sorted(partitions) if partitions else sorted(each for each in there if each[0] in topics)

    def earliest(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """The first offset that each partition has."""
        from confluent_kafka.admin import OffsetSpec

        return self._offsets(partitions, OffsetSpec.earliest())

    def latest(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """The offset that each partition's next record gets; partitions of deleted topics are left out."""
        from confluent_kafka.admin import OffsetSpec

        return self._offsets(partitions, OffsetSpec.latest())

    def at_time(self, partitions: Sequence[Partition], timestamp: int) -> dict[Partition, int]:
        """The first offset of a record not before a time; partitions without one are left out."""
        from confluent_kafka.admin import OffsetSpec

        found = self._offsets(partitions, OffsetSpec.for_timestamp(timestamp))
        return {partition: offset for partition, offset in found.items() if offset >= 0}

    def committed(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """The committed offsets of the group, without partitions that have none."""
        from confluent_kafka import TopicPartition

        with self._asking():
            answers = self._consumer.committed([TopicPartition(*each) for each in partitions], timeout=self._timeout)
            return {(each.topic, each.partition): each.offset for each in answers if each.offset >= 0}

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Commit the group's offsets, without waiting; nothing depends on it."""
        from confluent_kafka import TopicPartition

        places = [TopicPartition(*partition, offset) for partition, offset in offsets.items()]
        self._consumer.commit(offsets=places, asynchronous=True)

    def _offsets(self, partitions: Sequence[Partition], wanted: Any) -> dict[Partition, int]:
        """The offsets that the partitions' leaders tell; one without a leader for now, as after a crash, is asked again."""
        from confluent_kafka import KafkaError, TopicPartition

        found: dict[Partition, int] = {}
        waiting = {TopicPartition(*each): wanted for each in partitions}
        began = time.monotonic()
        while waiting:
            problem = self._ask(waiting, found)
            passed = time.monotonic() - began
            if problem is None or (passed > _SETTLES and problem.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART):
                break
            if passed > self._timeout:
                raise KafkaUnavailable.of(self._properties, problem)
            # What the client had heard of leaders may be out of date, and it does not ask again by itself.
            self._made.pop("admin", None)
            time.sleep(0.1)
        return found

    def _ask(self, waiting: dict[Any, Any], found: dict[Partition, int]) -> Any:
        """Ask for offsets, and put what is answered from ``waiting`` into ``found``; gives an error for what is not."""
        from confluent_kafka import IsolationLevel, KafkaError, KafkaException

        committed = self._properties.get("isolation.level") == "read_committed"
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        problem = None
        with self._asking():
            answers = self._admin.list_offsets(waiting, isolation_level=level, request_timeout=self._timeout)
        for place, answer in answers.items():
            try:
                offset = answer.result().offset
            except KafkaException as error:
                problem = error
                continue
            if offset < _NO_RECORD:
                problem = KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
                continue
            found[(place.topic, place.partition)] = offset
            del waiting[place]
        return problem

    def close(self) -> None:
        """End the clients."""
        if "consumer" in self._made:
            self._made["consumer"].close()
        self._made.clear()

    @contextmanager
    def _asking(self) -> Iterator[None]:
        from confluent_kafka import KafkaException

        try:
            yield
        except KafkaException as error:
            raise KafkaUnavailable.of(self._properties, error) from error

    @property
    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        if "admin" not in self._made:
            self._made["admin"] = AdminClient(client_settings(self._properties))
        return self._made["admin"]

    @property
    def _consumer(self) -> Any:
        from confluent_kafka import Consumer

        if "consumer" not in self._made:
            self._made["consumer"] = Consumer(consumer_settings(self._properties))
        return self._made["consumer"]


_clusters: WeakSet[KafkaCluster] = WeakSet()


@atexit.register
def _close_all() -> None:
    """The threads of clients must not outlive the interpreter; what they still have to tell is told."""
    for cluster in list(_clusters):
        cluster.close()
