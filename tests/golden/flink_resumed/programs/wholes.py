"""Windows of a whole stream, without keys."""

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import AllWindowFunction, ProcessAllWindowFunction
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import CountTrigger, GlobalWindows, SlidingEventTimeWindows, TumblingEventTimeWindows

COUNT = ValueStateDescriptor("count", Types.LONG())


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value * 1000


class All(ProcessAllWindowFunction):
    def process(self, context, elements):
        count = context.global_state().get_state(COUNT)
        count.update((count.value() or 0) + 1)
        yield f"all {context.window().start} {count.value()} {sorted(elements)}"


class Applied(AllWindowFunction):
    def apply(self, window, inputs):
        yield f"applied {sum(inputs)}"


class Extremes(AggregateFunction):
    def create_accumulator(self):
        return []

    def add(self, value, accumulator):
        found = sorted([*accumulator, value * 37 % 101])
        return [found[0], found[-1]]

    def get_result(self, accumulator):
        return f"extremes {accumulator}"

    def merge(self, a, b):
        return [min(a[0], b[0]), max(a[-1], b[-1])]


def build(env, count, slowly):
    none = WatermarkStrategy.no_watermarks()
    timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    numbers = numbers.map(slowly, Types.LONG()).uid("slowly").assign_timestamps_and_watermarks(timed)
    text = Types.STRING()
    tumbling = numbers.window_all(TumblingEventTimeWindows.of(Time.seconds(40))).process(All(), text).uid("tumbling")
    sliding = numbers.window_all(SlidingEventTimeWindows.of(Time.seconds(90), Time.seconds(30)))
    sliding = sliding.aggregate(Extremes(), accumulator_type=Types.LIST(Types.LONG()), output_type=text).uid("sliding")
    counted = numbers.window_all(GlobalWindows.create()).trigger(CountTrigger.of(17)).apply(Applied(), text).uid("counted")
    reduced = numbers.window_all(TumblingEventTimeWindows.of(Time.seconds(70))).reduce(lambda a, b: a * 3 % 1009 + b)
    return tumbling.union(sliding, counted, reduced.uid("reduced").map(lambda n: f"reduced {n}", text))
