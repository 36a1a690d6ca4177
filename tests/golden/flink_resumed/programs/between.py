"""Windows that tell what they have so far once in between, also sessions, and overlapping ones by the number of records."""

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessWindowFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

LOAD = Types.TUPLE([Types.LONG(), Types.LONG()])


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


class SoFar(ProcessWindowFunction):
    def __init__(self, label):
        self.label = label

    def process(self, key, context, elements):
        yield f"{self.label} {key} {context.window().start} {sorted(load[1] for load in elements)}"


def build(env, count, slowly):
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    loads = numbers.map(lambda n: (slowly(n) % 3, n), LOAD).uid("loads").assign_timestamps_and_watermarks(timed)
    keyed = loads.filter(lambda load: load[1] % 100 < 24).uid("mornings").key_by(lambda load: load[0], Types.LONG())
    half, text = ContinuousEventTimeTrigger.of(Time.seconds(50)), Types.STRING()
    days = keyed.window(TumblingEventTimeWindows.of(Time.seconds(100))).trigger(half).process(SoFar("day"), text)
    rushes = keyed.window(EventTimeSessionWindows.with_gap(Time.seconds(35))).trigger(half).process(SoFar("rush"), text)
    counted = loads.key_by(lambda load: load[0], Types.LONG())
    counted = counted.window(SlidingEventTimeWindows.of(Time.seconds(80), Time.seconds(40))).trigger(CountTrigger.of(6))
    sums = counted.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("sums").map(str, text)
    return days.uid("days").union(rushes.uid("rushes"), sums)
