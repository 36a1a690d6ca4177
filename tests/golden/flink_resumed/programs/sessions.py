"""Windows that merge and windows of so many records."""

from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessWindowFunction, WindowFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.window import EventTimeSessionWindows


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


class Collect(WindowFunction):
    def apply(self, key, window, inputs):
        yield f"session {key} {window.start} {window.end} {sorted(value[1] for value in inputs)}"


class Count(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield f"counted {key} {sorted(value[1] for value in elements)}"


def build(env, count, slowly):
    pair = Types.TUPLE([Types.LONG(), Types.LONG()])
    numbers = env.from_source(NumberSequenceSource(1, count), WatermarkStrategy.no_watermarks(), "numbers").uid(
        "numbers"
    )
    keyed = (
        numbers.map(lambda n: (slowly(n) % 3, n), pair)
        .uid("slowly")
        .filter(lambda p: p[1] % 100 < 70)
        .uid("gaps")
        .assign_timestamps_and_watermarks(
            WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1)).with_timestamp_assigner(Seconds())
        )
        .key_by(lambda p: p[0], Types.LONG())
    )
    text = Types.STRING()
    sessions = keyed.window(EventTimeSessionWindows.with_gap(Time.seconds(20))).apply(Collect(), text).uid("sessions")
    counted = keyed.count_window(7).process(Count(), text).uid("counted")
    return sessions.union(counted)
