"""The words of PyFlink that random jobs are written in: the program's head, types, keys, windows and steps by name."""

from __future__ import annotations

HEAD = """
import time
from datetime import datetime, timedelta
from decimal import Decimal

from pyflink.common import Configuration, Duration, Encoder, Row, Time, Types, WatermarkStrategy
from pyflink.common.time import Instant
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AggregateFunction, BroadcastProcessFunction, CoFlatMapFunction, CoMapFunction, FlatMapFunction,
    KeyedBroadcastProcessFunction, KeyedCoProcessFunction, KeyedProcessFunction, MapFunction, OutputTag,
    ProcessFunction, ProcessWindowFunction, RuntimeExecutionMode,
    StreamExecutionEnvironment, WindowFunction,
)
from pyflink.datastream.connectors.file_system import (
    BucketAssigner, FileCompactor, FileCompactStrategy, FileSink, FileSource, OutputFileConfig, RollingPolicy, StreamFormat,
)
from pyflink.datastream.connectors.hybrid_source import HybridSource
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import AllWindowFunction, ProcessAllWindowFunction
from pyflink.datastream.state import (
    AggregatingStateDescriptor, ListStateDescriptor, MapStateDescriptor, ReducingStateDescriptor, StateTtlConfig,
    ValueStateDescriptor,
)
from pyflink.datastream.window import (
    CountSlidingWindowAssigner, CountTrigger, CountTumblingWindowAssigner, DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows, EventTimeSessionWindows, GlobalWindows,
    ProcessingTimeSessionWindows, PurgingTrigger, SessionWindowTimeGapExtractor, SlidingEventTimeWindows,
    SlidingProcessingTimeWindows, Trigger, TriggerResult, TumblingEventTimeWindows, TumblingProcessingTimeWindows,
)

EPOCH = datetime(1970, 1, 1)


def num(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, Row) and "own" in getattr(value, "_fields", ()):
        return num(value["own"])
    if isinstance(value, (Held, Kept)):
        return num(value.n)
    if isinstance(value, (tuple, list, Row)):
        parts = [num(each) for each in value]
        return None if not parts else parts[0] if all(each == parts[0] for each in parts) else repr(parts)
    if isinstance(value, datetime):
        return round((value - EPOCH).total_seconds())
    if isinstance(value, Instant):
        return value.seconds * 1000 + value.nanos // 1000000  # to_epoch_milli is wrong before 1970
    if isinstance(value, (bytes, bytearray)):
        value = bytes(value).decode("ascii", "replace")
    if value is None or isinstance(value, str) and not value.removeprefix("-").isdigit():
        return value
    try:
        return int(value)
    except (TypeError, ValueError):
        return repr(value)


class Held:
    def __init__(self, n):
        self.n = n


class Kept(Held):
    pass


def entries(state):
    found = {}
    for key, value in state.items() or ():
        found.setdefault(str(key), []).append(num(value))
    return {key: max(found[key], key=repr) for key in sorted(found)}


def line(label, key, before, after, n):
    key = key[0] if isinstance(key, (tuple, Row)) else key
    return f"{label}.{num(key)}|{before}|{after}|{n}"


def last(stored, given):
    return given


class Stamped(TimestampAssigner):
    def extract_timestamp(self, value, before):
        return abs(value)


class Pass(ProcessFunction):
    def process_element(self, value, ctx):
        yield value


class Last(AggregateFunction):
    def create_accumulator(self):
        return None

    def add(self, value, accumulator):
        return value

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return b


class LastTwo(AggregateFunction):
    def create_accumulator(self):
        return (-1, -1, -1)

    def add(self, value, accumulator):
        return (value[0], accumulator[2], value[2])

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return b


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return 86400000


class Each(Trigger):
    def on_element(self, element, timestamp, window, ctx):
        return TriggerResult.FIRE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        pass

    def can_merge(self):
        return True

    def clear(self, window, ctx):
        pass
"""

