"""A service that is asked about each record, and functions with state before and behind it."""

import asyncio

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.datastream import AsyncDataStream, AsyncFunction, KeyedProcessFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor


class Number(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield f"{value} as {self.count.value()}"


class Answered(Number):
    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield f"answer {self.count.value()} of length {ctx.get_current_key()}"


class Ask(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(0.02)
        return [f"answer to {value}"]


def build(env, count, slowly):
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    numbers = numbers.map(slowly, Types.LONG()).uid("slowly")
    text = Types.STRING()
    numbered = numbers.key_by(lambda n: n % 3, Types.LONG()).process(Number(), text).uid("numbered")
    answers = AsyncDataStream.ordered_wait(numbered, Ask(), Time.seconds(20), 10, text).uid("answers")
    return answers.union(answers.key_by(len, Types.INT()).process(Answered(), text).uid("answered"))
