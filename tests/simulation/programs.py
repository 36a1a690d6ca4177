"""The programs of schedules: what they build, and what has to come of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from compat.compiler.datastream.common.configuration import Configuration
from compat.compiler.datastream.common.serialization import Encoder, SimpleStringSchema
from compat.compiler.datastream.common.time import Time
from compat.compiler.datastream.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from compat.compiler.datastream.connectors.base import DeliveryGuarantee
from compat.compiler.datastream.connectors.delta import DeltaSink
from compat.compiler.datastream.connectors.file_system import BucketAssigner, FileSink
from compat.compiler.datastream.connectors.kafka_offsets import KafkaOffsetsInitializer
from compat.compiler.datastream.connectors.kafka_sink import KafkaRecordSerializationSchema, KafkaSink
from compat.compiler.datastream.connectors.kafka_source import KafkaSource
from compat.compiler.datastream.functions import KeyedProcessFunction, MapFunction, ProcessWindowFunction
from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment
from compat.compiler.datastream.window import TumblingEventTimeWindows
from compat.compiler.spark.state.memory import MANAGED_MEMORY
from compat.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from compat.state.types import Types
from tests.simulation.doubles.kafka import Brokers
from tests.simulation.world import World

KEYS = 3
PARTITIONS = 2
"""Of each topic."""
TIME = 10
"""Milliseconds from one record to the next."""
WINDOW = 50
DELAY = 25
COUNTS = Types.ROW_NAMED(["key", "count"], [Types.INT(), Types.LONG()])
_PAIR = Types.TUPLE([Types.INT(), Types.LONG()])
_LAST = 10**12
worlds: list[World] = []
"""The last one is that of the schedule which runs."""


class Job(Enum):
    """What a program does."""

    COUNTS = "counts from a collection into files"
    WINDOWS = "windows and timers of event time"
    TOPICS = "counts from a topic into a topic"


class Shape(Struct, frozen=True, kw_only=True):
    """The job of a schedule; with ``rescaled`` it is stopped at epoch ``stop`` and goes on with that parallelism.

    With ``tight`` memory is too small for any state; with ``scattered`` records take a way that another run of a task changes.
    """

    job: Job
    records: int
    parallelism: int
    epoch_records: int
    table: bool
    rescaled: int | None
    stop: int
    tight: bool
    scattered: bool


class Scatter(MapFunction):
    """Sends each record to any lane: another run of the task sends it elsewhere."""

    def map(self, value: Any) -> Any:
        return worlds[-1].random.randrange(4), value


class Count(KeyedProcessFunction):
    """Counts the records of a key, remembers them, and tells the number of those that it remembers at the end."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.INT(), Types.BOOLEAN()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        worlds[-1].task_point("a record")
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.seen.put(value, True)
        ctx.timer_service().register_event_time_timer(_LAST)
        yield value % KEYS, count

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), -len(list(self.seen.keys()))


class Remind(KeyedProcessFunction):
    """Tells of each record some time later, by event time; has a later timer that is deleted by the earlier one."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        worlds[-1].task_point("a record")
        ctx.timer_service().register_event_time_timer(value * TIME + DELAY)
        ctx.timer_service().register_event_time_timer(value * TIME + 3 * DELAY + 1)
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        ctx.timer_service().delete_event_time_timer(timestamp + 2 * DELAY + 1)
        yield f"{ctx.get_current_key()}@{timestamp}"


class Gather(ProcessWindowFunction):
    """Tells which records are in a window."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[str]:
        worlds[-1].task_point("a window")
        yield f"{key}:{context.window().start}:{'+'.join(map(str, sorted(elements)))}"