ASYNC = """
from pyflink.datastream import AsyncDataStream, AsyncFunction


class Ask(AsyncFunction):
    async def async_invoke(self, value):
        return [value]

    def timeout(self, value):
        return [value]
"""
"""What programs with an asynchronous step need besides; PyFlink has it since 2.2."""

CSV = """
from pyflink.datastream.formats.csv import CsvReaderFormat, CsvSchema

NUMBERS = CsvReaderFormat.for_schema(CsvSchema.builder().add_string_column("n").build())
"""
"""What programs that read files of comma-separated values need besides."""

SLOW = """
def slow(n, low, high):
    time.sleep(0.02)
    n = int(n[0] if isinstance(n, Row) else n)
    return n if low <= n < high else -n
"""

TYPES = {
    "LONG": ("Types.LONG()", "v"),
    "INT": ("Types.INT()", "v"),
    "BIG_INT": ("Types.BIG_INT()", "v"),
    "STRING": ("Types.STRING()", "str(v)"),
    "DOUBLE": ("Types.DOUBLE()", "float(v)"),
    "FLOAT": ("Types.FLOAT()", "float(v)"),
    "BIG_DEC": ("Types.BIG_DEC()", "Decimal(v)"),
    "PICKLED": ("Types.PICKLED_BYTE_ARRAY()", "v"),
    "TUPLE": ("Types.TUPLE([Types.LONG(), Types.STRING()])", "(v, str(v))"),
    "TUPLE_LONGER": ("Types.TUPLE([Types.LONG(), Types.STRING(), Types.LONG()])", "(v, str(v), v)"),
    "ROW": ('Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])', "Row(a=v, b=str(v))"),
    "ROW_RENAMED": ('Types.ROW_NAMED(["a", "c"], [Types.LONG(), Types.STRING()])', "Row(a=v, c=str(v))"),
    "ROW_LONGER": (
        'Types.ROW_NAMED(["a", "b", "c"], [Types.LONG(), Types.STRING(), Types.LONG()])',
        "Row(a=v, b=str(v), c=v)",
    ),
    "ROW_PLAIN": ("Types.ROW([Types.LONG(), Types.STRING()])", "Row(v, str(v))"),
    "TUPLE_TURNED": ("Types.TUPLE([Types.STRING(), Types.LONG()])", "(str(v), v)"),
    "TUPLE_NESTED": ("Types.TUPLE([Types.TUPLE([Types.LONG(), Types.STRING()]), Types.LONG()])", "((v, str(v)), v)"),
    "INSTANT": ("Types.INSTANT()", "Instant.of_epoch_milli(v)"),
    "BYTES": ("Types.PRIMITIVE_ARRAY(Types.BYTE())", "str(v).encode()"),
    "LIST": ("Types.LIST(Types.LONG())", "[v]"),
    "LIST_INT": ("Types.LIST(Types.INT())", "[v]"),
    "BASIC_ARRAY": ("Types.BASIC_ARRAY(Types.LONG())", "[v]"),
    "STRINGS": ("Types.OBJECT_ARRAY(Types.STRING())", "[str(v)]"),
    "ARRAY": ("Types.PRIMITIVE_ARRAY(Types.LONG())", "[v]"),
    "MAP": ("Types.MAP(Types.STRING(), Types.LONG())", '{"k": v}'),
    "MAP_TO_INT": ("Types.MAP(Types.STRING(), Types.INT())", '{"k": v}'),
    "MAP_BY_LONG": ("Types.MAP(Types.LONG(), Types.LONG())", "{1: v}"),
    "MAP_OF_TUPLES": ("Types.MAP(Types.STRING(), Types.TUPLE([Types.LONG(), Types.STRING()]))", '{"k": (v, str(v))}'),
    "MAP_OF_ROWS": (
        'Types.MAP(Types.STRING(), Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()]))',
        '{"k": Row(a=v, b=str(v))}',
    ),
    "LIST_OF_TUPLES": ("Types.LIST(Types.TUPLE([Types.LONG(), Types.STRING()]))", "[(v, str(v))]"),
    "LIST_OF_LONGER": ("Types.LIST(Types.TUPLE([Types.LONG(), Types.STRING(), Types.LONG()]))", "[(v, str(v), v)]"),
    "LIST_OF_TURNED": ("Types.LIST(Types.TUPLE([Types.STRING(), Types.LONG()]))", "[(str(v), v)]"),
    "LIST_OF_ROWS": (
        'Types.LIST(Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()]))',
        "[Row(a=v, b=str(v))]",
    ),
    "LIST_OF_LISTS": ("Types.LIST(Types.LIST(Types.LONG()))", "[[v]]"),
    "LIST_PICKLED": ("Types.LIST(Types.PICKLED_BYTE_ARRAY())", "[v]"),
    "LIST_OF_TEXTS": ("Types.LIST(Types.STRING())", "[str(v)]"),
    "TUPLE_PICKLED": ("Types.TUPLE([Types.PICKLED_BYTE_ARRAY(), Types.STRING()])", "(v, str(v))"),
    "TUPLE_INT": ("Types.TUPLE([Types.INT(), Types.STRING()])", "(v, str(v))"),
    "TUPLE_SHORTER": ("Types.TUPLE([Types.LONG()])", "(v,)"),
    "TUPLE_OF_LISTS": ("Types.TUPLE([Types.LIST(Types.LONG()), Types.LONG()])", "([v], v)"),
    "ROW_TURNED": ('Types.ROW_NAMED(["b", "a"], [Types.STRING(), Types.LONG()])', "Row(b=str(v), a=v)"),
    "ROW_INT": ('Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])', "Row(a=v, b=str(v))"),
    "ROW_OWN": ('Types.ROW_NAMED(["own", "other"], [Types.LONG(), Types.LONG()])', "Row(own=v, other=0)"),
    "ROW_OWN_TURNED": ('Types.ROW_NAMED(["other", "own"], [Types.LONG(), Types.LONG()])', "Row(other=0, own=v)"),
    "ROW_OF_ROW": (
        'Types.ROW_NAMED(["a", "r"], [Types.LONG(), Types.ROW_NAMED(["x"], [Types.LONG()])])',
        "Row(a=v, r=Row(x=v))",
    ),
    "ROW_OF_ROW_RENAMED": (
        'Types.ROW_NAMED(["a", "r"], [Types.LONG(), Types.ROW_NAMED(["y"], [Types.LONG()])])',
        "Row(a=v, r=Row(y=v))",
    ),
    "ROW_OF_ROW_LONGER": (
        'Types.ROW_NAMED(["a", "r"], [Types.LONG(), Types.ROW_NAMED(["x", "y"], [Types.LONG(), Types.LONG()])])',
        "Row(a=v, r=Row(x=v, y=v))",
    ),
    "ROW_OF_TUPLE": (
        'Types.ROW_NAMED(["a", "r"], [Types.LONG(), Types.TUPLE([Types.LONG()])])',
        "Row(a=v, r=(v,))",
    ),
    "TIMESTAMP": ("Types.SQL_TIMESTAMP()", "EPOCH + timedelta(seconds=v)"),
    "ARRAY_INT": ("Types.PRIMITIVE_ARRAY(Types.INT())", "[v]"),
    "ARRAY_DOUBLE": ("Types.PRIMITIVE_ARRAY(Types.DOUBLE())", "[float(v)]"),
    "BASIC_ARRAY_INT": ("Types.BASIC_ARRAY(Types.INT())", "[v]"),
    "TUPLES": ("Types.OBJECT_ARRAY(Types.TUPLE([Types.LONG(), Types.STRING()]))", "[(v, str(v))]"),
    "HELD": ("Types.PICKLED_BYTE_ARRAY()", "Held(v)"),
    "KEPT": ("Types.PICKLED_BYTE_ARRAY()", "Kept(v)"),
}
"""By name, the type, and how a number becomes a value of it."""

