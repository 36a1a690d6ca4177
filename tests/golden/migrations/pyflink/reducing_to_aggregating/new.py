"""The mean."""

import time

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import AggregateFunction, KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import AggregatingStateDescriptor


def slow(n):
    time.sleep(0.02)
    return n


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, n, accumulator):
        return accumulator[0] + n, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1] if accumulator[1] else None

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class Keep(KeyedProcessFunction):
    def open(self, ctx):
        self.s = ctx.get_aggregating_state(AggregatingStateDescriptor("s", Mean(), Types.TUPLE([Types.LONG(), Types.LONG()])))

    def process_element(self, n, ctx):
        held = self.s.get()
        self.s.add(n)
        yield f"c.s.{ctx.get_current_key()}|{held}|{self.s.get()}|{n}"


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    source = NumberSequenceSource(1, 1_000_000)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    keyed = numbers.map(slow, Types.LONG()).uid("slow").key_by(lambda n: n % 3, Types.LONG())
    keyed.process(Keep(), Types.STRING()).uid("keep").print().uid("out")
    env.execute("job")


if __name__ == "__main__":
    main()
