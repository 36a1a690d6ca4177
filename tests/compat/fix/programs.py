"""Small programs for the tests of repairs."""

from __future__ import annotations

HEAD = """\
from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor

L = Types.LONG()


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", L))

    def process_element(self, value, ctx):
        yield value


def identity(x):
    return x


env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_source(NumberSequenceSource(1, 10), WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
"""


def program(*lines: str) -> str:
    """A program with these lines between its source and the end."""
    return HEAD + spelled("\n".join(lines)) + "\nenv.execute()\n"


def spelled(text: str) -> str:
    """``COUNTED`` written out: the calls that count a stream by key."""
    return text.replace("COUNTED", "key_by(identity, L).process(Count(), L)")


INSERTED = "numbers.map(identity, L).rebalance().filter(bool).rebalance()"
"""A stream that moves the generated ids of what comes behind it, against ``numbers.map(identity, L)``."""
