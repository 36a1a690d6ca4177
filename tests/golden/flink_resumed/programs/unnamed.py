"""A program that names no operator but one, by the hash that it once had."""

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import SlidingEventTimeWindows


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


class Previous(KeyedProcessFunction):
    def open(self, runtime_context):
        self.previous = runtime_context.get_state(ValueStateDescriptor("previous", Types.LONG()))

    def process_element(self, value, ctx):
        yield value[0], value[1], self.previous.value() or 0
        self.previous.update(value[1])


class Steps(KeyedProcessFunction):
    def open(self, runtime_context):
        self.steps = runtime_context.get_list_state(ListStateDescriptor("steps", Types.LONG()))

    def process_element(self, value, ctx):
        self.steps.add(value[1] - value[2])
        steps = list(self.steps.get())
        self.steps.update(steps[-4:])
        yield f"{value} {steps}"


def build(env, count, slowly):
    pair, triple = Types.TUPLE([Types.STRING(), Types.LONG()]), Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
    numbers = env.from_source(NumberSequenceSource(1, count), WatermarkStrategy.no_watermarks(), "numbers")
    timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    words = numbers.map(slowly, Types.LONG()).flat_map(lambda n: [(f"w{n % 4}", n)] * (1 + n % 2), pair)
    keyed = words.assign_timestamps_and_watermarks(timed).key_by(lambda pair: pair[0], Types.STRING())
    previous = keyed.process(Previous(), triple).name("previous")
    steps = previous.filter(lambda triple: triple[1] % 13 > 0).key_by(lambda triple: (triple[0], triple[1] % 3))
    steps = steps.process(Steps(), Types.STRING())
    windows = keyed.window(SlidingEventTimeWindows.of(Time.seconds(64), Time.seconds(32)))
    windows = windows.reduce(lambda a, b: (a[0], a[1] ^ b[1])).set_uid_hash("0123456789abcdef0123456789abcdef")
    return steps.union(windows.map(str, Types.STRING()))