KEYS = {
    "LONG": ("Types.LONG()", "{n} % 3"),
    "INT": ("Types.INT()", "{n} % 3"),
    "STRING": ("Types.STRING()", "str({n} % 3)"),
    "PICKLED": (None, "{n} % 3"),
    "TUPLE": ("Types.TUPLE([Types.LONG(), Types.STRING()])", '({n} % 3, "k")'),
    "LONG_REWRITTEN": ("Types.LONG()", "({n} + 3) % 3"),
    "ROW": ("Types.ROW([Types.LONG(), Types.STRING()])", 'Row({n} % 3, "k")'),
    "TUPLE_INT": ("Types.TUPLE([Types.INT(), Types.STRING()])", '({n} % 3, "k")'),
    "DOUBLE": ("Types.DOUBLE()", "float({n} % 3)"),
}
"""By name, the type of a key (None where the program names none), and how a number gets it."""

MAP_KEYS = {
    "LONG": ("Types.LONG()", "n % 2"),
    "INT": ("Types.INT()", "n % 2"),
    "STRING": ("Types.STRING()", "str(n % 2)"),
    "PICKLED": ("Types.PICKLED_BYTE_ARRAY()", "n % 2"),
    "TUPLE": ("Types.TUPLE([Types.LONG(), Types.STRING()])", '(n % 2, "k")'),
}

