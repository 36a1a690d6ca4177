"""Counts words, evenly spread, and without the short ones; the state of the first version is found again."""

from pyflink.common import Types
from pyflink.common.watermark_strategy import WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor

WORDS = ["to", "be", "or", "not", "to", "be"]


class CountWords(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value, count


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    numbers = env.from_source(NumberSequenceSource(1, 1000), WatermarkStrategy.no_watermarks(), "numbers")
    words = numbers.map(lambda n: WORDS[n % len(WORDS)], Types.STRING())
    long_words = words.rebalance().filter(lambda word: len(word) > 2).uid("long words")
    counts = (
        long_words.rebalance()
        .key_by(lambda word: word, Types.STRING())
        .process(CountWords(), Types.TUPLE([Types.STRING(), Types.LONG()]))
        .set_uid_hash("90bea66de1c231edf33913ecd54406c1")
    )
    counts.name("count words").print()
    env.execute("word count")


if __name__ == "__main__":
    main()
