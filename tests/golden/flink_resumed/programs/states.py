"""Every kind of keyed state, two with a lifetime, and timers of both clocks."""

from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
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


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


class Average(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class Everything(KeyedProcessFunction):
    def open(self, runtime_context):
        long_lived = StateTtlConfig.new_builder(Time.days(9000)).build()
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))
        name = ValueStateDescriptor("name", Types.STRING())
        name.enable_time_to_live(long_lived)
        self.name = runtime_context.get_state(name)
        recent = ListStateDescriptor("recent", Types.LONG())
        recent.enable_time_to_live(long_lived)
        self.recent = runtime_context.get_list_state(recent)
        self.items = runtime_context.get_list_state(ListStateDescriptor("items", Types.STRING()))
        seen = MapStateDescriptor("seen", Types.STRING(), Types.LONG())
        seen.enable_time_to_live(long_lived)
        self.seen = runtime_context.get_map_state(seen)
        self.halves = runtime_context.get_map_state(MapStateDescriptor("halves", Types.LONG(), Types.DOUBLE()))
        self.total = runtime_context.get_reducing_state(
            ReducingStateDescriptor("total", lambda a, b: a + b, Types.LONG())
        )
        self.average = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("average", Average(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        key, number = value
        before = self.last.value()
        self.last.update(number)
        self.name.update(f"{key}-{number}")
        self.items.add(f"i{number}")
        if len(list(self.items.get())) > 5:
            self.items.update([f"i{number}"])
        self.recent.add(number)
        self.recent.update(list(self.recent.get())[-3:])
        self.seen.put(f"{key}{number % 4}", number)
        self.halves.put(number % 3, number / 2)
        if number % 7 == 0:
            self.halves.remove(number % 3)
        self.total.add(number)
        self.average.add(number)
        if number % 10 < 4:
            ctx.timer_service().register_event_time_timer(10**9 + number)
        ctx.timer_service().register_processing_time_timer(4 * 10**12 + number)
        yield (
            f"{key} {number} after {before} {self.name.value()} {list(self.items.get())} {list(self.recent.get())} "
            f"{sorted(self.seen.items())} {sorted(self.halves.items())} {self.total.get()} {self.average.get()}"
        )

    def on_timer(self, timestamp, ctx):
        yield f"timer {timestamp} of {ctx.get_current_key()} after {self.last.value()}"


def build(env, count, slowly):
    numbers = env.from_source(NumberSequenceSource(1, count), WatermarkStrategy.no_watermarks(), "numbers").uid(
        "numbers"
    )
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    keyed = (
        numbers.map(lambda n: (f"k{slowly(n) % 5}", n), pair)
        .uid("slowly")
        .assign_timestamps_and_watermarks(
            WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1)).with_timestamp_assigner(Seconds())
        )
    )
    return keyed.key_by(lambda p: p[0], Types.STRING()).process(Everything(), Types.STRING()).uid("everything")
