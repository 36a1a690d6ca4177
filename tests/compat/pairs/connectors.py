"""CMP8xx: the settings of Kafka's source and sink."""

from __future__ import annotations

from tests.compat.pairs.model import BROKEN, OK, pair, under
from tests.compat.pairs.programs import DAY, value, window

_NO_CLUSTER = "it needs a Kafka cluster; restores beside one are in test_kafka_restores.py"
_IMPORTS = """import time

from pyflink.common import SimpleStringSchema
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)
"""
_BUILT = """KafkaSource.builder().set_bootstrap_servers("localhost:9092") \\
        {calls} \\
        .set_value_only_deserializer(SimpleStringSchema()).build()"""
_SINK = """KafkaSink.builder().set_bootstrap_servers("localhost:9092") \\
        .set_record_serializer(KafkaRecordSerializationSchema.builder().set_topic("out")
                               .set_value_serialization_schema(SimpleStringSchema()).build()) \\
        {calls} \\
        .build()"""


def reading(*calls: str) -> str:
    """A counter of what a Kafka source reads that is set by these calls of its builder."""
    program = value("L").replace("import time\n", _IMPORTS, 1)
    source = _BUILT.format(calls=" \\\n        ".join(calls))
    return program.replace("NumberSequenceSource(1, 10000000)", source).replace("map(slow, ", "map(len, ")


def writing(*calls: str, checkpoints: bool = True) -> str:
    """A counter that writes to a Kafka sink that is set by these calls of its builder."""
    settings = "env.set_parallelism(1)\n" + ("env.enable_checkpointing(1000)" if checkpoints else "")
    program = value("L", settings=settings).replace("import time\n", _IMPORTS, 1)
    return program.replace(".print()", f".sink_to({_SINK.format(calls=' '.join(calls))})")


_TOPIC, _TWO = '.set_topics("orders")', '.set_topics("orders", "returns")'
_LATEST = ".set_starting_offsets(KafkaOffsetsInitializer.latest())"
_EARLIEST = ".set_starting_offsets(KafkaOffsetsInitializer.earliest())"
_UNTIL_LATEST = ".set_unbounded(KafkaOffsetsInitializer.latest())"
_UNTIL_NOON = ".set_unbounded(KafkaOffsetsInitializer.timestamp(1700000000000))"


def _partitions(*numbers: int) -> str:
    listed = ", ".join(f'KafkaTopicPartition("orders", {number})' for number in numbers)
    return f".set_partitions({{{listed}}})"


def _pattern(text: str) -> str:
    return f'.set_topic_pattern("{text}")'


def _group(name: str) -> str:
    return f'.set_group_id("{name}")'


def _prefix(name: str) -> str:
    return f'.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix("{name}")'


def _guarantee(name: str) -> str:
    return f'.set_delivery_guarantee(DeliveryGuarantee.{name}).set_transactional_id_prefix("t")'


_READING = [
    ("kafka_same", (_TWO, _LATEST), (_TWO, _LATEST), OK),
    ("kafka_topics_in_another_order", (_TWO,), ('.set_topics("returns", "orders")',), OK),
    ("kafka_topic_dropped", (_TWO,), (_TOPIC,), BROKEN, "CMP801"),
    ("kafka_topic_renamed", (_TOPIC,), ('.set_topics("orders-2")',), BROKEN, "CMP801"),
    ("kafka_topic_to_pattern", (_TOPIC,), (_pattern("ord.*"),), OK),
    ("kafka_topic_to_pattern_of_others", (_TWO,), (_pattern("ord.*"),), BROKEN, "CMP801"),
    ("kafka_topic_to_its_partitions", (_TOPIC,), (_partitions(0, 1),), OK, "CMP801"),
    ("kafka_partitions_to_their_topic", (_partitions(0, 1),), (_TOPIC,), OK),
    ("kafka_partition_dropped", (_partitions(0, 1),), (_partitions(0),), BROKEN, "CMP801"),
    ("kafka_partition_added", (_partitions(0), _LATEST), (_partitions(0, 1), _LATEST), OK, "CMP802"),
    ("kafka_pattern_narrowed", (_pattern("ord.*"),), (_pattern("orders"),), OK, "CMP801"),
    ("kafka_pattern_widened", (_pattern("orders|carts"),), (_pattern("orders|carts|returns"),), OK),
    ("kafka_pattern_widened_from_latest", (_pattern("a"), _LATEST), (_pattern("a|b"), _LATEST), OK, "CMP802"),
    ("kafka_topic_added_from_latest", (_TOPIC, _LATEST), (_TWO, _LATEST), OK, "CMP802"),
    ("kafka_topic_added_from_earliest", (_TOPIC, _EARLIEST), (_TWO, _EARLIEST), OK),
    ("kafka_group_changed", (_TOPIC, _group("counts")), (_TOPIC, _group("again")), OK, "CMP803"),
    ("kafka_group_same", (_TOPIC, _group("counts")), (_TOPIC, _group("counts")), OK),
    ("kafka_start_changed", (_TOPIC, _LATEST), (_TOPIC, _EARLIEST), OK, "CMP803"),
    ("kafka_start_set_to_its_default", (_TOPIC,), (_TOPIC, _EARLIEST), OK),
    ("kafka_end_removed", (_TOPIC, _UNTIL_LATEST), (_TOPIC,), BROKEN, "CMP804"),
    ("kafka_end_added", (_TOPIC,), (_TOPIC, _UNTIL_LATEST), OK, "CMP804"),
    ("kafka_end_moved", (_TOPIC, _UNTIL_LATEST), (_TOPIC, _UNTIL_NOON), OK, "CMP804"),
    ("kafka_end_same", (_TOPIC, _UNTIL_LATEST), (_TOPIC, _UNTIL_LATEST), OK),
]

