"""Rules are dicts."""

import time

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import KeyedBroadcastProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import MapStateDescriptor

RULES = MapStateDescriptor("rules", Types.STRING(), Types.PICKLED_BYTE_ARRAY())


def slow(n):
    time.sleep(0.02)
    return n


class Keep(KeyedBroadcastProcessFunction):
    def process_element(self, n, ctx):
        held = {key: ctx.get_broadcast_state(RULES).get(key) for key in ("k0", "k1")}
        yield f"c.rules.0|{held}|{held}|{n}"

    def process_broadcast_element(self, n, ctx):
        ctx.get_broadcast_state(RULES).put(f"k{n}", {"n": n})
        return []


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    source, rules = NumberSequenceSource(1, 1_000_000), NumberSequenceSource(1, 1_000_000)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    keyed = numbers.map(slow, Types.LONG()).uid("slow").key_by(lambda n: n % 3, Types.LONG())
    broadcast = env.from_source(rules, WatermarkStrategy.no_watermarks(), "rules").uid("rules").map(slow, Types.LONG()).broadcast(RULES)
    keyed.connect(broadcast).process(Keep(), Types.STRING()).uid("keep").print().uid("out")
    env.execute("job")


if __name__ == "__main__":
    main()
