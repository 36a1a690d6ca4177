"""Counts the clicks of each visit: a visit ends when a visitor does nothing for ten minutes."""

from pyflink.common import Types
from pyflink.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from pyflink.datastream import AggregateFunction, StreamExecutionEnvironment
from pyflink.datastream.window import EventTimeSessionWindows, Time

MINUTE = 60_000
CLICK = Types.TUPLE([Types.STRING(), Types.LONG()])
CLICKS = [("ann", 0), ("bob", 2 * MINUTE), ("ann", 5 * MINUTE), ("ann", 30 * MINUTE), ("bob", 31 * MINUTE)]


class ClickTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Count(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    clicks = (
        env.from_collection(CLICKS, CLICK)
        .uid("clicks")
        .assign_timestamps_and_watermarks(
            WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ClickTime())
        )
        .uid("click-times")
    )
    visits = (
        clicks.key_by(lambda click: click[0], Types.STRING())
        .window(EventTimeSessionWindows.with_gap(Time.minutes(10)))
        .aggregate(Count(), accumulator_type=Types.LONG(), output_type=Types.LONG())
        .name("visits")
        .uid("visits")
    )
    visits.print().name("clicks per visit").uid("print")
    env.execute("sessions")


if __name__ == "__main__":
    main()
