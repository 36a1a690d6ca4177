import time
from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor

class Stamped(TimestampAssigner):
    def extract_timestamp(self, value, before):
        return value

class A(KeyedProcessFunction):
    def open(self, ctx):
        self.s = ctx.get_state(ValueStateDescriptor("s", Types.LONG()))
    def process_element(self, n, ctx):
        before = self.s.value()
        if before is None:
            ctx.timer_service().register_event_time_timer(900)
        self.s.update(n)
        yield f"a.s.0|{before}|{n}|{n}"
    def on_timer(self, timestamp, ctx):
        yield f"a.t.0|{timestamp}|{timestamp}|{timestamp}"

def slow(n):
    time.sleep(0.02)
    return n

env = StreamExecutionEnvironment.get_execution_environment(Configuration())
env.set_parallelism(1)
w = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamped())
s = env.from_source(NumberSequenceSource(1, 10000000), WatermarkStrategy.no_watermarks(), "first").uid("first").map(slow, Types.LONG()).uid("slow")
s = s.assign_timestamps_and_watermarks(w).uid("w")
s.key_by(lambda n: "0", Types.STRING()).process(A(), Types.STRING()).uid("a").print().uid("p")
env.execute("job")
