"""States that live for a while: some are gone at the restore, some live on, by each way of refreshing and of seeing them."""

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.datastream import AggregateFunction, KeyedProcessFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)

SHORT = StateTtlConfig.new_builder(Time.seconds(2)).never_return_expired().build()
LONG = StateTtlConfig.new_builder(Time.days(10_000)).update_ttl_on_read_and_write().never_return_expired().build()
LENIENT = StateTtlConfig.new_builder(Time.days(10_000)).update_ttl_on_create_and_write()
LENIENT = LENIENT.return_expired_if_not_cleaned_up().cleanup_full_snapshot().build()


class Joined(AggregateFunction):
    def create_accumulator(self):
        return ""

    def add(self, value, accumulator):
        return (accumulator + value)[-6:]

    def get_result(self, accumulator):
        return accumulator[::-1]

    def merge(self, a, b):
        return a + b


def living(descriptor, config):
    descriptor.enable_time_to_live(config)
    return descriptor


class Remember(KeyedProcessFunction):
    """What is written up to 60 is gone by 150; in between nobody looks at it."""

    def open(self, context):
        self.brief = context.get_state(living(ValueStateDescriptor("brief", Types.LONG()), SHORT))
        self.briefs = context.get_map_state(living(MapStateDescriptor("briefs", Types.LONG(), Types.STRING()), SHORT))
        self.list = context.get_list_state(living(ListStateDescriptor("list", Types.LONG()), SHORT))
        self.seen = context.get_map_state(living(MapStateDescriptor("seen", Types.LONG(), Types.LONG()), LONG))
        self.name = context.get_state(living(ValueStateDescriptor("name", Types.STRING()), LENIENT))
        total = ReducingStateDescriptor("total", lambda a, b: a + b, Types.LONG())
        self.total = context.get_reducing_state(living(total, LONG))
        joined = AggregatingStateDescriptor("joined", Joined(), Types.STRING())
        self.joined = context.get_aggregating_state(living(joined, LENIENT))

    def process_element(self, value, ctx):
        if value <= 60:
            self.brief.update(value)
            self.briefs.put(value % 3, f"b{value}")
            self.list.add(value)
        brief = "…"
        if value >= 150:
            brief = f"{self.brief.value()} {sorted(self.briefs.items())} {list(self.list.get() or [])}"
        self.seen.put(value % 5, value)
        name = self.name.value()
        self.name.update(f"n{value}")
        self.total.add(value)
        self.joined.add("abcdefg"[value % 7])
        yield f"{value} {brief} {sorted(self.seen.items())} {name} {self.total.get()} {self.joined.get()}"


def build(env, count, slowly):
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    numbers = numbers.map(slowly, Types.LONG()).uid("slowly")
    return numbers.key_by(lambda n: n % 3, Types.INT()).process(Remember(), Types.STRING()).uid("remember")
