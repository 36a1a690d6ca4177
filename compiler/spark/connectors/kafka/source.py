"""Kafka topics. Flink: ``KafkaSource``, ``KafkaSourceEnumerator``, ``KafkaPartitionSplitReader``.

A split is a partition of a topic with its current offset. The driver asks the brokers for the end of each partition, and fixes
the first and last offset of an epoch. Tasks read exactly this range from the brokers. The offset after it is operator state, so
that the same records are read again after a failure.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from compat.compiler.datastream.common.serialization import DeserializationSchema
from compat.compiler.datastream.connectors.kafka_offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from compat.compiler.spark.connectors.kafka.clients import KafkaUnavailable, Pool, consumer_settings, problem_of
from compat.compiler.spark.connectors.kafka.cluster import KafkaCluster, Partition
from compat.compiler.spark.runtime_api.splits import Read, Split, SplitEnumerator

_NO_END = 1 << 63
_FRESH = 0.02
"""Seconds for which the driver takes for granted what the brokers said of the ends of partitions."""
_FETCHES = ((1_000, 1 << 16, 1_000), (50_000, 1 << 20, 10_000), (_NO_END, 1 << 23, 1_000_000))
"""Up to so many offsets wanted, so many bytes at once, and so many messages in advance: messages after the last offset are
fetched for nothing."""
_PATIENCE = 60.0
"""Seconds without a record that must be there, until a reader gives up."""


class Subscription(Struct, frozen=True, kw_only=True):
    """The input that a program wants to read.

    ``interval`` is seconds between two looks for new partitions, 0 for one look only.
    """

    properties: Mapping[str, str]
    deserializer: DeserializationSchema
    starting: KafkaOffsetsInitializer
    stopping: KafkaOffsetsInitializer | None = None
    bounded: bool = False
    interval: float = 0.0
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: frozenset[Partition] = frozenset()
    commits: bool = False

    @staticmethod
    def of(source: Any) -> Subscription:
        """The subscription of a ``KafkaSource``, or of a ``FlinkKafkaConsumer``."""
        settings = source.settings
        properties = settings["properties"]
        grouped = "group.id" in properties
        if "deserializer" in settings:
            interval = properties.get("flink.partition-discovery.interval-millis", 0)
            return Subscription(
                properties=properties,
                deserializer=settings["deserializer"],
                starting=_start_of_consumer(settings),
                interval=max(int(interval), 0) / 1000,
                topics=settings["topics"],
                commits=grouped and settings.get("commit_offsets_on_checkpoints", True),
            )
        bounded = bool(source.bounded)
        interval = 0 if bounded else properties.get("partition.discovery.interval.ms", 300_000)
        return Subscription(
            properties=properties,
            deserializer=settings["value_only_deserializer"],
            starting=settings["starting_offsets"],
            stopping=settings.get("stopping_offsets"),
            bounded=bounded,
            interval=max(int(interval), 0) / 1000,
            topics=tuple(settings.get("topics", ())),
            pattern=settings.get("topic_pattern"),
            partitions=frozenset((each[0], each[1]) for each in settings.get("partitions", ())),
            commits=grouped and str(properties.get("commit.offsets.on.checkpoint", "true")).lower() == "true",
        )


def _start_of_consumer(settings: Mapping[str, Any]) -> KafkaOffsetsInitializer:
    match settings["start"]:
        case "earliest":
            return KafkaOffsetsInitializer.earliest()
        case "latest":
            return KafkaOffsetsInitializer.latest()
        case "timestamp":
            return KafkaOffsetsInitializer.timestamp(settings["start_timestamp"])
    reset = settings["properties"].get("auto.offset.reset", "latest").upper()
    return KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy[reset])


def unsupported(source: Any) -> str | None:
    """Why a source cannot be run; None for one that can."""
    try:
        wanted = Subscription.of(source)
        KafkaCluster(wanted.properties)
    except (ValueError, KeyError) as error:
        return f"a property has a value that it cannot have: {error}"
    schema = wanted.deserializer
    if type(schema).deserialize is DeserializationSchema.deserialize or schema.settings.get("record_class"):
        return f"{type(schema).__name__} does not say how bytes become records: use one that has deserialize()"
    if wanted.pattern is not None:
        try:
            re.compile(wanted.pattern)
        except re.error as error:
            return f"the topic pattern {wanted.pattern!r} is none: {error}"
    for rule in (wanted.starting, wanted.stopping):
        given = rule.arguments.get("offsets", {}) if rule is not None else {}
        below = [f"{partition[0]}-{partition[1]}: {offset}" for partition, offset in given.items() if offset < 0]
        if below:
            return f"offsets count from 0, but there are {', '.join(below)}"
        if rule is not None and rule.name == "committed" and "group.id" not in wanted.properties:
            return "committed offsets are those of a group: call set_group_id(…)"
    return problem_of(wanted.properties, reads=True)


def split_id(partition: Partition) -> str:
    """The id of a partition in splits, logs and snapshots."""
    return f"{partition[0]}-{partition[1]}"


class KafkaEnumerator(SplitEnumerator):
    """Finds partitions and the offsets at which they start and end, once for each; later ones are read from their beginning."""

    concurrent = True

    def __init__(self, source: Any, cluster: Any = None) -> None:
        self._wanted = Subscription.of(source)
        self._cluster: KafkaCluster = cluster or KafkaCluster(self._wanted.properties)
        self.complete = self._wanted.bounded or self._wanted.interval <= 0
        self._looked: float | None = None
        self._partitions: list[Partition] = []
        self._ends: dict[Partition, int] = {}
        self._asked = 0.0
        self._committed: dict[Partition, int] = {}

    def discover(self, known: set[str]) -> list[Split]:
        now = time.monotonic()
        if self._looked is not None and (self.complete or now < self._looked + self._wanted.interval):
            return []
        first = self._looked is None and not known
        self._looked = now
        there = self._cluster.partitions(self._wanted.topics, self._wanted.pattern, self._wanted.partitions)
        restored = {(topic, int(number)) for topic, _, number in (id.rpartition("-") for id in known)}
        self._partitions = sorted({*there, *restored})
        found = [partition for partition in there if split_id(partition) not in known]
        if not found:
            return []
        starts = self._resolve(self._wanted.starting if first else KafkaOffsetsInitializer.earliest(), found)
        ends = {} if self._wanted.stopping is None else self._resolve(self._wanted.stopping, found, reset=False)
        return [
            {"id": split_id(partition), "topic": partition[0], "partition": partition[1], "next": starts[partition]}
            | ({"end": ends[partition]} if partition in ends else {})
            for partition in found
        ]

    def owner(self, split: Split, parallelism: int) -> int:
        """The subtask that reads a partition, the same at every start. Flink: ``KafkaSourceEnumerator.getSplitOwner``."""
        hashed = 0
        for unit in memoryview(split["topic"].encode("utf-16-le")).cast("H"):
            hashed = (hashed * 31 + unit) & 0xFFFFFFFF
        start = (hashed * 31 & 0x7FFFFFFF) % parallelism
        return int((start + split["partition"]) % parallelism)

    def ready(self, split: Split) -> bool:
        """True when there are records, or when no more are wanted."""
        return bool(split["next"] >= split.get("end", _NO_END) or self._end_of(split) > split["next"])

    def fill(self, split: Split, limit: int) -> Split:
        """The split with the offset up to which the epoch reads it."""
        if split["next"] >= split.get("end", _NO_END):
            return {**split, "to": split["next"]}
        return {**split, "to": min(self._end_of(split), split.get("end", _NO_END), split["next"] + limit)}

    def notify_checkpoint_complete(self, splits: Sequence[Split]) -> None:
        """Commit the group's offsets, if the program wants that: others can see them, nothing here depends on them."""
        if not self._wanted.commits:
            return
        offsets = {(split["topic"], split["partition"]): split["next"] for split in splits}
        changed = {
            partition: offset for partition, offset in offsets.items() if self._committed.get(partition) != offset
        }
        if changed:
            self._cluster.commit(changed)
            self._committed.update(changed)

    def _end_of(self, split: Split) -> int:
        partition = (split["topic"], split["partition"])
        now = time.monotonic()
        if now > self._asked + _FRESH or partition not in self._ends:
            self._ends = self._cluster.latest(sorted({*self._partitions, partition}))
            self._partitions = sorted(self._ends)
            self._asked = now
        if partition not in self._ends:
            raise KafkaUnavailable(
                f"{_named(partition)} is not there any more, but the job has not read it to its end."
            )
        if self._ends[partition] < split["next"]:
            raise KafkaUnavailable(
                f"{_named(partition)} ends at offset {self._ends[partition]}, but the job stands at {split['next']}: the "
                "topic was made anew, or lost records. Start the source without its state, under another uid."
            )
        return self._ends[partition]

    def _resolve(
        self, rule: KafkaOffsetsInitializer, partitions: list[Partition], reset: bool = True
    ) -> dict[Partition, int]:
        """The offset of each partition by a rule; what is gone, or never was, by the rule's reset strategy.

        Flink: ``OffsetsInitializer.getPartitionOffsets``.
        """
        cluster = self._cluster
        match rule.name:
            case "earliest":
                return cluster.earliest(partitions)
            case "latest":
                return cluster.latest(partitions)
            case "timestamp":
                found = cluster.at_time(partitions, rule.arguments["timestamp"])
                return cluster.latest([each for each in partitions if each not in found]) | found
        given = {(each[0], each[1]): offset for each, offset in rule.arguments.get("offsets", {}).items()}
        offsets = {each: given[each] for each in partitions if each in given}
        others = [each for each in partitions if each not in given]
        if others and "group.id" in self._wanted.properties:
            offsets |= cluster.committed(others)
        first, last = cluster.earliest(partitions), cluster.latest(partitions)
        if reset:
            offsets = {each: offset for each, offset in offsets.items() if first[each] <= offset <= last[each]}
        missing = [each for each in partitions if each not in offsets]
        strategy = rule.arguments["reset"]
        if missing and strategy is KafkaOffsetResetStrategy.NONE:
            raise KafkaUnavailable(
                f"There is no offset to start at for {', '.join(map(_named, missing))}, and the reset strategy is NONE: "
                "commit one for the group, or take another reset strategy."
            )
        edge = last if strategy is KafkaOffsetResetStrategy.LATEST else first
        return offsets | {each: edge[each] for each in missing}


