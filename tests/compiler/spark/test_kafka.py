"""Kafka without a broker: which offsets are read, what properties mean, what is refused before the start."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.compiler.datastream.common.serialization import (
    DeserializationSchema,
    SerializationSchema,
    SimpleStringSchema,
)
from compat.compiler.datastream.common.types import Row
from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.connectors.base import DeliveryGuarantee
from compat.compiler.datastream.connectors.kafka import (
    FlinkKafkaConsumer,
    FlinkKafkaProducer,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
    Semantic,
)
from compat.compiler.datastream.formats.avro import AvroRowDeserializationSchema, AvroRowSerializationSchema
from compat.compiler.errors import ProgramError
from compat.compiler.spark.connectors.kafka.clients import (
    KafkaUnavailable,
    Pool,
    client_settings,
    consumer_settings,
    producer_settings,
)
from compat.compiler.spark.connectors.kafka.sink import Publication
from compat.compiler.spark.connectors.kafka.sink import unsupported as unsupported_sink
from compat.compiler.spark.connectors.kafka.source import KafkaEnumerator, KafkaReader, Subscription
from compat.compiler.spark.connectors.kafka.source import unsupported as unsupported_source

TEXT = SimpleStringSchema()
RULE = KafkaOffsetsInitializer
RESET = KafkaOffsetResetStrategy
PARTITIONS = [("t", 0), ("t", 1)]


class Cluster:
    """Brokers whose partitions have these offsets: (first, next, of the group or None)."""

    def __init__(self, offsets: dict[Any, tuple[int, int, int | None]]) -> None:
        self.offsets = offsets
        self.told: list[Any] = []

    def partitions(self, topics: Any, pattern: Any, partitions: Any) -> list[Any]:
        return sorted(self.offsets)

    def earliest(self, partitions: Any) -> dict[Any, int]:
        return {each: self.offsets[each][0] for each in partitions}

    def latest(self, partitions: Any) -> dict[Any, int]:
        return {each: self.offsets[each][1] for each in partitions if each in self.offsets}

    def at_time(self, partitions: Any, timestamp: int) -> dict[Any, int]:
        """Offset n is from the time 10 n."""
        found = {each: max(-(-timestamp // 10), self.offsets[each][0]) for each in partitions}
        return {each: offset for each, offset in found.items() if offset < self.offsets[each][1]}

    def committed(self, partitions: Any) -> dict[Any, int]:
        return {each: offset for each in partitions if (offset := self.offsets[each][2]) is not None}

    def commit(self, offsets: Any) -> None:
        self.told.append(dict(offsets))


def source(start: Any = None, stop: Any = None, bounded: bool = True, **properties: str) -> KafkaSource:
    builder = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:1").set_topics("t").set_group_id("g")
    builder = builder.set_value_only_deserializer(TEXT).set_starting_offsets(start or RULE.earliest())
    if stop is not None:
        builder = builder.set_bounded(stop) if bounded else builder.set_unbounded(stop)
    return builder.set_properties({name.replace("_", "."): value for name, value in properties.items()}).build()


OFFSETS = {("t", 0): (3, 10, 5), ("t", 1): (0, 4, None)}
STARTS = [
    (RULE.earliest(), [3, 0]),
    (RULE.latest(), [10, 4]),
    (RULE.timestamp(31), [4, 4]),
    (RULE.timestamp(0), [3, 0]),
    (RULE.committed_offsets(RESET.EARLIEST), [5, 0]),
    (RULE.committed_offsets(RESET.LATEST), [5, 4]),
    (RULE.committed_offsets(), "topic 't'.*reset strategy is NONE"),
    (RULE.offsets({KafkaTopicPartition("t", 0): 7, KafkaTopicPartition("t", 1): 1}), [7, 1]),
    (RULE.offsets({KafkaTopicPartition("t", 1): 1}), [5, 1]),
    (RULE.offsets({KafkaTopicPartition("t", 0): 7}), [7, 0]),
    (RULE.offsets({KafkaTopicPartition("t", 0): 7}, RESET.LATEST), [7, 4]),
    (RULE.offsets({KafkaTopicPartition("t", 0): 1, KafkaTopicPartition("t", 1): 9}), [3, 0]),
    (RULE.offsets({KafkaTopicPartition("t", 0): 1, KafkaTopicPartition("t", 1): 1}, RESET.NONE), "no offset to start"),
]


@pytest.mark.parametrize(("start", "expected"), STARTS, ids=lambda each: repr(each))
def test_where_reading_starts(start: Any, expected: Any) -> None:
    made = KafkaEnumerator(source(start), Cluster(OFFSETS))
    if isinstance(expected, str):
        with pytest.raises(KafkaUnavailable, match=expected):
            made.discover(set())
    else:
        splits = made.discover(set())
        assert [split["next"] for split in splits] == expected
        assert [(split["id"], split["topic"], split["partition"]) for split in splits] == [
            ("t-0", "t", 0),
            ("t-1", "t", 1),
        ]
        assert not any("end" in split for split in splits)


def test_where_reading_ends_is_settled_once() -> None:
    cluster = Cluster(dict(OFFSETS))
    made = KafkaEnumerator(source(stop=RULE.latest()), cluster)
    splits = made.discover(set())
    assert [split["end"] for split in splits] == [10, 4]
    cluster.offsets[("t", 0)] = (3, 99, 5)
    assert made.fill({**splits[0], "next": 9}, 50)["to"] == 10
    assert made.complete
    assert made.discover({"t-0", "t-1"}) == []
    far = RULE.offsets({KafkaTopicPartition("t", 0): 2, KafkaTopicPartition("t", 1): 1_000})
    assert [split["end"] for split in KafkaEnumerator(source(stop=far), cluster).discover(set())] == [2, 1_000]


@given(st.integers(0, 50), st.integers(0, 50), st.integers(1, 20), st.one_of(st.none(), st.integers(0, 60)))
def test_epochs_cover_each_offset_once(first: int, more: int, limit: int, end: int | None) -> None:
    last = first + more
    made = KafkaEnumerator(source(), Cluster({("t", 0): (first, last, None)}))
    split = {**made.discover(set())[0], **({} if end is None else {"end": end})}
    read: list[int] = []
    while made.ready(split) and split["next"] < split.get("end", last):
        filled = made.fill(split, limit)
        assert 0 < filled["to"] - filled["next"] <= limit
        read += range(filled["next"], filled["to"])
        split = {**split, "next": filled["to"]}
    assert read == list(range(first, min(last, last if end is None else end)))


def test_partitions_that_come_later_are_read_from_their_beginning() -> None:
    cluster = Cluster({("t", 0): (3, 10, 5)})
    made = KafkaEnumerator(source(RULE.latest(), partition_discovery_interval_ms="1"), cluster)
    assert not made.complete
    assert [split["next"] for split in made.discover(set())] == [10]
    cluster.offsets[("t", 1)] = (2, 4, None)
    time.sleep(0.002)
    assert [(split["id"], split["next"]) for split in made.discover({"t-0"})] == [("t-1", 2)]
    # One that was restored does not start anew, wherever it is.
    restored = KafkaEnumerator(source(RULE.latest()), cluster)
    assert [(split["id"], split["next"]) for split in restored.discover({"t-0"})] == [("t-1", 2)]
    assert restored.discover({"t-0", "t-1"}) == []


def test_a_stream_ends_only_where_no_partition_can_come() -> None:
    assert not KafkaEnumerator(source(stop=RULE.latest(), bounded=False), Cluster({})).complete
    assert KafkaEnumerator(
        source(stop=RULE.latest(), bounded=False, partition_discovery_interval_ms="-1"), Cluster({})
    ).complete


LOST = [
    ({("t", 0): (0, 5, None)}, "Partition 0 of topic 't' ends at offset 5, but the job stands at 9"),
    ({("t", 1): (0, 5, None)}, "Partition 0 of topic 't' is not there any more"),
]


@pytest.mark.parametrize(("offsets", "message"), LOST)
def test_a_topic_that_was_made_anew(offsets: Any, message: str) -> None:
    made = KafkaEnumerator(source(), Cluster(offsets))
    made.discover(set())
    with pytest.raises(KafkaUnavailable, match=message):
        made.ready({"id": "t-0", "topic": "t", "partition": 0, "next": 9})


def test_the_group_is_told_what_is_new() -> None:
    splits = [{"topic": "t", "partition": 0, "next": 4}, {"topic": "t", "partition": 1, "next": 0}]
    cluster = Cluster({})
    made = KafkaEnumerator(source(), cluster)
    made.notify_checkpoint_complete(splits)
    splits[0]["next"] = 6
    made.notify_checkpoint_complete(splits)
    made.notify_checkpoint_complete(splits)
    assert cluster.told == [{("t", 0): 4, ("t", 1): 0}, {("t", 0): 6}]
    KafkaEnumerator(source(commit_offsets_on_checkpoint="false"), cluster).notify_checkpoint_complete(splits)
    assert len(cluster.told) == 2


# Java: ((topic.hashCode() * 31) & 0x7FFFFFFF) % readers is where a topic starts. "hello".hashCode() is 99162322, and
# "Aa" and "BB" have the same.
OWNERS = [("t", 0, 5, 1), ("t", 1, 5, 2), ("Aa", 2, 4, 2), ("BB", 2, 4, 2), ("hello", 0, 5, 4)]


@pytest.mark.parametrize(("topic", "partition", "parallelism", "owner"), OWNERS)
def test_who_reads_a_partition(topic: str, partition: int, parallelism: int, owner: int) -> None:
    made = KafkaEnumerator(source(), Cluster({}))
    assert made.owner({"topic": topic, "partition": partition}, parallelism) == owner


def test_the_source_of_the_old_kind() -> None:
    made = FlinkKafkaConsumer("t", TEXT, {"bootstrap.servers": "127.0.0.1:1", "group.id": "g"})
    wanted = Subscription.of(made)
    assert (wanted.topics, wanted.starting, wanted.commits) == (("t",), RULE.committed_offsets(RESET.LATEST), True)
    assert (wanted.bounded, wanted.interval, wanted.stopping) == (False, 0, None)
    starts = {
        made.set_start_from_earliest: RULE.earliest(),
        made.set_start_from_latest: RULE.latest(),
        lambda: made.set_start_from_timestamp(5): RULE.timestamp(5),
    }
    for call, rule in starts.items():
        assert Subscription.of(call()).starting == rule
    assert not Subscription.of(made.set_commit_offsets_on_checkpoints(False)).commits
    assert unsupported_source(made) is None


PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="a\\"b;c";'
SETTINGS: list[tuple[dict[str, str], dict[str, str]]] = [
    ({"linger.ms": "7", "max.request.size": "9"}, {"linger.ms": "7", "message.max.bytes": "9"}),
    ({"key.deserializer": "x", "max.poll.records": "5", "partition.discovery.interval.ms": "1"}, {}),
    ({"security.protocol": "SASL_PLAINTEXT"}, {"security.protocol": "sasl_plaintext"}),
    ({"client.id.prefix": "mine"}, {"client.id": "mine"}),
    ({"sasl.jaas.config": PLAIN}, {"sasl.username": "me", "sasl.password": 'a"b;c'}),
    ({"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca"}, {"ssl.ca.location": "/ca"}),
    (
        {"ssl.keystore.type": "pem", "ssl.keystore.location": "/own"},
        {"ssl.certificate.location": "/own", "ssl.key.location": "/own"},
    ),
    ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
]


@pytest.mark.parametrize(("properties", "expected"), SETTINGS, ids=lambda each: ",".join(each))
def test_what_properties_of_java_mean(properties: dict[str, str], expected: dict[str, str]) -> None:
    assert client_settings(properties) == {"log_level": "0", "client.id": "compat", **expected}


def test_clients_do_as_those_of_java() -> None:
    assert consumer_settings({})["isolation.level"] == "read_uncommitted"
    assert consumer_settings({"isolation.level": "read_committed"})["isolation.level"] == "read_committed"
    assert producer_settings({})["partitioner"] == "murmur2_random"
    assert producer_settings({})["enable.idempotence"] == "true"
    assert "enable.idempotence" not in producer_settings({"acks": "1"})


class Mute(DeserializationSchema, SerializationSchema):
    def __init__(self) -> None:
        pass


def consumer(schema: Any = TEXT, **properties: str) -> KafkaSource:
    builder = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:1").set_topics("t")
    builder = builder.set_properties({name.replace("_", "."): value for name, value in properties.items()})
    return builder.set_value_only_deserializer(schema).build()


def pattern(text: str) -> KafkaSource:
    builder = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:1").set_topic_pattern(text)
    return builder.set_value_only_deserializer(TEXT).build()


def committed() -> KafkaSource:
    builder = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:1").set_topics("t")
    return builder.set_starting_offsets(RULE.committed_offsets()).set_value_only_deserializer(TEXT).build()


REFUSED: list[tuple[Any, str]] = [
    (consumer(Mute()), "Mute does not say how bytes become records"),
    (consumer(AvroRowDeserializationSchema(record_class="com.Order")), "AvroRowDeserializationSchema does not say"),
    (consumer(no_such_thing="1"), 'No such configuration property: "no.such.thing"'),
    (consumer(ssl_truststore_location="/store.jks"), r"ssl\.truststore\.location names a key store of Java"),
    (consumer(sasl_jaas_config="com.sun.security.auth.module.Krb5LoginModule required;"), "PlainLoginModule and Scram"),
    (pattern("orders-[a"), r"topic pattern 'orders-\[a'"),
    (committed(), "call set_group_id"),
    (consumer(partition_discovery_interval_ms="soon"), "a property has a value that it cannot have: .*'soon'"),
    (consumer(default_api_timeout_ms="soon"), "a property has a value that it cannot have: .*'soon'"),
    (source(RULE.offsets({KafkaTopicPartition("t", 1): -2})), "offsets count from 0, but there are t-1: -2"),
]


@pytest.mark.parametrize(("made", "message"), REFUSED, ids=[message[:24] for _, message in REFUSED])
def test_what_cannot_be_read_is_refused_before_the_start(cluster: Any, made: Any, message: str) -> None:
    env = cluster.environment(1)
    with pytest.raises(ProgramError, match=f"(?s)checked, but not run.*test_kafka.py.*{message}"):
        env.from_source(made, WatermarkStrategy.no_watermarks(), "k").execute_and_collect()
    assert not cluster.events


def sink(value: Any = TEXT, key: Any = None, topic: Any = "out", **properties: str) -> KafkaSink:
    builder = KafkaRecordSerializationSchema.builder().set_value_serialization_schema(value)
    builder = builder.set_topic_selector(topic) if callable(topic) else builder.set_topic(topic)
    if key is not None:
        builder = builder.set_key_serialization_schema(key)
    made = KafkaSink.builder().set_bootstrap_servers("127.0.0.1:1").set_record_serializer(builder.build())
    for name, text in properties.items():
        made = made.set_property(name.replace("_", "."), text)
    return made.build()


REFUSED_SINKS: list[tuple[Any, str]] = [
    (sink(Mute()), "Mute does not say how records become bytes"),
    (sink(key=AvroRowSerializationSchema(record_class="com.Order")), "AvroRowSerializationSchema does not say"),
    (sink(acks="perhaps"), "properties: Invalid value for configuration property"),
]


@pytest.mark.parametrize(("made", "message"), REFUSED_SINKS, ids=[message[:24] for _, message in REFUSED_SINKS])
def test_what_cannot_be_written_is_refused_before_the_start(cluster: Any, made: Any, message: str) -> None:
    env = cluster.environment(1)
    env.from_collection(["a"]).sink_to(made)
    with pytest.raises(ProgramError, match=f"(?s)checked, but not run.*{message}"):
        env.execute()
    assert not cluster.events


def test_a_record_as_key_value_topic_and_time() -> None:
    assert Publication.of(sink(key=TEXT)).message("a", 5) == ("out", b"a", b"a", 5)
    assert Publication.of(sink()).message("a", None) == ("out", None, b"a", None)
    assert Publication.of(sink()).message("a", -(1 << 63)) == ("out", None, b"a", None)
    assert Publication.of(sink(topic=lambda text: text)).message(Row("there", "a"), 5) == ("there", None, b"a", 5)


def test_the_sink_of_the_old_kind() -> None:
    made = FlinkKafkaProducer("out", TEXT, {"bootstrap.servers": "127.0.0.1:1"}, semantic=Semantic.EXACTLY_ONCE)
    assert unsupported_sink(made) is None
    assert Publication.of(made).exactly_once
    assert Publication.of(made).message("a", 5) == ("out", None, b"a", None)
    made.set_write_timestamp_to_kafka(True)
    assert Publication.of(made).message("a", 5) == ("out", None, b"a", 5)


@pytest.mark.parametrize("guarantee", list(DeliveryGuarantee))
def test_only_exactly_once_has_something_to_publish(guarantee: DeliveryGuarantee) -> None:
    from compat.compiler.spark.connectors.sinks import committer_of

    record = KafkaRecordSerializationSchema.builder().set_topic("t").set_value_serialization_schema(TEXT).build()
    made = KafkaSink.builder().set_bootstrap_servers("k").set_record_serializer(record)
    made = made.set_delivery_guarantee(guarantee).set_transactional_id_prefix("tx")
    assert (committer_of(made.build()) is not None) == (guarantee is DeliveryGuarantee.EXACTLY_ONCE)


class Message:
    """A message as the client library gives it."""

    def __init__(self, offset: int, value: bytes | None, timestamp: int | None = 5) -> None:
        self._offset, self._value, self._timestamp = offset, value, timestamp

    def offset(self) -> int:
        return self._offset

    def value(self) -> bytes | None:
        return self._value

    def timestamp(self) -> tuple[int, int]:
        return (0, -1) if self._timestamp is None else (1, self._timestamp)


def test_messages_become_records(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = [Message(4, b"a"), Message(5, None), Message(7, b"b", None)]
    monkeypatch.setattr(KafkaReader, "_consume", lambda *arguments: iter([messages]))
    split = {"id": "t-0", "topic": "t", "partition": 0, "next": 4, "to": 9, "end": 8}
    read = KafkaReader(source()).read(split, 4)
    assert (read.values, read.timestamps, read.done) == (["a", "b"], [5, None], True)
    assert read.split == {"id": "t-0", "topic": "t", "partition": 0, "next": 8, "end": 8}
    messages.append(Message(8, b"\xff"))
    with pytest.raises(ValueError, match=r"Partition 0 of topic 't': the record at offset 8 cannot be read"):
        KafkaReader(source()).read(split, 4)


def test_a_client_that_failed_is_not_used_again() -> None:
    made = []

    def make(settings: dict[str, Any]) -> object:
        made.append(settings)
        return object()

    pool = Pool(make, {"a": "1"})

    def fail() -> None:
        with pool.borrowed() as third:
            assert third in (first, second)
            raise RuntimeError

    with pool.borrowed() as first, Pool(make, {"a": "1"}).borrowed() as second:
        assert first is not second
    with pytest.raises(RuntimeError):
        fail()
    with pool.borrowed() as fourth, pool.borrowed() as fifth:
        assert len({first, second} & {fourth, fifth}) == 1
    assert made == [{"a": "1"}] * 3


def test_clients_end_with_the_process() -> None:
    class Client:
        closed = False

        def close(self) -> None:
            self.closed = True

    def make(settings: dict[str, Any]) -> Client:
        return Client()

    with Pool(make, {"b": "2"}).borrowed() as kept:
        pass
    Pool.close_all()
    assert kept.closed
    with Pool(make, {"b": "2"}).borrowed() as another:
        assert another is not kept
