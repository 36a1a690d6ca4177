"""Two streams under the same keys: orders wait for payments in both directions until a timer tells what is left."""

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import CoFlatMapFunction, CoMapFunction, KeyedCoProcessFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor, ReducingStateDescriptor, ValueStateDescriptor

ORDER = Types.ROW_NAMED(["id", "shop", "cents"], [Types.LONG(), Types.STRING(), Types.LONG()])
PAYMENT = Types.TUPLE([Types.LONG(), Types.STRING()])
END = 10**10


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value * 1000


class Match(KeyedCoProcessFunction):
    def open(self, runtime_context):
        self.order = runtime_context.get_state(ValueStateDescriptor("order", ORDER))
        self.payment = runtime_context.get_state(ValueStateDescriptor("payment", PAYMENT))

    def process_element1(self, value, ctx):
        payment = self.payment.value()
        if payment is None:
            self.order.update(value)
            ctx.timer_service().register_event_time_timer(END + value.id)
            return
        self.payment.clear()
        ctx.timer_service().delete_event_time_timer(END + value.id)
        yield f"paid {value.id} {value.cents} by {payment[1]}"

    def process_element2(self, value, ctx):
        order = self.order.value()
        if order is None:
            self.payment.update(value)
            ctx.timer_service().register_event_time_timer(END + value[0])
            return
        self.order.clear()
        ctx.timer_service().delete_event_time_timer(END + value[0])
        yield f"paid {order.id} {order.cents} by {value[1]}"

    def on_timer(self, timestamp, ctx):
        yield f"left of {ctx.get_current_key()} at {timestamp}: {self.order.value()} {self.payment.value()}"


class Books(KeyedCoProcessFunction):
    def open(self, runtime_context):
        self.cents = runtime_context.get_reducing_state(ReducingStateDescriptor("cents", lambda a, b: a + b, Types.LONG()))
        self.banks = runtime_context.get_map_state(MapStateDescriptor("banks", Types.STRING(), Types.INT()))
        self.ids = runtime_context.get_list_state(ListStateDescriptor("ids", Types.LONG()))

    def process_element1(self, value, ctx):
        self.cents.add(value.cents)
        self.ids.add(value.id)
        ctx.timer_service().register_event_time_timer(END)

    def process_element2(self, value, ctx):
        self.banks.put(value[1], (self.banks.get(value[1]) or 0) + 1)
        ctx.timer_service().register_event_time_timer(END)

    def on_timer(self, timestamp, ctx):
        yield f"books {ctx.get_current_key()} {self.cents.get()} {sorted(self.banks.items())} {list(self.ids.get())}"


class Numbered(CoMapFunction):
    def open(self, runtime_context):
        self.orders = runtime_context.get_state(ValueStateDescriptor("orders", Types.LONG()))
        self.payments = runtime_context.get_state(ValueStateDescriptor("payments", Types.LONG()))

    def map1(self, value):
        self.orders.update((self.orders.value() or 0) + 1)
        return f"order {value.id} is {self.orders.value()}"

    def map2(self, value):
        self.payments.update((self.payments.value() or 0) + 1)
        return f"payment {value[0]} is {self.payments.value()}"


class Pairs(CoFlatMapFunction):
    def open(self, runtime_context):
        self.held = runtime_context.get_list_state(ListStateDescriptor("held", ORDER))
        self.banks = runtime_context.get_list_state(ListStateDescriptor("banks", Types.STRING()))

    def flat_map1(self, value):
        self.held.add(value)
        if len(list(self.held.get())) == 3:
            yield f"three {[each.id for each in self.held.get()]}"
            self.held.clear()

    def flat_map2(self, value):
        self.banks.add_all([value[1], value[1].upper()])
        if value[0] % 5 == 0:
            yield f"banks {list(self.banks.get())}"
            self.banks.update([])


def build(env, count, slowly):
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    numbers = numbers.map(slowly, Types.LONG()).uid("slowly")
    timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    numbers = numbers.assign_timestamps_and_watermarks(timed)
    orders = numbers.map(lambda n: Row(n, f"shop {n % 3}", n * 100), ORDER).uid("orders")
    payments = numbers.filter(lambda n: n > 30 and n % 6 != 1).map(lambda n: (n - 30, f"bank {n % 4}"), PAYMENT).uid("payments")
    both = orders.connect(payments)
    text = Types.STRING()
    matched = both.key_by(lambda order: order.id, lambda payment: payment[0], Types.LONG()).process(Match(), text)
    books = both.key_by(lambda order: order.id % 3, lambda payment: payment[0] % 3).process(Books(), text)
    shops = both.key_by(lambda order: order.shop, lambda payment: f"shop {payment[0] % 3}", Types.STRING())
    numbered = shops.map(Numbered(), text).uid("numbered")
    return matched.uid("matched").union(books.uid("books"), numbered, shops.flat_map(Pairs(), text).uid("pairs"))
