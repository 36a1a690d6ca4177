"""Sessions whose gap is the record's own, reduced, and sessions that are aggregated with a function behind."""

from pyflink.common import Row, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, ProcessWindowFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.window import DynamicEventTimeSessionWindows, EventTimeSessionWindows, SessionWindowTimeGapExtractor

RIDE = Types.ROW_NAMED(["bike", "at", "metres"], [Types.LONG(), Types.LONG(), Types.DOUBLE()])
TRIP = Types.ROW_NAMED(["metres", "stops"], [Types.DOUBLE(), Types.LIST(Types.LONG())])


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value.at * 1000


class Patience(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return 25_000 if element.bike == 0 else 12_000


class Trip(AggregateFunction):
    def create_accumulator(self):
        return Row(metres=0.0, stops=[])

    def add(self, value, accumulator):
        return Row(metres=accumulator.metres + value.metres, stops=[*accumulator.stops, value.at])

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return Row(metres=a.metres + b.metres, stops=sorted([*a.stops, *b.stops]))


class Told(ProcessWindowFunction):
    def process(self, key, context, elements):
        (trip,) = elements
        yield f"bike {key} {context.window().start} {context.window().end} {trip.metres} {sorted(trip.stops)}"


def longest(a, b):
    return Row(bike=a.bike, at=max(a.at, b.at), metres=a.metres + b.metres)


def build(env, count, slowly):
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    rides = numbers.map(lambda n: Row(bike=slowly(n) % 4, at=n, metres=n * 2.5), RIDE).uid("rides")
    ridden = rides.filter(lambda ride: ride.at % 90 < 50).uid("ridden")
    timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    keyed = ridden.assign_timestamps_and_watermarks(timed).key_by(lambda ride: ride.bike, Types.LONG())
    text = Types.STRING()
    own = keyed.window(DynamicEventTimeSessionWindows.with_dynamic_gap(Patience()))
    own = own.reduce(longest).uid("own").map(str, text)
    trips = keyed.window(EventTimeSessionWindows.with_gap(Time.seconds(15))).aggregate(Trip(), Told(), TRIP, text)
    return own.union(trips.uid("trips"))