def _named(partition: Partition) -> str:
    return f"Partition {partition[1]} of topic {partition[0]!r}"


class KafkaReader:
    """Reads the offsets that came with a split; a record without a value is skipped."""

    def __init__(self, source: Any) -> None:
        from confluent_kafka import Consumer

        wanted = Subscription.of(source)
        self._properties = wanted.properties
        self._deserialize = wanted.deserializer.deserialize
        settings = consumer_settings(wanted.properties)
        self._pools = [
            (most, Pool(Consumer, {"fetch.message.max.bytes": size, "queued.min.messages": ahead, **settings}))
            for most, size, ahead in _FETCHES
        ]
        self._skips_lost = wanted.properties.get("auto.offset.reset") == "earliest"

    def read(self, split: Split, limit: int) -> Read:
        start = split["next"]
        to = min(split["to"], start + limit)
        partition = (split["topic"], split["partition"])
        values: list[Any] = []
        timestamps: list[int | None] = []
        offsets: list[int] = []
        if start < to:
            pool = next(pool for most, pool in self._pools if to - start <= most)
            with pool.borrowed() as consumer:
                for messages in self._consume(consumer, partition, start, to):
                    self._add(messages, partition, values, timestamps, offsets)
        unread = {name: value for name, value in split.items() if name != "to"}

        def after(count: int) -> Split:
            return {**unread, "next": offsets[count - 1] + 1 if count else start}

        return Read(values, timestamps, {**unread, "next": to}, to >= split.get("end", _NO_END), after)

    def _add(
        self,
        messages: list[Any],
        partition: Partition,
        values: list[Any],
        timestamps: list[int | None],
        offsets: list[int],
    ) -> None:
        for message in messages:
            if (data := message.value()) is None:
                continue
            try:
                value = self._deserialize(data)
            except Exception as error:
                raise ValueError(
                    f"{_named(partition)}: the record at offset {message.offset()} cannot be read. {error}"
                ) from error
            if value is not None:
                values.append(value)
                offsets.append(message.offset())
                kind, timestamp = message.timestamp()
                timestamps.append(timestamp if kind else None)

    def _consume(self, consumer: Any, partition: Partition, start: int, to: int) -> Iterator[list[Any]]:
        """The messages from ``start`` and before ``to``: fewer where a topic is compacted or has transactions."""
        from confluent_kafka import KafkaError, KafkaException, TopicPartition

        gone = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)
        passing = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT)
        try:
            consumer.assign([TopicPartition(*partition, start)])
            position, last, problem = start, time.monotonic(), "they did not come"
            while position < to:
                found: list[Any] = []
                for message in consumer.consume(min(to - position, 10_000), 0.05):
                    error = message.error()
                    if error is None:
                        position = message.offset() + 1
                        if position <= to:
                            found.append(message)
                    elif error.code() == KafkaError._PARTITION_EOF:
                        position = max(position, message.offset())
                    elif error.code() in gone:
                        low, high = consumer.get_watermark_offsets(TopicPartition(*partition), timeout=_PATIENCE)
                        position = self._after_loss(partition, position, low, high)
                        consumer.assign([TopicPartition(*partition, position)])
                    elif error.code() not in passing:
                        raise KafkaException(error)
                    else:
                        problem = error.str()
                        continue
                    last = time.monotonic()
                yield found
                if time.monotonic() > last + _PATIENCE:
                    raise TimeoutError(f"{_named(partition)}, offsets {position} to {to - 1}: {problem}.")
            consumer.unassign()
        except KafkaException as error:
            raise KafkaUnavailable.of(self._properties, error) from error

    def _after_loss(self, partition: Partition, position: int, low: int, high: int) -> int:
        """Where to go on when records were deleted before they were read, if the program says to pass over them."""
        if not self._skips_lost or position > high:
            raise ValueError(
                f"{_named(partition)} has the offsets {low} to {high - 1}, but the job stands at {position}: "
                f"{max(low - position, 0)} records were deleted before they were read. To go on without them, set the "
                "property auto.offset.reset to 'earliest'."
            )
        return low
