"""Windows of time that tumble and slide, reduced, aggregated and processed.

In thread mode PyFlink fails to write savepoints of windows that merge or count.
"""

from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, ProcessWindowFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


class Count(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield f"processed {key} {context.window().start} {sorted(value[1] for value in elements)}"


class Sum(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value[1]

    def get_result(self, accumulator):
        return f"sliding {accumulator}"

    def merge(self, a, b):
        return a + b


def build(env, count, slowly):
    pair = Types.TUPLE([Types.LONG(), Types.LONG()])
    numbers = env.from_source(NumberSequenceSource(1, count), WatermarkStrategy.no_watermarks(), "numbers").uid(
        "numbers"
    )
    keyed = (
        numbers.map(lambda n: (slowly(n) % 3, n), pair)
        .uid("slowly")
        .filter(lambda p: p[1] % 100 < 70)
        .uid("gaps")
        .assign_timestamps_and_watermarks(
            WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1)).with_timestamp_assigner(Seconds())
        )
        .key_by(lambda p: p[0], Types.LONG())
    )
    text = Types.STRING()
    tumbling = (
        keyed.window(TumblingEventTimeWindows.of(Time.seconds(45)))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .uid("tumbling")
        .map(lambda p: f"tumbling {p[0]} {p[1]}", text)
    )
    sliding = (
        keyed.window(SlidingEventTimeWindows.of(Time.seconds(60), Time.seconds(20)))
        .aggregate(Sum(), accumulator_type=Types.LONG(), output_type=text)
        .uid("sliding")
    )
    processed = keyed.window(TumblingEventTimeWindows.of(Time.seconds(30))).process(Count(), text).uid("processed")
    return tumbling.union(sliding, processed)
