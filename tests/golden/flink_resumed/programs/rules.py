"""Rules for everybody, as rows and as objects; some are taken back, and timers look at them at the end."""

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor

LIMIT = Types.ROW_NAMED(["low", "high", "tags"], [Types.LONG(), Types.DOUBLE(), Types.LIST(Types.STRING())])
LIMITS = MapStateDescriptor("limits", Types.STRING(), LIMIT)
PLANS = MapStateDescriptor("plans", Types.PICKLED_BYTE_ARRAY(), Types.PICKLED_BYTE_ARRAY())
ROUTES = MapStateDescriptor("routes", Types.TUPLE([Types.LONG(), Types.BOOLEAN()]), Types.MAP(Types.STRING(), Types.LONG()))
END = 10**10


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value * 1000


class Check(KeyedBroadcastProcessFunction):
    def open(self, runtime_context):
        self.hits = runtime_context.get_list_state(ListStateDescriptor("hits", Types.LONG()))

    def process_broadcast_element(self, value, ctx):
        limits, plans = ctx.get_broadcast_state(LIMITS), ctx.get_broadcast_state(PLANS)
        limits.put(f"l{value}", Row(low=value * 20, high=value * 30.5, tags=[f"t{value}"] * (value % 3)))
        plans.put(("plan", value % 4), {"at": value, "all": {value}})
        if value == 6:
            limits.remove("l1")

    def process_element(self, value, ctx):
        limits = ctx.get_broadcast_state(LIMITS)
        found = sorted(name for name, limit in limits.items() if limit.low <= value <= limit.high)
        if len(found) > 1:
            self.hits.add(value)
        ctx.timer_service().register_event_time_timer(END + value % 2)
        yield f"{value} {found} {'l1' in limits} {ctx.get_broadcast_state(PLANS).get(('plan', value % 4))}"

    def on_timer(self, timestamp, ctx):
        limits = sorted(map(str, ctx.get_broadcast_state(LIMITS).values()))
        yield f"{ctx.get_current_key()} at {timestamp} {list(self.hits.get())} {limits}"


class Route(BroadcastProcessFunction):
    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(ROUTES).put((value, value % 2 == 0), {f"r{value}": value, "all": -value})

    def process_element(self, value, ctx):
        routes = ctx.get_broadcast_state(ROUTES)
        yield f"route {value} {sorted((routes.get((value % 8, value % 2 == 0)) or {}).items())}"


def build(env, count, slowly):
    none = WatermarkStrategy.no_watermarks()
    timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    numbers = numbers.map(slowly, Types.LONG()).uid("slowly").assign_timestamps_and_watermarks(timed)
    rules = env.from_source(NumberSequenceSource(0, 7), none, "rules").uid("rules")
    keyed = numbers.key_by(lambda n: f"k{n % 4}", Types.STRING()).connect(rules.broadcast(LIMITS, PLANS))
    plain = numbers.connect(rules.broadcast(ROUTES)).process(Route(), Types.STRING()).uid("route")
    return keyed.process(Check(), Types.STRING()).uid("check").union(plain)