ASSIGNERS = {
    "tumbling": "TumblingProcessingTimeWindows.of(Time.days(400))",
    "tumbling longer": "TumblingProcessingTimeWindows.of(Time.days(800))",
    "sliding": "SlidingProcessingTimeWindows.of(Time.days(400), Time.days(400))",
    "session": "ProcessingTimeSessionWindows.with_gap(Time.days(1))",
    "session longer": "ProcessingTimeSessionWindows.with_gap(Time.days(2))",
    "event tumbling": "TumblingEventTimeWindows.of(Time.days(1))",
    "event session": "EventTimeSessionWindows.with_gap(Time.days(1))",
    "global": "GlobalWindows.create()",
    "event sliding": "SlidingEventTimeWindows.of(Time.days(1), Time.days(1))",
    "dynamic session": "DynamicProcessingTimeSessionWindows.with_dynamic_gap(Gap())",
    "counted": "CountTumblingWindowAssigner.of(1000000)",
    "counted sliding": "CountSlidingWindowAssigner.of(1000000, 1000000)",
    "tumbling offset": "TumblingProcessingTimeWindows.of(Time.days(400), Time.days(1))",
    "event dynamic session": "DynamicEventTimeSessionWindows.with_dynamic_gap(Gap())",
}
"""Assigners whose windows stay open; those of event time need timestamps."""

OTHER_WINDOWS = ("tumbling longer", "tumbling offset")
"""Those whose windows begin and end at other times than all others': what is in an open one comes out when that ends, in
hundreds of days, and no restore waits for it."""

STATELESS = {
    "map": "map(lambda n: n, Types.LONG())",
    "filter": "filter(lambda n: n is not None)",
    "flat map": "flat_map(lambda n: [n], Types.LONG())",
    "process": "process(Pass(), Types.LONG())",
}
EXCHANGES = {
    "rebalance": "rebalance()",
    "rescale": "rescale()",
    "shuffle": "shuffle()",
    "forward": "forward()",
    "custom": "partition_custom(lambda key, count: key % count, lambda n: abs(n))",
}
INPUTS = "/tmp/restores-of-random-jobs/in"
OUTPUTS = "/tmp/restores-of-random-jobs/out"
PATHS = {"all": "", "long": "/long", "brief": "/brief", "named": "/brief/1", "wider": "", "late": "/late"}
"""By name, which of a source's files are read, as what is added to its folder; ``wider`` are those of its folder ``more``
besides."""
FILES = {"brief/1": (0, 40), "brief/2": (1, 60), "long/3": (2, 20_000), "late/4": (3, 15_000), "late/5": (4, 15_000)}
MORE = {"6": (5, 20_000)}
"""By the files of a source, which part of its numbers they begin, and how many numbers they have."""
PART = 1_250_000
"""How many numbers are in a part of those of a source."""
INTERVALS = (200, 1000)
"""How often new files are looked for, in milliseconds."""

