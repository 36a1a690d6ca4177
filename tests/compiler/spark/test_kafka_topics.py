"""Kafka with a real broker: each record once, in the order of its partition, whatever fails and wherever it goes on."""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream.common.serialization import SimpleStringSchema
from compat.compiler.datastream.common.types import Row
from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.connectors.base import DeliveryGuarantee
from compat.compiler.datastream.connectors.kafka import (
    FlinkKafkaConsumer,
    FlinkKafkaProducer,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
    Semantic,
)
from compat.compiler.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from compat.compiler.datastream.functions import KeyedProcessFunction, ProcessFunction
from compat.compiler.spark.connectors.kafka import sink as kafka_sink
from compat.compiler.spark.connectors.kafka.sink import ProducingWriter, TransactionCommitter
from compat.compiler.spark.driver.failures import JobFailed
from compat.compiler.spark.task.epochs import EpochLost, InProcessRunner
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.descriptors import ValueStateDescriptor
from compat.state.types import Types
from tests import needs
from tests.compiler.spark.crashes import CrashingJob, below
from tests.compiler.spark.faults import Killed, failing
from tests.compiler.spark.kafka_broker import KafkaBroker, NoBroker
from tests.needs import Need

TEXT = SimpleStringSchema()
RULE = KafkaOffsetsInitializer
NONE = WatermarkStrategy.no_watermarks()
SHAPES = pytest.mark.parametrize(("parallelism", "epoch_records"), [(1, None), (2, 7), (5, 20)])
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """One for all tests, each of which has topics of its own."""
    try:
        made = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    except NoBroker as error:
        needs.without(Need.MAVEN, error)
    yield made
    made.close()


def source(broker: KafkaBroker, *topics: str, stop: Any = None, schema: Any = TEXT) -> KafkaSourceBuilder:
    builder = KafkaSource.builder().set_bootstrap_servers(broker.servers).set_value_only_deserializer(schema)
    if topics:
        builder = builder.set_topics(*topics)
    return builder.set_bounded(stop or RULE.latest())


def read(env: Any, made: Any) -> list[Any]:
    return list(env.from_source(made, NONE, "kafka").execute_and_collect())


def filled(broker: KafkaBroker, counts: list[int]) -> str:
    """A topic with so many records in each partition: letter of the partition, number of the record; a second apart."""
    topic = broker.topic(len(counts))
    for partition, count in enumerate(counts):
        broker.put(topic, partition, [(f"{'abcdefgh'[partition]}{n}", 1_000_000 + 1_000 * n) for n in range(count)])
    return topic