class Times(TimestampAssigner):
    """The time of a record is what it is."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value) * TIME


# Functions that have a name: they are in a plan by that, and it is packed and unpacked sooner.


def _first(pair: Any) -> Any:
    return pair[0]


def _second(pair: Any) -> Any:
    return pair[1]


def _key(number: Any) -> Any:
    return number % KEYS


def _line(pair: Any) -> str:
    return f"{pair[0]}:{pair[1]}"


def build(env: StreamExecutionEnvironment, shape: Shape, folder: Path) -> None:
    """Build the program of a schedule in an environment."""
    env.enable_checkpointing(100)
    env.set_max_parallelism(8)
    env.configure(_settings(shape))
    if shape.job is Job.TOPICS:
        texts = env.from_source(_topic(), WatermarkStrategy.no_watermarks(), "topic").uid("numbers")
        numbers = texts.map(int, Types.INT())
    else:
        numbers = env.from_collection(list(range(shape.records)), Types.INT()).uid("numbers")
        if shape.scattered or shape.job is Job.WINDOWS:
            numbers = numbers.rebalance()  # what is chained to a source with one subtask has one, too, for good
    if shape.job is Job.WINDOWS:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Times())
        numbers = numbers.assign_timestamps_and_watermarks(strategy).uid("times")
    if shape.scattered:
        lanes = numbers.map(Scatter(), Types.TUPLE([Types.INT(), Types.INT()])).key_by(_first, Types.INT())
        numbers = lanes.map(_second, Types.INT())
    keyed = numbers.key_by(_key, Types.INT())
    if shape.job is Job.WINDOWS:
        windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW)))
        lines = windows.process(Gather(), Types.STRING()).uid("windows")
        lines = lines.union(keyed.process(Remind(), Types.STRING()).uid("reminders"))
    else:
        counted = keyed.process(Count(), _PAIR).uid("count")
        if shape.table:
            counted.sink_to(DeltaSink.for_row_data(str(folder / "table"), COUNTS).build()).uid("table")
        lines = counted.map(_line, Types.STRING())
    sink = _other_topic() if shape.job is Job.TOPICS else _files(folder)
    lines.sink_to(sink).uid("lines")


def program_of(shape: Shape, *, restored: bool) -> Shape:
    """The shape without what is not in its program, as it is before or behind its savepoint: equal ones build the same."""
    records = 0 if shape.job is Job.TOPICS else shape.records
    parallelism = shape.rescaled or shape.parallelism if restored else shape.parallelism
    return replace(shape, records=records, parallelism=parallelism, rescaled=None, epoch_records=0, stop=0)


def expected(shape: Shape) -> Counter[str]:
    """The lines that a program writes."""
    if shape.job is not Job.WINDOWS:
        return Counter(f"{key}:{count}" for key, size in sizes(shape).items() for count in (*range(1, size + 1), -size))
    windows: dict[tuple[int, int], list[int]] = {}
    for number in range(shape.records):
        windows.setdefault((number % KEYS, number * TIME // WINDOW * WINDOW), []).append(number)
    gathered = (f"{key}:{start}:{'+'.join(map(str, numbers))}" for (key, start), numbers in windows.items())
    reminded = (f"{number % KEYS}@{number * TIME + DELAY}" for number in range(shape.records))
    return Counter([*gathered, *reminded])


def sizes(shape: Shape) -> Counter[int]:
    """How many records have each key."""
    return Counter(number % KEYS for number in range(shape.records))


def fill(brokers: Brokers, shape: Shape) -> None:
    """Put the input into its topic, with what was aborted in between."""
    for number in range(shape.records):
        brokers.write("numbers", [b"%d" % number], committed=True)
        if number % 4 == 3:
            brokers.write("numbers", [b"%d" % (1000 + number)], committed=False)


def _topic() -> KafkaSource:
    builder = KafkaSource.builder().set_bootstrap_servers("nowhere:1").set_topics("numbers").set_group_id("counting")
    builder = builder.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    builder = builder.set_bounded(KafkaOffsetsInitializer.latest()).set_property("isolation.level", "read_committed")
    return builder.set_value_only_deserializer(SimpleStringSchema()).build()


def _other_topic() -> KafkaSink:
    builder = KafkaRecordSerializationSchema.builder().set_topic("lines")
    schema = builder.set_value_serialization_schema(SimpleStringSchema()).build()
    sink = KafkaSink.builder().set_bootstrap_servers("nowhere:1").set_record_serializer(schema)
    return sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix("lines").build()


def _files(folder: Path) -> FileSink:
    files = FileSink.for_row_format(str(folder / "files"), Encoder.simple_string_encoder())
    return files.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()


def _settings(shape: Shape) -> Configuration:
    configuration = Configuration()
    if shape.tight:
        configuration.set_string(MANAGED_MEMORY, "0 b")
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.attempts", "100")
    configuration.set_string("restart-strategy.fixed-delay.delay", "1 ms")
    return configuration
