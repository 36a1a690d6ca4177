"""Windows of 20 seconds, which nothing ends: times go round within forty seconds."""

import time

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.window import CountTrigger, TumblingEventTimeWindows

PAIR = Types.TUPLE([Types.LONG(), Types.LONG()])


class Round(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value % 40 * 1000


class Line(ProcessWindowFunction):
    def process(self, key, context, pairs):
        for _, count in pairs:
            yield f"c.window.{key}@{context.window().start}|{count - 1}|{count}|0"


def paired(n):
    time.sleep(0.02)
    return n % 3, 1


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(Round())
    numbers = env.from_source(NumberSequenceSource(1, 1_000_000), WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    timed = numbers.assign_timestamps_and_watermarks(strategy).uid("times")
    keyed = timed.map(paired, PAIR).uid("slow").key_by(lambda pair: pair[0], Types.LONG())
    windows = keyed.window(TumblingEventTimeWindows.of(Time.seconds(20))).trigger(CountTrigger.of(1))
    counted = windows.reduce(lambda a, b: (a[0], a[1] + b[1]), Line(), output_type=Types.STRING())
    counted.uid("keep").print().uid("out")
    env.execute("job")


if __name__ == "__main__":
    main()
