"""Random programs, as text that PyFlink and compat both run: a chain of steps over (key, time, number).

Whatever may differ between two runs of the same Flink is left out: records are never late, orders are compared within a key
only where a step depends on them, and all tasks have parallelism 1.
"""

from __future__ import annotations

import random

HEAD = """
from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import OutputTag
from pyflink.datastream.functions import (
    AggregateFunction, CoMapFunction, KeyedProcessFunction, ProcessFunction, ProcessWindowFunction
)
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows

class Stamped(TimestampAssigner):
    def extract_timestamp(self, value, before):
        return value[1]

class Running(KeyedProcessFunction):
    def open(self, context):
        self.total = context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.seen = context.get_map_state(MapStateDescriptor("seen", Types.LONG(), Types.LONG()))
        self.last = context.get_list_state(ListStateDescriptor("last", Types.LONG()))

    def process_element(self, value, ctx):
        total = (self.total.value() or 0) + value[2]
        self.total.update(total)
        self.seen.put(value[2] % 3, (self.seen.get(value[2] % 3) or 0) + 1)
        self.last.update([*list(self.last.get())[-2:], value[2]])
        yield value[0], value[1], (total * 31 + sum(self.seen.values()) * 7 + sum(self.last.get())) % 100003

class Alarms(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + value[2])
        ctx.timer_service().register_event_time_timer(value[1] // 100 * 100 + 99)
        if value[2] % 5 == 0:
            ctx.timer_service().delete_event_time_timer(value[1] // 100 * 100 + 99)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp, self.count.value() % 100003

class Apart(ProcessFunction):
    def process_element(self, value, ctx):
        if value[2] % 3 == 0:
            yield OutputTag("odd"), (value[0], value[1], value[2] + 1)
        else:
            yield value

class Both(CoMapFunction):
    def map1(self, value):
        return value[0], value[1], value[2] * 2 % 100003

    def map2(self, value):
        return value[0], value[1], value[2] + 500

class Sums(ProcessWindowFunction):
    def process(self, key, context, elements):
        values = list(elements)
        yield key, context.window().start, (sum(v[2] for v in values) * 10 + len(values)) % 100003

class Kept(ProcessWindowFunction):
    def open(self, runtime_context):
        self.fired = runtime_context.get_state(ValueStateDescriptor("fired", Types.LONG()))
        self.starts = runtime_context.get_list_state(ListStateDescriptor("starts", Types.LONG()))

    def process(self, key, context, elements):
        self.fired.update((self.fired.value() or 0) + 1)
        self.starts.add(context.window().start)
        everywhere = context.global_state().get_state(ValueStateDescriptor("everywhere", Types.LONG()))
        everywhere.update((everywhere.value() or 0) + len(list(elements)))
        yield key, context.window().start, self.fired.value() * 10000 + sum(self.starts.get()) + everywhere.value()

class KeptOfEach(Kept):
    def process(self, key, context, elements):
        here = context.window_state().get_state(ValueStateDescriptor("here", Types.LONG()))
        here.update((here.value() or 0) + 1)
        for value in super().process(key, context, elements):
            yield value[0], value[1], value[2] * 10 + here.value()

    def clear(self, context):
        context.window_state().get_state(ValueStateDescriptor("here", Types.LONG())).clear()

class Total(AggregateFunction):
    def create_accumulator(self):
        return "", 0, 0

    def add(self, value, total):
        return value[0], max(total[1], value[1]), total[2] + value[2]

    def get_result(self, total):
        return total[0], total[1], total[2] % 100003

    def merge(self, left, right):
        return max(left[0], right[0]), max(left[1], right[1]), left[2] + right[2]

EVENT = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
ODD = OutputTag("odd", EVENT)
"""

