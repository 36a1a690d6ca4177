"""Programs that run as a batch, and show in which order it gives records, timers and what is broadcast."""

from __future__ import annotations

import random

_BEGIN = """
from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import *
from pyflink.datastream.functions import *
from pyflink.datastream.state import *
from pyflink.datastream.window import *

class BySecond(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]

class Contents(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, getattr(context.window(), "start", 0), [each[2] for each in elements]
"""
_SOURCES = """
def read(env, records):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(BySecond())
    stream = env.from_collection(records, Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()]))
    return stream.assign_timestamps_and_watermarks(strategy)

def build(env):
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    records, others = read(env, {records}), read(env, {others})
    keyed = records.key_by(lambda value: value[0], Types.STRING())
    return {result}
"""
_FUNCTIONS = {
    "records": (
        """
class F(KeyedProcessFunction):
    def open(self, c): self.l = c.get_state(ValueStateDescriptor("l", Types.STRING()))
    def process_element(self, v, ctx):
        x = (self.l.value() or "") + ",%d" % v[2]
        self.l.update(x)
        yield ("e", x, ctx.timestamp(), ctx.timer_service().current_watermark())
""",
        "keyed.process(F())",
    ),
    "timers": (
        """
class F(KeyedProcessFunction):
    def open(self, c): self.l = c.get_state(ValueStateDescriptor("l", Types.LONG()))
    def process_element(self, v, ctx):
        self.l.update((self.l.value() or 0) + v[2])
        ctx.timer_service().register_event_time_timer(v[1] + 10)
        ctx.timer_service().register_processing_time_timer(v[1] + 7)
        return []
    def on_timer(self, t, ctx):
        self.l.update((self.l.value() or 0) + 1000)
        if t < 300:
            ctx.timer_service().register_event_time_timer(t + 100)
            ctx.timer_service().register_processing_time_timer(t + 200)
        domain = str(ctx.time_domain()).split(".")[-1]
        yield (ctx.get_current_key(), t, self.l.value(), domain, ctx.timer_service().current_watermark())
""",
        "keyed.process(F())",
    ),
    "reduce": ("", "keyed.reduce(lambda a, b: (a[0], a[1], a[2] * 3 + b[2]))"),
    "windows": ("", "keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(20))).process(Contents())"),
    "sessions": ("", "keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(6))).process(Contents())"),
    "count_windows": ("", "keyed.count_window(3).process(Contents())"),
    "continuous_trigger": (
        "",
        "keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(40)))"
        ".trigger(ContinuousEventTimeTrigger.of(Time.milliseconds(10))).process(Contents())",
    ),
    "two_inputs": (
        """
class F(KeyedCoProcessFunction):
    def open(self, c): self.l = c.get_state(ValueStateDescriptor("l", Types.STRING()))
    def one(self, p, v, ctx):
        x = (self.l.value() or "") + ",%s%d" % (p, v[2])
        self.l.update(x)
        ctx.timer_service().register_event_time_timer(1000)
        return []
    def process_element1(self, v, ctx): return self.one("a", v, ctx)
    def process_element2(self, v, ctx): return self.one("b", v, ctx)
    def on_timer(self, t, ctx):
        yield (ctx.get_current_key(), self.l.value())
""",
        "keyed.connect(others.key_by(lambda v: v[0], Types.STRING())).process(F())",
    ),
    "keyed_broadcast": (
        """
D = MapStateDescriptor("m", Types.STRING(), Types.LONG())
class F(KeyedBroadcastProcessFunction):
    def process_element(self, v, ctx):
        yield (v[0], v[2], sorted(ctx.get_broadcast_state(D).items()))
    def process_broadcast_element(self, v, ctx):
        ctx.get_broadcast_state(D).put(v[0], v[2])
""",
        "keyed.connect(others.broadcast(D)).process(F())",
    ),
    "broadcast": (
        """
D = MapStateDescriptor("m", Types.STRING(), Types.LONG())
class F(BroadcastProcessFunction):
    def process_element(self, v, ctx):
        yield (v[0], v[2], sorted(ctx.get_broadcast_state(D).items()))
    def process_broadcast_element(self, v, ctx):
        ctx.get_broadcast_state(D).put(v[0], v[2])
""",
        "records.connect(others.broadcast(D)).process(F())",
    ),
    "min_by": ("", "keyed.min_by(2)"),
    "sum": ("", "keyed.sum(2)"),
    "all_windows": (
        """
class W(ProcessAllWindowFunction):
    def process(self, ctx, els): yield (ctx.window().start, [e[2] for e in els])
""",
        "records.window_all(TumblingEventTimeWindows.of(Time.milliseconds(20))).process(W())",
    ),
    "lists": (
        """
class F(KeyedProcessFunction):
    def open(self, c): self.l = c.get_list_state(ListStateDescriptor("l", Types.LONG()))
    def process_element(self, v, ctx):
        self.l.add(v[2]); ctx.timer_service().register_event_time_timer(v[1])
        return []
    def on_timer(self, t, ctx):
        yield (ctx.get_current_key(), t, list(self.l.get()))
""",
        "keyed.process(F())",
    ),
}


def programs(seed: int) -> dict[str, str]:
    """The programs by what they show; the seed draws the records, none two of one time."""
    drawn = random.Random(seed)
    times = drawn.sample(range(120), 55)
    records, others = (
        [(drawn.choice("abcde"), time, number) for number, time in enumerate(part)] for part in (times[:40], times[40:])
    )
    return {
        name: _BEGIN + functions + _SOURCES.format(records=records, others=others, result=result)
        for name, (functions, result) in _FUNCTIONS.items()
    }