_WRITING = [
    ("kafka_prefix_changed", _prefix("counts"), _prefix("counts-2"), OK, "CMP805"),
    ("kafka_prefix_same", _prefix("counts"), _prefix("counts"), OK),
    ("kafka_prefix_of_no_transactions", _guarantee("NONE"), _guarantee("NONE").replace('"t"', '"u"'), OK),
    ("kafka_exactly_to_at_least_once", _guarantee("EXACTLY_ONCE"), _guarantee("AT_LEAST_ONCE"), OK, "CMP806"),
    ("kafka_exactly_once_to_none", _guarantee("EXACTLY_ONCE"), _guarantee("NONE"), OK, "CMP806"),
    ("kafka_at_least_to_exactly_once", _guarantee("AT_LEAST_ONCE"), _guarantee("EXACTLY_ONCE"), OK, "CMP806"),
    ("kafka_at_least_once_to_none", _guarantee("AT_LEAST_ONCE"), _guarantee("NONE"), OK, "CMP806"),
    ("kafka_at_least_once_same", _guarantee("AT_LEAST_ONCE"), _guarantee("AT_LEAST_ONCE"), OK),
    ("kafka_none_to_at_least_once", _guarantee("NONE"), _guarantee("AT_LEAST_ONCE"), OK),
]

_READ_ONCE, _LOOKING = "", ".monitor_continuously(Duration.of_millis({}))"
_OF_LINES = "FileSource.for_record_stream_format({format}, {paths}){looking}.build()"
_TEXT, _CSV = (
    "StreamFormat.text_line_format()",
    'CsvReaderFormat.for_schema(CsvSchema.builder().add_string_column("n").build())',
)
_READS = """import time

from pyflink.common import Duration
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat
from pyflink.datastream.formats.csv import CsvReaderFormat, CsvSchema
"""


def reading_files(looking: str = "", paths: str = '"in"', format: str = _TEXT) -> str:
    """A counter of the lines of files."""
    program = value("L").replace("import time\n", _READS, 1)
    source = _OF_LINES.format(format=format, paths=paths, looking=looking)
    program = program.replace("NumberSequenceSource(1, 10000000)", source)
    return program.replace("map(slow, ", "map(len, ")


_READING_FILES = [
    ("files_read_once_and_looked_for", (_READ_ONCE,), (_LOOKING.format(1000),), BROKEN, "CMP809"),
    ("files_looked_for_and_read_once", (_LOOKING.format(1000),), (_READ_ONCE,), OK),
    ("files_looked_for_less_often", (_LOOKING.format(1000),), (_LOOKING.format(60_000),), OK),
    ("files_looked_for_as_before", (_LOOKING.format(1000),), (_LOOKING.format(1000),), OK),
    ("files_read_once_from_two_folders", (_READ_ONCE,), (_READ_ONCE, '"in", "more"'), OK, "CMP810"),
    ("files_read_once_from_one_of_two", (_READ_ONCE, '"in", "more"'), (_READ_ONCE,), OK),
    ("files_looked_for_in_two_folders", (_LOOKING.format(1000),), (_LOOKING.format(1000), '"in", "more"'), OK),
    ("lines_read_as_csv", (_READ_ONCE,), (_READ_ONCE, '"in"', _CSV), OK),
]
_OF_FILES = "restores of jobs that read files are in tests/golden/random_restores"

_FILE_IMPORT = """import time

from pyflink.common import Encoder
from pyflink.datastream.connectors.file_system import FileSink
"""
_FILES = 'FileSink.for_row_format("out", Encoder.simple_string_encoder()).build()'


