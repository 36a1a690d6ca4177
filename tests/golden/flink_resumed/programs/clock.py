"""The machine's clock: windows of more than fifty years that count, and timers that are due at the restore or never."""

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, ProcessWindowFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import CountTrigger, SlidingProcessingTimeWindows, TumblingProcessingTimeWindows

STEPWISE = True
YEARS = Time.days(20_000)
FAR = 4 * 10**12


class Seen(ProcessWindowFunction):
    def __init__(self, label):
        self.label = label

    def process(self, key, context, elements):
        yield f"{self.label} {key} {context.window().start} {sorted(elements)}"


class Alarms(KeyedProcessFunction):
    def open(self, runtime_context):
        self.alarm = runtime_context.get_state(ValueStateDescriptor("alarm", Types.LONG()))

    def process_element(self, value, ctx):
        before = self.alarm.value()
        if before is not None:
            ctx.timer_service().delete_processing_time_timer(before)
        self.alarm.update(FAR + value)
        ctx.timer_service().register_processing_time_timer(FAR + value)
        if 100 <= value < 119:
            ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 6_000)
        yield f"alarm {value} instead of {before}"

    def on_timer(self, timestamp, ctx):
        yield f"rings {timestamp} of {ctx.get_current_key()}"


def build(env, count, slowly):
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    keyed = numbers.map(slowly, Types.LONG()).uid("slowly").key_by(lambda n: n % 3, Types.LONG())
    text = Types.STRING()
    tumbling = keyed.window(TumblingProcessingTimeWindows.of(YEARS)).trigger(CountTrigger.of(13)).process(Seen("era"), text)
    sliding = keyed.window(SlidingProcessingTimeWindows.of(YEARS, Time.days(10_000))).trigger(CountTrigger.of(10))
    sliding = sliding.reduce(lambda a, b: a + b, Seen("half"), text).uid("sliding")
    return tumbling.uid("tumbling").union(sliding, keyed.process(Alarms(), text).uid("alarms"))
