"""The same window by texts."""

import time

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.window import CountTrigger, GlobalWindows

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


def paired(n):
    time.sleep(0.02)
    return f"k{n % 3}", 1


def line(pair):
    return f"c.window.{pair[0]}|{pair[1] - 1}|{pair[1]}|0"


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    source = NumberSequenceSource(1, 1_000_000)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    keyed = numbers.map(paired, PAIR).uid("slow").key_by(lambda pair: pair[0], Types.STRING())
    counted = keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(1)).reduce(lambda a, b: (a[0], a[1] + b[1]))
    counted.uid("keep").map(line, Types.STRING()).uid("line").print().uid("out")
    env.execute("job")


if __name__ == "__main__":
    main()
