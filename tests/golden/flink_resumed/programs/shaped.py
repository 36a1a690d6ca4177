"""A job that somebody has tuned: key groups by the job and by the operator, chains broken, a snapshot of many types."""

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, ProcessFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor

PART = Types.ROW_NAMED(["half", "third"], [Types.BOOLEAN(), Types.INT()])
DICTS = Types.MAP(Types.STRING(), Types.LIST(Types.LONG()))


class Limits(ProcessFunction):
    """Keeps nothing but what is good for a record."""

    def process_element(self, value, ctx):
        yield Row(half=value > 130, third=value % 3), value


class Stock(KeyedProcessFunction):
    def __init__(self, by):
        self.by = by

    def open(self, runtime_context):
        get = runtime_context
        self.levels = [get.get_state(ValueStateDescriptor(f"{self.by} level {n}", Types.LONG())) for n in range(3)]
        self.history = get.get_state(ValueStateDescriptor(f"{self.by} history", DICTS))
        self.raw = get.get_list_state(ListStateDescriptor(f"{self.by} raw", Types.PRIMITIVE_ARRAY(Types.BYTE())))
        self.nested = get.get_map_state(MapStateDescriptor(f"{self.by} nested", PART, Types.TUPLE([Types.FLOAT(), DICTS])))

    def process_element(self, value, ctx):
        part, number = value
        level = self.levels[number % 2]
        level.update((level.value() or 0) - number)
        history = self.history.value() or {}
        history[f"h{number % 4}"] = [*history.get(f"h{number % 4}", []), number][-2:]
        self.history.update(history)
        self.raw.add(bytes([number % 256, len(history)]))
        raw = list(self.raw.get())
        self.raw.update(raw[-3:])
        self.nested.put(part, (number / 2, {"": [number], "é": []}))
        if number % 30 == 0:
            self.nested.clear()
        levels = [each.value() for each in self.levels]
        nested = sorted((key.third, value[0], sorted(value[1].items())) for key, value in self.nested.items())
        yield f"{self.by} {number} {levels} {sorted(history.items())} {raw} {nested}"


def build(env, count, slowly):
    env.set_max_parallelism(30)
    none = WatermarkStrategy.no_watermarks()
    pair = Types.TUPLE([PART, Types.LONG()])
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    numbers = numbers.map(slowly, Types.LONG()).uid("slowly")
    parts = numbers.process(Limits(), pair).uid("parts").start_new_chain()
    by_part = parts.key_by(lambda value: value[0], PART).process(Stock("part"), Types.STRING()).uid("by part")
    by_text = parts.key_by(lambda value: f"{value[0].half}{value[1] % 5}", Types.STRING()).process(Stock("text"), Types.STRING())
    return by_part.set_max_parallelism(500).union(by_text.uid("by text").disable_chaining())