COMPACTION = {
    None: "",
    "on": ".enable_compact(FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).build(), "
    "FileCompactor.concat_file_compactor())",
    "off": ".disable_compact()",
}
ROLLING = {
    None: "",
    "sized": ".with_rolling_policy(RollingPolicy.default_rolling_policy(2048, 2000, 2000))",
    "checkpoints": ".with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())",
}
OUT_FILES = {
    None: "",
    "base": ".with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())",
    "dated": '.with_bucket_assigner(BucketAssigner.date_time_bucket_assigner("yyyy"))',
    "named": '.with_output_file_config(OutputFileConfig.builder().with_part_prefix("p").with_part_suffix(".s").build())',
    "checked": ".with_bucket_check_interval(500)",
}
"""By name, what a sink of files may be told."""

TRIGGERS = {"count": "CountTrigger.of(1)", "own": "Each()", "purging": "PurgingTrigger.of(CountTrigger.of(1))"}
"""By name, triggers that fire for each element."""

RUNTIME_MODES = ("BATCH", "AUTOMATIC")
BACKENDS = ("hashmap", "rocksdb", "forst")
HARMLESS = (
    ("execution.checkpointing.interval", "60 s"),
    ("execution.checkpointing.unaligned.enabled", "true"),
    ("execution.checkpointing.incremental", "true"),
    ("pipeline.object-reuse", "true"),
    ("pipeline.max-parallelism", "128"),
    ("python.fn-execution.arrow.batch.size", "500"),
    ("state.changelog.enabled", "true"),
    ("pipeline.auto-watermark-interval", "100 ms"),
    ("execution.buffer-timeout.interval", "10 ms"),
    ("execution.checkpointing.mode", "AT_LEAST_ONCE"),
    ("pipeline.name", "another"),
    ("restart-strategy.type", "none"),
    ("python.fn-execution.bundle.time", "500"),
    ("python.state.cache-size", "1"),
    ("pipeline.operator-chaining.chain-operators-with-different-max-parallelism", "false"),
    ("pipeline.generic-types", "false"),
    ("execution.allow-client-job-configurations", "true"),
)
"""Settings that a version may have on top."""

REFUSED = (
    ("pipeline.max-parallelism", "0"),
    ("pipeline.max-parallelism", "40000"),
    ("state.backend.type", "rocks"),
    ("execution.checkpointing.interval", "often"),
    ("python.execution-mode", "fast"),
    ("execution.runtime-mode", "STREAM"),
    ("pipeline.operator-chaining.enabled", "maybe"),
    ("pipeline.auto-generate-uids", "false"),
    ("restart-strategy.type", "sometimes"),
    ("execution.checkpointing.mode", "TWICE"),
    ("parallelism.default", "0"),
    ("state.changelog.enabled", "perhaps"),
)
"""Settings with values that Flink may refuse."""

CHAINING = ("disable_chaining()", "start_new_chain()")
"""What an operator's chain can be told."""

TIMES_TO_LIVE = {
    "created": "",
    "read": ".update_ttl_on_read_and_write()",
    "expired": ".return_expired_if_not_cleaned_up()",
    "cleaned": ".cleanup_full_snapshot()",
    "by and by": ".cleanup_incrementally(10, True)",
    "compacted": ".cleanup_in_rocksdb_compact_filter(1000)",
    "never": ".disable_cleanup_in_background()",
}
"""By name, how a time to live is set besides its length."""

LEAVE_BEHIND = ("execution.state-recovery.ignore-unclaimed-state", "true")
