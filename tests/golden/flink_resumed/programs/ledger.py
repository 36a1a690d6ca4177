"""Money and time: decimals, dates and instants as keys, in lists, in maps, in nested rows and in accumulators."""

import datetime
import decimal

from pyflink.common import Instant, Row, Types, WatermarkStrategy
from pyflink.datastream import AggregateFunction, KeyedProcessFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

PARTY = Types.ROW_NAMED(["name", "scores"], [Types.STRING(), Types.PRIMITIVE_ARRAY(Types.DOUBLE())])
ENTRY = Types.ROW_NAMED(
    ["day", "time", "at", "cents", "party", "tags"],
    [Types.SQL_DATE(), Types.SQL_TIME(), Types.SQL_TIMESTAMP(), Types.BIG_INT(), PARTY, Types.MAP(Types.STRING(), Types.BOOLEAN())],
)
BALANCE = Types.TUPLE([Types.BIG_DEC(), Types.INT()])
DAY = datetime.date(1969, 12, 20)


def entry(number):
    at = datetime.datetime(1999, 12, 31, 23, 59, 59, 123000) + datetime.timedelta(hours=number)
    party = Row(name=f"p{number % 3}", scores=[number / 2, -0.5])
    day, tags = DAY + datetime.timedelta(days=number), {"even": number % 2 == 0}
    return Row(day=day, time=at.time(), at=at, cents=number * 10**12, party=party, tags=tags)


class Balance(AggregateFunction):
    def create_accumulator(self):
        return decimal.Decimal(0), 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return f"{accumulator[0]}/{accumulator[1]}"

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class Book(KeyedProcessFunction):
    def __init__(self, label):
        self.label = label

    def open(self, runtime_context):
        self.last = runtime_context.get_state(ValueStateDescriptor("last", ENTRY))
        self.days = runtime_context.get_map_state(MapStateDescriptor("days", Types.SQL_DATE(), Types.BIG_DEC()))
        self.times = runtime_context.get_list_state(ListStateDescriptor("times", Types.SQL_TIMESTAMP()))
        self.first = runtime_context.get_state(ValueStateDescriptor("first", Types.INSTANT()))
        self.parties = runtime_context.get_map_state(MapStateDescriptor("parties", BALANCE, Types.LIST(PARTY)))
        self.most = runtime_context.get_reducing_state(ReducingStateDescriptor("most", max, Types.BIG_DEC()))
        self.balance = runtime_context.get_aggregating_state(AggregatingStateDescriptor("balance", Balance(), BALANCE))

    def process_element(self, value, ctx):
        now = entry(value)
        before, first = self.last.value(), self.first.value()
        self.last.update(now)
        if first is None:
            self.first.update(Instant(value, 5))
        amount = decimal.Decimal(value) / 4
        self.days.put(DAY + datetime.timedelta(days=value % 5), amount)
        self.times.add(now.at)
        if value % 9 == 0:
            self.times.clear()
        self.parties.put((decimal.Decimal(value % 3) / 8, value % 2), [now.party])
        self.most.add(amount)
        self.balance.add(amount)
        days, times = sorted(self.days.items()), list(self.times.get() or [])
        parties = sorted(map(str, self.parties.items()))
        yield f"{self.label} {ctx.get_current_key()!r} {value} {before} {first} {days} {times} {parties} {self.most.get()} {self.balance.get()}"


def build(env, count, slowly):
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    numbers = numbers.map(slowly, Types.LONG()).uid("slowly")
    text = Types.STRING()
    days = numbers.key_by(lambda n: DAY + datetime.timedelta(days=n % 4), Types.SQL_DATE()).process(Book("day"), text)
    sums = numbers.key_by(lambda n: decimal.Decimal(n % 3) / 4, Types.BIG_DEC()).process(Book("sum"), text)
    flags = numbers.key_by(lambda n: n % 2 == 0, Types.BOOLEAN()).process(Book("flag"), text)
    return days.uid("days").union(sums.uid("sums"), flags.uid("flags"))
