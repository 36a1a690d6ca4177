"""Sources and sinks: what they remember, the operators they become, what they refuse."""

import importlib

import pytest

from compat.compiler.datastream import connectors
from compat.compiler.datastream.common.serialization import Encoder, SimpleStringSchema
from compat.compiler.datastream.common.time import Duration
from compat.compiler.datastream.connectors.base import DeliveryGuarantee, Sink, Source
from compat.compiler.datastream.connectors.cassandra import CassandraSink
from compat.compiler.datastream.connectors.delta import DeltaSink, DeltaSource
from compat.compiler.datastream.connectors.dynamic_kafka import DynamicKafkaSource, SingleClusterTopicMetadataService
from compat.compiler.datastream.connectors.elasticsearch import (
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
)
from compat.compiler.datastream.connectors.file_system import (
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    FileSource,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
)
from compat.compiler.datastream.connectors.hybrid_source import HybridSource
from compat.compiler.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink
from compat.compiler.datastream.connectors.kafka import (
    FlinkKafkaConsumer,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from compat.compiler.datastream.connectors.kinesis import (
    FlinkKinesisConsumer,
    KinesisFirehoseSink,
    KinesisStreamsSink,
    PartitionKeyGenerator,
)
from compat.compiler.datastream.connectors.number_seq import NumberSequenceSource
from compat.compiler.datastream.connectors.pulsar import PulsarSink, PulsarSource, StartCursor, StopCursor
from compat.compiler.datastream.connectors.rabbitmq import RMQConnectionConfig, RMQSource
from compat.compiler.datastream.formats.csv import CsvBulkWriters, CsvSchema
from compat.compiler.errors import FlinkError
from compat.compiler.transformations.partitioners import FORWARD, REBALANCE
from compat.state.types import Types

TEXT = SimpleStringSchema()


def rows():
    return FileSink.for_row_format("/out", Encoder.simple_string_encoder())


def columns():
    return CsvBulkWriters.for_schema(CsvSchema.builder().add_string_column("a").build())


def compaction():
    return FileCompactStrategy.builder().set_size_threshold(1024)


def kafka_source():
    return KafkaSource.builder().set_bootstrap_servers("k:9092").set_topics("in").set_value_only_deserializer(TEXT)


def record(**topic):
    builder = KafkaRecordSerializationSchema.builder().set_value_serialization_schema(TEXT)
    return builder.set_topic("out") if not topic else builder.set_topic_selector(topic["selector"])


def kafka_sink():
    return KafkaSink.builder().set_bootstrap_servers("k:9092").set_record_serializer(record().build())


def pulsar_source():
    return (
        PulsarSource.builder()
        .set_service_url("pulsar://p")
        .set_topics("in")
        .set_subscription_name("s")
        .set_deserialization_schema(TEXT)
    )


def steps(sink: Sink) -> list[str]:
    topology = sink.topology()
    parts = (*topology.pre_write, topology.writer, *topology.pre_commit, topology.committer, *topology.post_commit)
    return [part.name for part in parts if part is not None]


SINKS = [
    (rows(), ["Writer", "Committer"]),
    (rows().enable_compact(compaction().build(), FileCompactor.concat_file_compactor(b"\n")),
     ["Writer", "CompactorCoordinator", "CompactorOperator", "Committer"]),
    (rows().disable_compact(),
     ["Writer", "CompactorCoordinatorPlaceHolder", "CompactorOperatorPlaceHolder", "Committer"]),
    (FileSink.for_bulk_format("/out", columns()), ["Writer", "Committer"]),
    (kafka_sink(), ["Writer", "Committer"]),
    (Elasticsearch7SinkBuilder().set_emitter(ElasticsearchEmitter.static_index("i")).set_hosts(["h:9200"]), ["Writer"]),
    (Elasticsearch6SinkBuilder().set_emitter(ElasticsearchEmitter.dynamic_index("f")).set_hosts("h:9200"), ["Writer"]),
    (KinesisStreamsSink.builder().set_stream_name("s").set_serialization_schema(TEXT)
     .set_partition_key_generator(PartitionKeyGenerator.random()), ["Writer"]),
    (KinesisFirehoseSink.builder().set_delivery_stream_name("s").set_serialization_schema(TEXT), ["Writer"]),
    (PulsarSink.builder().set_service_url("u").set_topics("t").set_serialization_schema(TEXT), ["Writer", "Committer"]),
    (DeltaSink.for_row_data("/table"), ["Writer", "Committer"]),
]  # fmt: skip


@pytest.mark.parametrize(("builder", "expected"), SINKS)
def test_the_operators_of_a_sink(builder, expected) -> None:
    sink = builder.build()
    assert steps(sink) == expected
    operator = sink.topology().writer.operator
    assert (operator.factory, operator.yielding, operator.function) == ("SinkWriterOperatorFactory", True, sink)


def test_compaction_stands_between_writer_and_committer() -> None:
    sink = rows().enable_compact(compaction().build(), FileCompactor.identical_file_compactor()).build()
    coordinator, compactor = sink.topology().pre_commit
    assert (coordinator.uid, coordinator.parallelism, coordinator.partitioner, coordinator.operator.factory) == (
        "FileSinkCompactorCoordinator",
        1,
        REBALANCE,
        "CompactCoordinatorFactory",
    )
    assert (compactor.uid, compactor.parallelism, compactor.partitioner, compactor.operator.factory) == (
        "FileSinkCompactorOperator",
        None,
        None,
        "CompactorOperatorFactory",
    )


def test_disabled_compaction_leaves_place_holders_with_the_same_uids() -> None:
    placeholders = rows().disable_compact().build().topology().pre_commit
    assert [(step.uid, step.partitioner) for step in placeholders] == [
        ("FileSinkCompactorCoordinator", FORWARD),
        ("FileSinkCompactorOperator", FORWARD),
    ]


def test_kafka_with_exactly_once_is_co_located_by_its_prefix() -> None:
    exactly_once = kafka_sink().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    assert exactly_once.set_transactional_id_prefix("tx").build().topology().co_location_group == "tx"
    topology = kafka_sink().set_transactional_id_prefix("tx").build().topology()
    assert topology.co_location_group is None
    assert topology.supports_post_commit


SOURCES = [
    (NumberSequenceSource(1, 5), True, "Long"),
    (FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/in").build(), True, "String"),
    (FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/in")
     .monitor_continuously(Duration.of_seconds(1)).build(), False, "String"),
    (kafka_source().build(), False, "String"),
    (kafka_source().set_bounded(KafkaOffsetsInitializer.latest()).build(), True, "String"),
    (kafka_source().set_unbounded(KafkaOffsetsInitializer.timestamp(5)).build(), False, "String"),
    (pulsar_source().set_start_cursor(StartCursor.latest()).build(), False, "String"),
    (pulsar_source().set_bounded_stop_cursor(StopCursor.latest()).build(), True, "String"),
    (DynamicKafkaSource.builder().set_stream_ids({"s"}).set_value_only_deserializer(TEXT)
     .set_kafka_metadata_service(SingleClusterTopicMetadataService("c", {})).build(), False, "String"),
    (HybridSource.builder(NumberSequenceSource(1, 2)).add_source(kafka_source().build()).build(), False, "Long"),
    (DeltaSource.for_bounded_row_data("/t").version_as_of(3).row_type(Types.ROW([Types.INT()])).build(), True,
     "Row(f0: Integer)"),
    (DeltaSource.for_continuous_row_data("/t").starting_version(0).build(), False, "PickledByteArrayTypeInfo"),
    (Source("com.acme.Source"), False, "PickledByteArrayTypeInfo"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "bounded", "produced"), SOURCES)
def test_what_a_source_says_of_itself(source: Source, bounded: bool, produced: str) -> None:
    assert source.bounded is bounded
    assert str(source.get_produced_type()) == produced
    assert source.describe()["bounded"] is bounded


REFUSALS = [
    (lambda: NumberSequenceSource(5, 1), "'from' must be <= 'to'"),
    (lambda: FileSource.for_record_stream_format(StreamFormat.text_line_format()), "paths must not be empty"),
    (lambda: FileCompactStrategy.builder().build(), "At least one trigger condition"),
    (lambda: FileCompactStrategy.builder().enable_compaction_on_checkpoint(0), "more than 0"),
    (lambda: FileCompactStrategy.builder().set_num_compact_threads(0), "more than 0"),
    (lambda: RollingPolicy.default_rolling_policy(part_size=0), "part_size"),
    (lambda: KafkaSource.builder().set_topics("t").build(), "bootstrap.servers is required"),
    (lambda: KafkaSource.builder().set_bootstrap_servers("k").build(), "No subscribe mode is specified"),
    (lambda: kafka_source().set_topic_pattern("x.*"), "topics is already set"),
    (lambda: KafkaSource.builder().set_bootstrap_servers("k").set_topics("t").build(), "value_only_deserializer"),
    (lambda: KafkaSink.builder().set_bootstrap_servers("k").build(), "record_serializer"),
    (lambda: KafkaSink.builder().set_record_serializer(record().build()).build(), "set_bootstrap_servers"),
    (lambda: kafka_sink().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build(), "transactionIdPrefix"),
    (lambda: record().set_topic("again"), "Topic selector already set"),
    (lambda: KafkaRecordSerializationSchema.builder().set_topic("t").build(), "No value serializer"),
    (lambda: HybridSource.builder(kafka_source().build()).add_source(NumberSequenceSource(1, 2)), "never ends"),
    (lambda: Elasticsearch7SinkBuilder().set_hosts("h").build(), "emitter is not set"),
    (lambda: Elasticsearch7SinkBuilder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE), "EXACTLY_ONCE"),
    (lambda: PulsarSource.builder().build(), "service_url is not set"),
    (lambda: KinesisStreamsSink.builder().build(), "stream_name is not set"),
    (lambda: JdbcConnectionOptions.JdbcConnectionOptionsBuilder().build(), "url is not set"),
    (lambda: RMQConnectionConfig.Builder().set_host("h").build(), "port can not be null"),
    (lambda: CassandraSink.add_sink(None).set_query("q").build(), "host information must be supplied"),
    (lambda: DeltaSource.for_continuous_row_data("/t").version_as_of(1), "for bounded sources"),
    (lambda: DeltaSource.for_bounded_row_data("/t").starting_version(3).ending_version(2).build(), "is after"),
    (lambda: DeltaSource.for_bounded_row_data("/t").version_as_of(-1), "count from 0"),
]


@pytest.mark.parametrize(("make", "message"), REFUSALS)
def test_what_cannot_be_built_is_refused_with_what_to_do(make, message) -> None:
    with pytest.raises(FlinkError, match=message):
        make()


def test_bulk_formats_roll_at_checkpoints_only() -> None:
    with pytest.raises(ValueError, match="must be OnCheckpointRollingPolicy"):
        FileSink.for_bulk_format("/out", columns()).with_rolling_policy(RollingPolicy.default_rolling_policy())


def test_every_setting_is_remembered() -> None:
    names = OutputFileConfig.builder().with_part_prefix("p").with_part_suffix(".txt").build()
    policy = RollingPolicy.default_rolling_policy(1, 2, 3)
    sink = rows().with_output_file_config(names).with_rolling_policy(policy).with_bucket_check_interval(5).build()
    assert sink.settings["output_file_config"] == names
    assert sink.settings["rolling_policy"] == policy
    assert (sink.settings["base_path"], sink.settings["bucket_check_interval"]) == ("/out", 5)
    source = kafka_source().set_group_id("g").set_client_id_prefix("c").set_properties({"a": "b"}).build()
    assert source.settings["properties"] == {
        "bootstrap.servers": "k:9092",
        "group.id": "g",
        "client.id.prefix": "c",
        "a": "b",
    }


def test_secrets_are_not_shown() -> None:
    sink = (
        Elasticsearch7SinkBuilder()
        .set_emitter(ElasticsearchEmitter.static_index("i"))
        .set_hosts("h")
        .set_connection_password("hunter2")
        .build()
    )
    source = kafka_source().set_property("sasl.jaas.config", "hunter2").build()
    assert "hunter2" not in f"{sink!r} {sink.describe()} {source!r} {source.describe()}"
    assert sink.settings["connection_password"] == "hunter2"


def test_connectors_of_the_old_kind() -> None:
    consumer = FlinkKafkaConsumer("in", TEXT, {"group.id": "g"})
    consumer.set_start_from_earliest().set_commit_offsets_on_checkpoints(True)
    assert (consumer.settings["start"], consumer.parallel, str(consumer.get_produced_type())) == (
        "earliest",
        True,
        "String",
    )
    assert FlinkKinesisConsumer(["a"], TEXT, {}).parallel
    config = RMQConnectionConfig.Builder().set_uri("amqp://h").build()
    assert not RMQSource(config, "q", True, TEXT).parallel
    options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:x").with_password("p").build()
    sink = JdbcSink.sink("insert into t values (?)", Types.ROW([Types.INT()]), options)
    assert sink.settings["execution"] == JdbcExecutionOptions.defaults()
    assert options.get_db_url() == "jdbc:x"


class Stream:
    """A stream as far as transformers and the Cassandra sink use it."""

    def __init__(self):
        self.calls = []

    def get_type(self):
        return Types.STRING()

    def map(self, function, output_type):
        self.calls.append(("map", function("a"), str(output_type)))
        return self

    def _java(self, name, operator, output_type):
        self.calls.append((name, str(output_type)))
        return self

    def add_sink(self, function):
        self.calls.append(("add_sink", function.settings))
        return self

    def name(self, name):
        self.calls.append(("name", name))
        return self


def test_a_topic_selector_puts_a_map_before_the_sink() -> None:
    stream = Stream()
    sink = kafka_sink().set_record_serializer(record(selector=lambda value: f"topic-{value}").build()).build()
    sink.get_transformer().apply(stream)
    ((call, row, output_type),) = stream.calls
    assert (call, list(row), output_type) == ("map", ["topic-a", "a"], "Row(f0: String, f1: String)")


def test_rows_are_converted_before_a_sink_of_the_table_api() -> None:
    stream = Stream()
    FileSink.for_bulk_format("/out", columns()).build().get_transformer().apply(stream)
    assert stream.calls == [("Process", "GenericType<org.apache.flink.table.data.RowData>")]


def test_cassandra_is_named() -> None:
    stream = Stream()
    CassandraSink.add_sink(stream).set_query("q").set_host("h").build().name("mine")
    assert stream.calls == [
        ("add_sink", {"query": "q", "host": "h", "port": 9042}),
        ("name", "Cassandra Sink"),
        ("name", "mine"),
    ]


@pytest.mark.parametrize("name", sorted(connectors._HOME))
def test_the_package_gives_each_name(name: str) -> None:
    home = importlib.import_module(connectors._HOME[name])
    assert getattr(connectors, name) is getattr(home, name)
    assert name in home.__all__


def test_a_connectors_module_has_what_pyflinks_examples_import_from_it():
    from compat.compiler.datastream.connectors import base, kafka

    assert kafka.DeliveryGuarantee is base.DeliveryGuarantee
