"""Windows that fire by triggers: those that count and purge, and one of the program's own, which keeps state."""

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, ProcessWindowFunction, WindowFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ReducingStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import (
    CountTrigger,
    GlobalWindows,
    PurgingTrigger,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


class WhenFull(Trigger):
    """Fires when the weights of a window come to a hundred, and when a record of an hour ends it."""

    def __init__(self):
        self.weight = ReducingStateDescriptor("weight", lambda a, b: a + b, Types.LONG())
        self.fired = ValueStateDescriptor("fired", Types.INT())

    def on_element(self, element, timestamp, window, ctx):
        weight, fired = ctx.get_partitioned_state(self.weight), ctx.get_partitioned_state(self.fired)
        weight.add(element[1] % 40)
        ctx.register_event_time_timer(window.max_timestamp())
        if weight.get() < 100:
            return TriggerResult.CONTINUE
        weight.clear()
        fired.update((fired.value() or 0) + 1)
        return TriggerResult.FIRE if fired.value() % 2 else TriggerResult.FIRE_AND_PURGE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE_AND_PURGE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        raise NotImplementedError

    def clear(self, window, ctx):
        ctx.get_partitioned_state(self.weight).clear()
        ctx.get_partitioned_state(self.fired).clear()


class Collect(WindowFunction):
    def apply(self, key, window, inputs):
        yield f"collected {key} {sorted(value[1] for value in inputs)}"


class Ranges(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield f"ranges {key} {context.window().start} {list(elements)}"


class Range(AggregateFunction):
    def create_accumulator(self):
        return None, None

    def add(self, value, accumulator):
        low, high = accumulator
        number = value[1]
        return number if low is None else min(low, number), number if high is None else max(high, number)

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return min(a[0], b[0]), max(a[1], b[1])


def build(env, count, slowly):
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    parcels = numbers.map(lambda n: (f"van {slowly(n) % 4}", n), pair).uid("parcels")
    keyed = parcels.assign_timestamps_and_watermarks(timed).key_by(lambda parcel: parcel[0], Types.STRING())
    text = Types.STRING()
    batches = keyed.window(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(9))).apply(Collect(), text)
    growing = keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(11))
    growing = growing.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("growing").map(str, text)
    loads = keyed.window(TumblingEventTimeWindows.of(Time.seconds(90))).trigger(WhenFull())
    loads = loads.aggregate(Range(), Ranges(), Types.TUPLE([Types.LONG(), Types.LONG()]), text).uid("loads")
    return batches.uid("batches").union(growing, loads)
