"""Several sources, also one that has long ended, and streams that are split, spread and brought together."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor

ITEM = Types.TUPLE([Types.STRING(), Types.LONG()])


class Prices(KeyedProcessFunction):
    def open(self, runtime_context):
        self.price = runtime_context.get_state(ValueStateDescriptor("price", Types.LONG()))
        self.by_source = runtime_context.get_map_state(MapStateDescriptor("by source", Types.STRING(), Types.LONG()))

    def process_element(self, value, ctx):
        source = value[0].split()[0]
        self.by_source.put(source, (self.by_source.get(source) or 0) + 1)
        if source == "listed":
            self.price.update(value[1])
        elif value[1] > 60:
            yield f"{value} {self.price.value()} {self.by_source.get('listed')}"
        if self.by_source.get(source) % 5 == 0:
            yield f"{source} of {ctx.get_current_key()}: {self.by_source.get(source)}"


def build(env, count, slowly):
    none = WatermarkStrategy.no_watermarks()
    listed = env.from_source(NumberSequenceSource(0, 9), none, "listed").uid("listed").map(lambda n: (f"listed {n}", n * 11), ITEM)
    bonus = env.from_source(NumberSequenceSource(300, 309), none, "bonus").uid("bonus").map(lambda n: (f"bonus {n % 10}", 1), ITEM)
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    sold = numbers.map(lambda n: (f"sold {slowly(n) % 10}", n), ITEM).uid("sold")
    few = sold.filter(lambda item: item[1] % 4 == 0).rescale().map(lambda item: (item[0].replace("sold", "few"), item[1]), ITEM)
    custom = sold.partition_custom(lambda key, count: key % count, lambda item: item[1] % 7)
    custom = custom.filter(lambda item: item[1] % 3 == 0).map(lambda item: (item[0].replace("sold", "custom"), item[1]), ITEM)
    together = listed.union(bonus, sold, few, custom)
    return together.key_by(lambda item: int(item[0].split()[1])).process(Prices(), Types.STRING()).uid("prices")
