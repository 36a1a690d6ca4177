"""Counts the words of each five seconds; splitting and counting have slots of their own."""

from pyflink.common import Duration, Types
from pyflink.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.window import Time, TumblingEventTimeWindows

LINES = [(1000, "to be or not to be"), (4000, "that is the question"), (7000, "to be"), (12000, "the rest is silence")]


class LineTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[0]


def split(line):
    for word in line[1].split():
        yield word, 1


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    lines = env.from_collection(LINES, Types.TUPLE([Types.LONG(), Types.STRING()])).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1)).with_timestamp_assigner(LineTime())
    )
    words = (
        lines.flat_map(split, Types.TUPLE([Types.STRING(), Types.INT()]))
        .set_parallelism(4)
        .slot_sharing_group("flatMap_sg")
    )
    counts = (
        words.key_by(lambda pair: pair[0], Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .set_parallelism(3)
        .slot_sharing_group("sum_sg")
    )
    counts.name("count words").print()
    env.execute("window word count")


if __name__ == "__main__":
    main()
