"""Windows of so many records, in a row and overlapping, under keys that are tuples."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import AggregateFunction, ProcessWindowFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

TICK = Types.TUPLE([Types.STRING(), Types.INT(), Types.DOUBLE()])
MARKET = Types.TUPLE([Types.STRING(), Types.INT()])


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0.0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[2], accumulator[1] + 1

    def get_result(self, accumulator):
        return f"mean {accumulator[0] / accumulator[1]} of {accumulator[1]}"

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class Named(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield f"{key} {context.window().id} {list(elements)}"


def build(env, count, slowly):
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    ticks = numbers.map(lambda n: ("AB"[slowly(n) % 2], n % 3, n / 8), TICK).uid("ticks")
    keyed = ticks.key_by(lambda tick: (tick[0], tick[1]), MARKET)
    text = Types.STRING()
    means = keyed.count_window(8).aggregate(Mean(), Named(), Types.TUPLE([Types.DOUBLE(), Types.INT()]), text)
    highs = keyed.count_window(6, 4).reduce(lambda a, b: a if a[2] > b[2] else b, Named(), text)
    last = keyed.count_window(5, 2).process(Named(), text)
    return means.uid("means").union(highs.uid("highs"), last.uid("last"))