def by_partition(values: list[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for value in values:
        found[value[0]].append(int(value[1:]))
    return dict(found)


class Told(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timestamp()


@SHAPES
def test_each_record_once_in_order_with_its_time(
    cluster: Any, broker: KafkaBroker, parallelism: int, epoch_records: int | None
) -> None:
    topic = filled(broker, [40, 0, 25, 1])
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    stream = env.from_source(source(broker, topic).build(), NONE, "kafka").process(Told(), PAIR)
    found = list(stream.execute_and_collect())
    assert by_partition([value for value, _ in found]) == {"a": [*range(40)], "c": [*range(25)], "d": [0]}
    assert all(timestamp == 1_000_000 + 1_000 * int(value[1:]) for value, timestamp in found)
    sizes = [event["records"] for event in cluster.events if event["event"] == "checkpoint"]
    assert sum(sizes) == 66
    assert max(sizes) <= (epoch_records or 66)


def test_where_reading_starts_and_stops(cluster: Any, broker: KafkaBroker) -> None:
    topic = filled(broker, [6, 3])
    first, second = KafkaTopicPartition(topic, 0), KafkaTopicPartition(topic, 1)
    for start, stop, expected in (
        (RULE.earliest(), RULE.latest(), {"a": [*range(6)], "b": [0, 1, 2]}),
        (RULE.latest(), RULE.latest(), {}),
        (RULE.timestamp(1_001_500), RULE.timestamp(1_004_000), {"a": [2, 3], "b": [2]}),
        (RULE.offsets({first: 4, second: 0}), RULE.offsets({first: 5, second: 2}), {"a": [4], "b": [0, 1]}),
        (RULE.offsets({first: 99, second: 1}), RULE.latest(), {"a": [*range(6)], "b": [1, 2]}),
    ):
        made = source(broker, topic, stop=stop).set_starting_offsets(start).build()
        assert by_partition(read(cluster.environment(2, epoch_records=4), made)) == expected, (start, stop)


def test_topics_by_pattern_and_single_partitions(cluster: Any, broker: KafkaBroker) -> None:
    topics = [filled(broker, [2, 2]), filled(broker, [3])]
    pattern = "|".join(topics)
    assert Counter(read(cluster.environment(2), source(broker).set_topic_pattern(pattern).build())) == {
        "a0": 2, "a1": 2, "a2": 1, "b0": 1, "b1": 1,
    }  # fmt: skip
    chosen = source(broker).set_partitions({KafkaTopicPartition(topics[0], 1)}).build()
    assert read(cluster.environment(2), chosen) == ["b0", "b1"]
    with pytest.raises(JobFailed, match="no-such-topic is not on the Kafka brokers"):
        read(cluster.environment(2), source(broker, "no-such-topic").build())


def test_a_group_is_told_and_goes_on_where_it_was(cluster: Any, broker: KafkaBroker) -> None:
    topic = filled(broker, [5])
    made = source(broker, topic).set_group_id(f"g-{topic}").set_starting_offsets(RULE.committed_offsets(_earliest()))
    assert read(cluster.environment(1), made.build()) == [f"a{n}" for n in range(5)]
    end = time.monotonic() + 20
    while broker.committed(f"g-{topic}", topic) != 5:
        assert time.monotonic() < end
        time.sleep(0.05)
    broker.put(topic, 0, ["a5"])
    assert read(cluster.environment(1), made.build()) == ["a5"]


def _earliest() -> Any:
    from compat.compiler.datastream.connectors.kafka import KafkaOffsetResetStrategy

    return KafkaOffsetResetStrategy.EARLIEST


def test_a_stream_finds_new_records_and_new_partitions(cluster: Any, broker: KafkaBroker) -> None:
    topic = filled(broker, [2])
    made = KafkaSource.builder().set_bootstrap_servers(broker.servers).set_topics(topic)
    made = made.set_value_only_deserializer(TEXT).set_property("partition.discovery.interval.ms", "50")
    stream = cluster.environment(2).from_source(made.build(), NONE, "kafka")
    with stream.execute_and_collect() as records:
        assert [next(records), next(records)] == ["a0", "a1"]
        broker.put(topic, 0, ["a2"])
        assert next(records) == "a2"
        broker.add_partitions(topic, 2)
        broker.put(topic, 1, ["b0"])
        assert next(records) == "b0"


def test_the_end_at_which_reading_starts_is_settled_at_once(cluster: Any, broker: KafkaBroker) -> None:
    topic = filled(broker, [3])

    def records() -> Any:
        made = KafkaSource.builder().set_bootstrap_servers(broker.servers).set_topics(topic)
        made = made.set_value_only_deserializer(TEXT).set_starting_offsets(RULE.latest()).build()
        return cluster.environment(1, program="job.py").from_source(made, NONE, "kafka").execute_and_collect()

    records()
    end = time.monotonic() + 20
    while cluster.last.master.job.coordinator.epoch == 0:
        assert time.monotonic() < end
        time.sleep(0.01)
    cluster.last.master.abandon()
    cluster.last._thread.join()
    broker.put(topic, 0, ["a3"])
    with records() as found:
        assert next(found) == "a3"


def test_transactions_leave_gaps(cluster: Any, broker: KafkaBroker) -> None:
    from confluent_kafka import Producer

    topic = broker.topic(1)
    producer = Producer({"bootstrap.servers": broker.servers, "transactional.id": topic})
    producer.init_transactions()
    for number in range(6):
        producer.begin_transaction()
        producer.produce(topic, f"a{number}")
        producer.flush()
        _ = producer.abort_transaction() if number % 2 else producer.commit_transaction()
    for epoch_records in (None, 1, 3):
        for level, expected in (("read_uncommitted", range(6)), ("read_committed", range(0, 6, 2))):
            made = source(broker, topic).set_property("isolation.level", level).build()
            env = cluster.environment(1, epoch_records=epoch_records)
            assert read(env, made) == [f"a{number}" for number in expected], (epoch_records, level)


def test_what_retention_took_is_told(cluster: Any, broker: KafkaBroker) -> None:
    topic = filled(broker, [10])

    def run(**options: Any) -> Iterator[Any]:
        env = cluster.environment(1, epoch_records=4, **options)
        made = source(broker, topic).set_property("auto.offset.reset", reset).build() if reset else None
        stream = env.from_source(made or source(broker, topic).build(), NONE, "kafka").uid("kafka")
        return stream.execute_and_collect()

    reset = ""
    assert list(run(epochs=1)) == [f"a{n}" for n in range(4)]
    savepoint = cluster.last.master.job.savepoint
    broker.delete_before(topic, 0, 6)
    told = f"(?s)Partition 0 of topic '{topic}' has the offsets 6 to 9, but the job stands at 4: 2 records were deleted"
    with pytest.raises(JobFailed, match=told):
        list(run(savepoint=savepoint))
    reset = "earliest"
    assert list(run(savepoint=savepoint)) == [f"a{n}" for n in range(6, 10)]


def test_a_record_that_cannot_be_read_is_named(cluster: Any, broker: KafkaBroker) -> None:
    topic = broker.topic(1)
    rows = Types.ROW_NAMED(["n"], [Types.LONG()])
    broker.put(topic, 0, [json.dumps({"n": 1}), "{"])
    made = source(broker, topic, schema=JsonRowDeserializationSchema.builder().type_info(rows).build()).build()
    with pytest.raises(JobFailed, match=f"Partition 0 of topic '{topic}': the record at offset 1 cannot be read"):
        read(cluster.environment(1), made)


def test_brokers_that_do_not_answer(cluster: Any) -> None:
    made = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:1").set_topics("t").set_value_only_deserializer(TEXT)
    made = made.set_property("default.api.timeout.ms", "300").build()
    with pytest.raises(JobFailed, match=r"The Kafka brokers 127\.0\.0\.1:1 cannot be asked"):
        read(cluster.environment(1), made)


def test_who_may_read_says_so_as_in_java(cluster: Any, broker: KafkaBroker) -> None:
    topic = filled(broker, [2])
    made = source(broker, topic).set_bootstrap_servers(broker.guarded).set_property("default.api.timeout.ms", "5000")
    made = made.set_property("security.protocol", "SASL_PLAINTEXT").set_property("sasl.mechanism", "PLAIN")
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    made = made.set_property("sasl.jaas.config", f'{module} username="me" password="secret";')
    assert read(cluster.environment(1), made.build()) == ["a0", "a1"]
    made = made.set_property("sasl.jaas.config", f'{module} username="me" password="wrong";')
    with pytest.raises(JobFailed, match="cannot be asked"):
        read(cluster.environment(1), made.build())


@pytest.mark.slow
def test_a_broker_that_is_restarted(cluster: Any, tmp_path: Path) -> None:
    try:
        broker = KafkaBroker(tmp_path)
    except NoBroker as error:
        needs.without(Need.MAVEN, error)
    try:
        topic = filled(broker, [2])
        made = KafkaSource.builder().set_bootstrap_servers(broker.servers).set_topics(topic)
        stream = cluster.environment(1).from_source(made.set_value_only_deserializer(TEXT).build(), NONE, "kafka")
        with stream.execute_and_collect() as records:
            assert [next(records), next(records)] == ["a0", "a1"]
            broker.close()
            time.sleep(1)
            broker.start()
            broker.put(topic, 0, ["a2"])
            assert next(records) == "a2"
    finally:
        broker.close()


class Count(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value[0]}:{count}"


def counting(
    cluster: Any,
    broker: KafkaBroker,
    topic: str,
    out: str,
    *,
    parallelism: int = 2,
    guarantee: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE,
    attempts: int = 3,
    first: Callable[[str], str] = str,
    **options: Any,
) -> None:
    """How often each first letter was seen, from a topic into another."""
    env = cluster.environment(parallelism, epoch_records=20, program="job.py", **options)
    env.enable_checkpointing(100)
    env.configure(_restarts(attempts))
    stream = env.from_source(source(broker, topic).build(), NONE, "in").uid("in").map(first, Types.STRING()).uid("map")
    counted = stream.key_by(lambda value: value[0], Types.STRING()).process(Count(), Types.STRING()).uid("count")
    record = KafkaRecordSerializationSchema.builder().set_topic(out).set_value_serialization_schema(TEXT)
    sink = KafkaSink.builder().set_bootstrap_servers(broker.servers).set_record_serializer(record.build())
    sink = sink.set_delivery_guarantee(guarantee).set_transactional_id_prefix("tx")
    counted.sink_to(sink.build()).uid("out")
    env.execute("counting")


def _restarts(attempts: int) -> Any:
    from compat.compiler.datastream.common.configuration import Configuration

    configuration = Configuration()
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.attempts", str(attempts))
    configuration.set_string("restart-strategy.fixed-delay.delay", "1 ms")
    return configuration


COUNTS = [50, 30, 20]
EXPECTED = Counter(f"{letter}:{n}" for letter, count in zip("abc", COUNTS, strict=True) for n in range(1, count + 1))


def written(broker: KafkaBroker, out: str) -> Counter[str]:
    return Counter(message.value().decode() for message in broker.records(out))


def test_a_savepoint_is_restored_with_another_parallelism(cluster: Any, broker: KafkaBroker) -> None:
    topic, out = filled(broker, COUNTS), broker.topic(2)
    counting(cluster, broker, topic, out, epochs=2)
    assert sum(written(broker, out).values()) == 40
    broker.add_partitions(topic, 4)
    broker.put(topic, 3, ["d0", "d1"])
    counting(cluster, broker, topic, out, parallelism=3, savepoint=cluster.last.master.job.savepoint)
    assert written(broker, out) == EXPECTED + Counter(["d:1", "d:2"])


@pytest.mark.parametrize(
    "guarantee",
    [DeliveryGuarantee.EXACTLY_ONCE, pytest.param(DeliveryGuarantee.AT_LEAST_ONCE, marks=pytest.mark.slow)],
)
def test_a_function_that_fails_once(
    cluster: Any, broker: KafkaBroker, tmp_path: Path, guarantee: DeliveryGuarantee
) -> None:
    topic, out = filled(broker, COUNTS), broker.topic(2)
    failed = tmp_path / "failed"

    def fragile(value: str) -> str:
        if value == "a25" and not failed.exists():
            failed.touch()
            raise RuntimeError("once")
        return value

    counting(cluster, broker, topic, out, guarantee=guarantee, first=fragile)
    assert [event["event"] for event in cluster.events].count("restarting") == 1
    found = written(broker, out)
    assert found.keys() == EXPECTED.keys()
    if guarantee is DeliveryGuarantee.EXACTLY_ONCE:
        assert found == EXPECTED
        assert not list(cluster.directory.rglob("*.arrow"))


STEPS: dict[str, tuple[Any, str, bool]] = {
    "before the commit": (SnapshotLog, "_write", False),
    "between commit and publication": (TransactionCommitter, "commit", False),
    "in the transaction": (kafka_sink, "_abort", False),
    "after the publication": (TransactionCommitter, "commit", True),
}


@pytest.mark.parametrize("call", [pytest.param(1, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize(
    "step",
    [
        pytest.param("before the commit", marks=pytest.mark.slow),
        "between commit and publication",
        "in the transaction",
        pytest.param("after the publication", marks=pytest.mark.slow),
    ],
)
def test_a_driver_that_dies_is_followed_by_another(
    cluster: Any, broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch, step: str, call: int
) -> None:
    topic, out = filled(broker, COUNTS), broker.topic(2)
    owner, name, after = STEPS[step]
    with monkeypatch.context() as patched:
        if step == "in the transaction":
            # Everything is produced, and nobody commits or aborts.
            patched.setattr(kafka_sink, "_abort", lambda producer: producer.flush())
            patched.setattr(kafka_sink, "_produce", failing(kafka_sink._produce, 20 * call, True, Killed()))
        else:
            patched.setattr(owner, name, failing(getattr(owner, name), call, after, Killed()))
        with pytest.raises(Killed):
            counting(cluster, broker, topic, out)
    first = cluster.last.master.job.job_id
    counting(cluster, broker, topic, out)
    assert cluster.last.master.job.job_id == first
    assert written(broker, out) == EXPECTED


@pytest.mark.slow
def test_an_epoch_that_is_lost_is_read_again(
    cluster: Any, broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, out = filled(broker, COUNTS), broker.topic(2)
    lost = failing(InProcessRunner.run, 2, True, EpochLost("a worker was killed"))
    monkeypatch.setattr(InProcessRunner, "run", lost)
    counting(cluster, broker, topic, out)
    assert written(broker, out) == EXPECTED


def test_a_topic_that_is_not_there_stops_the_sink_and_nothing_is_lost(cluster: Any, broker: KafkaBroker) -> None:
    topic, out = filled(broker, COUNTS), f"late-{time.time_ns()}"
    with pytest.raises(JobFailed, match=f"(?s)cannot be published.*the topic '{out}' cannot be written to"):
        counting(cluster, broker, topic, out, attempts=0)
    broker.topic(1, out)
    master = cluster.last.master
    counting(cluster, broker, topic, out, savepoint=str(master.job.store.directory(master.job.job_id)))
    assert written(broker, out) == EXPECTED


# The numbers are those of Kafka's own tests of murmur2.
HASHES = {"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536}


def test_keys_topics_and_times_of_records(cluster: Any, broker: KafkaBroker) -> None:
    topics = {name: broker.topic(7) for name in HASHES}
    rows = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])
    record = KafkaRecordSerializationSchema.builder().set_topic_selector(lambda row: topics[row.name])
    record = record.set_key_serialization_schema(_NameOf()).set_value_serialization_schema(
        JsonRowSerializationSchema.builder().with_type_info(rows).build()
    )
    sink = KafkaSink.builder().set_bootstrap_servers(broker.servers).set_record_serializer(record.build())
    for guarantee in (DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.EXACTLY_ONCE):
        env = cluster.environment(2)
        stream = env.from_collection([Row(name, n) for n, name in enumerate(HASHES)], rows)
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(_Numbered())
        stream = stream.assign_timestamps_and_watermarks(strategy)
        made = sink.set_delivery_guarantee(guarantee).set_transactional_id_prefix("keys").build()
        stream.sink_to(made)
        env.execute()
    for n, (name, topic) in enumerate(topics.items()):
        found = broker.records(topic)
        assert [json.loads(message.value()) for message in found] == [{"name": name, "n": n}] * 2
        assert {message.key() for message in found} == {name.encode()}
        assert {message.timestamp()[1] for message in found} == {1_000 + n}
        assert {message.partition() for message in found} == {(HASHES[name] & 0x7FFFFFFF) % 7}


class _NameOf(SimpleStringSchema):
    def serialize(self, element: Any) -> bytes:
        return element.name.encode()


class _Numbered:
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return 1_000 + int(value.n)


def test_a_record_that_is_too_large_is_named(cluster: Any, broker: KafkaBroker) -> None:
    out = broker.topic(1)
    record = KafkaRecordSerializationSchema.builder().set_topic(out).set_value_serialization_schema(TEXT)
    sink = KafkaSink.builder().set_bootstrap_servers(broker.servers).set_record_serializer(record.build())
    env = cluster.environment(1)
    env.from_collection(["small", "x" * 2_000_000], Types.STRING()).sink_to(sink.build())
    with pytest.raises(JobFailed, match=r"(?s)'xxx.*Message size too large"):
        env.execute()


def test_records_that_the_brokers_refuse_fail_the_epoch(broker: KafkaBroker) -> None:
    schema = KafkaRecordSerializationSchema.builder().set_topic("no-such-topic").set_value_serialization_schema(TEXT)
    sink = KafkaSink.builder().set_bootstrap_servers(broker.servers).set_record_serializer(schema.build())
    made = ProducingWriter(kafka_sink.Publication.of(sink.set_property("delivery.timeout.ms", "2000").build()))
    made.write("a", None)
    with pytest.raises(ConnectionError, match="1 records did not reach Kafka: "):
        made.prepare_commit()


def test_the_connectors_of_the_old_kind(cluster: Any, broker: KafkaBroker) -> None:
    topic, out = filled(broker, [4]), broker.topic(1)
    for semantic in (Semantic.AT_LEAST_ONCE, Semantic.EXACTLY_ONCE):
        env = cluster.environment(1, epochs=1)
        consumer = FlinkKafkaConsumer(topic, TEXT, {"bootstrap.servers": broker.servers}).set_start_from_earliest()
        producer = FlinkKafkaProducer(out, TEXT, {"bootstrap.servers": broker.servers}, semantic=semantic)
        producer.set_write_timestamp_to_kafka(True)
        env.add_source(consumer, type_info=Types.STRING()).add_sink(producer)
        env.execute()
    found = [(message.value(), message.timestamp()[1]) for message in broker.records(out)]
    assert found == [(f"a{n}".encode(), 1_000_000 + 1_000 * n) for n in range(4)] * 2


@pytest.mark.slow
def test_a_faulty_store_does_not_publish(cluster: Any, broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    topic, out = filled(broker, COUNTS), broker.topic(1)
    full = StoreError("The store cannot be written: No space left on device.")
    with monkeypatch.context() as patched:
        patched.setattr(SnapshotLog, "_write", failing(SnapshotLog._write, 2, False, full))
        counting(cluster, broker, topic, out)
    assert re.search("No space left", str(cluster.events))
    assert written(broker, out) == EXPECTED


JOB = """
from pyflink.common import Types
from pyflink.common.serialization import SimpleStringSchema
from pyflink.common.watermark_strategy import WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer, KafkaRecordSerializationSchema, KafkaSink, KafkaSource)
from pyflink.datastream.state import ValueStateDescriptor

class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value[0]}:{count}"

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
env.enable_checkpointing(100)
source = KafkaSource.builder().set_bootstrap_servers("{servers}").set_topics("{topic}").set_group_id("{topic}")
source = source.set_value_only_deserializer(SimpleStringSchema()).set_bounded(KafkaOffsetsInitializer.latest()).build()
stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "in").uid("in")
counted = stream.key_by(lambda value: value[0], Types.STRING()).process(Count(), Types.STRING()).uid("count")
record = KafkaRecordSerializationSchema.builder().set_topic("{out}")
record = record.set_value_serialization_schema(SimpleStringSchema()).build()
sink = KafkaSink.builder().set_bootstrap_servers("{servers}").set_record_serializer(record)
sink = sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix("tx").build()
counted.sink_to(sink).uid("out")
env.execute("counting")
"""


def crashing(folder: Path, broker: KafkaBroker, topic: str, out: str, epoch_records: int) -> CrashingJob:
    """The job, run by ``compat job run`` on Spark, under which processes are killed."""
    job = CrashingJob(folder, 0, ("--epoch-records", str(epoch_records)))
    text = JOB.replace("{servers}", broker.servers).replace("{topic}", topic).replace("{out}", out)
    job.program.write_text(text)
    return job


@pytest.mark.spark
def test_on_spark_with_a_worker_that_is_killed(tmp_path: Path, broker: KafkaBroker) -> None:
    topic, out = filled(broker, [500, 300]), broker.topic(2)
    job = crashing(tmp_path, broker, topic, out, 100)
    job.start()
    try:
        job.wait_for(3)
        assert job.kill(below(job.pid, "-m compat.compiler.spark.driver.daemon")[-1:])
        job.finish()
        expected = {f"{letter}:{n}" for letter, count in (("a", 500), ("b", 300)) for n in range(1, count + 1)}
        assert written(broker, out) == Counter(expected)
        assert job.starts == 1
    finally:
        job.close()


@pytest.mark.slow
@pytest.mark.spark
def test_on_spark_whoever_is_killed(tmp_path: Path, broker: KafkaBroker) -> None:
    seed = int(os.environ.get("CRASH_SEED", time.time()))
    print(f"CRASH_SEED={seed}")
    random.seed(seed)
    topic, out = filled(broker, [9_000, 5_000]), broker.topic(2)
    job = crashing(tmp_path, broker, topic, out, 200)
    kills: Counter[str] = Counter()
    job.start()
    try:
        for _ in range(20):
            if not job.running:
                assert job.process is not None
                assert job.process.returncode < 0, job.said()
                job.start()
            job.wait_for(random.choice([0, 1, 2, 4]))
            time.sleep(random.uniform(0, 0.5))
            what = random.choice(["driver", "driver", "worker"])
            found = [job.pid] if what == "driver" else below(job.pid, "-m compat.compiler.spark.driver.daemon")
            if found and job.kill([random.choice(found)]):
                kills[what] += 1
            if what == "driver":
                assert job.process is not None
                job.process.wait()
        job.finish(timeout=1200)
        expected = {f"{letter}:{n}" for letter, count in (("a", 9_000), ("b", 5_000)) for n in range(1, count + 1)}
        assert written(broker, out) == Counter(expected)
        print(f"nothing lost, nothing doubled; killed: {dict(kills)}")
    finally:
        job.close()
