"""Visits that end when nothing has come for a while: timers that are moved with each record, and some that are taken back."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor

STEPWISE = True
GAP, NEVER = 20_000, 10**12


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value["at"] * 1000


class Visits(KeyedProcessFunction):
    def open(self, runtime_context):
        self.due = runtime_context.get_state(ValueStateDescriptor("due", Types.LONG()))
        self.pages = runtime_context.get_list_state(ListStateDescriptor("pages", Types.STRING()))

    def process_element(self, value, ctx):
        before = self.due.value()
        if before is not None:
            ctx.timer_service().delete_event_time_timer(before)
        due = ctx.timestamp() + GAP
        ctx.timer_service().register_event_time_timer(due)
        self.due.update(due)
        self.pages.add(value["page"])
        ctx.timer_service().register_event_time_timer(NEVER + value["at"])
        if value["at"] % 2:
            ctx.timer_service().delete_event_time_timer(NEVER + value["at"] - 12)

    def on_timer(self, timestamp, ctx):
        if timestamp >= NEVER:
            yield f"{ctx.get_current_key()} closes at {timestamp - NEVER}"
            return
        yield f"{ctx.get_current_key()} left at {timestamp} behind {list(self.pages.get())}"
        self.pages.clear()
        self.due.clear()


def build(env, count, slowly):
    env.get_config().set_auto_watermark_interval(1)
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    clicks = numbers.map(lambda n: {"user": f"u{slowly(n) // 12 % 12}", "at": n, "page": f"/{n % 7}"}).uid("clicks")
    timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    keyed = clicks.assign_timestamps_and_watermarks(timed).key_by(lambda click: click["user"])
    return keyed.process(Visits(), Types.STRING()).uid("visits")
