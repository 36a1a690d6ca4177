"""Broadcast state with keys and without."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor

RULES = MapStateDescriptor("rules", Types.LONG(), Types.STRING())
FLAGS = MapStateDescriptor("flags", Types.STRING(), Types.BOOLEAN())


class Plain(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield f"plain {value} {ctx.get_broadcast_state(RULES).get(value % 5)}"

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value, f"rule {value}")


class Keyed(KeyedBroadcastProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        flag = ctx.get_broadcast_state(FLAGS).get(f"f{value % 5}")
        yield f"keyed {value} {self.count.value()} {flag} {ctx.get_broadcast_state(RULES).get(value % 5)}"

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value, f"keyed rule {value}")
        ctx.get_broadcast_state(FLAGS).put(f"f{value}", value % 2 == 0)


def build(env, count, slowly):
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    numbers = numbers.map(slowly, Types.LONG()).uid("slowly")
    rules = env.from_source(NumberSequenceSource(0, 3), none, "rules").uid("rules")
    plain = numbers.connect(rules.broadcast(RULES)).process(Plain(), Types.STRING()).uid("plain")
    keyed = numbers.key_by(lambda n: n % 3, Types.LONG()).connect(rules.broadcast(RULES, FLAGS))
    return plain.union(keyed.process(Keyed(), Types.STRING()).uid("keyed"))
