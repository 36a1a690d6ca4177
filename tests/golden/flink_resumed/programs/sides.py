"""What goes aside from a function with state is counted elsewhere, under other keys."""

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, OutputTag, ProcessFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor

LEVEL = Types.ROW_NAMED(["host", "level", "number"], [Types.STRING(), Types.BYTE(), Types.LONG()])
ERRORS = OutputTag("errors", LEVEL)
AUDIT = OutputTag("audit", Types.STRING())


class Parse(ProcessFunction):
    def process_element(self, value, ctx):
        yield Row(host=f"host {value % 5}", level=value % 4, number=value)
        if value % 50 == 0:
            yield AUDIT, f"seen {value}"


class Escalate(KeyedProcessFunction):
    def open(self, runtime_context):
        self.worst = runtime_context.get_state(ValueStateDescriptor("worst", Types.BYTE()))
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.BYTE(), Types.SHORT()))

    def process_element(self, value, ctx):
        self.counts.put(value.level, (self.counts.get(value.level) or 0) + 1)
        if value.level > (self.worst.value() or 0):
            self.worst.update(value.level)
            yield AUDIT, f"{value.host} is at {value.level} since {value.number}"
        if value.level == 3:
            yield ERRORS, value
        if value.number % 40 == 0:
            self.worst.clear()
        yield f"{value.host} {sorted(self.counts.items())}"


class Tally(KeyedProcessFunction):
    def open(self, runtime_context):
        self.hosts = runtime_context.get_map_state(MapStateDescriptor("hosts", Types.STRING(), LEVEL))

    def process_element(self, value, ctx):
        before = self.hosts.get(value.host)
        self.hosts.put(value.host, value)
        yield f"error {value} behind {before} of {sorted(self.hosts.keys())} under {ctx.get_current_key()}"


def build(env, count, slowly):
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    numbers = numbers.map(slowly, Types.LONG()).uid("slowly")
    parsed = numbers.process(Parse(), LEVEL).uid("parsed")
    escalated = parsed.key_by(lambda row: row.host, Types.STRING()).process(Escalate(), Types.STRING()).uid("escalated")
    errors = escalated.get_side_output(ERRORS).key_by(lambda row: row.number % 2 == 0, Types.BOOLEAN())
    tally = errors.process(Tally(), Types.STRING()).uid("tally")
    return escalated.union(tally, escalated.get_side_output(AUDIT), parsed.get_side_output(AUDIT))
