"""Windows that wait for what is late, what is too late, and what windows and keys note beside their contents."""

from pyflink.common import Row, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import OutputTag, ProcessWindowFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import TumblingEventTimeWindows

STEPWISE = True
READING = Types.ROW_NAMED(["sensor", "at"], [Types.STRING(), Types.LONG()])
FIRED = ValueStateDescriptor("fired", Types.INT())
WINDOWS = ValueStateDescriptor("windows", Types.LONG())


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value.at * 1000


class Fired(ProcessWindowFunction):
    def process(self, key, context, elements):
        fired = context.window_state().get_state(FIRED)
        fired.update((fired.value() or 0) + 1)
        at = sorted(element.at for element in elements)
        yield f"{key} {context.window().start} firing {fired.value()} {at}"
        if fired.value() == 1:
            windows = context.global_state().get_state(WINDOWS)
            windows.update((windows.value() or 0) + 1)
            yield f"{key} {context.window().start} is window {windows.value()}"

    def clear(self, context):
        context.window_state().get_state(FIRED).clear()


def delayed(number):
    """Most numbers come in order; some come more than a hundred behind."""
    return number - 105 if number % 35 == 0 and number > 180 else number


def late_tag():
    return OutputTag("late", Types.ROW_NAMED(["sensor", "at"], [Types.STRING(), Types.LONG()]))


def build(env, count, slowly):
    env.get_config().set_auto_watermark_interval(1)
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    readings = numbers.map(lambda n: Row(sensor=f"s{slowly(n) % 2}", at=delayed(n)), READING).uid("readings")
    timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    keyed = readings.assign_timestamps_and_watermarks(timed).key_by(lambda reading: reading.sensor, Types.STRING())
    window = TumblingEventTimeWindows.of(Time.seconds(20), Time.seconds(5))
    patient = keyed.window(window).allowed_lateness(150_000).process(Fired(), Types.STRING()).uid("patient")
    hasty = keyed.window(window).allowed_lateness(10_000).side_output_late_data(late_tag()).process(Fired(), Types.STRING())
    late = hasty.uid("hasty").get_side_output(late_tag()).map(lambda reading: f"late {reading.at}", Types.STRING())
    return patient.union(hasty, late)
