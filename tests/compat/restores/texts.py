"""The words of PyFlink that random jobs are written in: the program's head, types, keys, windows and steps by name."""

from __future__ import annotations

HEAD = """
import time
from datetime import datetime, timedelta
from decimal import Decimal

from pyflink.common import Configuration, Encoder, Row, Time, Types, WatermarkStrategy
from pyflink.common.time import Instant
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AggregateFunction, BroadcastProcessFunction, CoFlatMapFunction, CoMapFunction, FlatMapFunction,
    KeyedBroadcastProcessFunction, KeyedCoProcessFunction, KeyedProcessFunction, MapFunction, OutputTag, ProcessFunction,
    ProcessWindowFunction, RuntimeExecutionMode, StreamExecutionEnvironment, WindowFunction,
)
from pyflink.datastream.connectors.file_system import FileSink
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import (
    AggregatingStateDescriptor, ListStateDescriptor, MapStateDescriptor, ReducingStateDescriptor, StateTtlConfig,
    ValueStateDescriptor,
)
from pyflink.datastream.window import (
    CountTrigger, CountTumblingWindowAssigner, DynamicProcessingTimeSessionWindows, EventTimeSessionWindows, GlobalWindows,
    ProcessingTimeSessionWindows, PurgingTrigger, SessionWindowTimeGapExtractor, SlidingEventTimeWindows,
    SlidingProcessingTimeWindows, Trigger, TriggerResult, TumblingEventTimeWindows, TumblingProcessingTimeWindows,
)

EPOCH = datetime(1970, 1, 1)


def num(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list, Row)):
        parts = [num(each) for each in value]
        return None if not parts else parts[0] if all(each == parts[0] for each in parts) else repr(parts)
    if isinstance(value, datetime):
        return round((value - EPOCH).total_seconds())
    if isinstance(value, Instant):
        return value.to_epoch_milli()
    if isinstance(value, (bytes, bytearray)):
        value = bytes(value).decode("ascii", "replace")
    if value is None or isinstance(value, str) and not value.isdigit():
        return value
    try:
        return int(value)
    except (TypeError, ValueError):
        return repr(value)


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

SLOW = """
def slow(n, low, high):
    time.sleep(0.02)
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
}
"""By name, the type, and how a number becomes a value of it."""

KEYS = {
    "LONG": ("Types.LONG()", "{n} % 3"),
    "INT": ("Types.INT()", "{n} % 3"),
    "STRING": ("Types.STRING()", "str({n} % 3)"),
    "PICKLED": (None, "{n} % 3"),
    "TUPLE": ("Types.TUPLE([Types.LONG(), Types.STRING()])", '({n} % 3, "k")'),
    "LONG_REWRITTEN": ("Types.LONG()", "({n} + 3) % 3"),
}
"""By name, the type of a key (None where the program names none), and how a number gets it."""

MAP_KEYS = {
    "LONG": ("Types.LONG()", "n % 2"),
    "INT": ("Types.INT()", "n % 2"),
    "STRING": ("Types.STRING()", "str(n % 2)"),
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
}
"""Assigners whose windows stay open; those of event time need timestamps."""

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
)
"""Settings with values that Flink may refuse."""

LEAVE_BEHIND = ("execution.state-recovery.ignore-unclaimed-state", "true")
