"""Windows behind windows, and functions with state behind them: minutes of pages, of sites, and records of both."""

from pyflink.common import Row, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, KeyedProcessFunction, ProcessWindowFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ReducingStateDescriptor
from pyflink.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows

VIEW = Types.ROW_NAMED(["site", "page", "at"], [Types.STRING(), Types.INT(), Types.LONG()])
COUNT = Types.ROW_NAMED(["site", "page", "end", "views"], [Types.STRING(), Types.INT(), Types.LONG(), Types.LONG()])
PAGE = Types.ROW([Types.STRING(), Types.INT()])


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value.at * 1000


class Views(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value.at % 5

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


class Ended(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield Row(site=key[0], page=key[1], end=context.window().end, views=list(elements)[0])


class Best(ProcessWindowFunction):
    def process(self, key, context, elements):
        found = sorted((-count.views, count.page) for count in elements)
        yield f"best of {key} until {context.window().end}: {found[:2]} of {len(found)}"


class Record(KeyedProcessFunction):
    def open(self, runtime_context):
        self.most = runtime_context.get_reducing_state(ReducingStateDescriptor("most", max, Types.LONG()))

    def process_element(self, value, ctx):
        self.most.add(value.views)
        yield f"record {value.site} {value.page} {value.end} {value.views} {self.most.get()}"


def build(env, count, slowly):
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    views = numbers.map(lambda n: Row(site="xy"[slowly(n) % 2], page=n % 3, at=n), VIEW).uid("views")
    timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    pages = views.assign_timestamps_and_watermarks(timed).key_by(lambda view: Row(view.site, view.page), PAGE)
    minutes = pages.window(TumblingEventTimeWindows.of(Time.seconds(30))).aggregate(Views(), Ended(), Types.LONG(), COUNT)
    minutes = minutes.uid("minutes")
    sites = minutes.key_by(lambda count: count.site, Types.STRING())
    best = sites.window(SlidingEventTimeWindows.of(Time.seconds(90), Time.seconds(30))).process(Best(), Types.STRING())
    records = minutes.key_by(lambda count: Row(count.site, count.page), PAGE).process(Record(), Types.STRING())
    return best.uid("best").union(records.uid("records"))