def publishing(uid: str, *, ignoring: bool = False) -> str:
    """A counter that writes files, whose program may tell Flink to ignore state that nobody takes."""
    option = 'env.configure(Configuration().set_string("execution.state-recovery.ignore-unclaimed-state", "true"))'
    settings = "env.set_parallelism(1)\n" + (option if ignoring else "")
    program = value("L", settings=settings).replace("import time\n", _FILE_IMPORT, 1)
    return program.replace('.print().uid("out")', f'.sink_to({_FILES}).uid("{uid}")')


_BY_OPTION = (
    "the program prints nothing; that the option is honoured is in Flink's SavepointRestoreSettings.fromConfiguration"
)

_CONSUMER = """FlinkKafkaConsumer("orders", SimpleStringSchema(), {"bootstrap.servers": "localhost:9092"})"""
_OLD_KIND = """import time

from pyflink.common import SimpleStringSchema
from pyflink.datastream.connectors.kafka import FlinkKafkaConsumer
"""
OF_THE_OLD_KIND = (
    value("L")
    .replace("import time\n", _OLD_KIND, 1)
    .replace(
        'env.from_source(NumberSequenceSource(1, 10000000), WatermarkStrategy.no_watermarks(), "numbers")',
        f"env.add_source({_CONSUMER})",
    )
    .replace("map(slow, ", "map(len, ")
)

_NO_CLASS = "the class is in flink-connector-kafka 3.4.0, and not in 4.0.1"
_ONLY_1_20 = "PyFlink 1.20 was not at hand; the graphs of such programs are in tests/golden/pyflink_api"
_RECORDED = "restores from 1.20 in 2.3 are in tests/golden/random_restores"
_UPGRADES = "PyFlink 1.20 was not at hand; Java's restores across versions are in the tests of the engine"


def text_file(other: bool = False) -> str:
    """Reads a file of text; after an ``other`` source, whose place in the graph the file's had."""
    first = 'env.from_collection([1]).print().uid("print")' if other else ""
    return f"""from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
{first}
env.read_text_file("lines.txt").uid("reader").map(len, Types.INT()).print()
env.execute()
"""


CONNECTORS = [
    pair(
        "files_left_behind",
        publishing("out"),
        publishing("output", ignoring=True),
        BROKEN,
        "CMP102",
        "CMP807",
        unrecorded=_BY_OPTION,
    ),
    under(
        pair("consumer_into_flink_2", OF_THE_OLD_KIND, OF_THE_OLD_KIND, BROKEN, "CMP604", unrecorded=_NO_CLASS),
        old_flink="1.20",
    ),
    under(pair("consumer_in_flink_1", OF_THE_OLD_KIND, OF_THE_OLD_KIND, OK, unrecorded=_NO_CLUSTER), flink="1.20"),
    under(pair("on_to_flink_2", value("L"), value("L"), OK, unrecorded=_RECORDED), old_flink="1.20"),
    under(
        pair(
            "global_windows_into_flink_2",
            window("GlobalWindows.create()"),
            window("GlobalWindows.create()"),
            BROKEN,
            "CMP604",
            unrecorded=_RECORDED,
        ),
        old_flink="1.20",
    ),
    under(
        pair("days_into_flink_2", window(DAY), window(DAY), OK, unrecorded=_RECORDED),
        old_flink="1.20",
    ),
    under(
        pair("back_to_flink_1", value("L"), value("L"), BROKEN, "CMP604", unrecorded=_UPGRADES),
        flink="1.20",
        old_flink="2.3",
    ),
    under(
        pair(
            "text_file_moved",
            text_file(),
            text_file(other=True),
            BROKEN,
            "CMP103",
            "CMP104",
            "CMP107",
            unrecorded=_ONLY_1_20,
        ),
        flink="1.20",
    ),
    under(pair("text_file_kept", text_file(), text_file(), OK, "CMP104", unrecorded=_ONLY_1_20), flink="1.20"),
    pair("files_kept", publishing("out"), publishing("out", ignoring=True), OK, unrecorded=_BY_OPTION),
    *(
        pair(name, reading(*old), reading(*new), verdict, *rules, unrecorded=_NO_CLUSTER)
        for name, old, new, verdict, *rules in _READING
    ),
    *(
        pair(name, reading_files(*old), reading_files(*new), verdict, *rules, unrecorded=_OF_FILES)
        for name, old, new, verdict, *rules in _READING_FILES
    ),
    *(
        pair(name, writing(old), writing(new), verdict, *rules, unrecorded=_NO_CLUSTER)
        for name, old, new, verdict, *rules in _WRITING
    ),
]
