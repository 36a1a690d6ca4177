"""Functions of records that keep state under keys: the average of each three, what has changed, and what is new."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import FilterFunction, FlatMapFunction, MapFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor

PAIR = Types.TUPLE([Types.LONG(), Types.LONG()])


class CountWindowAverage(FlatMapFunction):
    def open(self, runtime_context):
        self.sum = runtime_context.get_state(ValueStateDescriptor("average", PAIR))

    def flat_map(self, value):
        count, total = self.sum.value() or (0, 0)
        count, total = count + 1, total + value[1]
        self.sum.update((count, total))
        if count >= 3:
            self.sum.clear()
            yield value[0], total // count


class Change(MapFunction):
    def open(self, runtime_context):
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.FLOAT()))

    def map(self, value):
        last, now = self.last.value(), value[1] / 3
        self.last.update(now)
        return f"change {value} {None if last is None else round(now - last, 3)}"


class New(FilterFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.LONG(), Types.BOOLEAN()))

    def filter(self, value):
        known = self.seen.contains(value[1] // 9)
        self.seen.put(value[1] // 9, True)
        return not known


def build(env, count, slowly):
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    keyed = numbers.map(lambda n: (slowly(n) % 4, n), PAIR).uid("pairs").key_by(lambda pair: pair[0])
    averages = keyed.flat_map(CountWindowAverage(), PAIR).uid("averages").map(lambda pair: f"average {pair}", Types.STRING())
    changes = keyed.map(Change(), Types.STRING()).uid("changes")
    fresh = keyed.filter(New()).uid("new").map(lambda pair: f"new {pair}", Types.STRING())
    return averages.union(changes, fresh)
