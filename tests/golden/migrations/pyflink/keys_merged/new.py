"""By one of both."""

import time

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor


def slow(n):
    time.sleep(0.02)
    return n


class Keep(KeyedProcessFunction):
    def open(self, ctx):
        self.s = ctx.get_state(ValueStateDescriptor("s", Types.LONG()))

    def process_element(self, n, ctx):
        held = self.s.value()
        now = (held or 0) + 1
        self.s.update(now)
        yield f"c.s.{ctx.get_current_key()}|{held}|{now}|{n}"


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