STEPS = {
    "map": "s = s.map(lambda v: (v[0], v[1], (v[2] * {a} + {b}) % 100003), EVENT)",
    "pickled": "s = s.map(lambda v: (v[0], v[1], v[2] + {b})).map(lambda v: v, EVENT)",
    "filter": "s = s.filter(lambda v: v[2] % {c} != 0)",
    "flat": "s = s.flat_map(lambda v: [(v[0], v[1], v[2] + i) for i in range(v[2] % 3)], EVENT)",
    "rekey": "s = s.map(lambda v: (v[0] + str(v[2] % {c}), v[1], v[2]), EVENT)",
    "reduce": "s = s.key_by(lambda v: v[0], Types.STRING()).reduce(lambda l, r: (l[0], r[1], (l[2] + r[2]) % 100003))",
    "sum": "s = s.key_by(lambda v: v[0]).sum(2)",
    "running": "s = s.key_by(lambda v: v[0], Types.STRING()).process(Running(), EVENT)",
    "alarms": "s = s.key_by(lambda v: v[0], Types.STRING()).process(Alarms(), EVENT)",
    "apart": "s = s.process(Apart(), EVENT); s = s.union(s.get_side_output(ODD))",
    "both": "s = s.connect(s.map(lambda v: (v[0], v[1], v[2] + {a}), EVENT)).map(Both(), EVENT)",
    "tumbling": "s = s.key_by(lambda v: v[0], Types.STRING()).window(TumblingEventTimeWindows.of(Time.milliseconds({w})))"
    ".process(Sums(), EVENT)",
    "sliding": "s = s.key_by(lambda v: v[0], Types.STRING()).window(SlidingEventTimeWindows.of(Time.milliseconds({w}), "
    "Time.milliseconds(50))).aggregate(Total(), output_type=EVENT)",
    "sessions": "s = s.key_by(lambda v: v[0], Types.STRING()).window(EventTimeSessionWindows.with_gap("
    "Time.milliseconds({w}))).process(Sums(), EVENT)",
    "kept": "s = s.key_by(lambda v: v[0], Types.STRING()).window(TumblingEventTimeWindows.of(Time.milliseconds({w})))"
    ".process(KeptOfEach(), EVENT)",
    "kept sessions": "s = s.key_by(lambda v: v[0], Types.STRING()).window(EventTimeSessionWindows.with_gap("
    "Time.milliseconds({w}))).process(Kept(), EVENT)",
    "counted": "s = s.key_by(lambda v: v[0], Types.STRING()).count_window({c}).reduce("
    "lambda l, r: (l[0], max(l[1], r[1]), l[2] + r[2]))",
    "rebalanced": "s = s.rebalance()",
    "unchained": "s = s.map(lambda v: v, EVENT).disable_chaining()",
}
ORDERED = {"reduce", "sum", "running", "counted", "alarms"}
"""The steps whose results depend on the order of a key's records."""
MIXING = {"apart", "both", "alarms", "tumbling", "sliding", "sessions", "kept", "kept sessions"}
"""The steps behind which that order may differ between two runs."""


def random_program(seed: int) -> str:
    """The text of a function ``build(env)`` that gives a stream; the same for the same seed."""
    chance = random.Random(seed)
    events = [
        (chance.choice("abc"), chance.randrange(0, 1000), chance.randrange(0, 50)) for _ in range(chance.randint(1, 60))
    ]
    lines = []
    steps, mixed = [], False
    for _ in range(chance.randint(1, 6)):
        steps.append(chance.choice([name for name in STEPS if not (mixed and name in ORDERED)]))
        mixed = mixed or steps[-1] in MIXING
    for name in steps:
        line = STEPS[name]
        for letter, least, greatest in (("a", 1, 9), ("b", 0, 99), ("c", 2, 5), ("w", 50, 300)):
            line = line.replace("{" + letter + "}", str(chance.randint(least, greatest)))
        lines.append(f"    {line}")
    strategy = (
        "WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1000)).with_timestamp_assigner(Stamped())"
    )
    return "\n".join(
        [
            HEAD,
            "def build(env):",
            f"    s = env.from_collection({events!r}, EVENT)",
            f"    s = s.assign_timestamps_and_watermarks({strategy})",
            *lines,
            "    return s",
            "",
        ]
    )
