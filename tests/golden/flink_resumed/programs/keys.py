"""Keys that get the form of their type, and values that thread mode pickles whole: rows, also in windows and lists."""

from pyflink.common import Row, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, ProcessWindowFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import TumblingEventTimeWindows

ROW = Types.ROW_NAMED(["number", "text"], [Types.LONG(), Types.STRING()])


class ByNumber(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value * 1000


class Counts(KeyedProcessFunction):
    def __init__(self, label):
        self.label = label

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.last = runtime_context.get_state(ValueStateDescriptor("last", ROW))
        self.rows = runtime_context.get_list_state(ListStateDescriptor("rows", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        before = self.last.value()
        self.last.update(Row(number=value, text=f"t{value}"))
        self.rows.add(Row(value, None))
        if value % 7 == 0:
            self.rows.clear()
        yield f"{self.label} {ctx.get_current_key()!r} {self.count.value()} {before} {list(self.rows.get() or [])}"


class Contents(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield f"window {key!r} {context.window().start} {sorted(map(str, elements))}"


def build(env, count, slowly):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ByNumber())
    numbers = env.from_source(NumberSequenceSource(1, count), WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    numbers = numbers.map(slowly, Types.LONG()).uid("slowly")
    text = Types.STRING()
    halves = numbers.key_by(lambda n: float(n % 3) / 2 + 0.1, Types.FLOAT()).process(Counts("float"), text).uid("float key")
    doubles = numbers.key_by(lambda n: (float(n % 2), "x"), Types.TUPLE([Types.DOUBLE(), text]))
    doubles = doubles.process(Counts("tuple"), text).uid("tuple key")
    rows = numbers.assign_timestamps_and_watermarks(strategy).map(lambda n: Row(n, f"w{n}"), ROW).uid("rows")
    windows = rows.key_by(lambda row: row[0] % 2, Types.LONG()).window(TumblingEventTimeWindows.of(Time.seconds(50)))
    return halves.union(doubles, windows.process(Contents(), text).uid("windows"))
